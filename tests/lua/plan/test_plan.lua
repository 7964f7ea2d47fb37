-- SPDX-License-Identifier: GPL-2.0-or-later
local coverage = require "taut.plan.coverage"
local lu = require "luaunit"
local plan = require "taut.plan"
local sim = require "lib.sim"

local tests = {}

local function options(topo, nodes, more)
   local o = { topology = topo, nodes = nodes, coverage = coverage.new(false),
      checks = sim.checks, now = 100, budget_ms = 2000 }
   for k, v in pairs(more or {}) do
      o[k] = v
   end
   return o
end

-- No component twice in a phase, no node twice, no data against acknowledgements.
local function assert_disjoint(topo, phases)
   for _, phase in ipairs(phases) do
      local data, node, acks = {}, {}, {}
      for _, t in ipairs(phase) do
         lu.assertNil(node[t.src])
         lu.assertNil(node[t.dst])
         node[t.src], node[t.dst] = true, true
         for _, c in ipairs(topo:route(t.src, t.dst)) do
            lu.assertNil(data[c], topo.components[c])
            data[c] = true
         end
         acks[#acks + 1] = topo:route(t.dst, t.src)
      end
      for _, back in ipairs(acks) do
         for _, c in ipairs(back) do
            lu.assertNil(data[c])
         end
      end
   end
end

local function covered(phases)
   local set = {}
   for _, phase in ipairs(phases) do
      for _, t in ipairs(phase) do
         for _, c in ipairs(t.route) do
            set[c] = true
         end
      end
   end
   return set
end

function tests.test_a_whole_machine_covers_every_link_and_anchors_every_node()
   local topo = sim.torus({ 4, 2, 2 }, 2)
   local phases = plan.make(options(topo, sim.run_of(1, 32)))
   assert_disjoint(topo, phases)
   local set = covered(phases)
   for c = 1, #topo.components do
      lu.assertTrue(set[c], topo.components[c])
   end
   -- TopoBW's way is two of anchors, four in X, two each in Y and Z
   lu.assertTrue(#phases <= 10, #phases)
end

function tests.test_phases_never_overlap_for_any_allocation()
   local topo = sim.torus({ 4, 3, 2 }, 2)
   math.randomseed(7)
   for _ = 1, 100 do
      local nodes = {}
      for n = 1, #topo.nodes do
         if math.random() < 0.4 then
            nodes[#nodes + 1] = n
         end
      end
      local wanted = { { component = math.random(1, #topo.components), tests = 3 } }
      local phases = plan.make(options(topo, nodes, { wanted = wanted }))
      assert_disjoint(topo, phases)
      for _, phase in ipairs(phases) do
         for _, t in ipairs(phase) do
            lu.assertNotEquals(t.src, t.dst)
         end
      end
   end
end

function tests.test_budget_bounds_the_phases()
   local topo = sim.torus({ 4, 2, 2 }, 2)
   for _, budget in ipairs { 0, 10, 39, 68, 220 } do
      local o = options(topo, sim.run_of(1, 32), { budget_ms = budget })
      local phases = plan.make(o)
      local _, last = plan.schedule(phases, o, function() return 1 end)
      lu.assertTrue(#phases == 0 or last <= budget, ("%d of %d ms"):format(last, budget))
   end
end

function tests.test_two_nodes_far_apart_test_each_other()
   local topo = sim.torus({ 4, 2, 2 }, 2)
   local phases = plan.make(options(topo, { 1, 32 }))
   lu.assertEquals(#phases, 2)
end

function tests.test_single_node_has_no_plan()
   local topo = sim.torus({ 4, 2, 2 }, 2)
   lu.assertEquals(plan.make(options(topo, { 5 })), {})
end

function tests.test_a_suspect_is_tested_with_one_and_with_several_streams()
   local topo = sim.torus({ 4, 2, 2 }, 2)
   local c = topo.component_id["r0.0.0/Z+"]
   local phases = plan.make(options(topo, sim.run_of(1, 8), { routine = false,
      wanted = { { component = c, tests = 2 } } }))
   local streams = {}
   for _, phase in ipairs(phases) do
      for _, t in ipairs(phase) do
         lu.assertEquals(t.confirms, c)
         local key = t.src .. ">" .. t.dst
         streams[key] = (streams[key] or "") .. " " .. t.streams
      end
   end
   local pairs_seen = 0
   for _, s in pairs(streams) do
      lu.assertEquals(s, " 1 4")
      pairs_seen = pairs_seen + 1
   end
   lu.assertEquals(pairs_seen, 2)
end

function tests.test_a_tie_is_tested_by_routes_that_tell_it_apart()
   local topo = sim.torus({ 4, 2, 2 }, 2)
   local tx, rx = topo.component_id["n0/tx"], topo.component_id["n1/rx"]
   local phases = plan.make(options(topo, sim.run_of(1, 8), { routine = false, wanted = {
      { component = tx, rivals = { rx }, tests = 1 } } }))
   lu.assertTrue(#phases > 0)
   for _, phase in ipairs(phases) do
      for _, t in ipairs(phase) do
         lu.assertEquals(topo.nodes[t.src], "n0")
         lu.assertNotEquals(topo.nodes[t.dst], "n1")
      end
   end
end

function tests.test_components_reserved_by_another_plan_are_left_alone()
   local topo = sim.torus({ 4, 2, 2 }, 2)
   local o = options(topo, sim.run_of(1, 8))
   plan.schedule(plan.make(o), o, function() return 1 end)
   lu.assertEquals(plan.make(o), {})
   o.now = o.now + 10
   lu.assertTrue(#plan.make(o) > 0)
end

function tests.test_link_time_is_kept_and_half_of_it_is_for_suspects()
   local topo = sim.torus({ 4, 2, 2 }, 2)
   local o = options(topo, { 1, 2 }, { coverage = coverage.new(0.001) })
   local used = 0
   for _ = 1, 1000 do
      o.now = o.now + 0.3
      local phases = plan.make(o)
      plan.schedule(phases, o, function() return 1 end)
      for _, phase in ipairs(phases) do
         for _, t in ipairs(phase) do
            used = used + (t.src == 1 and 0.025 or 0)
         end
      end
   end
   -- what was saved up at the start, and one thousandth of 300 s
   lu.assertTrue(used <= 0.25 + 0.001 * 300 + 0.026, used)
   lu.assertTrue(used >= 0.25, used)
   o.wanted = { { component = topo.tx[1], tests = 1 } }
   lu.assertTrue(#plan.make(o) > 0)
end

return tests
