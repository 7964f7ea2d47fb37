-- SPDX-License-Identifier: GPL-2.0-or-later
--- What counters grew by between two readings, and when.
--
-- Taut resets nothing, others do: a counter that fell was reset, and what it shows has grown since.
-- One at its highest value says only "at least".  Readings are compared by the monotonic clock of
-- one boot, so a wall clock that was set in between changes the dates, not the lengths.
local counters = require "taut.events.counters"

local growth = {}

-- The wall clock and the monotonic one may drift apart by this much and still agree.
local JUMP_S = 2

--- The time between two readings.
-- @param was, now { time (wall), mono, boot }; `was` nil for a first reading
-- @return { from, to, seconds (nil: not known), jump (s the wall clock was set by) }, or nil
function growth.window(was, now)
   if not was then
      return nil
   end
   local w = { to = now.time, from = was.time }
   if was.boot == now.boot and now.mono >= was.mono then
      w.seconds = now.mono - was.mono
      local jump = now.time - was.time - w.seconds
      if math.abs(jump) > JUMP_S then
         w.jump, w.from = jump, now.time - w.seconds
      end
   elseif now.time > was.time then
      -- the host booted in between: the wall clock is all there is, and no rate is built on it
      w.booted = true
   else
      w.from, w.booted = now.time, true
   end
   return w
end

local STILL = { amount = 0 } -- what most counters did

--- Growth of one counter.
-- @param entry of the catalogue
-- @param was, now values
-- @param wide whether both come from the wider form
-- @return { amount, at_least, reset, saturated }; amount nil where nothing can be said; all that
--   stood still share one table
function growth.of(entry, was, now, wide)
   local full = counters.full(entry, wide)
   local at_top = full == "saturates" and now >= counters.top(entry, wide)
   if now == was then
      if at_top then
         return { saturated = true }
      end
      return STILL
   elseif now > was then
      return { amount = now - was, at_least = at_top or nil, saturated = at_top or nil }
   end
   local top = counters.top(entry, wide)
   if full == "wraps" and was > top // 4 * 3 and now < top // 4 then
      return { amount = top - was + now + 1 }
   end
   return { amount = now, at_least = true, reset = true }
end

-- Growth of a counter that no catalogue knows: it may be anything that counts up.
local function grow_unknown(was, now)
   if now == was then
      return STILL
   end
   if now > was then
      return { amount = now - was }
   end
   return { reset = true }
end

-- Did everything that had counted begin anew?  Then the driver was loaded again, or the device
-- was: what has grown since is how a link comes up, and no error of anybody's.
local function has_restarted(grown, was)
   local any = false
   for name, g in pairs(grown) do
      if was[name] > 0 and not g.reset then
         return false
      end
      any = any or g.reset
   end
   return any
end

--- What the counters of one interface of a node grew by: those read both times; a counter that
-- began anew has no amount.
-- @param counts name → entry of the catalogue
-- @param was, now name → value, whole numbers from 0 on
-- @return name → as growth.of() gives; "reload" where all began anew, "reset" where some did,
--   or nil
function growth.interface(counts, was, now)
   local grown, fell = {}, false
   for name, v in pairs(now) do
      local before, entry = was[name], counts[name]
      if before == v and not (entry and entry.full == "saturates") then
         grown[name] = STILL -- most of them
      elseif before then
         local g
         if entry then
            g = growth.of(entry, before, v)
         else
            g = grow_unknown(before, v)
         end
         fell = fell or g.reset
         grown[name] = g
      end
   end
   local restarted = fell and has_restarted(grown, was)
   for name, g in pairs(grown) do
      if g.reset or restarted then
         grown[name] = nil
      end
   end
   if restarted then
      return grown, "reload"
   end
   if fell then
      return grown, "reset"
   end
   return grown
end

--- What all counters of one port grew by.
-- @param source name in the catalogue
-- @param was, now { narrow = { name → value }, wide = { … } }; a counter that was read and is not
--   there is 0; `wide` is nil where there is none
-- @return name → as growth.of() gives; a counter that changed its form is left out
function growth.port(source, was, now)
   local grown, seen = {}, {}
   for _, form in ipairs { "narrow", "wide" } do
      local before, after = was[form], now[form]
      if before and after then
         for _, values in ipairs { before, after } do
            for name in pairs(values) do
               local entry = counters.entry(source, name)
               local other = form == "narrow" and now.wide and now.wide[name]
                  or form == "narrow" and was.wide and was.wide[name]
               if entry and not other and not seen[name] then
                  seen[name] = true
                  grown[name] = growth.of(entry, before[name] or 0, after[name] or 0,
                     form == "wide")
               end
            end
         end
      end
   end
   return grown
end

return growth
