local lu = require "luaunit"
local place = require "taut.place"
local score = require "taut.place.score"
local sim = require "sim"
local topology = require "taut.topology"

local tests = {}

local function free_of(topo, except)
   local free = {}
   for n = 1, #topo.nodes do
      free[n] = not (except or {})[topo.nodes[n]] or nil
   end
   return free
end

-- Exhaustive: the least mean hops of any set of `count` nodes.
local function best_possible(topo, free, count)
   local list, best = {}, math.huge
   for n = 1, #topo.nodes do
      list[#list + 1] = free[n] and n or nil
   end
   local chosen = {}
   local function go(i, k)
      if k > count then
         best = math.min(best, score.of(topo, chosen, {}).mean_hops)
         return
      end
      for j = i, #list do
         chosen[k] = list[j]
         go(j + 1, k + 1)
         chosen[k] = nil
      end
   end
   go(1, 1)
   return best
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

function tests.test_a_slow_link_is_avoided()
   local topo = sim.torus({ 4, 2, 2 }, 2)
   local bad = topo.component_id["r0.0.0/Z+"]
   for count = 2, 16 do
      local c = place.search(topo, free_of(topo), count, { avoid = { [bad] = 0.25 } })[1]
      lu.assertEquals(c.crossing, 0, count)
   end
end

-- 12 of n16 … n31, with a slow link in their midst: there are 14 that do not need it.
function tests.test_the_nodes_of_a_box_are_chosen_round_a_slow_link()
   local topo = sim.torus({ 4, 2, 2 }, 2)
   local free, bad = {}, topo.component_id["r2.0.0/X+"]
   for n = 17, 32 do
      free[n] = true
   end
   local c = place.search(topo, free, 12, { avoid = { [bad] = 0.25 } })[1]
   lu.assertEquals(c.crossing, 0)
end

function tests.test_boxes_of_a_mesh_do_not_reach_round_its_ends()
   local topo = assert(topology.build { kind = "mesh", dims = { 6 },
      nodes_per_router = 1, nodes = "n[0-5]", capacity = 1e9 })
   local found = assert(place.search(topo, free_of(topo, { n2 = true, n3 = true }), 3, { top = 9 }))
   for _, c in ipairs(found) do
      lu.assertTrue(c.at[1] + c.shape[1] <= 6)
   end
   lu.assertEquals(found[1].mean_hops, 8 / 3) -- n0 n1 n4, not n5 n0 n1
end

function tests.test_only_free_nodes_are_taken()
   local topo = sim.torus({ 4, 2, 2 }, 2)
   local free = free_of(topo, { n0 = true, n1 = true, n2 = true, n9 = true })
   for _, c in ipairs(place.search(topo, free, 8, { top = 5 })) do
      for _, n in ipairs(c.nodes) do
         lu.assertTrue(free[n])
      end
   end
end

function tests.test_close_to_the_best_there_is()
   local topo = sim.torus({ 4, 2 }, 2)
   math.randomseed(9)
   local within, all = 0, 0
   for _ = 1, 40 do
      local free, n = {}, 0
      for i = 1, #topo.nodes do
         if math.random() < 0.6 then
            free[i], n = true, n + 1
         end
      end
      for count = 2, math.min(4, n) do
         local got = place.search(topo, free, count, {})[1].mean_hops
         all = all + 1
         within = within + (got <= best_possible(topo, free, count) * 1.05 + 1e-9 and 1 or 0)
      end
   end
   lu.assertTrue(within / all >= 0.95, ("%d of %d"):format(within, all))
end

return tests
