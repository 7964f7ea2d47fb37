-- SPDX-License-Identifier: GPL-2.0-or-later
-- policy.lua: decisions only, in a time of their own.
local config = require "taut.config"
local lu = require "luaunit"
local measure = require "taut.policy.measure"
local policy = require "taut.policy"
local reason = require "taut.policy.reason"
local report = require "taut.report"
local sim = require "lib.sim"

local tests = {}

local T0 = 1000000

local function topo_of(dims)
   return sim.torus(dims or { 4, 2, 2 }, 2)
end

local function settings(given)
   local base = { cap_nodes = 100, per_hour = false }
   for k, v in pairs(given or {}) do
      base[k] = v
   end
   return assert(config.policy(base))
end

-- A machine, its cluster and a history: decide(now, { name, left | state }, …) → its answer.
local function player(given, topo)
   topo = topo or topo_of()
   local p = { topo = topo, s = settings(given), cluster = policy.cluster(topo),
      h = policy.history(), mode = "enable" }
   function p.decide(now, ...)
      local verdicts = {}
      for i, v in ipairs { ... } do
         verdicts[i] = { c = assert(topo.component_id[v[1]], v[1]), left = v[2] or 0.25,
            state = v.state or "slow", since = v.since or now, whole = v.whole,
            may_be_load = v.may_be_load }
      end
      local d = policy.decide { topology = topo, settings = p.s, cluster = p.cluster,
         history = p.h, now = now, mode = p.mode, verdicts = verdicts, clean = p.clean,
         machine_wide = p.machine_wide, standby = p.standby }
      return d
   end
   -- the same, and everything is carried out
   function p.play(now, ...)
      local d = p.decide(now, ...)
      for _, a in ipairs(d.actions) do
         policy.note(p.h, a, now)
         if a.action == "drain" then
            p.cluster.nodes[a.node].drain = true
            p.cluster.nodes[a.node].reason = "taut: test"
         elseif a.action == "release" then
            p.cluster.nodes[a.node].drain = nil
         end
      end
      return d
   end
   return p
end

local function words(d)
   local out = {}
   for i, a in ipairs(d.actions) do
      out[i] = a.action .. " " .. (a.node or a.cap or a.why) .. (a.forever and " for good" or "")
   end
   return out
end

local function held(d)
   local out = {}
   for name, e in pairs(d.held) do
      out[#out + 1] = name .. ": " .. e.why
   end
   table.sort(out)
   return out
end

---------------------------------------------------------------- what a verdict asks for

function tests.test_bad_settings_name_what_is_expected()
   local function bad(given, want)
      local s, err = config.policy(given)
      lu.assertNil(s)
      lu.assertStrContains(err, want)
   end
   bad({ router_link = "maybe" }, "one of avoid, drain, drain_exposed")
   bad({ at_cap = 3 }, "one of stop, wait")
   bad({ repeated = 1 }, "a whole number from 2 to 1000, or false")
   bad({ breaker_verdicts = 0 }, "a whole number from 1")
   bad({ measure = "drain" }, "a function, or false")
   bad({ on_event = "/bin/true" }, "a list")
   bad({ on_event = { "true" } }, "a list")
   bad({ on_event = { "/bin/true", 3 } }, "a list")
   bad({ on_event = { "/bin/true", "a\0b" } }, "a list")
   bad({ on_event = { "/bin/true", x = "y" } }, "a list")
   bad({ partitions = { batch = 3 } }, "a table of tables")
   bad({ partitions = { batch = { cap_nodes = -1 } } }, "batch.cap_nodes: a whole number from 0")
   bad({ partitions = { batch = { router_link = "drain" } } }, "batch.router_link")
   bad({ no_such = 1 }, "'policy.no_such' is not a setting")
end

function tests.test_whom_a_verdict_concerns()
   local function drained(given, ...)
      local p = player(given)
      local d = p.decide(T0, ...)
      return words(d), d.measures[p.topo.component_id[(...)[1]]]
   end
   lu.assertEquals({ drained({}, { "n5/tx" }) }, { { "drain n5" }, "drain" })
   lu.assertEquals({ drained({}, { "r1.0.0/X+" }) }, { {}, "avoid" })
   lu.assertEquals({ drained({ router_link = "drain" }, { "r1.0.0/X+" }) },
      { { "drain n8", "drain n9", "drain n16", "drain n17" }, "drain" })
   local busy = { "r1.0.0/X+", may_be_load = true }
   lu.assertEquals({ drained({ router_link = "drain" }, busy) }, { {}, "avoid" })
   lu.assertEquals({ drained({}, { "n5/tx", may_be_load = true }) }, { { "drain n5" }, "drain" })
   lu.assertEquals({ drained({ router_link = "drain", nodes_per_component = 3 },
      { "r1.0.0/X+" }) }, { {}, "alert" })
end

function tests.test_drain_exposed_takes_the_nodes_whose_routes_use_the_link()
   local p = player({ router_link = "drain_exposed", nodes_per_component = 100 },
      topo_of { 4, 1, 1 })
   local c = p.topo.component_id["r1.0.0/X+"]
   local d = p.decide(T0, { "r1.0.0/X+" })
   lu.assertEquals(#d.actions, #p.topo:exposed(c))
   lu.assertTrue(#d.actions > 0)
end

function tests.test_what_little_is_missing_is_no_reason_to_drain()
   local p = player { drain_left = 0.5 }
   local d = p.decide(T0, { "n5/tx", 0.6 }, { "r1.0.0/X+", 0.6 })
   lu.assertEquals(words(d), {})
   lu.assertEquals(d.measures[p.topo.component_id["n5/tx"]], "alert")
   lu.assertStrContains(d.remarks[p.topo.component_id["n5/tx"]], "drain_left")
   lu.assertEquals(d.measures[p.topo.component_id["r1.0.0/X+"]], "avoid")
   lu.assertEquals(words(p.decide(T0, { "n5/tx", 0.4 })), { "drain n5" })
   lu.assertEquals(words(p.decide(T0, { "n6/tx", 1, state = "failed" })), { "drain n6" })
end

function tests.test_a_cabinet_slow_as_a_whole_is_not_its_nodes_fault()
   local p = player()
   local d = p.decide(T0, { "n5/tx", whole = { kind = "group", of = "cabinet c0-0", n = 9,
      total = 9 } })
   local c = p.topo.component_id["n5/tx"]
   lu.assertEquals(words(d), {})
   lu.assertEquals(d.measures[c], "alert")
   lu.assertEquals(d.remarks[c],
      "cabinet c0-0 is slow as a whole: 9 of 9 nodes; not its nodes' fault")
end

function tests.test_the_worst_component_goes_first()
   local p = player { cap_nodes = 2 }
   lu.assertEquals(words(p.decide(T0, { "n1/tx", 0.6 }, { "n2/tx", 0.1 },
      { "n3/rx", 0, state = "failed" })), { "drain n3", "drain n2", "capped partition all" })
end

---------------------------------------------------------------- the site's own functions

function tests.test_a_function_of_the_site_decides()
   local seen
   local p = player { measure = function(v)
      seen = v
      if v.kind == "X+" then
         return "drain", { "n1", "n2" }
      elseif v.component == "n7/rx" then
         return "watch"
      end
      return nil
   end }
   local d = p.decide(T0, { "r1.0.0/X+", 0.3 })
   lu.assertEquals(words(d), { "drain n1", "drain n2" })
   lu.assertEquals({ seen.component, seen.left, seen.measure, seen.is_link, #seen.nodes },
      { "r1.0.0/X+", 0.3, "avoid", true, 0 })
   lu.assertEquals(words(p.decide(T0, { "n7/rx" })), {})
   lu.assertEquals(words(p.decide(T0, { "n5/tx" })), { "drain n5" })
end

function tests.test_a_function_that_goes_wrong_drains_nobody()
   local function remark(fn)
      local p = player { measure = fn }
      local d = p.decide(T0, { "n5/tx" })
      lu.assertEquals(words(d), {})
      lu.assertEquals(d.measures[p.topo.component_id["n5/tx"]], "alert")
      return d.remarks[p.topo.component_id["n5/tx"]]
   end
   lu.assertStrContains(remark(function() error "oops" end), "oops")
   lu.assertStrContains(remark(function() while true do end end), "more than 1000000 instructions")
   lu.assertStrContains(remark(function() return "reboot" end), "'reboot'")
   lu.assertStrContains(remark(function() return 7 end), "'7'")
   lu.assertStrContains(remark(function() return "drain", { "x9" } end),
      "node 'x9' is not in the topology")
   lu.assertStrContains(remark(function() return "drain", "n5" end), "a list of nodes")
   lu.assertStrContains(remark(function() coroutine.yield() end), "yields")
end

function tests.test_a_function_may_hold_a_node_back()
   local p = player { hold = function(node, v)
      return node.name == "n5" and "visitors use it for " .. v.component or nil
   end }
   local d = p.decide(T0, { "n5/tx" }, { "n6/tx" })
   lu.assertEquals(words(d), { "drain n6" })
   lu.assertEquals(held(d), { "n5: visitors use it for n5/tx" })
   p = player { hold = function() return 3 end }
   lu.assertEquals(held(p.decide(T0, { "n5/tx" })),
      { "n5: hold: expected a text or nil, got number" })
   p = player { hold = function() error { } end }
   lu.assertStrContains(held(p.decide(T0, { "n5/tx" }))[1], "n5: hold: ")
end

---------------------------------------------------------------- what holds a drain back

function tests.test_nobody_elses_node_is_touched()
   local p = player()
   local nodes = p.cluster.nodes
   nodes.n1.maint = true
   nodes.n2.drain, nodes.n2.reason = true, "bad dimm"
   nodes.n3.down = true
   nodes.n4 = nil
   nodes.n6.fail, nodes.n6.reason = true, "psu"
   local d = p.decide(T0, { "n1/tx" }, { "n2/tx" }, { "n3/tx" }, { "n4/tx" }, { "n6/tx" })
   lu.assertEquals(d.actions, {})
   lu.assertEquals(held(d), { "n1: it is in a maintenance reservation",
      "n2: it is drained already: bad dimm", "n3: it is down already: no reason given",
      "n4: Slurm does not know it (or did not answer yet)", "n6: it is drained already: psu" })
end

-- Once a node that the head of the queue needed was drained just after a start.
function tests.test_nobody_is_drained_before_the_queue_is_known()
   local p = player {}
   p.cluster.knows_queue = false
   lu.assertEquals(held(p.decide(T0, { "n1/tx" })), { "n1: Slurm did not tell of its jobs yet" })
   p.cluster.knows_queue = true
   lu.assertEquals(#p.decide(T0 + 1, { "n1/tx" }).actions, 1)
end

function tests.test_an_old_picture_of_the_cluster_is_no_ground_to_act()
   local p = player { stale_s = 300 }
   p.cluster.nodes_at = T0 - 301
   lu.assertEquals(held(p.decide(T0, { "n5/tx" })),
      { "n5: Slurm last told of its nodes 301 s ago" })
   p.cluster.nodes_at = T0 - 299
   lu.assertEquals(words(p.decide(T0, { "n5/tx" })), { "drain n5" })
end

function tests.test_in_observe_and_on_standby_nothing_is_done()
   local p = player()
   p.mode = "observe"
   lu.assertEquals(held(p.decide(T0, { "n5/tx" })), { "n5: mode is observe" })
   p.mode, p.standby = "enable", "the active slurmctld is on ctl2"
   local d = p.decide(T0, { "n5/tx" })
   lu.assertEquals(d.actions, {})
   lu.assertEquals(held(d), { "n5: standing by: the active slurmctld is on ctl2" })
end

function tests.test_a_small_partition_may_lose_one_node()
   local p = player { cap_nodes = false and 1 or nil, cap_share = 0.01, at_cap = "wait" }
   p.s.cap_nodes = nil
   p.play(T0, { "n5/tx" })
   lu.assertStrContains(held(p.play(T0, { "n5/tx" }, { "n6/tx" }))[1],
      "1 of at most 1 nodes of partition all")
end

-- Four nodes wanted at once were all asked for before Slurm had answered for the first.
function tests.test_a_cap_counts_what_was_just_decided_and_what_is_on_its_way()
   local p = player { cap_nodes = 2, at_cap = "wait" }
   local d = p.decide(T0, { "n1/tx" }, { "n2/tx" }, { "n3/tx" })
   lu.assertEquals(words(d), { "drain n1", "drain n2" })
   p.h.asked = { n1 = {}, n2 = {} }
   lu.assertEquals(words(p.decide(T0, { "n1/tx" }, { "n2/tx" }, { "n3/tx" })), {})
end

function tests.test_at_a_cap_it_observes_until_told_to_go_on()
   local p = player { cap_nodes = 1 }
   lu.assertEquals(words(p.play(T0, { "n1/tx", 0.1 }, { "n2/tx" })), { "drain n1",
      "capped partition all" })
   p.h.drained.n1, p.cluster.nodes.n1.drain = nil, nil -- released: there would be room
   lu.assertEquals(words(p.play(T0 + 9, { "n2/tx" })), {})
   lu.assertTrue(policy.resume(p.h))
   lu.assertEquals(words(p.play(T0 + 10, { "n2/tx" })), { "drain n2" })
   lu.assertFalse(policy.resume(p.h))
end

function tests.test_with_at_cap_wait_it_goes_on_by_itself()
   local p = player { cap_nodes = 1, at_cap = "wait" }
   lu.assertEquals(words(p.play(T0, { "n1/tx", 0.1 }, { "n2/tx" })), { "drain n1" })
   p.h.drained.n1, p.cluster.nodes.n1.drain = nil, nil
   lu.assertEquals(words(p.play(T0 + 9, { "n2/tx" })), { "drain n2" })
end

function tests.test_the_hourly_cap_also_counts_nodes_released_since()
   local p = player { per_hour = 2, at_cap = "wait" }
   p.play(T0, { "n1/tx" }, { "n2/tx" }, { "n3/tx" })
   p.h.drained = {}
   lu.assertEquals(held(p.play(T0 + 3599, { "n3/tx" })),
      { "n3: cap: 2 nodes drained within the hour" })
   lu.assertEquals(words(p.play(T0 + 3601, { "n3/tx" })), { "drain n3" })
end

local function two_partitions(given)
   local p = player(given)
   p.cluster.partitions = { all = p.topo.nodes, debug = { "n0", "n1", "n2", "n3" } }
   for i = 0, 3 do
      p.cluster.nodes["n" .. i].partitions = { "all", "debug" }
   end
   return p
end

function tests.test_partitions_may_have_limits_of_their_own()
   local p = two_partitions { at_cap = "wait", partitions = { debug = { cap_nodes = 1 } } }
   lu.assertEquals(words(p.play(T0, { "n1/tx", 0.1 }, { "n2/tx" }, { "n9/tx" })),
      { "drain n1", "drain n9" })
   p = two_partitions { at_cap = "wait", partitions = { debug = { per_hour = 0 } } }
   lu.assertEquals(words(p.play(T0, { "n1/tx" }, { "n9/tx" })), { "drain n9" })
   p = two_partitions { partitions = { debug = { mode = "observe" } } }
   local d = p.play(T0, { "n1/tx" }, { "n9/tx" })
   lu.assertEquals(words(d), { "drain n9" })
   lu.assertEquals(held(d), { "n1: mode is observe" })
end

function tests.test_a_cap_stops_its_partition_only()
   local p = two_partitions { partitions = { debug = { cap_nodes = 1 } } }
   lu.assertEquals(words(p.play(T0, { "n1/tx", 0.1 }, { "n2/tx" }, { "n9/tx" })),
      { "drain n1", "capped partition debug", "drain n9" })
   lu.assertEquals(words(p.play(T0, { "n2/tx" }, { "n10/tx" })), { "drain n10" })
end

function tests.test_the_job_at_the_head_of_the_queue_keeps_its_nodes()
   local p = player()
   local function held_by(job, given)
      p.s = settings(given)
      p.cluster.pending = { job }
      return held(p.decide(T0, { "n5/tx" }))[1]
   end
   lu.assertStrContains(held_by { id = 7, num_nodes = 32, partition = "all" }, "job 7")
   lu.assertNil(held_by({ id = 7, num_nodes = 32, partition = "all" }, { capability_hold = false }))
   lu.assertNil(held_by { id = 7, num_nodes = 31, partition = "all" })
   lu.assertNil(held_by { id = 7, num_nodes = 32, partition = "other" })
   lu.assertStrContains(held_by { id = 7, num_nodes = 32, partition = "other,all" }, "job 7")
   -- it cannot start anyway: that is not a reason to keep a bad node
   lu.assertNil(held_by { id = 9, num_nodes = 33, partition = "all" })
   -- nor does it wait for nodes
   lu.assertNil(held_by { id = 9, num_nodes = 32, partition = "all", reason = "JobHeldUser" })
   lu.assertStrContains(held_by { id = 9, num_nodes = 32, partition = "all",
      reason = "Resources" }, "job 9")
   lu.assertNil(held_by({ id = 7, num_nodes = 32, partition = "all" },
      { partitions = { all = { capability_hold = false } } }))
end

function tests.test_several_drains_at_once_do_not_go_below_it_together()
   local p = player()
   p.cluster.pending = { { id = 7, num_nodes = 31, partition = "all" } }
   local d = p.decide(T0, { "n5/tx", 0.1 }, { "n6/tx" })
   lu.assertEquals(words(d), { "drain n5" })
   lu.assertStrContains(held(d)[1], "n6: capability_hold: job 7")
end

---------------------------------------------------------------- the circuit breaker

function tests.test_many_verdicts_at_once_stop_it()
   local p = player { breaker_verdicts = 3, breaker_h = 1 }
   lu.assertEquals(words(p.play(T0, { "n1/tx" }, { "n2/tx" })), { "drain n1", "drain n2" })
   local d = p.play(T0 + 1800, { "n1/tx", since = T0 }, { "n2/tx", since = T0 }, { "n3/tx" })
   lu.assertEquals(#d.actions, 1)
   lu.assertStrContains(words(d)[1], "stop 3 components became slow, lossy or failed within 1 h")
   lu.assertStrContains(held(d)[1], "n3: stopped: 3 components")
   -- said once, and it stays stopped
   d = p.play(T0 + 90000, { "n3/tx", since = T0 + 1800 })
   lu.assertEquals(d.actions, {})
   lu.assertEquals(#held(d), 1)
   policy.resume(p.h)
   lu.assertEquals(words(p.play(T0 + 90001, { "n3/tx", since = T0 + 1800 })), { "drain n3" })
end

function tests.test_verdicts_far_apart_or_long_known_do_not()
   local p = player { breaker_verdicts = 3 }
   for i = 1, 9 do
      lu.assertEquals(words(p.play(T0 + i * 1900, { ("n%d/tx"):format(i) })), { "drain n" .. i })
   end
   p = player { breaker_verdicts = 3 } -- after a restart, with an empty history
   lu.assertEquals(#p.play(T0, { "n1/tx", since = T0 - 9000 }, { "n2/tx", since = T0 - 9000 },
      { "n3/tx", since = T0 - 9000 }).actions, 3)
end

-- One component that goes to and fro is one component.
function tests.test_the_breaker_counts_components()
   local p = player { breaker_verdicts = 3 }
   for i = 1, 9 do
      p.play(T0 + i, { "r1.0.0/X+" })
      p.play(T0 + i)
   end
   lu.assertNil(p.h.stopped)
end

function tests.test_a_machine_wide_change_stops_it_once()
   local p = player()
   p.machine_wide = { kind = "change", of = "rx", n = 20, total = 32 }
   local d = p.play(T0, { "n1/tx" })
   lu.assertEquals(words(d), { "stop machine-wide change: class rx changed everywhere: " ..
      "20 of 32 components are low at once" })
   lu.assertStrContains(held(d)[1], "machine-wide change")
   policy.resume(p.h)
   lu.assertEquals(words(p.play(T0 + 1, { "n1/tx" })), { "drain n1" })
   p.machine_wide = { kind = "change", of = "tx", n = 20, total = 32 }
   lu.assertEquals(#p.play(T0 + 2, { "n2/tx" }).actions, 1)
   lu.assertNotNil(p.h.stopped)
end

function tests.test_the_same_change_with_other_figures_is_no_news_for_a_day()
   local p = player()
   p.machine_wide = { kind = "change", of = "tx", n = 20, total = 32 }
   p.play(T0)
   lu.assertNotNil(p.h.stopped)
   policy.resume(p.h)
   p.machine_wide = { kind = "change", of = "tx", n = 21, total = 32 }
   p.play(T0 + 1)
   lu.assertNil(p.h.stopped)
   local change = p.machine_wide
   p.machine_wide = nil
   p.play(T0 + 3600)
   p.machine_wide = change
   p.play(T0 + 7200)
   lu.assertNil(p.h.stopped)
   p.machine_wide = nil
   p.play(T0 + 7200 + 86401)
   p.machine_wide = change
   p.play(T0 + 7200 + 86402)
   lu.assertStrContains(p.h.stopped.why, "21 of 32")
end

---------------------------------------------------------------- giving back, flapping

function tests.test_clean_nodes_are_given_back_where_the_site_wants_it()
   local p = player { resume_after_clean = 3 }
   p.play(T0, { "n5/tx" })
   local good = 2
   p.clean = function(node, component)
      lu.assertEquals({ node, component }, { "n5", "n5/tx" })
      return good
   end
   lu.assertEquals(words(p.play(T0 + 10)), {})
   good = 3
   lu.assertEquals(words(p.play(T0 + 20, { "n5/tx", since = T0 })), {}) -- the verdict stands
   p.cluster.nodes.n5.maint = true
   lu.assertEquals(words(p.play(T0 + 30)), {})
   p.cluster.nodes.n5.maint = nil
   p.mode = "observe"
   lu.assertEquals(words(p.play(T0 + 35)), {})
   p.mode = "enable"
   lu.assertEquals(words(p.play(T0 + 40)), { "release n5" })
   lu.assertNil(p.h.drained.n5)
   p = player()
   p.play(T0, { "n5/tx" })
   p.clean = function() return 99 end
   lu.assertEquals(words(p.play(T0 + 9)), {})
end

function tests.test_a_node_that_flaps_stays_drained_for_good()
   local p = player { resume_after_clean = 3, repeated = 3, repeated_days = 14 }
   p.clean = function() return 3 end
   local function round(i)
      local d = p.play(T0 + i * 86400, { "n5/tx" })
      p.play(T0 + i * 86400 + 3600)
      return words(d)[1]
   end
   lu.assertEquals(round(0), "drain n5")
   lu.assertEquals(round(1), "drain n5")
   lu.assertEquals(round(2), "drain n5 for good")
   lu.assertNotNil(p.h.drained.n5) -- clean or not
   -- an administrator gave it back, the cable is the same
   p.h.drained.n5, p.cluster.nodes.n5.drain = nil, nil
   lu.assertEquals(words(p.play(T0 + 3 * 86400, { "n5/tx" })), { "drain n5 for good" })
   -- repaired: it starts anew
   policy.forget(p.h, { "n5" })
   lu.assertNil(p.h.drained.n5.forever)
   p.h.drained.n5, p.cluster.nodes.n5.drain = nil, nil
   lu.assertEquals(words(p.play(T0 + 4 * 86400, { "n5/tx" })), { "drain n5" })
end

function tests.test_rare_faults_are_no_flapping()
   local p = player { resume_after_clean = 3, repeated = 3, repeated_days = 14 }
   p.clean = function() return 3 end
   for i = 0, 9 do
      lu.assertEquals(words(p.play(T0 + i * 8 * 86400, { "n5/tx" })), { "drain n5" })
      p.play(T0 + i * 8 * 86400 + 60)
   end
   p.s = settings { resume_after_clean = 3, repeated = false }
   for i = 0, 5 do
      lu.assertEquals(words(p.play(T0 + 1e7 + i * 60, { "n5/tx" })), { "drain n5" })
      p.play(T0 + 1e7 + i * 60 + 30)
   end
end

-- History must not grow with the years.
function tests.test_what_no_longer_counts_is_forgotten()
   local p = player { cap_nodes = 1000 }
   for i = 1, 2000 do
      p.play(T0 + i * 86400, { "n5/tx" })
      p.h.drained, p.cluster.nodes.n5.drain = {}, nil
   end
   lu.assertTrue(#p.h.drains <= 16)
   lu.assertTrue(#p.h.slow <= 2)
end

---------------------------------------------------------------- reasons

function tests.test_every_verdict_fits_what_sinfo_shows()
   for _, kind in ipairs { "tx", "rx", "X+", "X-", "Y+", "Y-", "Z+", "Z-", "C-", "X",
      "uplink", "downlink", "link", "local", "global", "green", "black", "blue", "backplane" } do
      for left = 0, 100 do
         for _, state in ipairs { "slow", "failed" } do
            for _, repeated in ipairs { false, 3 } do
               local head = reason.head(kind, state, left / 100, repeated)
               lu.assertTrue(#head <= reason.SHOWN, head)
               lu.assertTrue(#reason.noun(kind) <= 7)
            end
         end
      end
   end
   lu.assertEquals(reason.head("X+", "slow", 0.251), "taut: X+ link at 25%")
   lu.assertEquals(reason.head("uplink", "slow", 0.5), "taut: uplink at 50%")
   lu.assertEquals(reason.head("tx", "failed", 0), "taut: nothing passes")
   lu.assertEquals(reason.head("tx", "slow", 0.25), "taut: sends at 25%")
   lu.assertEquals(reason.head("rx", "slow", 0.25), "taut: recv at 25%")
   lu.assertEquals(reason.head("X+", "slow", 0.251, 3), "taut: again, X+ link")
end

-- `sinfo -R` said "taut: port down; n4" of n9, whose port was up.
function tests.test_the_far_node_is_not_in_what_sinfo_shows()
   local v = { state = "failed", left = 0, low = 9, tests = 9,
      test = { src_name = "n4", dst_name = "n9", bw_Bps = 0, expected_Bps = 1e9 } }
   for _, kind in ipairs { "tx", "rx", "X+", "uplink", "global" } do
      v.kind = kind
      for _, state in ipairs { "failed", "slow" } do
         v.state = state
         local shown = reason.format(v):sub(1, reason.SHOWN)
         lu.assertNotStrContains(shown, "n4")
         lu.assertNotStrContains(shown, "down")
      end
   end
   v.kind, v.state, v.is_down = "rx", "failed", true
   lu.assertEquals(reason.format(v):sub(1, reason.SHOWN), "taut: port down;    ")
end

function tests.test_a_reason_is_ascii_and_bounded()
   local text = reason.format { kind = "tx", state = "slow", left = 0.25, low = 6, tests = 7,
      job = 4711, test = { src_name = ("n"):rep(200) .. "|\1é", dst_name = ("m"):rep(200),
      bw_Bps = 3e6, expected_Bps = 12e6 } }
   lu.assertEquals(#text, 255)
   lu.assertNil(text:find("[^\32-\126]"))
   lu.assertNil(text:find("|", 1, true))
   local v = { kind = "tx", state = "slow", left = 0.25, low = 6, tests = 7,
      job = 12, test = { src_name = "n5", dst_name = "n4", bw_Bps = 1.7e9,
      expected_Bps = 6.7e9 } }
   lu.assertEquals(reason.format(v),
      "taut: sends at 25%;  n5 -> n4, 1.7/6.7 GB/s, 6 of 7 tests, last job 12")
   v.repeated = 3
   lu.assertEquals(reason.format(v), "taut: again, tx;     drained 3 times, for good, " ..
      "sends at 25%, n5 -> n4, 1.7/6.7 GB/s, 6 of 7 tests, last job 12")
   lu.assertTrue(reason.is_ours(text))
   lu.assertFalse(reason.is_ours("bad dimm, not taut: at all"))
end

---------------------------------------------------------------- what loses

local function of_loss(name, left, lost, given)
   local topo = topo_of()
   local what, nodes, why = measure.of(topo, { c = topo.component_id[name], state = "lossy",
      left = left, loss = lost, since = T0 }, settings(given))
   return what, nodes[1] and topo.nodes[nodes[1]], why
end

function tests.test_what_loses_much_is_dealt_with_as_slow()
   lu.assertEquals({ of_loss("n5/tx", 0.3, 0.002) }, { "drain", "n5" })
   -- one stream keeps its rate, but so much is lost that the site does not bear it
   lu.assertEquals({ of_loss("n5/tx", 0.97, 0.03) }, { "drain", "n5" })
   lu.assertEquals({ of_loss("n5/tx", 0.97, 0.03, { loss_drain = 0.05 }) }, { "alert", nil,
      "one stream keeps 97% of its rate, and no more than 5% are lost (drain_left, loss_drain)" })
   lu.assertEquals(of_loss("r1.0.0/X+", 0.3, 0.02), "avoid") -- no node is behind it
   lu.assertEquals({ of_loss("n5/tx", 0.6, 0.002, { drain_left = 0.5 }) }, { "alert", nil,
      "one stream keeps 60% of its rate, and no more than 1% are lost (drain_left, loss_drain)" })
end

function tests.test_what_loses_little_is_told()
   local what, nodes, why = of_loss("n5/tx", 0.9, 0.005)
   lu.assertEquals({ what, nodes }, { "alert" })
   lu.assertStrContains(why, "loss_drain")
   lu.assertEquals((of_loss("r1.0.0/X+", 0.9, 0.005)), "alert")
end

function tests.test_the_share_is_never_cut()
   for kind, noun in pairs { tx = "tx", rx = "rx", ["X+"] = "X+", uplink = "up", downlink = "dn",
      global = "gl", node = "no", router = "ro" } do
      lu.assertEquals(reason.head(kind, "lossy", 0.2, nil, 0.012), "taut: loses 1.2%: " .. noun)
      for _, lost in ipairs { 1, 0.999, 0.5, 0.1, 0.0999, 0.0123, 0.01, 0.0012, 0.00099, 0.00012,
         0.0001, 1e-5, 1e-6, 1e-7 } do
         local head = reason.head(kind, "lossy", 0.2, nil, lost)
         lu.assertTrue(#head <= reason.SHOWN, head)
         lu.assertStrContains(head, "loses " .. reason.lost(lost))
         lu.assertNil(reason.lost(lost):find("e", 1, true))
      end
   end
   lu.assertEquals(reason.head("tx", "lossy", 0.2, 3, 0.012), "taut: again, tx")
end

function tests.test_a_reason_says_what_was_lost()
   local v = { kind = "tx", state = "lossy", left = 0.16, loss = 0.012, low = 9, tests = 40,
      test = { src_name = "n5", dst_name = "n9", lost = 240, segments = 20000 } }
   lu.assertEquals(reason.format(v),
      "taut: loses 1.2%: tx; n5 -> n9, 240 of 20000 packets lost, 9 of 40 tests")
   lu.assertEquals(reason.format { kind = "X+", state = "slow", left = 0.41, low = 4, tests = 60,
      hours = "in 7 of 31 h" }, "taut: X+ link at 41%; in 7 of 31 h, 4 of 60 tests")
end

-- "0 of 0 tests" stood behind a link that a sweep's counters named out of its set.
function tests.test_a_link_named_by_its_set_has_no_tests_to_tell_of()
   lu.assertEquals(reason.words { kind = "link", state = "slow", left = 0.25, low = 0, tests = 0,
      cable = "cable leaf2/4 to spine1/3", why = "only this one has errors" },
      "link at 25%;   cable leaf2/4 to spine1/3, only this one has errors")
end

function tests.test_states_in_words()
   local row = { state = "lossy", loss = 0.012, left = 0.16,
      remark = "84 % of a stream's rate is gone" }
   lu.assertEquals(report.state(row), "loses 1.2 % (84 % of a stream's rate is gone)")
   lu.assertEquals(report.is(row), "loses 1.2 % (84 % of a stream's rate is gone)")
   lu.assertEquals({ report.state { state = "lossy" }, report.is { state = "lossy" } },
      { "lossy", "is lossy" })
   lu.assertEquals(report.is { state = "failed" }, "has failed")
   lu.assertEquals(report.is { state = "slow", left = 0.41, remark = "in 7 of 31 h" },
      "is slow at 41% (in 7 of 31 h)")
   lu.assertEquals({ report.lost(1), report.lost(0.012), report.lost(0.00996),
      report.lost(0.0003), report.lost(1e-7), report.lost(0) },
      { "100 %", "1.2 %", "1 %", "0.03 %", "0.00001 %", "0 %" })
end

return tests
