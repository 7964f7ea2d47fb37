-- SPDX-License-Identifier: GPL-2.0-or-later
--- A small machine to play plans and diagnosis on: capacities, faults, noise, other traffic.
local config = require "taut.config"
local coverage = require "taut.plan.coverage"
local diagnose = require "taut.diagnose"
local judge = require "taut.diagnose.judge"
local plan = require "taut.plan"
local stages = require "taut.topology.stages"
local topology = require "taut.topology"

local sim = {}
local Sim = {}
Sim.__index = Sim

sim.checks = { test_ms = 25, gap_ms = 4, lead_ms = 10, confirm_streams = 4, budget_ms = 220 }

--- The thresholds of the demo, so that few events decide.
sim.quick = assert(config.diagnosis { suspect_low = 3, suspect_events = 2, suspect_score = 3,
   slow_low = 3, slow_far = 2, slow_score = 8, slow_spells = 2, spell_s = 5, confirm_span_h = 0,
   busy_h = 0.01, reporters = 2, void_delay = 0.15 })

function sim.torus(dims, npr)
   local n = npr
   for _, d in ipairs(dims) do
      n = n * d
   end
   return assert(topology.build { kind = "torus", dims = dims, nodes_per_router = npr,
      nodes = ("n[0-%d]"):format(n - 1), capacity = 24e6 })
end

--- @param o { dims, npr, seed, settings, counts_losses = true: nodes say what their streams lost }
-- Of what it returns, losing is a map from components to { share = of the segments, kept = of the
-- rate of one stream }.
function sim.new(o)
   math.randomseed(o.seed or 1)
   local topo = sim.torus(o.dims or { 4, 2, 2 }, o.npr or 2)
   return setmetatable({ topo = topo, coverage = coverage.new(false), left = {}, load = {},
      losing = {},
      diagnosis = diagnose.new(topo, o.settings or sim.quick), now = 1000, id = 0, event = 0,
      changes = {}, counts_losses = o.counts_losses }, Sim)
end

function Sim:c(name)
   return assert(self.topo.component_id[name], name)
end

--- What one test gets, bytes per second: the least of what its route leaves it.
local function share(self, t)
   local least = math.huge
   for _, c in ipairs(stages.all(t.route)) do
      local cap = (self.truth or self.topo.capacity)[c] * (self.left[c] or 1)
      local others = self.load[c] or 0
      least = math.min(least, cap * t.streams / (t.streams + others))
   end
   for _, c in ipairs(stages.all(self.topo:route(t.dst, t.src))) do
      least = self.left[c] == 0 and 0 or least -- no acknowledgements, no stream
   end
   return least
end

-- What others got of a port meanwhile, as the node's counters tell; nothing where they do not.
local function counted(self, r, c, t)
   if not self.counted then
      return
   end
   local others = self.load[c] or 0
   local bps = self.topo.capacity[c] * (self.left[c] or 1) * others / (t.streams + others)
   r.foreign_bytes = math.floor(bps * t.dur_ms / 1000)
   r.port_ns, r.port_back_bytes = r.window_ns, 0
   r.port_with_bytes = math.floor(bps * r.window_ns / 1e9)
   r.port_data_bytes = math.floor((r.bytes + bps * r.window_ns / 1e9) * 1.03)
end

-- The sum of what the components of a route lose, and the least that one stream keeps of its rate.
local function losses(self, t)
   local p, kept = 0, 1
   for _, c in ipairs(stages.all(t.route)) do
      local loses = self.losing[c]
      p = p + (loses and loses.share or 0)
      kept = math.min(kept, loses and loses.kept or 1)
   end
   return p, t.streams == 1 and kept or 1
end

-- Several streams fill their own queue, and lose something whatever the links do.
local function count_losses(self, t, send, recv)
   local n = self.segments or 20000
   local mean = n * (losses(self, t) + (t.streams > 1 and 0.03 or 0))
   local noise = math.sqrt(-2 * math.log(1 - math.random())) * math.cos(2 * math.pi * math.random())
   local lost = math.max(0, math.floor(mean + math.sqrt(mean) * noise + 0.5))
   send.segments, send.resent, send.spurious, send.min_rtt_ns = n, lost, 0, 2000000
   recv.segments, recv.disordered, recv.pruned = n - lost, lost, 0
end

function Sim:measure(tests)
   for _, t in ipairs(tests) do
      local bw = share(self, t) * (1 + 0.01 * (math.random() - 0.5))
      bw = bw * select(2, losses(self, t))
      local sub = {}
      for i = 1, 8 do
         sub[i] = bw * 20e-3 / 8
      end
      local recv = { bytes = math.floor(bw * 20e-3), window_ns = 20000000, sub_bytes = sub }
      local send = { bytes = recv.bytes, window_ns = recv.window_ns }
      counted(self, send, t.route[1], t)
      counted(self, recv, t.route[#t.route], t)
      if self.counts_losses then
         count_losses(self, t, send, recv)
      end
      if self.lie then
         self.lie(t, send, recv)
      end
      t.event, t.time, t.job = self.event, self.now, self.event
      judge.test(t, send, recv, self.topo, self.diagnosis.s)
   end
end

--- One event: nodes plan, test, report.
function Sim:check(nodes, o)
   o = o or {}
   self.event, self.now = self.event + 1, self.now + 10
   local opt = { topology = self.topo, nodes = nodes, coverage = self.coverage,
      checks = sim.checks, now = self.now, budget_ms = o.budget_ms or 220,
      wanted = self.diagnosis:wanted(), watched = self.diagnosis:watched(),
      routine = o.routine }
   local tests = plan.schedule(plan.make(opt), opt, function()
      self.id = self.id + 1
      return self.id
   end)
   self:measure(tests)
   local changes, touched = self.diagnosis:observe(tests, self.now)
   for _, ch in ipairs(changes) do
      self.changes[#self.changes + 1] = ch
   end
   return tests, touched
end

--- Nodes first … first + count - 1 (1-based).
function sim.run_of(first, count)
   local list = {}
   for i = 1, count do
      list[i] = first + i - 1
   end
   return list
end

--- A job of random size somewhere; one in three gets scattered nodes.
function Sim:random_job(most)
   local size = math.random(2, most or 24)
   if math.random() < 0.33 then
      local nodes, taken = {}, {}
      while #nodes < size do
         local n = math.random(1, #self.topo.nodes)
         if not taken[n] then
            taken[n] = true
            nodes[#nodes + 1] = n
         end
      end
      table.sort(nodes)
      return self:check(nodes)
   end
   return self:check(sim.run_of(math.random(1, #self.topo.nodes - size + 1), size))
end

function Sim:state(name)
   return self.diagnosis:state(self:c(name))
end

--- Let a diagnosis know of a component what a store would have kept.
-- @param k { state, left, run = array of low tests … }
function sim.tell(diagnosis, c, k)
   k.confirmed, k.busy, k.run, k.tests, k.good = k.confirmed or {}, 0, k.run or {}, 0, 0
   diagnosis:restore(c, k)
   diagnosis:restored()
end

--- Names of the components in a state.
function Sim:all(state)
   local list = {}
   for c, k in self.diagnosis:each() do
      if k.state == state then
         list[#list + 1] = self.topo.components[c]
      end
   end
   table.sort(list)
   return list
end

return sim
