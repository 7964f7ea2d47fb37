-- SPDX-License-Identifier: GPL-2.0-or-later
-- What check finds, what diff tells apart, and which names a slurm.conf has.
local check = require "taut.topology.check"
local diff = require "taut.topology.diff"
local golden = require "lib.golden"
local lu = require "luaunit"
local slurmconf = require "taut.slurm.conf"
local topology = require "taut.topology"

local tests = {}

function tests.tearDown()
   golden.clean()
end

local function fabric(cables, nodes)
   local routers = { { name = "s0" }, { name = "s1" }, { name = "s2" }, { name = "s3" } }
   local list = {}
   for i, at in ipairs(nodes or { 1, 2, 3, 4 }) do
      list[i] = { name = "n" .. i, rails = { { router = at, port = tostring(20 + i), Bps = 1e9 } } }
   end
   return assert(topology.build { kind = "graph", wiring = { source = "test", format = "test",
      routers = routers, nodes = list, cables = cables, notes = {} } })
end

local function cable(a, b, Bps)
   return { a = a, a_port = tostring(b), b = b, b_port = tostring(a), Bps = Bps or 1e9 }
end

local function kinds(list)
   local out = {}
   for i, f in ipairs(list) do
      out[i] = f.kind
   end
   return out
end

function tests.test_nothing_to_say_of_a_ring()
   local topo = fabric { cable(1, 2), cable(2, 3), cable(3, 4), cable(4, 1) }
   lu.assertEquals(check.all(topo, {}), {})
end

function tests.test_a_machine_in_two_parts()
   local topo = fabric { cable(1, 2), cable(3, 4) }
   local list = check.all(topo, {})
   lu.assertEquals(list[1].kind, "parts")
   lu.assertEquals(list[1].count, 2)
   lu.assertEquals(kinds(list), { "parts" }) -- that no route leads across is the same
end

-- A node with one rail where others have two, and rails that are planes of their own.
function tests.test_a_rail_that_a_node_never_had_is_not_missing()
   local function port(at)
      return { router = at, port = tostring(20 + at), Bps = 1e9 }
   end
   local topo = assert(topology.build { kind = "graph", wiring = { source = "test", format = "test",
      notes = {}, routers = { { name = "s0" }, { name = "s1" }, { name = "s2" }, { name = "s3" } },
      cables = { cable(1, 2), cable(3, 4) }, nodes = {
         { name = "n1", rails = { port(1), port(3) } }, { name = "n2", rails = { port(2) } },
         { name = "n3", rails = { port(2), port(4) } } } } })
   lu.assertEquals(check.all(topo, {}), {})
end

function tests.test_a_router_without_links()
   local topo = fabric { cable(1, 2), cable(2, 3) }
   local found = {}
   for _, f in ipairs(check.all(topo, {})) do
      found[f.kind] = f.names
   end
   lu.assertEquals(found.lonely, { "s3" })
   lu.assertEquals(found.nodes_without_links, { "n4" })
end

function tests.test_a_capacity_that_only_one_cable_has()
   local cables = {}
   for a = 1, 4 do
      for b = a + 1, 4 do
         cables[#cables + 1] = cable(a, b, a == 1 and b == 3 and 5e8 or 1e9)
      end
   end
   local topo = fabric(cables)
   -- two of twelve are more than a tenth
   lu.assertEquals(check.all(topo, {}), {})
   topo.capacity[topo.component_id["s0/3"]] = 1e9
   local list = check.all(topo, {})
   lu.assertEquals(kinds(list), { "asymmetric", "rare" })
   lu.assertStrContains(list[2].names[1], "s2/1")
end

function tests.test_names_are_compared_with_slurm()
   local topo = fabric { cable(1, 2), cable(2, 3), cable(3, 4), cable(4, 1) }
   local list = check.all(topo, { slurm = { names = { "n1", "n2", "x" }, known = { n1 = 1, n2 = 1,
      x = 1 } } })
   lu.assertEquals(kinds(list), { "not_in_slurm", "not_in_topology" })
   lu.assertEquals(list[1].names, { "n3", "n4" })
   lu.assertEquals(list[2].names, { "x" })
end

---------------------------------------------------------------- diff

local function counts(d)
   return { #d.nodes_first, #d.nodes_second, #d.moved, #d.routers_first, #d.routers_second,
      #d.links, #d.capacities, #d.ends }
end

local RING = { cable(1, 2), cable(2, 3), cable(3, 4), cable(4, 1) }

function tests.test_a_fabric_equals_itself_under_other_names()
   local a, b = fabric(RING), fabric(RING)
   lu.assertEquals(diff.compare(a, b).count, 0)
   for r = 0, b.routers - 1 do
      b.router_name[r] = "0x000" .. r
   end
   b.router_id = {}
   for r, name in pairs(b.router_name) do
      b.router_id[name] = r
   end
   local d = diff.compare(a, b)
   lu.assertEquals({ d.matched_by, d.matched, d.count }, { "nodes", 4, 0 })
end

-- Their routers' neighbours know better.
function tests.test_nodes_that_changed_places_do_not_take_the_wiring_with_them()
   local function torus(nodes)
      return assert(topology.build { kind = "torus", dims = { 4, 4 }, nodes_per_router = 1,
         nodes = nodes, capacity = 1 })
   end
   local a, b = torus "n[0-15]", torus "n[0-5,11,7-10,6,12-15]"
   for r = 0, b.routers - 1 do
      b.router_name[r] = "other" .. r
   end
   b.router_id = {}
   local d = diff.compare(a, b)
   lu.assertEquals(d.count, 2)
   lu.assertEquals(d.moved[1], { node = "n6", rail = 1, first = "r1.2", second = "other11" })
   lu.assertEquals(d.moved[2].node, "n11")
end

function tests.test_routers_without_nodes_are_matched_by_their_links()
   -- s3 is a spine
   local star = { cable(1, 4), cable(2, 4), cable(3, 4) }
   local a, b = fabric(star, { 1, 2, 3 }), fabric(star, { 1, 2, 3 })
   for r = 0, 3 do
      b.router_name[r] = "other" .. r
   end
   b.router_id = {}
   local d = diff.compare(a, b)
   lu.assertEquals({ d.matched, d.count }, { 4, 0 })
end

function tests.test_what_is_not_known_differs_from_nothing()
   local function ring(capacity)
      return assert(topology.build { kind = "torus", dims = { 4 }, nodes_per_router = 1,
         nodes = "n[0-3]", capacity = capacity })
   end
   lu.assertEquals(diff.compare(ring(), ring(2e9)).count, 0)
   lu.assertEquals(diff.compare(ring { tx = 1e9 }, ring { tx = 2e9, link = 3e9 }).count, 4)
   lu.assertEquals(check.all(ring { ["X+"] = 3e9 }, {}), {})
end

function tests.test_a_moved_node_a_swapped_cable_a_slower_one()
   local a = fabric(RING)
   local b = fabric({ cable(1, 2), cable(2, 4), cable(3, 4, 5e8), cable(4, 1) }, { 1, 2, 4, 4 })
   local d = diff.compare(a, b)
   lu.assertEquals(d.moved, { { node = "n3", rail = 1, first = "s2", second = "s3" } })
   lu.assertEquals(counts(d), { 0, 0, 1, 0, 0, 2, 1, 0 })
   lu.assertEquals({ d.links[1].from, d.links[1].to, d.links[1].both, d.links[1].second },
      { "s1", "s2", true, 0 })
   lu.assertEquals({ d.links[2].from, d.links[2].to, d.links[2].first }, { "s1", "s3", 0 })
   lu.assertEquals(d.capacities[1].second_Bps, 5e8)
end

---------------------------------------------------------------- slurm.conf

function tests.test_names_of_a_slurm_conf()
   golden.file("more.conf", "NODENAME=m[1-2] CPUs=1\n# NodeName=no1\nNodeSet=x Nodes=y\n")
   local list, where = slurmconf.nodes(golden.file("slurm.conf", [[
NodeName=DEFAULT CPUs=1
 NodeName = "n[1-3]" CPUs=2
nodename=o1,o2 \
  CPUs=3
NodeName=n3
include more.conf
Include /does/not/%c/exist
SlurmctldHost=NodeName=z
]]))
   lu.assertEquals(list, { "n1", "n2", "n3", "o1", "o2", "m1", "m2" })
   lu.assertStrContains(where.o1, "slurm.conf:3")
   lu.assertStrContains(where.m2, "more.conf:1")
end

function tests.test_a_bad_slurm_conf_names_file_and_line()
   for text, expected in pairs {
      ["\nNodeName=n[1-"] = "slurm.conf:2: NodeName: ",
      ["NodeName="] = "slurm.conf:1: NodeName: expected names",
      ["NodeName=n[0-99999999999]"] = "slurm.conf:1: NodeName: ",
      ["Include nowhere.conf"] = "slurm.conf:1: Include: ",
      ["\n\nInclude slurm.conf"] = "more than 8 files deep",
      [("x"):rep(1 << 21)] = "slurm.conf:1: a line of more than",
   } do
      local list, err = slurmconf.nodes(golden.file("slurm.conf", text))
      lu.assertNil(list)
      lu.assertStrContains(err, expected)
   end
   local list, err = slurmconf.nodes "/nowhere/slurm.conf"
   lu.assertNil(list)
   lu.assertStrContains(err, "/nowhere/slurm.conf")
end

function tests.test_noise_is_no_slurm_conf_and_does_no_harm()
   math.randomseed(5)
   for _ = 1, 200 do
      local bytes = { "NodeName=" }
      for i = 2, 60 do
         bytes[i] = string.char(math.random(0, 255))
      end
      local list, err = slurmconf.nodes(golden.file("slurm.conf", table.concat(bytes)))
      lu.assertTrue(list ~= nil or err:find("slurm.conf:%d+: ") ~= nil, err)
   end
end

return tests
