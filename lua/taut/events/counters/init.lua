-- SPDX-License-Identifier: GPL-2.0-or-later
--- The catalogue: what each counter counts, how it is stored, and when its growth means something.
--
-- A source has `list`: name → {
--    unit    what one is; `times` of that make the unit (data counters count 4 bytes)
--    width   bits; `full` says what happens when they are used up: "saturates" or "wraps"
--    wide    the same for where the source has a wider form of it, or nil
--    side    which direction of the port's link it tells of: "receive", "send" or "both"
--    class   what growth means at most: fatal, degrading, congestion, traffic or harmless
--    means   one line for an operator
--    limits  worst first: { class, above, per (seconds), least, why, source }: growth of more than
--            `above` in `per` seconds, and of at least `least`, is of that class.  Growth within
--            all limits is harmless.  `above` 0 without `per`: any growth at all.  No limits:
--            `class` as it is.
--    misleads  why growth, or a value, may mean nothing; nil if it does not
--    source  who says so; a limit has its own
--    state   true: no counter but how a thing is now, a number or a text; its growth means nothing,
--            and it has neither width nor full.  It has one of
--      best    the field of the same reading that says what it could be
--      whole   what it is when nothing is missing; `absent`: the value that means there is no such
--              thing, or that it is down: only a change to it says something
--      good    the texts that are well; `left`: what any other leaves of the capacity
--      limits  with `above` for the value itself
--      before  true: only a change for the worse from what it was says something
-- }
-- Names are those of the kernel where it has one.  A source is added as a module of the same shape
-- and a line in `sources`.
local told = require "taut.readings"

local counters = {}

--- Sources by name.
counters.sources = {
   cxi = require "taut.events.counters.cxi",
   gpcdr_aries = require "taut.events.counters.gpcdr_aries",
   gpcdr_gemini = require "taut.events.counters.gpcdr_gemini",
   ib_hfi1 = require "taut.events.counters.ib_hfi1",
   ib_hw = require "taut.events.counters.ib_hw",
   ib_mlx4 = require "taut.events.counters.ib_mlx4",
   ib_others = require "taut.events.counters.ib_others",
   ib_port = require "taut.events.counters.ib_port",
   netdev = require "taut.events.counters.netdev",
   pcie = require "taut.events.counters.pcie",
}

--- What a node calls a source in HELLO and RESULT → where its counters are described.
counters.node = {
   cxi = { "cxi" },
   gpcdr = { "gpcdr_gemini", "gpcdr_aries" },
   ib = { "ib_port", "ib_hw", "ib_mlx4", "ib_hfi1", "ib_others" },
   netdev = { "netdev" },
   pcie = { "pcie" },
}

local ORDER = { fatal = 1, degrading = 2, congestion = 3, traffic = 4, harmless = 5 }

--- Is the first class worse than the second?
function counters.worse(first, second)
   return ORDER[first] < ORDER[second]
end

--- The entry of a counter; nil for one the catalogue does not know.
function counters.entry(source, name)
   local s = counters.sources[source] or error("no source '" .. tostring(source) .. "'", 2)
   return s.list[name]
end

--- What a node calls a source → its names, as taut.readings wants to know them; and its counters
-- alone, name → entry.
counters.kinds, counters.counts = {}, {}

-- Growth of what is harmless means nothing, nor does congestion of which it is not known how much
-- is too much.
local function telling_kind(entry)
   if entry.unit == "text" or entry.state then
      if entry.unit == "text" then
         return told.TEXT
      end
      return told.STATE
   elseif entry.class == "traffic" and entry.full == "saturates" and entry.width < 63 then
      assert((1 << entry.width) - 1 == told.SATURATING_TOP, "taut.readings knows one top only")
      return told.SATURATING
   elseif entry.class == "traffic" then
      return told.TRAFFIC
   end
   local is_quiet = entry.class == "harmless" or entry.class == "congestion" and not entry.limits
   if is_quiet then
      return told.HARMLESS
   end
   return told.COUNT
end

-- Each HELLO asks for all its counters: node's source → name → { entry, source in the catalogue }.
local by_node = {}
for source, list in pairs(counters.node) do
   local names, kinds, counts = {}, {}, {}
   for i = #list, 1, -1 do
      for name, entry in pairs(counters.sources[list[i]].list) do
         names[name] = { entry, list[i] }
      end
   end
   for name, found in pairs(names) do
      kinds[name] = telling_kind(found[1])
      if not found[1].state then
         counts[name] = found[1]
      end
   end
   by_node[source], counters.kinds[source], counters.counts[source] = names, kinds, counts
end

--- The entry of a counter or state that a node told.
-- @param source as in HELLO
-- @return entry and its source in the catalogue; nil for one the catalogue does not know
function counters.of(source, name)
   local found = (by_node[source] or {})[name]
   if found then
      return found[1], found[2]
   end
end

--- Largest value a counter can show.
-- @param wide whether the wider form was read
function counters.top(entry, wide)
   local width = entry.width
   if wide and entry.wide then
      width = entry.wide.width or width
   end
   if width >= 63 then
      return math.maxinteger
   end
   return (1 << width) - 1
end

function counters.full(entry, wide)
   if wide and entry.wide then
      return entry.wide.full or entry.full
   end
   return entry.full
end

-- How much growth a limit allows in some time; without a time what counts by one allows any.
local function allowed_by(limit, seconds)
   if not limit.per then
      return limit.above
   elseif not seconds then
      return math.huge
   end
   return limit.above * seconds / limit.per
end

--- What growth means.
-- @param entry of the catalogue
-- @param amount growth, 0 or more
-- @param seconds it took, or nil where that is not known: limits with a time then do not apply
-- @return class; the limit that was passed, or nil
function counters.judge(entry, amount, seconds)
   if amount <= 0 then
      return "harmless"
   elseif not entry.limits then
      return entry.class
   end
   for _, limit in ipairs(entry.limits) do
      if amount > allowed_by(limit, seconds) and amount >= (limit.least or 1) then
         return limit.class, limit
      end
   end
   return "harmless"
end

-- A state that is worse than it should be: class, what it should be, what is left of it (0 to 1).
local function find_fault(entry, value, reading)
   local best = entry.whole or reading[entry.best]
   if entry.good then
      for _, text in ipairs(entry.good) do
         if value == text then
            return nil
         end
      end
      return entry.class, entry.good[1], entry.left
   elseif entry.limits and type(value) == "number" then
      local class, limit = counters.judge(entry, value)
      if limit then
         return class, counters.words(limit)
      end
   elseif type(best) == "number" and type(value) == "number" and value < best
      and value ~= entry.absent then
      return entry.class, best, value / best
   end
end

--- What is wrong with the states of a reading, by itself.  Capacities left multiply.
-- @param reading of a node: { source =, name = value, … }
-- @return array of { what, class, have, best, left (nil: not known), entry }, by name
function counters.faults(reading)
   local found = {}
   for name, value in pairs(reading) do
      local entry = counters.of(reading.source, name)
      if entry and entry.state then
         local class, best, left = find_fault(entry, value, reading)
         if class and class ~= "harmless" then
            found[#found + 1] = { what = name, class = class, have = value, best = best,
               left = left, entry = entry }
         end
      end
   end
   table.sort(found, function(first, second) return first.what < second.what end)
   return found
end

--- A limit in words: "more than 120 an hour".
function counters.words(limit)
   local per = { [1] = " a second", [60] = " a minute", [3600] = " an hour", [86400] = " a day" }
   if limit.above == 0 then
      return "any"
   end
   local text = ("more than %d"):format(limit.above)
   if limit.per then
      text = text .. (per[limit.per] or (" in %d s"):format(limit.per))
   end
   return text
end

return counters
