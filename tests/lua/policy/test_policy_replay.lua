-- SPDX-License-Identifier: GPL-2.0-or-later
-- policy/replay.lua: history as rows, what these settings would have done with it.
local config = require "taut.config"
local json = require "taut.json"
local lu = require "luaunit"
local policy = require "taut.policy"
local policy_replay = require "taut.cli.act.policy_replay"
local replay = require "taut.policy.replay"
local sim = require "lib.sim"

local tests = {}

local T0, H = 1700000000, 3600
local topo = sim.torus({ 4, 2, 2 }, 2)

local function verdict(hours, component, state, left)
   return { time = T0 + hours * H, component = component, state = state or "slow",
      evidence = json.encode { left = left or 0.25, tests = { 1, 2 } } }
end

local function action(hours, what, node, who)
   return { time = T0 + hours * H, action = what, node = node, who = who }
end

local function run(o)
   local s = o.settings or {}
   s.cap_nodes, s.per_hour = s.cap_nodes or 100, s.per_hour or false
   local list, sums = replay.run { topology = topo, settings = config.policy(s),
      cluster = policy.cluster(topo), since = T0, till = T0 + (o.hours or 48) * H,
      before = o.before or {}, verdicts = o.verdicts or {}, actions = o.actions or {},
      decode = json.decode }
   local words = {}
   for i, e in ipairs(list) do
      words[i] = ("%gh %s %s"):format((e.time - T0) / H, e.what, e.node or "-")
   end
   return words, sums, list
end

function tests.test_no_history_no_action()
   local words, sums = run {}
   lu.assertEquals(words, {})
   lu.assertEquals({ sums.drains, sums.verdicts, sums.node_hours }, { 0, 0, 0 })
end

function tests.test_verdicts_drain_and_sums_add_up()
   local words, sums, list = run { verdicts = { verdict(1, "n5/tx"), verdict(2, "r1.0.0/X+"),
      verdict(4, "n6/rx", "failed", 0) } }
   lu.assertEquals(words, { "1h drain n5", "4h drain n6" })
   lu.assertEquals(list[1].why, "slow at 25%")
   lu.assertEquals(list[2].why, "failed")
   lu.assertEquals({ sums.verdicts, sums.drains, sums.nodes, sums.at_once }, { 3, 2, 2, 2 })
   lu.assertAlmostEquals(sums.node_hours, 47 + 44, 1e-6)
   lu.assertEquals(sums.measures, { drain = 2, avoid = 1 })
end

function tests.test_what_stood_before_stands_at_the_beginning()
   lu.assertEquals((run { before = { verdict(-50, "n5/tx"), verdict(-40, "n6/tx", "ok") } }),
      { "0h drain n5" })
end

function tests.test_other_settings_do_other_things()
   local verdicts = { verdict(1, "n1/tx"), verdict(1, "n2/tx"), verdict(1, "n3/tx") }
   local words, sums = run { verdicts = verdicts, settings = { per_hour = 2, at_cap = "wait" } }
   lu.assertEquals(words[1], "1h drain n1")
   lu.assertEquals(words[2], "1h drain n2")
   lu.assertEquals(words[3], "1h held back n3")
   -- an hour later there is room, without any news
   lu.assertStrContains(words[4], "drain n3")
   lu.assertEquals(sums.held, { cap = 1 })
   words, sums = run { verdicts = verdicts, settings = { per_hour = 2 } }
   lu.assertEquals(sums.drains, 2) -- at_cap = "stop": nobody said go on
   lu.assertEquals(sums.stops, 1)
   lu.assertStrContains(table.concat(words, "; "), "at a cap: stop")
   words = run { verdicts = verdicts, settings = { breaker_verdicts = 3 } }
   lu.assertStrContains(table.concat(words, "; "), "1h stop draining -")
end

function tests.test_what_administrators_did_then_counts()
   local words, sums = run { verdicts = { verdict(1, "n5/tx"), verdict(5, "n5/tx", "ok"),
      verdict(9, "n5/tx") }, actions = { action(5, "release", "n5", "root") } }
   lu.assertEquals(words, { "1h drain n5", "5h release n5", "9h drain n5" })
   lu.assertAlmostEquals(sums.node_hours, 4 + 39, 1e-6)
   lu.assertEquals(sums.really, { release = 1 })
   words = run { settings = { breaker_verdicts = 1 }, verdicts = { verdict(1, "n5/tx") },
      actions = { action(3, "resume", "", "root") } }
   lu.assertStrContains(table.concat(words, "; "), "3h continue -")
end

function tests.test_flapping_shows()
   local verdicts, actions = {}, {}
   for i = 0, 3 do
      verdicts[#verdicts + 1] = verdict(1 + 10 * i, "n5/tx")
      verdicts[#verdicts + 1] = verdict(6 + 10 * i, "n5/tx", "ok")
   end
   local words, sums = run { verdicts = verdicts, actions = actions,
      settings = { resume_after_clean = 3, repeated = 3 } }
   lu.assertEquals(words, { "1h drain n5", "6h release n5", "11h drain n5", "16h release n5",
      "21h drain for good n5" })
   lu.assertEquals({ sums.flaps, sums.releases }, { 1, 2 })
   -- repaired in between
   words = run { verdicts = verdicts, actions = { action(18, "repaired", "n5", "root") },
      settings = { resume_after_clean = 3, repeated = 3 } }
   lu.assertEquals(words[5], "21h drain n5")
end

function tests.test_strange_rows_are_no_reason_to_fail()
   local bad = verdict(1, "n5/tx")
   bad.evidence = "{"
   local odd = verdict(2, "n6/tx")
   odd.evidence = '{"left":"much","whole":7}'
   local words, sums = run { verdicts = { bad, odd, verdict(3, "x9/tx"), verdict(3, "n7/tx",
      "splendid") }, actions = { action(4, "danced", "n5") } }
   lu.assertEquals(words, { "1h drain n5", "2h drain n6" })
   lu.assertEquals(sums.unknown, 1)
end

function tests.test_a_setting_from_the_command_line()
   local base = config.policy { cap_nodes = 4, per_hour = 7 }
   local s = assert(policy_replay.settings(base, { "cap_nodes=9", "router_link=drain",
      "capability_hold=false", "per_hour=none" }))
   lu.assertEquals({ s.cap_nodes, s.router_link, s.capability_hold, s.per_hour }, { 9, "drain",
      false, 3 })
   local none, err = policy_replay.settings(base, { "cap_nodes=many" })
   lu.assertNil(none)
   lu.assertStrContains(err, "cap_nodes: expected a whole number")
   none, err = policy_replay.settings(base, { "cap_nodes" })
   lu.assertNil(none)
   lu.assertStrContains(err, "expected NAME=VALUE")
   none, err = policy_replay.settings(base, { "speed=3" })
   lu.assertNil(none)
   lu.assertStrContains(err, "'policy.speed' is not a setting")
end

return tests
