-- SPDX-License-Identifier: GPL-2.0-or-later
-- The studies on small machines: links, detune, inject, latency, repair, outlook; work that goes on
-- where it was.
local detune = require "taut.study.detune"
local inject = require "taut.study.inject"
local jobs = require "taut.study.jobs"
local latency = require "taut.study.latency"
local links = require "taut.study.links"
local load = require "taut.study.load"
local lu = require "luaunit"
local machine = require "taut.study.machine"
local mix = require "taut.study.mix"
local outlook = require "taut.study.outlook"
local pattern = require "taut.place.pattern"
local repair = require "taut.study.repair"
local run = require "taut.study.run"
local topology = require "taut.topology"
local work = require "taut.study.work"

local tests = {}

local BARE = { flops = math.huge, message_s = 0, b = 1 }

local function new(conf)
   return assert(machine.new(assert(topology.build(conf))))
end

local function dragonfly()
   return new { kind = "dragonfly", groups = 9, routers = 4, nodes_per_router = 4,
      global_links = 2, nodes = "d[000-143]", capacity = { link = 1e9, tx = 4e9, rx = 4e9 } }
end

local function ring(n, tx)
   return new { kind = "torus", dims = { n }, nodes_per_router = 1,
      nodes = ("r[0-%d]"):format(n - 1), capacity = { link = 1e9, tx = tx or 1e9, rx = tx or 1e9 } }
end

local function all(m)
   local nodes = {}
   for n = 1, #m.topo.nodes do
      nodes[n] = n
   end
   return nodes
end

---------------------------------------------------------------- machines

function tests.test_kinds_of_links()
   local m = dragonfly()
   lu.assertEquals(m.level, "groups")
   lu.assertEquals(m:kind_names(), { "global", "local" })
   lu.assertEquals(#m:links() % 72, 0)
   local _, err = m:links { "uplink" }
   lu.assertStrContains(err, "no links of kind 'uplink' (known: global, local)")
   _, err = m:links { "local" }
   lu.assertStrContains(err, "are inside groups, which this study does not see")
   local deep = assert(machine.new(m.topo, { inside = true }))
   lu.assertEquals({ deep.level, #deep:links(), #deep:links { "local" } }, { "routers", #m:links(),
      108 })
   lu.assertEquals(deep:place_name(5), "r1.1")
   lu.assertEquals(ring(6):kind_names(), { "X" })
   lu.assertEquals(m:place_name(3), "group 3")
   lu.assertEquals(ring(6):place_name(3), "r3")
   _, err = machine.new { kind_name = "moebius" }
   lu.assertStrContains(err, "no classes of ways are known for a moebius")
end

function tests.test_routes_follow_what_failed_and_come_back()
   local m = ring(6)
   local M = assert(pattern.motif "all-to-all")
   local phases = assert(load.of(m, M, { jobs.on(m, all(m)) }))
   local healthy = load.solve(m, phases, m:overlay())[1].load_s
   local cut = { [m.topo.component_id["r0/X+"]] = 0, [m.topo.component_id["r1/X-"]] = 0 }
   local solved, lost = load.solve(m, phases, m:overlay(cut))
   lu.assertEquals(lost, 0)
   lu.assertTrue(solved[1].load_s > healthy)
   lu.assertEquals(load.solve(m, phases, m:overlay())[1].load_s, healthy)
end

---------------------------------------------------------------- links

local SPEC = { patterns = { "halo3d26:points=30" }, jobs = { 1, 4 }, seeds = 2,
   shares = { 0.1, 0.3 }, speeds = { 1, 0.5 } }

local function solve_all(m, spec)
   local results, may = {}, assert(m:links())
   for _, t in ipairs(links.tasks(spec)) do
      results[t.key] = assert(links.solve(m, spec, t, may))
   end
   return results
end

function tests.test_more_failed_links_cost_more()
   local m = dragonfly()
   local rows = links.tabulate(m, SPEC, solve_all(m, SPEC), BARE)
   lu.assertEquals(#rows, 4)
   for _, row in ipairs(rows) do
      lu.assertEquals(#row.cells, 2)
      for _, cell in ipairs(row.cells) do
         lu.assertTrue(cell.mean >= -1e-9 and cell.least <= cell.mean and cell.mean <= cell.most)
         lu.assertEquals(cell.unroutable, 0)
      end
      lu.assertTrue(row.cells[2].mean >= row.cells[1].mean)
   end
   lu.assertTrue(rows[2].cells[2].mean > 0)
   lu.assertEquals(rows[2].speed, 0.5)
end

function tests.test_a_part_without_failures_is_itself()
   local m = dragonfly()
   local spec = { patterns = { "lqcd:lattice=16x16x16x16" }, jobs = { 1 }, seeds = 1,
      shares = { 0 } }
   lu.assertEquals(links.tabulate(m, spec, solve_all(m, spec), BARE)[1].cells[1].mean, 0)
end

function tests.test_no_way_is_a_share_of_seeds_and_named()
   local m = ring(8)
   local spec = { patterns = { "all-to-all" }, jobs = { 1 }, seeds = 3, shares = { 0.5 } }
   local cell = links.tabulate(m, spec, solve_all(m, spec), BARE)[1].cells[1]
   lu.assertEquals(cell.unroutable, 1)
   lu.assertNil(cell.mean)
   lu.assertStrMatches(cell.example, "r%d to r%d")
end

---------------------------------------------------------------- work

local function scratch(fn)
   local dir = io.popen("mktemp -d"):read "l"
   local ok, err = pcall(fn, dir)
   os.execute("rm -rf '" .. dir .. "'")
   assert(ok, err)
end

local function tasks(n)
   local list = {}
   for i = 1, n do
      list[i] = { key = "t" .. i, i = i }
   end
   return list
end

function tests.test_parts_make_the_same_as_one()
   scratch(function(dir)
      local done = 0
      local function solve(t)
         done = done + 1
         return { value = t.i / 3 }
      end
      local list, words = tasks(7), { "study", "x" }
      local alone = assert(work.run(list, solve, {}))
      for part = 1, 3 do
         assert(work.run(list, solve, { dir = dir .. "/w", words = words, part = { part, 3 } }))
      end
      lu.assertEquals(done, 14)
      lu.assertEquals(assert(work.run(list, solve, { dir = dir .. "/w", words = words })), alone)
      lu.assertEquals(done, 14)
   end)
end

function tests.test_an_interrupted_study_goes_on()
   scratch(function(dir)
      local list, words, done = tasks(5), { "study" }, {}
      local function solve(t)
         done[#done + 1] = t.key
         return #done ~= 3 and { v = 1 } or nil, "stopped"
      end
      local _, err = work.run(list, solve, { dir = dir, words = words })
      lu.assertEquals(err, "stopped")
      local f = io.open(dir .. "/part-1.jsonl", "a")
      f:write '{"key": "t3", "result": {"v"' -- cut short
      f:close()
      lu.assertEquals(assert(work.run(list, solve, { dir = dir, words = words })), { t1 = { v = 1 },
         t2 = { v = 1 }, t3 = { v = 1 }, t4 = { v = 1 }, t5 = { v = 1 } })
      lu.assertEquals(done, { "t1", "t2", "t3", "t3", "t4", "t5" })
      _, err = work.run(list, solve, { dir = dir, words = { "other" } })
      lu.assertStrContains(err, "holds another study: study")
   end)
end

function tests.test_an_array_job_and_one_that_joins()
   scratch(function(dir)
      local path = assert(work.sbatch(dir, { "/opt/taut", "study", "it's" }, { "--json" }, 4,
         tasks(3), {}))
      lu.assertEquals(path, dir .. "/submit")
      local text = io.open(dir .. "/array"):read "a"
      lu.assertStrContains(text, "#SBATCH --array=1-3\n")
      lu.assertStrContains(text, "'/opt/taut' 'study' 'it'\\''s' --part \"$SLURM_ARRAY_TASK_ID/3\"")
      lu.assertStrContains(io.open(dir .. "/collect"):read "a", "'study' 'it'\\''s' '--json'\n")
      lu.assertStrContains(io.open(path):read "a", 'afterok:${id%%;*}"')
      lu.assertTrue(os.execute(("sh -n %s/array && sh -n %s/collect && sh -n %s"):format(dir,
         dir, path)))
   end)
end

---------------------------------------------------------------- detune, inject

function tests.test_slower_links_cost_what_they_limit()
   local m = new { kind = "torus", dims = { 4, 4 }, nodes_per_router = 1, nodes = "n[0-15]",
      capacity = { link = 3e9, tx = 2e9, rx = 2e9 } }
   local M = assert(pattern.motif "exchange:bytes=4M")
   local o = { shares = detune.shares }
   local pair = assert(detune.solve(m, M, { jobs.on(m, { 1, 2 }) }, o))
   lu.assertAlmostEquals(detune.ratio(m, pair, 0.75, 1, BARE), 1, 1e-12)
   lu.assertAlmostEquals(detune.ratio(m, pair, 0.5, 1, BARE), 2 / 1.5, 1e-12)
   lu.assertAlmostEquals(detune.ratio(m, pair, 1, 0.5, BARE), 2, 1e-12)
   local every = assert(detune.solve(m, M, { jobs.on(m, all(m)) }, o))
   local was = detune.ratio(m, every, 0.25, 1, BARE)
   m.inject_Bps = 1e3
   lu.assertAlmostEquals(assert(detune.fit_inject(m, every, 0.25, was, BARE)) / 2e9, 1, 1e-6)
   local _, err = detune.fit_inject(m, every, 0.25, 5, BARE)
   lu.assertStrContains(err, "it is at most 4")
end

function tests.test_a_pair_alone_injects_all_it_can()
   local M = assert(pattern.motif "halo3d:bytes=1M,periodic=no")
   local m = ring(8, 1.2e9)
   local r = assert(inject.study(ring(8, 0.9e9), M, { jobs.on(m, { 1, 2 }) }, {}, BARE))
   lu.assertEquals(r.best, 1)
   lu.assertEquals(r.gain, 0)
   -- three hops of everybody over each link: a third is offered as much as links carry
   local far = assert(inject.study(m, assert(pattern.motif "shift:by=3"), { jobs.on(m, all(m)) },
      {}, BARE))
   lu.assertTrue(far.best < 0.4 and far.gain > 0)
   lu.assertEquals(inject.variables(0.7)[1].value, "70")
end

function tests.test_less_than_enough_starves()
   local phases, solved = { { inject_bytes = 1e9, stages = 1, flops = 0, messages = 0 } },
      { { load_s = 2 } }
   local m = { inject_Bps = 1e9 }
   local function t(share)
      return inject.time(m, phases, solved, share, BARE)
   end
   lu.assertAlmostEquals(t(0.5), 2, 1e-12)
   lu.assertAlmostEquals(t(0.25), 4, 1e-12)
   lu.assertAlmostEquals(t(1), 2 * 1.25, 1e-12)
end

---------------------------------------------------------------- latency

function tests.test_latency_grows_with_load_and_failures()
   local m = dragonfly()
   local healthy = assert(latency.curve(m, m:overlay(), { loads = { 0.05, 0.1, 0.15, 0.9 } }))
   lu.assertTrue(healthy[1].latency_s < healthy[2].latency_s)
   lu.assertTrue(healthy[2].latency_s < healthy[3].latency_s)
   lu.assertNil(healthy[4].latency_s)
   lu.assertTrue(healthy[4].busiest > 1)
   local failed = assert(latency.curve(m, m:draw { share = 0.3, seed = 1, links = m:links() },
      { loads = { 0.15 } }))
   lu.assertTrue(not failed[1].latency_s or failed[1].latency_s > healthy[3].latency_s)
end

---------------------------------------------------------------- repair, outlook, mix

local function works(m, text)
   return { { phases = assert(load.of(m, assert(pattern.motif(text)), { jobs.on(m, all(m)) })),
      nodes = #m.topo.nodes } }
end

function tests.test_the_worst_link_is_repaired_first()
   local m = ring(8)
   local id = m.topo.component_id
   local left = { [id["r0/X+"]] = 0.9, [id["r3/X+"]] = 0.2, [id["r4/X-"]] = 0.2 }
   local order = assert(repair.order(m, works(m, "shift:by=2"), left, BARE))
   lu.assertEquals(#order.steps, 2)
   lu.assertEquals(order.steps[1].component, id["r3/X+"])
   lu.assertEquals(order.steps[1].back, id["r4/X-"])
   lu.assertEquals(order.steps[2].component, id["r0/X+"])
   lu.assertTrue(order.steps[1].gain > 0)
   lu.assertAlmostEquals(order.steps[2].gain, 1 - order.healthy / order.now, 1e-12)
   lu.assertEquals(#assert(repair.order(m, works(m, "ring"), {}, BARE)).steps, 0)
end

function tests.test_a_maintenance_pays_some_day()
   local m = dragonfly()
   local o = { links = m:links(), seeds = 2, nodes = 144, cost = 1, days = 30, most = 64 }
   local list_of, results = repair.tasks(o), {}
   for _, task in ipairs(list_of) do
      results[task.key] = assert(repair.task(m, works(m, "all-to-all"), {}, BARE, o, task))
   end
   local list, pays = repair.when(list_of, results, o)
   lu.assertEquals(list[1].failed, 0)
   lu.assertEquals(list[1].degradation, 0)
   lu.assertTrue(pays ~= nil and pays.failed > 0 and pays.lost_per_day * 30 >= 1)
   o.cost = 1e12
   list, pays = repair.when(list_of, results, o)
   lu.assertNil(pays)
   lu.assertEquals(list[#list].failed, 64)
end

function tests.test_when_a_threshold_is_reached()
   local curve = { { failed = 0, degradation = 0 }, { failed = 10, degradation = 0.01 },
      { failed = 20, degradation = 0.03 } }
   local d = outlook.days(curve, 0.5, { 0.005, 0.02, 0.5 })
   lu.assertAlmostEquals(d[1].days, 10, 1e-9)
   lu.assertAlmostEquals(d[2].failed, 15, 1e-9)
   lu.assertAlmostEquals(d[2].late, (15 + 15 ^ 0.5) / 0.5, 1e-9)
   lu.assertNil(d[3].days)
   local rate, n = outlook.rate({ { left = 0, components = { "r0/X+" } },
      { left = 0, components = { "r0/X+" } }, { left = 0.5, components = { "r1/X+" } },
      { class = "fatal", components = { "n1/tx", "r2/X+" } }, { class = "fatal",
      components = { "n1/tx" } } }, 4, function(name) return name:find "^r" ~= nil end)
   lu.assertEquals(n, 2)
   lu.assertEquals(rate, 0.5)
end

function tests.test_jobs_that_run_and_jobs_of_a_trace()
   local m = ring(16)
   local list, out = mix.running(m, ("12 r[0-3]\n13 r5\n14 x[1-4]\n"):gmatch "([^\n]*)\n")
   lu.assertEquals(list, { { id = "12", nodes = { 1, 2, 3, 4 } } })
   lu.assertEquals(out, 2)
   local text = "; comment\n1 0 0 100 8 -1 -1 8\n2 10 5 10 4 -1 -1 4\n3 20 0 -1 4 -1 -1 4\n"
   local sizes = mix.at(assert(mix.trace(text:gmatch "([^\n]*)\n", "t.swf", 2)), 20)
   lu.assertEquals(sizes, { 4, 2 })
   lu.assertEquals(mix.at(assert(mix.trace(text:gmatch "([^\n]*)\n", "t.swf", 1)), 50), { 8 })
   local rows = { { nodes = 4, seconds = 100, time = 1150 },
      { nodes = 3, seconds = 10, time = 1020 }, { seconds = 10, time = 1030 } }
   lu.assertEquals(mix.at(assert(mix.stored(rows, 1000)), 60), { 4 })
   lu.assertEquals(mix.at(assert(mix.stored(rows, 1000))), { 3 })
   lu.assertNil((mix.stored({}, 1000)))
   local placed, left = mix.place(m, { 10, 9, 6 })
   lu.assertEquals({ #placed, placed[2].nodes[1], left }, { 2, 11, 1 })
   local _, err = mix.trace(("1 2 3\n"):gmatch "([^\n]*)\n", "t.swf", 1)
   lu.assertEquals(err, "t.swf:1: at least 8 numbers expected")
   _, err = mix.trace((";\n"):gmatch "([^\n]*)\n", "t.swf", 1)
   lu.assertEquals(err, "t.swf: no job that ran")
end

---------------------------------------------------------------- run

function tests.test_a_program_is_run_interleaved()
   scratch(function(dir)
      local log = dir .. "/log"
      local curve = assert(run.curve({ "sh", "-c", 'echo "$S" >>' .. log }, {
         shares = { 1, 0.5 }, times = 2, variable = "S", before = "echo before {} >>" .. log }))
      lu.assertEquals(io.open(log):read "a",
         "before 100\n100\nbefore 50\n50\nbefore 50\n50\nbefore 100\n100\n")
      lu.assertEquals(curve.full.share, 1)
      lu.assertEquals(#curve.points[1].times, 2)
      lu.assertTrue(curve.best.mean <= curve.full.mean)
   end)
   local _, err = run.curve({ "false" }, { shares = { 1 }, times = 1 })
   lu.assertEquals(err, "false ended with status 1 at 100 %")
end

return tests
