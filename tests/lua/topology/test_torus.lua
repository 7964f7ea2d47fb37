-- SPDX-License-Identifier: GPL-2.0-or-later
local lu = require "luaunit"
local sim = require "lib.sim"
local topology = require "taut.topology"

local function names(topo, route)
   local list = {}
   for i, c in ipairs(route) do
      list[i] = topo.components[c]
   end
   return table.concat(list, " ")
end

local function route(dims, npr, a, b)
   local topo = sim.torus(dims, npr)
   return names(topo, topo:route(topo.node_id[a], topo.node_id[b]))
end

local tests = {}

function tests.test_bad_configuration_says_what_was_expected()
   local good = { kind = "torus", dims = { 4, 2, 2 }, nodes_per_router = 2, nodes = "n[0-31]",
      capacity = 1e9 }
   local cases = {
      { "kind", "ring", "not known" },
      { "dims", {}, "1 to 6 lengths" },
      { "dims", { 4, 0 }, "topology.dims[2]" },
      { "nodes_per_router", 0, "1 to 65536" },
      { "nodes", "n[0-30]", "expected 32 names" },
      { "nodes", "n[0-30],n5", "is given twice" },
      { "capacity", { tx = 1, rx = "x" }, "for 'rx', got x" },
      { "capacity", -1, "bytes per second" },
      { "capacity", { X = 1, Y = 1, z = 1, tx = 1 }, "'z' names no component" },
      { "dims", { 4096, 4096 }, "16777216 routers, expected at most" },
      { "wrap", "yes", "topology.wrap: yes is not expected for X" },
      { "wrap", { Y = 1 }, "topology.wrap: 1 is not expected for Y" },
      { "two_cables", 2, "topology.two_cables: 2" },
      { "tie", { X = "*" }, "topology.tie: * is not expected for X" },
      { "order", "XYY", "topology.order: expected each of XYZ once, got XYY" },
      { "order", "XY", "got XY" },
      { "order", "ZYXA", "got ZYXA" },
      { "retry", 1, "topology.retry: expected true or false, got 1" },
      { "nodes", 5, "expected a host list" },
      { "twocables", true, "topology.twocables: not a setting of a torus" },
      { "nodes", "n[0-", "topology.nodes: expected 32 names" },
   }
   for _, c in ipairs(cases) do
      local conf = {}
      for k, v in pairs(good) do
         conf[k] = v
      end
      conf[c[1]] = c[2]
      local topo, err = topology.build(conf)
      lu.assertNil(topo)
      lu.assertStrContains(err, c[3], false, true)
   end
end

function tests.test_routes_go_x_then_y_then_z_the_shorter_way()
   local cases = {
      { { 4, 2, 2 }, 2, "n0", "n1", "n0/tx n1/rx" },
      { { 4, 2, 2 }, 2, "n0", "n2", "n0/tx r0.0.0/Z+ n2/rx" },
      { { 4, 2, 2 }, 2, "n2", "n0", "n2/tx r0.0.1/Z+ n0/rx" },
      { { 4, 2, 2 }, 2, "n0", "n15", "n0/tx r0.0.0/X+ r1.0.0/Y+ r1.1.0/Z+ n15/rx" },
      { { 4, 2, 2 }, 2, "n0", "n24", "n0/tx r0.0.0/X- n24/rx" },
      -- half way round a ring of four: a tie goes "+", from both sides
      { { 4, 2, 2 }, 2, "n0", "n16", "n0/tx r0.0.0/X+ r1.0.0/X+ n16/rx" },
      { { 4, 2, 2 }, 2, "n16", "n0", "n16/tx r2.0.0/X+ r3.0.0/X+ n0/rx" },
      { { 5 }, 1, "n0", "n3", "n0/tx r0/X- r4/X- n3/rx" },
      { { 3, 1 }, 1, "n0", "n2", "n0/tx r0.0/X- n2/rx" },
   }
   for _, c in ipairs(cases) do
      lu.assertEquals(route(table.unpack(c, 1, 4)), c[5])
   end
end

function tests.test_every_route_has_as_many_links_as_hops_and_ends_right()
   local topo = sim.torus({ 4, 3, 2 }, 2)
   for a = 1, #topo.nodes do
      for b = 1, #topo.nodes do
         if a ~= b then
            local r = topo:route(a, b)
            lu.assertEquals(#r, topo:hops(a, b) + 2)
            local at = topo:router(a)
            for i = 2, #r - 1 do
               lu.assertEquals(topo:from(r[i]), at)
               at = topo:to(r[i])
            end
            lu.assertEquals(at, topo:router(b))
         end
      end
   end
end

function tests.test_a_ring_of_two_has_one_cable_named_plus()
   local topo = sim.torus({ 4, 2, 2 }, 2)
   lu.assertNil(topo.component_id["r0.0.0/Y-"])
   lu.assertEquals(#topo.components, 2 * 32 + 2 * 16 + 16 + 16)
   lu.assertEquals(topo:cable(topo.component_id["r0.0.0/Z+"]), "r0.0.0/Z+ to r0.0.1/Z+")
   lu.assertEquals(topo:cable(topo.component_id["r3.0.0/X+"]), "r3.0.0/X+ to r0.0.0/X-")
   lu.assertEquals(topo:cable(topo.component_id["n5/tx"]), "n5 to r0.1.0")
end

local function built(more)
   local conf = { kind = "torus", nodes_per_router = 1, capacity = 1e9 }
   for k, v in pairs(more) do
      conf[k] = v
   end
   return assert(topology.build(conf))
end

local function way(topo, a, b)
   return names(topo, topo:router_route(topo.router_id[a], topo.router_id[b]))
end

function tests.test_a_ring_of_two_may_have_two_cables()
   local topo = built { dims = { 2, 3 }, nodes = "n[0-5]", two_cables = { X = true } }
   lu.assertEquals(topo:cable(topo.component_id["r0.0/X+"]), "r0.0/X+ to r1.0/X-")
   lu.assertEquals(topo:cable(topo.component_id["r0.0/X-"]), "r0.0/X- to r1.0/X+")
   lu.assertEquals(way(topo, "r0.0", "r1.0"), "r0.0/X+")
   lu.assertEquals(#topo:links_between(0, 3), 2)
   topo:set_health { [topo.component_id["r0.0/X+"]] = 0 }
   lu.assertEquals(way(topo, "r0.0", "r1.0"), "r0.0/X-")
end

function tests.test_meshes_have_no_way_round()
   local topo = built { kind = "mesh", dims = { 5, 2 }, nodes = "n[0-9]" }
   lu.assertNil(topo.component_id["r0.0/X-"])
   lu.assertNil(topo.component_id["r4.1/X+"])
   lu.assertEquals(way(topo, "r0.0", "r4.0"), "r0.0/X+ r1.0/X+ r2.0/X+ r3.0/X+")
   lu.assertEquals(way(topo, "r4.1", "r3.0"), "r4.1/X- r3.1/Y+")
   topo:set_health { [topo.component_id["r1.0/X+"]] = 0 }
   lu.assertEquals(way(topo, "r0.0", "r2.1"), "r0.0/Y+ r0.1/X+ r1.1/X+")
   local none, why = topo:route(1, 9)
   lu.assertNil(none)
   lu.assertStrContains(why, "r1.0/X+ failed, and X has no other way")
end

function tests.test_some_dimensions_may_wrap_and_others_not()
   local topo = built { dims = { 4, 4 }, nodes = "n[0-15]", wrap = { Y = false } }
   lu.assertEquals(way(topo, "r0.0", "r3.3"), "r0.0/X- r3.0/Y+ r3.1/Y+ r3.2/Y+")
end

function tests.test_ties_and_order_are_settings()
   local topo = built { dims = { 4, 4 }, nodes = "n[0-15]", tie = { X = "-" }, order = "YX" }
   lu.assertEquals(way(topo, "r0.0", "r2.2"), "r0.0/Y+ r0.1/Y+ r0.2/X- r3.2/X-")
   local other = built { dims = { 4, 4 }, nodes = "n[0-15]" }
   lu.assertNotEquals(other.wiring, topo.wiring)
   lu.assertEquals(other.wiring, built { dims = { 4, 4 }, nodes = "n[0-15]" }.wiring)
end

function tests.test_what_fails_is_gone_round()
   local topo = built { dims = { 5, 4 }, nodes = "n[0-19]" }
   topo:set_health { [topo.component_id["r0.0/X+"]] = 0 }
   lu.assertEquals(way(topo, "r0.0", "r1.1"), "r0.0/X- r4.0/X- r3.0/X- r2.0/X- r1.0/Y+")
   topo:set_health { [topo.component_id["r0.0/X+"]] = 0, [topo.component_id["r3.0/X-"]] = 0 }
   lu.assertEquals(way(topo, "r0.0", "r1.1"), "r0.0/Y+ r0.1/X+")
end

function tests.test_places_without_a_compute_node()
   local topo = built { dims = { 4 }, nodes_per_router = 2, nodes = "n[0-7]",
      service = { "n2", "n3", "n4" } }
   lu.assertEquals(#topo.nodes, 5)
   lu.assertEquals(topo:on_router(1), {})
   lu.assertEquals(topo:router(topo.node_id.n5), 2)
   lu.assertEquals(topo:ends(topo.component_id["r0/X+"]), { 1, 2 })
   lu.assertEquals(topo:neighbours { [0] = { 1, 2 }, [2] = { 3 } }, {})
end

function tests.test_who_is_behind_a_component()
   local topo = sim.torus({ 4, 2, 2 }, 2)
   local function behind(t, name, left)
      return names({ components = t.nodes }, t:behind(t.component_id[name], left))
   end
   lu.assertEquals(behind(topo, "n5/tx", 0.25), "n5")
   lu.assertEquals(behind(topo, "n5/tx", 0.8), "")
   lu.assertEquals(behind(topo, "r1.0.0/X+", 0), "")
   -- two routers and one cable: what it loses, both ends lose
   local pair = sim.torus({ 2 }, 1)
   lu.assertEquals(behind(pair, "r0/X+", 0.25), "n0 n1")
end

function tests.test_neighbour_groups_never_let_a_router_send_and_receive()
   local topo = sim.torus({ 4, 4, 2 }, 2)
   local all = {}
   for r = 0, topo.routers - 1 do
      all[r] = topo:on_router(r)
   end
   local links = 0
   for _, g in ipairs(topo:neighbours(all)) do
      local role = {}
      for _, p in ipairs(g.pairs) do
         lu.assertNil(role[p[1]])
         lu.assertNil(role[p[2]])
         role[p[1]], role[p[2]] = "send", "recv"
         links = links + 1
      end
   end
   lu.assertEquals(links, topo.routers * 5) -- X+ X- Y+ Y- Z+
end

return tests
