-- SPDX-License-Identifier: GPL-2.0-or-later
local check = require "lib.routecheck"
local lu = require "luaunit"
local topology = require "taut.topology"
local wirings = require "lib.wirings"

-- A dragonfly: o.routers, or o.rows and o.columns.
local function build(o)
   local routers = o.routers or o.rows * o.columns
   local npr = o.npr or 1
   return assert(topology.build { kind = "dragonfly", groups = o.groups, routers = o.routers,
      rows = o.rows, columns = o.columns, nodes_per_router = npr,
      nodes = ("n[0-%d]"):format(o.groups * routers * npr - 1), global_links = o.global_links,
      arrangement = o.arrangement, capacity = o.capacity or 10e9, routing = o.routing,
      misrouted = o.misrouted })
end

local function random_dragonfly(routing, misrouted)
   local o = { groups = math.random(5), global_links = math.random(3), routing = routing,
      misrouted = misrouted, arrangement = math.random(2) == 1 and "relative" or nil }
   if math.random(2) == 1 then
      o.routers = math.random(4)
   else
      o.rows, o.columns = math.random(3), math.random(3)
   end
   return build(o)
end

-- Distances inside the groups.
local function local_distances(topo, left)
   local list = {}
   for r = 0, topo.routers - 1 do
      list[r] = check.distances(topo, r, left, function(c)
         return topo:group(topo:from(c)) == topo:group(topo:to(c))
      end)
   end
   return list
end

-- Healthy links from one group to another, with the hops inside both groups.
local function ways(topo, dist, r, s, left)
   local list = {}
   for c = topo.first_link, #topo.components do
      local u, v = topo:from(c), topo:to(c)
      if topo:group(u) == topo:group(r) and topo:group(v) == topo:group(s) and
         not (left and left[c] == 0) and dist[r][u] and dist[v][s] then
         list[#list + 1] = { link = c, hops = dist[r][u] + dist[v][s] }
      end
   end
   return list
end

-- All shortest ways from x to y inside a group, in equal shares: adds to share[link].
local function spread(topo, dist, x, y, amount, share, left)
   if x == y then
      return
   end
   local list = {}
   for _, c in ipairs(topo:links_of(x)) do
      local to = topo:to(c)
      if topo:group(to) == topo:group(x) and not (left and left[c] == 0) and
         dist[to][y] == dist[x][y] - 1 then
         list[#list + 1] = c
      end
   end
   for _, c in ipairs(list) do
      share[c] = (share[c] or 0) + amount / #list
      spread(topo, dist, topo:to(c), y, amount / #list, share, left)
   end
end

-- What each link should carry of the traffic from r to s, in plain Lua; nil where only ways over
-- other groups are left.
local function oracle(topo, dist, r, s, minimal, left)
   local share = {}
   if topo:group(r) == topo:group(s) then
      if not dist[r][s] then
         return nil
      end
      spread(topo, dist, r, s, 1, share, left)
      return share
   end
   local list, least, sum = ways(topo, dist, r, s, left), math.huge, 0
   for _, w in ipairs(list) do
      least = minimal and math.min(least, w.hops) or least
   end
   for _, w in ipairs(list) do
      w.pull = (w.hops <= least) and topo.capacity[w.link] or 0
      sum = sum + w.pull
   end
   for _, w in ipairs(list) do
      if w.pull > 0 then
         local part = w.pull / sum
         share[w.link] = (share[w.link] or 0) + part
         spread(topo, dist, r, topo:from(w.link), part, share, left)
         spread(topo, dist, topo:to(w.link), s, part, share, left)
      end
   end
   return sum > 0 and share or nil
end

local function shares_of(route)
   local share = {}
   for _, stage in ipairs(route) do
      local list = type(stage) == "table" and stage or { stage }
      for k, c in ipairs(list) do
         share[c] = (share[c] or 0) + (list.w and list.w[k] or 1)
      end
   end
   return share
end

local function assert_shares(topo, route, expected)
   local got = shares_of(route)
   for c = topo.first_link, #topo.components do
      lu.assertAlmostEquals(got[c] or 0, expected[c] or 0, 1e-9)
   end
end

local tests = {}

function tests.test_bad_configuration_says_what_was_expected()
   local good = { kind = "dragonfly", groups = 3, routers = 2, nodes_per_router = 1,
      nodes = "n[0-5]", capacity = 1e9 }
   local cases = {
      { "groups", 0, "topology.groups" },
      { "routers", 1.5, "topology.routers" },
      { "rows", 2, "not together" },
      { "nodes_per_router", "x", "topology.nodes_per_router" },
      { "nodes", "n[0-6]", "expected 6 names" },
      { "global_links", -1, "0 to 4096, got -1" },
      { "global_links", { { 0, 3, 1 } }, "topology.global_links[1]" },
      { "global_links", { { 0, 0, 1 } }, "topology.global_links[1]" },
      { "global_links", { { 0, 1, "x" } }, "0 to 4096 cables, got x" },
      { "arrangement", "random", "one of absolute, relative" },
      { "capacity", { tx = 1, rx = 1, lokal = 1 }, "'lokal' names no component" },
      { "routing", "dor", "one of adaptive, minimal, valiant" },
      { "misrouted", -0.1, "0 to 1" },
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

function tests.test_the_wiring_of_a_small_one()
   local topo = build { groups = 9, routers = 4, npr = 2 }
   -- as in the shared OpenSM dump: router 1 of group 0 leads to groups 3 and 4
   lu.assertEquals(topo.router_name[topo:to(topo.component_id["r0.1/global3"])], "r3.0")
   lu.assertEquals(topo.router_name[topo:to(topo.component_id["r4.2/global6"])], "r6.2")
   lu.assertEquals(topo:kind(topo.component_id["r0.1/local3"]), "local")
   lu.assertEquals(topo:coordinates(topo.router_id["r4.2"]), { 4, 2 })
   lu.assertEquals(topo:router_at { 4, 2 }, topo.router_id["r4.2"])
end

function tests.test_every_pair_of_groups_has_its_cables()
   for _, arrangement in ipairs { "absolute", "relative" } do
      local topo = build { groups = 5, rows = 2, columns = 3, arrangement = arrangement,
         global_links = { default = 4, { 1, 3, 9 }, { 2, 0, 0 } } }
      local count = {}
      for c = topo.first_link, #topo.components do
         local a, b = topo:group(topo:from(c)), topo:group(topo:to(c))
         if a ~= b then
            local key = a .. "-" .. b
            count[key] = (count[key] or 0) + topo.capacity[c] / 10e9
            lu.assertEquals(topo:to(topo:opposite(c)), topo:from(c))
            lu.assertEquals(topo.capacity[topo:opposite(c)], topo.capacity[c])
         end
      end
      for a = 0, 4 do
         for b = 0, 4 do
            local pair = math.min(a, b) .. math.max(a, b)
            local expected = a ~= b and (pair == "13" and 9 or pair ~= "02" and 4) or nil
            lu.assertEquals(count[a .. "-" .. b], expected)
         end
      end
   end
end

function tests.test_minimal_routes_are_as_short_as_one_global_link_allows()
   math.randomseed(6)
   for _ = 1, 60 do
      local topo = random_dragonfly "minimal"
      local dist = local_distances(topo)
      for r = 0, topo.routers - 1 do
         for s = 0, topo.routers - 1 do
            local route = assert(topo:router_route(r, s))
            check.routers(topo, r, s, route)
            local share = oracle(topo, dist, r, s, true)
            assert_shares(topo, route, share)
            local least = dist[r][s] or math.huge
            for _, w in ipairs(topo:group(r) ~= topo:group(s) and ways(topo, dist, r, s) or {}) do
               least = math.min(least, w.hops + 1)
            end
            local sum = 0
            for _, v in pairs(share) do
               sum = sum + v
            end
            lu.assertAlmostEquals(sum, r == s and 0 or least, 1e-9)
            lu.assertEquals(topo:hops(r + 1, s + 1), r == s and 0 or least)
         end
      end
   end
end

function tests.test_adaptive_routes_take_all_links_between_two_groups()
   math.randomseed(7)
   for _ = 1, 60 do
      local topo = random_dragonfly("adaptive", 0)
      local dist = local_distances(topo)
      for r = 0, topo.routers - 1 do
         for s = 0, topo.routers - 1 do
            local route = assert(topo:router_route(r, s))
            check.routers(topo, r, s, route)
            assert_shares(topo, route, oracle(topo, dist, r, s, false))
         end
      end
   end
end

function tests.test_what_is_misrouted_is_in_no_stage()
   local topo = build { groups = 4, routers = 3, misrouted = 0.25 }
   for s = 1, topo.routers - 1 do
      local route = topo:router_route(0, s)
      check.routers(topo, 0, s, route, { total = 0.75 })
      for _, stage in ipairs(route) do
         lu.assertEquals(type(stage), "table") -- nothing is sure
      end
   end
   -- two groups of two routers: there is no other way
   topo = build { groups = 2, routers = 2, misrouted = 0.25 }
   lu.assertEquals(type(topo:router_route(0, 1)[1]), "number")
end

function tests.test_valiant_routes_go_over_every_other_group()
   math.randomseed(8)
   for _ = 1, 30 do
      local topo = random_dragonfly "valiant"
      for r = 0, topo.routers - 1 do
         for s = 0, topo.routers - 1 do
            local route = assert(topo:router_route(r, s))
            check.routers(topo, r, s, route, { circles = true })
            local a, b, over, count = topo:group(r), topo:group(s), {}, 0
            for c in pairs(shares_of(route)) do
               local g = topo:group(topo:to(c))
               if g ~= a and g ~= b and not over[g] then
                  over[g], count = true, count + 1
               end
            end
            lu.assertEquals(count, a ~= b and topo.groups - 2 or 0)
         end
      end
   end
end

function tests.test_with_failures_a_route_is_found_where_there_is_one()
   math.randomseed(9)
   for i = 1, 150 do
      local routing = ({ "minimal", "adaptive", "valiant" })[i % 3 + 1]
      local topo = random_dragonfly(routing, 0)
      if #topo.components >= topo.first_link then
         local left = check.failures(topo, math.random(8))
         topo:set_health(left, { report = false })
         local dist = local_distances(topo, left)
         for r = 0, topo.routers - 1 do
            local reached = check.distances(topo, r, left)
            for s = 0, topo.routers - 1 do
               local route = topo:router_route(r, s)
               if route then
                  check.routers(topo, r, s, route, { left = left, circles = true })
               else
                  lu.assertStrContains(topo:because(r, s), "failed")
               end
               local share = oracle(topo, dist, r, s, routing == "minimal", left)
               if share then
                  lu.assertNotNil(route)
                  lu.assertTrue(topo:hops(r + 1, s + 1) < math.huge)
                  if routing ~= "valiant" then
                     assert_shares(topo, route, share)
                  end
               end
               lu.assertTrue(not route or reached[s] ~= nil)
            end
         end
      end
   end
end

function tests.test_without_a_link_between_two_groups_traffic_goes_over_the_others()
   local topo = build { groups = 4, routers = 3, routing = "minimal" }
   local left, r, s = {}, topo.router_id["r0.0"], topo.router_id["r1.2"]
   for c = topo.first_link, #topo.components do
      if topo:group(topo:from(c)) == 0 and topo:group(topo:to(c)) == 1 then
         left[c] = 0
      end
   end
   topo:set_health(left)
   local route = assert(topo:router_route(r, s))
   check.routers(topo, r, s, route, { left = left })
   local over = {}
   for c in pairs(shares_of(route)) do
      over[topo:group(topo:to(c))] = true
   end
   lu.assertEquals(over, { [0] = true, [1] = true, [2] = true, [3] = true })
   lu.assertTrue(topo:hops(r + 1, s + 1) >= 2)
end

function tests.test_loads_are_those_of_the_routes()
   math.randomseed(10)
   for i = 1, 40 do
      local topo = random_dragonfly(({ "minimal", "adaptive", "valiant" })[i % 3 + 1], 0)
      if i % 4 == 0 and #topo.components >= topo.first_link then
         topo:set_health(check.failures(topo, 3), { report = false })
      end
      local quick, lost = topo:load("all-to-all")
      local walked, lost_walked = topo:load("all-to-all", { walk = true })
      lu.assertEquals(lost, lost_walked)
      if i % 3 ~= 1 or i % 4 ~= 0 then -- adaptive traffic avoids a pair of groups that lost links
         for c = 1, #topo.components do
            lu.assertAlmostEquals(quick[c], walked[c], 1e-6 * (1 + walked[c]))
         end
      end
   end
end

-- Adversarial traffic: every router to its counterpart in the next group.
function tests.test_adaptive_traffic_goes_over_other_groups_where_its_own_link_is_crowded()
   local worst = {}
   for _, routing in ipairs { "minimal", "adaptive", "valiant" } do
      local topo = build { groups = 9, routers = 4, npr = 2, routing = routing }
      local load, lost = topo:load("shift", { by = 8 })
      lu.assertEquals(lost, 0)
      worst[routing] = 0
      for c = topo.first_link, #topo.components do
         if topo:kind(c) == "global" then
            worst[routing] = math.max(worst[routing], load[c])
         end
      end
   end
   lu.assertEquals(worst.minimal, 8)                -- all of a group over one link
   lu.assertAlmostEquals(worst.valiant, 16 / 7, 0.01)
   lu.assertTrue(worst.adaptive < 4 and worst.adaptive >= 16 / 9)
   -- and takes its own links where all are used alike
   local topo = build { groups = 9, routers = 4, npr = 2, routing = "adaptive", misrouted = 0 }
   lu.assertAlmostEquals(topo:load("all-to-all")[topo.component_id["r0.0/global1"]], 64, 1e-6)
end

function tests.test_from_a_wiring_with_groups()
   local w = wirings.new(4, { { 1, 1, 2, 1 }, { 3, 2, 4, 2 }, { 1, 3, 3, 3 }, { 1, 4, 3, 4 },
      { 2, 5, 4, 5 } })
   for i, r in ipairs(w.routers) do
      r.group = (i - 1) // 2 + 5
   end
   local conf = { kind = "dragonfly", wiring = w, capacity = 1e9, misrouted = 0 }
   local topo = assert(topology.build(conf))
   lu.assertEquals({ topo.groups, topo:group(3) }, { 2, 6 })
   lu.assertEquals(topo.capacity[topo.component_id["s1/3"]], 2e9)
   lu.assertNil(topo.component_id["s1/4"])
   local route = topo:route(1, 3)
   -- two cables here, one there: shares by capacity
   lu.assertEquals(check.names(topo, route), "n1/tx s1/1 s1/3|s2/5 s4/2 n3/rx")
   lu.assertAlmostEquals(shares_of(route)[topo.component_id["s1/3"]], 2 / 3, 1e-12)
   w.routers[3].group = nil
   local none, err = topology.build(conf)
   lu.assertNil(none)
   lu.assertStrContains(err, "router 's3': expected a group")
end

return tests
