-- SPDX-License-Identifier: GPL-2.0-or-later
-- A node's interfaces by the GUIDs of their InfiniBand ports, as ibnetdiscover has them.  By their
-- places, an interface that was missing on the node moved all after it to the rail before.
local endpoints = require "taut.wire.endpoints"
local importing = require "lib.importing"
local lu = require "luaunit"
local networks = require "taut.slurm.networks"
local rails = require "taut.topology.fabrics.rails"
local sys = require "taut.sys"
local topology = require "taut.topology"

local tests = {}

local HOSTS = { "wk01", "wk02", "wk03", "wk04" }

local function wiring_of(file)
   return assert(importing.read("ibnetdiscover",
      importing.text_of(importing.data("cases/rails-shift-missing-adapter/" .. file)),
      { nodes = HOSTS }))
end

local function machine(file)
   return assert(topology.build { kind = "fattree", wiring = wiring_of(file or "whole.txt") })
end

function tests.tearDown()
   importing.clean()
end

-- The port of a host's rail.
local function guid(host, rail)
   return ("0xfc6a1f00%02x%02x0000"):format(host - 1, rail - 1)
end

local function e(name, id, is_down)
   return { ["if"] = name, guid = id, tcp = not is_down and "10.0.0.2:7000" or nil }
end

-- "name/own" of each rail, "-" where there is none; and what is said.
local function placed(topo, node, list)
   local got, misfits = rails.of(topo, topo.node_id[node], list)
   local out = {}
   for rail = 1, topo.rails do
      local one = got[rail]
      out[rail] = one.own and ("%s/%d"):format(one["if"], one.own) or "-"
   end
   return table.concat(out, " "), misfits
end

function tests.test_the_topology_knows_the_ports_of_its_nodes()
   local topo = machine()
   lu.assertEquals(topo.port_guids[guid(2, 3)], { node = topo.node_id.wk02, rail = 3 })
   lu.assertEquals(topo.rails, 8)
end

function tests.test_an_interface_that_is_missing_moves_no_other()
   local where, misfits = placed(machine(), "wk02", { e("ib0", guid(2, 1)), e("ib2", guid(2, 3)),
      e("ib7", guid(2, 8)) })
   lu.assertEquals({ where, misfits }, { "ib0/1 - ib2/2 - - - - ib7/3", {} })
end

function tests.test_the_order_in_which_a_node_names_them_is_its_own()
   local where, misfits = placed(machine(), "wk01", { e("ib4", guid(1, 5)), e("ib0", guid(1, 1)),
      e("ib1", guid(1, 2), true) })
   lu.assertEquals({ where, misfits }, { "ib0/2 ib1/3 - - ib4/1 - - -", {} })
   -- a test goes by the place that the node knows
   local topo = machine()
   local peers = {}
   for n = 1, 2 do
      local list = { e("ib4", guid(n, 5)), e("ib0", guid(n, 1)) }
      list[1].tcp = ("10.0.0.%d:5000"):format(n)
      peers[n] = { endpoints = rails.of(topo, n, list) }
   end
   local part = endpoints.wire({ id = 1, src = 1, dst = 2, rail = 5, streams = 1 }, 1, peers, topo)
   lu.assertEquals({ part.peer, part.rail }, { "10.0.0.2:5000", nil })
   part = endpoints.wire({ id = 1, src = 1, dst = 2, rail = 1, streams = 1 }, 1, peers, topo)
   lu.assertEquals(part.rail, 1)
end

function tests.test_nodes_that_tell_no_guid_and_topologies_without_them_are_as_they_were()
   local topo, list = machine(), { e "ib0", e "ib1" }
   lu.assertIs(rails.of(topo, 1, list), list)
   list = { e("ib0", guid(1, 2)) }
   lu.assertIs(rails.of(topo, nil, list), list)
   local grid = assert(topology.build { kind = "torus", dims = { 2 }, nodes = "n[1-2]",
      nodes_per_router = 1, capacity = 1e9 })
   lu.assertIs(rails.of(grid, 1, list), list)
end

-- The management network was tested as the rail whose adapter had died.
function tests.test_one_without_a_guid_takes_no_rail_whose_guid_the_node_lacks()
   local where, misfits = placed(machine(), "wk02", { e "eth0", e("ib1", guid(2, 2)) })
   lu.assertEquals({ where, #misfits }, { "- ib1/2 - - - - - -", 1 })
   lu.assertEquals(misfits[1], { ["if"] = "eth0", why = "no port GUID, and rail 1 of wk02 is port "
      .. "GUID " .. guid(2, 1) .. " in the topology; not tested" })
   -- down, it is none; and where all are there nothing is left that could be it
   lu.assertEquals(select(2, placed(machine(), "wk02", { e("eth0", nil, true),
      e("ib1", guid(2, 2)) })), {})
   local list = { e "eth0" }
   for rail = 1, 8 do
      list[rail + 1] = e("ib" .. rail, guid(2, rail))
   end
   where, misfits = placed(machine(), "wk02", list)
   lu.assertEquals({ where, misfits }, { "ib1/2 ib2/3 ib3/4 ib4/5 ib5/6 ib6/7 ib7/8 ib8/9", {} })
end

function tests.test_one_without_a_guid_takes_its_place_where_the_topology_has_none_either()
   local w = wiring_of "whole.txt"
   for _, n in ipairs(w.nodes) do
      n.rails[1].guid = nil
   end
   local topo = assert(topology.build { kind = "fattree", wiring = w })
   lu.assertEquals(placed(topo, "wk02", { e "eth0", e("ib1", guid(2, 2)) }),
      "eth0/1 ib1/2 - - - - - -")
   lu.assertEquals(placed(topo, "wk02", { e("ib1", guid(2, 2)), e "eth0" }),
      "eth0/2 ib1/1 - - - - - -")
end

-- Boards, or names, of two hosts were swapped: what it would measure are another node's cables.
function tests.test_a_port_of_another_node_is_not_tested_and_both_sides_are_named()
   local where, misfits = placed(machine(), "wk02", { e("ib0", guid(3, 1)), e("ib1", guid(2, 2)) })
   lu.assertEquals({ where, #misfits }, { "- ib1/2 - - - - - -", 1 })
   lu.assertStrContains(misfits[1].why, guid(3, 1) ..
      ", which the topology has as rail 1 of wk03 (of wk02 it has rail 1 " .. guid(2, 1))
   lu.assertStrContains(misfits[1].why, "not tested")
end

function tests.test_two_interfaces_of_one_port_are_one_rail()
   local where, misfits = placed(machine(), "wk02", { e("ib0", guid(2, 1)),
      e("ib0.8001", guid(2, 1)) })
   lu.assertEquals(where, "ib0/1 - - - - - - -")
   lu.assertEquals({ misfits[1]["if"], misfits[1].why }, { "ib0.8001", "port GUID " .. guid(2, 1) ..
      " as ib0 has, rail 1; not tested" })
end

-- An adapter was replaced; a virtual function has its own GUID, which no sweep shows.
function tests.test_a_port_that_the_topology_does_not_have_goes_by_its_place_and_is_said()
   local new = "0x00000000000000aa"
   local where, misfits = placed(machine(), "wk02", { e("ib0", new), e("ib1", guid(2, 2)) })
   lu.assertEquals(where, "ib0/1 ib1/2 - - - - - -")
   lu.assertStrContains(misfits[1].why, "port GUID " .. new ..
      ", which the topology does not have (of wk02 it has rail 1 " .. guid(2, 1))
   lu.assertStrContains(misfits[1].why, "taken for rail 1 by its place")
   -- its place is another one's: the next that is left
   where = placed(machine(), "wk02", { e("ib1", guid(2, 2)), e("ib0", new) })
   lu.assertEquals(where, "ib0/2 ib1/1 - - - - - -")
   -- rail 3 is missing in the topology: nothing can be said of it
   local list = {}
   for rail = 1, 8 do
      list[rail] = e("ib" .. rail, rail == 3 and new or guid(2, rail))
   end
   where, misfits = placed(machine "one-adapter-dead.txt", "wk02", list)
   lu.assertEquals(where, "ib1/1 ib2/2 - ib4/4 ib5/5 ib6/6 ib7/7 ib8/8")
   lu.assertStrContains(misfits[1].why, "; not tested")
end

function tests.test_a_guid_that_two_nodes_have_tells_nothing()
   local w = wiring_of "whole.txt"
   w.nodes[1].rails[1].guid, w.nodes[2].rails[1].guid = "0x0000000000000001", "0x0000000000000001"
   local topo = assert(topology.build { kind = "fattree", wiring = w })
   local where, misfits = placed(topo, w.nodes[1].name, { e("ib0", "0x0000000000000001") })
   lu.assertEquals({ where, misfits }, { "ib0/1 - - - - - - -", {} })
end

function tests.test_of_several_fabrics_the_guid_says_more_than_name_and_order()
   local topo = assert(topology.build { kind = "fabrics", fabrics = {
      eth = { kind = "fattree", nodes_per_leaf = 2, levels = { { down = 2, up = 1 } },
         nodes = "wk[01-04]", capacity = 1e9, interfaces = { "eth0" } },
      ib = { kind = "fattree", wiring = wiring_of "whole.txt" } } })
   lu.assertEquals(topo.port_guids[guid(2, 3)], { node = topo.node_id.wk02, rail = 4 })
   local where, misfits = placed(topo, "wk02", { e("ib2", guid(2, 3)), e "eth0",
      e("ib0", guid(2, 1)) })
   lu.assertEquals({ where, misfits }, { "eth0/2 ib0/3 - ib2/1 - - - - -", {} })
   where, misfits = placed(topo, "wk02", { e("ib0", guid(4, 1)) })
   lu.assertEquals(where, "- - - - - - - - -")
   lu.assertStrContains(misfits[1].why, "as rail 2 of wk04")
end

function tests.test_of_several_fabrics_one_without_a_guid_takes_none_that_has_one()
   local topo = assert(topology.build { kind = "fabrics", fabrics = {
      eth = { kind = "fattree", nodes_per_leaf = 2, levels = { { down = 2, up = 1 } },
         nodes = "wk[01-04]", capacity = 1e9, interfaces = { "eth0" } },
      ib = { kind = "fattree", wiring = wiring_of "whole.txt" } } })
   local where, misfits = placed(topo, "wk02", { e "eth0", e "eth1", e("ib1", guid(2, 2)) })
   lu.assertEquals({ where, #misfits }, { "eth0/1 - ib1/3 - - - - - -", 1 })
   lu.assertStrContains(misfits[1].why, "no port GUID, and rail 2 of wk02 is port GUID " ..
      guid(2, 1))
   -- of a node that names none nothing is known
   lu.assertEquals(placed(topo, "wk02", { e "eth0", e "ib0" }), "eth0/1 ib0/2 - - - - - - -")
end

-- Two fabrics of one wiring: the one whose name comes last had all ports, and nothing was said.
function tests.test_a_port_of_two_fabrics_is_told_apart_by_name()
   local function built(a, b)
      return assert(topology.build { kind = "fabrics", fabrics = {
         a = { kind = "fattree", wiring = wiring_of "whole.txt", rails = a,
            interfaces = { "ib*" } },
         b = { kind = "fattree", wiring = wiring_of "whole.txt", rails = b,
            interfaces = { "ib*.8001" } } } })
   end
   local topo = built(2, 2)
   lu.assertEquals(topo.port_guids[guid(2, 1)], false)
   lu.assertEquals(placed(topo, "wk02", { e("ib0", guid(2, 1)), e("ib1", guid(2, 2)),
      e("ib0.8001", guid(2, 1)), e("ib1.8001", guid(2, 2)) }),
      "ib0/1 ib1/2 ib0.8001/3 ib1.8001/4")
   -- one that only one of them uses is that one's, whichever comes first
   for _, topo_of in ipairs { built(1, 2), built(2, 1) } do
      lu.assertEquals(topo_of.port_guids[guid(2, 1)], false)
      local at = topo_of.port_guids[guid(2, 2)]
      lu.assertEquals(topo_of.fabric_of_rail[at.rail].rails, 2)
   end
end

-- Of eight rails three are used: the fourth was held for the first of the next fabric.
function tests.test_a_port_of_a_rail_that_is_not_used_is_none_of_another_fabric()
   local topo = assert(topology.build { kind = "fabrics", fabrics = {
      ib = { kind = "fattree", wiring = wiring_of "whole.txt", rails = 3 },
      other = { kind = "fattree", nodes_per_leaf = 2, levels = { { down = 2, up = 1 } },
         nodes = "wk[01-04]", capacity = 1e9, interfaces = { "eth0" } } } })
   lu.assertEquals(topo.rails, 4)
   local where, misfits = placed(topo, "wk02", { e("ib3", guid(2, 4)), e("ib0", guid(2, 1)),
      e "eth0" })
   lu.assertEquals({ where, misfits }, { "ib0/2 - - eth0/3", {} })
end

function tests.test_what_does_not_match_is_said_once_and_shown()
   local said, log = {}, sys.log
   local nets = networks.new { addresses = { is_of = function() return true end }, list = {},
      refusals = { note = function() end }, topology = function() return { rails = 8 } end }
   sys.log = function(_, text) said[#said + 1] = text end
   local ok, err = pcall(function()
      local _, misfits = placed(machine(), "wk02", { e("ib0", guid(3, 1)), e("ib1", guid(3, 2)) })
      local peer = { name = "wk02", is_vouched = function() return true end }
      for _ = 1, 3 do
         nets:misfits(peer, misfits)
      end
      -- root of a node that names another port each time fills no log
      for i = 1, 20 do
         misfits[1].why = "port GUID " .. i
         nets:misfits(peer, misfits)
      end
   end)
   sys.log = log
   lu.assertTrue(ok, err)
   lu.assertEquals(#said, 1)
   lu.assertStrContains(said[1], "wk02 has interface ib0 with port GUID " .. guid(3, 1))
   lu.assertStrContains(said[1], "; 1 more of its interfaces")
   lu.assertStrContains(nets:odd_ones()[1].why, "port GUID 20")
end

return tests
