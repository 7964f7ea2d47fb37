-- SPDX-License-Identifier: GPL-2.0-or-later
--- From runs to states: who becomes suspect, who is named, who is well again.
local busy_link = require "taut.diagnose.busy_link"
local loss = require "taut.diagnose.loss"
local member = require "taut.diagnose.sets.member"
local records = require "taut.diagnose.record"
local recurring_fault = require "taut.diagnose.recurring_fault"
local tables = require "taut.base.tables"
local verdict = require "taut.diagnose.verdict"
local verdicts = require "taut.report.verdicts"
local wanted_tests = require "taut.diagnose.wanted_tests"
local whole_groups = require "taut.diagnose.whole_groups"

local component_state = {}

--- Keep the lists of suspects, of what was named, and of sets that have such members.
function component_state.note(self, component, state)
   local was = self.suspects[component] or self.decided[component] or false
   self.suspects[component] = state == "suspect" or nil
   self.decided[component] = verdicts.is_verdict(state) or nil
   local is = self.suspects[component] or self.decided[component] or false
   if is ~= was then
      self.sets:mark(component, is and 1 or -1)
   end
end

local function set_state(self, component, state, now, changes)
   local k = self:component(component)
   if k.state ~= state then
      changes[#changes + 1] = { component = component, from = k.state, to = state, state = state,
         time = now, left = k.left }
      k.state, k.since = state, now
      component_state.note(self, component, state)
      self.evidence:watch(component, self.suspects[component] or self.decided[component] or false)
      wanted_tests.changed(self, component)
   end
end

-- What is left of a component says how it is called.
local function name_state(self, left)
   if left < self.s.failed then
      return "failed"
   end
   return "slow"
end

-- It explains tests, which stand in the runs of others, too.
local function name_component(self, component, left)
   for _, other in ipairs(self.evidence:name(component, left)) do
      self.marked[other] = true
   end
end

local ALTERNATIVES = 16 -- kept with a verdict

-- By its case, or by hard evidence alone.
local function become_slow(self, component, record, case, now, changes)
   local left, seen = record.hard and record.hard.left, self:seen(component)
   if case then
      left = case.best
   end
   records.decide(record, { left = math.min(1, left), case = case, by_hard = not case or nil,
      ruled_out = self.evidence:alternatives(component, ALTERNATIVES),
      evidence = self:run(component),
      last_cleared = { at = seen.cleared_at, by = seen.cleared_by } })
   self.evidence:explain_bouts(component)
   name_component(self, component, record.left)
   set_state(self, component, name_state(self, left), now, changes)
end

-- It comes and goes.
local function become_recurring(self, component, record, case, now, changes)
   records.decide(record, { recurs = recurring_fault.record(case), left = math.min(1, case.share) })
   self.evidence:explain_bouts(component)
   name_component(self, component, record.left)
   self.evidence:name_recurring(component, true)
   set_state(self, component, name_state(self, case.share), now, changes)
end

-- It loses a share of its packets.
local function become_lossy(self, component, record, case, now, changes)
   records.decide(record, { loss = loss.record(self, component, case), left = case.rate })
   self.evidence:name_loss(component, case.share)
   set_state(self, component, "lossy", now, changes)
end

--- The component is well, as far as is known.
function component_state.well(self, component, now, changes)
   local k = self:component(component)
   if k.recurs then
      self.evidence:forget_bouts(component)
   end
   if k.loss then
      self.evidence:name_loss(component, 0)
   end
   records.clear(k)
   member.follow(self.sets, component, nil)
   if k.hard and k.hard.of_set then
      k.hard = k.hard.own or nil
   end
   set_state(self, component, "ok", now, changes)
end

--- A set that is slow comes down to this link: named without tests of its own.
-- @param fact hard evidence, `of_set`; what stood before is kept in it
function component_state.found(self, component, fact, now, changes)
   local k = self:component(component)
   fact.own, k.hard = k.hard, fact
   become_slow(self, component, k, nil, now, changes)
end

--- The set it came from is well again.
function component_state.taken_back(self, component, now, changes)
   self.evidence:name(component, 1)
   component_state.well(self, component, now, changes)
end

-- A suspect for what was found about it, whatever tests say: named when the site wants that.
local function judge_hard(self, component, record, case, now, changes)
   if record.state ~= "suspect" then
      record.suspect_at, record.asked = now, record.asked or 0
      set_state(self, component, "suspect", now, changes)
   end
   if self.s.hard_alone then
      become_slow(self, component, record, nil, now, changes)
      return true
   end
   wanted_tests.changed(self, component)
   record.tied = nil
   record.missing = case and verdict.missing(self, component, record, case, now)
      or { what = "test" }
   return false
end

-- A verdict stands: does it still?
local function recheck_slow(self, component, record, case, is_hard, now, changes)
   if case or self:seen(component).good < self.s.recover_good or is_hard and self.s.hard_alone then
      return false
   end
   self.evidence:name(component, 1)
   component_state.well(self, component, now, changes)
   return is_hard and record.hard and judge_hard(self, component, record, nil, now, changes)
      or false
end

-- A verdict of losses stands: does it still?  Several tests without them take it back, as long as
-- none had them since.
local function recheck_lossy(self, component, now, changes)
   if self.evidence:loss_good(component) < self.s.recover_good then
      return false
   end
   component_state.well(self, component, now, changes)
   return true
end

-- It came and went: has it stayed away?
local function recheck_recurring(self, component, record, now, changes)
   local case = recurring_fault.case(self, component)
   if not recurring_fault.is_over(case)
      or record.recurs.is_any and self:seen(component).good < self.s.recover_good then
      record.recurs = recurring_fault.record(case or record.recurs)
      return false
   end
   self.evidence:name(component, 1)
   component_state.well(self, component, now, changes)
   return true
end

-- What loses may get a ceiling besides, or fail.
local function became_worse(self, component, record, case, now, changes)
   if not case or not verdict.is_suspect(self, component, record, case, now)
      or verdict.missing(self, component, record, case, now)
      or #verdict.rivals(self, component, record, case) > 0 then
      return false
   end
   self.evidence:name_loss(component, 0)
   become_slow(self, component, record, case, now, changes)
   return true
end

-- Its run is worth no suspicion.
local function calm_down(self, component, record, case, now, changes)
   if not case then
      component_state.well(self, component, now, changes)
   elseif record.state == "suspect" then
      record.tied, record.missing = nil, nil
      -- what it showed since speaks for a busy network
      set_state(self, component, "ok", now, changes)
   end
end

local function become_suspect(self, component, record, now, changes)
   if record.state ~= "suspect" then
      record.suspect_at, record.asked = now, record.asked or 0
      set_state(self, component, "suspect", now, changes)
   end
   wanted_tests.changed(self, component)
end

-- What is missing for a verdict, and who else it may be.
local function judge_suspect(self, component, record, case, now, changes)
   become_suspect(self, component, record, now, changes)
   busy_link.review(self, component, record)
   record.missing = verdict.missing(self, component, record, case, now)
   local rivals = case.score >= self.s.slow_score / 2 and verdict.rivals(self, component, record,
      case) or {}
   record.tied = tables.unless_empty(rivals)
end

-- A suspect because of losses over it.  Returns whether it was named.
local function judge_losses(self, component, record, case, now, changes)
   become_suspect(self, component, record, now, changes)
   record.missing = loss.missing(self, component, record, case, now)
   local rivals = case.score >= self.s.slow_score / 2 and loss.rivals(self, component) or {}
   record.tied = tables.unless_empty(rivals)
   if record.missing or record.tied then
      return false
   end
   become_lossy(self, component, record, case, now, changes)
   return true
end

-- A suspect because it comes and goes.  Returns whether it was named.
local function judge_bouts(self, component, record, case, now, changes)
   become_suspect(self, component, record, now, changes)
   record.missing = recurring_fault.missing(self, component, record, case, now)
   local rival = recurring_fault.rival(self, component)
   record.tied = rival and { rival } or nil
   if record.missing or rival or whole_groups.reason(self, component, now) then
      return false
   end
   become_recurring(self, component, record, case, now, changes)
   return true
end

-- Is the cause one that is not this component alone, or may it be another one?
local function is_of_others(self, component, record, case, now)
   record.whole = whole_groups.company(self, component)
   if record.whole then
      return true -- one cause, which is not this link
   end
   local elsewhere
   record.whole, elsewhere = whole_groups.reason(self, component, now)
   if record.whole then
      name_component(self, component, math.min(1, case.best)) -- it explains its tests all the same
   elseif not record.tied then
      record.missing = elsewhere and { what = "elsewhere", whole = elsewhere }
   end
   return record.whole or record.tied or elsewhere
end

-- One component, as its run stands now.  Returns whether it was named.
local function judge_component(self, component, now, changes)
   local k, case = self:component(component), self.evidence:case(component)
   local lost = loss.case(self, component)
   if k.whole and not case then
      self.evidence:name(component, 1)
   end
   local is_hard = k.hard and verdict.is_hard(self, k)
   if k.recurs then
      return recheck_recurring(self, component, k, now, changes)
   elseif k.state == "lossy" then
      return recheck_lossy(self, component, now, changes)
         or became_worse(self, component, k, case, now, changes)
   elseif self:is_decided(component) then
      return recheck_slow(self, component, k, case, is_hard, now, changes)
   end
   member.follow(self.sets, component, case and case.best)
   local is_suspect = case and verdict.is_suspect(self, component, k, case, now)
   if is_hard and (self.s.hard_alone or not is_suspect) then
      return judge_hard(self, component, k, case, now, changes)
   end
   local bouts = recurring_fault.case(self, component)
   local is_losing = lost and loss.is_suspect(self, k, lost, now)
   local is_recurring = bouts and recurring_fault.is_suspect(self, component, bouts)
   if is_losing and judge_losses(self, component, k, lost, now, changes)
      or is_recurring and judge_bouts(self, component, k, bouts, now, changes) then
      return true
   elseif not is_suspect then
      if not is_losing and not is_recurring then
         calm_down(self, component, k, case, now, changes)
      end
      return false
   end
   judge_suspect(self, component, k, case, now, changes)
   if k.missing or is_of_others(self, component, k, case, now) then
      return false
   end
   become_slow(self, component, k, case, now, changes)
   return true
end

-- The strongest case first: what it explains speaks against no other component.
local function sort_by_score(self, list)
   local score = {}
   for _, c in ipairs(list) do
      local lost = loss.case(self, c)
      score[c] = math.max(self.evidence:score(c), lost and lost.score or 0)
   end
   table.sort(list, function(first, second)
      return score[first] > score[second] or score[first] == score[second] and first < second
   end)
   return list
end

--- Judge components anew, and all suspects when one of them was named.
function component_state.all(self, list, now)
   local changes, named = {}, false
   for _, c in ipairs(sort_by_score(self, list)) do
      named = judge_component(self, c, now, changes) or named
   end
   while named do
      local again = {}
      for c in pairs(self.suspects) do
         again[#again + 1] = c
      end
      named = false
      for _, c in ipairs(sort_by_score(self, again)) do
         named = judge_component(self, c, now, changes) or named
      end
   end
   return changes
end

--- Nothing speaks against it any more, but no test has shown it well either.
function component_state.untested(self, component, changes)
   local k, last = self:component(component), changes[#changes]
   if k.state == "ok" and last and last.component == component and
      self.evidence:cleared(component) == -math.huge then
      k.state, last.to, last.state = "unknown", "unknown", "unknown"
   end
end

--- Hard evidence of a component came, changed or went.
-- @return changes
function component_state.hard(self, component, now)
   local k = self:component(component)
   local stood, is_hard = k.state, verdict.is_hard(self, k)
   if not is_hard and stood ~= "suspect" and not k.by_hard then
      return {}
   elseif k.by_hard and not is_hard then
      local changes = {}
      self.evidence:name(component, 1)
      component_state.well(self, component, now, changes)
      return changes
   end
   local changes = component_state.all(self, { component }, now)
   if stood == "suspect" then
      component_state.untested(self, component, changes)
   end
   return changes
end

return component_state
