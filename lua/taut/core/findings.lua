-- SPDX-License-Identifier: GPL-2.0-or-later
--- The way of a result, from top to bottom: it was taken in (intake.lua, rendezvous.lua), and is
-- judged, diagnosed, decided about, acted on and told; written down on the side.
--
--   take            judge      judgement.lua   each test good, low or void
--                   diagnose   taut.diagnose   which components' states change
--   follow          decide     decision.lua    what is to be done about all that stand
--                   act        policy/act.lua  drains and releases, through Slurm
--                   tell       news.lua        the log, alerts, the site's program
--                   write      records.lua     rows for the database
local loop = require "taut.loop"
local node_boots = require "taut.diagnose.node_boots"
local plan = require "taut.plan"

local findings = {}
local Findings = {}
Findings.__index = Findings

---------------------------------------------------------------- from a verdict downwards

-- Decide about all verdicts that stand, and act.
local function decide_and_act(self)
   local d = self.decision:make { history = self.act:past(), mode = self.act:mode(),
      now = loop.time() }
   self.act:carry_out(d)
end

local function pass_on_changes(self, changes)
   for _, change in ipairs(changes) do
      self.decision:note(change.component)
      self.records:verdict(change)
   end
   decide_and_act(self)
   for _, change in ipairs(changes) do
      self.news:verdict(change)
   end
end

--- What follows from changes of the diagnosis, and from a look at components.
-- @param changes of diagnosis:observe and the like
-- @param touched set of the components looked at
-- @param tests those that showed it, judged, or nil
function Findings:follow(changes, touched, tests)
   for _, change in ipairs(changes) do
      touched[change.component] = true
   end
   local news = self.others:look(touched, loop.time(), tests)
   if #changes > 0 or news or next(self.act:standing()) then
      pass_on_changes(self, changes)
   end
   local of_sets = self.diagnosis:take_set_changes()
   self.news:suspects()
   self.news:sets(of_sets)
   self.records:sets(of_sets)
   self.records:components(touched)
   self.records:learned()
end

---------------------------------------------------------------- where results come in

-- What spoke against nodes that have booted since was of another time.
local function note_boots(self, session)
   local news = node_boots.news(self.boots, session.peers)
   local booted = node_boots.note(self.boots, session.peers, self.site.topo)
   self.snapshot:booted(news)
   if #booted > 0 then
      self:follow(self.diagnosis:began_anew(booted, loop.time()))
   end
end

--- A check or an idle cycle is over.
-- @param session of check.lua
function Findings:session(session)
   note_boots(self, session)
   if not session.tests or #session.tests == 0 then
      return
   end
   local event = self.ids:event()
   local tests = self.judgement:session(session, event)
   self.records:tests(tests)
   self.marks:note(session.tests, loop.time())
   self.records:session(session, event)
   local changes, touched = self.diagnosis:observe(tests, loop.time())
   self.records:seen(session.tests)
   self:follow(changes, touched, tests)
   plan.give_back(session.tests)
end

--- Tests of a round of a survey that root or SlurmUser holds, judged already.
-- @param session of survey/session.lua
function Findings:survey(session, tests)
   self.events_of[session] = self.events_of[session] or self.ids:event()
   local event = self.events_of[session]
   self.records:tests(self.judgement:survey(tests, event, session.job))
   self.records:survey(session, event)
   local changes, touched = self.diagnosis:observe(tests, loop.time())
   self.records:seen(tests)
   self:follow(changes, touched, tests)
end

--- Somebody asks for what components carry to be learned anew.
-- @param class its name, or nil for all
-- @return how many components are concerned; or nil and what was expected
function Findings:relearn(class)
   local changes, touched, n = self.diagnosis:relearn(class, loop.time())
   if not changes then
      return nil, touched
   end
   self:follow(changes, touched)
   return n
end

--- Verdicts that stand are decided about again: a cap may have room now.
function Findings:review()
   decide_and_act(self)
end

---------------------------------------------------------------- what is forgotten

local function follow_forgotten(self, changes, touched)
   for _, change in ipairs(changes) do
      touched[change.component] = true
   end
   pass_on_changes(self, changes)
   local of_sets = self.diagnosis:take_set_changes()
   self.news:sets(of_sets)
   self.records:sets(of_sets)
   self.records:components(touched)
end

--- What spoke against components is forgotten.
-- @param list of components
-- @param probation_s seconds of probation, 0 for none
function Findings:forget(list, probation_s)
   local now, changes, touched = loop.time(), {}, {}
   for _, c in ipairs(list) do
      self.diagnosis:forget(c, now, probation_s, changes)
      touched[c] = true
   end
   follow_forgotten(self, changes, touched)
end

--- Components went with their node: what comes in their place is untested.
-- @param list of components
function Findings:left(list)
   local now, changes, touched = loop.time(), {}, {}
   for _, c in ipairs(list) do
      if self.diagnosis:is_known(c) then
         self.diagnosis:left(c, now, changes)
         touched[c] = true
      end
      self.coverage:forget(c)
   end
   follow_forgotten(self, changes, touched)
end

--- Components were repaired: they are on probation.
-- @param list of components
function Findings:repaired(list)
   self:forget(list, self.site.conf.policy.probation_h * 3600)
end

--- A node was given back: what spoke against the components it was drained for is forgotten.
-- @param name node
-- @param drain why it was drained, or nil
function Findings:given_back(name, drain)
   local list, topo = {}, self.site.topo
   local n = topo.node_id[name]
   if n then
      list = topo:ports(n)
   end
   local c = drain and topo.component_id[drain.component]
   if c and topo:is_link(c) then
      list[#list + 1] = c
   end
   self:repaired(list)
end

--- @param options { site, ids, judgement, coverage, diagnosis, others, decision, act, news,
--   records, snapshot, marks (plan/verify) }
function findings.new(options)
   options.boots, options.events_of = {}, setmetatable({}, { __mode = "k" })
   return setmetatable(options, Findings)
end

return findings
