-- SPDX-License-Identifier: GPL-2.0-or-later
-- From where nodes may speak: as Slurm says, and what a site adds.
local addresses = require "taut.slurm.addresses"
local loop = require "taut.loop"
local lu = require "luaunit"
local values = require "taut.config.values"

local tests = {}

-- Names are looked up in `hosts`; `asked` has what was asked for.
local function known(nodes, setting, hosts)
   local asked, answers = {}, {}
   local a = addresses.new { setting = setting or "slurm", resolver = { ask = function(_, r, fn)
      for _, name in ipairs(r.names) do
         asked[#asked + 1] = name
      end
      answers[#answers + 1] = function()
         local out = {}
         for _, name in ipairs(r.names) do
            out[name] = { hosts and hosts[name] }
         end
         fn { addresses = out }
      end
   end } }
   a:take(nodes)
   local function answer()
      while #answers > 0 do
         table.remove(answers, 1)()
         loop.timer(5, loop.stop)
         loop.run()
      end
   end
   return a, answer, asked
end

function tests.test_slurms_address_is_the_nodes()
   local a = known { { name = "n1", addr = "10.0.0.1" }, { name = "n2", addr = "fd00::2" } }
   lu.assertTrue(a:check("n1", "10.0.0.1:4000"))
   lu.assertTrue(a:check("n2", "[fd00::2]:4000"))
   lu.assertTrue(known({ { name = "n2", addr = "fd00:0::0002" } }):check("n2", "[fd00::2]:40"))
   local ok, why = a:check("n2", "10.0.0.1:4000")
   lu.assertEquals(ok, false)
   lu.assertStrContains(why, "n2 speaks from 10.0.0.1, its address is fd00::2")
end

-- They are read every few seconds, and are hardly ever others than before.
function tests.test_nodes_are_read_again_with_the_same_addresses_and_with_others()
   local n1, n2 = { name = "n1", addr = "10.0.0.1" }, { name = "n2", addr = "10.0.0.2" }
   local a = known { n1, n2 }
   local before = a.said_at
   a:take { n2, n1 }
   lu.assertTrue(a.said_at == before)
   a:take { n1, { name = "n2", addr = "10.0.0.3" } }
   lu.assertEquals({ a:node_at "10.0.0.1:1", a:node_at "10.0.0.3:1", a:node_at "10.0.0.2:1" },
      { "n1", "n2" })
   a:take { n1 }
   lu.assertNil(a:node_at "10.0.0.3:1")
   a:take { n1, { name = "n2", addr = "10.0.0.2" } }
   lu.assertEquals(a:node_at "10.0.0.2:1", "n2")
   a:take { n1, { name = "n2", addr = "10.0.0.2", coord = "1" } }
   lu.assertNil(a:node_at "10.0.0.2:1")
end

function tests.test_names_are_looked_up_and_nobody_waits_for_it()
   local a, answer, asked = known({ { name = "n1" }, { name = "n2", addr = "n2-ctl" } }, nil,
      { n1 = "10.0.0.1", ["n2-ctl"] = "10.0.0.2" })
   lu.assertNil(a:check("n1", "10.0.0.1:1"))
   lu.assertNil(a:check("n1", "10.0.0.9:1"))
   lu.assertNil(a:check("n2", "10.0.0.2:1"))
   answer()
   lu.assertEquals(asked, { "n1", "n2-ctl" })
   lu.assertTrue(a:check("n1", "10.0.0.1:1"))
   lu.assertTrue(a:check("n2", "10.0.0.2:1"))
   lu.assertEquals((a:check("n1", "10.0.0.2:1")), false)
end

function tests.test_what_cannot_be_looked_up_is_not_known()
   local a, answer = known({ { name = "n1" } }, nil, {})
   a:check("n1", "10.0.0.1:1")
   answer()
   lu.assertNil(a:check("n1", "10.0.0.1:1"))
   lu.assertNil(a:check("n7", "10.0.0.1:1")) -- Slurm has no such node, so far
end

function tests.test_a_name_server_that_fails_takes_nothing_away()
   local hosts = { n1 = "10.0.0.1" }
   local time, now = loop.time, 0
   loop.time = function() return now end
   local a, answer = known({ { name = "n1" } }, nil, hosts)
   a:check("n1", "10.0.0.1:1")
   answer()
   hosts.n1, now = nil, 100
   a:check("n1", "10.0.0.2:1") -- does not fit: looked up again
   answer()
   lu.assertTrue(a:check("n1", "10.0.0.1:1"))
   loop.time = time
end

function tests.test_names_that_look_like_numbers_are_names()
   for _, name in ipairs { "1234", "0x10", "10.1" } do
      local a, answer, asked = known({ { name = name } }, nil, { [name] = "10.0.0.7" })
      a:check(name, "10.0.0.7:1")
      answer()
      lu.assertEquals(asked, { name })
      lu.assertTrue(a:check(name, "10.0.0.7:1"))
   end
end

function tests.test_nodes_over_alps_have_coordinates()
   local a = known { { name = "nid00001", coord = "001" } }
   lu.assertNil(a:check("nid00001", "10.128.0.2:1"))
end

function tests.test_tautds_own_host_is_trusted()
   local a = known { { name = "n1", addr = "10.0.0.1" } }
   lu.assertTrue(a:check("n1", "127.0.0.1:4000"))
   lu.assertTrue(a:check("n1", "[::1]:4000"))
end

function tests.test_a_site_adds_addresses_or_takes_all()
   local more = assert(values.node_addresses { ["n[1-2]"] = "10.1.0.[1-2]", n3 = "n3-hsn" })
   local a, answer = known({ { name = "n1", addr = "10.0.0.1" }, { name = "n2" },
      { name = "n3", addr = "10.0.0.3" } }, more, { ["n3-hsn"] = "10.1.0.3", n2 = "10.0.0.2" })
   lu.assertTrue(a:check("n1", "10.0.0.1:1"))
   lu.assertTrue(a:check("n1", "10.1.0.1:1"))
   lu.assertEquals((a:check("n1", "10.1.0.2:1")), false)
   lu.assertTrue(a:check("n2", "10.1.0.2:1"))
   lu.assertNil(a:check("n3", "10.1.0.3:1"))
   answer()
   lu.assertTrue(a:check("n3", "10.1.0.3:1"))
   local _, why = a:check("n3", "10.1.0.1:1")
   lu.assertStrContains(why, "10.1.0.3, 10.0.0.3")
   lu.assertTrue(known({ { name = "n1", addr = "10.0.0.1" } }, "any"):check("n1", "10.9.9.9:1"))
end

function tests.test_the_setting_is_checked()
   for _, v in ipairs { "all", 5, { ["n[1-2]"] = "10.0.0.1" }, { n1 = 5 }, { "n1" } } do
      lu.assertNil((values.node_addresses(v)))
   end
   lu.assertEquals(values.node_addresses "any", "any")
end

function tests.test_hosts_of_a_list()
   local a = addresses.new { setting = "slurm" }
   a:expect "10.0.0.[1-3]"
   lu.assertTrue(a:is_one("10.0.0.[1-3]", "10.0.0.2:99"))
   lu.assertFalse(a:is_one("10.0.0.[1-3]", "10.0.0.4:99"))
   lu.assertFalse(a:is_one(false, "10.0.0.4:99"))
   lu.assertFalse(a:is_one(false, "127.0.0.1:99"))
   lu.assertFalse(a:is_one("10.0.0.1", "10.0.0.11:99"))
end

return tests
