-- SPDX-License-Identifier: GPL-2.0-or-later
--- Which tests may speak at all: evidence of this machine, of now, once.
local tables = require "taut.base.tables"

local valid_tests = {}

local AHEAD_S = 120 -- a clock that is set back makes tests come from the future

-- Did the test take the way that is in force now?
local function took_way_in_force(self, test)
   if test.epoch then -- planned here
      return test.epoch == self.topo.epoch
   elseif not test.route then
      return true
   end
   local now = self.topo:route(test.src, test.dst, nil, test.rail)
   if not now or #now ~= #test.route then
      return false
   end
   for i, stage in ipairs(now) do
      if stage ~= test.route[i] and not (type(stage) == "table" and tables.has(stage,
         test.route[i])) then
         return false
      end
   end
   return true
end

-- Why, in a few words.
local WHY = { "from the future", "of another epoch", "of unknown components", "of unknown nodes",
   "too old", "twice", "without a time" }

--- What the diagnosis remembers for it.
function valid_tests.begin(self)
   self.refused = tables.counts(WHY)
end

--- Begin an event with those of its tests that may speak; the engine notes which it had before.
-- Counts in self.refused why others may not.
-- @param tests that are evidence (judge.is_evidence)
-- @return array of them; of the flows over sets that may be counted (Sets:observe); of those that
--   were asked for to confirm something
function valid_tests.take(self, tests, now)
   if self.topo.epoch ~= 1 then
      local n = #tests
      tests = tables.filter(tests, function(test) return took_way_in_force(self, test) end)
      self.refused["of another epoch"] = self.refused["of another epoch"] + n - #tests
   end
   local oldest = now - self.s.forget_days * 86400
   local list, flows, refused, confirming = self.evidence:take(tests, oldest, now + AHEAD_S)
   for why, n in pairs(refused or {}) do
      self.refused[why] = self.refused[why] + n
   end
   return list, flows, confirming
end

return valid_tests
