-- SPDX-License-Identifier: GPL-2.0-or-later
-- Marks of `taut verify`, and what idle cycles make of them.
local agenda = require "taut.core.agenda"
local answers = require "taut.core.answers.tests"
local cluster = require "taut.slurm.cluster"
local coverage = require "taut.plan.coverage"
local json = require "taut.json"
local looptest = require "lib.looptest"
local lu = require "luaunit"
local query = require "taut.core.query"
local sim = require "lib.sim"
local site_of = require "taut.core.site"
local switches = require "taut.core.switches"
local verify = require "taut.plan.verify"

local tests = {}

-- Slurm says of each node what fn(number) gives.
local function nodes_are(d, fn)
   local list = {}
   for n, name in ipairs(d.topo.nodes) do
      list[n] = fn(n)
      list[n].name = name
   end
   d.cluster:take_nodes(list)
end

local function daemon()
   local topo = sim.torus({ 4, 4, 2 }, 2)
   local site = site_of.new { checks = { coverage_h = 24 }, topology = topo }
   local journal = { add = function() end, confirm = function(_, fn) fn(true) end }
   local d = { topo = topo, site = site, journal = journal, marks = verify.new(),
      coverage = coverage.new(false, #topo.components), started_at = 0,
      switches = switches.new { site = site, journal = journal } }
   d.diagnosis = { verdicts = function() return {} end, wanted = function() return {} end,
      state = function() return "ok" end, capacity = function() return 1e9 end,
      sets_in_place_of_links = function() return {}, {} end }
   d.cluster = cluster.new { ask = function() end }
   d.cluster.config = { slurm_user = "slurm" }
   function d.cluster.fresh(_, _, fn) fn() end
   function d.cluster.is_admin(_, uid) return uid == 0 end
   nodes_are(d, function() return { state = "idle" } end)
   -- all was tested a moment ago
   for c = 1, #topo.components do
      d.coverage:touch(c, 1e12)
   end
   d.agenda = agenda.new(d)
   return d
end

local function ask(d, args, uid)
   local got
   local client = { reply = function(_, text) got = json.decode(text) end }
   query.new({ cluster = d.cluster, commands = answers(d) }):answer(client,
      json.encode { cmd = "verify", args = args }, uid or 0)
   looptest.until_true(function() return got end)
   return got
end

local function judged(topo, src, dst, class, bw)
   return { src = src, dst = dst, route = topo:route(src, dst), class = class, bw_Bps = bw }
end

function tests.test_a_mark_is_done_after_three_tests_that_meant_something()
   local d = daemon()
   local c = d.topo.component_id["r0.0.0/Y+"]
   lu.assertEquals(d.marks:add(c, "root", 100).at, 100)
   lu.assertEquals(d.marks:add(c, "joe", 110).who, "root")
   lu.assertEquals(#d.marks:wanted(120, {}), 1)
   lu.assertEquals(d.marks:wanted(120, { [c] = true }), {})
   local a, b = d.topo:on_router(d.topo:from(c))[1], d.topo:on_router(d.topo:to(c))[1]
   d.marks:note({ judged(d.topo, a, b, "void", 0), judged(d.topo, a, b, "good", 20e6),
      judged(d.topo, b, a, "good", 20e6), judged(d.topo, a, b, "low", 5e6) }, 130)
   local m = d.marks:get(c, 140)
   lu.assertEquals({ m.good, m.low, m.void, m.best, m.done_at }, { 1, 1, 1, 20e6, nil })
   d.marks:note({ judged(d.topo, a, b, "good", 21e6) }, 150)
   lu.assertEquals(d.marks:get(c, 150).done_at, 150)
   lu.assertEquals(d.marks:wanted(150, {}), {})
   lu.assertNotNil(d.marks:get(c, 3700))
   lu.assertNil(d.marks:get(c, 3800))
   d.marks:add(c, "root", 5000)
   lu.assertNotNil(d.marks:get(c, 5000 + 86000))
   lu.assertNil(d.marks:get(c, 5000 + 87000))
end

function tests.test_nobody_marks_the_whole_machine()
   local marks = verify.new()
   for c = 1, 64 do
      lu.assertNotNil(marks:add(c, "root", 1))
   end
   local ok, why = marks:add(65, "root", 1)
   lu.assertNil(ok)
   lu.assertStrContains(why, "64 components are marked already")
end

function tests.test_what_is_asked_and_what_is_answered()
   local d = daemon()
   lu.assertStrContains(ask(d, { component = "r9.9.9/X+" }).error, "is not in the topology")
   lu.assertEquals(ask(d, { component = "n5" }).error, "'n5' is a node: say n5/tx or n5/rx")
   lu.assertStrContains(ask(d, {}).error, "is not in the topology")
   lu.assertStrContains(ask(d, { component = 5 }).error, "is not in the topology")
   lu.assertStrContains(ask(d, { component = "n5/tx" }, 1000).error, "only root")
   lu.assertStrContains(ask(d, { component = "n5/tx", look = true }).error, "not marked")
   local got = ask(d, { component = "n5/tx", now = true }).data
   lu.assertTrue(got.count >= 2)
   lu.assertStrContains(got.nodes, "5")
   lu.assertEquals({ got.good, got.done, got.slurm_user, got.marked_by }, { 0, false, "slurm",
      "root" })
   d.switches:set_checks "off"
   lu.assertStrContains(ask(d, { component = "n6/tx" }).error, "checks are off")
end

function tests.test_marks_outlive_a_restart()
   local d = daemon()
   local c = d.topo.component_id["n5/tx"]
   d.marks:add(c, "root", 100)
   local after = verify.new()
   after:restore(d.marks:pack(d.topo), d.topo)
   lu.assertEquals(after:get(c, 101), d.marks:get(c, 101))
   after:restore('[{"component":"n99/tx"}]', d.topo) -- another machine
   after:restore(nil, d.topo)
   lu.assertEquals(#after:wanted(101, {}), 1)
end

function tests.test_idle_cycles_call_for_nodes_that_can_test_what_is_marked()
   local d = daemon()
   local c = d.topo.component_id["r1.2.0/X+"]
   lu.assertEquals(d.agenda:idle_nodes(), {})
   d.agenda = agenda.new(d)
   d.marks:add(c, "root", os.time())
   lu.assertEquals(#d.agenda:wanted "prolog", 1)
   local list = d.agenda:idle_nodes()
   lu.assertTrue(#list >= 2 and #list <= 12, #list)
   local set = {}
   for _, n in ipairs(list) do
      set[n] = true
   end
   for _, n in ipairs(d.topo:ends(c)) do
      lu.assertTrue(set[n])
   end
   -- the answer is kept for a moment: hundreds of nodes ask at once
   lu.assertIs(d.agenda:idle_nodes(), list)
end

-- Several streams would hide that it still loses; what has low tests besides wants pairs.
function tests.test_a_lossy_verdict_is_tested_by_single_streams()
   local d = daemon()
   local one, two = d.topo.component_id["r1.2.0/X+"], d.topo.component_id["r1.2.0/X-"]
   d.diagnosis.verdicts = function()
      return { { component = one, is_losing = true }, { component = two, is_losing = false } }
   end
   local list = d.agenda:wanted "idle"
   lu.assertEquals({ list[1].component, list[1].streams }, { one, 1 })
   lu.assertEquals({ list[2].component, list[2].streams }, { two })
end

function tests.test_busy_nodes_are_not_called_and_drained_ones_are()
   local d = daemon()
   d.marks:add(d.topo.tx[9], "root", os.time())
   nodes_are(d, function(n)
      return n == 9 and { state = "drained", drain = true }
         or { state = n > 40 and "idle" or "allocated" }
   end)
   local list, found = d.agenda:idle_nodes(), false
   for _, n in ipairs(list) do
      lu.assertTrue(n == 9 or n > 40)
      found = found or n == 9
   end
   lu.assertTrue(found and #list > 1)
   lu.assertEquals(d.agenda:verify_nodes(d.topo.tx[9]), {})
end

function tests.test_what_nothing_reached_for_a_day_is_tested_some_at_a_time()
   local d = daemon()
   for c = 1, #d.topo.components do
      d.coverage:touch(c, 1)
   end
   local first = d.agenda:wanted "idle"
   lu.assertEquals(#first, 32)
   d.agenda.memo = {} -- a while later
   local second = d.agenda:wanted "idle"
   lu.assertEquals(#second, 32)
   lu.assertNotEquals(first[1].component, second[1].component)
end

-- An acceptance test of a leaf: nodes that can test all of its links, and not the whole machine.
function tests.test_a_router_is_verified_by_nodes_that_reach_all_its_links()
   local d = daemon()
   local r = d.topo.router_id["r1.2.0"]
   local list, set = d.agenda:router_nodes(r), {}
   for _, n in ipairs(list) do
      set[n] = true
   end
   for _, n in ipairs(d.topo:on_router(r)) do
      lu.assertTrue(set[n])
   end
   for _, c in ipairs(d.topo:links_of(r)) do
      local other = d.topo:on_router(d.topo:to(c))
      lu.assertTrue(set[other[1]] or set[other[2]], d.topo.components[c])
   end
   lu.assertTrue(#list < #d.topo.nodes)
   lu.assertEquals(ask(d, { component = "r1.2.0" }).data, { router = "r1.2.0" })
end

return tests
