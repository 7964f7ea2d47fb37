-- SPDX-License-Identifier: GPL-2.0-or-later
--- From runs to states: who becomes suspect, who is named, who is well again.
local busy = require "taut.diagnose.busy"
local loss = require "taut.diagnose.loss"
local member = require "taut.diagnose.sets.member"
local record = require "taut.diagnose.record"
local recurring = require "taut.diagnose.recurring"
local verdict = require "taut.diagnose.verdict"
local verdicts = require "taut.report.verdicts"
local wants = require "taut.diagnose.wants"
local whole = require "taut.diagnose.whole"

local settle = {}

--- Keep the lists of suspects, of what was named, and of sets that have such members.
function settle.note(self, c, state)
   local was = self.suspects[c] or self.decided[c] or false
   self.suspects[c] = state == "suspect" or nil
   self.decided[c] = verdicts.is_verdict(state) or nil
   local is = self.suspects[c] or self.decided[c] or false
   if is ~= was then
      self.sets:mark(c, is and 1 or -1)
   end
end

local function set_state(self, c, state, now, changes)
   local k = self:component(c)
   if k.state ~= state then
      changes[#changes + 1] = { component = c, from = k.state, to = state, state = state,
         time = now, left = k.left }
      k.state, k.since = state, now
      settle.note(self, c, state)
      self.evidence:watch(c, self.suspects[c] or self.decided[c] or false)
      wants.changed(self, c)
   end
end

-- It explains tests, which stand in the runs of others, too.
local function name(self, c, left)
   for _, other in ipairs(self.evidence:name(c, left)) do
      self.marked[other] = true
   end
end

local ALTERNATIVES = 16 -- kept with a verdict

-- By its case, or by hard evidence alone.
local function become_slow(self, c, k, case, now, changes)
   local left, seen = case and case.best or k.hard.left, self:seen(c)
   record.decide(k, { left = math.min(1, left), case = case, by_hard = not case or nil,
      ruled_out = self.evidence:alternatives(c, ALTERNATIVES), evidence = self:run(c),
      last_cleared = { at = seen.cleared_at, by = seen.cleared_by } })
   self.evidence:explain_bouts(c)
   name(self, c, k.left)
   set_state(self, c, left < self.s.failed and "failed" or "slow", now, changes)
end

-- It comes and goes.
local function become_recurring(self, c, k, case, now, changes)
   record.decide(k, { recurs = recurring.record(case), left = math.min(1, case.share) })
   self.evidence:explain_bouts(c)
   name(self, c, k.left)
   self.evidence:name_recurring(c, true)
   set_state(self, c, case.share < self.s.failed and "failed" or "slow", now, changes)
end

-- It loses a share of what it carries.
local function become_lossy(self, c, k, case, now, changes)
   record.decide(k, { loss = loss.record(self, c, case), left = case.rate })
   self.evidence:name_loss(c, case.share)
   set_state(self, c, "lossy", now, changes)
end

--- The component is well, as far as is known.
function settle.well(self, c, now, changes)
   local k = self:component(c)
   if k.recurs then
      self.evidence:forget_bouts(c)
   end
   if k.loss then
      self.evidence:name_loss(c, 0)
   end
   record.clear(k)
   member.follow(self.sets, c, nil)
   k.hard = k.hard and (k.hard.of_set and k.hard.own or not k.hard.of_set and k.hard) or nil
   set_state(self, c, "ok", now, changes)
end

--- A set that is slow comes down to this link: named without tests of its own.
-- @param fact hard evidence, `of_set`; what stood before is kept in it
function settle.found(self, c, fact, now, changes)
   local k = self:component(c)
   fact.own, k.hard = k.hard, fact
   become_slow(self, c, k, nil, now, changes)
end

--- The set it came from is well again.
function settle.taken_back(self, c, now, changes)
   self.evidence:name(c, 1)
   settle.well(self, c, now, changes)
end

-- A suspect for what was found about it, whatever tests say: named when the site wants that.
local function one_hard(self, c, k, case, now, changes)
   if k.state ~= "suspect" then
      k.suspect_at, k.asked = now, k.asked or 0
      set_state(self, c, "suspect", now, changes)
   end
   if self.s.hard_alone then
      become_slow(self, c, k, nil, now, changes)
      return true
   end
   wants.changed(self, c)
   k.tied = nil
   k.missing = case and verdict.missing(self, c, k, case, now) or { what = "test" }
   return false
end

-- A verdict stands: does it still?
local function decided(self, c, k, case, is_hard, now, changes)
   if case or self:seen(c).good < self.s.recover_good or is_hard and self.s.hard_alone then
      return false
   end
   self.evidence:name(c, 1)
   settle.well(self, c, now, changes)
   return is_hard and k.hard and one_hard(self, c, k, nil, now, changes) or false
end

-- A verdict of losses stands: does it still?  Several tests without them take it back, as long as
-- none had them since.
local function decided_lossy(self, c, now, changes)
   if self.evidence:loss_good(c) < self.s.recover_good then
      return false
   end
   settle.well(self, c, now, changes)
   return true
end

-- It came and went: has it stayed away?
local function decided_recurring(self, c, k, now, changes)
   local case = recurring.case(self, c)
   if not recurring.is_over(case)
      or k.recurs.is_any and self:seen(c).good < self.s.recover_good then
      k.recurs = recurring.record(case or k.recurs)
      return false
   end
   self.evidence:name(c, 1)
   settle.well(self, c, now, changes)
   return true
end

-- What loses may get a ceiling besides, or fail.
local function gets_worse(self, c, k, case, now, changes)
   if not case or not verdict.is_suspect(self, c, k, case, now)
      or verdict.missing(self, c, k, case, now) or #verdict.rivals(self, c, k, case) > 0 then
      return false
   end
   self.evidence:name_loss(c, 0)
   become_slow(self, c, k, case, now, changes)
   return true
end

-- Its run is worth no suspicion.
local function calm(self, c, k, case, now, changes)
   if not case then
      settle.well(self, c, now, changes)
   elseif k.state == "suspect" then
      k.tied, k.missing = nil, nil
      set_state(self, c, "ok", now, changes) -- what it showed since speaks for a busy network
   end
end

local function become_suspect(self, c, k, now, changes)
   if k.state ~= "suspect" then
      k.suspect_at, k.asked = now, k.asked or 0
      set_state(self, c, "suspect", now, changes)
   end
   wants.changed(self, c)
end

-- What is missing for a verdict, and who else it may be.
local function suspect(self, c, k, case, now, changes)
   become_suspect(self, c, k, now, changes)
   busy.review(self, c, k)
   k.missing = verdict.missing(self, c, k, case, now)
   local rivals = case.score >= self.s.slow_score / 2 and verdict.rivals(self, c, k, case) or {}
   k.tied = #rivals > 0 and rivals or nil
end

-- A suspect because of what was lost over it.  Returns whether it was named.
local function suspect_losses(self, c, k, case, now, changes)
   become_suspect(self, c, k, now, changes)
   k.missing = loss.missing(self, c, k, case, now)
   local rivals = case.score >= self.s.slow_score / 2 and loss.rivals(self, c) or {}
   k.tied = #rivals > 0 and rivals or nil
   if k.missing or k.tied then
      return false
   end
   become_lossy(self, c, k, case, now, changes)
   return true
end

-- A suspect because it comes and goes.  Returns whether it was named.
local function suspect_bouts(self, c, k, case, now, changes)
   become_suspect(self, c, k, now, changes)
   k.missing = recurring.missing(self, c, k, case, now)
   local rival = recurring.rival(self, c)
   k.tied = rival and { rival } or nil
   if k.missing or rival or whole.reason(self, c, now) then
      return false
   end
   become_recurring(self, c, k, case, now, changes)
   return true
end

-- Is the cause one that is not this component alone, or may it be another one?
local function is_of_others(self, c, k, case, now)
   k.whole = whole.company(self, c)
   if k.whole then
      return true -- one cause, which is not this link
   end
   local elsewhere
   k.whole, elsewhere = whole.reason(self, c, now)
   if k.whole then
      name(self, c, math.min(1, case.best)) -- it explains its tests all the same
   elseif not k.tied then
      k.missing = elsewhere and { what = "elsewhere", whole = elsewhere }
   end
   return k.whole or k.tied or elsewhere
end

-- One component, as its run stands now.  Returns whether it was named.
local function one(self, c, now, changes)
   local k, case, lost = self:component(c), self.evidence:case(c), loss.case(self, c)
   if k.whole and not case then
      self.evidence:name(c, 1)
   end
   local is_hard = k.hard and verdict.is_hard(self, k)
   if k.recurs then
      return decided_recurring(self, c, k, now, changes)
   elseif k.state == "lossy" then
      return decided_lossy(self, c, now, changes)
         or gets_worse(self, c, k, case, now, changes)
   elseif self:is_decided(c) then
      return decided(self, c, k, case, is_hard, now, changes)
   end
   member.follow(self.sets, c, case and case.best)
   local is_suspect = case and verdict.is_suspect(self, c, k, case, now)
   if is_hard and (self.s.hard_alone or not is_suspect) then
      return one_hard(self, c, k, case, now, changes)
   end
   local bouts = recurring.case(self, c)
   local is_losing = lost and loss.is_suspect(self, k, lost, now)
   local is_recurring = bouts and recurring.is_suspect(self, c, bouts)
   if is_losing and suspect_losses(self, c, k, lost, now, changes)
      or is_recurring and suspect_bouts(self, c, k, bouts, now, changes) then
      return true
   elseif not is_suspect then
      if not is_losing and not is_recurring then
         calm(self, c, k, case, now, changes)
      end
      return false
   end
   suspect(self, c, k, case, now, changes)
   if k.missing or is_of_others(self, c, k, case, now) then
      return false
   end
   become_slow(self, c, k, case, now, changes)
   return true
end

-- The strongest case first: what it explains speaks against nobody else.
local function in_order(self, list)
   local score = {}
   for _, c in ipairs(list) do
      local lost = loss.case(self, c)
      score[c] = math.max(self.evidence:score(c), lost and lost.score or 0)
   end
   table.sort(list, function(a, b)
      return score[a] > score[b] or score[a] == score[b] and a < b
   end)
   return list
end

--- Judge components anew, and all suspects when one of them was named.
function settle.all(self, list, now)
   local changes, named = {}, false
   for _, c in ipairs(in_order(self, list)) do
      named = one(self, c, now, changes) or named
   end
   while named do
      local again = {}
      for c in pairs(self.suspects) do
         again[#again + 1] = c
      end
      named = false
      for _, c in ipairs(in_order(self, again)) do
         named = one(self, c, now, changes) or named
      end
   end
   return changes
end

--- Nothing speaks against it any more, but no test has shown it well either.
function settle.untested(self, c, changes)
   local k, last = self:component(c), changes[#changes]
   if k.state == "ok" and last and last.component == c and
      self.evidence:cleared(c) == -math.huge then
      k.state, last.to, last.state = "unknown", "unknown", "unknown"
   end
end

--- Hard evidence of a component came, changed or went.
-- @return changes
function settle.hard(self, c, now)
   local k = self:component(c)
   local stood, is_hard = k.state, verdict.is_hard(self, k)
   if not is_hard and stood ~= "suspect" and not k.by_hard then
      return {}
   elseif k.by_hard and not is_hard then
      local changes = {}
      self.evidence:name(c, 1)
      settle.well(self, c, now, changes)
      return changes
   end
   local changes = settle.all(self, { c }, now)
   if stood == "suspect" then
      settle.untested(self, c, changes)
   end
   return changes
end

return settle
