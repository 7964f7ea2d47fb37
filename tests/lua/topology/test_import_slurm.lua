-- SPDX-License-Identifier: GPL-2.0-or-later
-- Slurm: topology.conf, topology.yaml, names with coordinates.
local import = require "taut.topology.import"
local importing = require "lib.importing"
local lu = require "luaunit"
local recognise = require "taut.topology.import.recognise"

local tests = {}
local data, refused, read = importing.data, importing.refused, importing.read
local suite = "slurm/schedmd-testsuite/python/"

function tests.tearDown()
   importing.clean()
end

local function sizes(w)
   return { #w.routers, #w.nodes, #w.cables }
end

function tests.test_tree()
   local w = assert(read("slurm-conf", [[
# comment
switchname=s0 Nodes=n[0-3]   LinkSpeed=100 # more
SwitchName=s1 nodes = "n[4-5],\
n[6-7]"
SwitchName=s2 Switches=s[0-1]
]]))
   lu.assertEquals(sizes(w), { 3, 8, 2 })
   lu.assertEquals(w.routers, { { name = "s0", level = 0 }, { name = "s1", level = 0 },
      { name = "s2", level = 1 } })
   lu.assertEquals(w.nodes[8], { name = "n7", rails = { { router = 2, port = "4" } } })
   lu.assertEquals(w.cables[2], { a = 2, a_port = "up", b = 3, b_port = "2" })
end

function tests.test_trees_of_the_suite()
   for i, expected in ipairs { { 529, 10000, 528 }, { 528, 10000, 527 }, { 23, 400, 22 },
      { 22, 400, 20 }, { 22, 400, 20 }, { 7, 40, 4 } } do
      local w = assert(import.read("slurm-conf", data(suite ..
         "tests/test_133_1_testcases/testcase" .. i .. "/topology.conf")))
      -- the last three have several trees: nothing joins them
      lu.assertEquals(sizes(w), expected, i)
   end
   local w = assert(import.read("slurm-conf", data(suite .. "check/topology/topology.conf")))
   lu.assertEquals(sizes(w), { 9, 32, 8 })
   importing.noted(w, "does not say how blocks are joined")
end

function tests.test_trees_that_are_wrong()
   for text, e in pairs {
      ["SwitchName=a Nodes=n1\nSwitchName=a Nodes=n2\n"] = { 2, "is here and in line 1" },
      ["SwitchName=a Nodes=n1\nSwitchName=b Nodes=n1\n"] = { 2, 'node "n1" is here and' },
      ["SwitchName=a Switches=b\nSwitchName=b Switches=a\n"] = { 2, "is below itself" },
      ["SwitchName=a Switches=a\n"] = { 1, "is below itself" },
      ["SwitchName=a Switches=b\n"] = { 1, 'which no line describes' },
      ["SwitchName=a\n"] = { 1, "no switch leads to a node" },
      ["BlockName=a\n"] = { 1, "no block has nodes" },
      ["SwitchName=a Nodes=n1 Switches=b\n"] = { 1, "both switches and nodes" },
      ["SwitchName=a Nodes=n[1-\n"] = { 1, "host list" },
      ["SwitchName=a Nodes=n[1-99999999]\n"] = { 1, "nodes" },
      ["SwitchName=a Nodes=n1 Nodes=n2\n"] = { 1, "is given twice" },
      ["SwitchName=a Colour=red\n"] = { 1, "does not go with" },
      ["Nodes=n1 SwitchName=a\n"] = { 1, "expected SwitchName=" },
      ["SwitchName=a Nodes=n1 \\\n"] = { 1, "ends in a line that goes on" },
      ["SwitchName=a Nodes=n1\nBlockName=b Nodes=n2\n"] = { 2, "expected one kind" },
      ["Include other.conf\n"] = { 1, "is not followed" },
      ["# nothing\n"] = { 1, "without a switch" },
      ["\0\1\2"] = { 1, "expected SwitchName=" },
      ["SwitchName=a Nodes=n1/x\n"] = { 1, "not a character of a name" },
      ["SwitchName=a Nodes=ALL\n"] = { 1, "expected --nodes" },
   } do
      refused("slurm-conf", text, e[1], e[2])
   end
   -- a chain as deep as the file is long
   local chain = { "SwitchName=s0 Nodes=n1\n" }
   for i = 1, 20000 do
      chain[i + 1] = ("SwitchName=s%d Switches=s%d\n"):format(i, i - 1)
   end
   local w = assert(read("slurm-conf", table.concat(chain)))
   lu.assertEquals(w.routers[20001].level, 20000)
end

-- Files of Slurm's operators in clouds keep a switch for nodes that are yet to come.
function tests.test_switches_and_blocks_without_nodes_are_left_out()
   local w = assert(read("slurm-conf", "SwitchName=root Switches=a,b,spare,high\n" ..
      "SwitchName=a Nodes=w-[0-3]\nSwitchName=b Nodes=w-[4-7]\nSwitchName=spare\n" ..
      "SwitchName=low\nSwitchName=high Switches=low\n"))
   lu.assertEquals(sizes(w), { 3, 8, 2 })
   for _, name in ipairs { "spare", "low", "high" } do
      importing.noted(w, ('switch "%s" leads to no node'):format(name))
   end
   w = assert(read("slurm-conf", "BlockName=b1 Nodes=n[1-4]\nBlockName=b2\nBlockSizes=4\n"))
   lu.assertEquals(sizes(w), { 1, 4, 0 })
   importing.noted(w, 'block "b2" has no nodes')
   w = assert(read("slurm-yaml", "- topology: default\n  cluster_default: true\n  tree:\n" ..
      "    switches:\n      - switch: root\n        children: a,spare\n      - switch: a\n" ..
      "        nodes: w-[0-3]\n      - switch: spare\n"))
   lu.assertEquals(sizes(w), { 2, 4, 1 })
end

function tests.test_several_above_one()
   local w = assert(read("slurm-conf", "SwitchName=a Nodes=n[1-2]\nSwitchName=b Nodes=n[3-4]\n" ..
      "SwitchName=c Switches=a,b\nSwitchName=d Switches=a,b\n"))
   lu.assertEquals(sizes(w), { 4, 4, 4 })
   importing.noted(w, "has 2 switches above it")
end

function tests.test_blocks()
   local w = assert(read("slurm-conf", "BlockName=b1 Nodes=n[1-4]\nBlockName=b2 Nodes=n[5-7]\n" ..
      "BlockSizes=4,8\n"))
   lu.assertEquals(sizes(w), { 3, 7, 2 })
   importing.noted(w, "block \"b2\" has 3 nodes, fewer")
   for sizes_, words in pairs { ["4,12"] = "power of two", ["8,4"] = "power of two",
      ["4,4"] = "growing sizes", ["x"] = "a whole number", ["0"] = "a whole number" } do
      refused("slurm-conf", "BlockName=b1 Nodes=n[1-4]\nBlockSizes=" .. sizes_ .. "\n", 2, words)
   end
end

function tests.test_rings()
   local w = assert(read("slurm-conf", "RingName=r0 Nodes=n[1-4]\nRingName=r1 Nodes=n[5-6]\n"))
   lu.assertEquals(sizes(w), { 6, 6, 5 })
   refused("slurm-conf", "RingName=r0 Nodes=n[1-17]\n", 1, "expected at most 16")
   refused("slurm-conf", "RingName=r0\n", 1, "has no nodes")
end

function tests.test_names_in_no_machine()
   refused("slurm-conf", "SwitchName=a Nodes=n[1-3]\n", 1, 'node "n3" is in no machine',
      { nodes = { "n1", "n2" } })
   local w = assert(read("slurm-conf", "SwitchName=a Nodes=ALL\n", { nodes = { "x", "y" } }))
   lu.assertEquals(#w.nodes, 2)
   w = assert(read("slurm-conf", "SwitchName=a Nodes=n1\n", { nodes = { "n1", "n2" } }))
   importing.noted(w, 'node "n2" of the machine is not in this file')
end

local YAML = [[
---
- topology: t1
  cluster_default: true
  tree:
    switches:
      - switch: root
        children: s[1-2]
      - switch: s1
        nodes: n[1-4]
      - switch: s2
        nodes: n[5-8]
- topology: b1
  block:
    block_sizes: [4, 8]
    blocks:
      - block: a
        nodes: n[1-4]
      - block: b
        nodes: n[5-8]
- topology: everything
  flat: true
- topology: r1
  ring:
    rings:
      - ring: r
        nodes: n[1-8]
- topology: pod
  torus3d:
    toruses:
      - name: pod1
        dims: {x: 4, y: 2, z: 2}
        nodes: n[1-16]
        placements:
          - dims: {x: 2, y: 2, z: 1}
- topology: regions
  torus3d:
    toruses:
      name: pod2
      dims: {x: 2, y: 2, z: 2}
      regions:
        - anchor: {x: 0, y: 0, z: 1}
          dims: {x: 2, y: 2, z: 1}
          nodes: a[1-4]
        - dims: {x: 2, y: 2, z: 1}
          nodes: b[1-4]
]]

function tests.test_yaml()
   lu.assertEquals(sizes(assert(read("slurm-yaml", YAML))), { 3, 8, 2 })
   lu.assertEquals(sizes(assert(read("slurm-yaml", YAML, { topology = "b1" }))), { 3, 8, 2 })
   lu.assertEquals(sizes(assert(read("slurm-yaml", YAML, { topology = "r1" }))), { 8, 8, 8 })
   local w = assert(read("slurm-yaml", YAML, { topology = "pod" }))
   lu.assertEquals(sizes(w), { 16, 16, 16 + 8 + 8 })
   -- x runs fastest
   lu.assertEquals({ w.nodes[2].coord, w.nodes[5].coord }, { { 1, 0, 0 }, { 0, 1, 0 } })
   w = assert(read("slurm-yaml", YAML, { topology = "regions" }))
   lu.assertEquals({ w.nodes[1].name, w.nodes[1].coord }, { "a1", { 0, 0, 1 } })
   lu.assertEquals(w.nodes[5].coord, { 0, 0, 0 })
   w = assert(read("slurm-yaml", YAML, { topology = "everything", nodes = { "n1", "n2" } }))
   lu.assertEquals(sizes(w), { 1, 2, 0 })
   refused("slurm-yaml", YAML, 21, "expected --nodes", { topology = "everything" })
   refused("slurm-yaml", YAML, 1, 'no topology "other"', { topology = "other" })
end

-- Files that Slurm's own tests say are wrong, and the line that is.
function tests.test_yaml_of_the_suite_is_refused()
   for name, e in pairs {
      block_bad_options = { 9, "power of two" }, block_blocks_not_list = { 16, "'blocks'" },
      block_not_dict = { 9, "'block'" }, flat_bad_options = { 6, "a topology without" },
      flat_bool_mutually_exclusive = { 17, "'flat' beside 'block'" },
      flat_dict_mutually_exclusive = { 15, "'flat' beside 'block'" },
      ring_bad_options = { 12, "at most 16" }, ring_mutually_exclusive = { 14, "beside 'block'" },
      ring_not_dict = { 8, "'ring' is a text" }, ring_rings_not_list = { 9, "'rings'" },
      root_not_list = { 7, "expected a list of topologies" },
      torus3d_mutually_exclusive = { 15, "beside 'block'" }, torus3d_not_dict = { 8, "is a text" },
      torus3d_placements_not_list = { 19, "'placements'" },
      torus3d_regions_not_list = { 20, "'regions'" },
      torus3d_toruses_not_list = { 9, "'toruses'" }, torus_bad_options = { 15, "8 nodes for" },
      tree_bad_options = { 10, '"s3", which no line describes' },
      tree_mutually_exclusive = { 15, "beside 'block'" }, tree_not_dict = { 8, "'tree' is a text" },
      tree_switches_not_list = { 9, "'switches'" },
   } do
      local path = data(suite .. "tests/test_150_9_testcases/" .. name .. ".yaml")
      local w, err = import.read("slurm-yaml", path)
      lu.assertNil(w, name)
      lu.assertStrContains(err, ("%s:%d: "):format(path, e[1]))
      lu.assertStrContains(err, e[2])
   end
end

function tests.test_yaml_that_is_hostile()
   for text, e in pairs {
      [""] = { 1, "has no topology" },
      ["- [\n"] = { 2, "not YAML" },
      ["- a: &x 1\n  b: *x\n"] = { 1, "an anchor or alias" },
      ["- topology: t\n  topology: u\n"] = { 2, "is here and in line 1" },
      [("["):rep(100)] = { 1, "nested deeper than 16" },
      ["- topology: t\n---\n- topology: u\n"] = { 2, "a second document" },
      ["- topology: t\n  flat: true\n- topology: t\n  flat: true\n"] = { 3, "is here and in" },
      ["- topology: t\n  flat: maybe\n"] = { 2, "expected true or false" },
      ["- topology: t\n  cluster_default: x\n  flat: true\n"] = { 2, "expected true or false" },
      ["- topology: t\n  hexagon: {}\n"] = { 2, "expected topology, cluster_default" },
      ["- topology: a\n  flat: true\n- topology: b\n  flat: true\n"] = { 1, "none is cluster_def" },
      ["- topology: t\n  torus3d: {toruses: {name: p, dims: {x: 4096, y: 4096, z: 4096}, " ..
         "nodes: n1}}\n"] = { 2, "has more than" },
      ["- {a: 1}: b\n"] = { 1, "as a key" },
      ["\255\254"] = { 1, "" },
   } do
      refused("slurm-yaml", text, e[1], e[2])
   end
end

function tests.test_names_with_coordinates()
   local w = assert(read("slurm-names", "# all\nNodeName=tux[000x132] CPUs=2 State=UNKNOWN # x\n"))
   lu.assertEquals(#w.nodes, 2 * 4 * 3)
   lu.assertEquals(w.nodes[4], { name = "tux010", coord = { 0, 1, 0 },
      rails = { { router = 4, port = "n0" } } })
   local found = recognise.kind(w)
   lu.assertEquals({ found.kind, found.dims }, { "torus", { 2, 4, 3 } })
   lu.assertEquals(found.coord[4], { 0, 1, 0 })
   -- base 36
   w = assert(read("slurm-names", "bg00Z,bg0A0\n"))
   lu.assertEquals({ #w.routers, #w.nodes, w.nodes[2].coord }, { 11 * 36, 2, { 0, 10, 0 } })
end

function tests.test_names_that_are_wrong()
   for text, e in pairs {
      ["tux[000x132],tux000\n"] = { 1, "is here and in line 1" },
      ["tux[100x000]\n"] = { 1, "the lower corner first" },
      ["tux[00x11]\n"] = { 1, "expected three characters" },
      ["tux000\ntux0000\n"] = { 2, "expected all alike" },
      ["TUX000\n"] = { 1, "expected names such as" },
      ["tux[000x\n"] = { 1, "expected names such as" },
      ["tux[0000xZZZZ]\n"] = { 1, "more than" },
      [""] = { 1, "without a node name" },
   } do
      refused("slurm-names", text, e[1], e[2])
   end
   -- four characters: the last one counts nodes at a point
   local w = assert(read("slurm-names", "tux[0000x1113]\n"))
   lu.assertEquals({ #w.routers, #w.nodes }, { 8, 32 })
   lu.assertEquals(w.nodes[6].rails[1], { router = 2, port = "n1" })
end

-- What an administrator without the file has: the answer of slurmctld.
function tests.test_what_scontrol_shows_of_a_topology()
   local w = assert(importing.read("slurm-conf", [[
SwitchName=s0 Level=0 LinkSpeed=1 Nodes=n[0-3]
SwitchName=s1 Level=0 LinkSpeed=1 Nodes=n[4-7]
SwitchName=spare Level=0 LinkSpeed=1 Nodes=
SwitchName=s2 Level=1 LinkSpeed=1 Nodes=n[0-7] Switches=s[0-1],spare
]]))
   lu.assertEquals(sizes(w), { 3, 8, 2 })
   importing.noted(w, '"spare" leads to no node')
   w = assert(importing.read("slurm-conf", [[
BlockName=b0 BlockIndex=0 Nodes=n[0-1] BlockSize=2
BlockName=b1 BlockIndex=1 Nodes=n[2-3] BlockSize=2
AggregatedBlock=b[0-1] BlockIndex=2 Nodes=n[0-3] BlockSize=4
]]))
   lu.assertEquals(sizes(w), { 3, 4, 2 })
   local _, err = importing.read("slurm-conf", "SwitchName= Nodes=n1\n")
   lu.assertStrContains(err, '"switchname" without a name')
end

local function two(first, second)
   return ([[
- topology: a
  cluster_default: %s
  tree: { switches: [ { switch: s1, nodes: "n[1-2]" } ] }
- topology: b
  cluster_default: %s
  flat: %s
  tree: { switches: [ { switch: s2, nodes: "m[1-4]" } ] }
]]):format(first, second, first == "x" and "false" or "No")
end

-- Only "true" and "false" were taken; Slurm takes what YAML 1.1 does, and numbers.
function tests.test_all_spellings_of_a_flag_that_slurm_takes()
   for _, yes in ipairs { "true", "True", "TRUE", "yes", "Yes", "y", "on", "ON", "t", "1" } do
      for _, no in ipairs { "false", "False", "no", "NO", "n", "off", "f", "0", "~", "null" } do
         lu.assertEquals(#assert(importing.read("slurm-yaml", two(yes, no))).nodes, 2)
         lu.assertEquals(#assert(importing.read("slurm-yaml", two(no, yes))).nodes, 4)
      end
   end
   local _, err = importing.read("slurm-yaml", two("maybe", "no"))
   lu.assertStrContains(err, [['cluster_default' is "maybe", expected true or false]])
end

return tests
