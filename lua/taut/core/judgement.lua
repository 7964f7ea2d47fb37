-- SPDX-License-Identifier: GPL-2.0-or-later
--- Judges what a session brought: both accounts of each test become good, low or void.  Counts what
-- came of it.
local elsewhere = require "taut.diagnose.elsewhere"
local judge = require "taut.diagnose.judge"
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
local function touch(self, t)
   for _, stage in ipairs(t.class ~= "void" and t.route or {}) do
      if type(stage) == "number" then
         self.coverage:touch(stage, t.time)
      end
   end
   return #(t.route or {})
end

local WARM_UP = 0.2 -- of a test, before what its ends tell of

-- How long a test used its way: less than was planned where it ended early.
-- @param recv its receiver's account, nil where there is none
local function seconds_of(t, recv)
   local planned = (t.dur_ms or 0) / 1000
   local window = recv and not recv.error and recv.window_ns
   return window and math.min(planned, planned * WARM_UP + window / 1e9) or planned
end

-- A judged test that is evidence, of so many stages.
local function count(self, t, n, recv)
   self.classes[t.class] = self.classes[t.class] + 1
   self.link_seconds = self.link_seconds + seconds_of(t, recv) * n
end

local function count_refused(self, s)
   if (s.refused or 0) > 0 then
      self.refused_streams = self.refused_streams + s.refused
      sys.log("warning", ("job %d: streams without a token of the plan were refused: %d"):format(
         s.job, s.refused))
   end
end

-- What others are known to send: what ports counted, and what running jobs' profiles say.
local function excuse(self, t)
   local is_late = t.class == "void" and t.segments ~= nil -- what it lost counts
   if t.class == "low" or t.port and t.port.is_low or is_late then
      local fabric = self.followers and self.followers.fabric
      elsewhere.excuse(t, { topology = self.site.topo, good = self.site.conf.diagnosis.good,
         loads = fabric and fabric:loads() or {},
         sent = self.profiles and self.profiles:background(t.job) or {} })
   end
end

-- Where it can be asked for: the links that tests took.
local function take_ways(self, s)
   local topo = self.site.topo
   if not topo.asked_at then
      return
   end
   for _, t in ipairs(s.tests) do
      local sent = (s.results[t.src] or {})["send:" .. t.id] or {}
      if t.asked then
         self.traces:take(topo, t.asked, sent.way)
         ways.take(topo, t, ways.shown(topo, t.asked, sent.way), sent.aimed or 0)
      end
   end
   ways.share(s.tests)
end

--- Judge the tests of a check or an idle cycle.
-- @param s session of check.lua that is over
-- @param event its number
-- @return those that are evidence, in order; all are judged
function Judgement:session(s, event)
   count_refused(self, s)
   take_ways(self, s)
   local stalled, list = nil, {}
   tests.stamp(s.tests, event, s.began, s.job)
   for _, t in ipairs(s.tests) do
      -- each node speaks for its own end only
      local send = (s.results[t.src] or {})["send:" .. t.id]
      local recv = (s.results[t.dst] or {})["recv:" .. t.id]
      judge.test(t, send, recv, self.site.topo, self.site.conf.diagnosis)
      excuse(self, t)
      if t.class ~= "good" then
         stalled = stalled or stalls.of(s.peers)
         stalls.add(t, stalled)
      end
      if judge.is_evidence(t) then
         count(self, t, tests.touch(t, self.coverage.times), recv)
         list[#list + 1] = t
      end
   end
   return list
end

--- Count tests of a survey, which has judged them.
function Judgement:survey(list, event, job)
   for _, t in ipairs(list) do
      t.event, t.job = event, job
      count(self, t, touch(self, t))
   end
   return list
end

--- @param o { site, coverage, followers (with `fabric`), profiles }
function judgement.new(o)
   o.classes, o.link_seconds, o.refused_streams = { good = 0, low = 0, void = 0 }, 0, 0
   o.traces = traces.new()
   return setmetatable(o, Judgement)
end

return judgement
