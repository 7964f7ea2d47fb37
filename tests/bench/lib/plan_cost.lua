-- SPDX-License-Identifier: GPL-2.0-or-later
-- The part of tests/bench/plan_cost that plans: plan_cost.lua JOBS ROUNDS.
local coverage = require "taut.plan.coverage"
local figure = require "figure"
local plan = require "taut.plan"
local overlay = require "taut.config.overlay"
local settings = require "taut.config.settings"
local topology = require "taut.topology"
local units = require "kernel.units"

local JOBS, ROUNDS = tonumber(arg[1]), tonumber(arg[2])
local CYCLE_S = 300
local SIZES = { { 2, 25 }, { 4, 12 }, { 8, 12 }, { 16, 11 }, { 32, 10 }, { 64, 10 }, { 128, 9 },
   { 256, 6 }, { 512, 3.5 }, { 1024, 1.5 } } -- nodes, share in percent

math.randomseed(tonumber(os.getenv "BENCH_SEED" or "") or 1)

local topo = assert(topology.build { kind = "torus", layout = "gemini", dims = { 25, 16, 24 },
   nodes_per_router = 2, nodes = "n[0-19199]" })
local COUNT = #topo.nodes
local checks = overlay.defaults(settings.all.checks)
checks.duplex = true

local function median(list, q)
   table.sort(list)
   return list[math.max(1, math.ceil((q or 0.5) * #list))]
end

---------------------------------------------------------------- jobs

local function size()
   local u = math.random() * 100
   for _, s in ipairs(SIZES) do
      u = u - s[2]
      if u < 0 then
         return s[1]
      end
   end
   return SIZES[1][1]
end

local machine = { busy = {}, free = COUNT, running = {}, now = 0, lowest = 1 }

-- The first free nodes.
local function take(count)
   local list, n = {}, machine.lowest
   while #list < count do
      if not machine.busy[n] then
         list[#list + 1] = n
         machine.busy[n] = true
      end
      n = n + 1
   end
   machine.free, machine.lowest = machine.free - count, n
   return list
end

local function give(job)
   for _, n in ipairs(job.nodes) do
      machine.busy[n] = nil
   end
   machine.free = machine.free + #job.nodes
   machine.lowest = math.min(machine.lowest, job.nodes[1])
end

-- Lognormal, 2.3 h on average.
local function duration()
   local z = math.sqrt(-2 * math.log(1 - math.random())) * math.cos(2 * math.pi * math.random())
   return 2.3 * 3600 * math.exp(0.8 * z - 0.32)
end

local function next_end()
   local first
   for i, job in ipairs(machine.running) do
      if not first or job.ends < machine.running[first].ends then
         first = i
      end
   end
   return first
end

local function idle_nodes()
   local list = {}
   for n = 1, COUNT do
      list[#list + 1] = not machine.busy[n] and n or nil
   end
   return list
end

-- Goes on until a job of so many nodes can start; cycle(now) for each idle cycle on the way.
local function start_job(count, cycle)
   while machine.free - count < 0.1 * COUNT do
      local i = next_end()
      local cycle_at = (machine.now // CYCLE_S + 1) * CYCLE_S
      if cycle_at < machine.running[i].ends then
         machine.now = cycle_at
         cycle(cycle_at)
      else
         machine.now = machine.running[i].ends
         give(table.remove(machine.running, i))
      end
   end
   local job = { nodes = take(count), ends = machine.now + duration() }
   table.insert(machine.running, job)
   return job.nodes
end

---------------------------------------------------------------- the stream

local times = coverage.new(false, #topo.components)
local suspects, told = {}, { version = 0 }

-- Tests of plan.make in a flat list.
local function make(o)
   local list = {}
   for _, tests in ipairs(plan.make { topology = topo, nodes = o.nodes, checks = checks,
      coverage = o.coverage or times, wanted = o.wanted or told, now = o.now or machine.now,
      seed = o.job,
      budget_ms = checks.lead_ms + o.phases * (checks.test_ms + checks.gap_ms) }) do
      table.move(tests, 1, #tests, #list + 1, list)
   end
   return list
end

local cost, count, decided = 0, 0, {}

local function tell()
   told = { version = told.version + 1 }
   for c, s in pairs(suspects) do
      told[#told + 1] = { component = c, since = s.since }
   end
   table.sort(told, function(a, b) return a.component < b.component end)
end

-- A new suspect now and then; one that was tested enough is not one any more.
local function note(tests, now, suspecting)
   local events = {}
   for _, t in ipairs(tests) do
      local s = t.confirms and suspects[t.confirms]
      if s then
         s.tests = s.tests + 1
         events[t.confirms] = true
      end
   end
   for c in pairs(events) do
      local s = suspects[c]
      s.events = s.events + 1
      if s.tests >= 3 and s.events >= 2 then
         decided[#decided + 1] = (now - s.since) / 3600
         suspects[c] = nil
         tell()
      end
   end
   if suspecting and math.random() < 0.2 then
      suspects[math.random(#topo.components)] = { since = now, tests = 0, events = 0 }
      tell()
   end
end

local function event(nodes, purpose, job)
   local began = os.clock()
   local tests = make { nodes = nodes, phases = purpose == "job" and 8 or 4, purpose = purpose,
      job = job }
   cost, count = cost + os.clock() - began, count + #tests
   note(tests, machine.now, purpose == "job" and job > JOBS // 4)
end

for job = 1, JOBS do
   local nodes = start_job(size(), function() event(idle_nodes(), "idle") end)
   event(nodes, "job", job)
end

---------------------------------------------------------------- single plans

local function run_of(n)
   local first, list = math.random(COUNT - n), {}
   for i = 1, n do
      list[i] = first + i - 1
   end
   return list
end

local function some_wants(n)
   local list = {}
   for i = 1, n do
      list[i] = { component = math.random(#topo.components) }
   end
   return list
end

local function timed(ask)
   collectgarbage()
   local began = os.clock()
   make(ask)
   return (os.clock() - began) * 1e3
end

local ms = { job = {}, quiet = {}, idle = {} }
local idle = idle_nodes()
for i = 1, ROUNDS do
   local ask = { nodes = run_of(1000), phases = 8, purpose = "job", now = 1e6, job = i,
      wanted = some_wants(100), coverage = coverage.new(false, #topo.components) }
   make { nodes = { 1, 2 }, phases = 1, purpose = "job", now = 1, coverage = ask.coverage } -- board
   ms.job[i] = timed(ask)
   for k = 1, 40 do
      ask.job = i + k
      make(ask)
   end
   ms.quiet[i] = timed(ask)
   ask.nodes, ask.phases, ask.purpose = idle, 4, "idle"
   ms.idle[i] = timed(ask)
end

---------------------------------------------------------------- report

local kinds, ages = { "tx", "rx", "X", "Y", "Z" }, { tx = {}, rx = {}, X = {}, Y = {}, Z = {} }
for c = 1, #topo.components do
   local kind = topo:kind(c):match "^[XYZ]" or topo:kind(c)
   local last = times:last(c)
   table.insert(ages[kind], (machine.now - last) / 3600)
end
local hours = machine.now / 3600
print(("%d jobs in %.1f h, %d tests, %d components suspected and decided"):format(JOBS, hours,
   count, #decided))
print "\nhours since components were last shown\n\n kind  median   99 %   oldest"
for _, kind in ipairs(kinds) do
   print((" %-4s  %6.1f  %6.1f  %6.1f"):format(kind, median(ages[kind]), median(ages[kind], 0.99),
      median(ages[kind], 1)))
end
print()
units.figure("plan_per_test", cost * 1e6 / count, "us", "<=", 1.5)
units.figure("plan_job_1000", median(ms.job), "ms", "<=", 20)
units.figure("plan_quiet_1000", median(ms.quiet), "ms")
units.figure("plan_idle", median(ms.idle), "ms", "<=", 40)
figure("plan_tests_h", count / hours, "tests")
for _, kind in ipairs(kinds) do
   figure("plan_stale_" .. kind, median(ages[kind], 0.99), "h")
end
figure("plan_decided_h", #decided > 0 and median(decided) or nil, "h")
