-- SPDX-License-Identifier: GPL-2.0-or-later
-- What flow_score measures in one process: NAME FILE, a machine.
local config = require "taut.config"
local figure = require "figure"
local pattern = require "taut.place.pattern"
local score = require "taut.place.score"
local stats = require "stats"
local sys = require "taut.sys"
local units = require "kernel.units"

local QUICK = (os.getenv "BENCH_QUICK" or "") ~= ""
local ROUNDS = QUICK and 3 or 41
local NODES, FAILED = 1000, 50

-- Pattern, figure it counts for, limit in ms.
local PATTERNS = {
   { "all-to-all", "alltoall", 5 },
   { "halo3d", "halo", 20 },
   { "halo2d", "halo", 20 },
   { "halo27", "halo", 20 },
   { "ring", "ring", 20 },
   { "random-pairs", "random", 20 },
   { "bisection", "bisection", 20 },
}

local function kB(what)
   for line in io.lines "/proc/self/status" do
      local n = line:match("^" .. what .. ":%s+(%d+)")
      if n then
         return tonumber(n)
      end
   end
end

-- NODES of those that are free among the first `within`; all free with share 1.
local function choose(topo, within, free)
   local list, left = {}, 0
   local is_free = {}
   for n = 1, within do
      is_free[n] = math.random() < free
      left = left + (is_free[n] and 1 or 0)
   end
   local wanted = NODES
   for n = 1, math.min(within, #topo.nodes) do
      if is_free[n] then
         if math.random() * left < wanted then
            list[#list + 1], wanted = n, wanted - 1
         end
         left = left - 1
      end
   end
   return list
end

local function node_sets(topo)
   return {
      { "the first", choose(topo, NODES, 1) },
      { "free of a region", choose(topo, 2 * NODES + 400, 0.5) },
      { "from everywhere", choose(topo, #topo.nodes, 1) },
   }
end

-- The all-to-all as messages between pairs.
local function one_by_one(n)
   local src, dst = {}, {}
   for a = 1, n do
      for b = 1, n do
         if a ~= b then
            src[#src + 1], dst[#dst + 1] = a, b
         end
      end
   end
   return { name = "pairs", ranks = n, compute = 0, steps = { { kind = "pairs", src = src,
      dst = dst, bytes = 1e6, times = 1 } } }
end

local function compare(topo, sets, walked)
   for _, set in ipairs(sets) do
      local s = score.evaluate(topo, set[2], assert(pattern.make("all-to-all", #set[2])))
      local t = score.evaluate(topo, set[2], walked)
      if math.abs(s.time_s / t.time_s - 1) > 1e-9 or s.slowest ~= t.slowest and
         math.abs(s.time_s - t.time_s) > 1e-9 * t.time_s then
         error(("%s: all-to-all takes %.12g s, one by one %.12g s"):format(set[1], s.time_s,
            t.time_s))
      end
   end
   print "the same as its messages one by one"
end

local function measure(topo, sets)
   local times, ratio = {}, {}
   local made = {}
   for i, p in ipairs(PATTERNS) do
      made[i] = assert(pattern.make(p[1], NODES))
      times[i], ratio[i] = {}, {}
      for k in ipairs(sets) do
         times[i][k] = {}
      end
   end
   for _ = 1, ROUNDS do
      for i in ipairs(PATTERNS) do
         for k, set in ipairs(sets) do
            local began = sys.now()
            local s = score.evaluate(topo, set[2], made[i])
            table.insert(times[i][k], (sys.now() - began) * 1e3)
            ratio[i][k] = s.ratio
         end
      end
   end
   return times, ratio
end

local function print_all(sets, times, ratio)
   local worst = {}
   local head = { ("%-14s"):format "pattern" }
   for _, set in ipairs(sets) do
      head[#head + 1] = ("%18s"):format(set[1])
   end
   print(table.concat(head) .. "   (ms, and times the ideal)")
   for i, p in ipairs(PATTERNS) do
      local row = { ("%-14s"):format(p[1]) }
      for k in ipairs(sets) do
         local ms = stats.median(times[i][k])
         worst[p[2]] = math.max(worst[p[2]] or 0, ms)
         row[#row + 1] = ("%10.2f %7.2f"):format(ms, ratio[i][k])
      end
      print(table.concat(row))
   end
   return worst
end

local function fail_cables(topo)
   local left, n = {}, 0
   while n < FAILED do
      local c = math.random(topo.first_link, #topo.components)
      if not left[c] then
         left[c], left[topo:opposite(c)], n = 0, 0, n + 1
      end
   end
   topo:set_health(left, { report = false })
end

local name, file = arg[1], arg[2]
local topo = assert(config.load(file, { rundir = "", statedir = "" })).topology
local before = kB "VmRSS"
local sets = node_sets(topo)
local suffix = name == "titan" and "" or "_dragonfly"
print(("\n%s: %d nodes"):format(name, #topo.nodes))
local worst = print_all(sets, measure(topo, sets))
local memory = (kB "VmRSS" - before) / 1024
print(("the process holds %.1f MB more"):format(memory))
local walked = one_by_one(NODES)
compare(topo, sets, walked)
fail_cables(topo)
print(("\n%s with %d failed cables"):format(name, FAILED))
local failed = print_all(sets, measure(topo, sets))
compare(topo, sets, walked)
units.figure("score_alltoall" .. suffix .. "_ms", worst.alltoall, "ms", "<=", 5)
units.figure("score_halo" .. suffix .. "_ms", worst.halo, "ms", "<=", 20)
units.figure("score_alltoall" .. suffix .. "_failed_ms", failed.alltoall, "ms", "<=", 20)
units.figure("score_halo" .. suffix .. "_failed_ms", failed.halo, "ms", "<=", 20)
figure("score_memory" .. suffix, memory, "MB", "<=", 100)
