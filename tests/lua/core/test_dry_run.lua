-- SPDX-License-Identifier: GPL-2.0-or-later
-- What would follow if another configuration were taken, and what follows from capacities.
local config = require "taut.config"
local json = require "taut.json"
local lu = require "luaunit"
local parts = require "lib.parts"
local sys = require "taut.sys"

local CONF = [[
mode = "%s"
topology = torus { dims = { 2, 2, 1 }, nodes_per_router = 1, nodes = "n[0-%d]", capacity = %s }
%s
]]

local path

local function write(o)
   local f = assert(io.open(path, "w"))
   f:write(o.text or CONF:format(o.mode or "observe", o.last or 3, o.capacity or "24e6",
      o.more or ""))
   f:close()
end

-- tautd with the plain configuration, to which n1/tx is known well and n2/tx is slow.
local function daemon()
   local f = io.open(path)
   local text = f and f:read "a"
   write {}
   local p = parts.new {}
   p.site.conf = assert(config.load(path, sys.paths))
   local topo = p.site.topo
   p.site.conf.topology = topo
   if f then
      f:close()
      write { text = text }
   end
   local d, id = p.diagnosis, topo.component_id
   d.evidence:restore_seen(id["n1/tx"], { cleared_at = 5, cleared_by = 1, last = 5, tests = 1,
      good = 1, reach = 1 })
   d:component(id["n2/tx"]).state = "slow"
   d.decided[id["n2/tx"]] = true
   p.decision:note(id["n2/tx"])
   return p
end

local function ask(p)
   local got
   p.query.commands.reload[2]({ dry_run = true }, "root", 0, function(data, err)
      got = assert(data, err)
   end)
   return got
end

local tests = {}

function tests.setUp()
   path = os.tmpname()
   assert(sys.chmod(path, 384))
   os.remove(path)
   assert(sys.mkdir(path, 448))
   path = path .. "/taut.lua"
end

function tests.tearDown()
   os.remove(path)
   os.remove(path:match "^(.*)/")
end

function tests.test_the_same_changes_nothing()
   write {}
   local d = ask(daemon())
   lu.assertEquals({ d.at_once, d.restart, d.machine }, { {}, {} })
end

function tests.test_settings_at_once_and_with_a_restart()
   write { mode = "drain", more = "policy = { per_hour = 7 }\nlisten = '127.0.0.1:7777'" }
   local p = daemon()
   local before = json.encode(p.site.conf.policy)
   local d = ask(p)
   lu.assertEquals({ d.at_once, d.restart, d.machine },
      { { "mode", "policy.per_hour" }, { "listen" } })
   lu.assertEquals(json.encode(p.site.conf.policy), before)
   lu.assertNil(p.site.error)
end

function tests.test_what_is_wrong_is_refused()
   write { text = "mode = \"never\"\n" }
   local d = ask(daemon())
   lu.assertStrContains(d.refused, ":1: mode: expected one of observe, drain")
   write { more = 'renamed_nodes = "map"' }
   local map = path:gsub("taut.lua", "map")
   local f = assert(io.open(map, "w"))
   f:write "# names\nn1 m1\nn2\n"
   f:close()
   d = ask(daemon())
   lu.assertStrContains(d.refused, path .. ":3: renamed_nodes: ")
   lu.assertStrContains(d.refused, 'map:3: expected "OLD NEW", two names of nodes, got "n2"')
   for text, why in pairs { ["n1 m1\nn1 m2"] = "2: 'n1' was renamed to 'm1' above",
      ["n1 m1\nn2 m1"] = "2: 'm1' is the new name of 'n1' already",
      ["n1 n1"] = "old and new name are both",
      ["n1 a/b"] = "two names of nodes" } do
      f = assert(io.open(map, "w"))
      f:write(text)
      f:close()
      lu.assertStrContains(ask(daemon()).refused, why)
   end
   f = assert(io.open(map, "w"))
   f:write "n1 m1\n"
   f:close()
   lu.assertStrContains(ask(daemon()).hints[1], "'n1' is now 'm1', which is not in the topology")
   os.remove(map)
end

function tests.test_what_another_machine_forgets()
   write { text = CONF:gsub("2, 2, 1", "3, 2, 1"):format("observe", 5, "24e6", "") }
   local p = daemon()
   local d = ask(p)
   lu.assertEquals({ d.at_once, d.restart }, { {}, { "topology" } })
   lu.assertEquals(d.machine.forgotten, {})
   lu.assertStrContains(d.machine.what, "2 new nodes (n4, n5)")
   write { text = CONF:gsub("n%[0%-%%d%]", "n0,x%%d,n[2-3]"):format("observe", 1, "24e6", "") }
   d = ask(p)
   lu.assertEquals(d.machine.forgotten, { { component = "n1/tx", state = "ok" } })
   lu.assertEquals({ d.machine.of, d.machine.same }, { 16, 14 })
end

function tests.test_a_component_of_another_capacity_is_forgotten()
   write { capacity = "{ tx = 48e6, rx = 24e6, link = 24e6 }" }
   local p = daemon()
   local d, id = ask(p), p.site.topo.component_id
   lu.assertEquals({ d.at_once, d.restart }, { {}, {} })
   lu.assertEquals(d.machine.forgotten, { { component = "n2/tx", state = "slow" },
      { component = "n1/tx", state = "ok" } })
   lu.assertEquals(p.diagnosis:component(id["n2/tx"]).state, "slow")
   lu.assertTrue(p.reload())
   lu.assertEquals(p.diagnosis:component(id["n2/tx"]).state, "unknown")
   lu.assertNil(p.decision.standing[id["n2/tx"]])
end

return tests
