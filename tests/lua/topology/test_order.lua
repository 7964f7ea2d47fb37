-- SPDX-License-Identifier: GPL-2.0-or-later
local hilbert = require "taut.topology.order.hilbert"
local lu = require "luaunit"
local order = require "taut.topology.order"
local topology = require "taut.topology"

local function torus(dims, npr)
   local n = npr
   for _, d in ipairs(dims) do
      n = n * d
   end
   return assert(topology.build { kind = "torus", dims = dims, nodes_per_router = npr,
      nodes = ("n[0-%d]"):format(n - 1), capacity = 1e9 })
end

local function points(dims)
   local list = { {} }
   for _, len in ipairs(dims) do
      local longer = {}
      for _, p in ipairs(list) do
         for x = 0, len - 1 do
            local q = table.move(p, 1, #p, 1, {})
            q[#q + 1] = x
            longer[#longer + 1] = q
         end
      end
      list = longer
   end
   return list
end

local function curve(dims)
   local list = points(dims)
   for _, p in ipairs(list) do
      local digits = {}
      for i, d in ipairs(hilbert.key(p, dims)) do
         digits[i] = ("%02d"):format(d)
      end
      p.key = table.concat(digits)
   end
   table.sort(list, function(a, b) return a.key < b.key end)
   return list
end

local tests = {}

function tests.test_a_curve_through_a_cube_takes_steps_of_one()
   for _, dims in ipairs { { 4, 4 }, { 16, 16 }, { 8, 8, 8 }, { 4, 4, 4, 4 } } do
      local list = curve(dims)
      for i = 2, #list do
         local steps = 0
         for d = 1, #dims do
            steps = steps + math.abs(list[i][d] - list[i - 1][d])
         end
         lu.assertEquals(steps, 1)
      end
   end
end

function tests.test_a_curve_visits_every_place_of_any_box_once()
   for _, dims in ipairs { { 1 }, { 5 }, { 3, 7 }, { 25, 16, 24 }, { 5, 1, 3 },
      { 2, 3, 2, 3, 2, 3 } } do
      local list = curve(dims)
      for i = 2, #list do
         lu.assertNotEquals(list[i].key, list[i - 1].key)
      end
   end
end

function tests.test_names_are_sorted_as_numbers()
   local topo = assert(topology.build { kind = "torus", dims = { 4 }, nodes_per_router = 1,
      nodes = "n10,n9,a2,n9b", capacity = 1 })
   local names = {}
   for i, n in ipairs(order.by_name(topo)) do
      names[i] = topo.nodes[n]
   end
   lu.assertEquals(names, { "a2", "n9", "n9b", "n10" })
end

function tests.test_every_order_has_every_node_once()
   for _, topo in ipairs { torus({ 5, 3, 2 }, 2), torus({ 7 }, 1), assert(topology.build {
      kind = "fattree", nodes_per_leaf = 3, levels = { { down = 2, up = 2 }, { down = 3, up = 2 } },
      nodes = "n[1-18]", capacity = 1 }), assert(topology.build { kind = "dragonfly", groups = 5,
      routers = 3, nodes_per_router = 2, nodes = "n[1-30]", capacity = 1 }) } do
      for _, c in ipairs(order.candidates(topo)) do
         local seen, count = {}, 0
         for _, n in ipairs(c.nodes) do
            lu.assertNil(seen[n])
            seen[n], count = true, count + 1
         end
         lu.assertEquals(count, #topo.nodes)
      end
   end
end

function tests.test_the_measure_is_the_mean_over_all_pairs_of_a_run()
   local topo = torus({ 8 }, 1)
   -- 0 1 2 3 on a ring of 8: three pairs one apart, two two apart, one three apart
   lu.assertAlmostEquals(order.measure(topo, { 1, 2, 3, 4 }, 4), 10 / 6, 1e-12)
   lu.assertAlmostEquals(order.measure(topo, { 1, 5 }, 2), 4, 1e-12)
   -- runs 1 2, 2 5, 5 6
   lu.assertAlmostEquals(order.measure(topo, { 1, 2, 5, 6 }, 2), (1 + 3 + 1) / 3, 1e-12)
end

function tests.test_on_a_cube_a_hilbert_curve_keeps_runs_together()
   local best, all = order.best(torus({ 8, 8, 8 }, 1))
   lu.assertEquals(best.name, "hilbert")
   lu.assertEquals(all[1].name, "names")
   lu.assertTrue(best.hops[16] < 0.9 * all[1].hops[16])
end

function tests.test_an_order_by_name_that_is_as_good_stays()
   local best = order.best(assert(topology.build { kind = "fattree", nodes_per_leaf = 4,
      levels = { { down = 4, up = 2 } }, nodes = "n[1-16]", capacity = 1 }))
   lu.assertEquals(best.name, "names")
end

-- A chain of switches whose names say nothing about their places.
function tests.test_a_walk_finds_the_order_of_a_chain()
   local routers, nodes, cables, at = {}, {}, {}, {}
   for i = 1, 40 do
      at[i] = (i - 1) * 17 % 40 + 1 -- the i-th of the chain
      routers[i] = { name = "s" .. i }
      nodes[i] = { name = "n" .. i, rails = { { router = i, port = "1" } } }
   end
   for i = 1, 39 do
      cables[i] = { a = at[i], a_port = "3", b = at[i + 1], b_port = "2" }
   end
   local topo = assert(topology.build { kind = "graph", capacity = 1, wiring = { source = "t",
      format = "t", routers = routers, nodes = nodes, cables = cables, notes = {} } })
   local best = order.best(topo)
   lu.assertEquals(best.name, "walk")
   for i = 2, 40 do
      lu.assertEquals(topo:hops(best.nodes[i - 1], best.nodes[i]), 1)
   end
end

function tests.test_groups_nest_and_lose_nobody()
   local topo = torus({ 6, 5, 4 }, 2)
   local all = order.candidates(topo)
   local o = all[#all]
   local function count(g)
      if not g.children then
         lu.assertTrue(g.count <= 16 or g.first == g.last)
         return g.count
      end
      local n, at = 0, g.first
      for _, child in ipairs(g.children) do
         lu.assertEquals(child.first, at)
         at, n = child.last + 1, n + count(child)
      end
      lu.assertEquals(at, g.last + 1)
      lu.assertEquals(n, g.count)
      return n
   end
   lu.assertEquals(count(order.groups(topo, o, 16)[1]), 240)
end

return tests
