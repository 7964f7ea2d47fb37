-- SPDX-License-Identifier: GPL-2.0-or-later
-- Motifs: what is added up between places is what their messages are, one by one; jobs; the
-- constants of the time model.
local calibrate = require "taut.study.calibrate"
local engine = require "taut.study"
local fit = require "taut.study.fit"
local jobs = require "taut.study.jobs"
local load = require "taut.study.load"
local lu = require "luaunit"
local machine = require "taut.study.machine"
local motif = require "taut.place.pattern.motif"
local pattern = require "taut.place.pattern"
local time = require "taut.study.time"
local topology = require "taut.topology"

local tests = {}

local function torus()
   return assert(machine.new(assert(topology.build { kind = "torus", dims = { 4, 3, 2 },
      nodes_per_router = 2, nodes = "n[0-47]", capacity = 1e9 })))
end

-- Bytes and messages between places, from a pattern's own steps.
local function by_steps(P, place, places)
   local d = engine.demand(places)
   for _, s in ipairs(P.steps) do
      for k = 1, s.src and #s.src or 0 do
         local bytes = type(s.bytes) == "table" and s.bytes[k] or s.bytes
         d:add(place[s.src[k]], place[s.dst[k]], bytes * s.times, s.times)
      end
      for a = 1, s.src and 0 or P.ranks do
         for b = 1, P.ranks do
            if a ~= b then
               d:add(place[a], place[b], s.bytes * s.times, s.times)
            end
         end
      end
   end
   return d:totals()
end

function tests.test_what_is_added_up_is_every_message()
   local m = torus()
   for _, text in ipairs { "halo3d26:points=20", "sweep3d", "lqcd:lattice=16x16x16x16",
      "exchange:bytes=1k", "exchange:bytes=1k,way=shift", "many-to-one:root=3", "all-to-all",
      "halo27", "ring", "random-pairs" } do
      for _, n in ipairs { 8, 27, 36, 48 } do
         local M = assert(pattern.motif(text))
         local nodes = {}
         for i = 1, n do
            nodes[i] = 49 - i
         end
         local list = { jobs.on(m, nodes) }
         local phases = assert(load.of(m, M, list))
         local want = by_steps(assert(pattern.make(text, n)), list[1].place, m.places)
         local sum = { bytes = 0, messages = 0, inside_bytes = 0 }
         for _, p in ipairs(phases) do
            local t = p.demand:totals()
            for k, v in pairs(sum) do
               sum[k] = v + t[k] * p.times
            end
         end
         for k, v in pairs(sum) do
            lu.assertAlmostEquals(v, want[k], 1e-6 * (1 + v), ("%s of %d: %s"):format(text, n, k))
         end
      end
   end
end

function tests.test_the_busiest_rank()
   local phase = assert(pattern.motif "halo3d26:points=10").phases(27)[1]
   local bytes, messages = motif.most(phase)
   lu.assertEquals(messages, 26)
   lu.assertAlmostEquals(bytes, 8 * (6 * 100 + 12 * 10 + 8), 1e-9)
   bytes, messages = motif.most(pattern.motif("halo3d26:points=10").phases(8)[1])
   lu.assertEquals(messages, 7)
   lu.assertAlmostEquals(bytes, 8 * (3 * 100 + 3 * 10 + 1), 1e-9)
   lu.assertEquals(motif.most(pattern.motif("many-to-one:bytes=5").phases(7)[1]), 30)
end

function tests.test_several_ranks_on_a_node_do_not_inject_what_stays()
   local m = torus()
   local M = assert(pattern.motif "ring:bytes=100")
   local list = { jobs.on(m, { 1, 2, 3 }, 4) }
   lu.assertEquals(load.of(m, M, list, 4)[1].inject_bytes, 100)
   lu.assertEquals(list[1].ranks, 12)
end

function tests.test_a_sweep_waits_for_its_pipeline()
   local phases = assert(pattern.motif "sweep3d").phases(36)
   lu.assertEquals(#phases, 4)
   lu.assertEquals(phases[1].times, 20)
   lu.assertEquals(phases[1].stages, 20 + 2 * (6 + 6 - 2))
   lu.assertEquals(phases[1].bytes, { 5120, 5120 })
   local nothing, err = assert(pattern.motif "sweep3d:nz=7,kba=2").phases(4)
   lu.assertNil(nothing)
   lu.assertStrContains(err, "nz as a multiple of kba, got 7 and 2")
end

function tests.test_lattices_are_cut_where_they_are_longest()
   local phases = assert(pattern.motif "lqcd").phases(32768)
   lu.assertEquals(phases[1].grid[1] * phases[1].grid[2] * phases[1].grid[3] * phases[1].grid[4],
      32768)
   local longest = math.max(table.unpack(phases[1].bytes))
   local least = math.min(table.unpack(phases[1].bytes))
   lu.assertTrue(longest <= 2 * least)
end

function tests.test_motifs_that_are_wrong_say_what_is_known()
   local _, err = pattern.motif "halo9d"
   lu.assertStrContains(err, "pattern 'halo9d' is not known (known: all-reduce-rd")
   _, err = pattern.motif "halo3d26:bytes=1"
   lu.assertStrContains(err, "parameter 'bytes' is not known (known: compute, points")
   _, err = pattern.motif "exchange:way=round"
   lu.assertStrContains(err, "expected pairwise or shift, got round")
   _, err = assert(pattern.motif "exchange:way=pairwise").phases(12)
   lu.assertStrContains(err, "expected a power of two of ranks, got 12")
   _, err = assert(pattern.motif "lqcd:lattice=4x4").phases(4)
   lu.assertStrContains(err, "expected a lattice of 4 lengths, got 2")
   _, err = assert(pattern.motif "many-to-one:root=9").phases(4)
   lu.assertStrContains(err, "root 9 is not one of 4 ranks")
end

---------------------------------------------------------------- jobs

function tests.test_jobs_fill_the_machine()
   local m = torus()
   local list = assert(jobs.lay(m, { count = 4, shape = "cube", ranks = 32, seed = 1 }))
   lu.assertEquals(#list, 4)
   local seen = {}
   for _, job in ipairs(list) do
      lu.assertEquals(job.ranks, 8)
      for i, n in ipairs(job.node) do
         lu.assertNil(seen[n])
         seen[n] = true
         lu.assertEquals(job.place[i], m.place[n + 1])
      end
   end
   lu.assertEquals(jobs.lay(m, { count = 1, shape = "square", seed = 1 })[1].ranks, 25)
   lu.assertEquals(jobs.lay(m, { count = 3, shape = "halvings", seed = 1 })[1].ranks, 8)
   lu.assertEquals(jobs.lay(m, { count = 3, shape = "any", ranks = 48, seed = 1 })[1].ranks, 16)
   local a = jobs.lay(m, { count = 1, shape = "cube", seed = 1 })
   lu.assertEquals(a, jobs.lay(m, { count = 1, shape = "cube", seed = 1 }))
   lu.assertNotEquals(a, jobs.lay(m, { count = 1, shape = "cube", seed = 2 }))
end

function tests.test_jobs_that_do_not_fit()
   local m = torus()
   local _, err = jobs.lay(m, { count = 1, shape = "cube", ranks = 64, seed = 1 })
   lu.assertStrContains(err, "64 ranks, 1 on a node: the machine has room for 48")
   _, err = jobs.lay(m, { count = 32, shape = "cube", ranks = 32, seed = 1 })
   lu.assertStrContains(err, "each has 1, expected at least 2")
end

---------------------------------------------------------------- time

local function points(c)
   local list = {}
   for i, p in ipairs { { 1e6, 26, 2e-5 }, { 5e6, 6, 1e-4 }, { 2e7, 26, 9e-5 },
      { 1e5, 2, 3e-4 } } do
      list[i] = { flops = p[1], messages = p[2], network_s = p[3] }
      local other = p[2] * c.message_s + c.b * p[3]
      list[i].time_s, list[i].both = p[1] / c.flops + other, other
   end
   return list
end

function tests.test_a_fit_finds_what_was_put_in()
   local c = { flops = 3e9, message_s = 2e-6, b = 1.3 }
   local found = assert(fit.constants(points(c), time.usual))
   for k, v in pairs(c) do
      lu.assertAlmostEquals(found[k] / v, 1, 1e-9)
   end
   lu.assertAlmostEquals(found.worst, 0, 1e-9)
   local list = points(c)
   for _, p in ipairs(list) do
      p.share, p.time_s = p.both / p.time_s, nil
   end
   found = assert(fit.constants(list, { flops = 3e9 }))
   lu.assertAlmostEquals(found.b, 1.3, 1e-9)
   lu.assertEquals(found.flops, 3e9)
end

function tests.test_programs_that_only_communicate()
   local list = points { flops = math.huge, message_s = 2e-6, b = 1.3 }
   for _, p in ipairs(list) do
      p.flops = 0
   end
   local found = assert(fit.constants(list, time.usual))
   lu.assertAlmostEquals(found.message_s / 2e-6, 1, 1e-9)
   lu.assertEquals(found.flops, time.usual.flops)
   list = points { flops = 3e9, message_s = -1e-7, b = 1.3 } -- less than nothing: nothing
   found = assert(fit.constants(list, time.usual))
   lu.assertEquals(found.message_s, 0)
   lu.assertTrue(found.worst < 0.1)
end

function tests.test_points_that_do_not_do()
   local list = points { flops = 3e9, message_s = 2e-6, b = 1.3 }
   local _, err = fit.constants({ list[1], list[2] }, time.usual)
   lu.assertStrContains(err, "2 points for 3 unknowns")
   _, err = fit.constants({ list[1], list[1], list[1] }, time.usual)
   lu.assertStrContains(err, "do not tell the constants apart")
   list[2].time_s, list[2].share = nil, 0.5
   _, err = fit.constants(list, time.usual)
   lu.assertStrContains(err, "some points have a time, others a share")
   list[2].share = 1
   _, err = fit.constants(list, time.usual)
   lu.assertStrContains(err, "point 2: share 1 is not between 0 and 1")
end

local function read(text)
   return calibrate.read((text .. "\n"):gmatch "([^\n]*)\n", "p.csv")
end

function tests.test_files_of_points()
   local list = assert(read('pattern,ranks,per_node,time_s\n# said by hand\n' ..
      '"halo3d:bytes=1M,periodic=no",8,2,0.5\nring,16,,1e-3\n'))
   lu.assertEquals(list, { { pattern = "halo3d:bytes=1M,periodic=no", ranks = 8, per_node = 2,
      time_s = 0.5 }, { pattern = "ring", ranks = 16, time_s = 1e-3 } })
   for text, want in pairs {
      ["pattern,ranks\nring,4"] = "p.csv:1: expected the columns pattern, ranks, and time_s",
      ["pattern,ranks,speed"] = "column 'speed' is not known",
      ["pattern,ranks,time_s\nring,4,-1"] = "p.csv:2: time_s: a number above 0 expected",
      ["pattern,ranks,time_s\nring,x,1"] = "ranks: a number above 0 expected",
      ["pattern,ranks,time_s\nring,1.5,1"] = "ranks: a whole number from 2 expected",
   } do
      local _, err = read(text)
      lu.assertStrContains(err, want)
   end
end

local function fits_to_a_file(waits)
   local m = torus()
   m.waits, m.inject_Bps = waits, 1e12
   local text = { "pattern,ranks,time_s" }
   local c = { flops = 2e9, message_s = 3e-6, b = 1.5 }
   for _, p in ipairs { "halo3d26:points=10", "halo3d26:points=40", "ring",
      "halo3d26:points=25" } do
      local nodes = {}
      for i = 1, 27 do
         nodes[i] = i
      end
      local phases = assert(load.of(m, assert(pattern.motif(p)), { jobs.on(m, nodes) }))
      local t = time.of(m, phases, assert(load.solve(m, phases, m:overlay())), c)
      text[#text + 1] = ('"%s",27,%.17g'):format(p, t)
   end
   local found = assert(calibrate.fit(m, assert(read(table.concat(text, "\n"))), time.usual))
   for k, v in pairs(c) do
      lu.assertAlmostEquals(found[k] / v, 1, 1e-6, k)
   end
   lu.assertEquals(found.waits, m.waits)
end

function tests.test_a_fit_to_a_file_on_a_machine()
   fits_to_a_file(false)
   fits_to_a_file(true) -- ranks that wait for the slowest way
   local m = torus()
   local _, err = calibrate.fit(m, { { pattern = "ring", ranks = 99, time_s = 1 } }, time.usual)
   lu.assertStrContains(err, "point 1 (ring): 99 nodes, the machine has 48")
end

return tests
