-- SPDX-License-Identifier: GPL-2.0-or-later
-- A job trace on one machine, with Slurm's placement and with ours: the bench `replay`.
-- usage: replay.lua MACHINE_FILE TRACE NAME [KEY=VALUE]... <the trace
-- TRACE is what the trace is called in errors; keys: from, days, warm, heavy
local config = require "taut.config"
local figure = require "figure"
local measure = require "replay.measure"
local shake = require "replay.shake"
local stats = require "stats"
local swf = require "replay.swf"
local sys = require "taut.sys"
local workload = require "replay.workload"

local SEED = math.tointeger(tonumber(os.getenv "BENCH_SEED" or 1))
local SLOW = { 0, 0.01, 0.05 } -- shares of the cables
local WORSE = 1.02             -- a job whose communication takes that much longer with ours

local function options(first)
   local o = { from = 91, days = 7, warm = 3, heavy = 0.4, seed = SEED }
   for i = first, #arg do
      local k, v = arg[i]:match "^(%l+)=([%d.]+)$"
      o[k] = assert(tonumber(v), arg[i])
   end
   return o
end

local function row(label, policy, r)
   print(("%-10s %-6s %8.3f %8.3f %8.3f %8.3f %8.2f h %7.2f %% %7.2f %%"):format(label, policy,
      r.mean, r.p95, r.alone, r.contention, r.wait / 3600, 100 * r.utilisation, 100 * r.work))
end

-- Shares of the jobs that communicate longer, and shorter, with ours.
local function pairwise(was, is)
   local longer, shorter = 0, 0
   for i, v in ipairs(is) do
      longer = longer + (v > was[i] * WORSE and 1 or 0)
      shorter = shorter + (v * WORSE < was[i] and 1 or 0)
   end
   return longer / #is, shorter / #is
end

-- What it costs the queue, in percent: less of the trace's work done, more waiting.
local function costs(name, was, is)
   figure(name .. "_work_lost", 100 * (1 - is.work / was.work), "%", "<=", 1)
   figure(name .. "_waiting_added", 100 * (is.wait / was.wait - 1), "%", "<=", 2)
end

local function compare(topo, window, name, share)
   local left = workload.slow_links(topo, share, SEED)
   local label = ("%g %% slow"):format(100 * share)
   local was = measure.replay(topo, window, "slurm", { left = left })
   local began = sys.now()
   local is = measure.replay(topo, window, "ours", { left = left })
   local took = sys.now() - began
   local follow = measure.replay(topo, window, "ours", { left = left, follow = true })
   row(label, "slurm", was)
   row("", "ours", is)
   row("", "follow", follow)
   local longer, shorter = pairwise(was.ratios, is.ratios)
   print(("%10s shorter for %.0f %% of the heavy jobs, longer for %.0f %%; a choice took %.0f ms "
      .. "at the median, %.0f at most; %.0f s"):format("", 100 * shorter, 100 * longer,
      1000 * stats.median(is.took), 1000 * stats.quantile(is.took, 1), took))
   local key = ("%s_%g"):format(name, 100 * share)
   figure(key .. "_comm_mean", is.mean / was.mean, "of Slurm's", "<=", 1)
   figure(key .. "_comm_95", is.p95 / was.p95, "of Slurm's", "<=", 1)
   figure(key .. "_contention_added", 100 * (is.contention - was.contention) / was.mean,
      "% of Slurm's communication", "<=", 0)
   costs(key, was, is)
   costs(key .. "_follow", was, follow)
end

local path, trace_name, name = arg[1], arg[2], arg[3]
local o = options(4)
local topo = assert(config.load(path, { rundir = "", statedir = "" })).topology
local trace = assert(swf.read(io.lines(), trace_name))
o.size = #topo.nodes
local window = assert(workload.window(trace, o))
local counted, heavy = 0, 0
for _, j in ipairs(window.jobs) do
   counted, heavy = counted + (j.counted and 1 or 0), heavy + (j.counted and j.pattern and 1 or 0)
end
print(("%s: %d nodes, jobs scaled by %.3f; %d jobs counted, %d of them heavy; %.1f %% of the node "
   .. "hours cut at the jobs' limits"):format(name, #topo.nodes, window.scale, counted, heavy,
   100 * window.cut))
local function shaken()
   local least, median, most, times, by = shake.waiting(#topo.nodes, window)
   return 100 * by, times, least, most, median
end
print(("waiting by itself: heavy jobs' times changed by up to %g %% at random, %d times: %+.1f "
   .. "to %+.1f %%, median %+.1f %%"):format(shaken()))
print(("%-10s %-6s %8s %8s %8s %8s %10s %9s %9s"):format("cables", "nodes", "comm.", "95 %",
   "alone", "others", "waiting", "in use", "work"))
for _, share in ipairs(SLOW) do
   compare(topo, window, name, share)
end
print ""
