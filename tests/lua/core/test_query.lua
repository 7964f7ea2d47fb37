-- SPDX-License-Identifier: GPL-2.0-or-later
-- Requests of the `taut` command that make no sense: each gets an answer, whatever it holds.
local advice = require "taut.place.advice"
local cluster = require "taut.slurm.cluster"
local json = require "taut.json"
local looptest = require "lib.looptest"
local lu = require "luaunit"
local query = require "taut.core.query"
local sim = require "lib.sim"

local tests = {}

local function daemon()
   local d = { topo = sim.torus({ 2, 2, 1 }, 1), diagnosis = sim.new({}).diagnosis, measures = {},
      conf = { path = "x" }, surveys = { stop = function() return 0 end } }
   d.cluster = cluster.new()
   d.cluster.partitions, d.cluster.nodes_at = { all = { "n0", "n1", "n2", "n3" } }, 1
   function d.cluster.is_admin() return false end
   function d.cluster.is_free() return true end
   function d.cluster.refresh(_, fn)
      if fn then
         fn()
      end
   end
   d.advice = advice.new { topology = d.topo, cluster = d.cluster, diagnosis = d.diagnosis,
      profiles = { background = function() return {}, 0 end } }
   return d
end

-- The answer to one line.
local function ask(line, d)
   local got
   local client = { reply = function(_, text) got = json.decode(text) end }
   query.answer(d or daemon(), client, line, 1000)
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

function tests.test_an_error_after_slurm_was_asked_is_an_answer()
   local d = daemon()
   d.cluster.is_free = function() error "broken" end
   local got
   looptest.quietly(function() got = ask('{"cmd":"idle_nodes"}', d) end)
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

-- A daemon that knows verdicts, drains and a store.
local function with_policy()
   local d = daemon()
   local policy = require "taut.policy"
   d.asked, d.rows, d.released = {}, {}, {}
   d.journal = { flush = function() end, add = function() end,
      query = function(_, name, args, fn)
         d.asked[#d.asked + 1] = { name, args }
         fn(d.rows[name] or {})
      end }
   d.act = { history = policy.history(), held = {}, alerted = {}, record = function() end,
      repaired = function(_, names) d.forgiven = names end,
      release = function(_, name, _, fn)
         d.released[#d.released + 1] = name
         fn(name ~= "n3" and true or nil, "n3: drained by somebody else")
      end,
      resume = function() return true end }
   d.events = { evidence_of = function() return json.array {} end }
   d.teller = { state = function() return {} end }
   d.conf.policy, d.conf.mode, d.measure_remarks = policy.defaults {}, "observe", {}
   d.set = function(_, name, value) d[name] = value end
   return d
end

function tests.test_who_may_change_the_policy()
   for _, line in ipairs { '{"cmd":"policy","args":{"mode":"enable"}}',
      '{"cmd":"policy","args":{"mode":"resume"}}',
      '{"cmd":"repair","args":{"component":"n1/tx","done":true}}' } do
      lu.assertStrContains(ask(line, with_policy()).error, "only root and SlurmUser")
      local d = with_policy()
      d.cluster.is_admin = function() return true end
      d.diagnosis, d.meet, d.standing = sim.new({ dims = { 2, 2, 1 }, npr = 1 }).diagnosis, {}, {}
      d.topo, d.tell = d.diagnosis.topo, function() end
      d.act.decide = function() return { measures = {}, remarks = {} } end
      d.act.unwant, d.coverage = function() end, { touch = function() end }
      local got = ask(line, d)
      lu.assertTrue(got.ok, got.error)
   end
   lu.assertTrue(ask('{"cmd":"policy_state"}', with_policy()).ok)
   lu.assertTrue(ask('{"cmd":"repair","args":{"component":"n1/tx"}}', with_policy()).ok)
   lu.assertEquals(ask('{"cmd":"partitions"}', with_policy()).data.partitions, { all = "n[0-3]" })
end

function tests.test_pages_and_log_whatever_is_asked()
   local d = with_policy()
   d.rows.log = { { time = 1, action = "drain", node = "n1", evidence = '{"left":0.25}' },
      { time = 2, action = "drain", node = "n1", evidence = "{" } }
   local got = ask('{"cmd":"log","args":{"since":5,"node":"n1","limit":1e9}}', d)
   lu.assertEquals(got.data.actions[1].evidence.left, 0.25)
   lu.assertNil(got.data.actions[2].evidence)
   lu.assertEquals(d.asked[1], { "log", { since = 5, node = "n1", component = "", limit = 10000 } })
   local odd = { "5", "-1", "1e300", '"x"', "[]", "{}", "true", "null", '"\\u0000"' }
   for _, cmd in ipairs { "log", "history", "repair" } do
      for _, field in ipairs { "since", "after", "what", "node", "component", "limit", "done" } do
         for _, v in ipairs(odd) do
            local line = ('{"cmd":"%s","args":{"what":"verdicts","%s":%s}}'):format(cmd, field, v)
            got = ask(line, with_policy())
            lu.assertNotNil(got)
            lu.assertNotEquals(got.error, "internal error; tautd's log has it", line)
         end
      end
   end
end

function tests.test_a_repair_gives_back_what_it_can()
   local repair = require "taut.policy.repair"
   local d = with_policy()
   d.cluster.is_admin = function() return true end
   d.diagnosis, d.standing = sim.new({ dims = { 2, 2, 1 }, npr = 1 }).diagnosis, {}
   d.topo, d.tell, d.coverage = d.diagnosis.topo, function() end, { touch = function() end }
   d.act.decide = function() return { measures = {}, remarks = {} } end
   d.act.history.drained = { n1 = { component = "r0.0.0/X+" }, n2 = { component = "r1.0.0/Y+" },
      n3 = { component = "r1.0.0/X+" } }
   d.act.history.drains = { { node = "n1", component = "r0.0.0/X+" } }
   local got, err
   repair.answer(d, { component = "r0.0.0/X+", done = true, release = true }, "root", 0,
      function(a, b) got, err = a, b end)
   lu.assertNil(err)
   lu.assertEquals(got.forgotten, { "r0.0.0/X+", "r1.0.0/X+" })
   lu.assertEquals(d.released, { "n1", "n3" }) -- the other direction is the same cable
   lu.assertEquals({ got.released, got.failed }, { { "n1" }, { "n3: drained by somebody else" } })
   lu.assertEquals(d.forgiven, { "n1" })
end

return tests
