-- SPDX-License-Identifier: GPL-2.0-or-later
--- What stands behind a verdict, as others are told of it: the text of a drain, and the evidence
-- for the database.
local json = require "taut.json"
local reason = require "taut.policy.reason"
local recurring_fault = require "taut.diagnose.recurring_fault"
local whole_groups = require "taut.diagnose.whole_groups"
local slow_whole = require "taut.report.slow_whole"

local case = {}
local Case = {}
Case.__index = Case

-- The test that tells most: the best of the run shows where the ceiling is.
local function telling_test(run)
   local best
   for _, t in ipairs(run) do
      if t.lost then -- of losses the test that saw most of them
         if not best or t.lost > best.lost then
            best = t
         end
      else
         if t.streams == 1 and (not best or t.ratio > best.ratio) then
            best = t
         end
      end
   end
   return best or run[#run]
end

-- What reason.lua makes words of.
local function reason_facts(self, verdict, action)
   local diagnosis, topo, c = self.diagnosis, self.site.topo, verdict.c
   local run, hard = diagnosis:against(c), diagnosis:component(c).hard
   local test, low, of = telling_test(run), diagnosis:tally(c)
   local k, spell_s = diagnosis:component(c), self.site.conf.diagnosis.spell_s
   return { loss = k.loss and k.loss.share,
      hours = k.recurs and recurring_fault.words(k.recurs, spell_s),
      kind = topo:kind(c), part = whole_groups.part_of(diagnosis, c), state = verdict.state,
      left = verdict.left or 1, test = test, low = low, tests = of, job = test and run[#run].job,
      repeated = action and action.forever and action.times, is_down = hard and hard.left <= 0,
      hard = hard and hard.left < self.site.conf.diagnosis.good and hard.head or nil,
      cable = topo:is_link(c) and "cable " .. topo:cable(c) or nil,
      why = of == 0 and hard and hard.of_set and hard.why or nil }
end

--- The text of a drain for a verdict.
-- @param verdict as policy.decide has it: c, state, left
-- @param action of it, or nil: how often the node was drained for it, and whether it is for good
function Case:reason(verdict, action)
   return reason.format(reason_facts(self, verdict, action))
end

--- The same without what says in a node's reason that it is of Taut.
function Case:words(verdict)
   return reason.words(reason_facts(self, verdict))
end

-- With the reasoning, where it is asked for.
local function evidence_text(self, component, reasoning)
   local k, ids, texts = self.diagnosis:component(component), json.array {},
      reasoning and json.array {}
   local low, of = self.diagnosis:tally(component)
   for i, t in ipairs(self.diagnosis:against(component)) do
      ids[i] = t.id
   end
   for i, r in ipairs(reasoning or {}) do
      texts[i] = r.text .. (r.ruled_out and r.by and (" (test %d)"):format(r.by) or "")
   end
   return json.encode { state = k.state, tests = ids, left = k.left,
      loss = k.loss and k.loss.share, busy = k.busy, since = k.since, confirmed = #k.confirmed,
      low = low, all = of,
      whole = k.whole and (slow_whole.text(k.whole)), reasoning = texts or nil }
end

--- For the table of verdicts: JSON.
function Case:evidence(component)
   return evidence_text(self, component)
end

--- For the log of actions: the same with the reasoning.
function Case:reasoned(component)
   return evidence_text(self, component, self.diagnosis:reasoning(component))
end

--- @param options { site, diagnosis }
function case.new(options)
   return setmetatable({ site = options.site, diagnosis = options.diagnosis }, Case)
end

return case
