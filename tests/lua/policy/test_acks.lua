-- SPDX-License-Identifier: GPL-2.0-or-later
-- Components that are known to be bad: until when, what is kept, what is refused; and that a user
-- is not asked.
local acks = require "taut.policy.acks"
local json = require "taut.json"
local looptest = require "lib.looptest"
local lu = require "luaunit"
local parts = require "lib.parts"

local tests = {}

local NOW = 1000000

local function one(changes)
   local a = { ticket = "T-1", ["until"] = NOW + 60, who = "root" }
   for k, v in pairs(changes or {}) do
      a[k] = v
   end
   return a
end

function tests.test_until_its_time()
   local a = acks.new()
   lu.assertTrue(a:add("r1/X+", one(), NOW))
   lu.assertEquals(a:get("r1/X+", NOW + 59).ticket, "T-1")
   lu.assertNil(a:get("r1/X+", NOW + 60))
   lu.assertNil(a:get("r2/X+", NOW))
   lu.assertEquals(#a:list(NOW + 59), 1)
   lu.assertEquals(#a:list(NOW + 60), 0)
end

function tests.test_what_makes_no_sense_is_refused()
   local a = acks.new()
   for what, changes in pairs { ticket = { ticket = "" },
      ["1 to 200"] = { ticket = ("x"):rep(201) },
      ["a text"] = { ticket = 5 }, ["from now"] = { ["until"] = NOW }, a = { ["until"] = 0 / 0 },
      year = { ["until"] = NOW + 400 * 86400 }, time = { ["until"] = "x" } } do
      local ok, why = a:add("r1/X+", one(changes), NOW)
      lu.assertNil(ok)
      lu.assertStrContains(why, what)
   end
   lu.assertEquals(#a:list(NOW), 0)
end

function tests.test_it_outlives_a_restart()
   local a, b = acks.new(), acks.new()
   a:add("r1/X+", one(), NOW)
   a:add("r2/X+", one { ticket = "T-2" }, NOW)
   b:add("r2/X+", one { ticket = "newer" }, NOW)
   b:restore(a:pack(NOW))
   lu.assertEquals(b:get("r1/X+", NOW), { ticket = "T-1", ["until"] = NOW + 60, who = "root",
      at = NOW })
   lu.assertEquals(b:get("r2/X+", NOW).ticket, "newer")
   b:restore(nil)
   for _, text in ipairs { "[5]", '[{"component":5}]', "[[]]", "{}" } do
      b:restore(text)
   end
   lu.assertEquals(#b:list(NOW), 2)
end

function tests.test_it_ends_when_somebody_says_so()
   local a = acks.new()
   a:add("r1/X+", one(), NOW)
   lu.assertTrue(a:drop "r1/X+")
   lu.assertFalse(a:drop "r1/X+")
   lu.assertNil(a:get("r1/X+", NOW))
end

---------------------------------------------------------------- the command

local function ask(p, args, cmd)
   local got
   p.query:answer({ reply = function(_, text) got = json.decode(text) end },
      json.encode { cmd = cmd or "ack", args = args }, 1000)
   looptest.until_true(function() return got end)
   return got
end

function tests.test_the_answer_the_log_and_the_store()
   local p = parts.new()
   local name = p.site.topo.components[p.site.topo.first_link]
   local till = os.time() + 3600
   local got = ask(p, { component = name, ticket = "T-1", ["until"] = till })
   lu.assertTrue(got.ok, got.error)
   lu.assertEquals(ask(p, {}, "acks").data.acks[1].component, name)
   local kept, logged
   for _, row in ipairs(p.journal.rows) do
      kept = row[1] == "setting" and row[2].name == "acks" and row[2].value or kept
      logged = row[1] == "action" and row[2].action == "ack" and row[2] or logged
   end
   lu.assertStrContains(kept, "T-1")
   lu.assertEquals(logged.component, name)
   lu.assertStrContains(logged.reason, "ticket T-1, until ")
   lu.assertTrue(ask(p, { component = name, ["end"] = true }).data.ended)
   lu.assertStrContains(ask(p, { component = name, ["end"] = true }).error, "not known to be bad")
   lu.assertStrContains(ask(p, { component = "x" }).error, "'x' is not a component")
   lu.assertStrContains(ask(p, { component = name, ticket = "T" }).error, "until: expected")
end

function tests.test_a_repair_ends_it()
   local p = parts.new()
   local name = p.site.topo.components[p.site.topo.first_link]
   ask(p, { component = name, ticket = "T-1", ["until"] = os.time() + 3600 })
   lu.assertTrue(ask(p, { component = name, done = true }, "repair").ok)
   lu.assertEquals(#ask(p, {}, "acks").data.acks, 0)
end

-- Past bug: a node was repaired and resumed, and what it had next was known of all the same.
function tests.test_a_node_that_is_back_ends_it()
   local p = parts.new()
   local topo = p.site.topo
   local function tx(n)
      return topo.components[topo.tx[n]]
   end
   for n = 1, 2 do
      local got = ask(p, { component = tx(n), ticket = "T", ["until"] = os.time() + 60 })
      lu.assertEquals(got.data.state, "unknown")
      p.act.on_back(topo.nodes[n], n == 1 and { component = tx(n), reason = "taut: tx" } or nil)
   end
   local left = ask(p, {}, "acks").data.acks
   lu.assertEquals({ #left, left[1].component }, { 1, tx(2) })
end

function tests.test_users_only_look()
   local p = parts.new { is_admin = false }
   local name = p.site.topo.components[p.site.topo.first_link]
   local got = ask(p, { component = name, ticket = "T", ["until"] = os.time() + 60 })
   lu.assertStrContains(got.error, "only root and SlurmUser")
   lu.assertTrue(ask(p, {}, "acks").ok)
end

return tests
