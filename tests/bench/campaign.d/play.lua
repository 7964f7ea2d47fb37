-- SPDX-License-Identifier: GPL-2.0-or-later
--- One player in one world: hands him what a site would see, and the world what he says.
--
-- A player is a table of functions; nodes and components are Taut's numbers.
--   plan(self, ask) → array of tests { src =, dst =, phase =, flows = … }; ask is { nodes =
--     ascending, phases = how many there may be, purpose = "job" or "idle", time = seconds,
--     job = its number or nil, event = number of this event }
--   ways(self, tests, trace, most), where flows are hashed: tests get `from_port`; trace(src, dst,
--     port) → by stage the component that a trace saw, or false; a node may ask `most` times
--   observe(self, ask, tests, values, counts) → array of { component =, state =, left = } whose
--     verdict changed; values: for each test, in its order, an array of bytes/s, or false where it
--     is void; counts: in the same form { sent, resent }, segments; nil where nobody is told
--   repaired(self, component, time) → the same: it was repaired
--   ended(self, job, time)
--   stops(self) → how often nodes were found held back, and how often the policy stopped
--   explain(self, component, time) → what is known about it, in words
-- His processor time is what passes in functions that he had metered (plans and diagnosis, not what
-- tautd does besides), and his part of the garbage collector's: world and player share one heap, so
-- the collector runs between events only, and each side pays in proportion to what it allocated
-- since.
local machine = require "machine"
local setscore = require "setscore"
local verdicts = require "taut.report.verdicts"
local visible = require "visible"
local world = require "world"

local play = {}
local slow = verdicts.is_verdict
local PHASES = { job = 8, idle = 4 }
local TRACES = 8 -- that a node may ask for in an event
local DAY = 24 * 3600
local GARBAGE_KB = 64 * 1024 -- so much may lie about between two collections


local function status_kb(name)
   local f = io.open "/proc/self/status"
   local text = f and f:read "a" or ""
   if f then
      f:close()
   end
   return tonumber(text:match(name .. ":%s*(%d+)")) or 0
end

-- His nodes of an event: Taut's numbers, ascending.
local function nodes_of(run, ev)
   local list, map, sorted = {}, run.maps.node, true
   for i, n in ipairs(ev.nodes) do
      list[i] = map[n + 1]
      sorted = sorted and (i == 1 or list[i] > list[i - 1])
   end
   if not sorted then
      table.sort(list)
   end
   return list
end

local function to_world(run, tests)
   local list, place = {}, run.maps.place
   for i, t in ipairs(tests) do
      list[i] = { src = place[t.src], dst = place[t.dst], phase = t.phase, flows = t.flows,
         streams = t.streams,
         ports = t.from_port and { t.from_port } or nil }
   end
   return list
end

---------------------------------------------------------------- verdicts

local function say(run, change, now)
   local c, name = change.component, run.maps.name[change.component]
   local before = run.slow[c]
   run.slow[c] = slow(change.state) or nil
   if run.slow[c] and not before then
      run.n.verdicts = run.n.verdicts + 1
      run.n.node_verdicts = run.n.node_verdicts + (run.topo:is_link(c) and 0 or 1)
   end
   if run.slow[c] or before then
      run.trace:verdict(run, change, now)
      run.world:verdict { component = name, state = change.state }
   end
end

-- A function of the player's (at most two results) whose processor time counts.
local function meter_of(run)
   return function(fn, what)
      return function(...)
         local began, had = os.clock(), collectgarbage "count"
         local a, b = fn(...)
         local took = os.clock() - began
         run.cpu_s = run.cpu_s + took
         run.plan_s = run.plan_s + (what == "plan" and took or 0)
         run.his_kb = run.his_kb + collectgarbage "count" - had
         return a, b
      end
   end
end

-- Collect garbage when there is enough of it.
local function collect(run)
   local held = collectgarbage "count"
   if held - run.live_kb < GARBAGE_KB then
      return
   end
   local began = os.clock()
   collectgarbage "collect"
   local took, share = os.clock() - began, run.his_kb / (held - run.live_kb)
   run.cpu_s, run.gc_s = run.cpu_s + took * share, run.gc_s + took * share
   run.live_kb, run.his_kb = collectgarbage "count", 0
end

-- What a trace shows, in his numbers.
local function tracer_of(run, ev)
   local place, component = run.maps.place, run.maps.component
   return function(src, dst, port)
      local began = os.clock()
      local shown = run.world:trace(ev, place[src], place[dst], port)
      run.world_s = run.world_s + os.clock() - began
      for i, name in ipairs(shown) do
         shown[i] = component[name] or false
      end
      return shown
   end
end

local function measure(run, ev)
   local p = run.player
   run.events = run.events + 1
   local ask = { nodes = nodes_of(run, ev), phases = PHASES[ev.kind], purpose = ev.kind,
      time = ev.time, job = ev.id, event = run.events }
   local tests = p:plan(ask)
   if #tests == 0 then
      return
   end
   if run.kind == "hashed" and p.ways then
      p:ways(tests, tracer_of(run, ev), TRACES)
   end
   run.tests = run.tests + #tests
   run.of[ev.kind] = run.of[ev.kind] + #tests
   local asked = to_world(run, tests)
   local began = os.clock()
   local values, counts = run.world:measure(ev, asked)
   run.world_s = run.world_s + os.clock() - began
   for _, change in ipairs(p:observe(ask, tests, values, counts)) do
      say(run, change, ev.time)
   end
end

local function repaired(run, ev)
   local c = run.maps.component[ev.component]
   run.trace:repaired(run, c, ev.time)
   run.slow[c] = nil
   for _, change in ipairs(run.player:repaired(c, ev.time)) do
      say(run, change, ev.time)
   end
end

---------------------------------------------------------------- looking on

-- Without --trace no way is traced.
local silent = { verdict = function() end, repaired = function() end, look = function() end }

-- With it: everything that went wrong, when it did, with what the player knew.
local Trace = {}
Trace.__index = Trace

local function fault_of(run, c)
   return run.world.fault and run.world.fault[run.world.m.id[run.maps.name[c]]]
end

local function fault_text(run, f, now)
   local since = f.counts and ("for %.1f h"):format((now - f.deadline + DAY) / 3600) or "not"
   return ("%s %s left %.3f, loss %.5f, %.1f h old, counts %s, %d exposing tests, %d events, "
      .. "%d far ends, %d in common"):format(run.world.m.name[f.component], f.kind, f.left,
      f.loss or 0, (now - f.since) / 3600, since,
      f.tests, f.events, f.n_far, f.n_common or -1)
end

function Trace:say(run, what, c, now, more)
   self.out:write(("%s job %d hour %.2f %s%s\n   known: %s\n"):format(what,
      run.world.jobs_started, now / 3600, run.topo.components[c], more or "",
      run.player:explain(c, now)))
   self.out:flush()
end

function Trace:verdict(run, change, now)
   local c, f = change.component, fault_of(run, change.component)
   if f and not f.named and slow(change.state) then
      local late = f.counts and now > f.deadline
      if late or self.all then
         self:say(run, late and "LATE" or "right", c, now,
            "\n   fault: " .. fault_text(run, f, now))
      end
   elseif not f and slow(change.state) then
      local near = {}
      for _, a in pairs(run.world.fault) do
         if a.seen[run.world.m.id[run.maps.name[c]]] then
            near[#near + 1] = ("\n   beside: %s\n   of that: %s"):format(fault_text(run, a, now),
               run.player:explain(run.maps.component[run.world.m.name[a.component]], now))
         end
      end
      self:say(run, "WRONG", c, now, table.concat(near))
   elseif f and not slow(change.state) then
      self:say(run, "TAKEN BACK", c, now, "\n   fault: " .. fault_text(run, f, now))
   end
end

function Trace:repaired(run, c, now)
   for _, f in ipairs(run.world.faults) do
      if run.maps.component[run.world.m.name[f.component]] == c and f.given_up
         and not self.told[f] then
         self:say(run, "NEVER", c, now, "\n   fault: " .. fault_text(run, f, now))
      end
   end
end

-- Faults that are not named although their day has passed.
function Trace:look(run, now)
   if now < self.next then
      return
   end
   self.next = now + 600
   for _, f in pairs(run.world.fault) do
      if f.counts and not f.named and now > f.deadline and not self.told[f] then
         self.told[f] = true
         self:say(run, "MISSED", run.maps.component[run.world.m.name[f.component]], now,
            "\n   fault: " .. fault_text(run, f, now))
      end
   end
end

local function tracer(o)
   return o and setmetatable({ out = o.out, all = o.all, told = {}, next = 0 }, Trace) or silent
end

---------------------------------------------------------------- the whole

-- Numbers of a run that pooling needs.
-- @param score the world's; while it is not at its end, what was counted here
local function result(run, o, score)
   score = score or { jobs = run.jobs, hours = run.hours, verdicts = run.n.verdicts,
      false_drains = o.healthy and run.n.drains or nil, jobs_to_name = {}, events_to_name = {} }
   if run.kind == "dragonfly" and score.faults then
      visible.score(score, run.world.faults, run.world.time, function(f)
         return setscore.is_hidden(run, f)
      end)
   end
   local held, stops = run.player:stops()
   local counts = { topo = o.machine.kind, steady = o.world.steady, lossy = o.world.lossy,
      flapping = o.world.flapping, transport = o.world.transport, counts = o.world.counts,
      liars = o.world.liars,
      player = o.name, seed = o.world.seed,
      at_once = o.world.faults_at_once or 0, healthy = o.healthy, tests = run.tests,
      events = run.events, job_tests = run.of.job, idle_tests = run.of.idle,
      cpu_s = run.cpu_s, gc_s = run.gc_s, plan_s = run.plan_s, world_s = run.world_s,
      wall_s = os.time() - run.began,
      peak_kb = status_kb "VmHWM", verdicts_said = run.n.verdicts,
      node_verdicts = run.n.node_verdicts, drains = run.n.drains, drains_held = held,
      policy_stops = stops }
   for name, value in pairs(run.sets and run.sets.score or {}) do
      counts["sets_" .. name] = value
   end
   for name, value in pairs(score) do
      name = name == "tests" and "flows" or name -- each flow of a test is one for the world
      counts[name] = value
   end
   return counts
end

--- Play.
-- @param o { name, machine = of machine.load, player = function(machine) → player, world = what
--   world.new takes beside the machine, healthy = it has no faults, trace = { out, all } or nil,
--   sets = of setscore.new or nil, every = seconds between two calls of progress, progress =
--   function(numbers so far) }
-- @return table of numbers (see result), array of the world's remarks
function play.run(o)
   o.world.machine = o.machine.world
   -- the player never sees the world; with --trace we do
   local w = ((o.trace or o.sets) and world.referee or world.new)(o.world)
   local run = { jobs = 0, hours = 0, world = w, topo = o.machine.topo, slow = {}, events = 0,
      tests = 0, cpu_s = 0, gc_s = 0, his_kb = 0, live_kb = collectgarbage "count",
      plan_s = 0, world_s = 0, of = { job = 0, idle = 0 }, began = os.time(),
      n = { verdicts = 0, node_verdicts = 0, drains = 0 }, trace = tracer(o.trace),
      sets = o.sets, kind = o.machine.kind }
   local site = (o.trace or o.sets)
      and { nodes = w.m.nodes, names = w.m.name, capacity_Bps = w.m.cap } or w:machine()
   run.maps = machine.maps(o.machine.kind, run.topo, site)
   run.player = o.player(o.machine, { meter = meter_of(run), drain = function(n)
      run.n.drains = run.n.drains + 1
      w:drain(run.maps.place[n])
   end })
   local told = os.time()
   collectgarbage "stop"
   for ev in w:events() do
      collect(run)
      run.hours = ev.time / 3600
      run.jobs = ev.kind == "job" and ev.id or run.jobs
      if PHASES[ev.kind] then
         measure(run, ev)
         run.trace:look(run, ev.time)
         if run.sets then
            run.sets:look(run, ev.time)
         end
      elseif ev.kind == "repaired" then
         repaired(run, ev)
      elseif ev.kind == "end" then
         run.player:ended(ev.id, ev.time)
      end
      if o.progress and os.time() - told >= o.every then
         told = os.time()
         o.progress(result(run, o, (o.trace or o.sets) and w:score()))
      end
   end
   collectgarbage "restart"
   if run.sets then
      run.sets.score = run.sets:sum(run)
   end
   return result(run, o, w:score()), (o.trace or o.sets) and w.log or w.log()
end

return play
