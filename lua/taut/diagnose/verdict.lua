-- SPDX-License-Identifier: GPL-2.0-or-later
--- What a run amounts to: suspect, slow, failed, or nothing yet, and why.
local job_load = require "taut.diagnose.job_load"
local lone_accuser = require "taut.diagnose.lone_accuser"
local member = require "taut.diagnose.sets.member"
local tables = require "taut.base.tables"

local verdict = {}

--- Does hard evidence stand that leaves too little?
function verdict.is_hard(self, record)
   return record.hard ~= nil and record.hard.left < self.s.good
end

-- Beside hard evidence a part of it is enough.
local function share_beside_hard(self, record)
   if record.hard and verdict.is_hard(self, record) then
      return self.s.hard_share or 1
   end
   return 1
end

--- So much of a number is needed: on probation half as many tests, hours and witnesses are enough.
function verdict.needed(self, record, number, now)
   local share = 1
   if record.probation_until and now < record.probation_until then
      share = 0.5
   end
   return number * math.min(share, share_beside_hard(self, record))
end

-- The score is the same on probation: what was repaired may be busy as well as anything else.
local function slow_score_needed(self, record)
   return self.s.slow_score * share_beside_hard(self, record)
end

--- Is the run worth a suspicion?
-- @param case what taut.evidence says of the run
function verdict.is_suspect(self, component, record, case, now)
   local s, y = self.s, member.flows(self.sets, component)
   return case.low + y.low >= verdict.needed(self, record, s.suspect_low, now)
      and verdict.with_flows(self, component, case) >= verdict.needed(self, record, s.suspect_score,
      now) and case.events + y.spells >= verdict.needed(self, record, s.suspect_events, now)
end

--- How many different far ends there must be; a machine may have fewer.
function verdict.far_needed(self, component, record, now)
   local s = self.s
   if self.topo:node_of(component) then
      return math.min(math.max(s.reporters, verdict.needed(self, record, s.slow_far, now)),
         #self.topo.nodes - 1)
   end
   return math.min(verdict.needed(self, record, s.link_far, now), #self.topo.nodes - 1)
end

-- Tests asked for, of one and of several streams at once, that bore the suspicion out.
local function count_confirmations(record, case)
   return math.max(#record.confirmed, case.confirmed)
end

-- Do several streams get more than one, more often than not?  What is broken may be busy besides.
local function does_yield(record, case)
   return 2 * record.busy > count_confirmations(record, case)
end

-- Where tests with several streams at once are run, they must bear it out: only they tell a link
-- that is steadily loaded from one that is broken.
local function is_confirmed(self, component, record, case, now)
   local s = self.s
   local n = count_confirmations(record, case)
   -- far from each other, and of others
   if n > 0 then
      n = n + member.flows(self.sets, component).spells
   end
   return n >= verdict.needed(self, record, s.slow_low, now)
      or member.is_enough(self.sets, component, (verdict.with_flows(self, component, case)))
      or not case.is_any and (record.asked or 0) == 0
      and case.at >= verdict.needed(self, record, s.unconfirmed_low, now)
      and case.events >= verdict.needed(self, record, s.unconfirmed_events, now)
end

--- What a case weighs, and its spells, with what flows over sets add (sets/member.lua): half of a
-- verdict, or all of it where they rest on as much as one on a set.
function verdict.with_flows(self, component, case)
   local y = member.flows(self.sets, component)
   local most = member.is_broad(self.sets, component) and y.score or self.s.slow_score / 2
   return case.score + math.min(y.score, most), case.spells + y.spells
end

-- Seconds between the first and the last of it, and how many far ends it had.
local function measure_reach(self, component, case)
   if not member.is_broad(self.sets, component) then
      return case.last - case.first, case.far
   end
   local y = member.flows(self.sets, component)
   return math.max(case.last, y.last) - math.min(case.first, y.first),
      math.max(case.far, math.min(tables.size(y.senders), tables.size(y.receivers)))
end

--- What is missing for a verdict of slow; nil when nothing is.
-- @return { what = "score" | "spells" | "span" | "far" | "busy" | "confirmed" | "senders" |
--   "receivers" | "job", has, needs };
--   reasoning.lua says it
function verdict.missing(self, component, record, case, now)
   local s = self.s
   local far = verdict.far_needed(self, component, record, now)
   local score, spells = verdict.with_flows(self, component, case)
   local span, ends = measure_reach(self, component, case)
   if score < slow_score_needed(self, record) then
      return { what = "score", has = score, needs = slow_score_needed(self, record) }
   elseif spells < verdict.needed(self, record, s.slow_spells, now) then
      return { what = "spells", has = spells,
         needs = math.ceil(verdict.needed(self, record, s.slow_spells, now)) }
   elseif span < verdict.needed(self, record, s.confirm_span_h, now) * 3600 then
      return { what = "span", has = span / 3600, needs = s.confirm_span_h }
   elseif ends < far then
      return { what = "far", has = ends, needs = math.ceil(far) }
   elseif does_yield(record, case) then
      return { what = "busy" }
   elseif not is_confirmed(self, component, record, case, now) then
      return { what = "confirmed", has = count_confirmations(record, case),
         needs = math.ceil(verdict.needed(self, record, s.slow_low, now)) }
   end
   return lone_accuser.missing(self, component, case, far, self.evidence:newest(component))
      or job_load.missing(self, component, record, case, now)
end

-- Ties that no test can break: with nothing arriving, acknowledgements are lost as well, so the
-- two directions of one node, or of one cable after many tests, fail together.
local function is_unbreakable(self, component, record, case, other)
   if case.best >= self.s.failed then
      return false
   end
   local topo = self.topo
   local one_node = topo:node_of(component) and topo:node_of(component) == topo:node_of(other)
   return one_node or topo:is_link(component) and topo:opposite(component) == other
      and #record.confirmed >= 2 * self.s.slow_low
end

--- Others that could be it just as well.
-- @return array of { component, rest, chance, score, same }
function verdict.rivals(self, component, record, case)
   local list = {}
   for _, r in ipairs(self.evidence:rivals(component, self.s.tie_score)) do
      if not is_unbreakable(self, component, record, case, r.component) then
         list[#list + 1] = r
      end
   end
   local twin = self.evidence:twin(component)
   if twin then
      list[#list + 1] = { component = twin, rest = 0, score = self.evidence:score(twin), same = 1 }
   end
   return list
end

return verdict
