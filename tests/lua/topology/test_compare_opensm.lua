-- SPDX-License-Identifier: GPL-2.0-or-later
-- Our routes against the forwarding tables that OpenSM wrote on simulated fabrics: route by route,
-- link by link.
local check = require "lib.routecheck"
local import = require "taut.topology.import"
local importing = require "lib.importing"
local lu = require "luaunit"
local topology = require "taut.topology"

local tests = {}

function tests.tearDown()
   importing.clean()
end

local function wiring(name)
   local folder = "routing/" .. name .. "/"
   return assert(import.read("ibnetdiscover", importing.data(folder .. "ibnetdiscover.txt.gz"),
      { with = { { format = "opensm-lfts", path = importing.data(folder ..
         "opensm-lfts.dump.gz") } } }))
end

-- What OpenSM sends where.
local function by_tables(w)
   return assert(topology.build { kind = "graph", wiring = w })
end

-- Numbers in a name: "sw-1-0-3" → 1, 0, 3.
local function numbers(name)
   local list = {}
   for digits in name:gmatch "%-(%d+)" do
      list[#list + 1] = tonumber(digits)
   end
   return list
end

-- Links between routers of an all-to-all: most, mean of those in use; mean and most hops.
local function figures(topo)
   local load, lost = topo:load("all-to-all")
   local most, sum, links = 0, 0, 0
   for c = topo.first_link, #topo.components do
      most, sum, links = math.max(most, load[c]), sum + load[c], links + 1
   end
   local hops, longest, pairs_of_nodes = 0, 0, #topo.nodes * (#topo.nodes - 1)
   for a = 1, #topo.nodes do
      for b = 1, #topo.nodes do
         hops = hops + topo:hops(a, b)
         longest = math.max(longest, topo:hops(a, b))
      end
   end
   lu.assertEquals(lost, 0)
   return { most, sum / links, hops / pairs_of_nodes, longest }
end

local function assert_figures(topo, most, mean, hops, longest)
   local f = figures(topo)
   lu.assertEquals({ f[1], f[4] }, { most, longest })
   lu.assertAlmostEquals(f[2], mean, 0.05)
   lu.assertAlmostEquals(f[3], hops, 0.0005)
end

-- Calls fn(a, b, route) for each pair of nodes.
local function each_route(topo, fn)
   for a = 1, #topo.nodes do
      for b = 1, #topo.nodes do
         if a ~= b then
            local route = topo:route(a, b)
            check.nodes(topo, a, b, route)
            fn(a, b, route)
         end
      end
   end
end

-- Hops that OpenSM itself wrote into opensm.fdbs: switch GUID → lid → hops to the host's port.
local function hops_of(name)
   local hops, guid = {}, nil
   for line in io.lines(importing.data("routing/" .. name .. "/opensm.fdbs.gz")) do
      local lid, h = line:match "^0x(%x+) : %d+  : (%d+)"
      if lid then
         hops[guid][tonumber(lid, 16)] = tonumber(h)
      elseif line:find "Switch 0x" then
         guid = line:match "Switch (0x%x+)"
         hops[guid] = {}
      end
   end
   return hops
end

function tests.test_hop_counts_are_those_that_opensm_wrote()
   for _, name in ipairs { "t444-dor", "hx44-dor", "df-a4h2p2-minhop" } do
      local w = wiring(name)
      local topo, hops, compared = by_tables(w), hops_of(name), 0
      for a = 1, #topo.nodes do
         for b = 1, #topo.nodes do
            local theirs = hops[w.routers[topo:router(a) + 1].guid][w.nodes[b].rails[1].lid]
            lu.assertEquals(topo:hops(a, b) + 1, theirs) -- it counts the host's cable
            compared = compared + 1
         end
      end
      lu.assertTrue(compared >= 1024)
   end
end

function tests.test_every_route_of_a_torus_is_dimension_order()
   local theirs = by_tables(wiring "t444-dor")
   local ours = assert(topology.build { kind = "torus", dims = { 4, 4, 4 }, nodes_per_router = 1,
      nodes = "n[0-63]", capacity = 1e9 })
   local port = { ["X+"] = "1", ["X-"] = "2", ["Y+"] = "3", ["Y-"] = "4", ["Z+"] = "5",
      ["Z-"] = "6" }
   -- the same link and node of the two, by their names
   local same = {}
   for c = ours.first_link, #ours.components do
      local name = "sw-" .. table.concat(ours:coordinates(ours:from(c)), "-") .. "/" ..
         port[ours:kind(c)]
      same[theirs.component_id[name]] = c
      lu.assertEquals(theirs.router_name[theirs:to(theirs.component_id[name])],
         "sw-" .. table.concat(ours:coordinates(ours:to(c)), "-"))
   end
   local function our_node(n)
      local at = numbers(theirs.nodes[n])
      return ours:on_router(ours:router_at { at[1], at[2], at[3] })[1]
   end
   local routes = 0
   each_route(theirs, function(a, b, route)
      local own = ours:route(our_node(a), our_node(b))
      lu.assertEquals(#own, #route)
      for i = 2, #route - 1 do
         lu.assertEquals(same[route[i]], own[i])
      end
      routes = routes + 1
   end)
   lu.assertEquals(routes, 64 * 63)
   local load, load_of_tables = ours:load("all-to-all"), theirs:load("all-to-all")
   for c, own in pairs(same) do
      lu.assertEquals(load[own], load_of_tables[c])
   end
   assert_figures(theirs, 48, 32, 3.048, 6)
   assert_figures(ours, 48, 32, 3.048, 6)
end

function tests.test_every_route_of_a_hyperx_is_dimension_order()
   local w = wiring "hx44-dor"
   local theirs = by_tables(w)
   for _, r in ipairs(w.routers) do
      r.coord = numbers(r.name)
   end
   local ours = assert(topology.build { kind = "hyperx", wiring = w })
   lu.assertEquals(ours.components, theirs.components)
   local routes = 0
   each_route(theirs, function(a, b, route)
      lu.assertEquals(ours:route(a, b), route)
      routes = routes + 1
   end)
   lu.assertEquals(routes, 32 * 31)
   lu.assertEquals(ours:load("all-to-all"), theirs:load("all-to-all"))
   assert_figures(ours, 16, 16, 1.548, 2)
end

local function dragonfly()
   local w = wiring "df-a4h2p2-minhop"
   local theirs = by_tables(w)
   for _, r in ipairs(w.routers) do
      r.group = numbers(r.name)[1]
   end
   local ours = assert(topology.build { kind = "dragonfly", wiring = w, routing = "minimal" })
   return theirs, ours, w
end

local function globals(topo, route)
   local n = 0
   for i = 2, #route - 1 do
      n = n + (topo:kind(route[i]) == "global" and 1 or 0)
   end
   return n
end

-- OpenSM's min-hop takes any shortest way, a dragonfly's minimal routing only such with one link
-- between groups; where they differ, that is why.
function tests.test_where_min_hop_leaves_the_minimal_routes_of_a_dragonfly()
   local theirs, ours = dragonfly()
   lu.assertEquals(ours.components, theirs.components)
   local equal, shorter, as_long, moved = 0, 0, 0, {}
   each_route(theirs, function(a, b, route)
      local own = ours:route(a, b)
      if check.names(ours, own) == check.names(theirs, route) then
         equal = equal + 1
         return
      end
      -- ours has the one link between the two groups; theirs goes over a third group
      lu.assertEquals(globals(ours, own), 1)
      lu.assertEquals(globals(ours, route), 2)
      lu.assertTrue(#route <= #own)
      shorter = shorter + (#route < #own and 1 or 0)
      as_long = as_long + (#route == #own and 1 or 0)
      for i = 2, #route - 1 do
         moved[route[i]] = (moved[route[i]] or 0) + 1
      end
      for i = 2, #own - 1 do
         moved[own[i]] = (moved[own[i]] or 0) - 1
      end
   end)
   lu.assertEquals(equal + shorter + as_long, 72 * 71)
   lu.assertTrue(equal > 4 * (shorter + as_long))
   -- link by link, the loads differ by these routes and by nothing else
   local load, load_of_tables = ours:load("all-to-all"), theirs:load("all-to-all")
   for c = ours.first_link, #ours.components do
      lu.assertAlmostEquals(load_of_tables[c] - load[c], moved[c] or 0, 1e-9)
   end
   local f, g = figures(theirs), figures(ours)
   lu.assertAlmostEquals(f[3], 2.319, 0.0005)
   lu.assertAlmostEquals(g[3], 2.338, 0.0005)
end

-- BookSim's minimal routing of this machine: 3.3055 routers on a route between random nodes, one
-- more than hops, itself included (facts of the simulator: 1 + (64*2.5 + 6) / 72).
function tests.test_mean_hops_of_the_dragonfly_are_booksims()
   local _, ours = dragonfly()
   local sum = 0
   for a = 1, 72 do
      for b = 1, 72 do
         sum = sum + ours:hops(a, b)
      end
   end
   lu.assertAlmostEquals(1 + sum / (72 * 72), 3.3055, 0.0001)
end

function tests.test_min_hop_tables_stay_on_shortest_ways()
   local theirs, _, w = dragonfly()
   local ours = assert(topology.build { kind = "graph", wiring = w, routing = "shortest" })
   each_route(theirs, function(a, b, route)
      local own = ours:route(a, b)
      lu.assertEquals(#own, #route)
      for i = 2, #route - 1 do
         local stage, found = own[i], own[i] == route[i]
         for _, c in ipairs(type(stage) == "table" and stage or {}) do
            found = found or c == route[i]
         end
         lu.assertTrue(found)
      end
   end)
end

return tests
