-- SPDX-License-Identifier: GPL-2.0-or-later
local lu = require "luaunit"
local boxes = require "taut.boxes"
local pattern = require "taut.place.pattern"
local place = require "taut.place"
local rank = require "taut.place.rank"
local score = require "taut.place.score"
local sim = require "lib.sim"
local topology = require "taut.topology"

local tests = {}

local function free_of(topo, except)
   local free = {}
   for n = 1, #topo.nodes do
      free[n] = not (except or {})[topo.nodes[n]] or nil
   end
   return free
end

local function busy_at_random(topo, share)
   local free, n = {}, 0
   for i = 1, #topo.nodes do
      if math.random() < share then
         free[i], n = true, n + 1
      end
   end
   return free, n
end

local machines = {
   { kind = "torus", dims = { 4, 3, 2 }, nodes_per_router = 2, nodes = "n[0-47]", capacity = 1e9 },
   { kind = "torus", dims = { 7, 1, 5 }, nodes_per_router = 1, nodes = "n[0-34]", capacity = 1e9 },
   { kind = "mesh", dims = { 6, 4 }, nodes_per_router = 2, nodes = "n[0-47]", capacity = 1e9 },
   { kind = "torus", dims = { 12 }, nodes_per_router = 3, nodes = "n[0-35]", capacity = 1e9 },
   { kind = "torus", dims = { 3, 2, 2, 3 }, nodes_per_router = 1, nodes = "n[0-35]",
      capacity = 1e9 },
   { kind = "fattree", nodes_per_leaf = 4, levels = { { down = 6, up = 2 } }, nodes = "n[0-23]",
      capacity = 1e9 },
   { kind = "fattree", nodes_per_leaf = 4, levels = { { down = 3, up = 2 }, { down = 4, up = 2 } },
      nodes = "n[0-47]", capacity = 1e9 },
   { kind = "dragonfly", groups = 5, routers = 4, nodes_per_router = 2, global_links = 1,
      nodes = "n[0-39]", capacity = 1e9 },
   { kind = "hyperx", dims = { 4, 4 }, nodes_per_router = 2, nodes = "n[0-31]", capacity = 1e9 },
}

local function machine(i)
   return assert(topology.build(machines[i]))
end

-- All boxes by hand: the least volume that holds `count`, and whether a box holds so many.
local function held(topo, on, at, extent)
   local n = 0
   local function go(d, here)
      if d > #extent then
         n = n + (on[topo:router_at(here)] or 0)
         return
      end
      for i = 0, extent[d] - 1 do
         here[d] = at[d] + i
         go(d + 1, here)
      end
   end
   go(1, {})
   return n
end

local function each_box(topo, fn)
   local extent, at = {}, {}
   local function positions(d)
      if d > #topo.dims then
         fn(at, extent)
         return
      end
      local len = topo.dims[d]
      local last = extent[d] == len and 0 or topo.wrap[d] and len - 1 or len - extent[d]
      for x = 0, last do
         at[d] = x
         positions(d + 1)
      end
   end
   local function extents(d)
      if d > #topo.dims then
         positions(1)
         return
      end
      local len = topo.dims[d]
      for e = 1, len do
         if not topo.wrap[d] or e <= len // 2 + 1 or e == len then
            extent[d] = e
            extents(d + 1)
         end
      end
   end
   extents(1)
end

local function by_hand(topo, free, count)
   local on, least = {}, math.huge
   for n in pairs(free) do
      local r = topo:router(n)
      on[r] = (on[r] or 0) + 1
   end
   each_box(topo, function(at, extent)
      local volume = 1
      for _, e in ipairs(extent) do
         volume = volume * e
      end
      if volume < least and held(topo, on, at, extent) >= count then
         least = volume
      end
   end)
   return least, on
end

function tests.test_boxes_are_those_found_by_hand()
   math.randomseed(4)
   for i = 1, 5 do
      local topo = machine(i)
      local b = assert(boxes.new(topo.graph, topo.dims, topo.wrap))
      for _ = 1, 6 do
         local free, n = busy_at_random(topo, 0.6)
         lu.assertEquals(b:free(free), n)
         for _, count in ipairs { 1, 2, 5, n // 2, n } do
            local least, on = by_hand(topo, free, count)
            local smallest = math.huge
            for _, box in ipairs(b:search(count, 1.5, false)) do
               smallest = math.min(smallest, box.volume)
               lu.assertEquals(box.free, held(topo, on, box.at, box.extent))
               lu.assertTrue(box.free >= count)
               local nodes = assert(b:choose(box, count))
               lu.assertEquals(#nodes, count)
               for _, node in ipairs(nodes) do
                  lu.assertTrue(free[node])
               end
            end
            lu.assertEquals(smallest, least)
         end
      end
   end
end

function tests.test_bad_cables_inside_a_box_are_added_up()
   local topo = sim.torus({ 4, 4 }, 1)
   local b = assert(boxes.new(topo.graph, topo.dims, topo.wrap))
   b:free(free_of(topo))
   -- the cable from 1.0 to 2.0 is the only bad one: the best boxes of all shapes but the whole
   -- machine do without it
   b:bad { topo.router_id["r1.0"], 1, 3.0 }
   for _, box in ipairs(b:search(4, 1.5, false)) do
      lu.assertEquals(box.bad, 0)
   end
   local whole = b:search(16, 1, false)
   lu.assertEquals(whole[1].bad, 3.0)
   b:bad {}
   lu.assertEquals(b:search(16, 1, false)[1].bad, 0)
end

function tests.test_the_kernel_refuses_what_is_not_there()
   local topo = sim.torus({ 4, 2 }, 1)
   local b = assert(boxes.new(topo.graph, topo.dims, topo.wrap))
   lu.assertErrorMsgContains("node 9 is not within 1 to 8", function() b:free { [9] = true } end)
   lu.assertErrorMsgContains("dimension", function() b:bad { 0, 3, 1.0 } end)
   lu.assertErrorMsgContains("another number of routers", boxes.new, topo.graph, { 4, 3 },
      { true, true })
   lu.assertErrorMsgContains("nodes", function() b:search(0) end)
   b:free { [1] = true }
   lu.assertNil(b:choose({ at = { 0, 0 }, extent = { 4, 2 } }, 2))
end

function tests.test_too_many_nodes_is_said()
   local topo = sim.torus({ 2, 2 }, 1)
   local found, err = place.search(topo, free_of(topo), 5, {})
   lu.assertNil(found)
   lu.assertEquals(err, "5 nodes asked for, 4 are free and healthy")
end

function tests.test_an_empty_machine_gives_a_full_box()
   local topo = sim.torus({ 4, 2, 2 }, 2)
   for _, count in ipairs { 1, 2, 3, 4, 8, 16, 32 } do
      local c = place.search(topo, free_of(topo), count, {})[1]
      lu.assertEquals(#c.nodes, count)
      lu.assertTrue(c.density >= 0.5)
   end
end

function tests.test_candidates_of_all_kinds_are_free_nodes_and_differ()
   math.randomseed(8)
   for i = 1, #machines do
      local topo = machine(i)
      for _ = 1, 4 do
         local free, n = busy_at_random(topo, 0.7)
         for _, count in ipairs { 1, 3, n // 2, n } do
            local seen = {}
            for _, c in ipairs(assert(place.search(topo, free, count, {}))) do
               lu.assertEquals(#c.nodes, count)
               for k, node in ipairs(c.nodes) do
                  lu.assertTrue(free[node])
                  lu.assertTrue(k == 1 or c.nodes[k - 1] < node)
               end
               lu.assertTrue(c.density > 0 and c.density <= 1)
               lu.assertTrue(c.strangers >= 0 and c.total >= count + 0)
               lu.assertIsString(c.shape)
               seen[table.concat(c.nodes, ",")] = true
            end
            lu.assertNotNil(next(seen))
         end
      end
   end
end

function tests.test_exclusive_has_no_strangers()
   math.randomseed(2)
   for i = 1, #machines do
      local topo = machine(i)
      local free = busy_at_random(topo, 0.8)
      for _, c in ipairs(place.search(topo, free, 3, { exclusive = true }) or {}) do
         lu.assertEquals(c.strangers, 0, c.shape)
      end
   end
   local topo = machine(1)
   local _, err = place.search(topo, { [1] = true, [3] = true }, 2, { exclusive = true })
   lu.assertEquals(err, "no submesh that is wholly free holds 2 nodes")
end

function tests.test_at_most_so_many_nodes_on_a_router()
   for _, i in ipairs { 1, 3, 6, 8, 9 } do
      local topo = machine(i)
      for _, c in ipairs(assert(place.search(topo, free_of(topo), 6, { per_router = 1 }))) do
         local seen = {}
         for _, n in ipairs(c.nodes) do
            lu.assertNil(seen[topo:router(n)])
            seen[topo:router(n)] = true
         end
      end
   end
end

function tests.test_a_node_with_a_slow_tx_is_taken_last()
   local topo = sim.torus({ 4, 2, 2 }, 2)
   local o = { left = { [topo.component_id["n5/tx"]] = 0.4 } }
   for _, c in ipairs(place.search(topo, free_of(topo), 31, o)) do
      for _, n in ipairs(c.nodes) do
         lu.assertNotEquals(topo.nodes[n], "n5")
      end
   end
   lu.assertEquals(#place.search(topo, free_of(topo), 32, o)[1].nodes, 32)
end

local function best(topo, free, count, left, spec)
   local P = assert(pattern.make(spec or "all-to-all", count))
   local o = { left = left }
   local list = rank.sort(topo, assert(place.search(topo, free, count, o)), P, o, free,
      function(nodes, c) return { nodes = nodes, shape = c.shape, density = 0 } end)
   return list[1], P
end

function tests.test_a_slow_link_is_avoided()
   local topo = sim.torus({ 4, 2, 2 }, 2)
   local bad = topo.component_id["r0.0.0/Z+"]
   for count = 2, 16 do
      local c, P = best(topo, free_of(topo), count, { [bad] = 0.25 })
      local s = score.evaluate(topo, c.nodes, P, { load = true })
      lu.assertNil(s.load[bad], count)
   end
end

-- 12 of n16 … n31, with a slow link in their midst: there are 14 that do not need it.
function tests.test_the_nodes_of_a_box_are_chosen_round_a_slow_link()
   local topo = sim.torus({ 4, 2, 2 }, 2)
   local free, bad = {}, topo.component_id["r2.0.0/X+"]
   for n = 17, 32 do
      free[n] = true
   end
   local c, P = best(topo, free, 12, { [bad] = 0.25 })
   lu.assertNil(score.evaluate(topo, c.nodes, P, { load = true }).load[bad])
end

function tests.test_boxes_of_a_mesh_do_not_reach_round_its_ends()
   local topo = assert(topology.build { kind = "mesh", dims = { 6 },
      nodes_per_router = 1, nodes = "n[0-5]", capacity = 1e9 })
   local found = assert(place.search(topo, free_of(topo, { n2 = true, n3 = true }), 3, { top = 9 }))
   for _, c in ipairs(found) do
      lu.assertTrue(not c.at or c.at[1] + c.extent[1] <= 6)
   end
   lu.assertEquals(found[1].nodes, { 1, 2, 5 }) -- n0 n1 n4, not n5 n0 n1
end

function tests.test_a_job_larger_than_half_of_a_long_thin_machine()
   local topo = assert(topology.build { kind = "torus", dims = { 64, 1, 1 },
      nodes_per_router = 1, nodes = "n[0-63]", capacity = 1e9 })
   lu.assertEquals(place.search(topo, free_of(topo), 20, {})[1].shape, "20×1×1 box at (0,0,0)")
   lu.assertEquals(#place.search(topo, free_of(topo), 60, {})[1].nodes, 60)
end

function tests.test_dense_counts_free_nodes_in_compact_boxes()
   local topo = sim.torus({ 8, 8, 8 }, 2)
   lu.assertEquals(place.dense(topo, free_of(topo), 64, 0.9), 1024)
   local free = {}
   for n = 1, #topo.nodes, 2 do
      free[n] = true
   end
   lu.assertEquals(place.dense(topo, free, 64, 0.9), 0)
   for _, r in ipairs { 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27 } do
      for _, base in ipairs { 0, 64 } do -- a box of 2×4×4 routers
         for _, n in ipairs(topo:on_router(base + r)) do
            free[n] = true
         end
      end
   end
   lu.assertEquals(place.dense(topo, free, 64, 0.9), 64)
   lu.assertEquals(place.dense(topo, free, 64, 0.9, { 1 }), 0)
   lu.assertEquals(place.dense(topo, free, 64, 0.9), 64)
   local tree = machine(7)
   lu.assertEquals(place.dense(tree, free_of(tree), 12, 0.9), 48)
   lu.assertEquals(place.dense(tree, free_of(tree, { n0 = true, n1 = true }), 12, 0.9), 48 - 2)
   lu.assertEquals(place.dense(tree, free_of(tree), 12, 0.9, { 1, 2 }), 48 - 2)
end

-- 64 nodes of 2,000 got "50 leaves; density 0.03" first, where two leaves were as good.
function tests.test_where_the_time_is_the_same_the_compact_set_comes_first()
   local topo = assert(topology.build { kind = "fattree", nodes_per_leaf = 40, routing = "ecmp",
      levels = { { down = 50, up = 20 } }, nodes = "n[0-1999]", capacity = 12e9 })
   local list = rank.best(topo, free_of(topo), 64, pattern.make("all-to-all", 64), { top = 3 })
   lu.assertEquals({ list[1].used, list[#list].used }, { 2, 50 })
   -- a step that ended between them told two sets apart that differ by 0.2 %
   local function of(ratio, surface)
      return { nodes = { 1 }, density = 1 / surface, surface = surface,
         score = { ratio = ratio, hops_mean = 1 } }
   end
   local compact, thin = of(1.021, 16), of(1.019, 1936)
   lu.assertTrue(rank.is_better(compact, thin))
   lu.assertFalse(rank.is_better(thin, compact))
   lu.assertTrue(rank.is_better(thin, of(1.1, 16)))
end

return tests
