-- SPDX-License-Identifier: GPL-2.0-or-later
--- When what spoke against components means nothing any more: their node booted, or what they are
-- held against was learned anew.  Verdicts stand until tests take them back.
local evidence_reset = {}

-- Returns changes, set of the components concerned.
local function void_runs(self, list, now)
   local set, open = {}, {}
   for _, c in ipairs(list) do
      if not self:is_decided(c) and self.evidence:low(c) > 0 then
         self.evidence:forget(c)
         set[c], open[#open + 1] = true, c
      end
   end
   return #open > 0 and self:judge(open, now) or {}, set
end

--- What spoke against these components was of another time: a node booted.
-- @return as of observe
evidence_reset.began = void_runs

--- Learn from tests, where there is something to learn.
-- @return changes that follow
function evidence_reset.learn(self, tests, now)
   local moved = self.learned and self.learned:take(tests, now) or {}
   if #moved == 0 then
      return {}
   end
   return (void_runs(self, moved, now))
end

--- An administrator says that what is learned is to be learned anew (learned_capacity.lua).
-- @param class its name, or nil for all
-- @return as of observe, and how many components are concerned; or nil and what was expected
function evidence_reset.relearn(self, class, now)
   if not self.learned then
      return nil, "nothing is learned: every capacity is configured"
   end
   local list, err = self.learned:forget(class)
   if not list then
      return nil, err
   end
   local changes, set = void_runs(self, list, now)
   self.machine_wide = nil -- it was that, or is looked at anew
   return changes, set, #list
end

return evidence_reset
