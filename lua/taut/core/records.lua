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

local SETS_S = 600 -- between two writes of what is known of sets

---------------------------------------------------------------- events

local function test_row(t, topo)
   return { id = t.id, event = t.event, time = t.time, src = t.src_name, dst = t.dst_name,
      route = stages.text(t.route, topo.components), kind = t.kind,
      confirms = t.confirms and topo.components[t.confirms], phase = t.phase,
      streams = t.streams, expected_Bps = t.expected_Bps, bw_Bps = t.bw_Bps,
      sender_Bps = t.sender_Bps, ratio = t.ratio, rtt_ns = t.rtt_ns, peak = t.peak,
      delay_ns = t.delay_ns, foreign_bytes = t.foreign_bytes, class = t.class,
      why = t.why, stalls = t.stalls, stalled_at = t.stalled_at }
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
local function readings(self, s)
   for _, peer in pairs(s.peers) do
      if peer.readings then
         local row = samples.row({ job = s.job, restart = s.restart, node = peer.name,
            boot = peer.boot }, s.purpose, peer.readings, {}, nil, self.site.topo.rails)
         row.checked = true
         self.journal:add("sample", row)
      end
   end
end

-- What the node that took longest spent on asking for ways; nil where none asked.
local function trace_ns(s)
   local most
   for _, tests in pairs(s.results) do
      local sum
      for _, t in pairs(tests) do
         sum = t.trace_ns and (sum or 0) + t.trace_ns or sum
      end
      most = sum and math.max(most or 0, sum) or most
   end
   return most
end

--- A check or an idle cycle that is over.
-- @param s session of check.lua
-- @param event its number
function Records:session(s, event)
   readings(self, s)
   local names = tables.map(s.wanted, function(n) return self.site.topo.nodes[n] end)
   self.journal:add("event", { id = event, time = s.began, purpose = s.purpose, job = s.job,
      restart = s.restart, uid = s.uid, nodes = hostlist.compress(names), expected = #s.wanted,
      heard = s.heard, tests = #s.tests, trace_ns = trace_ns(s) })
end

--- A round of a survey: all its rounds are one event, which grows.
-- @param s session of survey/session.lua
function Records:survey(s, event)
   self.journal:add("event", { id = event, time = s.began, purpose = s.purpose, job = s.job,
      restart = 0, uid = s.uid, nodes = s.nodes_text, expected = #s.wanted, heard = s.count,
      tests = s.tests_run })
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
      set[c] = (k.state ~= "ok" and k.state ~= "unknown" or k.asked) and true or nil
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

--- @param o { site, journal, diagnosis, case, others, snapshot }
function records.new(o)
   return setmetatable({ site = o.site, journal = o.journal, diagnosis = o.diagnosis,
      case = o.case, others = o.others, snapshot = o.snapshot, wide = "", sets_at = -math.huge },
      Records)
end

return records
