-- SPDX-License-Identifier: GPL-2.0-or-later
-- A job trace on one machine, with Slurm's placement and with ours: the bench `replay`.
-- usage: replay.lua MACHINE_FILE TRACE NAME [KEY=VALUE]... <the trace
-- TRACE is what the trace is called in errors; keys: from, days, windows, warm, heavy, slow
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
   local o = { from = 91, days = 7, windows = 1, warm = 3, heavy = 0.4, seed = SEED }
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

-- The same measured over some of the windows; one is the same as all where there is just one.
local function of(list, numbers)
   local some = {}
   for i, n in ipairs(numbers) do
      some[i] = list[n]
   end
   return measure.summary(some)
end

-- Over several windows: what `fn` makes of all, its 95 % interval, and in how many windows it is at
-- most `limit`.
local function spread(what, was, is, fn, limit)
   local value = fn(measure.summary(was), measure.summary(is))
   local low, high = stats.resampled(#was, function(numbers)
      return fn(of(was, numbers), of(is, numbers))
   end)
   local within = 0
   for i = 1, #was do
      within = within + (fn(of(was, { i }), of(is, { i })) <= limit and 1 or 0)
   end
   print(("%10s %-24s %8.3f (%.3f to %.3f), at most %g in %d of %d windows"):format("", what,
      value, low, high, limit, within, #was))
end

local function ratio(key)
   return function(was, is) return is[key] / was[key] end
end

local function contention(was, is)
   return (is.contention - was.contention) / was.mean
end

local function work_lost(was, is)
   return 1 - is.work / was.work
end

-- What it costs the queue, in percent: less of the trace's work done, more waiting.
local function costs(name, was, is)
   figure(name .. "_work_lost", 100 * work_lost(was, is), "%", "<=", 1)
   figure(name .. "_waiting_added", 100 * (is.wait / was.wait - 1), "%", "<=", 2)
end

-- All windows with the same links, under one policy.
local function replay(topo, windows, policy, o)
   local list = {}
   for i, window in ipairs(windows) do
      list[i] = measure.replay(topo, window, policy, o)
      list[i].played = nil -- of many weeks, too much to keep
   end
   return list, measure.summary(list)
end

local function compare(topo, windows, name, share)
   local left = workload.slow_links(topo, share, SEED)
   local label = ("%g %% slow"):format(100 * share)
   local slurms, was = replay(topo, windows, "slurm", { left = left })
   local began = sys.now()
   local ours, is = replay(topo, windows, "ours", { left = left })
   local took = sys.now() - began
   local followed, follow = replay(topo, windows, "ours", { left = left, follow = true })
   row(label, "slurm", was)
   row("", "ours", is)
   row("", "follow", follow)
   local longer, shorter = pairwise(was.ratios, is.ratios)
   print(("%10s shorter for %.0f %% of the heavy jobs, longer for %.0f %%; a choice took %.0f ms "
      .. "at the median, %.0f at most; %.0f s"):format("", 100 * shorter, 100 * longer,
      1000 * stats.median(is.took), 1000 * stats.quantile(is.took, 1), took))
   if #windows > 1 then
      spread("comm., of Slurm's", slurms, ours, ratio "mean", 1)
      spread("95 %, of Slurm's", slurms, ours, ratio "p95", 1)
      spread("others added, of comm.", slurms, ours, contention, 0)
      spread("follow: comm.", slurms, followed, ratio "mean", 1)
      spread("follow: 95 %", slurms, followed, ratio "p95", 1)
      spread("follow: waiting", slurms, followed, ratio "wait", 1.02)
      spread("follow: work lost", slurms, followed, work_lost, 0.01)
   end
   local key = ("%s_%g"):format(name, 100 * share)
   figure(key .. "_comm_mean", is.mean / was.mean, "of Slurm's", "<=", 1)
   figure(key .. "_comm_95", is.p95 / was.p95, "of Slurm's", "<=", 1)
   figure(key .. "_contention_added", 100 * contention(was, is),
      "% of Slurm's communication", "<=", 0)
   costs(key, was, is)
   costs(key .. "_follow", was, follow)
end

local path, trace_name, name = arg[1], arg[2], arg[3]
local o = options(4)
local topo = assert(config.load(path, { rundir = "", statedir = "" })).topology
local trace = assert(swf.read(io.lines(), trace_name))
o.size = #topo.nodes
local windows = assert(workload.windows(trace, o))
local counted, heavy, cut = 0, 0, {}
for i, window in ipairs(windows) do
   cut[i] = window.cut
   for _, j in ipairs(window.jobs) do
      counted, heavy = counted + (j.counted and 1 or 0),
         heavy + (j.counted and j.pattern and 1 or 0)
   end
end
print(("%s: %d nodes, jobs scaled by %.3f; %d jobs counted, %d of them heavy; %.1f %% of the node "
   .. "hours cut at the jobs' limits"):format(name, #topo.nodes, windows[1].scale, counted, heavy,
   100 * stats.mean(cut)))
local function shaken()
   local least, median, most, times, by = shake.waiting(#topo.nodes, windows)
   return 100 * by, times, least, most, median
end
print(("waiting by itself: heavy jobs' times changed by up to %g %% at random, %d times: %+.1f "
   .. "to %+.1f %%, median %+.1f %%"):format(shaken()))
print(("%-10s %-6s %8s %8s %8s %8s %10s %9s %9s"):format("cables", "nodes", "comm.", "95 %",
   "alone", "others", "waiting", "in use", "work"))
for _, share in ipairs(o.slow and { o.slow / 100 } or SLOW) do
   compare(topo, windows, name, share)
end
print ""
