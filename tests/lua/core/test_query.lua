-- SPDX-License-Identifier: GPL-2.0-or-later
-- Requests of the `taut` command that make no sense: each gets an answer, whatever it holds.
local json = require "taut.json"
local loop = require "taut.loop"
local looptest = require "lib.looptest"
local lu = require "luaunit"
local parts = require "lib.parts"
local sys = require "taut.sys"
local task = require "taut.base.task"
local topology = require "taut.topology"
local tree = require "taut.base.tree"

local tests = {}

-- The answer to one line.
local function ask(line, p)
   local got
   local client = { reply = function(_, text) got = json.decode(text) end }
   p = p or parts.new { is_admin = false }
   p.query:answer(client, line, 1000)
   if not got then
      looptest.until_true(function() return got end) -- one that comes a turn at a time
   end
   return got
end

function tests.test_arguments_are_an_object_for_all_commands()
   for _, cmd in ipairs { "idle_nodes", "advise", "stop_survey", "explain", "fabric", "status" } do
      for _, args in ipairs { "5", '"x"', "true", "1.5" } do
         local got = ask(('{"cmd":"%s","args":%s}'):format(cmd, args))
         lu.assertFalse(got.ok)
         lu.assertEquals(got.error, cmd .. ": args: expected an object")
      end
   end
   lu.assertEquals(ask('{"cmd":"idle_nodes","args":null}').data.count, 4)
   lu.assertEquals(ask('{"cmd":"idle_nodes"}').data.nodes, "n[0-3]")
   lu.assertEquals(ask('{"cmd":"idle_nodes","args":{"partition":"all"}}').data.count, 4)
end

function tests.test_private_nodes_are_administrators_only()
   local p = parts.new { is_admin = false }
   p.cluster.config = { private = { nodes = true }, flags = {} }
   for _, cmd in ipairs { "status", "nodes", "links", "topology", "idle_nodes", "log", "history",
      "events", "machine", "days", "repair", "acks", "steer" } do
      lu.assertStrContains(ask(('{"cmd":"%s"}'):format(cmd), p).error, "PrivateData=nodes is set")
   end
   lu.assertStrContains(ask('{"cmd":"explain","args":{"what":"n1"}}', p).error, "PrivateData=nodes")
   lu.assertNotStrContains(ask('{"cmd":"explain","args":{"job":5}}', p).error, "PrivateData")
   p.cluster.is_admin = function() return true end
   lu.assertTrue(ask('{"cmd":"status"}', p).ok)
end

function tests.test_until_slurm_has_answered_all_is_private()
   local p = parts.new { is_admin = false }
   p.cluster.config = nil
   lu.assertStrContains(ask('{"cmd":"links"}', p).error, "Slurm has not answered yet")
end

function tests.test_who_may_have_all_idle_nodes()
   local p = parts.new { is_admin = false }
   lu.assertTrue(ask('{"cmd":"idle_nodes"}', p).ok)
   p.site.conf.survey.all = { "nobody-by-that-name" }
   lu.assertStrContains(ask('{"cmd":"idle_nodes"}', p).error, "survey.all")
   p.site.conf.survey.all = { sys.user_name(1000) }
   lu.assertTrue(ask('{"cmd":"idle_nodes"}', p).ok)
   p.site.conf.survey.all = "administrators"
   lu.assertFalse(ask('{"cmd":"idle_nodes"}', p).ok)
   p.cluster.is_admin = function() return true end
   lu.assertTrue(ask('{"cmd":"idle_nodes"}', p).ok)
end

function tests.test_the_machine_is_the_one_of_the_file()
   local p = parts.new()
   local d = ask('{"cmd":"machine"}', p).data
   local topo = topology.build(tree.take(d.machine))
   lu.assertEquals(topo.wiring, p.site.topo.wiring)
   lu.assertEquals(topo.capacity, p.site.topo.capacity)
end

function tests.test_an_error_after_slurm_was_asked_is_an_answer()
   local p = parts.new()
   p.cluster.survey_room = function() error "broken" end
   local got
   looptest.quietly(function() got = ask('{"cmd":"idle_nodes"}', p) end)
   lu.assertEquals(got, { ok = false, error = "internal error; tautd's log has it" })
end

function tests.test_whatever_stands_in_the_arguments_there_is_an_answer()
   local odd = { "5", "-1", "1e300", '"x"', "[]", "{}", "true", "null", "[[]]", '{"a":[1]}',
      '"\\u0000"' }
   for _, cmd in ipairs { "idle_nodes", "advise", "stop_survey" } do
      for _, field in ipairs { "partition", "count", "top", "tag", "job" } do
         for _, v in ipairs(odd) do
            local got = ask(('{"cmd":"%s","args":{"count":2,"%s":%s}}'):format(cmd, field, v))
            lu.assertNotNil(got)
            lu.assertNotEquals(got.error, "internal error; tautd's log has it", field .. " " .. v)
         end
      end
   end
   for _, line in ipairs { "", "5", "[]", "null", '{"cmd":5}', '{"cmd":{}}', '{"cmd":null}' } do
      lu.assertFalse(ask(line).ok)
   end
end

-- Long answers come a turn at a time: once for all who ask meanwhile.
function tests.test_those_who_ask_together_get_one_long_answer()
   local p, got, made = parts.new(), {}, 0
   local state = p.diagnosis.state
   function p.diagnosis.state(...)
      made = made + 1
      return state(...)
   end
   for i, cmd in ipairs { "links", "links", "nodes", "topology", "links" } do
      p.query:answer({ reply = function(_, text) got[i] = json.decode(text) end },
         ('{"cmd":"%s"}'):format(cmd), 1000)
   end
   lu.assertEquals(got, {})
   looptest.until_true(function() return #got == 5 end)
   local links, topo = 0, p.site.topo
   for c = 1, #topo.components do
      links = links + (topo:is_link(c) and 1 or 0)
   end
   lu.assertEquals(#got[1].data.links, links)
   lu.assertEquals(got[2], got[1])
   lu.assertEquals(got[5], got[1])
   lu.assertEquals(#got[3].data.nodes, #topo.nodes)
   lu.assertEquals(got[3].data.nodes[2].tx.component, "n1/tx")
   lu.assertEquals(got[4].data.verdicts, {})
   lu.assertEquals(got[4].data.path, p.site.conf.path)
   lu.assertEquals(made, links + 2 * #topo.nodes + #topo.components)
end

function tests.test_a_long_answer_that_fails_is_an_answer()
   local p, got = parts.new(), nil
   function p.diagnosis.state() error "broken" end
   looptest.quietly(function()
      p.query:answer({ reply = function(_, text) got = json.decode(text) end }, '{"cmd":"links"}',
         1000)
      looptest.until_true(function() return got end)
   end)
   lu.assertEquals(got, { ok = false, error = "internal error; tautd's log has it" })
end

-- A search of a large machine lets others have their turn, and sees the nodes as they were when it
-- began.
function tests.test_advice_comes_in_turns()
   local p = parts.new { dims = { 4, 4, 2 }, npr = 2, is_admin = false }
   local whole = ask('{"cmd":"advise","args":{"count":6}}', p)
   lu.assertTrue(whole.ok, whole.error)
   local turn_ns, order, got = task.turn_ns, {}, {}
   task.turn_ns = -1
   for i = 1, 3 do
      p.query:answer({ reply = function(_, text)
         order[#order + 1], got[i] = i, json.decode(text)
      end }, '{"cmd":"advise","args":{"count":6}}', 1000)
   end
   local asked = 0
   local function others()
      asked = asked + 1
      local name = "n" .. asked % 8
      p.cluster:prolog(100 + asked, { name }, name)
      p.advice:refreshed()
      p.cluster:epilog(100 + asked, name)
      p.advice:refreshed()
      if #order < 3 then
         loop.timer(0, others)
      end
   end
   others()
   looptest.until_true(function() return #order == 3 end)
   task.turn_ns = turn_ns
   lu.assertEquals(order, { 1, 2, 3 })
   lu.assertTrue(asked > 3)
   lu.assertEquals(got[1].data.candidates, whole.data.candidates)
   for i = 2, 3 do
      lu.assertTrue(got[i].ok, got[i].error)
   end
end

-- The mode was observe, and nothing said why.
function tests.test_the_policy_says_that_the_past_is_not_known()
   local p = parts.new()
   lu.assertNil(ask('{"cmd":"policy_state"}', p).data.brakes)
   p.act.remembers = nil
   lu.assertStrContains(ask('{"cmd":"policy_state"}', p).data.brakes, "database cannot be read")
end

function tests.test_who_may_change_the_policy()
   for _, line in ipairs { '{"cmd":"policy","args":{"mode":"enable"}}',
      '{"cmd":"policy","args":{"mode":"resume"}}',
      '{"cmd":"repair","args":{"component":"n1/tx","done":true}}' } do
      lu.assertStrContains(ask(line).error, "only root and SlurmUser")
      local got
      looptest.quietly(function() got = ask(line, parts.new()) end)
      lu.assertTrue(got.ok, got.error)
   end
   lu.assertTrue(ask('{"cmd":"policy_state"}').ok)
   lu.assertTrue(ask('{"cmd":"repair","args":{"component":"n1/tx"}}').ok)
   lu.assertEquals(ask('{"cmd":"partitions"}').data.partitions, { all = "n[0-3]" })
end

function tests.test_every_question_has_an_answer()
   local p = parts.new()
   for _, cmd in ipairs { "status", "links", "nodes", "topology", "policy_state", "log", "steer",
      "partitions", "events" } do
      local got = ask(('{"cmd":"%s"}'):format(cmd), p)
      lu.assertTrue(got.ok, cmd .. ": " .. tostring(got.error))
   end
   lu.assertEquals(ask('{"cmd":"status"}', p).data.states.unknown, #p.site.topo.components)
   lu.assertEquals(#ask('{"cmd":"nodes"}', p).data.nodes, 4)
end

-- Past bug: no request was answered as long as one component was lossy.
function tests.test_status_counts_each_state()
   for _, state in ipairs { "ok", "suspect", "slow", "failed", "lossy", "unknown" } do
      local p = parts.new()
      for c = 1, #p.site.topo.components do
         p.diagnosis:component(c).state = state
      end
      local got = ask('{"cmd":"status"}', p)
      lu.assertTrue(got.ok, state .. ": " .. tostring(got.error))
      lu.assertEquals(got.data.states[state], #p.site.topo.components, state)
   end
end

function tests.test_pages_and_log_whatever_is_asked()
   local p = parts.new { is_admin = false }
   p.journal.stored.log = { { time = 1, action = "drain", node = "n1", evidence = '{"left":0.25}' },
      { time = 2, action = "drain", node = "n1", evidence = "{" } }
   local got = ask('{"cmd":"log","args":{"since":5,"node":"n1","limit":1e9}}', p)
   lu.assertEquals(got.data.actions[1].evidence.left, 0.25)
   lu.assertNil(got.data.actions[2].evidence)
   lu.assertEquals(p.journal.asked[1],
      { "log", { since = 5, node = "n1", component = "", limit = 10000 } })
   local odd = { "5", "-1", "1e300", '"x"', "[]", "{}", "true", "null", '"\\u0000"' }
   for _, cmd in ipairs { "log", "history", "repair" } do
      for _, field in ipairs { "since", "after", "what", "node", "component", "limit", "done" } do
         for _, v in ipairs(odd) do
            local line = ('{"cmd":"%s","args":{"what":"verdicts","%s":%s}}'):format(cmd, field, v)
            got = ask(line)
            lu.assertNotNil(got)
            lu.assertNotEquals(got.error, "internal error; tautd's log has it", line)
         end
      end
   end
end

function tests.test_a_repair_gives_back_what_it_can()
   local p = parts.new()
   local h = p.act:past()
   for name, component in pairs { n1 = "r0.0.0/X+", n2 = "r1.0.0/Y+", n3 = "r1.0.0/X+" } do
      h.drained[name] = { component = component, reason = "taut: x", time = os.time() }
   end
   h.drains = { { node = "n1", component = "r0.0.0/X+", time = os.time() } }
   function p.slurm.answer(request)
      return { done = request.node ~= "n3", why = "drained by somebody else" }
   end
   local got
   looptest.quietly(function()
      got = ask('{"cmd":"repair","args":{"component":"r0.0.0/X+","done":true,"release":true}}', p)
   end)
   lu.assertNil(got.error)
   lu.assertEquals(got.data.forgotten, { "r0.0.0/X+", "r1.0.0/X+" })
   lu.assertEquals({ got.data.released, got.data.failed },
      { { "n1" }, { "n3: drained by somebody else" } }) -- the other direction is the same cable
   lu.assertNil(h.drained.n1)
   local forgiven = {}
   for _, r in ipairs(p.journal.rows) do
      forgiven[#forgiven + 1] = r[1] == "action" and r[2].action == "repaired" and r[2].node or nil
   end
   lu.assertEquals(forgiven, { "n1" })
end

-- What is said to be done is on disk, or is said not to be.
function tests.test_what_cannot_be_stored_is_said()
   local p = parts.new()
   local lines = { '{"cmd":"policy","args":{"mode":"observe"}}',
      '{"cmd":"policy","args":{"mode":"resume"}}', '{"cmd":"off"}', '{"cmd":"on"}',
      '{"cmd":"verify","args":{"component":"r0.0.0/X+"}}', '{"cmd":"release","args":{"node":"n1"}}',
      '{"cmd":"repair","args":{"component":"n1/tx","done":true}}',
      '{"cmd":"steer","args":{"set":"on"}}' }
   for _, full in ipairs { false, "disk full" } do
      p.journal.full = full
      for _, line in ipairs(lines) do
         local got
         looptest.quietly(function() got = ask(line, p) end)
         lu.assertEquals(got.error, full and
            "not stored: disk full; it is done, and holds until tautd ends" or nil, line)
      end
   end
   lu.assertTrue(ask('{"cmd":"verify","args":{"component":"r0.0.0/X+","look":true}}', p).ok)
   lu.assertTrue(ask('{"cmd":"repair","args":{"component":"n1/tx"}}', p).ok)
   lu.assertTrue(ask('{"cmd":"steer"}', p).ok)
end

return tests
