-- SPDX-License-Identifier: GPL-2.0-or-later
-- The analysis of matrices, on machines whose faults are known.
local again = require "taut.survey.matrix.again"
local data = require "taut.survey.matrix.data"
local findings = require "taut.survey.matrix.findings"
local lu = require "luaunit"
local sim = require "lib.sim"
local words = require "taut.survey.matrix.sentences"

local CAPACITY = 24e6
local tests = {}

-- All pairs of a torus, each alone, with `left` (component name → share) of its capacities.
local function measured(dims, npr, left, o)
   o = o or {}
   math.randomseed(7)
   local topo = sim.torus(dims, npr)
   local m = data.new(topo.nodes)
   local number = {}
   for i = 1, m.n do
      number[i] = i
      for j = 1, m.n do
         local least = 1
         for _, c in ipairs(i ~= j and topo:route(i, j) or {}) do
            least = math.min(least, left[topo.components[c]] or 1)
         end
         local bw = least * CAPACITY * (1 + 0.02 * (math.random() - 0.5))
         if i ~= j and not (o.skip and o.skip(i, j)) then
            m:set(i, j, { bw_Bps = bw, expected_Bps = CAPACITY,
               class = bw >= 0.75 * CAPACITY and "good" or "low" })
         end
      end
   end
   return m, topo, number
end

local function found(m, topo, number)
   local list, unnamed = findings.find(m, topo, number)
   local text = {}
   for i, f in ipairs(list) do
      text[i] = f.kind .. " " .. f.name
   end
   return table.concat(text, "; "), list, unnamed
end

function tests.test_nothing_is_found_in_a_healthy_machine()
   lu.assertEquals(found(measured({ 4, 2, 2 }, 1, {})), "")
end

function tests.test_each_single_fault_is_named_and_nothing_else()
   local topo = sim.torus({ 4, 2, 2 }, 2)
   for c, name in ipairs(topo.components) do
      local m, t, number = measured({ 4, 2, 2 }, 2, { [name] = 0.25 })
      local text, list = found(m, t, number)
      lu.assertEquals(text, ("%s %s"):format(topo:is_link(c) and "link" or topo:kind(c), name))
      lu.assertEquals(list[1].tied, {})
      lu.assertAlmostEquals(list[1].left, 0.25, 0.01)
   end
end

function tests.test_a_node_slow_both_ways_is_a_node()
   local m, topo, number = measured({ 4, 2, 2 }, 1, { ["n5/tx"] = 0.25, ["n5/rx"] = 0.3 })
   local text, list = found(m, topo, number)
   lu.assertEquals(text, "node n5")
   lu.assertEquals(list[1].low, 30)
   lu.assertStrContains(words.finding(m, list[1]), "n5 is slow with all others; 30 of 30 pairs")
end

function tests.test_both_directions_of_a_cable_are_a_cable()
   local m, topo, number = measured({ 4, 3, 2 }, 1, { ["r1.0.0/X+"] = 0.5, ["r2.0.0/X-"] = 0.5 })
   local text, list = found(m, topo, number)
   lu.assertEquals(text, "cable r1.0.0/X+")
   lu.assertStrContains(words.finding(m, list[1]), "cable r1.0.0/X+ to r2.0.0/X-")
end

function tests.test_a_router_slow_as_a_whole_is_a_router()
   local left, topo = {}, sim.torus({ 4, 3, 3 }, 1)
   for _, port in ipairs { "X+", "X-", "Y+", "Y-", "Z+", "Z-" } do
      local c = topo.component_id["r1.1.1/" .. port]
      left[topo.components[c]], left[topo.components[topo:opposite(c)]] = 0.4, 0.4
   end
   lu.assertEquals(found(measured({ 4, 3, 3 }, 1, left)), "router r1.1.1")
end

function tests.test_three_faults_at_once()
   local text = found(measured({ 4, 4, 4 }, 1, { ["n5/tx"] = 0.25, ["r3.0.0/X+"] = 0.5,
      ["n40/rx"] = 0.1 }))
   lu.assertStrContains(text, "tx n5/tx")
   lu.assertStrContains(text, "rx n40/rx")
   lu.assertStrContains(text, "link r3.0.0/X+")
   lu.assertEquals(select(2, text:gsub(";", "")), 2)
end

-- Nodes 1 and 2 only: everything on the way between them is possible.
function tests.test_two_nodes_cannot_tell_tx_from_link()
   local m, topo, number = measured({ 4, 2, 2 }, 1, { ["n0/tx"] = 0.25 },
      { skip = function(i, j) return i > 2 or j > 2 end })
   local text, list = found(m, topo, number)
   lu.assertEquals(text, "pair n0 to n1")
   lu.assertEquals(list[1].tied, { "n0/tx", "r0.0.0/Z+", "n1/rx" })
end

function tests.test_where_no_route_explains_rows_and_columns_are_named()
   local m = measured({ 4, 2, 2 }, 1, { ["n5/tx"] = 0.25, ["n9/rx"] = 0.25, ["n9/tx"] = 0.3 })
   local text = found(m, nil, nil)
   lu.assertStrContains(text, "tx n5/tx")
   lu.assertStrContains(text, "node n9")
end

function tests.test_where_no_route_explains_a_boundary_is_a_block()
   local m = data.new(sim.torus({ 16 }, 1).nodes)
   for i = 1, 16 do
      for j = 1, 16 do
         if i ~= j then
            local is_low = i <= 4 and j > 8 and j <= 12
            m:set(i, j, { bw_Bps = is_low and 5e6 or 20e6, expected_Bps = 20e6,
               class = is_low and "low" or "good" })
         end
      end
   end
   local text, list = found(m, nil, nil)
   lu.assertEquals(text, "block n[0-3] to n[8-11]")
   lu.assertEquals(list[1].low, 16)
   lu.assertStrContains(words.finding(m, list[1]), "slow across this boundary")
end

function tests.test_scattered_slow_pairs_are_pairs()
   local m, topo, number = measured({ 4, 2, 2 }, 1, {})
   for _, p in ipairs { { 1, 6 }, { 9, 3 } } do
      m:set(p[1], p[2], { bw_Bps = 6e6, expected_Bps = CAPACITY, class = "low" })
   end
   local text = found(m, topo, number)
   lu.assertEquals(text, "pair n0 to n5; pair n8 to n2")
end

-- 16 nodes on two leaves; from the first to the second traffic is spread over set_of(a, b).
local function two_leaves(set_of)
   local topo = { nodes = {}, components = {}, capacity = {}, component_id = {} }
   for n = 1, 16 do
      topo.nodes[n] = "n" .. n
      topo.components[2 * n - 1], topo.components[2 * n] = "n" .. n .. "/tx", "n" .. n .. "/rx"
   end
   for i = 33, 36 do
      topo.components[i] = "leaf1/" .. i
   end
   for i, name in ipairs(topo.components) do
      topo.capacity[i], topo.component_id[name] = CAPACITY, i
   end
   function topo.route(_, a, b)
      return a <= 8 and b > 8 and { 2 * a - 1, set_of(a, b), 2 * b } or { 2 * a - 1, 2 * b }
   end
   function topo.is_link(_, c) return c > 32 end
   function topo.from() return 0 end
   topo.router_name = { [0] = "leaf1" }
   function topo.kind(_, c) return c % 2 == 1 and "tx" or "rx" end
   function topo.cable(_, c) return topo.components[c] .. " to somewhere" end
   return topo
end

local function spread(topo, is_low)
   local m, number = data.new(topo.nodes), {}
   for i = 1, 16 do
      number[i] = i
      for j = 1, 16 do
         local low = i <= 8 and j > 8 and is_low(i, j)
         if i ~= j then
            m:set(i, j, { bw_Bps = low and 6e6 or CAPACITY, expected_Bps = CAPACITY,
               class = low and "low" or "good" })
         end
      end
   end
   return m, topo, number
end

-- One of four hashed uplinks is broken: a quarter of the pairs across the set is slow.
function tests.test_a_broken_member_of_a_hashed_stage()
   local set = { 33, 34, 35, 36, w = { .25, .25, .25, .25 } }
   local text, list = found(spread(two_leaves(function() return set end),
      function(i, j) return (i + j) % 4 == 0 end))
   lu.assertEquals(text, "set leaf1/33, leaf1/34, leaf1/35, leaf1/36")
   lu.assertEquals(list[1].low, 16)
end

-- Half of what is hashed over either pair of links is slow: they have one link in common.
function tests.test_sets_that_share_the_broken_link()
   local first, second = { 33, 34, w = { .5, .5 } }, { 34, 35, w = { .5, .5 } }
   local text, list = found(spread(two_leaves(function(a) return a <= 4 and first or second end),
      function(i, j) return (i + j) % 2 == 0 end))
   lu.assertEquals(text, "link leaf1/34")
   lu.assertEquals(list[1].low, 32)
   lu.assertEquals(list[1].cable, "leaf1/34 to somewhere")
end

function tests.test_measured_again_alone()
   local m, topo, number = measured({ 4, 2, 2 }, 1, { ["n5/tx"] = 0.25 })
   m:set(1, 2, { bw_Bps = 6e6, expected_Bps = CAPACITY, class = "low" })
   m:set(3, 4, { bw_Bps = 0, expected_Bps = CAPACITY, class = "void", why = "busy" })
   local list = findings.find(m, topo, number)
   lu.assertEquals(#list, 2)
   local keys = again.keys(m, list)
   lu.assertEquals(#keys, 6 + 1 + 1)
   for _, k in ipairs(keys) do
      local i, j = m:at(k)
      m:set(i, j, { bw_Bps = i == 6 and 6e6 or 23e6, expected_Bps = CAPACITY,
         class = i == 6 and "low" or "good", again = true })
   end
   again.confirm(m, list)
   lu.assertEquals({ list[1].name, list[1].confirmed, list[1].again.low }, { "n5/tx", true, 6 })
   lu.assertEquals({ list[2].name, list[2].confirmed }, { "n0 to n1", false })
   lu.assertStrContains(words.finding(m, list[2]), "not slow when measured again alone")
   lu.assertEquals(m.class[m:key(3, 4)], "good")
end

-- Past bug: "5 of 12 pairs, 100% of the expectation" of a slow set, whose flows took another link
-- when they were measured again, and "other traffic?" for that.
function tests.test_a_slow_set_is_told_by_its_low_pairs()
   local m = data.new({ "n0", "n1", "n2" }, { good = 0.75 })
   for k, v in pairs { [2] = 3e6, [3] = 12e6 } do
      m:set(1, k, { bw_Bps = v, expected_Bps = 12e6, class = v < 9e6 and "low" or "good" })
   end
   m:set(1, 3, { bw_Bps = 12e6, expected_Bps = 12e6, class = "good", again = true })
   local f = { kind = "set", name = "leaf2/3, leaf2/4", pairs = { m:key(1, 2), m:key(1, 3) },
      clear = 3, tied = {}, again = { asked = 1, low = 0 }, confirmed = false }
   findings.figures(m, f)
   lu.assertEquals({ f.left, f.bw_Bps }, { 0.25, 3e6 })
   local text = words.finding(m, f)
   lu.assertStrContains(text, "25% of the expectation, 3.0 MB/s")
   lu.assertStrContains(text, "again alone 0 of 1: a flow takes one of these links")
   lu.assertNotStrContains(text, "other traffic")
end

-- Pairs that were void at first and turn out low belong to what explains the others.
function tests.test_what_was_void_and_is_low()
   local m, topo, number = measured({ 4, 2, 2 }, 1, { ["n5/tx"] = 0.25 })
   for _, p in ipairs { { 6, 1 }, { 6, 9 }, { 2, 3 } } do
      m:set(p[1], p[2], { bw_Bps = 0, expected_Bps = CAPACITY, class = "void", why = "busy" })
   end
   local list = findings.find(m, topo, number)
   lu.assertEquals(list[1].low, 13)
   for _, k in ipairs(again.keys(m, list)) do
      local i, j = m:at(k)
      m:set(i, j, { bw_Bps = 6e6, expected_Bps = CAPACITY, class = "low", again = true })
   end
   again.merge(m, list, (findings.find(m, topo, number)))
   again.confirm(m, list)
   lu.assertEquals({ list[1].name, list[1].low, list[1].confirmed }, { "n5/tx", 15, true })
   lu.assertEquals({ list[2].name, list[2].low, list[2].confirmed }, { "n1 to n2", 1, true })
   lu.assertEquals(#list, 2)
end

function tests.test_no_more_pairs_are_asked_again_than_the_limit()
   local m, topo, number = measured({ 4, 4, 2 }, 1, {})
   for k in pairs(m.class) do
      if (k * k) % 7 == 1 or k % 11 == 3 then
         m.class[k], m.bw[k] = "low", 5e6
      end
   end
   lu.assertEquals(#again.keys(m, findings.find(m, topo, number)), 48)
end

function tests.test_latency_is_held_against_routes_of_the_same_length()
   local topo = sim.torus({ 8 }, 1)
   local m = data.new(topo.nodes, { mode = "latency" })
   local number = {}
   for i = 1, 8 do
      number[i] = i
      for j = 1, 8 do
         if i ~= j then
            local hops = topo:hops(i, j)
            local ns = 1000 + 500 * hops + (i == 3 and 9000 or 0)
            m:set(i, j, { class = "good", lat_ns = { median = ns, p99 = 2 * ns }, hops = hops })
         end
      end
   end
   m:judge_latency(2)
   local text, list = found(m, topo, number)
   lu.assertEquals(text, "tx n2/tx")
   lu.assertStrContains(words.finding(m, list[1]), "times the usual latency")
end

function tests.test_summary_and_margins()
   local m = measured({ 4, 2, 2 }, 1, { ["n5/tx"] = 0.25 },
      { skip = function(i) return i == 1 end })
   local s = m:summary()
   lu.assertEquals({ s.pairs, s.measured, s.low, s.void, s.worst.i }, { 240, 225, 15, 0, 6 })
   local row, column = m:margins()
   lu.assertNil(row[1])
   lu.assertAlmostEquals(row[6], 0.25, 0.01)
   lu.assertAlmostEquals(column[6], 1, 0.02)
   lu.assertEquals(data.new({ "a" }):summary(), { pairs = 0, measured = 0, good = 0, low = 0,
      void = 0 })
end

return tests
