-- SPDX-License-Identifier: GPL-2.0-or-later
--- Slow at times: what does well and comes back to the same ceiling, again and again.
--
-- taut.evidence (C) keeps what each run of a component showed when a test ended it (a bout) and
-- weighs how often one ceiling came back (bouts/bouts.h, bouts/weigh.c).  What is busy comes back
-- at another ceiling, or yields to several streams.  What loses where nobody counts has no ceiling,
-- but never gets all of its capacity (`is_any`).
local lone_accuser = require "taut.diagnose.lone_accuser"
local verdict = require "taut.diagnose.verdict"

local recurring_fault = {}

local CONFIRMED = 2 -- bouts that several streams at once bore out
local CONFIRMED_ANY = 4 -- where there is no ceiling
local CHAIN = 3 -- spells with bouts without a ceiling, and no whole test between
local LOOKS = 6   -- at a component in a spell
local DOUBT = 9.2 -- log odds against one chance in 10,000

--- What the bouts of a component amount to, or nil where no ceiling came back.
-- @return { score, share, first, last, is_fair, is_any, bouts, wide, all, spells, since, far,
--   senders, receivers }
function recurring_fault.case(self, component)
   return self.evidence:recurrence(component)
end

local function find_rival(self, component)
   return self.evidence:recurrence_rival(component, self.s.tie_score, self.s.recur_score)
end

--- Is it worth a suspicion, so that plans test it although it does well just now?  Not where
-- another explains the bouts that does not come and go itself.
function recurring_fault.is_suspect(self, component, case)
   local enough = self.s.suspect_score / 2
   local is_worth = case.score >= enough or case.is_any and case.bouts >= CHAIN
   if not is_worth or recurring_fault.is_over(case) then
      return false
   end
   local other = find_rival(self, component)
   local own = other and self.evidence:recurrence(other)
   return not other or own ~= nil and own.score >= enough
end

-- The nodes of its newest bout.
local function find_newest_ends(self, component)
   local list = self.evidence:bouts(component)
   local b = list and list[#list]
   if b then
      return b.src, b.dst
   end
   return self.evidence:newest(component)
end

--- What its score must be: one of so many bouts was chosen as the first, and its ceiling.  Where
-- there is no ceiling nothing was chosen.
function recurring_fault.needed(self, case)
   return self.s.recur_score + (case.is_any and 0 or math.log(math.max(1, case.all or 1)))
end

--- What a verdict still wants; nil when nothing is missing.
-- @return as verdict.missing
function recurring_fault.missing(self, component, record, case, now)
   local s, far = self.s, verdict.far_needed(self, component, record, now)
   local needs = recurring_fault.needed(self, case)
   if case.score < needs then
      return { what = "score", has = case.score, needs = needs }
   elseif case.since > 1 then -- a repaired component does not matter any more
      return { what = "newer", has = case.since, needs = 1 }
   elseif case.bouts <= s.slow_spells then
      return { what = "spells", has = case.bouts, needs = s.slow_spells + 1 }
   elseif case.far < far then
      return { what = "far", has = case.far, needs = math.ceil(far) }
   end
   local confirmed = case.is_any and CONFIRMED_ANY or CONFIRMED
   if case.wide < confirmed then
      return { what = "confirmed", has = case.wide, needs = confirmed }
   end
   return lone_accuser.missing(self, component, case, far, find_newest_ends(self, component))
end

--- Another component on the same ways that may have made the bouts.
-- @return { component, rest, score, same }, or nil
function recurring_fault.rival(self, component)
   local other = find_rival(self, component)
   local own = other and self.evidence:recurrence(other)
   if other then
      return { component = other, rest = 0, same = 1,
         score = own and own.score or self.evidence:score(other) }
   end
   return nil
end

--- What is kept of a verdict.
function recurring_fault.record(case)
   return { share = case.share, all = case.all, bouts = case.bouts, spells = case.spells,
      is_any = case.is_any, first = case.first, last = case.last, score = case.score }
end

--- When a test can tell something new: a bout that several streams bore out is enough for its
-- spell, and what does well is asked again a few times in a spell.
-- @param last time of the last test of the component
function recurring_fault.not_before(self, component, last)
   local spell_s, list = self.s.spell_s, self.evidence:bouts(component)
   local b = list and list[#list]
   if b and b.is_wide and b.time // spell_s == last // spell_s then
      return (last // spell_s + 1) * spell_s
   end
   return last + spell_s / LOOKS
end

--- When it is slow, in words: "in 7 of 31 h".
-- @param record what record() keeps
function recurring_fault.words(record, spell_s)
   if spell_s == 3600 then
      return ("in %d of %d h"):format(record.bouts, record.spells)
   end
   return ("in %d of %d periods"):format(record.bouts, record.spells)
end

--- Has it stayed away for so long that it is over?  What is slow in the part f of all spells stays
-- away for n of them with the chance (1 - f)^n.
function recurring_fault.is_over(case)
   if not case then
      return true
   end
   local f = math.min(0.95, case.bouts / math.max(1, case.spells - case.since))
   return -case.since * math.log(1 - f) > DOUBT
end

return recurring_fault
