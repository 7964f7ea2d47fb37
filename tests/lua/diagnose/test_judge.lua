-- SPDX-License-Identifier: GPL-2.0-or-later
local expectation = require "taut.topology.model.expectation"
local judge = require "taut.diagnose.judge"
local lu = require "luaunit"
local sim = require "lib.sim"

local tests = {}
local MS = 1000000

local function judged(send, recv)
   local topo = sim.torus({ 4, 2, 2 }, 2)
   local t = { src = 1, dst = 3, route = topo:route(1, 3), dur_ms = 25 }
   return judge.test(t, send, recv, topo, sim.quick)
end

-- A report of `share` of 24 MB/s over 20 ms.
local function report(share, more)
   local r = { bytes = math.floor(24e6 * 0.02 * share), window_ns = 20 * MS }
   for k, v in pairs(more or {}) do
      r[k] = v
   end
   return r
end

-- A receiver that has seen enough had a look in each part until then, and there are fewer.
function tests.test_a_test_that_ended_early_is_good()
   local early = { looks = 3, sub_bytes = { 8, 8, 8 } }
   lu.assertEquals(judged(report(1), report(1, early)).class, "good")
   early.looks = 2
   lu.assertStrContains(judged(report(1), report(1, early)).why, "2 of 3 parts")
end

function tests.test_what_makes_a_test_void()
   local cases = {
      { report(1), nil, "n2 did not report" },
      { nil, report(1), "n0 did not report" },
      { { error = "connect 10.0.0.1:1: Connection refused" }, report(0), "Connection refused" },
      { report(0.5, { delay_ns = 4 * MS }), report(0.5), "n0 waited for a CPU for 4.0 ms" },
      { report(0.5), report(0.5, { delay_ns = 4 * MS }), "n2 waited for a CPU" },
      { report(0.5, { foreign_bytes = 100000 }), report(0.5), "port of n0 carried 100 kB" },
      { report(1), report(1, { looks = 3, sub_bytes = { 1, 1, 1, 1, 1, 1, 1, 1 } }),
         "n2 was asleep: it received in 3 of 8 parts" },
      -- a late process saw nothing of what its kernel had acknowledged: called a dead link once
      { report(0, { window_ns = 6 * MS }), report(0), "n0 opened its stream late: 6 of 20 ms" },
      { report(0.2), report(0), "n2 counted nothing of what it had acknowledged to n0" },
      { report(0.9), report(0.2), "n2 received 4.8 MB/s, n0 sent 21.6 MB/s" },
   }
   for i, c in ipairs(cases) do
      local t = judged(c[1], c[2])
      lu.assertEquals(t.class, "void", i)
      lu.assertStrContains(t.why, c[3])
   end
end

-- Its own streams may have found no room; nobody reaches more than the route carries.
-- Two virtual machines on one host: the stream never was on the cable, and cleared it.
function tests.test_far_more_than_its_way_carries_shows_nothing()
   local t = judged(report(208), report(208))
   lu.assertEquals(t.class, "void")
   lu.assertStrContains(t.why, "208 times what its way carries")
   lu.assertEquals(judged(report(1.9), report(1.9)).class, "good")
   -- what was planned beside others may have the whole way to itself
   local topo = sim.torus({ 4, 2, 2 }, 2)
   t = { src = 1, dst = 3, route = topo:route(1, 3), dur_ms = 25, shares = {} }
   for _, c in ipairs { 1, 6 } do
      t.shares[c] = 4
   end
   lu.assertEquals(judge.test(t, report(1), report(1), topo, sim.quick).class, "good")
end

function tests.test_strangers_at_the_port_make_a_low_test_void_and_no_good_one()
   for _, o in ipairs { { strangers = 3 }, { strangers = 0, full = 1 } } do
      for share, class in pairs { [0] = "void", [0.5] = "void", [0.98] = "good" } do
         local t = judged(report(share), report(share, o))
         lu.assertEquals(t.class, class, share)
         lu.assertNil(t.port)
      end
   end
   lu.assertEquals(judged(report(0), report(0, { strangers = 3, full = 7 })).why,
      "n2 was called by others: 3 connections were no test's, and more found no room")
   lu.assertEquals(judged(report(0), report(0)).class, "low") -- a SYN that nobody answers
end

-- A report where others sent `data` with the test's data and `back` beside its acknowledgements, as
-- shares of the port.
local function others(share, data, back)
   local window = 24e6 * 0.02
   return report(share, { foreign_bytes = math.floor(24e6 * 0.025 * (data + (back or 0))),
      port_ns = 20 * MS, port_data_bytes = math.floor(1.03 * window * (share + data)),
      port_with_bytes = math.floor(1.03 * window * data),
      port_back_bytes = math.floor(1.03 * window * (back or 0)) })
end

function tests.test_a_loaded_port_tells_what_it_carried_in_all()
   local function changed(r, name, v)
      r[name] = v
      return r
   end
   local cases = {
      -- the sender, the receiver; component; share of the port; is it low
      { others(0.05, 0), others(0.05, 0.14), "n2/rx", 0.19, true },
      { others(0.05, 0.14), others(0.05, 0), "n0/tx", 0.19, true },
      { report(0.05), others(0.05, 0.14), "n2/rx", 0.19, true },
      { others(0.25, 0.74), others(0.25, 0.05, 0.04), "n0/tx", 0.99, false },
      { others(0.3, 0.3), others(0.3, 0), "n0/tx", 0.6, false },
      -- beside the acknowledgements; at both ends
      { others(0.05, 0.14, 0.2), others(0.05, 0) },
      { others(0.05, 0), others(0.05, 0, 0.2) },
      { others(0.05, 0.14), others(0.05, 0.14) },
      -- the port was not looked at, or for a moment only, or its counters miss the test itself
      { report(0.05, { foreign_bytes = 100000 }), others(0.05, 0) },
      { changed(others(0.05, 0.14), "port_ns", 9 * MS), others(0.05, 0) },
      { changed(others(0.05, 0.14), "port_data_bytes", 1000), others(0.05, 0) },
      { changed(others(0.05, 0.14), "port_data_bytes", nil), others(0.05, 0) },
   }
   local topo = sim.torus({ 4, 2, 2 }, 2)
   for i, c in ipairs(cases) do
      local t = judged(c[1], c[2])
      lu.assertEquals(t.class, "void", i)
      lu.assertStrContains(t.why, "of other traffic")
      lu.assertEquals(t.port and topo.components[t.port.component], c[3], i)
      if c[3] then
         lu.assertAlmostEquals(t.port.Bps / 24e6, c[4], 1e-3)
         lu.assertEquals(t.port.is_low, c[5])
         lu.assertStrContains(t.why, ("%d%% of what it should in all"):format(100 * c[4]))
         local class, ratio = judge.shown(t, t.port.component)
         lu.assertEquals(class, c[5] and "low" or "void")
         lu.assertAlmostEquals(ratio, c[5] and c[4] or t.ratio, 1e-3)
         lu.assertEquals({ judge.shown(t, t.route[2]) }, { "void", t.ratio })
      end
   end
   -- what a node reckons may miss what goes beside the acknowledgements: the window shows it
   local quiet = others(0.3, 0)
   lu.assertEquals(judged(changed(others(0.3, 0, 0.2), "foreign_bytes", 0), quiet).class, "void")
   lu.assertEquals(judged(changed(others(0.3, 0, 0.05), "foreign_bytes", 0), quiet).class, "low")
   local t = judged(changed(others(0.05, 0.14), "foreign_bytes", 0), others(0.05, 0))
   lu.assertEquals(t.class, "void")
   lu.assertTrue(t.port.is_low)
   lu.assertEquals(judged(changed(others(0.5, 0.09), "foreign_bytes", 0), others(0.5, 0)).class,
      "low")
   -- a good test, a quiet one and an idle sender tell nothing more
   lu.assertNil(judged(others(0.8, 0.14), others(0.8, 0)).port)
   lu.assertNil(judged(others(0.3, 0), others(0.3, 0)).port)
   lu.assertNil(judged(changed(others(0.05, 0.14), "busy_ns", 1 * MS),
      others(0.05, 0)).port)
end

local function pinged(send, recv)
   local topo = sim.torus({ 4, 2, 2 }, 2)
   local t = { src = 1, dst = 3, route = topo:route(1, 3), dur_ms = 25, mode = "latency" }
   return judge.test(t, send, recv, topo, sim.quick)
end

function tests.test_latency_is_a_figure_or_void_and_never_low()
   local lat = { n = 500, median = 4000, p99 = 9000 }
   local ping = { bytes = 4000, window_ns = 20 * MS, lat_ns = lat }
   local t = pinged(ping, report(0))
   lu.assertEquals(t.class, "good")
   lu.assertEquals(t.lat_ns, lat)
   local few = { bytes = 0, window_ns = 20 * MS, lat_ns = { n = 19, median = 1, p99 = 1 } }
   for _, c in ipairs { { few, report(0), "only 19 round trips" },
      { report(0), report(0), "only 0 round trips" }, { ping, nil, "n2 did not report" },
      { nil, report(0), "n0 did not report" }, { { error = "gone" }, report(0), "gone" },
      { ping, report(0, { delay_ns = 20 * MS }), "waited for a CPU" } } do
      t = pinged(c[1], c[2])
      lu.assertEquals(t.class, "void")
      lu.assertStrContains(t.why, c[3])
      lu.assertNil(t.lat_ns)
   end
end

-- Once a latency, "good" on any route, would have cleared what it crossed.
function tests.test_what_may_speak_for_or_against_components()
   for _, c in ipairs { { { class = "good", ratio = 1 }, true }, { { class = "low", ratio = 0 },
      true }, { { class = "void" }, true }, { { class = "good" }, false },
      { { class = "good", ratio = 1, mode = "latency" }, false }, { { ratio = 1 }, false },
      { { class = "void", mode = "latency" }, false },
      { { class = "low", ratio = 0.2, shown_only = true }, false } } do
      lu.assertEquals(judge.is_evidence(c[1]), c[2])
   end
end

function tests.test_what_a_test_can_show_of_a_component()
   local topo = { capacity = { 6.7e9, 9.75e9, 6.7e9 } }
   local t = { route = { 1, 2, 3 } }
   lu.assertAlmostEquals(judge.visible(t, 2, topo, sim.quick), sim.quick.good * 6.7 / 9.75, 1e-9)
   lu.assertEquals(judge.visible(t, 1, topo, sim.quick), sim.quick.good)
   lu.assertNil(judge.visible(t, 9, topo, sim.quick))
   -- two senders through the backplane: each can have half of it
   t.shares = { [2] = 2 }
   lu.assertEquals(expectation.of_test(t, topo), 4.875e9)
   lu.assertEquals(judge.visible(t, 2, topo, sim.quick), sim.quick.good)
end

-- Of a test that may end early it is enough that both ends call it good; nobody does so alone.
function tests.test_both_ends_say_good_and_how_good_they_do_not_agree_on()
   local topo = sim.torus({ 4, 2, 2 }, 2)
   local function of(sent, received, enough_Bps)
      local t = { src = 1, dst = 3, route = topo:route(1, 3), dur_ms = 25, enough_Bps = enough_Bps }
      judge.test(t, report(sent), report(received), topo, sim.quick)
      return { t.class, t.figure or false }
   end
   lu.assertEquals(of(1.4, 1, 1), { "good", false })
   lu.assertEquals(of(1, 1.4, 1), { "good", false })
   lu.assertEquals(of(1.1, 1, 1), { "good", true })
   lu.assertEquals(of(1.4, 1), { "void", false })
   lu.assertEquals(of(0.5, 1, 1), { "void", false })
   lu.assertEquals(of(1, 0.5, 1), { "void", false })
   lu.assertEquals(of(100, 0.5, 1), { "void", false })
   lu.assertEquals(of(0.5, 0.5, 1), { "low", true })
end

-- Neither makes a stream faster than its route: what arrived did arrive.
function tests.test_a_good_figure_stands_in_spite_of_delay_and_other_traffic()
   local late = report(0.9, { delay_ns = 20 * MS, foreign_bytes = 1e6 })
   lu.assertEquals(judged(late, late).class, "good")
end

function tests.test_what_the_ends_left_idle_is_not_held_against_the_route()
   local recv = report(0.4)
   -- busy for half of the window: the route carried 0.8 while it was asked to
   lu.assertEquals(judged(report(0.4, { busy_ns = 10 * MS }), recv).class, "void")
   -- busy all the time, or a delay that left data under way: the route is slow
   lu.assertEquals(judged(report(0.4, { busy_ns = 20 * MS, delay_ns = 15 * MS }), recv).class,
      "low")
   lu.assertEquals(judged(report(0.2, { busy_ns = 10 * MS }), report(0.2)).class, "low")
   lu.assertEquals(judged(report(0, { busy_ns = 0 }), report(0)).class, "void")
   lu.assertEquals(judged(report(0, { busy_ns = 20 * MS }), report(0)).class, "low")
end

function tests.test_good_and_low()
   for _, c in ipairs { { 1, "good" }, { 0.76, "good" }, { 0.74, "low" }, { 0.25, "low" },
      { 0, "low" } } do
      local t = judged(report(c[1]), report(c[1]))
      lu.assertEquals(t.class, c[2])
      lu.assertAlmostEquals(t.ratio, c[1], 0.001)
   end
end

function tests.test_a_stream_that_met_a_pause_has_no_ceiling()
   local full, none = 24e6 * 0.02 / 8, 0
   local t = judged(report(0.5), report(0.5, { sub_bytes = { full, full, full, full, none, none,
      none, none } }))
   lu.assertEquals(t.class, "void")
   lu.assertStrContains(t.why, "uneven")
   lu.assertAlmostEquals(t.part_Bps / t.expected_Bps, 1, 0.001)
   -- it began above its mean and was pushed aside: shared, not broken
   t = judged(report(0.5), report(0.5, { sub_bytes = { full * .7, full * .7, full * .6, full * .5,
      full * .4, full * .4, full * .4, full * .3 } }))
   lu.assertEquals(t.class, "void")
   lu.assertStrContains(t.why, "1.40 times its mean")
   lu.assertAlmostEquals(t.part_Bps / t.expected_Bps, 0.7, 0.001)
   local even = {}
   for i = 1, 8 do
      even[i] = full / 2
   end
   t = judged(report(0.5), report(0.5, { sub_bytes = even }))
   lu.assertEquals({ t.class, t.part_Bps }, { "low", nil })
end

return tests
