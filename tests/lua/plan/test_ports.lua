-- SPDX-License-Identifier: GPL-2.0-or-later
-- Which way a hashed flow took: what plans ask, what answers tell, what a test then stands for.
local config = require "taut.config"
local coverage = require "taut.plan.coverage"
local diagnose = require "taut.diagnose"
local expectation = require "taut.topology.model.expectation"
local lu = require "luaunit"
local plan = require "taut.plan"
local ports = require "taut.plan.ports"
local sim = require "lib.sim"
local topology = require "taut.topology"
local ways = require "taut.topology.ways"

local tests = {}
local PER, SPINES, LEAVES = 4, 6, 8

-- Every port has an address but those of spine 5, which has one for all of them.
local function numbered(leaves, spines)
   local list = { ["spine" .. spines - 1] = "fd00::5" }
   for s = 0, spines - 1 do
      for l = 0, leaves - 1 do
         list[("leaf%d/%d"):format(l, PER + 1 + s)] = ("10.1.%d.%d"):format(l, s)
         if s < spines - 1 then
            list[("spine%d/%d"):format(s, l + 1)] = ("10.2.%d.%d"):format(s, l)
         end
      end
   end
   return list
end

local function build(addresses)
   return topology.build { kind = "fattree", nodes_per_leaf = PER,
      levels = { { down = LEAVES, up = SPINES } }, nodes = "n[0-31]", capacity = 1e9,
      routing = "ecmp", addresses = addresses }
end

local topo = assert(build(numbered(LEAVES, SPINES)))

-- The way over one spine, and what routers answer on it.
local function over(src, dst, spine)
   local from, to = (src - 1) // PER, (dst - 1) // PER
   local up = topo.component_id[("leaf%d/%d"):format(from, PER + 1 + spine)]
   local down = topo.component_id[("spine%d/%d"):format(spine, to + 1)]
   return { topo.tx[src], up, down, topo.rx[dst] },
      { "", spine == SPINES - 1 and "fd00::5" or ("10.2.%d.%d"):format(spine, from),
         ("10.1.%d.%d"):format(to, spine) }
end

local function test(o)
   local t = { src = 1, dst = 9, phase = 1, streams = 1, route = topo:route(1, 9),
      asked = ways.of(topo, topo:route(1, 9)) }
   for k, v in pairs(o or {}) do
      t[k] = v
   end
   return t
end

-- What a test's way is known to be by these answers.
local function taken(answers, o, aimed)
   local t = test(o)
   ways.take(topo, t, ways.shown(topo, t.asked, answers), aimed or 0)
   return t
end

function tests.test_answers_are_links_by_port_or_by_router()
   for spine = 0, SPINES - 1 do
      local way, answers = over(1, 9, spine)
      local t = taken(answers)
      lu.assertEquals(t.way, way)
      lu.assertEquals(t.route, way)
      lu.assertTrue(t.is_traced)
   end
end

function tests.test_the_wiring_tells_what_a_silent_switch_does_not()
   local way, answers = over(1, 9, 3)
   for hop = 2, 3 do
      local some = table.move(answers, 1, 3, 1, {})
      some[hop] = ""
      lu.assertEquals(taken(some).way, way)
   end
end

function tests.test_what_nobody_answered_stays_a_set()
   for _, answers in ipairs { { "", "", "" }, { "", "10.9.9.9", "10.9.9.8" }, {} } do
      local t = taken(answers)
      lu.assertEquals(t.way, { topo.tx[1], false, false, topo.rx[9] })
      lu.assertEquals(t.route, topo:route(1, 9))
      lu.assertFalse(t.is_traced)
   end
   lu.assertEquals(taken(nil).route, topo:route(1, 9))
end

-- A trace that shows what is not on the route is no trace of it.
function tests.test_an_answer_from_elsewhere_means_nothing()
   local _, answers = over(1, 13, 3)
   lu.assertEquals(taken({ "", "", answers[3] }).way, { topo.tx[1], false, false, topo.rx[9] })
end

function tests.test_a_test_of_another_link_confirms_nothing()
   local way, answers = over(1, 9, 3)
   lu.assertEquals(taken(answers, { confirms = way[3] }).confirms, way[3])
   lu.assertNil(taken(answers, { confirms = over(1, 9, 2)[3] }).confirms)
   lu.assertNil(taken({ "", "", "" }, { confirms = way[3] }).confirms)
   lu.assertEquals(taken(answers, { confirms = topo.rx[9] }).confirms, topo.rx[9])
end

-- Each of several streams goes its own way: what counts is what all of them were aimed at.
function tests.test_several_streams_stand_for_what_they_aimed_at()
   local way, answers = over(1, 9, 3)
   local many = { streams = 16, confirms = way[2], aim = { link = way[2], hop = 2 } }
   local t = taken(answers, many, 9)
   lu.assertEquals({ t.streams, t.confirms, t.way }, { 9, way[2], way }) -- one way on from spine 3
   t = taken(answers, many, 0) -- none did
   lu.assertEquals({ t.streams, t.route }, { 16, topo:route(1, 9) })
   lu.assertNil(t.confirms)
   lu.assertEquals(taken(answers, { streams = 16 }).route, topo:route(1, 9))
   local _, other = over(1, 9, 2) -- the switches were rehashed between
   lu.assertNil(taken(other, many, 16).confirms)
   lu.assertEquals(taken(answers, many, 99).streams, 16) -- more than there were
end

-- The port has answered for the link before the test: nobody need answer once more.
function tests.test_what_was_aimed_at_counts_where_later_nobody_answers()
   local way = over(1, 9, 3)
   local o = { confirms = way[3], aim = { link = way[3], hop = 3 } }
   lu.assertEquals(taken({ "", "", "" }, o, 1).way, way)
   lu.assertEquals(taken({ "", "", "" }, o, 0).way, { topo.tx[1], false, false, topo.rx[9] })
end

-- A switch that answers as another one, or a way that changed while it was asked for: which of the
-- two is right nobody knows.
function tests.test_answers_that_do_not_meet_name_no_link()
   local answers = select(2, over(1, 9, 3))
   answers[2] = select(2, over(1, 9, 2))[2]
   lu.assertEquals(taken(answers).way, { topo.tx[1], false, false, topo.rx[9] })
end

-- Two nodes aim at a link that is wider than one of them.
function tests.test_tests_on_one_link_share_it()
   local way, answers = over(1, 9, 3)
   local one, two, other = taken(answers), taken(answers), taken((select(2, over(1, 9, 2))))
   local later = taken(answers, { phase = 2 })
   ways.share { one, two, other, later }
   for _, t in ipairs { one, two } do
      lu.assertEquals(t.shares, { [way[2]] = 2, [way[3]] = 2 })
      lu.assertEquals(expectation.of_test(t, topo), 5e8)
   end
   lu.assertNil(other.shares)
   lu.assertNil(later.shares)
end

local function planned(of, wanted)
   local o = { topology = of, nodes = sim.run_of(1, 16), coverage = coverage.new(false),
      checks = sim.checks, budget_ms = 220, now = 1e6, wanted = wanted }
   local list = {}
   for _, phase in ipairs(plan.make(o)) do
      table.move(phase, 1, #phase, #list + 1, list)
   end
   return list
end

function tests.test_a_plan_asks_where_there_is_a_choice()
   local used, suspect = {}, over(1, 9, 3)[2]
   local aimed = {}
   local want = { component = suspect, tests = 1 }
   for _, t in ipairs(planned(topo, { want })) do
      local is_far = #t.route > 2
      lu.assertEquals(t.trace, is_far and 3 or nil)
      lu.assertEquals(t.asked ~= nil, is_far)
      for k = 0, is_far and math.max(15, (t.aim and t.aim.ports or 0) - 1) or -1 do
         lu.assertNil(used[t.src_port + k]) -- no port serves twice
         used[t.src_port + k] = true
      end
      if t.confirms then -- the link of its way over spine 3
         lu.assertEquals(t.aim.link, over(t.src, t.dst, 3)[t.aim.hop])
         lu.assertEquals(t.confirms, suspect)
         aimed[#aimed + 1] = t.streams
      end
   end
   table.sort(aimed)
   lu.assertEquals(aimed, { 1, sim.checks.confirm_streams })
end

-- It is not known who keeps silent: not all pairs depend on the router at the end of the link.
function tests.test_pairs_aim_by_either_router()
   local asking = ports.new(topo, coverage.new(false, #topo.components))
   for stage = 2, 3 do
      local c, hops = over(1, 9, 3)[stage], {}
      for dst = 9, 12 do
         local t = test { dst = dst, route = topo:route(1, dst), confirms = c }
         asking:ask(t)
         hops[t.aim.hop] = true
         ways.take(topo, t, ways.shown(topo, t.asked, {}), 1)
         lu.assertEquals({ t.confirms, t.way[stage] }, { c, c })
      end
      lu.assertEquals(hops, { [2] = true, [3] = true })
   end
end

-- One of two routers keeps silent: a job of only two leaves has to come by the other one as well.
function tests.test_a_pair_aims_by_another_router_in_the_next_plan()
   local asking, hops = ports.new(topo, coverage.new(false, #topo.components)), {}
   local c = over(1, 9, 3)[2]
   for _ = 1, 2 do
      asking:begin()
      local there = test { confirms = c }
      asking:ask(there)
      hops[#hops + 1] = there.aim.hop
   end
   table.sort(hops)
   lu.assertEquals(hops, { 2, 3 })
end

-- A test that is about no link tries a few ports for one that is due; no two of a plan for the same
-- while others are left.
function tests.test_routine_tests_take_turns_over_the_links_of_a_set()
   local known = coverage.new(false, #topo.components)
   local asking, all, late = ports.new(topo, known), {}, over(1, 9, 4)[2]
   for spine = 0, SPINES - 1 do
      local way = over(1, 9, spine)
      all[way[2]], all[way[3]] = spine, spine
      known:touch(way[2], way[2] == late and 5 or 10)
      known:touch(way[3], 10)
   end
   local spines = {}
   asking:begin()
   for k = 1, SPINES do
      local t = test()
      asking:ask(t)
      spines[k] = all[t.aim.link]
      lu.assertEquals(t.aim.ports, 8)
      lu.assertNil(t.confirms)
   end
   lu.assertEquals(spines[1], 4)
   table.sort(spines)
   lu.assertEquals(spines, { 0, 1, 2, 3, 4, 5 })
end

-- Of 70 links eight ports seldom take a certain one: they are not even looked through.
function tests.test_routine_tests_are_not_aimed_in_large_sets()
   local wide = assert(topology.build { kind = "fattree", nodes_per_leaf = PER,
      levels = { { down = 2, up = 70 } }, nodes = "n[0-7]", capacity = 1e9, routing = "ecmp",
      addresses = numbered(2, 70) })
   local asking = ports.new(wide, coverage.new(false, #wide.components))
   asking:begin()
   local t = { src = 1, dst = 5, phase = 1, streams = 1, route = wide:route(1, 5) }
   asking:ask(t)
   lu.assertEquals(t.trace, 3)
   lu.assertNil(t.aim)
end

-- It clears and accuses what it took, whether that was what it was aimed at or not.
function tests.test_a_routine_test_stands_for_what_it_took()
   local asking = ports.new(topo, coverage.new(false, #topo.components))
   asking:begin()
   local t = test()
   asking:ask(t)
   local way, answers = over(1, 9, 2)
   ways.take(topo, t, ways.shown(topo, t.asked, answers), 0)
   lu.assertEquals(t.way, way)
   lu.assertTrue(t.is_traced)
   lu.assertNil(t.confirms)
end

function tests.test_nothing_is_asked_where_nobody_said_how_ports_answer()
   for _, t in ipairs(planned(assert(build()))) do
      lu.assertNil(t.src_port)
      lu.assertNil(t.trace)
   end
end

function tests.test_what_a_test_took_is_cleared_and_nothing_else()
   local d = diagnose.new(topo, assert(config.diagnosis {}))
   local way, answers = over(1, 9, 3)
   local function event(n, ratio, known)
      local t = test { id = n, event = n, time = n * 100, ratio = ratio,
         class = ratio < 0.75 and "low" or "good", bw_Bps = ratio * 1e9, expected_Bps = 1e9 }
      ways.take(topo, t, ways.shown(topo, t.asked, known), 0)
      d:observe({ t }, n * 100)
   end
   event(1, 1, answers)
   for spine = 0, SPINES - 1 do
      for _, c in ipairs { over(1, 9, spine)[2], over(1, 9, spine)[3] } do
         lu.assertEquals(d.evidence:cleared(c) == 100, spine == 3)
      end
   end
   event(2, 0.4, answers)
   event(3, 0.4, nil)
   lu.assertEquals(d.evidence:low(way[2]), 1)
   lu.assertEquals(d.evidence:low(over(1, 9, 2)[2]), 0)
   lu.assertEquals(d.evidence:low(topo.tx[1]), 2)
end

-- Broken routes are others': a way that is one of them is of this epoch all the same.
function tests.test_ways_count_after_links_have_failed()
   local d = diagnose.new(topo, assert(config.diagnosis {}))
   local lost, way, answers = over(1, 9, 5)[2], over(1, 9, 3)
   topo:set_health { [lost] = 0, [topo:opposite(lost)] = 0 }
   local t = test { id = 1, event = 1, time = 100, ratio = 0.4, class = "low", bw_Bps = 4e8,
      expected_Bps = 1e9 }
   ways.take(topo, t, ways.shown(topo, t.asked, answers), 0)
   d:observe({ t }, 100)
   lu.assertEquals(d.evidence:low(way[2]), 1)
   topo:set_health {}
end

function tests.test_addresses_that_are_none_are_refused()
   for name, case in pairs {
      [ [[topology.addresses['leaf9/1']: is neither a router nor a port of one]] ]
         = { ["leaf9/1"] = "10.0.0.1" },
      [ [[topology.addresses['leaf0/1']: is neither a router nor a port of one]] ]
         = { ["leaf0/1"] = "10.0.0.1" }, -- a node's
      [ [[topology.addresses['leaf0/5']: expected an address in quotes, got spine]] ]
         = { ["leaf0/5"] = "spine" },
      [ [[topology.addresses['leaf0/5']: expected an address in quotes, got 7]] ]
         = { ["leaf0/5"] = 7 },
      [ [[topology.addresses: expected a table { ["leaf0/3"] = "10.0.0.1", … }, got x]] ] = "x",
   } do
      local _, err = build(case)
      lu.assertEquals(err, name)
   end
   local _, err = build { ["leaf0/5"] = "10.0.0.1", ["leaf0/6"] = "10.0.0.1" }
   lu.assertStrContains(err, "10.0.0.1 is another port's, too")
end

return tests
