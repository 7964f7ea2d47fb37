-- SPDX-License-Identifier: GPL-2.0-or-later
local check = require "lib.routecheck"
local lu = require "luaunit"
local topology = require "taut.topology"

local function build(per, levels, o)
   o = o or {}
   local leaves = 1
   for _, l in ipairs(levels) do
      leaves = leaves * l.down
   end
   local n = leaves // (o.rail_wiring == "leaves" and o.rails or 1) * per
   return assert(topology.build { kind = "fattree", nodes_per_leaf = per, levels = levels,
      nodes = ("n[0-%d]"):format(n - 1), capacity = 10e9, routing = o.routing, rails = o.rails,
      rail_wiring = o.rail_wiring })
end

-- Full bandwidth: as many ways up as down in each level.
local FULL = {
   { 4, { { down = 6, up = 4 } } },
   { 6, { { down = 4, up = 2, parallel = 3 } } },
   { 3, { { down = 3, up = 3 }, { down = 6, up = 3 } } },
   { 4, { { down = 4, up = 4 }, { down = 4, up = 2, parallel = 2 } } },
   { 2, { { down = 2, up = 2 }, { down = 2, up = 2 }, { down = 4, up = 2 } } },
}

local function random_tree(routing)
   local levels = {}
   for i = 1, math.random(0, 3) do
      levels[i] = { down = math.random(3), up = math.random(3), parallel = math.random(2) }
   end
   return build(math.random(2), levels, { routing = routing })
end

local function upwards(topo)
   return function(c)
      return topo:kind(c) == "uplink"
   end
end

-- Function(r, s): links of the shortest way up and down again, over healthy links.
local function shortest_of(topo, left)
   local up, down = {}, {}
   local function downwards(c)
      return topo:kind(c) == "downlink"
   end
   return function(r, s)
      local best = math.huge
      up[r] = up[r] or check.distances(topo, r, left, upwards(topo))
      for top, hops in pairs(up[r]) do
         down[top] = down[top] or check.distances(topo, top, left, downwards)
         best = math.min(best, hops + (down[top][s] or math.huge))
      end
      return best
   end
end

local tests = {}

function tests.test_bad_configuration_says_what_was_expected()
   local good = { kind = "fattree", nodes_per_leaf = 2, levels = { { down = 4, up = 2 } },
      nodes = "n[0-7]", capacity = 1e9 }
   local cases = {
      { "nodes_per_leaf", 0, "topology.nodes_per_leaf" },
      { "levels", 3, "topology.levels" },
      { "levels", { { down = 4 } }, "topology.levels[1].up" },
      { "levels", { { down = 4, up = 2, parallel = 0 } }, "topology.levels[1].parallel" },
      { "levels", { { down = 4, up = 2, capacity = "x" } }, "topology.levels[1].capacity" },
      { "levels", { { down = 65536, up = 1 }, { down = 65536, up = 1 } }, "at most 1048576" },
      { "nodes", "n[0-8]", "expected 8 names" },
      { "nodes", "n[0-6],n3", "is given twice" },
      { "capacity", { tx = 1, rx = 1, uplinks = 1 }, "'uplinks' names no component" },
      { "routing", "dor", "one of dmodk, ecmp, adaptive" },
      { "rails", 65, "topology.rails" },
      { "rail_wiring", "both", "one of planes, leaves, leaf" },
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
   good.rails, good.rail_wiring = 3, "leaves"
   lu.assertStrContains(select(2, topology.build(good)), "divisor of the 4 leaves")
end

function tests.test_routes_of_two_levels()
   local topo = build(2, { { down = 3, up = 2, parallel = 2 } })
   local function route(a, b)
      return check.names(topo, topo:route(topo.node_id[a], topo.node_id[b]))
   end
   lu.assertEquals(route("n0", "n1"), "n0/tx n1/rx")
   -- the destination's number chooses spine and cable: n2 mod 4 is the third upward port
   lu.assertEquals(route("n0", "n2"), "n0/tx leaf0/5 spine0/4 n2/rx")
   lu.assertEquals(route("n5", "n2"), "n5/tx leaf2/5 spine0/4 n2/rx")
   lu.assertEquals(route("n0", "n3"), "n0/tx leaf0/6 spine1/4 n3/rx")
   lu.assertEquals(route("n0", "n4"), "n0/tx leaf0/3 spine0/5 n4/rx")
   lu.assertEquals(topo:kind(topo.component_id["leaf0/5"]), "uplink")
   lu.assertEquals(topo:kind(topo.component_id["spine0/4"]), "downlink")
   lu.assertEquals(topo:cable(topo.component_id["leaf0/5"]), "leaf0/5 to spine0/2")
   lu.assertEquals({ topo:level(topo.router_id.leaf2), topo:level(topo.router_id.spine1) },
      { 0, 1 })
end

function tests.test_every_route_of_random_trees_is_minimal()
   math.randomseed(3)
   for i = 1, 120 do
      local topo = random_tree(i % 2 == 0 and "ecmp" or "dmodk")
      local shortest = shortest_of(topo)
      for a = 1, #topo.nodes do
         for b = 1, #topo.nodes do
            local route = assert(topo:route(a, b))
            check.nodes(topo, a, b, route)
            local best = shortest(topo:router(a), topo:router(b))
            lu.assertEquals(#route - 2, best)
            lu.assertEquals(topo:hops(a, b), best)
         end
      end
   end
end

function tests.test_with_failures_a_route_goes_up_and_down_or_there_is_none()
   math.randomseed(4)
   for i = 1, 200 do
      local topo = random_tree(i % 2 == 0 and "ecmp" or "dmodk")
      if #topo.components >= topo.first_link then
         local left = check.failures(topo, math.random(5))
         local report, lost, shortest = topo:set_health(left), 0, shortest_of(topo, left)
         for a = 1, #topo.nodes do
            for b = 1, #topo.nodes do
               local route = topo:route(a, b)
               local best = shortest(topo:router(a), topo:router(b))
               lu.assertEquals(topo:hops(a, b), best)
               if route then
                  check.nodes(topo, a, b, route, { left = left })
                  lu.assertEquals(#route - 2, best)
               else
                  lost = lost + 1
                  lu.assertEquals(best, math.huge)
                  lu.assertStrContains(topo:why(a, b), "failed")
               end
            end
         end
         lu.assertEquals(report.pairs, lost)
      end
   end
end

function tests.test_a_failure_moves_only_what_used_the_link()
   local topo = build(4, { { down = 6, up = 4 } })
   local before, c = {}, topo.component_id["leaf1/6"]
   for b = 1, #topo.nodes do
      before[b] = check.names(topo, topo:route(5, b))
   end
   topo:set_health { [c] = 0 }
   for b = 1, #topo.nodes do
      local now = check.names(topo, topo:route(5, b))
      local used = before[b]:find("leaf1/6", 1, true)
      lu.assertEquals(now ~= before[b], used ~= nil)
   end
end

-- E. Zahavi: with d-mod-k, no link of a tree with full bandwidth carries more than one flow of a
-- shift.
function tests.test_no_link_carries_two_flows_of_a_shift()
   for _, t in ipairs(FULL) do
      local topo = build(t[1], t[2])
      for by = 1, #topo.nodes - 1 do
         local load, lost = topo:load("shift", { by = by })
         lu.assertEquals(lost, 0)
         for c = 1, #topo.components do
            lu.assertTrue(load[c] <= 1)
         end
      end
   end
end

function tests.test_routes_to_one_destination_meet_and_stay_together()
   local topo = build(3, { { down = 3, up = 2 }, { down = 3, up = 2, parallel = 2 } })
   for b = 1, #topo.nodes do
      local next_link = {}
      for a = 1, #topo.nodes do
         local route = topo:route(a, b)
         for i = 2, #route - 1 do
            local r = topo:from(route[i])
            lu.assertTrue(next_link[r] == nil or next_link[r] == route[i])
            next_link[r] = route[i]
         end
      end
   end
end

function tests.test_hashed_routes_are_sets_with_equal_shares()
   local topo = build(2, { { down = 2, up = 3 }, { down = 2, up = 2 } }, { routing = "ecmp" })
   local route = topo:route(1, 3)
   lu.assertEquals(check.names(topo, route),
      "n0/tx leaf0/3|leaf0/4|leaf0/5 mid0/2|mid1/2|mid2/2 n2/rx")
   lu.assertEquals(route[2].w, { 1 / 3, 1 / 3, 1 / 3 })
   route = topo:route(1, 5)
   lu.assertEquals(#route, 6)
   lu.assertEquals(#route[3], 6)
   lu.assertAlmostEquals(route[3].w[1], 1 / 6, 1e-12)
end

function tests.test_loads_are_equal_to_a_walk_and_to_the_routes()
   math.randomseed(5)
   for i = 1, 10 do
      local topo = random_tree(i % 2 == 0 and "ecmp" or "dmodk")
      local sum = {}
      for a = 1, #topo.nodes do
         for b = 1, #topo.nodes do
            for _, stage in ipairs(a ~= b and topo:route(a, b) or {}) do
               local list = type(stage) == "table" and stage or { stage }
               for k, c in ipairs(list) do
                  sum[c] = (sum[c] or 0) + (list.w and list.w[k] or 1)
               end
            end
         end
      end
      local load = topo:load("all-to-all")
      for c = 1, #topo.components do
         lu.assertAlmostEquals(load[c], sum[c] or 0, 1e-6)
      end
   end
end

function tests.test_rails_in_planes_of_their_own()
   local topo = build(2, { { down = 2, up = 1 } }, { rails = 2 })
   lu.assertEquals(topo.routers, 6)
   lu.assertEquals(check.names(topo, topo:route(1, 3, nil, 2)),
      "n0:2/tx p2.leaf0/3 p2.spine0/2 n2:2/rx")
   for rail = 1, 2 do
      for a = 1, 4 do
         for b = 1, 4 do
            check.nodes(topo, a, b, topo:route(a, b, nil, rail), { rail = rail })
         end
      end
   end
end

function tests.test_rails_on_leaves_of_their_own()
   local topo = build(4, { { down = 4, up = 4 } }, { rails = 2, rail_wiring = "leaves" })
   lu.assertEquals(#topo.nodes, 8)
   -- rail 2 of the first four nodes is on the second leaf
   lu.assertEquals(topo:on_router(topo.router_id.leaf1), { 1, 2, 3, 4 })
   lu.assertEquals(topo:router(5, 1), topo.router_id.leaf2)
   lu.assertEquals(topo:hops(1, 4, 2), 0)
   for by = 1, 7 do
      local load = topo:load("shift", { by = by, bytes = 2 })
      for c = 1, #topo.components do
         lu.assertTrue(load[c] <= 1)
      end
   end
end

function tests.test_rails_on_one_leaf()
   local topo = build(2, { { down = 2, up = 2 } }, { rails = 2, rail_wiring = "leaf" })
   lu.assertEquals(topo:router(1, 1), topo:router(1, 2))
   -- ports 1 to 4 are the nodes'
   lu.assertNotNil(topo.component_id["leaf0/5"])
   lu.assertNil(topo.component_id["leaf0/4"])
end

function tests.test_a_tree_of_one_switch()
   local topo = build(8, {})
   lu.assertEquals(topo.routers, 1)
   lu.assertEquals(check.names(topo, topo:route(1, 8)), "n0/tx n7/rx")
end

function tests.test_behind_the_only_uplink_of_a_leaf()
   local topo = build(2, { { down = 3, up = 1 } })
   lu.assertEquals(topo:behind(topo.component_id["leaf1/3"], 0), { 3, 4 })
end

-- A leaf with hosts one level above the others, parallel cables, a spine that not all reach.
local function irregular()
   local w = { source = "hand", routers = {}, nodes = {}, cables = {} }
   for i, name in ipairs { "leaf1", "leaf2", "mid1", "mid2", "top1", "top2" } do
      w.routers[i] = { name = name }
   end
   for i, r in ipairs { 1, 1, 2, 2, 3 } do
      w.nodes[i] = { name = "n" .. i, rails = { { router = r, port = "h" .. i, Bps = 4e9 } } }
   end
   local port = {}
   local function cable(a, b, Bps)
      port[a], port[b] = (port[a] or 0) + 1, (port[b] or 0) + 1
      table.insert(w.cables, { a = a, a_port = tostring(port[a]), b = b,
         b_port = tostring(port[b]), Bps = Bps })
   end
   for _, c in ipairs { { 1, 3 }, { 1, 3 }, { 1, 4 }, { 2, 4 }, { 3, 5 }, { 4, 5 }, { 4, 6 } } do
      cable(c[1], c[2], 4e9)
   end
   return w
end

function tests.test_an_irregular_tree_from_its_wiring()
   for _, routing in ipairs { "dmodk", "ecmp" } do
      local topo = assert(topology.build { kind = "fattree", wiring = irregular(),
         roots = { "top1", "top2" }, routing = routing })
      lu.assertEquals(topo:level(topo.router_id.mid1), 1)
      lu.assertEquals(topo:kind(topo.component_id["leaf1/1"]), "uplink")
      for a = 1, 5 do
         for b = 1, 5 do
            local route = assert(topo:route(a, b))
            check.nodes(topo, a, b, route)
            lu.assertEquals(#route - 2, shortest_of(topo)(topo:router(a), topo:router(b)))
         end
      end
      lu.assertEquals(topo:hops(1, 3), 2) -- over mid2, not over the top
      local left = { [topo.component_id["leaf1/3"]] = 0 }
      topo:set_health(left)
      lu.assertEquals(topo:hops(1, 3), 4)
      check.nodes(topo, 1, 3, topo:route(1, 3), { left = left })
      left[topo.component_id["mid1/3"]] = 0
      topo:set_health(left)
      lu.assertNil((topo:route(1, 3)))
      lu.assertStrContains(topo:why(1, 3), "leaf1/3 failed")
   end
end

function tests.test_bad_wirings_say_what_was_expected()
   local cases = {
      { function(w) w.routers[2].name = "leaf1" end, "'leaf1' is given twice" },
      { function(w) w.nodes[1].rails = {} end, "'n1' has no rails" },
      { function(w) w.nodes[1].rails[1].router = 9 end, "router = 1 to 6, got 9" },
      { function(w) w.cables[1].b = 1 end, "cables[1]: expected two routers" },
      { function(w) w.cables[2].a_port = "1" end, "both end at leaf1/1" },
      { function(w) w.cables[1].Bps = -1 end, "bytes per second, got -1" },
      { function(w) w.nodes = {} end, "has no node" },
      { function(_, conf) conf.roots = { "x" } end, "router 'x' is not in the wiring" },
      { function(_, conf) conf.nodes = "n[1-9]" end, "'n6' is not in hand" },
      { function(_, conf) conf.routing = "tables" end, "expected tables" },
      { function(w) w.cables[1].a_port = 1 end, "in quotes" },
   }
   for _, c in ipairs(cases) do
      local conf = { kind = "fattree", wiring = irregular() }
      c[1](conf.wiring, conf)
      local topo, err = topology.build(conf)
      lu.assertNil(topo)
      lu.assertStrContains(err, c[2], false, true)
   end
end

function tests.test_only_some_nodes_of_a_wiring_in_a_given_order()
   local topo = assert(topology.build { kind = "fattree", wiring = irregular(),
      nodes = "n5,n[1-2]" })
   lu.assertEquals(topo.nodes, { "n5", "n1", "n2" })
   lu.assertEquals(topo:router(1), topo.router_id.mid1)
end

function tests.test_a_cable_that_was_down_is_failed_from_the_start()
   local w = irregular()
   w.cables[3].down = true
   local topo = assert(topology.build { kind = "fattree", wiring = w, roots = { "top1", "top2" } })
   lu.assertEquals(topo:hops(1, 3), 4)
end

return tests
