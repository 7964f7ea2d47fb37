-- SPDX-License-Identifier: GPL-2.0-or-later
-- time limit: 600 s
-- The campaign's driver, and Taut itself, on a small machine: what it is worth in full is
-- tests/bench/campaign's to say.
local lu = require "luaunit"
local src = os.getenv "TAUT_SRCDIR" or "."
package.path = ("%s/tests/bench/campaign.d/?.lua;%s/tests/bench/lib/?.lua;%s"):format(src, src,
   package.path)
local machine = require "machine"
local play = require "play"
local players = require "players"
local stages = require "taut.topology.stages"
local tally = require "tally"
local visible = require "visible"
local world = require "world"

local tests = {}
local SMALL = { dims = { 6, 6, 24 } }

local function run(name, w, more)
   local o = { name = name, machine = assert(machine.load("torus", SMALL)),
      player = players.make(name), world = w }
   for k, v in pairs(more or {}) do
      o[k] = v
   end
   return play.run(o)
end

function tests.test_a_machine_that_is_not_known_is_refused()
   local m, err = machine.load "hypercube"
   lu.assertNil(m)
   lu.assertStrContains(err, "hypercube")
end

function tests.test_a_torus_that_is_not_of_geminis_is_refused()
   local m, err = machine.load("torus", { dims = { 4, 4, 4 } })
   lu.assertNil(m)
   lu.assertStrContains(err, "gemini")
end

function tests.test_settings_are_checked_as_in_a_configuration_file()
   local m, err = machine.load("torus", SMALL, "diagnosis = { god = 1 }")
   lu.assertNil(m)
   lu.assertStrContains(err, "'diagnosis.god' is not a setting")
end

-- Routes of the world as sets of names, held against Taut's.
local function compare(kind, size, rounds, detours)
   local m = assert(machine.load(kind, size))
   local w = world.referee { machine = m.world }
   local maps = machine.maps(kind, m.topo, { nodes = w.m.nodes, names = w.m.name,
      capacity_Bps = w.m.cap })
   local rng = { int = function(n) return math.random(0, n - 1) end, uniform = math.random }
   for _ = 1, rounds do
      local a = rng.int(w.m.nodes)
      local b = (a + 1 + rng.int(w.m.nodes - 1)) % w.m.nodes
      local on, route, may = {}, {}, {}
      local n = w.m.route(a, b, route, rng)
      local mine = m.topo:route(maps.node[a + 1], maps.node[b + 1])
      for i = 1, n do
         on[w.m.name[route[i]]] = true
      end
      for _, c in ipairs(stages.sure(mine)) do
         lu.assertTrue(on[maps.name[c]])
      end
      for _, c in ipairs(stages.all(mine)) do
         may[maps.name[c]] = true
      end
      for name in pairs(detours and {} or on) do
         lu.assertTrue(may[name], name)
      end
   end
end

function tests.test_routes_of_a_torus_are_the_worlds()
   math.randomseed(1)
   compare("torus", SMALL, 3000)
end

function tests.test_routes_of_a_tree_are_among_those_that_taut_expects()
   math.randomseed(2)
   compare("hashed", { leaves = 8, spines = 4, nodes_per_leaf = 4 }, 1000)
end

function tests.test_static_routes_of_a_tree_are_the_worlds()
   math.randomseed(3)
   compare("tree", { leaves = 8, spines = 6, nodes_per_leaf = 4 }, 1000)
end

-- Three flows in ten go over a group that is on no list, so only what is sure is held against it.
function tests.test_what_a_dragonflys_routes_surely_use_is_used()
   math.randomseed(3)
   compare("dragonfly", { groups = 9, routers = 4, nodes_per_router = 2, global = 4 }, 1000, true)
end

function tests.test_taut_names_the_faults_of_a_small_machine_and_nothing_else()
   local r, log = run("taut", { seed = 1, faults_at_once = 4, faults = 4, healthy_jobs = 50 })
   lu.assertEquals(log, {})
   lu.assertEquals(r.faults, 4)
   lu.assertEquals(r.right, 4)
   lu.assertEquals(r.verdicts, 4)
   lu.assertEquals(r.false_drains, 0)
   lu.assertEquals(r.exact, r.named)
end

-- Trees of 12 leaves, with others who do not yield and with liars.
local function tree(kind, w)
   return play.run { name = "taut", machine = assert(machine.load(kind,
      { leaves = 12, spines = 6, nodes_per_leaf = 6 })), player = players.make "taut", world = w }
end

function tests.test_on_trees_the_exact_link_is_named_and_nothing_else()
   for _, kind in ipairs { "tree", "hashed" } do
      local r, log = tree(kind, { seed = 4, steady = 0.2, faults_at_once = 4, faults = 8,
         healthy_jobs = 20, jobs = 2500 })
      lu.assertEquals(log, {}, kind)
      lu.assertTrue(r.right >= 3, kind)
      lu.assertEquals(r.verdicts, r.right, kind)
      lu.assertEquals(r.exact, r.named, kind)
   end
end

function tests.test_liars_get_nothing_named()
   for _, kind in ipairs { "tree", "hashed" } do
      local r, log = tree(kind, { seed = 5, steady = 0.2, liars = 4, jobs = 400,
         healthy_jobs = 1000 })
      lu.assertEquals(log, {}, kind)
      lu.assertEquals(r.verdicts + r.drains, 0, kind)
   end
end

function tests.test_what_hides_in_sets_is_left_out_of_the_score()
   local list = {
      { named = 30, in_time = true, since = 0, named_job = 5, job = 1, events = 3, wrong = 0 },
      { counts = true, deadline = 50, since = 0, events = 2, wrong = 0 },
      { counts = true, deadline = 50, since = 0, events = 2, wrong = 0, hidden = true },
      { counts = true, deadline = 1e9, since = 0, events = 2, wrong = 0 },
   }
   local s = visible.score({}, list, 60, function(f) return f.hidden end)
   lu.assertEquals({ s.faults, s.counting, s.judged, s.recalled, s.named, s.exact },
      { 3, 3, 2, 1, 1, 1 })
   lu.assertEquals(s.jobs_to_name, { 4 })
end

function tests.test_nothing_is_named_on_a_healthy_machine()
   local r, log = run("taut", { seed = 2, jobs = 400, healthy_jobs = 1000 }, { healthy = true })
   lu.assertEquals(log, {})
   lu.assertEquals(r.jobs, 400)
   lu.assertEquals(r.verdicts + r.drains, 0)
   lu.assertTrue(r.tests > 1000)
end

function tests.test_every_baseline_plays_and_is_scored()
   for _, name in ipairs { "threshold", "votes", "leastsquares" } do
      local r = run(name, { seed = 3, faults_at_once = 2, faults = 2, healthy_jobs = 20,
         jobs = 300 })
      lu.assertEquals(r.jobs, 300, name)
      lu.assertTrue(r.tests > 1000, name)
      lu.assertEquals(r.player, name)
   end
end

-- The methods alone, on values without contention: each must name what is slow.
local function alone(name, thresholds, events)
   local m = assert(machine.load("torus", SMALL))
   local p = players.make(name, thresholds)(m, { meter = function(fn) return fn end,
      drain = function() end })
   local topo, said = m.topo, {}
   local bad = topo.component_id["r2.3.4/X+"]
   for e = 1, events do
      local list, values = {}, {}
      for r = 0, topo.routers - 1 do
         for k, n in ipairs(topo:on_router(r)) do
            for _, c in ipairs(topo:links_of(r)) do
               local partner = topo:on_router(topo:to(c))[k]
               list[#list + 1] = { src = n, dst = partner, phase = #list + 1 }
               local least = math.huge
               for _, on in ipairs(topo:route(n, partner)) do
                  least = math.min(least, topo.capacity[on] * (on == bad and 0.4 or 1))
               end
               values[#list] = { least }
            end
         end
      end
      local ask = { nodes = {}, phases = 8, purpose = "job", time = e * 3600, event = e }
      for _, change in ipairs(p:observe(ask, list, values)) do
         said[change.component] = change.state == "slow" or nil
      end
   end
   return said, bad
end

function tests.test_each_baseline_names_a_slow_link_where_nothing_disturbs()
   for name, thresholds in pairs { threshold = { below = 0.7, times = 4 },
      votes = { epoch_h = 1, share = 0.01, least = 0.5 },
      leastsquares = { window_h = 6, lambda = 0.3, below = 0.6, paths = 2 } } do
      local said, bad = alone(name, thresholds, 8)
      lu.assertEquals(said, { [bad] = true }, name)
   end
end

function tests.test_results_of_several_runs_add_up()
   local one = { topo = "torus", player = "taut", at_once = 2, seed = 1, judged = 4, recalled = 3,
      jobs = 100, jobs_to_name = { 5, 9 }, events_to_name = { 1 }, peak_kb = 10 }
   local two = { topo = "torus", player = "taut", at_once = 2, seed = 2, judged = 6, recalled = 6,
      jobs = 50, jobs_to_name = { 7 }, events_to_name = { 2 }, peak_kb = 30 }
   local other = { topo = "torus", player = "votes", at_once = 2, seed = 1, judged = 0,
      jobs_to_name = {}, events_to_name = {}, peak_kb = 1 }
   local begun = { topo = "torus", player = "taut", at_once = 2, seed = 3, verdicts = 7,
      unfinished = true, jobs_to_name = {}, events_to_name = {}, peak_kb = 1 }
   local sums = tally.pool { one, other, two, begun }
   lu.assertEquals(#sums, 2)
   lu.assertEquals(sums[1].judged, 10)
   lu.assertEquals(sums[1].recalled, 9)
   lu.assertEquals(sums[1].jobs, 150)
   lu.assertEquals(sums[1].verdicts, 0)
   lu.assertEquals(sums[1].peak_kb, 30)
   lu.assertEquals(sums[1].jobs_to_name, { 5, 7, 9 })
   lu.assertEquals(sums[1].seeds, { 1, 2 })
end

return tests
