-- SPDX-License-Identifier: GPL-2.0-or-later
--- Which of a node's interfaces is which rail, and which fabric a job is on.
local choice = require "taut.topology.fabrics.choice"
local lu = require "luaunit"
local rails = require "taut.topology.fabrics.rails"
local topology = require "taut.topology"

-- eth has rail 1, ib rails 2 and 3; n1 to n3 are on ib, n3 to n6 on eth, all six of `some` on both.
local function machine(eth, ib, all)
   local conf = { kind = "fabrics", fabrics = {
      eth = { kind = "fattree", nodes_per_leaf = 2, levels = { { down = 2, up = 1 } },
         nodes = "n[3-6]", capacity = 1e9 },
      ib = { kind = "fattree", nodes_per_leaf = 4, levels = { { down = 1, up = 1 } }, rails = 2,
         nodes = all and "n[3-6]" or "n[1-4]", capacity = 9e9 } } }
   for k, v in pairs(eth or {}) do
      conf.fabrics.eth[k] = v
   end
   for k, v in pairs(ib or {}) do
      conf.fabrics.ib[k] = v
   end
   return assert(topology.build(conf))
end

local function e(name, tcp, ofi)
   return { ["if"] = name, tcp = tcp, ofi = ofi }
end

-- "name/own" of each rail, "-" where there is none; and names of those that fit nowhere.
local function placed(topo, node, list)
   local got, misfits = rails.of(topo, topo.node_id[node], list)
   local out = {}
   for rail = 1, topo.rails do
      local one = got[rail]
      out[rail] = one.own and ("%s/%d"):format(one["if"], one.own) or "-"
   end
   for i, one in ipairs(misfits) do
      misfits[i] = one["if"]
   end
   return table.concat(out, " "), table.concat(misfits, " ")
end

local tests = {}

function tests.test_with_one_topology_a_rail_is_a_place_in_the_list()
   local topo = assert(topology.build { kind = "torus", dims = { 2 }, nodes = "n[1-2]",
      nodes_per_router = 1, capacity = 1e9 })
   local list = { e("hsn0", "10.0.0.1:7000"), e "hsn1" }
   lu.assertIs(rails.of(topo, 1, list), list)
end

function tests.test_without_rules_interfaces_are_the_node_s_own_rails_in_their_order()
   local topo = machine()
   lu.assertEquals(placed(topo, "n6", { e("eth0", "10.0.0.6:1") }), "eth0/1 - -")
   lu.assertEquals(placed(topo, "n1", { e("ib0", "10.1.0.1:1"), e("ib1", "10.2.0.1:1") }),
      "- ib0/1 ib1/2")
   lu.assertEquals(placed(topo, "n3", { e("eth0", "10.0.0.3:1"), e("ib0", "10.1.0.3:1"),
      e("ib1", "10.2.0.3:1") }), "eth0/1 ib0/2 ib1/3")
   local where, misfits = placed(topo, "n6", { e("eth0", "10.0.0.6:1"), e("ib0", "10.1.0.6:1") })
   lu.assertEquals({ where, misfits }, { "eth0/1 - -", "ib0" })
end

function tests.test_an_interface_is_its_fabric_s_by_name()
   local topo = machine({ interfaces = { "en*" } }, { interfaces = { "ib0", "ib1" } })
   -- in whatever order, and where one is missing
   lu.assertEquals(placed(topo, "n3", { e("ib0", "10.1.0.3:1"), e("ib1", "10.2.0.3:1"),
      e("enp1s0f0", "10.0.0.3:1") }), "enp1s0f0/3 ib0/1 ib1/2")
   lu.assertEquals(placed(topo, "n3", { e("enp1s0f0:1", "10.0.0.3:1") }), "enp1s0f0:1/1 - -")
   local where, misfits = placed(topo, "n3", { e("hsn0", "10.0.0.3:1") })
   lu.assertEquals({ where, misfits }, { "- - -", "hsn0" })
end

function tests.test_an_interface_is_its_fabric_s_by_its_address()
   local topo = machine({ networks = { "10.0.0.0/16", "fd00::/16" } },
      { networks = { "10.1.0.0/15" } })
   lu.assertEquals(placed(topo, "n3", { e("x", "10.1.0.3:1"), e("y", "[fd00::3]:1") }), "y/2 x/1 -")
   lu.assertEquals(placed(topo, "n3", { e("x", nil, "10.2.0.3:1") }), "- - -")
   lu.assertEquals(placed(topo, "n3", { e("x", nil, "10.1.9.3:1") }), "- x/1 -")
   -- of a fabric that the node is not in
   local where, misfits = placed(topo, "n6", { e("x", "10.1.0.6:1"), e("y", "10.0.0.6:1") })
   lu.assertEquals({ where, misfits }, { "y/2 - -", "x" })
end

function tests.test_one_that_is_down_takes_nobody_s_place_and_nothing_is_tested_over_it()
   lu.assertEquals({ placed(machine(), "n3", { e "down", e("eth0", "10.0.0.3:1") }) },
      { "eth0/2 - -", "" })
   local topo = machine(nil, { interfaces = { "ib*" } })
   lu.assertEquals(placed(topo, "n3", { e "ib0", e("ib1", "10.2.0.3:1") }), "- ib0/1 ib1/2")
end

function tests.test_a_fabric_s_transport_is_the_only_one()
   local topo = machine({ transport = "tcp" }, { transport = "ofi" })
   local got = rails.of(topo, topo.node_id.n3, { e("eth0", "10.0.0.3:1", "10.0.0.3:2"),
      e("ib0", "10.1.0.3:1", "10.1.0.3:2") })
   lu.assertEquals({ got[1].tcp, got[1].ofi, got[2].tcp, got[2].ofi },
      { "10.0.0.3:1", nil, nil, "10.1.0.3:2" })
end

function tests.test_a_node_that_the_topology_does_not_have_has_no_rails()
   local got, misfits = rails.of(machine(), nil, { e("eth0", "10.0.0.3:1") })
   lu.assertEquals({ got, misfits }, { { {}, {}, {} }, {} })
end

local function chosen(topo, o)
   local nodes = {}
   for i, name in ipairs(o.nodes or topo.nodes) do
      nodes[i] = topo.node_id[name]
   end
   local f, err = choice.of(topo, { fabric = o.fabric, partition = o.partition, count = o.count,
      nodes = nodes })
   return f and f.name, err
end

function tests.test_a_job_is_on_the_fabric_that_it_names_its_partition_has_or_its_nodes_are_on()
   local topo = machine({ partitions = { "batch", "debug" } })
   lu.assertEquals(chosen(topo, { fabric = "eth" }), "eth")
   local none, err = chosen(topo, { fabric = "opa" })
   lu.assertNil(none)
   lu.assertEquals(err, "--fabric: expected one of eth, ib, got 'opa'")
   lu.assertEquals(chosen(topo, { partition = "debug" }), "eth")
   lu.assertEquals(chosen(topo, { partition = "other,batch" }), "eth")
   lu.assertEquals(chosen(topo, { partition = "other", nodes = { "n3", "n5" } }), "eth")
   lu.assertEquals(chosen(topo, { nodes = { "n3", "n1" } }), "ib")
   -- as many on both: the faster one
   lu.assertEquals(chosen(topo, {}), "ib")
   lu.assertEquals(chosen(topo, { nodes = { "n3", "n4", "n5" }, count = 2 }), "ib")
   lu.assertEquals(chosen(topo, { nodes = { "n3", "n4", "n5" }, count = 3 }), "eth")
end

return tests
