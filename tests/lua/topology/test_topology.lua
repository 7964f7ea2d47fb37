-- SPDX-License-Identifier: GPL-2.0-or-later
--- What all topologies share, on tori and meshes.
local check = require "lib.topocheck"
local lu = require "luaunit"
local topology = require "taut.topology"

local function build(conf)
   local n = conf.nodes_per_router or 1
   for _, len in ipairs(conf.dims) do
      n = n * len
   end
   local full = { kind = "torus", nodes_per_router = 1, nodes = ("n[0-%d]"):format(n - 1),
      capacity = 1e9 }
   for k, v in pairs(conf) do
      full[k] = v
   end
   return assert(topology.build(full))
end

-- Random machines: kind, dimensions, nodes, cables of rings of two, ties, order.
local function random(most)
   local dims, routers, letters = {}, 1, { "X", "Y", "Z", "A" }
   for d = 1, math.random(1, 4) do
      dims[d] = math.random(1, 6)
      if routers * dims[d] > most then
         dims[d] = 1
      end
      routers = routers * dims[d]
   end
   local order = {}
   for d = 1, #dims do
      table.insert(order, math.random(1, d), letters[d])
   end
   return build { kind = math.random() < 0.3 and "mesh" or "torus", dims = dims,
      nodes_per_router = math.random(1, 2), two_cables = math.random() < 0.5,
      tie = math.random() < 0.5 and "-" or "+", order = table.concat(order),
      retry = math.random() < 0.8 }
end

local function id(topo, name)
   return (assert(topo.component_id[name], name))
end

local tests = {}

function tests.test_routes_of_random_machines_are_right()
   math.randomseed(11)
   for _ = 1, 30 do
      check.routes(random(40), { minimal = true, complete = true })
   end
end

function tests.test_routes_around_failures_are_right()
   math.randomseed(12)
   local lost = 0
   for _ = 1, 30 do
      local topo = random(40)
      local report = check.fail(topo, math.random(1, 6))
      local n = check.routes(topo, { minimal = false })
      lu.assertEquals(report.pairs, n)
      lost = lost + n
      lu.assertEquals(#report.unroutable > 0, n > 0)
   end
   lu.assertTrue(lost > 0)
end

function tests.test_names_and_numbers_fit()
   math.randomseed(13)
   for _ = 1, 20 do
      check.names(random(40))
   end
end

function tests.test_loads_exposed_and_classes_are_what_the_routes_say()
   math.randomseed(14)
   for i = 1, 20 do
      local topo = random(16)
      if i % 2 == 0 then
         check.fail(topo, 3)
      end
      check.load(topo)
      check.exposed(topo)
      check.classes(topo)
   end
end

function tests.test_a_table_for_routes_is_used_again_and_cut()
   local topo = build { dims = { 8 } }
   local t = {}
   lu.assertIs(topo:route(1, 5, t), t)
   lu.assertEquals(#t, 6)
   lu.assertIs(topo:route(1, 2, t), t)
   lu.assertEquals(#t, 3)
   lu.assertEquals(t[4], nil)
   lu.assertEquals(topo:route(3, 3), { topo.tx[3], topo.rx[3] })
   lu.assertEquals(topo:router_route(0, 2), { id(topo, "r0/X+"), id(topo, "r1/X+") })
   lu.assertErrorMsgContains("node 9 is not within 1 to 8", topo.route, topo, 1, 9)
   lu.assertErrorMsgContains("router 8", topo.router_route, topo, 0, 8)
   lu.assertErrorMsgContains("rail 2", topo.route, topo, 1, 2, t, 2)
end

function tests.test_two_failures_in_one_ring_cut_it()
   local topo = build { dims = { 6 } }
   local before = topo.signature
   local report = topo:set_health { [id(topo, "r0/X+")] = 0, [id(topo, "r1/X-")] = 0,
      [id(topo, "r3/X+")] = 0, [id(topo, "r4/X-")] = 0 }
   lu.assertEquals(report.epoch, 2)
   lu.assertEquals(report.pairs, 2 * 3 * 3)
   local route, why = topo:route(1, 2)
   lu.assertNil(route)
   lu.assertStrContains(why, "two failures in one X ring, r0/X+ and r4/X-")
   lu.assertEquals(report.unroutable[1][3]:match "^two failures in one X ring",
      "two failures in one X ring")
   lu.assertEquals(topo.wiring, before)
   lu.assertStrContains(topo.signature, ", 4 failed [")
   -- what now goes the other way round is carried there
   lu.assertEquals(topo:hops(1, 5), 2)
   for _, m in ipairs(report.more_loaded) do
      lu.assertTrue(m[3] > m[2])
   end
   -- healthy again: a new epoch, and the same signature as before
   lu.assertEquals(topo:set_health({}, { report = false }), { epoch = 3 })
   lu.assertEquals(topo.signature, before)
   lu.assertEquals(#topo:route(1, 2), 3)
end

function tests.test_a_failure_makes_others_carry_more()
   local topo = build { dims = { 4, 4 } }
   local c = id(topo, "r0.0/X+")
   local report = topo:set_health { [c] = 0, [topo:opposite(c)] = 0 }
   lu.assertEquals(report.pairs, 0)
   lu.assertTrue(#report.more_loaded > 0)
   local seen = {}
   for _, m in ipairs(report.more_loaded) do
      seen[topo.components[m[1]]] = true
   end
   lu.assertTrue(seen["r0.0/X-"])
   lu.assertNil(seen["r0.1/X+"])
end

function tests.test_degraded_links_keep_their_routes_and_the_epoch()
   local topo = build { dims = { 4, 4 } }
   local c = id(topo, "r0.0/X+")
   local report = topo:set_health { [c] = 0.25, [topo.tx[1]] = 0.5 }
   lu.assertEquals(report.epoch, 1)
   lu.assertEquals(report.more_loaded, {})
   lu.assertEquals(topo.degraded[c], 0.25)
   lu.assertErrorMsgContains("r0.0/X+: 2 is left", topo.set_health, topo, { [c] = 2 })
   lu.assertErrorMsgContains("component 0", topo.set_health, topo, { [0] = 1 })
end

function tests.test_no_retry_means_one_order_only()
   local left = { "r0.0/X+", "r0.0/X-" }
   for _, retry in ipairs { true, false } do
      local topo, health = build { dims = { 4, 4 }, retry = retry }, {}
      for _, name in ipairs(left) do
         health[id(topo, name)] = 0
      end
      local report = topo:set_health(health)
      -- from r0.0 nothing leaves in X: 12 others in other columns, 3 of them in its own row
      lu.assertEquals(report.pairs, retry and 3 or 12)
   end
end

function tests.test_patterns()
   local topo = build { dims = { 4 }, nodes_per_router = 2 }
   local ring = topo:load("ring", { bytes = 10 })
   lu.assertEquals(ring[topo.tx[1]], 10)
   lu.assertEquals(ring[id(topo, "r0/X+")], 10)
   lu.assertEquals(ring[id(topo, "r1/X-")], 0)
   local shift = topo:load("shift", { by = 4, bytes = 1 })
   lu.assertEquals(shift[id(topo, "r0/X+")], 4) -- half a ring, two nodes on each router
   local near = topo:load "nearest"
   lu.assertEquals(near[id(topo, "r2/X-")], 2)
   lu.assertEquals(near[topo.tx[1]], 3) -- both sides and the partner
   local all = topo:load("all-to-all", { nodes = { 1, 3 } })
   lu.assertEquals(all[id(topo, "r0/X+")], 1)
   lu.assertEquals(all[topo.rx[1]], 1)
   lu.assertEquals(all[topo.tx[2]], 0)
   for _, bad in ipairs { { "storm", {}, "pattern 'storm' is not known" },
      { "nearest", { grid = { math.maxinteger, 2 } }, "expected at most 1048576 places" },
      { "nearest", { grid = { 3, 3 } }, "grid 3x3 has 9 places, there are 8 nodes" },
      { "shift", { by = 0 }, "at least 1" } } do
      local got, err = topo:load(bad[1], bad[2])
      lu.assertNil(got)
      lu.assertStrContains(err, bad[3])
   end
end

function tests.test_who_is_behind_and_near()
   local topo = build { dims = { 2, 1 }, nodes_per_router = 2 }
   lu.assertEquals(topo:behind(id(topo, "r0.0/X+"), 0.5), { 1, 2, 3, 4 })
   lu.assertEquals(topo:behind(id(topo, "r0.0/X+"), 0.8), {})
   lu.assertEquals(topo:near(id(topo, "r0.0/X+")), { 1, 2, 3, 4 })
   local alone = build { dims = { 1 }, nodes_per_router = 3 }
   lu.assertEquals(alone:behind(alone.rx[2], 0.1), { 2 })
   lu.assertEquals(#alone.components, 6)
   lu.assertEquals(alone:neighbours { [0] = { 1, 2, 3 } }, {})
end

return tests
