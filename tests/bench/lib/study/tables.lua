-- SPDX-License-Identifier: GPL-2.0-or-later
-- The published tables again, by the code of `taut study`; called by ../../study_tables.
local figure = require "figure"
local detune = require "taut.study.detune"
local fit = require "taut.study.fit"
local inject = require "taut.study.inject"
local links = require "taut.study.links"
local load = require "taut.study.load"
local machine = require "taut.study.machine"
local published = require "study.published"
local sys = require "taut.sys"
local topology = require "taut.topology"
local jobs = require "taut.study.jobs"
local pattern = require "taut.place.pattern"
local units = require "kernel.units"

-- What a rank computes a second.  Only ratios count for the halo, whose constants are fitted: at
-- 10 Gflop/s they say 4.1 GB/s a link.  That a lattice's solver, bound by memory, reaches a tenth
-- of it is an assumption: it is not published what the study's did.
local HALO_FLOPS, LQCD_FLOPS = 1e10, 1e9

local QUICK = (os.getenv "BENCH_QUICK" or "") ~= ""
local SEEDS = QUICK and 2 or 8
local FIRST = tonumber(os.getenv "BENCH_SEED" or "") or 1

local function dragonfly(cables)
   return assert(machine.new(assert(topology.build { kind = "dragonfly", groups = 65, routers = 32,
      nodes_per_router = 16, global_links = cables, nodes = "x[00000-33279]", capacity = 1e9 })))
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

-- All tasks; returns the rows, and the results.
local function study(m, spec, c)
   spec.seeds, spec.ranks, spec.shares = SEEDS, 32768, links.shares
   local may, results = assert(m:links()), {}
   for _, task in ipairs(links.tasks(spec)) do
      task.seed = task.seed + (FIRST - 1) * 100
      results[task.key] = assert(links.solve(m, spec, task, may))
   end
   return links.tabulate(m, spec, results, c), results
end

---------------------------------------------------------------- constants

-- The network's seconds without failures of one job on a quarter of the cables.
local function healthy(m, text)
   local M, sum = assert(pattern.motif(text)), 0
   local phases
   for seed = 1, SEEDS do
      local list = assert(jobs.lay(m, { count = 1, shape = "cube", ranks = 32768, seed = seed }))
      phases = assert(load.of(m, M, list, 1))
      local s = assert(load.solve(m, phases, m:overlay()))
      sum = sum + math.max(s[1].load_s, phases[1].inject_bytes / m.inject_Bps)
   end
   return sum / SEEDS, phases[1]
end

-- The share of communication without failures follows from a problem studied with and without its
-- computation: the same lost time is so much less of a longer run.
local function shares()
   local list = {}
   for _, points in ipairs { 30, 45, 50 } do
      local with, without = 0, 0
      for i, v in ipairs(published.with[points]) do
         with, without = with + v, without + published.without[points][i]
      end
      list[#list + 1] = { points = points, share = with / without }
   end
   return list
end

-- Traffic grows with the faces of a rank's cube, (N/30)^2, as the published model has it.
local function constants(m)
   local list = {}
   local network_s, phase = healthy(m, "halo3d26:points=30")
   for _, s in ipairs(shares()) do
      local grows = s.points / 30
      list[#list + 1] = { share = s.share, flops = phase.flops * grows ^ 3,
         messages = phase.messages, network_s = network_s * grows ^ 2 }
   end
   local c = assert(fit.constants(list, { flops = HALO_FLOPS }))
   print(("constants from %d shares of communication without failures, at 10 Gflop/s a rank: " ..
      "%.2f us\na message (A = %.3f of the computation), b = %.3f at 1 GB/s a link; they give " ..
      "the shares within %.1f %%\n"):format(c.points, c.message_s * 1e6,
      c.message_s * phase.messages * c.flops / phase.flops, c.b, c.worst * 100))
   return c
end

---------------------------------------------------------------- comparing

local function compare(pairs_of)
   local err, n, x, y = 0, #pairs_of, 0, 0
   for _, p in ipairs(pairs_of) do
      err, x, y = err + math.abs(p[1] - p[2]), x + p[1], y + p[2]
   end
   local xy, xx, yy = 0, 0, 0
   for _, p in ipairs(pairs_of) do
      local dx, dy = p[1] - x / n, p[2] - y / n
      xy, xx, yy = xy + dx * dy, xx + dx * dx, yy + dy * dy
   end
   return err / n, xy / math.sqrt(xx * yy)
end

local function print_row(name, row, want)
   local cells = {}
   for i, cell in ipairs(row.cells) do
      cells[i] = not cell.mean and "  none      " or ("%6.2f%-5s%s"):format(cell.mean,
         ("±%.1f"):format(cell.sd):sub(1, 5), cell.unroutable > 0 and "*" or " ")
   end
   print(("%-15s %s"):format(name, table.concat(cells)))
   if want then
      for i, v in ipairs(want) do
         cells[i] = ("%6.2f     "):format(v)
      end
      print(("%-15s %s"):format("  published", table.concat(cells, " ")))
   end
end

local function take(list, row, want)
   for i, v in ipairs(want) do
      list[#list + 1] = { row.cells[i].mean, v }
   end
end

local JOBS = { 1, 4, 16, 64 }

local function halo(machines, c)
   print "Halo3D26 on the dragonfly: mean degradation in %, ± over seeds"
   local all = {}
   for _, bw in ipairs { "full", "half", "quarter" } do
      for _, row in ipairs((study(machines[bw], { patterns = { "halo3d26:points=30" },
         jobs = JOBS }, c))) do
         local want = published.halo[bw][row.jobs]
         print_row(("%s, %d"):format(bw, row.jobs), row, want)
         take(all, row, want)
      end
   end
   local err, r = compare(all)
   print ""
   figure("dragonfly_halo_error", err, "points", "<=", 0.56)
   figure("dragonfly_halo_r", r, "-", ">=", 0.90)
   return all
end

local function sizes(m, c)
   print "\nHalo3D26, a quarter of the cables, 1 job, by points"
   local list, with, without = {}, {}, {}
   for _, points in ipairs(published.sizes) do
      list[#list + 1] = "halo3d26:points=" .. points
   end
   local spec = { patterns = list, jobs = { 1 } }
   local rows, results = study(m, spec, c)
   local bare = { flops = math.huge, message_s = c.message_s, b = c.b }
   local rows_without = links.tabulate(m, spec, results, bare)
   for i, points in ipairs(published.sizes) do
      print_row(points .. "^3", rows[i], published.with[points])
      if points ~= 30 then -- which the table before has
         take(with, rows[i], published.with[points])
      end
   end
   for i, points in ipairs(published.sizes) do
      local want = published.without[points]
      if want then
         print_row(points .. "^3, no compute", rows_without[i], want)
         take(points >= 45 and without or {}, rows_without[i], want)
      end
   end
   print ""
   figure("dragonfly_sizes_error", (compare(with)), "points", "<=", 1.2)
   figure("dragonfly_without_compute_error", (compare(without)), "points", "<=", 1.4)
end

local function worst(m, text, c)
   local most = 0
   for _, row in ipairs((study(m, { patterns = { text }, jobs = JOBS }, c))) do
      for _, cell in ipairs(row.cells) do
         most = math.max(most, cell.mean and cell.most or 0)
      end
   end
   return most
end

local function others(machines, c)
   print "\nSweep3D and LQCD on the dragonfly: the worst of all cells, over seeds"
   local sweep, lqcd = 0, 0
   local slow = { flops = LQCD_FLOPS, message_s = c.message_s, b = c.b }
   for _, bw in ipairs { "full", "half", "quarter" } do
      sweep = math.max(sweep, worst(machines[bw], "sweep3d", c))
      lqcd = math.max(lqcd, worst(machines[bw], "lqcd", slow))
   end
   if not QUICK then
      print(("LQCD computes at 1 Gflop/s a rank; at the halo's 10 its worst cell were %.1f %%")
         :format(worst(machines.quarter, "lqcd", c)))
   end
   figure("dragonfly_sweep3d_worst", sweep, "%", "<=", 1)
   figure("dragonfly_lqcd_worst", lqcd, "%", "<=", 1)
end

---------------------------------------------------------------- HyperX

-- Mean of all cells where everything has a way, and the first share with some that have none; nil
-- where all have one up to the largest share, which the figure calls 100 %.
local function take_hyperx(rows, sums)
   local first
   for _, row in ipairs(rows) do
      for i, cell in ipairs(row.cells) do
         if cell.unroutable > 0 then
            first = math.min(first or 1, links.shares[i])
         end
         if cell.mean then
            sums.sum, sums.n = sums.sum + cell.mean, sums.n + 1
         end
      end
   end
   return first
end

local function mean_of(results)
   local sum = 0
   for _, p in ipairs(results) do
      sum = sum + p[1]
   end
   return sum / #results
end

local function hyperx_tables(c, dragonfly_mean)
   print "\nHalo3D26 on the HyperX, the same constants (* no way in some seeds; none: in all)"
   local first, sums = {}, { sum = 0, n = 0 }
   for _, bw in ipairs { "full", "half", "quarter" } do
      local m = hyperx(published.hyperx[bw])
      local rows = study(m, { patterns = { "halo3d26:points=30" }, jobs = JOBS }, c)
      for _, row in ipairs(rows) do
         print_row(("%s, %d"):format(bw, row.jobs), row)
      end
      first[bw] = take_hyperx(rows, sums)
   end
   print ""
   figure("hyperx_over_dragonfly", sums.sum / sums.n / dragonfly_mean, "-", ">=", 1)
   figure("hyperx_no_way_from_full", (first.full or 1) * 100, "%", "<=", 30)
   figure("hyperx_no_way_from_half", (first.half or 1) * 100, "%", "<=", 30)
   figure("hyperx_no_way_from_quarter", (first.quarter or 1) * 100, "%", "<=", 30)
end

---------------------------------------------------------------- XT4

-- 16 nodes of a torus with links of 3,092 MB/s; which ones is not known, here 4 x 4.
local function xt4()
   print "\nXT4: 16 nodes, all-to-all of 4 MB by pairwise exchange, time of that at full speed"
   local m = assert(machine.new(assert(topology.build { kind = "torus", dims = { 4, 4 },
      nodes_per_router = 1, nodes = "n[0-15]", capacity = 3.092e9 })))
   local c, nodes = { flops = 1e10, message_s = 0, b = 1 }, {}
   for n = 1, 16 do
      nodes[n] = n
   end
   local o = { shares = detune.shares }
   local all = assert(detune.solve(m, assert(pattern.motif "exchange:bytes=4M"),
      { jobs.on(m, nodes) }, o))
   local pair = assert(detune.solve(m, assert(pattern.motif "exchange:bytes=4M"),
      { jobs.on(m, { 1, 2 }) }, o))
   m.inject_Bps = assert(detune.fit_inject(m, all, 0.25, published.xt4_quarter, c))
   print(("injection fitted to the time at a quarter: %.0f MB/s"):format(m.inject_Bps / 1e6))
   for _, share in ipairs(detune.shares) do
      print(("%4g %%   all-to-all %.3f   one pair %.3f"):format(share * 100,
         detune.ratio(m, all, share, 1, c), detune.ratio(m, pair, share, 1, c)))
   end
   print ""
   figure("xt4_quarter_off", math.abs(detune.ratio(m, all, 0.25, 1, c) / published.xt4_quarter - 1)
      * 100, "%", "<=", 2.5)
   figure("xt4_pair_three_quarters", detune.ratio(m, pair, 0.75, 1, c), "-", "<=", 1.001)
   figure("xt4_half", detune.ratio(m, all, 0.5, 1, c), "-")
   figure("xt4_three_quarters", detune.ratio(m, all, 0.75, 1, c), "-")
end

---------------------------------------------------------------- balanced injection

-- S3D: neighbours in three dimensions, not periodic; 96 nodes in a row on a machine as large as
-- Titan, one rank on each (its threads share a node), in order of their numbers.
local function s3d()
   print "\nS3D-like exchange on 96 nodes of a Gemini torus, by injection"
   local m = assert(machine.new(assert(topology.build { kind = "torus", dims = { 25, 16, 24 },
      nodes_per_router = 2, layout = "gemini", nodes = "nid[00000-19199]" })))
   local c, nodes = { flops = math.huge, message_s = 0, b = 1 }, {}
   for n = 1, 96 do
      nodes[n] = n
   end
   local M = assert(pattern.motif "halo3d:bytes=1M,periodic=no")
   local r = assert(inject.study(m, M, { jobs.on(m, nodes) }, {}, c))
   local pair = assert(inject.study(m, M, { jobs.on(m, { 1, 3 }) }, {}, c))
   local line = {}
   for _, p in ipairs(r.curve) do
      if p.share >= 0.395 then
         line[#line + 1] = ("%g:%.2f"):format(p.share * 100, p.ratio)
      end
   end
   print(table.concat(line, "  "))
   print(("F %.3f ms, L %.3f ms, K = %g\n"):format(r.inject_s * 1e3, r.load_s * 1e3,
      inject.congestion))
   figure("s3d_best_injection_above", r.best * 100, "%", ">=", 51)
   figure("s3d_best_injection_below", r.best * 100, "%", "<=", 89)
   figure("pair_best_injection", pair.best * 100, "%", ">=", 100)
end

units.look()
local t0, wall = os.clock(), sys.now()
local function clock()
   local s = os.clock() - t0
   units.look()
   print(("(%.1f s of processor time, %.1f s by the clock)\n%s"):format(s, sys.now() - wall,
      units.words()))
   return s * units.scale()
end

local machines = { full = dragonfly(8), half = dragonfly(4), quarter = dragonfly(2) }
local c = constants(machines.quarter)
local cells = halo(machines, c)
sizes(machines.quarter, c)
figure("dragonfly_tables_s", clock(), "s", "<=", 10)
others(machines, c)
units.look()
t0 = os.clock()
hyperx_tables(c, mean_of(cells))
figure("hyperx_tables_s", clock(), "s", "<=", 40)
xt4()
s3d()
