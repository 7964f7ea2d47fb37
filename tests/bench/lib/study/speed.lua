-- SPDX-License-Identifier: GPL-2.0-or-later
-- Processor time of the cells of a study; called by ../../study_speed.
local figure = require "figure"
local jobs = require "taut.study.jobs"
local load = require "taut.study.load"
local machine = require "taut.study.machine"
local pattern = require "taut.place.pattern"
local published = require "study.published"
local stats = require "stats"
local topology = require "taut.topology"
local units = require "kernel.units"

local QUICK = (os.getenv "BENCH_QUICK" or "") ~= ""
local SEED = tonumber(os.getenv "BENCH_SEED" or "") or 1
local SETS = QUICK and 3 or 15

local function kB(what)
   for line in io.lines "/proc/self/status" do
      local n = line:match("^" .. what .. ":%s+(%d+)")
      if n then
         return tonumber(n)
      end
   end
end

local function ms(fn)
   local t = os.clock()
   local a = fn()
   return (os.clock() - t) * 1e3, a
end

local function measure(name, m)
   local M, may = assert(pattern.motif "halo3d26:points=30"), assert(m:links())
   local lay_ms, list = ms(function()
      return assert(jobs.lay(m, { count = 1, shape = "cube", ranks = 32768, seed = SEED }))
   end)
   local load_ms, phases = ms(function() return assert(load.of(m, M, list, 1)) end)
   local times = {}
   units.look()
   for i = 1, SETS do
      times[i] = ms(function()
         return assert(load.solve(m, phases, (m:draw { share = 0.1, seed = SEED * 100 + i,
            links = may })))
      end)
   end
   local median = stats.median(times)
   print(("%-20s %8.1f ms   jobs laid out in %6.1f ms, messages added up in %6.1f ms"):format(name,
      median, lay_ms, load_ms))
   return median
end

local function dragonfly(cables, inside)
   return assert(machine.new(assert(topology.build { kind = "dragonfly", groups = 65, routers = 32,
      nodes_per_router = 16, global_links = cables, nodes = "x[00000-33279]", capacity = 1e9 }),
      { inside = inside }))
end

local function hyperx(conf)
   local n = conf.nodes
   for _, len in ipairs(conf.dims) do
      n = n * len
   end
   return assert(machine.new(assert(topology.build { kind = "hyperx", dims = conf.dims,
      links = conf.links, routing = "doal", nodes_per_router = conf.nodes,
      nodes = ("h[0-%d]"):format(n - 1), capacity = 1e9 })))
end

local groups, routers, lines = 0, 0, 0
for _, c in ipairs { { "full", 8 }, { "half", 4 }, { "quarter", 2 } } do
   groups = math.max(groups, measure("dragonfly, " .. c[1], dragonfly(c[2])))
   routers = math.max(routers, measure("  by routers", dragonfly(c[2], true)))
   collectgarbage()
end
for _, bw in ipairs { "full", "half", "quarter" } do
   lines = math.max(lines, measure("hyperx, " .. bw, hyperx(published.hyperx[bw])))
   collectgarbage()
end
units.look()
print("\n" .. units.words())
figure("cell_groups_ms", groups * units.scale(), "ms", "<=", 5)
figure("cell_routers_ms", routers * units.scale(), "ms", "<=", 100)
figure("cell_hyperx_ms", lines * units.scale(), "ms", "<=", 50)
figure("memory", kB "VmHWM" / 1e3, "MB", "<=", 200)
