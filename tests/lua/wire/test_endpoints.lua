-- SPDX-License-Identifier: GPL-2.0-or-later
local endpoints = require "taut.wire.endpoints"
local lu = require "luaunit"

local tests = {}

function tests.test_what_a_hello_may_say()
   local many = {}
   for i = 1, 65 do
      many[i] = { tcp = "10.0.0.1:1" }
   end
   for _, good in ipairs { {}, { {} }, { { ["if"] = "hsn0", tcp = "10.0.0.1:1" } },
      { { ofi = "10.0.0.1:1" }, { tcp = "[fd00::1]:1" } },
      { { ["if"] = "ib0", guid = "0x0002c903000e0b73" } } } do
      lu.assertTrue(endpoints.check(good))
   end
   lu.assertTrue(endpoints.check(nil))
   for _, bad in ipairs { "x", 7, many, { "x" }, { { tcp = "" } }, { { tcp = {} } },
      { { ofi = ("f"):rep(136) } }, { { ["if"] = 7 } }, { { guid = 7 } },
      { { guid = "0x0002c903000e0b7" } }, { { guid = "0x0002C903000E0B73" } },
      { { guid = "0x0002c903000e0b73\n" } }, { tcp = "10.0.0.1:1" } } do
      lu.assertFalse(endpoints.check(bad))
   end
end

function tests.test_a_hello_without_endpoints_has_one_rail()
   lu.assertEquals(endpoints.of { endpoint = "10.0.0.1:1" }, { { tcp = "10.0.0.1:1" } })
   lu.assertEquals(endpoints.of { endpoint = "" }, { {} })
   lu.assertEquals(endpoints.of { endpoint = "10.0.0.1:1", endpoints = {} },
      { { tcp = "10.0.0.1:1" } })
   local list = { { tcp = "a:1" }, { ofi = "b:1" } }
   lu.assertIs(endpoints.of { endpoint = "a:1", endpoints = list }, list)
end

local peers = {
   { endpoints = { { tcp = "a:1", ofi = "a:2" }, { tcp = "a:3" } } },
   { endpoints = { { tcp = "b:1", ofi = "b:2" }, { ofi = "b:4" } } },
   { endpoints = { { tcp = "c:1" } } },
}

function tests.test_libfabric_where_both_have_it()
   local function common(a, b, rail)
      return endpoints.common(peers[a].endpoints, peers[b].endpoints, rail)
   end
   lu.assertEquals(common(1, 2, 1), "ofi")
   lu.assertEquals(common(1, 3, 1), "tcp")
   lu.assertNil(common(1, 2, 2))
   lu.assertNil(common(1, 3, 2))
   lu.assertEquals(endpoints.ofi_lead_ms(peers, 350), 350)
   lu.assertNil(endpoints.ofi_lead_ms({ peers[3] }, 350))
end

function tests.test_libfabric_is_waited_for_as_long_as_it_took_last_time()
   local function node(ofi_ms)
      return { endpoints = { { ["if"] = "a", ofi = "10.0.0.1:1" } }, ofi_ms = ofi_ms }
   end
   lu.assertEquals(endpoints.ofi_lead_ms({ node(100) }, 350), 130)
   lu.assertEquals(endpoints.ofi_lead_ms({ node(100), node() }, 350), 350)
   lu.assertEquals(endpoints.ofi_lead_ms({ node(1500), node(100) }, 350), 1670)
   lu.assertEquals(endpoints.ofi_lead_ms({ node(60000) }, 350), 5000)
end

-- Several slurmd on a host: what their streams did said that tx and rx were well.
function tests.test_nodes_of_one_host_are_no_pair()
   local function node(...)
      local list = {}
      for i, address in ipairs { ... } do
         list[i] = { tcp = address ~= "" and address or nil, ofi = "x:1" }
      end
      return { endpoints = list }
   end
   local hosts = { node "10.0.0.1:40001", node "10.0.0.1:40002", node "10.0.0.11:40001",
      node("[fd00::1]:1", "10.0.1.1:1"), node("", "10.0.1.1:2"), node "" }
   local can, cannot = endpoints.split({ { src = 1, dst = 2 }, { src = 1, dst = 3 },
      { src = 4, dst = 5 }, { src = 5, dst = 6 }, { src = 6, dst = 6 } }, hosts)
   lu.assertEquals({ #can, #cannot }, { 3, 2 })
   lu.assertEquals({ cannot[1].dst, cannot[2].dst }, { 2, 5 })
end

-- Tests of both at once met on their cable, and were discarded as other traffic: a slow one was not
-- found in 36 jobs.
function tests.test_of_nodes_on_one_host_one_tests_at_a_time()
   local hosts = {}
   for i = 1, 6 do -- two on each
      hosts[i] = { endpoints = { { tcp = ("10.0.0.%d:%d"):format((i + 1) // 2, i) } } }
   end
   local list = {
      { src = 1, dst = 3, start_ms = 0 }, { src = 2, dst = 5, start_ms = 0 }, -- 1 and 2 are one
      { src = 6, dst = 1, start_ms = 0 }, { src = 2, dst = 5, start_ms = 50 },
      { src = 4, dst = 3, start_ms = 99 }, -- one host
      -- two that fill a link together: neither
      { src = 1, dst = 3, start_ms = 70, senders = 2, group = 7 },
      { src = 2, dst = 5, start_ms = 70, senders = 2, group = 7 } }
   local can, cannot = endpoints.split(list, hosts)
   lu.assertEquals(can, { list[1], list[3], list[4] })
   lu.assertEquals(#cannot, 4)
   for i = 1, 6 do -- hosts of their own
      hosts[i] = { endpoints = { { tcp = ("10.0.0.%d:1"):format(i) } } }
   end
   lu.assertEquals(#endpoints.split(list, hosts), 7)
end

local TOPO = { nodes = { "n1", "n2", "n3" }, asked_at = { of = { [9] = "10.0.0.9" } } }

function tests.test_what_is_asked_of_a_way()
   local tcp = { { endpoints = { { tcp = "a:1" } } }, { endpoints = { { tcp = "b:1" } } },
      { endpoints = { { ofi = "c:1" } } } }
   local t = { id = 5, src = 1, dst = 2, src_port = 20000, trace = 3,
      aim = { link = 9, hop = 2, ports = 16 } }
   local sends, receives = endpoints.wire(t, 1, tcp, TOPO), endpoints.wire(t, 2, tcp, TOPO)
   lu.assertEquals({ sends.port, sends.trace, sends.aim },
      { 20000, 3, { hop = 2, ports = 16, address = "10.0.0.9" } })
   lu.assertEquals({ receives.port, receives.trace, receives.aim }, {})
   t.aim.link = 8 -- it is not known how its far end answers
   lu.assertNil(endpoints.wire(t, 1, tcp, TOPO).aim)
   -- libfabric chooses its ports itself
   lu.assertNil(endpoints.wire(t, 1, { { endpoints = { { ofi = "a:1", tcp = "a:2" } } },
      { endpoints = { { ofi = "b:1" } } } }, TOPO).port)
end

function tests.test_on_the_wire()
   local t = { id = 5, src = 1, dst = 2, token = "00", start_ms = 1, dur_ms = 2, streams = 1 }
   lu.assertEquals(endpoints.wire(t, 1, peers, TOPO), { id = 5, role = "send", peer = "b:2",
      node = "n2", token = "00", start_ms = 1, dur_ms = 2, streams = 1, transport = "ofi" })
   lu.assertEquals(endpoints.wire(t, 2, peers, TOPO).peer, "a:2")
   -- of one rail over TCP neither is said
   t.dst = 3
   lu.assertEquals(endpoints.wire(t, 3, peers, TOPO), { id = 5, role = "recv", peer = "a:1",
      node = "n1", token = "00", start_ms = 1, dur_ms = 2, streams = 1 })
   t.enough_Bps = 7
   lu.assertEquals(endpoints.wire(t, 3, peers, TOPO).enough_Bps, 7)
   t.rail, t.mode = 2, "latency"
   lu.assertNil(endpoints.wire(t, 1, peers, TOPO))
   lu.assertEquals({ endpoints.split({ t }, peers) }, { {}, { t } })
   local both = { [1] = { endpoints = { {}, { tcp = "x:1" } } },
      [3] = { endpoints = { {}, { tcp = "y:1" } } } }
   local w = endpoints.wire(t, 1, both, TOPO)
   lu.assertEquals({ w.rail, w.mode, w.peer }, { 1, "latency", "y:1" })
end

return tests
