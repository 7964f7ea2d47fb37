-- SPDX-License-Identifier: GPL-2.0-or-later
local check = require "lib.routecheck"
local lu = require "luaunit"
local topology = require "taut.topology"
local wirings = require "lib.wirings"

local function build(dims, o)
   local n = o and o.npr or 1
   for _, d in ipairs(dims) do
      n = n * d
   end
   return assert(topology.build { kind = "hyperx", dims = dims, nodes_per_router = o and o.npr or 1,
      nodes = ("n[0-%d]"):format(n - 1), capacity = 25e9, routing = o and o.routing,
      misrouted = o and o.misrouted, links = o and o.links })
end

local function random_dims()
   local dims = {}
   for d = 1, math.random(3) do
      dims[d] = math.random(5)
   end
   return dims
end

-- Coordinates that differ.
local function distance(topo, r, s)
   local a, b, n = topo:coordinates(r), topo:coordinates(s), 0
   for d in ipairs(a) do
      n = n + (a[d] ~= b[d] and 1 or 0)
   end
   return n
end

-- Can dimension d be crossed from `at` to coordinate b, in one hop or two?
local function crossable(topo, at, d, b, left)
   local function link(from, j)
      local to = { table.unpack(from) }
      to[d] = j
      local c = topo:links_between(topo:router_at(from), topo:router_at(to))[1]
      return c and left[c] ~= 0, to
   end
   for j = 0, topo.dims[d] - 1 do
      if j ~= at[d] then
         local ok, to = link(at, j)
         if ok and (j == b or link(to, b)) then
            return true
         end
      end
   end
   return false
end

local function routable(topo, r, s, left)
   local at, goal = topo:coordinates(r), topo:coordinates(s)
   for d in ipairs(goal) do
      if at[d] ~= goal[d] and not crossable(topo, at, d, goal[d], left) then
         return false
      end
      at[d] = goal[d]
   end
   return true
end

local tests = {}

function tests.test_bad_configuration_says_what_was_expected()
   local good = { kind = "hyperx", dims = { 4, 4 }, nodes_per_router = 2, nodes = "n[0-31]",
      capacity = 1e9 }
   local cases = {
      { "dims", {}, "1 to 8 lengths" },
      { "dims", { 4, 0 }, "topology.dims[2]" },
      { "dims", { 1024, 1024, 1024 }, "at most 1048576" },
      { "nodes_per_router", 0, "topology.nodes_per_router" },
      { "nodes", "n[0-30]", "expected 32 names" },
      { "nodes", 7, "host list" },
      { "links", 0, "for dimension X, got 0" },
      { "links", { 1, 1.5 }, "for dimension Y, got 1.5" },
      { "capacity", { tx = 1, rx = 1, W = 1 }, "'W' names no component" },
      { "capacity", -1, "bytes per second" },
      { "routing", "valiant", "one of dor, doal" },
      { "misrouted", 1.5, "0 to 1" },
      { "service", "x1", "'x1' is not one of" },
      { "wiring", { routers = {} }, "routers, nodes and cables" },
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

function tests.test_routes_cross_the_dimensions_in_order()
   local topo = build({ 4, 4 }, { npr = 2 })
   local function route(a, b)
      return check.names(topo, topo:route(topo.node_id[a], topo.node_id[b]))
   end
   lu.assertEquals(route("n0", "n1"), "n0/tx n1/rx")
   lu.assertEquals(route("n0", "n31"), "n0/tx r0.0/X3 r3.0/Y3 n31/rx")
   lu.assertEquals(route("n31", "n0"), "n31/tx r3.3/X0 r0.3/Y0 n0/rx")
   lu.assertEquals(topo:hops(1, 32), 2)
   lu.assertEquals(topo:kind(topo.component_id["r0.0/X3"]), "X")
end

function tests.test_cables_between_two_routers_are_one_link()
   local topo = build({ 3, 2 }, { links = { 2, 3 } })
   lu.assertEquals(topo.capacity[topo.component_id["r0.0/X2"]], 50e9)
   lu.assertEquals(topo.capacity[topo.component_id["r0.0/Y1"]], 75e9)
end

function tests.test_every_route_of_random_machines_is_minimal()
   math.randomseed(1)
   for _ = 1, 30 do
      local topo = build(random_dims(), { npr = math.random(2) })
      for a = 1, #topo.nodes do
         for b = 1, #topo.nodes do
            local route = topo:route(a, b)
            local links = check.nodes(topo, a, b, route)
            local hops = distance(topo, topo:router(a), topo:router(b))
            lu.assertEquals(#links, hops)
            lu.assertEquals(topo:hops(a, b), hops)
         end
      end
   end
end

function tests.test_with_failures_every_route_there_is_is_found()
   math.randomseed(2)
   for i = 1, 60 do
      local topo = build(random_dims(), { routing = i % 2 == 0 and "doal" or "dor",
         misrouted = 0 })
      if #topo.components >= topo.first_link then
         local left = check.failures(topo, math.random(6))
         local report = topo:set_health(left)
         local lost = 0
         for r = 0, topo.routers - 1 do
            for s = 0, topo.routers - 1 do
               local route = topo:router_route(r, s)
               lu.assertEquals(route ~= nil, routable(topo, r, s, left))
               if route then
                  check.routers(topo, r, s, route, { left = left })
                  lu.assertTrue(#route >= distance(topo, r, s))
               else
                  lost = lost + 1
                  lu.assertStrContains(topo:because(r, s), "failed")
               end
            end
         end
         lu.assertEquals(report.pairs, lost)
      end
   end
end

function tests.test_static_detours_of_a_row_part()
   local topo = build { 6 }
   topo:set_health { [topo.component_id["r0/X1"]] = 0, [topo.component_id["r0/X4"]] = 0 }
   local over = {}
   for s = 1, 4, 3 do
      local route = topo:router_route(0, s)
      lu.assertEquals(#route, 2)
      over[s] = topo:to(route[1])
   end
   lu.assertNotEquals(over[1], over[4])
end

function tests.test_doal_is_never_sure_of_a_link_that_has_another_way_round()
   local topo = build({ 3, 2 }, { routing = "doal" })
   local route = topo:router_route(0, 5)
   lu.assertEquals(#route, 2)
   -- X: over router 1 besides; Y: two routers, no other way
   lu.assertEquals(route[1], { topo.component_id["r0.0/X2"], w = { 0.9 } })
   lu.assertEquals(route[2], topo.component_id["r2.0/Y1"])
   topo = build({ 4 }, { routing = "doal" })
   topo:set_health { [topo.component_id["r0/X3"]] = 0 }
   route = topo:router_route(0, 3)
   lu.assertEquals(check.names(topo, route), "r0/X1|r0/X2 r1/X3|r2/X3")
   lu.assertEquals(route[1].w, { 0.5, 0.5 })
end

function tests.test_the_same_set_is_the_same_table()
   local topo = build({ 4 }, { routing = "doal" })
   lu.assertIs(topo:router_route(0, 3)[1], topo:router_route(0, 3)[1])
end

function tests.test_all_to_all_load_is_even_and_equal_to_a_walk()
   local topo = build({ 4, 3 }, { npr = 2 })
   local load, lost = topo:load("all-to-all")
   local walked = topo:load("all-to-all", { walk = true })
   lu.assertEquals(lost, 0)
   lu.assertEquals(load, walked)
   for c = topo.first_link, #topo.components do
      -- X links carry what goes to their router's column: 3 rows × 2 × 2; Y links 4 × 2 × 2
      lu.assertEquals(load[c], topo:kind(c) == "X" and 12 or 16)
   end
end

function tests.test_signature_changes_with_wiring_routing_and_failures()
   local a, b = build { 4, 4 }, build({ 4, 4 }, { routing = "doal" })
   lu.assertNotEquals(a.signature, b.signature)
   lu.assertEquals(a.signature, build({ 4, 4 }).signature)
   a:set_health { [a.first_link] = 0 }
   lu.assertNotEquals(a.signature, build({ 4, 4 }).signature)
end

-- A wiring by hand: routers in any order, coordinates as they stand.
local function wiring()
   local w = wirings.new(4, { { 1, 1, 3, 11 }, { 1, 2, 3, 12 }, { 1, 3, 4, 13 }, { 2, 4, 3, 14 },
      { 2, 5, 4, 15 } })
   for i, at in ipairs { { 1, 1 }, { 0, 0 }, { 1, 0 }, { 0, 1 } } do
      w.routers[i].coord = at
   end
   return w
end

function tests.test_from_a_wiring_with_coordinates()
   local topo = assert(topology.build { kind = "hyperx", wiring = wiring(), capacity = 1e9 })
   lu.assertEquals(check.names(topo, topo:route(1, 2)), "n1/tx s1/3 s4/15 n2/rx")
   lu.assertEquals(topo.capacity[topo.component_id["s1/1"]], 2e9)
   lu.assertEquals(topo:coordinates(0), { 1, 1 })
   lu.assertEquals(topo:router_at { 0, 1 }, 3)
   local w = wiring()
   w.routers[2].coord = nil
   local none, err = topology.build { kind = "hyperx", wiring = w, capacity = 1e9 }
   lu.assertNil(none)
   lu.assertStrContains(err, "router 's2' has no coordinates")
   w = wiring()
   w.cables[3].b = 2
   none, err = topology.build { kind = "hyperx", wiring = w, capacity = 1e9 }
   lu.assertNil(none)
   lu.assertStrContains(err, "changes 2 coordinates")
end

return tests
