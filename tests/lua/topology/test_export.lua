-- SPDX-License-Identifier: GPL-2.0-or-later
local hostlist = require "taut.hostlist"
local lu = require "luaunit"
local lists = require "taut.topology.export.lists"
local slurm = require "taut.topology.export.slurm"
local topology = require "taut.topology"

local tests = {}

local function tree(nodes)
   return assert(topology.build { kind = "fattree", nodes_per_leaf = 4, capacity = 1,
      levels = { { down = 2, up = 2 }, { down = 2, up = 2 } }, nodes = nodes or "n[1-16]" })
end

local function lines(topo, form, more)
   local opt = { form = form }
   for k, v in pairs(more or {}) do
      opt[k] = v
   end
   local d, err = slurm.export(topo, opt)
   return d and d.lines, err or d
end

function tests.test_a_fat_tree_becomes_leaves_pods_and_the_whole()
   lu.assertEquals(lines(tree(), "tree"), {
      "SwitchName=leaf0 Nodes=n[1-4]",
      "SwitchName=leaf1 Nodes=n[5-8]",
      "SwitchName=pod.leaf0 Switches=leaf[0-1]",
      "SwitchName=leaf2 Nodes=n[9-12]",
      "SwitchName=leaf3 Nodes=n[13-16]",
      "SwitchName=pod.leaf2 Switches=leaf[2-3]",
      "SwitchName=whole Switches=pod.leaf[0,2]",
   })
end

-- Slurm, and our own importer, refuse a node that stands on two leaves.
function tests.test_a_node_of_several_rails_stands_once()
   for wiring, down in pairs { planes = 2, leaf = 2, leaves = 4 } do
      local topo = assert(topology.build { kind = "fattree", nodes_per_leaf = 4, capacity = 1,
         rails = 2, rail_wiring = wiring, levels = { { down = down, up = 2 } }, nodes = "n[1-8]" })
      local names = {}
      for _, line in ipairs(lines(topo, "tree")) do
         names[#names + 1] = line:match "Nodes=(.*)"
      end
      lu.assertEquals(names, { "n[1-4]", "n[5-8]" }, wiring)
      lu.assertEquals(#lines(topo, "ranks"), 8, wiring)
      lu.assertEquals(#lines(topo, "block"), 3, wiring)
   end
end

function tests.test_blocks_are_the_parts_of_the_whole_or_smaller()
   lu.assertEquals(lines(tree(), "block"), { "BlockName=pod.leaf0 Nodes=n[1-8]",
      "BlockName=pod.leaf2 Nodes=n[9-16]", "BlockSizes=8" })
   lu.assertEquals(lines(tree(), "block", { leaf = 4 })[5], "BlockSizes=4")
   lu.assertEquals(lines(tree(), "block", { yaml = true })[4], "  block:")
end

function tests.test_yaml_quotes_what_it_names()
   local text = table.concat(lines(tree("1e[1-9],0x[1-7]"), "tree", { yaml = true }), "\n")
   lu.assertStrContains(text, 'nodes: "1e[1-4]"')
   lu.assertStrContains(text, 'children: "pod.leaf[0,2]"')
end

function tests.test_the_places_of_a_torus_are_in_order_x_first()
   local topo = assert(topology.build { kind = "torus", dims = { 3, 2, 2 }, nodes_per_router = 2,
      nodes = "n[00-23]", capacity = 1 })
   local d = assert(slurm.export(topo, { form = "torus3d", yaml = true }))
   lu.assertEquals(d.dims, { 6, 2, 2 })
   local list
   for _, line in ipairs(d.lines) do
      list = list or line:match 'nodes: "(.*)"'
   end
   lu.assertEquals(list, "n[00-01,08-09,16-17,04-05,12-13,20-21,02-03,10-11,18-19,06-07,14-15," ..
      "22-23]")
end

function tests.test_torus3d_is_for_full_tori_of_three_dimensions()
   local _, err = lines(tree(), "torus3d")
   lu.assertStrContains(err, "expected a torus of 3 dimensions, got fattree")
   local topo = assert(topology.build { kind = "torus", dims = { 2, 2, 2 }, nodes_per_router = 1,
      nodes = "n[0-7]", service = "n3", capacity = 1 })
   _, err = lines(topo, "torus3d")
   lu.assertStrContains(err, "has 0 nodes")
end

function tests.test_names_sort_as_the_order_goes()
   local topo = assert(topology.build { kind = "torus", dims = { 4, 4, 4 }, nodes_per_router = 1,
      nodes = "n[0-63]", capacity = 1 })
   local list = lines(topo, "names", { prefix = "job-", order = "hilbert" })
   lu.assertEquals(#list, 64)
   local sorted = table.move(list, 1, #list, 1, {})
   table.sort(sorted)
   lu.assertEquals(sorted, list)
   lu.assertStrContains(list[1], "NodeName=job-00 NodeHostname=n0")
   local ranks = lines(topo, "ranks", { order = "hilbert" })
   for i, line in ipairs(list) do
      lu.assertEquals(line:match "NodeHostname=(.*)", ranks[i]:match " (.*)")
   end
end

function tests.test_an_unknown_order_names_the_known_ones()
   local _, err = lines(tree(), "ranks", { order = "peano" })
   lu.assertStrContains(err, "expected one of names, tree")
   _, err = lines(tree(), "tree", { order = "names" })
   lu.assertStrContains(err, "makes no groups")
end

---------------------------------------------------------------- names of others' making

function tests.test_switch_names_are_made_readable_and_unique()
   local s = lists.switches()
   lu.assertEquals(s:take "leaf 3 [U1]", "leaf_3__U1_")
   lu.assertEquals(s:take "leaf=3,{U1]", "leaf_3__U1__2")
   lu.assertEquals(s:take "LEAF_3__U1_", "LEAF_3__U1__3") -- Slurm may not tell case
   lu.assertEquals(s:take "", "s")
   lu.assertEquals(s:take "-x", "s-x")
   lu.assertEquals(#s:take(("é"):rep(100)), 60)
   lu.assertTrue(#s:take(("é"):rep(100)) <= 63)
   for _, hostile in ipairs { "a\nSwitchName=b", "a # b", 'a"b', "a\0b", "$(x)", "a\\" } do
      lu.assertTrue(not s:take(hostile):find "[^%w_.-]")
   end
end

function tests.test_a_node_that_slurm_cannot_name_is_refused()
   for _, hostile in ipairs { "n 1", "n1\nPartitionName=x", "n#1", "", "n[1]", "-n" } do
      local ok, err = lists.check_nodes { "good", hostile .. (hostile == "" and " " or "") }
      lu.assertNil(ok)
      lu.assertStrContains(err, "cannot be a NodeName")
      lu.assertNil(err:find "\n")
   end
   lu.assertTrue(lists.check_nodes { "n1", "rack1-node.x_y" })
end

function tests.test_a_sequence_keeps_its_order_and_expands_to_itself()
   local samples = { { "n3", "n1", "n2", "n4" }, { "n09", "n10", "n11" }, { "n9", "n10" }, { "a" },
      { "a", "b1", "b2", "a", "b3" }, { "x01", "x02", "x3", "x04" }, { "7", "8", "9" },
      { "n99999999999999999999", "n1" }, { "n1", "n1" } }
   lu.assertEquals(lists.sequence(samples[1]), "n[3,1-2,4]")
   lu.assertEquals(lists.sequence(samples[2]), "n[09-11]")
   for _, list in ipairs(samples) do
      lu.assertEquals(hostlist.expand(lists.sequence(list)), list)
   end
end

return tests
