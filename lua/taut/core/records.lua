-- SPDX-License-Identifier: GPL-2.0-or-later
--- Writes down what outlives a restart: events and their tests, verdicts, what is known of
-- components and of sets, what was learned.  Rows for the journal, nothing else.
local tables = require "taut.base.tables"
local hostlist = require "taut.hostlist"
local json = require "taut.json"
local kept_machine = require "taut.topology.before.kept"
local loop = require "taut.loop"
local memory = require "taut.diagnose.memory"
local samples = require "taut.events.samples"
local stages = require "taut.topology.stages"

local records = {}
local Records = {}
Records.__index = Records

local SETS_S = 600 -- between two writes of the sets

---------------------------------------------------------------- events

local function test_row(test, topo)
   return { id = test.id, event = test.event, time = test.time, src = test.src_name,
      dst = test.dst_name, route = stages.text(test.route, topo.components), kind = test.kind,
      confirms = test.confirms and topo.components[test.confirms], phase = test.phase,
      streams = test.streams, expected_Bps = test.expected_Bps, bw_Bps = test.bw_Bps,
      sender_Bps = test.sender_Bps, ratio = test.ratio, rtt_ns = test.rtt_ns, peak = test.peak,
      delay_ns = test.delay_ns, foreign_bytes = test.foreign_bytes, class = test.class,
      why = test.why, stalls = test.stalls, stalled_at = test.stalled_at }
end

function Records:tests(tests)
   for _, t in ipairs(tests) do
      self.journal:add("test", test_row(t, self.site.topo))
   end
end

--- What tests of an event crossed, once they have been taken in: part of the snapshot.
function Records:seen(tests)
   local set = {}
   for _, t in ipairs(tests) do
      for _, c in ipairs(stages.all(t.route or {})) do
         set[c] = true
      end
   end
   self.snapshot:components(set)
end

-- The job's own traffic begins after its check: what the counters were then replaces what they
-- were at HELLO.
local function write_readings(self, session)
   for _, peer in pairs(session.peers) do
      if peer.readings then
         local row = samples.row({ job = session.job, restart = session.restart, node = peer.name,
            boot = peer.boot }, session.purpose, peer.readings, {}, nil, self.site.topo.rails)
         row.checked = true
         self.journal:add("sample", row)
      end
   end
end

-- What the node that took longest spent on asking for ways; nil where none asked.
local function longest_trace_ns(session)
   local most
   for _, tests in pairs(session.results) do
      local sum
      for _, t in pairs(tests) do
         if t.trace_ns then
            sum = (sum or 0) + t.trace_ns
         end
      end
      if sum then
         most = math.max(most or 0, sum)
      end
   end
   return most
end

--- A check or an idle cycle that is over.
-- @param session of check.lua
-- @param event its number
function Records:session(session, event)
   write_readings(self, session)
   local names = tables.map(session.wanted, function(node) return self.site.topo.nodes[node] end)
   self.journal:add("event", { id = event, time = session.began, purpose = session.purpose,
      job = session.job, restart = session.restart, uid = session.uid,
      nodes = hostlist.compress(names), expected = #session.wanted, heard = session.heard,
      tests = #session.tests, trace_ns = longest_trace_ns(session) })
end

--- A round of a survey: all its rounds are one event, which grows.
-- @param session of survey/session.lua
function Records:survey(session, event)
   self.journal:add("event", { id = event, time = session.began, purpose = session.purpose,
      job = session.job, restart = 0, uid = session.uid, nodes = session.nodes_text,
      expected = #session.wanted, heard = session.count, tests = session.tests_run })
end

---------------------------------------------------------------- what is known

--- A verdict that changed.
function Records:verdict(change)
   self.journal:add("verdict", { time = change.time,
      component = self.site.topo.components[change.component], was = change.from,
      state = change.to, evidence = self.case:evidence(change.component) })
end

--- What is known of components.
-- @param touched set of them
function Records:components(touched)
   for c in pairs(self.diagnosis:take_marked()) do
      touched[c] = true
   end
   for c in pairs(touched) do
      self.journal:add("component", { name = self.site.topo.components[c],
         data = memory.pack(self.diagnosis, c, { excluded = self.others.excluded[c] }) })
   end
   self.snapshot:components(touched)
   local wide = self.diagnosis:pack_wide()
   if wide ~= self.wide then
      self.wide = wide
      self.journal:add("setting", { name = "wide", value = wide })
   end
end

--- All that changes without being touched, before tautd ends.
function Records:last()
   local set = {}
   for c, k in self.diagnosis:each() do
      if k.state ~= "ok" and k.state ~= "unknown" or k.asked then
         set[c] = true
      end
   end
   self:components(set)
   self.set_spells, self.sets_at = nil, -math.huge
   self:sets {}
   self:learned()
   self.snapshot:all()
end

--- What is known of sets, whatever was written before.
function Records:all_sets()
   self.journal:add("setting", { name = "sets",
      value = json.encode(json.array(self.diagnosis:pack_sets())) })
end

--- What is known of sets: at once when a verdict changed, else now and then.
-- @param changes of Diagnosis:take_set_changes
function Records:sets(changes)
   local spells, now = self.diagnosis:set_spells(), loop.time()
   if spells and (#changes > 0 or spells ~= self.set_spells and now - self.sets_at >= SETS_S) then
      self.set_spells, self.sets_at = spells, now
      self:all_sets()
   end
end

--- What was learned of capacities, if it has changed.
function Records:learned()
   local list = self.diagnosis:take_learned()
   if list then
      self.journal:add("setting", { name = "learned", value = json.encode(json.array(list)) })
   end
end

--- What the machine is made of, as text.
function Records:machine()
   if self.machine_of ~= self.site.topo then
      self.machine_of, self.machine_text = self.site.topo, kept_machine.text(self.site.topo)
   end
   return self.machine_text
end

--- The machine that all this is of.
-- @param kept settings as they are, or nil: only what differs is written
function Records:wiring(kept)
   for name, value in pairs { topology = self.site.topo.wiring, machine = self:machine() } do
      if not kept or kept[name] ~= value then
         self.journal:add("setting", { name = name, value = value })
      end
   end
   self.machine_of, self.machine_text = nil, nil
end

--- All anew, at once: what was kept is of another machine, with other numbers.
-- @param set of components that something is known of
function Records:anew(set)
   self.journal:together(function()
      self.journal:add("forget_known", {})
      self:wiring()
      self.wide = nil
      self:components(set)
      self:all_sets()
      self:learned()
      self.snapshot:all()
   end)
end

--- @param options { site, journal, diagnosis, case, others, snapshot }
function records.new(options)
   return setmetatable({ site = options.site, journal = options.journal,
      diagnosis = options.diagnosis, case = options.case, others = options.others,
      snapshot = options.snapshot, wide = "", sets_at = -math.huge }, Records)
end

return records
