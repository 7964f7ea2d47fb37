-- SPDX-License-Identifier: GPL-2.0-or-later
-- Dynamic and cloud nodes: what is not there is not tested, counted or missed; what comes back
-- begins as untested.  All of tautd, on a Slurm that the test plays.
local json = require "taut.json"
local looptest = require "lib.looptest"
local lu = require "luaunit"
local make = require "lib.parts"
local tables = require "taut.base.tables"
local topology = require "taut.topology"

local tests = {}

local TREE = [[fattree { nodes_per_leaf = 2, levels = { { down = 4, up = 2 } }, nodes = "n[0-7]",
   dynamic = "n[4-7]"%s, capacity = 12e6 }]]
local N67 = { "n6/tx", "n6/rx", "n7/tx", "n7/rx" }

-- A machine whose Slurm has these of the nodes, idle.
local function machine(more)
   local m = { p = make.new { topology = TREE:format(more or "") }, log = {} }
   local p = m.p
   p.presence.log = function(level, text) m.log[#m.log + 1] = level .. ": " .. text end
   function m.has(...)
      local list = {}
      for i, name in ipairs { "n0", "n1", "n2", "n3", ... } do
         list[i] = type(name) == "table" and name or { name = name, state = "idle",
            partitions = { "all" } }
      end
      p.cluster:take_nodes(list)
      p.presence:look()
   end
   function m.ask(what, args)
      local got
      local client = { reply = function(_, text) got = json.decode(text) end }
      p.query:answer(client, json.encode { cmd = what, args = args }, 1000)
      if not got then
         looptest.until_true(function() return got end)
      end
      return assert(got.data, got.error)
   end
   -- tests found each of these components well
   function m.clear(names)
      for _, name in ipairs(names) do
         local c = p.site.topo.component_id[name]
         p.diagnosis:restore(c, { state = "ok", since = 1, busy = 0, confirmed = {}, tests = 1,
            good = 1, cleared_at = os.time(), last = os.time(), run = {} })
      end
      p.diagnosis:restored()
      for _, name in ipairs(names) do
         p.coverage:touch(p.site.topo.component_id[name], os.time())
      end
   end
   function m.state(name)
      return p.diagnosis:state(p.site.topo.component_id[name])
   end
   return m
end

function tests.test_what_is_not_there_is_not_counted()
   local m = machine()
   local p = m.p
   m.has("n4", "n5", "n6", "n7")
   lu.assertEquals(p.diagnosis:count_states().unknown, 16 + 16)
   m.has("n4")
   lu.assertEquals(m.log, { "notice: 3 nodes left: n[5-7]" })
   -- of n5 its tx and rx; of n6 and n7, and so of leaf3, its four links besides
   lu.assertEquals(p.diagnosis:count_states().unknown, 32 - 2 - 4 - 4)
   local all = {}
   for c, name in ipairs(p.site.topo.components) do
      all[#all + 1] = not name:find "^n[567]/" and not name:find "leaf3"
         and not name:find "spine./4" and name or nil
      lu.assertEquals(p.site.topo:is_there(c), not name:find "^n[567]/")
   end
   lu.assertEquals(#all, 22)
   m.clear(all)
   lu.assertEquals(p.diagnosis:covered(p.coverage, 86400, os.time()), 1)
   -- they come, and are missing until they are tested
   m.has("n4", "n5", "n6", "n7")
   lu.assertEquals(m.log[2], "notice: 3 nodes joined, untested: n[5-7]")
   lu.assertAlmostEquals(p.diagnosis:covered(p.coverage, 86400, os.time()), 22 / 32, 1e-9)
end

function tests.test_the_last_node_of_a_leaf_takes_its_links_out()
   local m = machine()
   local topo = m.p.site.topo
   m.has("n4", "n5", "n7")
   lu.assertEquals(topo.unreached, {})
   m.has("n4", "n5")
   local names = tables.map(topo.unreached, function(c) return topo.components[c] end)
   lu.assertEquals(#names, 4)
   for _, name in ipairs(names) do
      lu.assertTrue(name:find "^leaf3/" ~= nil or name:find "^spine%d/4$" ~= nil, name)
   end
   -- a link that is known to be bad is shown all the same
   m.p.diagnosis:component(topo.unreached[1]).state = "slow"
   lu.assertEquals(m.p.diagnosis:out_of_reach(), 3)
end

function tests.test_what_comes_back_is_untested_and_owes_nothing()
   local m = machine()
   local p = m.p
   m.has("n4", "n5", "n6", "n7")
   m.clear(N67)
   p.act:restore({ { node = "n6", data = '{"component":"n6/tx","reason":"taut: tx","time":1}' },
      { node = "n2", data = '{"component":"n2/tx","reason":"taut: tx","time":1}' } }, {})
   lu.assertNotNil(p.act:standing().n6)
   lu.assertEquals(m.state "n6/tx", "ok")
   m.has("n4", "n5")
   lu.assertNil(p.act:standing().n6)
   lu.assertNotNil(p.act:standing().n2)
   m.has("n4", "n5", "n6", "n7")
   for _, name in ipairs(N67) do
      lu.assertEquals(m.state(name), "unknown")
   end
end

-- What was stored of it is read after Slurm's first answer.
function tests.test_what_the_store_has_of_a_node_that_was_away_is_not_its_own()
   local m = machine()
   m.has("n4", "n5")
   m.clear(N67)
   m.p.act:restore({ { node = "n6", data = '{"component":"n6/tx","reason":"taut: tx","time":1}' } },
      {})
   m.has("n4", "n5", "n6", "n7")
   lu.assertEquals({ m.state "n6/tx", m.state "n7/rx" }, { "unknown", "unknown" })
   lu.assertNil(m.p.act:standing().n6)
end

-- A cloud node that is switched off is none; one that is down, or drained, is there.
function tests.test_a_node_that_is_off_is_away_and_one_that_is_down_is_not()
   local m = machine()
   local topo = m.p.site.topo
   m.has("n4", { name = "n5", state = "down", down = true }, { name = "n6", state = "idle",
      off = true }, { name = "n7", state = "idle", drain = true })
   lu.assertEquals(topo.away, { [7] = true })
   -- Slurm keeps a node drained while it is off, and so do we
   m.p.act:restore({ { node = "n7", data = '{"component":"n7/tx","reason":"taut: tx","time":1}' } },
      {})
   m.has("n4", "n5", { name = "n7", state = "idle", drain = true, off = true })
   lu.assertNotNil(m.p.act:standing().n7)
   m.p.act:reconcile()
   lu.assertNil(m.p.act:standing().n7.rebooted)
end

function tests.test_status_nodes_and_doctor_say_who_is_away()
   local m = machine()
   m.has("n4")
   local status = m.ask "status"
   lu.assertEquals({ status.nodes, status.away, status.components }, { 5, 3, 22 })
   local doctor = m.ask("doctor").nodes
   lu.assertEquals({ doctor.away.list, doctor.not_in_slurm.count }, { "n[5-7]", 0 })
   local here = {}
   for _, n in ipairs(m.ask("nodes").nodes) do
      here[#here + 1] = not n.away and n.node or nil
   end
   lu.assertEquals(here, { "n0", "n1", "n2", "n3", "n4" })
   local idle = m.ask("idle_nodes", { kind = "audit" })
   lu.assertEquals({ idle.nodes, #idle.left_out }, { "n[0-4]", 0 })
   -- one that is not dynamic is missed as ever
   m.p.cluster.nodes.n3 = nil
   lu.assertEquals(m.ask("doctor").nodes.not_in_slurm.list, "n3")
end

-- Before Slurm's first answer nobody is away; what it said last holds while it is silent.
function tests.test_a_slurm_that_says_nothing_takes_nobody_away()
   local m = machine()
   m.p.cluster.nodes_at, m.p.cluster.nodes = nil, {}
   m.p.presence:look()
   lu.assertEquals(m.p.site.topo.away_count, 0)
   lu.assertEquals(m.log, {})
end

function tests.test_a_configuration_that_is_read_anew_knows_who_is_away()
   local m = machine()
   m.has("n4", "n5")
   lu.assertEquals(#m.log, 1)
   local topo = assert(topology.build { kind = "fattree", nodes_per_leaf = 2, levels = { { down = 4,
      up = 2 } }, nodes = "n[0-7]", dynamic = "n[4-6]", capacity = 12e6 })
   m.p.site.topo = topo
   m.p.presence:look()
   lu.assertEquals(topo.away, { [7] = true })
   lu.assertEquals(#m.log, 1)
end

function tests.test_of_several_fabrics_it_is_away_from_each()
   local topo = assert(topology.build { kind = "fabrics", fabrics = {
      a = { kind = "fattree", nodes_per_leaf = 2, levels = { { down = 2, up = 1 } },
         nodes = "n[0-3]", dynamic = "n3", capacity = 1e6 },
      b = { kind = "fattree", nodes_per_leaf = 2, levels = { { down = 2, up = 1 } },
         nodes = "n[2-5]", capacity = 1e6 } } })
   lu.assertEquals(topo.dynamic, { [4] = true })
   local all = topo:absent()
   topo:set_away { [4] = true }
   lu.assertEquals(topo:absent(), all + 4)
   for _, f in ipairs(topo.fabrics) do
      lu.assertEquals(f.topo.away_count, 1)
      lu.assertFalse(f.topo:is_there(f.topo.tx[f.topo.node_id.n3]))
   end
   topo:set_away {}
   lu.assertEquals(topo:absent(), all)
end

function tests.test_settings_that_cannot_be_meant()
   local function build(v)
      return select(2, topology.build { kind = "torus", dims = { 2, 2, 1 }, nodes_per_router = 1,
         nodes = "n[0-3]", capacity = 1e6, dynamic = v })
   end
   lu.assertEquals(build(5), "topology.dynamic: expected a host list in quotes, got 5")
   lu.assertEquals(build "n[3-4]", "topology.dynamic: node 'n4' is not in the topology: one " ..
      "that comes needs a place there")
   lu.assertStrContains(build "n[", "topology.dynamic: ")
   lu.assertNil(build "n[1-3]")
end

return tests
