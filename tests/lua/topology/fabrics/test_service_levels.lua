-- SPDX-License-Identifier: GPL-2.0-or-later
-- InfiniBand with adaptive routing: tests on a service level that is routed by tables know their
-- links, what jobs send is spread.
local lu = require "luaunit"
local topology = require "taut.topology"
local unknown = require "taut.topology.unknown"

local tests = {}

local function conf(routing, more)
   local c = { kind = "fattree", nodes_per_leaf = 2, levels = { { down = 4, up = 3 } },
      nodes = "n[0-7]", capacity = 1e9, routing = routing }
   for k, v in pairs(more or {}) do
      c[k] = v
   end
   return c
end

local BOTH = { [0] = "adaptive", [1] = "dmodk", tests = 1 }

local function built(routing, more)
   return assert(topology.build(conf(routing, more)))
end

-- How many of a route's stages are sets.
local function sets(topo, a, b)
   local n = 0
   for _, stage in ipairs(topo:route(topo.node_id[a], topo.node_id[b])) do
      n = n + (type(stage) == "table" and 1 or 0)
   end
   return n
end

function tests.test_one_word_is_that_of_all_levels()
   local topo = built "adaptive"
   lu.assertTrue(sets(topo, "n0", "n7") > 0)
   lu.assertEquals({ topo.traffic, topo.service_levels }, {})
end

function tests.test_tests_go_by_tables_and_jobs_adaptively()
   local topo = built(BOTH)
   lu.assertEquals({ topo.service_levels.tests, topo.service_levels.jobs }, { 1, 0 })
   lu.assertEquals({ sets(topo, "n0", "n7"), sets(topo.traffic, "n0", "n7") }, { 0, 2 })
   -- one pair of nodes puts its bytes on one uplink by tables, and on all of them adaptively
   local loads = topo:load("shift", { by = 4, nodes = { 1, 8 } })
   local most = 0
   for c = topo.first_link, #topo.components do
      most = math.max(most, loads[c])
   end
   lu.assertEquals(loads, topo.traffic:load("shift", { by = 4, nodes = { 1, 8 } }))
   lu.assertTrue(most <= 1)
   lu.assertEquals(topo.wiring, built("dmodk").wiring) -- evidence goes on as it was
   lu.assertIs(topo.traffic.component_id, topo.component_id)
end

-- Which of the links a test took can be asked for where a hash chooses it, and where tables do.
function tests.test_who_chooses_a_link_of_a_set()
   local function adapts(routing)
      local topo = built(routing)
      return topo:adapts(topo.first_link) == true
   end
   lu.assertEquals({ adapts "adaptive", adapts "ecmp", adapts(BOTH), adapts { [0] = "adaptive" } },
      { true, false, false, true })
   local function of_hyperx(routing)
      local topo = assert(topology.build { kind = "hyperx", dims = { 3, 3 }, nodes_per_router = 1,
         nodes = "n[0-8]", capacity = 1e9, routing = routing })
      return topo:adapts(topo.first_link)
   end
   lu.assertEquals({ of_hyperx "doal", of_hyperx "dor" }, { true, false })
end

function tests.test_levels_that_are_routed_alike_are_one_topology()
   local topo = built { [0] = "dmodk", [1] = "adaptive", tests = 0 }
   lu.assertNil(topo.traffic)
   topo = built { [3] = "adaptive", [4] = "adaptive", tests = 4 }
   lu.assertNil(topo.traffic)
   topo = built { [0] = "dmodk", [1] = "adaptive", jobs = 1, tests = 0 }
   lu.assertEquals({ sets(topo, "n0", "n7"), sets(topo.traffic, "n0", "n7") }, { 0, 2 })
end

function tests.test_what_is_no_service_level_is_refused()
   for words, routing in pairs {
      ["expected service levels 0 to 15, tests or jobs, got 16"] = { [16] = "adaptive" },
      ["expected service levels 0 to 15, tests or jobs, got sl"] = { [0] = "dmodk", sl = 1 },
      ["expected the routing of a service level"] = { tests = 1 },
      ["topology.routing.tests: expected one of the service levels 0, got 1"] =
         { [0] = "adaptive", tests = 1 },
      ["topology.routing.jobs: expected one of the service levels 0, 2, got 3"] =
         { [0] = "adaptive", [2] = "dmodk", jobs = 3 },
      -- a table in a table was taken; one in itself had no end
      ["topology.routing[0]: expected a word in quotes, got table"] =
         { [0] = { [0] = "dmodk" } },
      ["topology.routing[1]: expected"] = { [0] = "dmodk", [1] = "fastest", tests = 1 } } do
      local topo, err = topology.build(conf(routing))
      lu.assertNil(topo, words)
      lu.assertStrContains(err, words)
   end
end

function tests.test_failures_are_told_to_both()
   local topo = built(BOTH)
   local c = topo:links_between(topo.router_id.leaf0, topo.router_id.spine0)[1]
   local before = topo.traffic.epoch
   topo:set_health { [c] = 0 }
   lu.assertTrue(topo.traffic.epoch > before)
   lu.assertTrue(topo.traffic.failed[c] and topo.failed[c])
   local loads = topo:load("all-to-all", {})
   lu.assertEquals(loads[c], 0)
   topo:set_health {}
   lu.assertEquals(topo.traffic.degraded, {})
end

function tests.test_what_is_learned_is_known_to_both()
   local topo = assert(topology.build(conf(BOTH, { capacity = { tx = 1e9, rx = 1e9 } })))
   local c = topo.first_link
   lu.assertTrue(topo.open[c])
   unknown.known(topo, c, 3e9)
   topo:capacities_changed()
   lu.assertEquals({ topo.capacity[c], topo.traffic.capacity[c], topo.traffic.open[c] },
      { 3e9, 3e9, nil })
end

function tests.test_one_of_several_fabrics_has_its_own()
   local whole = assert(topology.build { kind = "fabrics", fabrics = {
      ib = conf(BOTH), eth = conf "ecmp" } })
   local ib = whole.fabric_named.ib.topo
   lu.assertEquals(ib.traffic.component_id["ib:leaf0/3"], ib.component_id["ib:leaf0/3"])
   lu.assertEquals(ib.traffic.router_name[0], "ib:leaf0")
   local a, b = whole.node_id.n0, whole.node_id.n7
   local ways = 0
   for _, stage in ipairs(whole:route(a, b, nil, whole.fabric_named.ib.first_rail + 1)) do
      ways = ways + (type(stage) == "table" and 1 or 0)
   end
   lu.assertEquals(ways, 0)
   local topo, err = topology.build { kind = "fabrics", fabrics = {
      ib = conf { [0] = "adaptive", tests = 2 } } }
   lu.assertNil(topo)
   lu.assertStrContains(err, "fabrics.ib.routing.tests: expected one of")
end

function tests.test_a_wiring_goes_by_its_tables_on_the_static_level()
   local w = { routers = { { name = "s1", lid = 1 }, { name = "s2", lid = 2 } },
      nodes = { { name = "a", rails = { { router = 1, port = "1", lid = 11, Bps = 1e9 } } },
         { name = "b", rails = { { router = 2, port = "1", lid = 12, Bps = 1e9 } } } },
      cables = { { a = 1, a_port = "5", b = 2, b_port = "5", Bps = 1e9 },
         { a = 1, a_port = "6", b = 2, b_port = "6", Bps = 1e9 } },
      tables = { { [11] = 1, [12] = 6, [2] = 5 }, { [11] = 5, [12] = 1, [1] = 5 } } }
   for _, kind in ipairs { "graph", "fattree" } do
      local topo = assert(topology.build { kind = kind, wiring = w,
         routing = { [0] = "adaptive", [1] = "tables", tests = 1 } })
      lu.assertEquals(topo.components[topo:route(1, 2)[2]], "s1/6", kind)
      lu.assertEquals(#topo.traffic:route(1, 2)[2], 2, kind)
   end
end

return tests
