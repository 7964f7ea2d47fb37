-- SPDX-License-Identifier: GPL-2.0-or-later
--- Which component is slow: runs of low tests, and two stages.
--
-- A component's run is its low tests since the last test that cleared it; taut.evidence (C) keeps
-- the runs, walks the routes and weighs each run as log odds of "broken" against "busy".  This
-- module decides: a run with enough weight makes a suspect, which the next plans test.  The suspect
-- is called slow when its ceiling was seen in enough spells, by enough far ends, and no other
-- component on the way explains it as well.  Each event costs work in proportion to its own tests.
--
-- Losses, and what comes and goes, are evidence of other kinds, each with runs of its own
-- (loss.lua, recurring_fault.lua); none of them clears another.
--
-- States: "ok", "suspect", "slow", "failed", "lossy"; a component nobody tested is "unknown".
local busy_link = require "taut.diagnose.busy_link"
local cable = require "taut.diagnose.sets.cable"
local component_classes = require "taut.diagnose.component_classes"
local component_state = require "taut.diagnose.component_state"
local evidence = require "taut.evidence"
local evidence_reset = require "taut.diagnose.evidence_reset"
local learned_capacity = require "taut.diagnose.learned_capacity"
local member = require "taut.diagnose.sets.member"
local memory = require "taut.diagnose.memory"
local queries = require "taut.diagnose.queries"
local reasoning = require "taut.diagnose.reasoning"
local records = require "taut.diagnose.record"
local sets = require "taut.diagnose.sets"
local tables = require "taut.base.tables"
local valid_tests = require "taut.diagnose.valid_tests"
local wanted_tests = require "taut.diagnose.wanted_tests"
local whole_groups = require "taut.diagnose.whole_groups"

local diagnose = {}
local Diagnosis = {}
Diagnosis.__index = Diagnosis

for name, method in pairs(queries) do
   Diagnosis[name] = method
end
Diagnosis.began_anew, Diagnosis.relearn = evidence_reset.began, evidence_reset.relearn
Diagnosis.wanted, Diagnosis.watched = wanted_tests.wanted, wanted_tests.watched
Diagnosis.remark, Diagnosis.reasoning = reasoning.remark, reasoning.of

local function new_engine(topo, settings)
   return evidence.new(topo.graph, settings, component_classes.of(topo))
end

--- @param topo topology
-- @param settings the `diagnosis` section of the configuration
function diagnose.new(topo, settings)
   local self = setmetatable({ topo = topo, s = settings, suspects = {}, decided = {},
      want_list = { at = {} }, want_changed = {}, version = 0, marked = {},
      records = {}, epoch = topo.epoch, evidence = new_engine(topo, settings) }, Diagnosis)
   self.learned = learned_capacity.new(topo, self.evidence, settings)
   valid_tests.begin(self)
   self.sets, self.has_sets = sets.new(self), false
   self:listen(function() return false end)
   return self
end

--- Let `coverage` (coverage.lua) read when components were last cleared.
function Diagnosis:tell(coverage)
   self.coverage = coverage
   coverage:fit(#self.topo.components)
   coverage:follow(self.evidence)
end

--- Which jobs run over a link that began from `from` to `to` is told by fn(component, from, to):
-- array of { id, since (seconds) }.
function Diagnosis:ask_jobs(fn)
   self.jobs_over = fn
end

--- Let `accuses`(component, since) say whether anything but tests spoke against a link since then.
function Diagnosis:listen(accuses)
   self.accuses = accuses
end

--- The low tests of a component since it was last cleared, oldest first: { id, event, job, time,
-- src, dst, src_name, dst_name, bw_Bps, expected_Bps, ratio, share, flows, streams, links, on }.
function Diagnosis:run(component)
   local list = self.evidence:run(component)
   for _, t in ipairs(list) do
      t.src_name, t.dst_name = self.topo.nodes[t.src], self.topo.nodes[t.dst]
      t.class = "low"
   end
   return list
end

--- How many tests with counted losses a component crossed since one cleared it.
function Diagnosis:losses(component)
   return #self.evidence:loss_run(component)
end

--- The tests that speak against a component: those of its verdict, where there is one.
function Diagnosis:against(component)
   local k = self.records[component]
   return k and (k.loss and k.loss.tests or k.evidence) or self:run(component)
end

--- How many tests spoke against a component since it last did well, and of how many: its run, and
-- what speaks for a verdict, are some of them.  Of what is called slow this is as it was then.
-- @return low, of; 0 and all its tests where none did
function Diagnosis:tally(component)
   local seen, k = self:seen(component), self.records[component]
   if k and k.loss then
      return #k.loss.tests, math.max(#k.loss.tests, #self.evidence:loss_run(component))
   end
   local low = math.max(seen.low, self.evidence:low(component), k and k.evidence
      and #k.evidence or 0)
   return low, low == 0 and seen.tests or math.max(seen.low_of, low)
end

--- Other settings, and perhaps the same wiring with other capacities, from now on.
function Diagnosis:reload(topo, settings)
   self.s, self.want_all = settings, nil
   if topo == self.topo then
      self.evidence:rules(settings)
      if self.learned then
         self.learned:rules(settings)
      end
      self.sets:rules(settings)
      return
   end
   local old = self.evidence
   self.topo, self.epoch = topo, topo.epoch
   self.evidence = new_engine(topo, settings)
   self.evidence:know(old)
   self.learned = learned_capacity.new(topo, self.evidence, settings, self.learned)
   if self.coverage then
      self:tell(self.coverage)
   end
   for c = 1, #topo.components do
      local seen = old:seen(c)
      seen.run, seen.glimpses, seen.reach = old:run(c), memory.glimpses(old, c), nil
      seen.loss_run = old:loss_run(c)
      seen.bouts, seen.bouts_tested = old:bouts(c)
      memory.add(self, c, seen)
   end
   self:restored()
   self.sets:reload(self)
end

-- Failed links make other routes: what tests said of components they no longer cross is void.
local function follow_routes(self)
   if self.topo.epoch ~= self.epoch then
      self.epoch = self.topo.epoch
      self.evidence:reroute()
      self.sets:begin(self)
   end
end

---------------------------------------------------------------- states

--- Judge components anew, and all suspects when one of them was named.
-- @return array of changes { component, from, to, state, time, left }
function Diagnosis:judge(list, now)
   whole_groups.review(self, now)
   return component_state.all(self, list, now)
end

---------------------------------------------------------------- taking in tests

--- Take in the tests of one event (a check or an idle cycle) as judge.lua left them.
-- @param tests array of judged tests that are evidence (judge.is_evidence), with id, event (number)
--   and time (seconds)
-- @param now seconds
-- @return array of changes { component, from, to, time }; set of the components whose run, state
--   or confirmations changed
function Diagnosis:observe(tests, now)
   follow_routes(self)
   local flows, confirming
   tests, flows, confirming = valid_tests.take(self, tests, now)
   if #tests == 0 then
      return {}, {}
   end
   -- flows over sets from the first event on that has some
   local time = tests[1].time or now
   self.set_changes = self.has_sets and self.sets:observe(flows, time) or {}
   local touched, _, _, _, over_sets = self.evidence:observe(time, tests[1].event or 0)
   self.has_sets = self.has_sets or over_sets > 0
   local looked_at, set = tables.set(touched), self.evidence:touched()
   local more = busy_link.confirm(self, confirming)
   table.move(self.sets.touched, 1, #self.sets.touched, #more + 1, more)
   for _, c in ipairs(more) do
      if not looked_at[c] then
         touched[#touched + 1] = c
      end
      looked_at[c], set[c] = true, true
   end
   local changes = self:judge(touched, now)
   local named = cable.review(self, self.set_changes, now)
   table.move(named, 1, #named, #changes + 1, changes)
   more = evidence_reset.learn(self, tests, now)
   table.move(more, 1, #more, #changes + 1, changes)
   return changes, set
end

---------------------------------------------------------------- what is known otherwise

--- Hard evidence: what lanes, widths and speeds leave of a component, whatever tests say.  Where it
-- leaves too little the component is suspect at once, and a verdict wants fewer tests.
-- @param left share of the capacity; 1 when nothing stands any more
-- @param fact { why = in words, head = for a drain's reason or nil, since }, where left < 1
-- @return changes
function Diagnosis:hard(component, left, fact, now)
   local k = self.records[component]
   local was = k and k.hard
   if was and was.of_set then
      was.own = left < 1 and { left = left, why = fact.why, head = fact.head, since = fact.since }
      return {}
   elseif left < 1 then
      k = self:component(component)
      k.hard = { left = left, why = fact.why, head = fact.head, since = fact.since }
      if was and was.left == left then
         return {}
      end
   elseif was then
      k.hard = nil
   else
      return {}
   end
   return component_state.hard(self, component, now)
end

--- Sets may come down to a cable by what was said of links since the last tests: errors that a
-- sweep counted, hard evidence.
-- @return changes
function Diagnosis:narrow(now)
   return cable.review(self, {}, now)
end

--- Forget what speaks against a component (released, repaired).
-- @param probation_s seconds of probation, 0 for none
function Diagnosis:forget(component, now, probation_s, changes)
   local k = self:component(component)
   self.evidence:forget(component)
   local over = self.sets:forget(component)
   k.probation_until = nil
   if probation_s and probation_s > 0 then
      k.probation_until = now + probation_s
   end
   changes = changes or {}
   component_state.well(self, component, now, changes)
   component_state.untested(self, component, changes)
   if k.hard then -- it stands all the same
      local more = component_state.hard(self, component, now)
      table.move(more, 1, #more, #changes + 1, changes)
   end
   cable.take_back(self, over, now, changes)
   self.set_changes = table.move(over, 1, #over, #(self.set_changes or {}) + 1,
      self.set_changes or {})
end

--- A component is not there any more: what comes in its place is another, and untested.
function Diagnosis:left(component, now, changes)
   local k = self.records[component]
   if k then
      k.hard = nil
   end
   self:forget(component, now, 0, changes)
   self.records[component] = nil
end

--- Take over what is known of a component, as memory.lua unpacked it; restored() ends it.
function Diagnosis:restore(component, record)
   memory.add(self, component, record)
   self.records[component] = records.restore(record)
   component_state.note(self, component, record.state)
   wanted_tests.changed(self, component)
end

--- All that was kept has been handed in.
function Diagnosis:restored()
   local flows = memory.finish(self)
   for c, k in pairs(self.records) do
      if k.loss then
         self.evidence:name_loss(c, k.loss.share)
      elseif self:is_decided(c) then
         self.evidence:name(c, math.min(1, k.left or 0))
         self.evidence:name_recurring(c, k.recurs ~= nil)
      end
      self.evidence:watch(c, self:is_decided(c) or self.suspects[c] ~= nil)
      local case = not self:is_decided(c) and self.evidence:case(c)
      if case and k.whole then
         self.evidence:name(c, math.min(1, case.best))
      end
      member.follow(self.sets, c, case and case.best)
      if flows[c] then
         member.give(self.sets, c, flows[c])
      end
   end
end

return diagnose
