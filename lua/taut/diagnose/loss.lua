-- SPDX-License-Identifier: GPL-2.0-or-later
--- Links that lose: from runs of counted losses to suspects and verdicts.
--
-- taut.evidence (C) keeps the tests whose losses were counted, by component, and weighs them as log
-- odds of "it loses this share" against "queues do" (loss.h, loss/score.c).  Here is what follows.
-- A good rate clears no loss: a link that loses 1 % may show 97 % of its rate, and several streams
-- at once hide it altogether.
local lone_accuser = require "taut.diagnose.lone_accuser"
local tables = require "taut.base.tables"
local verdict = require "taut.diagnose.verdict"

local loss = {}

--- What the counted losses of a component amount to, or nil where nothing speaks against it.
-- @return { score, share, first, last, tests, at, spells, events, segments, lost, rate, recent,
--   far, senders, receivers } of taut.evidence
function loss.case(self, component)
   local case = self.evidence:loss_case(component)
   if case and case.share > 0 then
      return case
   end
   return nil
end

--- Are the losses worth a suspicion?
function loss.is_suspect(self, record, case, now)
   local s = self.s
   return case.at >= verdict.needed(self, record, s.suspect_low, now)
      and case.score >= verdict.needed(self, record, s.suspect_score, now)
      and case.events >= verdict.needed(self, record, s.suspect_events, now)
end

-- The nodes of the newest test with the losses of the case.
local function find_newest_ends(self, component)
   local newest
   for _, t in ipairs(self.evidence:loss_run(component)) do
      if t.is_at then
         newest = t
      end
   end
   return newest and newest.src, newest and newest.dst
end

local ALIKE = 0.06 -- rates that differ by less are one
local RATES = 6     -- low tests of one rate, before it says anything
local OTHERS = 0.25 -- of them, tests that lost another share: as many are no chance

-- The rate that most low tests with the losses of a case have: the window with most of these
-- ascending rates.
-- @return how many; from which rate to which
local function find_usual_rate(rates)
   local first, most, from, to = 1, 0, nil, nil
   for i, rate in ipairs(rates) do
      while rates[first] < rate * (1 - ALIKE) do
         first = first + 1
      end
      if i - first + 1 > most then
         most, from, to = i - first + 1, rates[first], rate
      end
   end
   return most, from, to
end

--- May a queue have dropped the losses of a case?  A full one shares its link out evenly: the tests
-- behind it have one rate, whatever they lost.  Random losses give another rate with each share.
-- @param run tests with counted losses: array of { time, rate, is_at }
-- @return what is missing for a verdict, where most tests with the losses of the case are low and
--   have one rate, and others have it that lost another share; or nil
function loss.find_queue(run, case, settings)
   local rates, rated, others = {}, 0, 0
   for _, test in ipairs(run) do
      if test.is_at and test.rate >= 0 then
         rated = rated + 1
         if test.rate < settings.good then
            rates[#rates + 1] = test.rate
         end
      end
   end
   table.sort(rates)
   local alike, from, to = find_usual_rate(rates)
   if settings.lossless or alike < RATES or 2 * alike < rated then
      return nil
   end
   for _, test in ipairs(run) do
      local is_other = not test.is_at and test.time >= case.first
      if is_other and test.rate >= from and test.rate <= to then
         others = others + 1
      end
   end
   if others < OTHERS * alike then
      return nil
   end
   return { what = "queue", has = others, needs = alike }
end

--- What a verdict "it loses" still wants; nil when nothing is missing.
-- @return as verdict.missing
function loss.missing(self, component, record, case, now)
   local s, far = self.s, verdict.far_needed(self, component, record, now)
   local spells, span_h = (case.spells), (case.last - case.first) / 3600
   if case.score < s.loss_score then
      return { what = "score", has = case.score, needs = s.loss_score }
   elseif spells < verdict.needed(self, record, s.slow_spells, now) then
      return { what = "spells", has = spells,
         needs = math.ceil(verdict.needed(self, record, s.slow_spells, now)) }
   elseif span_h < verdict.needed(self, record, s.confirm_span_h, now) then
      return { what = "span", has = span_h, needs = s.confirm_span_h }
   elseif case.far < far then
      return { what = "far", has = case.far, needs = math.ceil(far) }
   end
   return lone_accuser.missing(self, component, case, far, find_newest_ends(self, component))
      or loss.find_queue(self.evidence:loss_run(component), case, s)
end

--- Others that may be what loses: what explains the case nearly as well, so that without the tests
-- over it less than a verdict is left.
-- @return array of { component, rest, score, same }
function loss.rivals(self, component)
   return self.evidence:loss_rivals(component, self.s.loss_score, self.s.tie_score)
end

--- What is kept of a verdict: the share, what is left of a stream's rate, the tests that say so.
function loss.record(self, component, case)
   local tests = tables.filter(self.evidence:loss_run(component), function(test)
      return test.is_at
   end)
   for _, t in ipairs(tests) do
      t.src_name, t.dst_name = self.topo.nodes[t.src], self.topo.nodes[t.dst]
      t.on, t.is_at = nil, nil
   end
   return { share = case.share, rate = case.rate, score = case.score, spells = case.spells,
      first = case.first, last = case.last, segments = case.segments, lost = case.lost,
      far = case.far, tests = tests }
end

--- Nodes that took part in the tests of a component's losses: map node → in how many.
function loss.partners(self, component)
   local seen = {}
   for _, t in ipairs(self.evidence:loss_run(component)) do
      seen[t.src], seen[t.dst] = (seen[t.src] or 0) + 1, (seen[t.dst] or 0) + 1
   end
   return seen
end

return loss
