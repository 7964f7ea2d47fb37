-- SPDX-License-Identifier: GPL-2.0-or-later
-- The schedule of `taut matrix`: every pair, both ways, and who shares what with whom.
local expectation = require "taut.topology.model.expectation"
local lu = require "luaunit"
local matrix = require "taut.survey.matrix"
local sim = require "lib.sim"
local steps = require "taut.survey.matrix.steps"

local CAPACITY = 24e6
local SETTINGS = { matrix_ms = 50 }
local DIAGNOSIS = { good = 0.75, clear_most = 0.95 }
local tests = {}

function tests.test_steps_are_disjoint_and_cover_all_pairs()
   for n = 2, 33 do
      local met, count = {}, 0
      for k = 1, steps.count(n) do
         local seen = {}
         for _, p in ipairs(steps.step(n, k)) do
            lu.assertNil(seen[p[1]])
            lu.assertNil(seen[p[2]])
            seen[p[1]], seen[p[2]] = true, true
            local key = math.min(p[1], p[2]) * 100 + math.max(p[1], p[2])
            lu.assertNil(met[key])
            met[key], count = true, count + 1
         end
      end
      lu.assertEquals(count, n * (n - 1) // 2)
      lu.assertEquals(steps.count(n), n % 2 == 0 and n - 1 or n)
   end
end

local function nodes_of(topo, every)
   local list = {}
   for n = 1, #topo.nodes, every or 1 do
      list[#list + 1] = n
   end
   return list
end

local function begin(topo, options, every)
   return matrix.begin { topology = topo, nodes = nodes_of(topo, every), settings = SETTINGS,
      diagnosis = DIAGNOSIS, options = options or {} }
end

-- Plays a job to its end; measure(t) sets class and figures.  Returns all tests, phases, rows.
local function play(job, measure)
   local all, phases, rows = {}, {}, {}
   local present = {}
   for _, n in ipairs(job.nodes) do
      present[n] = true
   end
   while true do
      local list = job:next(present)
      if list == nil then
         return all, phases, rows
      end
      for _, phase in ipairs(list) do
         phases[#phases + 1] = phase
         for _, t in ipairs(phase) do
            measure(t)
            all[#all + 1] = t
         end
         for _, row in ipairs(job:take(phase)) do
            rows[#rows + 1] = row
         end
      end
   end
end

local function healthy(t)
   t.expected_Bps = t.planned_Bps or CAPACITY
   t.bw_Bps = t.bw_Bps or 0.98 * t.expected_Bps
   t.class = t.bw_Bps >= 0.75 * t.expected_Bps and "good" or "low"
end

local function slow(topo, name, left)
   local c = topo.component_id[name]
   return function(t)
      for _, stage in ipairs(t.route) do
         t.bw_Bps = t.bw_Bps or stage == c and left * CAPACITY or nil
      end
      healthy(t)
   end
end

local function pairs_of(all)
   local seen, count = {}, 0
   for _, t in ipairs(all) do
      local key = t.src .. ">" .. t.dst
      if not t.again then
         lu.assertNil(seen[key])
         seen[key], count = true, count + 1
      end
   end
   return count
end

function tests.test_steps_are_only_shown()
   for asked, shown in pairs { [true] = true, [false] = false } do
      for _, t in ipairs((play(begin(sim.torus({ 4 }, 1), { steps = asked }), healthy))) do
         lu.assertEquals(t.shown_only or false, shown)
      end
   end
end

function tests.test_bad_options_are_refused()
   local topo = sim.torus({ 4 }, 1)
   for _, ms in ipairs { 4, 2001, 20.5, "20", true } do
      local job, err = begin(topo, { ms = ms })
      lu.assertNil(job)
      lu.assertStrContains(err, "ms: expected a whole number from 5 to 2000")
   end
   local job, err = matrix.begin { topology = topo, nodes = { 3 }, settings = SETTINGS,
      diagnosis = DIAGNOSIS, options = {} }
   lu.assertNil(job)
   lu.assertStrContains(err, "at least 2 nodes")
end

function tests.test_every_pair_is_measured_once_and_shares_nothing()
   for _, case in ipairs { { { 4, 2, 2 }, 1 }, { { 4, 2, 2 }, 2 }, { { 5, 3 }, 1 }, { { 2 }, 1 },
      { { 3, 3, 3 }, 1, 2 } } do
      local topo = sim.torus(case[1], case[2])
      local job = begin(topo, nil, case[3])
      local n = #job.nodes
      local all, phases = play(job, healthy)
      lu.assertEquals(pairs_of(all), n * (n - 1))
      for _, phase in ipairs(phases) do
         local data, ack, node = {}, {}, {}
         for _, t in ipairs(phase) do
            lu.assertNil(node[t.src])
            lu.assertNil(node[t.dst])
            node[t.src], node[t.dst] = true, true
            for _, c in ipairs(t.route) do
               lu.assertNil(data[c])
               data[c] = true
            end
            for _, c in ipairs(t.back) do
               ack[c] = true
            end
         end
         for c in pairs(data) do
            lu.assertNil(ack[c])
         end
      end
   end
end

-- 16 nodes need 30 phases even if links carried everything: little is lost by exactness.
function tests.test_sixteen_nodes_take_few_phases()
   local _, phases = play(begin(sim.torus({ 4, 2, 2 }, 1)), healthy)
   lu.assertTrue(#phases <= 36, #phases)
end

function tests.test_classic_steps_know_what_pairs_share()
   local topo = sim.torus({ 4, 2, 2 }, 1)
   local all, phases = play(begin(topo, { steps = true }), healthy)
   lu.assertEquals(pairs_of(all), 240)
   lu.assertEquals(#phases, 30)
   local least = math.huge
   for _, phase in ipairs(phases) do
      local load = {}
      for _, t in ipairs(phase) do
         for _, c in ipairs(t.route) do
            load[c] = (load[c] or 0) + 1
         end
      end
      for _, t in ipairs(phase) do
         local most = 0
         for _, c in ipairs(t.route) do
            most = math.max(most, load[c])
         end
         lu.assertAlmostEquals(t.planned_Bps, CAPACITY / most, 1)
         least = math.min(least, t.planned_Bps)
      end
   end
   lu.assertTrue(least < CAPACITY)
end

function tests.test_a_hashed_stage_carries_its_share()
   local topo = { capacity = { 10, 10, 8, 8, 10, 10 } }
   local set = { 3, 4, w = { 0.5, 0.5 } }
   local a, b = { route = { 1, set, 2 } }, { route = { 5, set, 6 } }
   local load = expectation.streams_through { a, b }
   lu.assertEquals({ load[3], load[4], load[1] }, { 1.0, 1.0, 1 })
   lu.assertEquals(expectation.of_way(a.route, topo, load), 8)
   lu.assertEquals(expectation.of_way(a.route, topo, expectation.streams_through { a, b, a, b }), 4)
end

function tests.test_what_is_slow_is_measured_again_alone_and_named()
   local topo = sim.torus({ 4, 2, 2 }, 1)
   local job = begin(topo)
   local all, phases = play(job, slow(topo, "n5/tx", 0.25))
   local again = 0
   for _, t in ipairs(all) do
      if t.again then
         again = again + 1
         lu.assertEquals(t.dur_ms, 100)
      end
   end
   lu.assertEquals(again, 6)
   for i = #phases - again + 1, #phases do
      lu.assertEquals(#phases[i], 1)
   end
   local found = job:finish()
   lu.assertEquals(#found.findings, 1)
   local f = found.findings[1]
   lu.assertEquals({ f.kind, f.name, f.confirmed, f.again }, { "tx", "n5/tx", true,
      { asked = 6, low = 6 } })
   lu.assertNil(f.pairs)
   lu.assertEquals(#f.cells, 15)
   for _, k in ipairs(f.cells) do
      lu.assertEquals((job.m:at(k)), 6)
   end
end

function tests.test_what_stays_void_gets_three_looks()
   local job = begin(sim.torus({ 4 }, 1))
   local looks = { [1] = 0, [2] = 0 }
   play(job, function(t)
      healthy(t)
      if t.src <= 2 and t.dst == 4 then
         looks[t.src] = looks[t.src] + (t.again and 1 or 0)
         t.class = (t.src == 1 or looks[t.src] < 2) and "void" or t.class
      end
   end)
   lu.assertEquals(looks, { 3, 2 })
   lu.assertEquals(job.m.class[job.m:key(2, 4)], "good")
end

function tests.test_no_second_look_when_not_wanted()
   local topo = sim.torus({ 4, 2, 2 }, 1)
   local all = play(begin(topo, { again = false }), slow(topo, "n5/tx", 0.25))
   lu.assertEquals(#all, 240)
end

function tests.test_a_run_that_was_stopped_is_explained()
   local topo = sim.torus({ 4, 2, 2 }, 1)
   local job = begin(topo)
   local measure = slow(topo, "n5/rx", 0.25)
   for _, phase in ipairs(job:next()) do
      for _, t in ipairs(phase) do
         measure(t)
      end
      job:take(phase)
   end
   local found = job:finish "stopped by its owner"
   lu.assertEquals(found.findings[1].name, "n5/rx")
end

-- A void second look is not a reason to forget the first.
function tests.test_void_and_gone()
   local topo = sim.torus({ 4 }, 1)
   local job = begin(topo)
   local function measure(t)
      if t.again and t.src == 2 then
         t.class, t.why, t.expected_Bps, t.bw_Bps = "void", "busy", CAPACITY, 0
      elseif t.dst == 4 then
         t.class, t.why, t.skipped = "void", "n3 takes no part any more", true
      else
         slow(topo, "n1/tx", 0.25)(t)
      end
   end
   local _, _, rows = play(job, measure)
   local last = {}
   for _, r in ipairs(rows) do
      last[r.from .. ">" .. r.to] = r
   end
   lu.assertEquals(last["n1>n0"].class, "low")
   lu.assertEquals(last["n0>n3"].why, "n3 takes no part any more")
   lu.assertEquals(job:finish().findings[1].name, "n1/tx")
end

function tests.test_a_pair_without_a_route_is_void()
   local topo = sim.torus({ 4 }, 1)
   local route = topo.route
   function topo.route(self, a, b)
      if a == 2 and b == 3 then
         return nil, "no route in the order XYZ"
      end
      return route(self, a, b)
   end
   local all, _, rows = play(begin(topo), healthy)
   lu.assertEquals(pairs_of(all), 10) -- nor back: there would be no acknowledgements
   local void = {}
   for _, r in ipairs(rows) do
      void[#void + 1] = r.class == "void" and r.from .. ">" .. r.to .. " " .. r.why or nil
   end
   table.sort(void)
   lu.assertEquals(void, { "n1>n2 no route in the order XYZ", "n2>n1 no route back" })
end

function tests.test_layout_says_where_routers_end()
   local job = begin(sim.torus({ 2, 2, 2 }, 2))
   local names = {}
   for i, level in ipairs(job.layout.levels) do
      names[i] = level.name .. " " .. table.concat(level.starts, ",") .. " " .. level.labels[2]
   end
   lu.assertEquals(names, { "X 1,9 X1", "Y 1,5,9,13 X0 Y1",
      "router 1,3,5,7,9,11,13,15 r0.0.1" })
end

---------------------------------------------------------------- rails

-- A fat tree whose second rail is a plane of its own.
local function two_rails()
   return assert(require "taut.topology".build { kind = "fattree", nodes_per_leaf = 2,
      levels = { { down = 2, up = 1 } }, nodes = "n[0-3]", capacity = CAPACITY, rails = 2 })
end

-- Once only the first rail was measured, and nobody said so.
function tests.test_every_rail_has_its_matrix()
   local topo = two_rails()
   local job = begin(topo)
   lu.assertEquals(#job.layout.rails, 2)
   job.nodes = nodes_of(topo)
   local all, _, rows = play(job, slow(topo, "n2:2/tx", 0.25))
   local count = { 0, 0 }
   for _, t in ipairs(all) do
      count[t.rail] = count[t.rail] + (t.again and 0 or 1)
      lu.assertEquals(select(2, topo:node_of(t.route[1])), t.rail)
      lu.assertEquals(select(2, topo:node_of(t.back[1])), t.rail)
   end
   lu.assertEquals(count, { 12, 12 })
   for _, r in ipairs(rows) do
      lu.assertEquals(r.class == "low", r.rail == 2 and r.from == "n2", r.from .. r.rail)
   end
   local found = job:finish().rails
   lu.assertEquals({ #found, #found[1].findings, #found[2].findings }, { 2, 0, 1 })
   lu.assertEquals(found[2].findings[1].name, "n2:2/tx")
end

function tests.test_one_rail_of_several()
   local topo = two_rails()
   local job = begin(topo, { rail = 2, single = true })
   lu.assertEquals(job.layout.rail, 2)
   local all = play(job, healthy)
   lu.assertEquals(pairs_of(all), 12)
   for _, t in ipairs(all) do
      lu.assertEquals(t.rail, 2)
   end
   for _, rail in ipairs { 0, 3, 1.0, "2" } do
      local none, why = begin(topo, { rail = rail })
      lu.assertNil(none)
      lu.assertEquals(why, "rail: expected 1 to 2, got " .. tostring(rail))
   end
   local none, why = begin(topo, { single = true })
   lu.assertNil(none)
   lu.assertStrContains(why, "--rail 1 to 2")
   none, why = begin(sim.torus({ 4 }, 1), { rail = 2 })
   lu.assertNil(none)
   lu.assertEquals(why, "rail: expected 1, as this machine has one, got 2")
   lu.assertNil(begin(sim.torus({ 4 }, 1), { rail = 1 }).layout.rail)
end

-- Planning and explaining must not hold up tautd's loop.
function tests.test_a_large_matrix_breathes()
   local breaths = 0
   local topo = sim.torus({ 8, 8, 8 }, 1)
   local job = matrix.begin { topology = topo, nodes = nodes_of(topo), settings = SETTINGS,
      diagnosis = DIAGNOSIS, options = {}, breathe = function() breaths = breaths + 1 end }
   lu.assertTrue(#job:next() >= 32)
   lu.assertTrue(breaths > 1000)
   breaths = 0
   job:take { { i = 1, j = 2, src = 1, dst = 2, class = "low", bw_Bps = 1, expected_Bps = 9 } }
   job:finish()
   lu.assertTrue(breaths >= 512)
end

return tests
