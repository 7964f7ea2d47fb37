-- SPDX-License-Identifier: GPL-2.0-or-later
--- Capacities that are not configured: learned from peers.
--
-- Of each component the second best counts that tests over it reached, both ends agreeing; of a
-- class (same kind, same node class, as many cables) the median of that.  So neither slow
-- components, as long as most are well, nor a node that lies make it smaller (or larger), nor does
-- what becomes slow later.
-- Below `learn_peers` components seen, or where they differ too much, nothing is expected, and the
-- component is `unknown`.  Once `learn_share` of a class has been seen, its value stands: a change
-- of all of them is for an administrator to accept (`taut relearn`).
local json = require "taut.json"
local tables = require "taut.base.tables"
local unknown = require "taut.topology.unknown"

local learned_capacity = {}
local Learned = {}
Learned.__index = Learned

local AGAIN_S = 60 -- a large class is not sorted for each check

---------------------------------------------------------------- what one component showed

-- The two best: one alone may be a slip of the clock.
local function note_best(best, value)
   if value > best.first then
      best.second, best.first = best.first, value
   elseif value > best.second then
      best.second = value
   else
      return false
   end
   return true
end

local function take_test(self, component, test)
   local class = self.of[component]
   if not class or (test.through or test.shares or {})[component] then
      return -- what is shared may be shared unevenly
   end
   local best = self.best[component]
   if not best then
      best = { first = -1, second = -1 }
      self.best[component] = best
   end
   local had = best.second >= 0
   if note_best(best, test.bw_Bps) then
      if best.second >= 0 and not had then
         class.seen = class.seen + 1
      end
      class.is_news = true
   end
end

-- Does a test show the capacity?  Several streams at once get more than the one that is expected;
-- of one that may end early both ends may only agree that it is good.
local function is_telling(test)
   local is_agreed = test.figure
      or not test.enough_Bps and (test.class == "good" or test.class == "low")
   return is_agreed and (test.streams or 1) <= 1
      and type(test.bw_Bps) == "number" and test.bw_Bps >= 0 and test.bw_Bps < math.huge
end

---------------------------------------------------------------- what a class is taken to carry

local function find_median(list)
   local n = #list
   table.sort(list)
   if n % 2 == 1 then
      return list[n // 2 + 1]
   end
   return (list[n // 2] + list[n // 2 + 1]) / 2
end

-- Median and spread (median distance from it, as a share) of the rates of a class's components.
local function find_middle(self, class)
   local list, off = {}, {}
   for _, c in ipairs(class.members) do
      local v = self.best[c] and self.best[c].second or -1
      if v >= 0 then
         list[#list + 1] = v
      end
   end
   local m = find_median(list)
   for i, v in ipairs(list) do
      off[i] = math.abs(v - m)
   end
   return m, m > 0 and find_median(off) / m or math.huge, #list
end

local function set_class_Bps(self, class, Bps, was)
   class.Bps = Bps
   for _, c in ipairs(class.members) do
      unknown.known(self.topo, c, Bps)
      self.evidence:unknown(c, false)
   end
   self.topo:capacities_changed()
   self.changed = true
   return was and math.abs(Bps - was) > self.s.ceiling * was
end

-- Returns whether runs that were measured against the old value mean nothing now.
local function learn_class(self, class, now)
   local s = self.s
   local m, spread, n = find_middle(self, class)
   class.is_news, class.looked_at, class.shows = false, now, m
   if m <= 0 or class.Bps and n < class.n then
      return false
   end
   self.changed = self.changed or n > class.n or not class.settled
   class.n = n
   if class.settled then
      return false
   end
   self.changed = self.changed or class.spread ~= spread
   class.spread = spread
   if spread > s.learn_spread then
      return false
   end
   class.settled = n >= s.learn_share * #class.members or nil
   class.since = class.since or now
   return set_class_Bps(self, class, m, class.Bps)
end

local function is_due_to_learn(self, class, now)
   local least = self.s.learn_peers
   return class.is_news and class.seen >= least
      and (class.seen <= 4 * least or math.abs(now - (class.looked_at or -math.huge)) >= AGAIN_S)
end

--- Other settings from now on.
function Learned:rules(settings)
   self.s = settings
end

--- Take in the tests of an event: judged, or with `bw_Bps` alone.
-- @return array of components whose runs are void: what they were measured against has moved
function Learned:take(tests, now)
   local moved = {}
   for _, t in ipairs(tests) do
      for _, stage in ipairs(is_telling(t)
         and (t.route or self.topo:route(t.src, t.dst, nil, t.rail)) or {}) do
         -- it is not known which of a set it met; the median of all allows that
         for _, c in ipairs(type(stage) == "table" and stage or { stage }) do
            take_test(self, c, t)
         end
      end
   end
   for _, class in pairs(self.classes) do
      if is_due_to_learn(self, class, now) and learn_class(self, class, now) then
         table.move(class.members, 1, #class.members, #moved + 1, moved)
      end
   end
   return moved
end

---------------------------------------------------------------- questions

--- Is a component one whose capacity is not known?
function Learned:is_open(component)
   return self.of[component] ~= nil and not self.of[component].Bps
end

local function describe_class(self, class)
   local s, Bps = self.s, class.Bps
   local differs = class.settled and class.shows and class.seen >= s.learn_peers
      and math.abs(class.shows - Bps) > s.learn_spread * Bps
   return { class = class.name, Bps = Bps, peers = Bps and class.n or class.seen,
      of = #class.members, least = s.learn_peers, spread = class.spread,
      settled = class.settled or false, shows = differs and class.shows or nil,
      too_different = not Bps and class.spread and class.spread > s.learn_spread or nil }
end

--- What is expected of a component, and from what; nil where it is configured.
-- @return { class, Bps (nil: not known yet), peers, of, least, spread, settled, shows = what its
--   peers show now where that is another value, too_different }
function Learned:about(component)
   return self.of[component] and describe_class(self, self.of[component])
end

--- The same of all classes, by name.
function Learned:rows()
   local list = {}
   for _, class in pairs(self.classes) do
      list[#list + 1] = describe_class(self, class)
   end
   table.sort(list, function(first, second) return first.class < second.class end)
   return list
end

---------------------------------------------------------------- keeping, forgetting

--- What a restart has to survive, if that has changed since this was asked last; or nil.
function Learned:take_changed()
   local has_changed = self.changed
   self.changed = nil
   if has_changed then
      return self:kept()
   end
   return nil
end

--- What a restart has to survive: array of plain tables.
function Learned:kept()
   local list = {}
   for _, r in ipairs(self:rows()) do
      local class = self.classes[r.class]
      list[#list + 1] = (r.Bps or r.spread) and { class = r.class, Bps = r.Bps, n = class.n,
         spread = r.spread, settled = r.settled, since = class.since, shows = class.shows } or nil
   end
   return list
end

--- What components showed: { c, the best but one, the best, c, … }, -1 where there is none; nil
-- where nothing was learned of any.
-- @param list of components, or a first and a last
function Learned:pack_shown(list, last)
   local out = json.array {}
   for i = last and list or 1, last or #list do
      local c = last and i or list[i]
      local best = self.best[c]
      if best then
         table.move({ c, best.second, best.first }, 1, 3, #out + 1, out)
      end
   end
   return tables.unless_empty(out)
end

-- A value where it is a number from 0 to `most`, else nil.
local function number_within(value, most)
   if type(value) == "number" and value >= 0 and value <= most then
      return value
   end
   return nil
end

--- Take over what was kept; what is damaged, or of a class that is not learned now, is left out.
function Learned:restore(list)
   for _, k in ipairs(tables.or_empty(list)) do
      local class = type(k) == "table" and self.classes[k.class]
      if class and number_within(k.n, #class.members) then
         class.spread = number_within(k.spread, 1e9)
         class.shows = number_within(k.shows, 1e18)
      end
      if class and number_within(k.Bps, 1e18) and k.Bps > 0
         and number_within(k.n, #class.members) then
         class.n, class.settled = k.n, k.settled == true or nil
         class.since = number_within(k.since, 1e15)
         set_class_Bps(self, class, k.Bps)
      end
   end
   self.changed = nil
end

-- What one component showed.
local function restore_best(self, component, second, first)
   local class = self.of[component]
   if class and number_within(first, 1e18) and type(second) == "number" and second <= first then
      local had = self.best[component]
      if second >= 0 then
         class.seen = class.seen + 1
      end
      if had and had.second >= 0 then
         class.seen = class.seen - 1
      end
      class.is_news = true
      self.best[component] = { first = first, second = math.max(-1, second) }
   end
end

--- Take over what pack_shown made.
-- @param map number of a component then → now; nil: the same
function Learned:restore_shown(list, map)
   for i = 1, #list - 2, 3 do
      restore_best(self, tables.renumbered(map, list[i]), list[i + 1], list[i + 2])
   end
end

-- Everything about one class, as if nothing had been tested.
local function reset_class(self, class)
   class.Bps, class.n, class.spread, class.settled, class.since = nil, 0, nil, nil, nil
   class.seen, class.is_news, class.looked_at, class.shows = 0, false, nil, nil
   for _, c in ipairs(class.members) do
      self.best[c] = nil
      unknown.open(self.topo, c, self.topo.learns[c], self.topo.capacity[c] / self.topo.learns[c])
      self.evidence:unknown(c, true)
   end
end

--- Learn a class anew, or all: an administrator says that what they carry has changed.
-- @param name of a class, or nil
-- @return array of components concerned, or nil and what was expected
function Learned:forget(name)
   if name and not self.classes[name] then
      local known = {}
      for _, r in ipairs(self:rows()) do
         known[#known + 1] = r.class
      end
      return nil, ("'%s' is not learned; learned are: %s"):format(tostring(name),
         table.concat(known, ", "))
   end
   local list = {}
   for _, class in pairs(name and { self.classes[name] } or self.classes) do
      reset_class(self, class)
      table.move(class.members, 1, #class.members, #list + 1, list)
   end
   self.changed = true
   return list
end

--- @param topo topology
-- @param evidence of it
-- @param settings the `diagnosis` section
-- @param before what was learned about the same machine under another configuration, or nil
-- @return object, or nil where every capacity is configured
function learned_capacity.new(topo, evidence, settings, before)
   if not topo.learns then
      return nil
   end
   local self = setmetatable({ topo = topo, evidence = evidence, s = settings, best = {}, of = {},
      classes = {} }, Learned)
   for name, members in pairs(unknown.classes(topo)) do
      local class = { name = name, members = members, seen = 0, n = 0 }
      self.classes[name] = class
      for _, c in ipairs(members) do
         self.of[c] = class
         evidence:unknown(c, true)
      end
   end
   if before then
      self:restore(before:kept())
   end
   return self
end

return learned_capacity
