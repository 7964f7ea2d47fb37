-- SPDX-License-Identifier: GPL-2.0-or-later
local coverage = require "taut.plan.coverage"
local judge = require "taut.diagnose.judge"
local lu = require "luaunit"
local plan = require "taut.plan"
local planned_tests = require "taut.tests"
local sim = require "lib.sim"
local tables = require "taut.base.tables"
local topology = require "taut.topology"

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

-- Four routers in a square, two nodes each: in each phase two routers at corners send to both their
-- neighbours.  That shows every tx and rx, too: no anchor is needed.
function tests.test_a_router_of_two_nodes_sends_to_two_neighbours_at_once()
   local topo = sim.torus({ 2, 2, 2 }, 2)
   local phases = plan.make(options(topo, sim.run_of(1, 8)))
   assert_disjoint(topo, phases)
   lu.assertEquals(#phases, 2)
   lu.assertEquals(#phases[1] + #phases[2], 8)
   local set = covered(phases)
   for n = 1, 8 do
      lu.assertTrue(set[topo.tx[n]] and set[topo.rx[n]])
   end
end

local function anchors(phases)
   local n = 0
   for _, phase in ipairs(phases) do
      for _, t in ipairs(phase) do
         n = n + (t.kind == "anchor" and 1 or 0)
      end
   end
   return n
end

function tests.test_where_links_do_not_show_tx_and_rx_anchors_do()
   local topo = assert(topology.build { kind = "torus", dims = { 2, 2, 2 }, nodes_per_router = 2,
      nodes = "n[0-15]", capacity = { tx = 12e6, rx = 12e6, X = 5e6, Y = 5e6, Z = 5e6 } })
   lu.assertEquals(anchors(plan.make(options(topo, sim.run_of(1, 8)))), 8)
end

-- A low test over a link speaks against its nodes, too: the next plan tests them without it.
function tests.test_what_was_not_seen_well_gets_its_anchor_first()
   local topo = sim.torus({ 2, 2, 2 }, 2)
   local o = options(topo, sim.run_of(1, 8))
   lu.assertEquals(anchors(plan.make(o)), 0)
   for c = 1, #topo.components do
      o.coverage:touch(c, c == topo.tx[3] and 0 or 100)
   end
   o.now = 1e5
   lu.assertEquals(anchors(plan.make(o)), 1)
end

-- At first nothing was asked for, and nothing was seen well; then all was asked for.
function tests.test_what_was_never_tested_is_in_no_doubt()
   local w = sim.new { dims = { 2, 2, 2 } }
   local o = options(w.topo, sim.run_of(1, 8),
      { coverage = coverage.new(false, #w.topo.components) })
   o.coverage:follow(w.diagnosis.evidence)
   lu.assertEquals(anchors(plan.make(o)), 0)
   o.now = 1e5
   lu.assertEquals(anchors(plan.make(o)), 8)
end

function tests.test_two_nodes_far_apart_test_each_other()
   local topo = sim.torus({ 4, 2, 2 }, 2)
   local phases = plan.make(options(topo, { 1, 32 }))
   lu.assertEquals(#phases, 2)
end

-- Two pieces of a row, with nobody's nodes between them: what is due there is tested by the nodes
-- at the edges, and what is not, by nobody.
function tests.test_links_in_a_gap_of_a_job_are_tested_across_it()
   local topo = sim.torus({ 16, 2, 2 }, 1)
   local row = tables.fill(1, 16, function(x) return topo.node_id["n" .. 4 * x - 4] end)
   local nodes = tables.filter(row, function(n) return n < row[7] or n > row[10] end)
   local o = options(topo, nodes, { now = 1e5 })
   local due = topo.component_id["r7.0.0/X+"]
   for c = 1, #topo.components do
      o.coverage:touch(c, c == due and 0 or o.now)
   end
   local phases = plan.make(o)
   lu.assertEquals(#phases, 1)
   lu.assertEquals(tables.map(phases[1], function(t)
      return topo.nodes[t.src] .. " " .. topo.nodes[t.dst]
   end), { "n20 n40" })
   lu.assertTrue(covered(phases)[due])
   o.coverage:touch(due, o.now)
   lu.assertEquals(plan.make(o), {})
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

-- What the two ends report of test i: all that judging can make of it.
local function reports(i)
   local recv = { bytes = 480000 // (i % 3 + 1), window_ns = 20000000, rtt_ns = i,
      sub_bytes = { 60000, 60000 }, delay_ns = i % 2 * 1000 }
   local send = { bytes = recv.bytes, window_ns = recv.window_ns, foreign_bytes = i % 7 * 20000 }
   local port = { "port_data_bytes", "port_with_bytes", "port_back_bytes" }
   for k, name in ipairs(i % 4 == 0 and port or {}) do
      send[name], send.port_ns = ({ 520000, i * 30000, 0 })[k], recv.window_ns
   end
   return i % 11 > 0 and send or nil, i % 13 > 0 and recv or nil
end

local function copied(t)
   local copy = planned_tests.fields(t)
   copy.route = tables.copy(t.route)
   return copy
end

-- A plan, all of it judged.
-- @return array of tests, and what they were when they were planned
local function planned_and_judged(o)
   local list, planned = plan.schedule(plan.make(o), o, function() return 7 end), {}
   for i, t in ipairs(list) do
      planned[i] = copied(t)
      local send, recv = reports(i)
      judge.test(t, send, recv, o.topology, sim.quick)
   end
   return list, planned
end

function tests.test_what_tests_were_leaves_nothing_in_those_of_later_plans()
   local topo = assert(topology.build { kind = "torus", dims = { 4, 4, 2 }, nodes_per_router = 2,
      nodes = "n[0-63]",
      capacity = { tx = 24e6, rx = 24e6, X = 40e6, Y = 24e6, Z = 24e6 } })
   local checks = setmetatable({ senders = 2, duplex = true }, { __index = sim.checks })
   local function options_of(nodes, wanted)
      return options(topo, nodes, { checks = checks, wanted = wanted })
   end
   local nodes = tables.fill(1, #topo.nodes, function(n) return n end)
   local wanted = { { component = topo.component_id["r1.0.0/X+"], tests = 2 } }
   local first, planned = planned_and_judged(options_of(nodes, wanted))
   local kept, has, asked = {}, {}, {}
   for i, t in ipairs(first) do
      kept[i], asked[#asked + 1] = copied(t), t.confirms and t or nil
      has[t.class], has.group, has.port = true, has.group or t.group, has.port or t.port
   end
   lu.assertTrue(has.good and has.low and has.void and has.group and has.port ~= nil)
   first[1].stalls, first[1].stalled_at = 1, "n1"
   first[2].asked, first[2].way, first[2].src_port = { n = 2 }, { 1, 2 }, 20000
   plan.give_back(first)
   plan.give_back(first) -- nothing is given back twice
   local other = planned_and_judged(options_of({ 1, 2, 9, 17, 30, 31 }, nil))
   plan.give_back(other)
   local second, again = planned_and_judged(options_of(nodes, wanted))
   lu.assertEquals(#again, #planned)
   for i, t in ipairs(second) do
      lu.assertEquals(again[i], planned[i])
      lu.assertEquals(planned_tests.fields(t), kept[i])
   end
   local is, again_used = tables.set(first), 0
   for _, t in ipairs(second) do
      again_used = again_used + (is[t] and 1 or 0)
   end
   lu.assertEquals(again_used, #first - #asked, "what was not asked for is used again")
   lu.assertEquals(tables.size(tables.set(second)), #second)
   lu.assertTrue(#asked > 0)
   for _, t in ipairs(asked) do
      lu.assertFalse(tables.has(second, t), "what was asked for is kept")
   end
end

return tests
