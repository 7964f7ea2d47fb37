-- SPDX-License-Identifier: GPL-2.0-or-later
-- act.lua: drains through a Slurm that answers when the test lets it.
local acks = require "taut.policy.acks"
local act = require "taut.policy.act"
local config = require "taut.config"
local looptest = require "lib.looptest"
local lu = require "luaunit"
local policy = require "taut.policy"
local sim = require "lib.sim"

local tests = {}

local topo = sim.torus({ 4, 1, 1 }, 2)

local function cluster_of()
   local cl = policy.cluster(topo)
   cl.nodes_at, cl.refresh = nil, function(_, fn)
      if fn then
         fn()
      end
   end
   return cl
end

-- An act with everything around it: what Slurm was asked, what was recorded and told.
local function new(given)
   local w = { asked = {}, rows = {}, told = {}, released = {}, mode = "enable" }
   given = given or {}
   w.answer_ms, given.answer_ms = given.answer_ms, nil
   given.per_hour = given.per_hour or false
   given.cap_nodes = given.cap_nodes or 8
   local slurm = {}
   function slurm.ask(_, request, fn)
      w.asked[#w.asked + 1] = { request = request, fn = fn }
   end
   local journal = {}
   function journal.add(_, name, row)
      w.rows[#w.rows + 1] = { name, row }
   end
   w.acks = acks.new()
   w.act = act.new { acks = w.acks, slurm = slurm, cluster = cluster_of(), journal = journal,
      switches = { mode = function() return w.mode end }, answer_ms = w.answer_ms,
      case = { reason = function(_, v, a)
            return ("taut: tx at %d%%%s%s"):format(v.left * 100,
               a and a.forever and " for good" or "", v.more or "")
         end,
         reasoned = function(_, c) return "evidence of " .. topo.components[c] end },
      teller = { tell = function(_, e) w.told[#w.told + 1] = e end } }
   w.act:restore({}, {})
   w.settings = config.policy(given)
   w.act:tell(function(name, d)
      w.released[#w.released + 1] = name .. " " .. (d and d.component or "?")
   end)
   -- verdicts on the tx of these nodes
   function w.decide(...)
      local list = {}
      for i, name in ipairs { ... } do
         list[i] = { c = topo.component_id[name .. "/tx"], state = "slow", left = 0.25,
            since = 5, more = w.more }
      end
      w.act:carry_out(policy.decide { topology = topo, settings = w.settings,
         cluster = w.act.cluster, history = w.act.history, now = os.time(), mode = w.act:mode(),
         verdicts = list, clean = w.clean })
   end
   function w.actions()
      local out = {}
      for _, r in ipairs(w.rows) do
         if r[1] == "action" then
            out[#out + 1] = ("%s %s: %s"):format(r[2].action, r[2].node, r[2].result or "-")
         end
      end
      return out
   end
   return w
end

-- Four nodes wanted at once were all asked for before Slurm had answered for the first.
function tests.test_the_cap_counts_drains_that_slurm_has_not_answered()
   local w = new { cap_nodes = 2, at_cap = "wait" }
   w.decide("n0", "n1", "n2", "n3")
   lu.assertEquals(#w.asked, 2)
   lu.assertStrContains(w.act.held.n2.why, "cap: 2 of at most 2")
   for _, s in ipairs(w.asked) do
      s.fn { done = true }
   end
   w.decide("n0", "n1", "n2", "n3")
   lu.assertEquals(#w.asked, 2)
end

function tests.test_the_hourly_cap_counts_them_too()
   local w = new { per_hour = 3 }
   w.decide("n0", "n1", "n2", "n3", "n4")
   lu.assertEquals(#w.asked, 3)
end

function tests.test_a_drain_slurm_refuses_gives_its_place_back()
   local w = new { cap_nodes = 1, at_cap = "wait" }
   w.decide("n0")
   w.asked[1].fn { done = false, why = "in a maintenance reservation" }
   w.decide("n1")
   lu.assertEquals(#w.asked, 2)
   lu.assertEquals(w.actions(), { "left alone n0: in a maintenance reservation" })
end

-- The figures in a reason change with each test; the alert came again each time.
function tests.test_one_cause_is_one_alert()
   local w = new()
   w.mode, w.more = "observe", "; 3 of 3 tests"
   w.decide("n0")
   w.more = "; 4 of 4 tests"
   w.decide("n0")
   lu.assertEquals(#w.act.alerts, 1)
   lu.assertEquals(w.actions(), { "would drain n0: mode is observe" })
   lu.assertStrContains(w.act.held.n0.reason, "4 of 4")
   w.decide()
   lu.assertNil(w.act.held.n0)
   w.decide("n0") -- a new verdict
   lu.assertEquals(#w.act.alerts, 2)
end

-- A node that an administrator had drained and gave back was drained again at the next look.
function tests.test_a_node_an_administrator_gives_back_is_released()
   local w = new()
   local node = w.act.cluster.nodes.n0
   node.drain, node.reason = true, "bad memory"
   w.decide("n0")
   lu.assertStrContains(w.act.held.n0.why, "bad memory")
   w.act:reconcile()
   lu.assertEquals(w.released, {})
   node.drain = false
   w.act:reconcile()
   lu.assertEquals(w.released, { "n0 n0/tx" })
   lu.assertNil(w.act.held.n0)
   lu.assertEquals(#w.asked, 0)
end

---------------------------------------------------------------- slurmctld away

function tests.test_with_slurmctld_away_it_tries_again_and_says_so_once()
   local w = new()
   for _ = 1, 3 do
      w.decide("n0")
      w.asked[#w.asked].fn(nil, "Unable to contact slurm controller")
   end
   lu.assertEquals(#w.asked, 3)
   lu.assertEquals(#w.act.alerts, 1)
   lu.assertStrContains(w.act.alerts[1].text, "trying again")
   lu.assertEquals(w.actions(), { "drain failed n0: Unable to contact slurm controller" })
   lu.assertStrContains(w.act.held.n0.why, "Unable to contact")
   w.decide("n0")
   w.asked[4].fn { done = true }
   lu.assertEquals(w.actions()[2], "drain n0: done")
   lu.assertNil(w.act.held.n0)
end

function tests.test_no_second_request_while_the_first_is_on_its_way()
   local w = new()
   w.decide("n0")
   w.decide("n0")
   lu.assertEquals(#w.asked, 1)
end

---------------------------------------------------------------- records

function tests.test_every_action_is_recorded_with_its_evidence()
   local w = new()
   w.decide("n0")
   w.asked[1].fn { done = true }
   local row
   for _, r in ipairs(w.rows) do
      row = r[1] == "action" and r[2] or row
   end
   lu.assertEquals({ row.action, row.node, row.component, row.who, row.result, row.evidence,
      row.reason }, { "drain", "n0", "n0/tx", "taut", "done", "evidence of n0/tx",
      "taut: tx at 25%" })
   lu.assertEquals({ w.told[1].event, w.told[1].node }, { "drain", "n0" })
   lu.assertEquals(w.act.counts.drain, 1)
end

function tests.test_stops_are_said_recorded_kept_and_taken_back()
   local w = new { breaker_verdicts = 2 }
   w.act.history.since = {}
   w.settings.breaker_h = 1e9 -- the verdicts of this test began in 1970
   w.decide("n0", "n1")
   lu.assertEquals(#w.asked, 0)
   lu.assertStrContains(w.act.alerts[#w.act.alerts].text, "taut policy continue")
   local kept
   for _, r in ipairs(w.rows) do
      kept = r[1] == "setting" and r[2].name == "policy_stops" and r[2].value or kept
   end
   -- a restart forgets nothing
   local after = new()
   after.act:restore({}, {}, kept)
   after.decide("n0")
   lu.assertEquals(#after.asked, 0)
   lu.assertStrContains(after.act.held.n0.why, "stopped: 2 components")
   lu.assertTrue(after.act:resume("root"))
   after.decide("n0")
   lu.assertEquals(#after.asked, 1)
   lu.assertFalse(after.act:resume("root"))
   lu.assertEquals(w.actions()[#w.actions()]:sub(1, 6), "stop :")
end

function tests.test_new_settings_take_a_cap_back()
   local w = new { cap_nodes = 1 }
   w.decide("n0", "n1")
   lu.assertEquals(#w.asked, 1)
   w.settings = config.policy { cap_nodes = 4, per_hour = false }
   w.act:settings_changed()
   w.decide("n0", "n1")
   lu.assertEquals(#w.asked, 2)
end

---------------------------------------------------------------- flapping, repairs, restarts

function tests.test_drains_before_a_restart_count()
   local w = new { repeated = 3 }
   local now = os.time()
   local drain = { action = "drain", node = "n0", component = "n0/tx", result = "done" }
   local function row(days, t)
      return setmetatable({ time = now - days * 86400 }, { __index = t or drain })
   end
   w.act:restore({}, { row(1), row(2) }, nil)
   w.decide("n0")
   lu.assertStrContains(w.asked[1].request.reason, "for good")
   -- the latest first: repaired yesterday, so only what came after it counts
   w = new { repeated = 3 }
   w.act:restore({}, { row(1), row(2, { action = "repaired", node = "n0" }), row(3), row(4) }, nil)
   w.decide("n0")
   lu.assertNotStrContains(w.asked[1].request.reason, "for good")
end

function tests.test_damaged_memory_is_no_reason_to_fail()
   local w = new()
   w.act:restore({ { node = "n1", data = "{" } }, {}, "[1,")
   w.act:restore({}, {}, "3")
   w.decide("n0")
   lu.assertEquals(#w.asked, 1)
end

-- Slurm over ALPS forgets reasons at each start: its own drain looked like somebody else's.
function tests.test_a_drain_whose_reason_slurm_lost_is_told_again()
   local w = new()
   w.decide("n0")
   local text = w.asked[1].request.reason
   w.asked[1].fn { done = true }
   local cl = w.act.cluster
   cl.nodes_asked = w.act.history.drained.n0.time + 1
   cl.nodes.n0.drain, cl.nodes.n0.reason = true, ""
   w.act:reconcile()
   w.act:reconcile() -- asked once
   lu.assertEquals(#w.asked, 2)
   lu.assertEquals(w.asked[2].request, { op = "drain", node = "n0", reason = text, again = true })
   w.asked[2].fn { done = true }
   lu.assertNotNil(w.act.history.drained.n0)
   lu.assertEquals(#w.actions(), 1)
end

-- A rolling update with `scontrol reboot` gave all drained nodes back, and their verdicts were
-- forgotten as if an administrator had resumed them.
function tests.test_a_reboot_is_no_repair()
   local w = new()
   w.decide("n0")
   local text = w.asked[1].request.reason
   w.asked[1].fn { done = true }
   local cl = w.act.cluster
   cl.nodes_asked = w.act.history.drained.n0.time + 1
   local function see(flags)
      for _, name in ipairs { "drain", "rebooting", "down", "off" } do
         cl.nodes.n0[name] = flags[name]
      end
      cl.nodes.n0.reason = text
      w.act:reconcile()
   end
   see { drain = true, rebooting = true }
   see { rebooting = true, down = true }
   see { down = true }
   lu.assertEquals(#w.asked, 1)
   see {} -- it is back
   see {}
   lu.assertEquals(#w.asked, 2)
   lu.assertEquals(w.asked[2].request, { op = "drain", node = "n0", reason = text })
   looptest.quietly(function() w.asked[2].fn { done = true } end)
   lu.assertEquals(w.released, {})
   lu.assertEquals(w.actions()[2], "drain n0: again after a reboot")
   lu.assertNotNil(w.act.history.drained.n0)
   -- one that stays drained, and is resumed later, was resumed by somebody
   cl.nodes_asked = w.act.history.drained.n0.time + 1
   see { drain = true, rebooting = true }
   see { drain = true }
   looptest.quietly(function() see {} end)
   lu.assertEquals({ #w.asked, w.released }, { 2, { "n0 n0/tx" } })
end

function tests.test_switched_off_and_on_is_no_repair_either()
   local w = new()
   w.decide("n0")
   w.asked[1].fn { done = true }
   local cl = w.act.cluster
   cl.nodes_asked = w.act.history.drained.n0.time + 1
   cl.nodes.n0.off = true
   w.act:reconcile()
   cl.nodes.n0.off = nil
   w.act:reconcile()
   lu.assertEquals(#w.asked, 2)
   looptest.quietly(function() w.asked[2].fn { done = false, why = "drained already" } end)
   lu.assertNil(w.act.history.drained.n0)
   lu.assertEquals(w.released, {}) -- the verdict stands
end

-- An answer that Slurm gave before the drain looked like an administrator's resume.
function tests.test_an_answer_from_before_the_drain_says_nothing()
   local w = new()
   w.decide("n0")
   w.asked[1].fn { done = true }
   local cl = w.act.cluster
   cl.nodes_asked = w.act.history.drained.n0.time - 1
   w.act:reconcile()
   lu.assertNotNil(w.act.history.drained.n0)
   cl.nodes_asked = w.act.history.drained.n0.time + 1
   cl.nodes.n0.drain, cl.nodes.n0.reason = true, "mine now"
   w.act:reconcile()
   lu.assertEquals(w.actions()[2], "taken over n0: seen")
   lu.assertNil(w.act.history.drained.n0)
   lu.assertEquals(w.released, {})
end

-- slurmctld that had just started gave the node back, said "invalid state", and ever after
-- "not drained": the node stayed on our list.
function tests.test_a_node_that_is_back_already_is_released()
   local w = new()
   w.decide("n0")
   w.asked[1].fn { done = true }
   local ok, why
   local function note(a, b)
      ok, why = a, b
   end
   w.act:release("n0", "root", note)
   w.asked[2].fn(nil, "Invalid node state specified")
   lu.assertEquals({ ok, why }, { nil, "Invalid node state specified" })
   w.act:release("n0", "root", note)
   w.asked[3].fn { done = false, drained = false, why = "not drained" }
   lu.assertTrue(ok)
   lu.assertEquals(w.released, { "n0 n0/tx" })
   w.act:release("n7", "root", note)
   w.asked[4].fn { done = false, drained = false, why = "not drained" }
   lu.assertEquals(why, "n7: not drained")
end

-- `taut resume` said nothing for 20 s where slurmctld was down.
function tests.test_who_gives_a_node_back_is_answered_though_slurmctld_does_not()
   local w = new { answer_ms = 50 }
   w.decide("n0", "n1")
   w.asked[1].fn { done = true }
   w.asked[2].fn { done = true }
   local said, answers = {}, 0
   for _, node in ipairs { "n0", "n1" } do
      w.act:release(node, "root", function(...) said[node], answers = { ... }, answers + 1 end)
   end
   looptest.until_true(function() return answers == 2 end)
   for _, node in ipairs { "n0", "n1" } do -- at the same time, in any order
      lu.assertNil(said[node][1])
      lu.assertStrContains(said[node][2], node .. " stays drained: slurmctld does not answer")
   end
   lu.assertEquals(w.released, {})
   -- it does in the end, and reports it only once
   w.asked[3].fn { done = true }
   looptest.quietly(function() w.asked[4].fn(nil, "Unable to contact slurm controller") end)
   lu.assertEquals({ answers, w.released }, { 2, { "n0 n0/tx" } })
   lu.assertNotNil(w.act:standing().n1)
end

function tests.test_release_by_itself()
   local w = new { resume_after_clean = 3 }
   w.decide("n0")
   w.asked[1].fn { done = true }
   w.clean = function() return 3 end
   w.decide()
   lu.assertEquals(w.asked[2].request, { op = "resume", node = "n0" })
   w.decide()
   lu.assertEquals(#w.asked, 2) -- asked for once
   w.asked[2].fn(nil, "Unable to contact slurm controller")
   w.decide()
   w.asked[3].fn { done = true }
   lu.assertEquals(w.released, { "n0 n0/tx" })
   lu.assertEquals(w.actions()[2], "release n0: done")
end

function tests.test_what_is_known_to_be_bad_is_held_back_in_silence()
   local w = new()
   w.mode = "observe"
   w.acks:add("n0/tx", { ticket = "T1", ["until"] = os.time() + 60, who = "root" }, os.time())
   w.decide("n0", "n1")
   local said = w.act:alerted_of_late()
   lu.assertEquals(#said, 1)
   lu.assertStrContains(said[1].text, "would drain n1")
   lu.assertEquals(#w.told, 1)
   lu.assertEquals(w.told[1].node, "n1")
   lu.assertNotNil(w.act:held_back().n0) -- it is on the list, and in the log
   lu.assertEquals(#w.actions(), 2)
end

return tests
