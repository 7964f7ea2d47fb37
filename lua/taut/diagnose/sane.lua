-- SPDX-License-Identifier: GPL-2.0-or-later
--- Which tests may speak at all: evidence of this machine, of now, once.
local judge = require "taut.diagnose.judge"
local tables = require "taut.base.tables"

local sane = {}

local math_type = math.type -- asked for each test

local AHEAD_S = 120   -- a clock that is set back makes tests come from the future
local KEPT = 20000    -- test ids remembered, so that nothing counts twice

-- Did the test take the way that is in force now?
local function same_way(self, t)
   if not t.route then
      return true
   end
   local now = self.topo:route(t.src, t.dst, nil, t.rail)
   if not now or #now ~= #t.route then
      return false
   end
   for i, stage in ipairs(now) do
      if stage ~= t.route[i] and not (type(stage) == "table" and tables.has(stage, t.route[i])) then
         return false
      end
   end
   return true
end

-- Was this id taken before?  A word holds 64 of them, since they come one after the other.
local function is_taken(taken, id)
   local word = taken[id >> 6]
   return word and word >> (id & 63) & 1 == 1
end

-- Two generations of ids: the older one is dropped when the younger is full.
local function note_id(self, id)
   if self.taken_n >= KEPT then
      self.taken_before, self.taken, self.taken_n = self.taken, {}, 0
      setmetatable(self.taken, { __index = setmetatable(self.taken_before, nil) })
   end
   local taken, word = self.taken, id >> 6
   taken[word] = (taken[word] or 0) | 1 << (id & 63)
   self.taken_n = self.taken_n + 1
end

-- Why a test is left out, or nil.
-- @param o { nodes, components = of the topology, oldest, latest = seconds }
local function refused(self, t, o)
   local nodes, src, dst, time, id = o.nodes, t.src, t.dst, t.time, t.id
   if math_type(src) ~= "integer" or math_type(dst) ~= "integer" or src == dst
      or not nodes[src] or not nodes[dst] then
      return "of unknown nodes"
   elseif t.confirms and not o.components[t.confirms] then
      return "of unknown components"
   elseif time and not (type(time) == "number" and time < 1e15 and time > -1e15) then
      return "without a time"
   elseif time and time > o.latest then
      return "from the future"
   elseif time and time < o.oldest then
      return "too old"
   elseif id and (math_type(id) ~= "integer" or is_taken(self.taken, id)) then
      return "twice"
   elseif self.topo.epoch ~= 1 and not same_way(self, t) then
      return "of another epoch"
   end
   return nil
end

-- Why, in a few words.
local WHY = { "from the future", "of another epoch", "of unknown components", "of unknown nodes",
   "too old", "twice", "without a time" }

--- What the diagnosis remembers for it.
function sane.begin(self)
   self.taken, self.taken_n, self.refused = {}, 0, tables.counts(WHY)
end

--- The tests of an event that are evidence.
-- Counts in self.refused why others are not.
function sane.filter(self, tests, now)
   local list, n, is_evidence = {}, 0, judge.is_evidence
   local o = { nodes = self.topo.nodes, components = self.topo.components,
      latest = now + AHEAD_S, oldest = now - self.s.forget_days * 86400 }
   for i = 1, #tests do
      local t = tests[i]
      if is_evidence(t) then
         local why = refused(self, t, o)
         if why then
            self.refused[why] = (self.refused[why] or 0) + 1
         else
            n = n + 1
            list[n] = t
            if t.id then
               note_id(self, t.id)
            end
         end
      end
   end
   return list
end

return sane
