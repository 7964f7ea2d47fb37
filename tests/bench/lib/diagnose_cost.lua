-- SPDX-License-Identifier: GPL-2.0-or-later
-- What diagnose_cost measures: FILE is the machine.
local config = require "taut.config"
local diagnose = require "taut.diagnose"
local figure = require "figure"
local stats = require "stats"
local units = require "kernel.units"

local QUICK = (os.getenv "BENCH_QUICK" or "") ~= ""
local WARM, EVENTS, NODES, PHASES = QUICK and 40 or 200, QUICK and 10 or 50, 1000, 6

local topo = assert(config.load(arg[1], { rundir = "", statedir = "" })).topology
math.randomseed(tonumber(os.getenv "BENCH_SEED") or 1)

local function held_kb()
   collectgarbage()
   collectgarbage()
   local f = assert(io.open "/proc/self/status")
   local kb = tonumber(f:read "a":match "VmRSS:%s*(%d+)")
   f:close()
   return kb
end

local before = held_kb()
local d = diagnose.new(topo, assert(config.diagnosis {}))

-- Busy regions: links that leave one of these routers, at a level, until they move.
local level = {}

local function stir()
   level = {}
   for _ = 1, topo.routers // 5 do
      level[math.random(0, topo.routers - 1)] = math.random(3) == 1 and 0.5 or
         0.3 + 0.6 * math.random()
   end
end

-- Six phases between nodes that are numbered near each other.
local function plan(first, event)
   local tests = {}
   for phase = 1, PHASES do
      for i = 0, NODES - 1 do
         local other = (i + phase * (phase % 2 == 0 and 1 or -1) * (1 + event % 3)) % NODES
         tests[#tests + 1] = { src = first + i, dst = first + other, phase = phase, flows = 1,
            id = #tests + 6000 * event, event = event, streams = 1 }
      end
   end
   return tests
end

-- What each test shows: shares as the plan makes them, and busy links.
local function measure(tests, now)
   local routes, users = {}, {}
   for i, t in ipairs(tests) do
      routes[i] = topo:route(t.src, t.dst)
      users[t.phase] = users[t.phase] or {}
      for _, c in ipairs(routes[i]) do
         users[t.phase][c] = (users[t.phase][c] or 0) + 1
      end
   end
   for i, t in ipairs(tests) do
      local least, share = math.huge, 1
      for _, c in ipairs(routes[i]) do
         least = math.min(least, topo.capacity[c] / users[t.phase][c])
         share = topo:is_link(c) and math.min(share, level[topo:from(c)] or 1) or share
      end
      local bw = least * share * (1 + 0.01 * (math.random() - 0.5))
      t.time, t.bw_Bps, t.expected_Bps, t.ratio = now, bw, least, bw / least
      t.class = math.random() < 0.02 and "void" or t.ratio < 0.75 and "low" or "good"
      t.through = users[t.phase]
   end
end

local function event(n)
   local now = n * 120
   if n % 30 == 1 then
      stir()
   end
   local tests = plan(math.random(1, #topo.nodes - NODES), n)
   measure(tests, now)
   local began = os.clock()
   d:observe(tests, now)
   return (os.clock() - began) * 1e3
end

local n = 0
local function series(count)
   local list = {}
   for i = 1, count do
      n = n + 1
      list[i] = event(n)
   end
   table.sort(list)
   return stats.median(list), list[#list]
end

series(WARM)
local lows, runs = d.evidence:size()
local suspects = 0
for _ in pairs(d.suspects) do
   suspects = suspects + 1
end
local own = held_kb() - before
print(("after %d events: %d components with a run, %d low tests held, %d suspects"):format(WARM,
   runs, lows, suspects))
local median, worst = series(EVENTS)
print(("6,000 tests in %.1f ms (worst of %d: %.1f ms), %.2f us a test"):format(median, EVENTS,
   worst, median / 6))
print(("memory: %.1f MB beyond the topology"):format(own / 1024))
print()
units.figure("diagnose_cost_6000", median, "ms", "<=", 20)
figure("diagnose_cost_memory", own / 1024, "MB", "<=", 100)
