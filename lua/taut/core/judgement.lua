-- SPDX-License-Identifier: GPL-2.0-or-later
--- Judges what a session brought: both accounts of each test become good, low or void.  Counts what
-- came of it.
local judge = require "taut.diagnose.judge"
local others_traffic = require "taut.diagnose.others_traffic"
local stalls = require "taut.events.stalls"
local sys = require "taut.sys"
local tests = require "taut.tests"
local traces = require "taut.topology.seen.traces"
local ways = require "taut.topology.ways"

local judgement = {}
local Judgement = {}
Judgement.__index = Judgement

-- Note what a judged test of a survey crossed as tested.
-- @return stages of its way
local function touch_way(self, test)
   for _, stage in ipairs(test.class ~= "void" and test.route or {}) do
      if type(stage) == "number" then
         self.coverage:touch(stage, test.time)
      end
   end
   return #(test.route or {})
end

local WARM_UP = 0.2 -- of a test, before what its ends tell of

-- How long a test used its way: less than was planned where it ended early.
-- @param received its receiver's account, nil where there is none
local function seconds_on_way(test, received)
   local planned = (test.dur_ms or 0) / 1000
   local window = received and not received.error and received.window_ns
   if window then
      return math.min(planned, planned * WARM_UP + window / 1e9)
   end
   return planned
end

-- A judged test that is evidence, of so many stages.
local function count_evidence(self, test, stage_count, received)
   self.classes[test.class] = self.classes[test.class] + 1
   self.link_seconds = self.link_seconds + seconds_on_way(test, received) * stage_count
end

local function count_refused(self, session)
   if (session.refused or 0) > 0 then
      self.refused_streams = self.refused_streams + session.refused
      sys.log("warning", ("job %d: streams without a token of the plan were refused: %d"):format(
         session.job, session.refused))
   end
end

-- What others are known to send: what ports counted, and what running jobs' profiles say.
local function excuse_loads(self, test)
   -- what it lost counts, and may be others' queues' doing where these drop anything
   local is_late = test.class == "void" and test.segments ~= nil
      and not self.site.conf.diagnosis.lossless
   if test.class == "low" or test.port and test.port.is_low or is_late then
      local fabric = self.followers and self.followers.fabric
      others_traffic.excuse(test, { topology = self.site.topo, good = self.site.conf.diagnosis.good,
         loads = fabric and fabric:loads() or {},
         sent = self.profiles and self.profiles:background(test.job) or {} })
   end
end

-- Where it can be asked for: the links that tests took.
local function take_asked_ways(self, session)
   local topo = self.site.topo
   if not topo.asked_at then
      return
   end
   for _, t in ipairs(session.tests) do
      local sent = (session.results[t.src] or {})["send:" .. t.id] or {}
      if t.asked then
         self.traces:take(topo, t.asked, sent.way)
         ways.take(topo, t, ways.shown(topo, t.asked, sent.way), sent.aimed or 0)
      end
   end
   ways.share(session.tests)
end

--- Judge the tests of a check or an idle cycle.
-- @param session of check.lua that is over
-- @param event its number
-- @return those that are evidence, in order; all are judged
function Judgement:session(session, event)
   count_refused(self, session)
   take_asked_ways(self, session)
   local stalled, list = nil, {}
   tests.stamp(session.tests, event, session.began, session.job)
   for _, t in ipairs(session.tests) do
      -- each node speaks for its own end only
      local send = (session.results[t.src] or {})["send:" .. t.id]
      local recv = (session.results[t.dst] or {})["recv:" .. t.id]
      judge.test(t, send, recv, self.site.topo, self.site.conf.diagnosis)
      excuse_loads(self, t)
      if t.class ~= "good" then
         stalled = stalled or stalls.of(session.peers)
         stalls.add(t, stalled)
      end
      if judge.is_evidence(t) then
         count_evidence(self, t, tests.touch(t, self.coverage.times), recv)
         list[#list + 1] = t
      end
   end
   return list
end

--- Count tests of a survey, which has judged them.
function Judgement:survey(list, event, job)
   for _, t in ipairs(list) do
      t.event, t.job = event, job
      count_evidence(self, t, touch_way(self, t))
   end
   return list
end

--- @param options { site, coverage, followers (with `fabric`), profiles }
function judgement.new(options)
   options.classes, options.link_seconds = { good = 0, low = 0, void = 0 }, 0
   options.refused_streams, options.traces = 0, traces.new()
   return setmetatable(options, Judgement)
end

return judgement
