-- SPDX-License-Identifier: GPL-2.0-or-later
--- What a run amounts to: suspect, slow, failed, or nothing yet, and why.
local alone = require "taut.diagnose.alone"
local jobs = require "taut.diagnose.jobs"
local member = require "taut.diagnose.sets.member"
local tables = require "taut.base.tables"

local verdict = {}

--- Does hard evidence stand that leaves too little?
function verdict.is_hard(self, k)
   return k.hard ~= nil and k.hard.left < self.s.good
end

-- Beside hard evidence a part of it is enough.
local function hard_share(self, k)
   return k.hard and verdict.is_hard(self, k) and self.s.hard_share or 1
end

--- So much of a number is needed: on probation half as many tests, hours and witnesses are enough.
function verdict.needed(self, k, n, now)
   local share = k.probation_until and now < k.probation_until and 0.5 or 1
   return n * math.min(share, hard_share(self, k))
end

-- The score is the same on probation: what was repaired may be busy as well as anything else.
local function slow_score(self, k)
   return self.s.slow_score * hard_share(self, k)
end

--- Is the run worth a suspicion?
-- @param case what taut.evidence says of the run
function verdict.is_suspect(self, c, k, case, now)
   local s, y = self.s, member.flows(self.sets, c)
   return case.low + y.low >= verdict.needed(self, k, s.suspect_low, now)
      and verdict.with_flows(self, c, case) >= verdict.needed(self, k, s.suspect_score, now)
      and case.events + y.spells >= verdict.needed(self, k, s.suspect_events, now)
end

--- How many different far ends there must be; a machine may have fewer.
function verdict.far_needed(self, c, k, now)
   local s = self.s
   if self.topo:node_of(c) then
      return math.min(math.max(s.reporters, verdict.needed(self, k, s.slow_far, now)),
         #self.topo.nodes - 1)
   end
   return math.min(verdict.needed(self, k, s.link_far, now), #self.topo.nodes - 1)
end

-- Tests asked for, of one and of several streams at once, that bore the suspicion out.
local function confirmations(k, case)
   return math.max(#k.confirmed, case.confirmed)
end

-- Do several streams get more than one, more often than not?  What is broken may be busy besides.
local function yields(k, case)
   return 2 * k.busy > confirmations(k, case)
end

-- Where tests with several streams at once are run, they must bear it out: only they tell a link
-- that is steadily loaded from one that is broken.
local function is_confirmed(self, c, k, case, now)
   local s = self.s
   local n = confirmations(k, case)
   n = n + (n > 0 and member.flows(self.sets, c).spells or 0) -- far from each other, and of others
   return n >= verdict.needed(self, k, s.slow_low, now)
      or member.is_enough(self.sets, c, (verdict.with_flows(self, c, case)))
      or not case.is_any and (k.asked or 0) == 0
      and case.at >= verdict.needed(self, k, s.unconfirmed_low, now)
      and case.events >= verdict.needed(self, k, s.unconfirmed_events, now)
end

--- What a case weighs, and its spells, with what flows over sets add (sets/member.lua): half of a
-- verdict, or all of it where they rest on as much as one on a set.
function verdict.with_flows(self, c, case)
   local y = member.flows(self.sets, c)
   local most = member.is_broad(self.sets, c) and y.score or self.s.slow_score / 2
   return case.score + math.min(y.score, most), case.spells + y.spells
end

-- Seconds between the first and the last of it, and how many far ends it had.
local function reach(self, c, case)
   if not member.is_broad(self.sets, c) then
      return case.last - case.first, case.far
   end
   local y = member.flows(self.sets, c)
   return math.max(case.last, y.last) - math.min(case.first, y.first),
      math.max(case.far, math.min(tables.size(y.senders), tables.size(y.receivers)))
end

--- What is missing for a verdict of slow; nil when nothing is.
-- @return { what = "score" | "spells" | "span" | "far" | "busy" | "confirmed" | "senders" |
--   "receivers" | "job", has, needs };
--   reasoning.lua says it
function verdict.missing(self, c, k, case, now)
   local s = self.s
   local far = verdict.far_needed(self, c, k, now)
   local score, spells = verdict.with_flows(self, c, case)
   local span, ends = reach(self, c, case)
   if score < slow_score(self, k) then
      return { what = "score", has = score, needs = slow_score(self, k) }
   elseif spells < verdict.needed(self, k, s.slow_spells, now) then
      return { what = "spells", has = spells,
         needs = math.ceil(verdict.needed(self, k, s.slow_spells, now)) }
   elseif span < verdict.needed(self, k, s.confirm_span_h, now) * 3600 then
      return { what = "span", has = span / 3600, needs = s.confirm_span_h }
   elseif ends < far then
      return { what = "far", has = ends, needs = math.ceil(far) }
   elseif yields(k, case) then
      return { what = "busy" }
   elseif not is_confirmed(self, c, k, case, now) then
      return { what = "confirmed", has = confirmations(k, case),
         needs = math.ceil(verdict.needed(self, k, s.slow_low, now)) }
   end
   return alone.missing(self, c, case, far, self.evidence:newest(c))
      or jobs.missing(self, c, k, case, now)
end

-- Ties that no test can break: with nothing arriving, acknowledgements are lost as well, so the
-- two directions of one node, or of one cable after many tests, fail together.
local function is_unbreakable(self, c, k, case, other)
   if case.best >= self.s.failed then
      return false
   end
   local topo = self.topo
   local one_node = topo:node_of(c) and topo:node_of(c) == topo:node_of(other)
   return one_node or topo:is_link(c) and topo:opposite(c) == other
      and #k.confirmed >= 2 * self.s.slow_low
end

--- Others that could be it just as well.
-- @return array of { component, rest, chance, score, same }
function verdict.rivals(self, c, k, case)
   local list = {}
   for _, r in ipairs(self.evidence:rivals(c, self.s.tie_score)) do
      if not is_unbreakable(self, c, k, case, r.component) then
         list[#list + 1] = r
      end
   end
   local twin = self.evidence:twin(c)
   if twin then
      list[#list + 1] = { component = twin, rest = 0, score = self.evidence:score(twin), same = 1 }
   end
   return list
end

return verdict
