-- SPDX-License-Identifier: GPL-2.0-or-later
-- `taut topology …` on small machines: what it prints, in 80 columns, and as JSON.
local common = require "taut.cli.topology.common"
local golden = require "lib.golden"
local json = require "taut.json"
local lu = require "luaunit"

local MACHINES = {
   torus = [[topology = torus { dims = { 4, 4, 2 }, nodes_per_router = 2, nodes = "n[00-63]",
      service = "n[00-01]", capacity = { tx = 5 * GB, rx = 5 * GB, X = 6 * GB, Y = 3 * GB,
      Z = 9.75 * GB } }]],
   tree = [[topology = fattree { nodes_per_leaf = 4, nodes = "n[1-16]", capacity = 3 * GB,
      levels = { { down = 4, up = 2, parallel = 1 } } }]],
   ring = [[topology = torus { dims = { 6 }, nodes_per_router = 1, nodes = "r[0-5]",
      capacity = 1 * GB }]],
   ring_rewired = [[topology = torus { dims = { 6 }, nodes_per_router = 1,
      nodes = "r[0-1,3,2,4,6]", capacity = { tx = 1 * GB, rx = 1 * GB, link = 2 * GB } }]],
   dragonfly = [[topology = dragonfly { groups = 3, routers = 2, nodes_per_router = 2,
      nodes = "d[00-11]", capacity = 25 * GB }]],
   hyperx = [[topology = hyperx { dims = { 3, 3 }, nodes_per_router = 1, nodes = "h[0-8]",
      capacity = 12.5 * GB }]],
}
local SLURM_CONF = [[
ClusterName=x
NodeName=DEFAULT CPUs=4 # NodeName=no[1-9]
nodename="n[02-40]" CPUs=4 \
   RealMemory=100
Include more.conf
]]

local function setup()
   for name, text in pairs(MACHINES) do
      golden.file(name .. ".lua", text)
   end
   golden.file("slurm.conf", SLURM_CONF)
   golden.file("more.conf", "NodeName=n[41-60],x1\n")
end

local tests = {}

function tests.tearDown()
   golden.clean()
end

for _, name in ipairs { "torus", "tree", "dragonfly", "hyperx", "diff" } do
   tests["test_what_it_prints_about_a_" .. name] = function()
      setup()
      golden.check(name)
   end
end

-- Sentences are broken between words; a name, or a path, is a word.
function tests.test_what_goes_wrong_is_narrow_too()
   setup()
   golden.file("flat.conf", "NodeName=n1\nSwitchName=s1 Nodes=n[1-4] Nodes=n5\n")
   local chain = { "SwitchName=s1 Nodes=n1" }
   for i = 2, 300 do
      chain[i] = ("SwitchName=s%d Switches=s%d"):format(i, i - 1)
   end
   golden.file("chain.conf", table.concat(chain, "\n") .. "\n")
   golden.file("tree.lua", MACHINES.tree)
   golden.file("bad.lua", "topology = torus { dims = { 0 } }")
   local machine = " -m " .. golden.file("torus.lua", MACHINES.torus)
   local at = machine:match "(/.*/)"
   for command, words in pairs {
      ["show x" .. machine] = "has no router, node or component 'x'",
      ["route n02 nowhere" .. machine] = "has no node or router 'nowhere'",
      ["dependents x" .. machine] = "has no component 'x'",
      ["exposed x" .. machine] = "has no component 'x'",
      ["load ring -w n02,x" .. machine] = "has no node 'x'",
      ["load nearest --grid 2x2" .. machine] = "grid 2x2 has 4 places",
      ["load gossip" .. machine] = "there is no pattern 'gossip'",
      ["load halo3d --bytes 5" .. machine] = "--bytes, --by and --grid: not with halo3d",
      ["load matrix:/nonexistent" .. machine] = "/nonexistent: No such file",
      ["draw --json" .. machine] = "give it a file, with --output",
      ["draw --plane Q=3" .. machine] = "--plane: expected such as",
      ["draw --plane Z=1 -m " .. at .. "tree.lua"] = "--plane: a fat tree has no planes",
      ["export slurm --as names --prefix 1" .. machine] = "--prefix: expected letters",
      ["show --fail r1.0.0/X+=2" .. machine] = "with a share from 0 to 1",
      ["show -m " .. at .. "bad.lua"] = "bad.lua",
      ["check --slurm-conf /nowhere/at/all/slurm.conf" .. machine] = "No such file",
      ["diff " .. at .. "torus.lua /nowhere/at/all/taut.lua"] = "No such file",
      ["import slurm-conf " .. at .. "flat.conf"] = "flat.conf:",
      ["import slurm-conf " .. at .. "chain.conf"] = "300 levels with 1 + 1",
   } do
      local arguments = { "topology" }
      for word in command:gmatch "%S+" do
         arguments[#arguments + 1] = word
      end
      local stdout = io.stdout
      rawset(io, "stdout", { write = function() return true end })
      local _, status, complaint = golden.run(arguments)
      rawset(io, "stdout", stdout)
      lu.assertEquals(status ~= 0, not command:find "chain.conf", command)
      lu.assertStrContains((complaint:gsub("\n +", " ")), words)
      golden.narrow(command, complaint)
   end
end

function tests.test_what_has_no_route_is_narrow_too()
   setup()
   local machine = golden.file("torus.lua", MACHINES.torus)
   local arguments = { "topology", "route", "n02", "n63", "--back", "-m", machine }
   for _, port in ipairs { "X+", "X-", "Y+", "Y-", "Z+" } do
      table.move({ "--fail", "r0.0.1/" .. port }, 1, 2, #arguments + 1, arguments)
   end
   local text, status = golden.run(arguments)
   lu.assertEquals(status, 1)
   lu.assertStrContains(text, "n02 to n63: no route")
   golden.narrow("route", text)
   local note = golden.run { "topology", "check", "-m", machine }
   lu.assertStrContains(note, "names not compared")
   golden.narrow("check", note)
   text = golden.run { "topology", "diff", "--all", golden.file("a.lua", MACHINES.ring),
      machine }
   golden.narrow("diff", text)
end

-- Each subcommand's JSON is one document, and says the same as its text.
function tests.test_json_of_every_subcommand()
   setup()
   local machine = golden.file("torus.lua", MACHINES.torus)
   local function ask(...)
      local arguments = { "topology", ... }
      table.move({ "-m", machine, "--json" }, 1, 3, #arguments + 1, arguments)
      local text, status = golden.run(arguments)
      return assert(json.decode(text), text), status
   end
   lu.assertEquals(ask("show").nodes, 62)
   lu.assertEquals(#ask("show", "r1.0.0").links, 5)
   lu.assertEquals(#ask("show", "n05").components, 2)
   lu.assertEquals(ask("show", "r1.0.0/X+").to, "r2.0.0")
   lu.assertEquals(#ask("route", "n02", "n63").stages, 4)
   lu.assertEquals(ask("dependents", "n05/tx").behind, { "n05" })
   lu.assertEquals(#ask("exposed", "r1.0.0/X+").exposed, 2)
   lu.assertEquals(ask("classes").unused, { "r0.0.0/X-", "r0.0.1/Z+" })
   lu.assertEquals(ask("load", "ring", "--bytes", "10").classes[1].most_bytes, 10)
   lu.assertEquals(ask("load", "shift:by=1,bytes=10").classes, ask("load", "ring", "--bytes",
      "10").classes)
   lu.assertEquals(ask("load", "all-reduce-ring:bytes=62").classes[1].most_bytes, 2 * 61)
   lu.assertEquals(ask("check", "--slurm-conf", "-").findings, {})
   lu.assertEquals(ask("export", "slurm", "--as", "block").form, "block")
   local picture = golden.file("p.svg", "")
   lu.assertEquals(ask("draw", "-o", picture).bytes > 1000, true)
end

-- Four links share what a tx sends: together they carry more than it does.
function tests.test_a_route_is_limited_by_what_its_links_carry_together()
   local machine = golden.file("shared.lua", [[topology = fattree { nodes_per_leaf = 1,
      levels = { { down = 2, up = 4 } }, nodes = "n[1-2]", routing = "ecmp",
      capacity = { tx = 10 * GB, rx = 10 * GB, link = 4 * GB } }]])
   local text = golden.run { "topology", "route", "n1", "n2", "-m", machine }
   lu.assertStrContains(text, "n1 to n2: 2 links, at most 10.00 GB/s")
   machine = golden.file("shared.lua", [[topology = fattree { nodes_per_leaf = 1,
      levels = { { down = 2, up = 4 } }, nodes = "n[1-2]", routing = "ecmp",
      capacity = { tx = 10 * GB, rx = 10 * GB, link = 2 * GB } }]])
   text = golden.run { "topology", "route", "n1", "n2", "-m", machine }
   lu.assertStrContains(text, "at most 8.00 GB/s")
end

-- A node with one rail of two: no component of the rail that is not there is shown or counted.
-- route crashed, load told times of links that carry it is not known what.
function tests.test_capacities_that_are_not_known_are_not_made_up()
   local at = golden.file("ring.lua",
      'topology = torus { dims = { 4 }, nodes_per_router = 1, nodes = "n[0-3]" }')
   for _, words in ipairs { { "route", "n0", "n1" }, { "load", "ring" }, { "show" },
      { "show", "r0/X+" }, { "classes" }, { "exposed", "r0/X+" }, { "dependents", "r0/X+" } } do
      local out, status = golden.run { "topology", words[1], "-m", at, table.unpack(words, 2) }
      lu.assertEquals(status, 0, out)
      lu.assertNil(out:find "[KMG]B/s", out)
      lu.assertNil(out:find "%d m?s\n", out)
   end
end

local function lines(...)
   local out, status, complaint = golden.run { "topology", ... }
   return out, status, complaint or ""
end

-- A whole switch, a whole node: what is on it, behind it, and who has many routes through it.
function tests.test_switches_and_nodes_are_asked_for_as_a_whole()
   setup()
   local tree = golden.file("tree.lua", MACHINES.tree)
   for _, case in ipairs {
      { "dependents", "leaf1", "12 components", "4 nodes:", "n[5-8]" },
      { "dependents", "spine0", "8 components", "0 nodes: each has other ways" },
      { "dependents", "n1", "2 components", "1 node:" },
      { "exposed", "leaf1", "carries     108 of 240 routes", "16 nodes" },
      { "exposed", "spine0", "carries     96 of 240 routes", "16 nodes" },
      { "exposed", "n1", "carries     30 of 240 routes", "1 node," },
      { "show", "--fail=leaf1", "supposed    leaf1 failed", "96 pairs of nodes, on 6 pairs of" },
      { "show", "--fail=n1=0.5", "supposed    n1 at 50%" },
   } do
      local out, status = lines(case[1], "-m", tree, case[2])
      lu.assertEquals(status, 0)
      for i = 3, #case do
         lu.assertStrContains(out, case[i])
      end
   end
   local out = lines("exposed", "-m", tree, "n1", "--routes", "1")
   lu.assertStrContains(out, "n1          n[2-16]")
end

-- Each pair of routers once, and what is without a route said in one place.
function tests.test_pairs_without_a_route_stand_once()
   setup()
   local tree = golden.file("tree.lua", MACHINES.tree)
   local out = lines("show", "-m", tree, "--fail", "leaf1")
   local _, n = out:gsub("leaf0 to leaf1:", "")
   lu.assertEquals(n, 1, out)
   _, n = out:gsub("no route", "")
   lu.assertEquals(n, 1, out)
   out = lines("check", "-m", tree, "--fail", "leaf1", "--slurm-conf", "-")
   lu.assertStrContains(out, "pairs of routers without a route, for 96 pairs of nodes: 6")
   lu.assertNil(out:find "no route ")
end

function tests.test_long_names_keep_their_port()
   lu.assertEquals(common.cut("a-very-long-name-of-a-switch/17", 14), "a-very-lon~/17")
   lu.assertEquals(common.cut("a-very-long-name-of-a-switch/17", 31),
      "a-very-long-name-of-a-switch/17")
   lu.assertEquals(common.cut("words without any port", 10), "words wit~")
end

-- Ways in a tree are ours as long as no forwarding tables are given.
function tests.test_show_says_how_long_routes_are_and_whether_they_are_known()
   setup()
   local out = lines("show", "-m", golden.file("ring.lua", MACHINES.ring))
   lu.assertStrContains(out, "1.80 links long on average, 3 at most\n")
   local conf = golden.file("leaves.conf",
      "SwitchName=a Nodes=n[1-2]\nSwitchName=b Nodes=n[3-4]\nSwitchName=top Switches=a,b\n")
   local made = golden.file("made.lua", "")
   local _, status = lines("import", "slurm-conf", conf, "-o", made)
   lu.assertEquals(status, 0)
   out = lines("show", "-m", made)
   lu.assertStrContains(out, "2 at most: a guess (dmodk)")
end

-- 356 lines of what was passed over hide the one that matters.
function tests.test_notes_of_an_import_are_counted()
   local topo = (os.getenv "TAUT_SRCDIR" or ".") .. "/tests/data/infiniband/jabl-ibtopotool/1.topo"
   local made = golden.file("made.lua", "")
   local _, status, complaint = lines("import", "ibnetdiscover", topo, "-o", made)
   lu.assertEquals(status, 0, complaint)
   local _, _, all = lines("import", "ibnetdiscover", topo, "-o", made, "--verbose")
   lu.assertStrContains((complaint:gsub("%s+", " ")), "(and 1 line like it, --verbose)")
   lu.assertNil(all:find("like it", 1, true))
   lu.assertTrue(#all > #complaint)
end

-- Cray's links without its inventory are a machine without nodes.
function tests.test_rtr_without_an_inventory_says_what_is_missing()
   local rtr = golden.file("rtr", "c0-0c0s0a0l00(0:0:0) green -> c0-0c0s1a0l00(0:0:1)\n" ..
      "c0-0c0s1a0l00(0:0:1) green -> c0-0c0s0a0l00(0:0:0)\n")
   for _, words in ipairs { { "import", "rtr", rtr }, { "show", "-m", "rtr:" .. rtr } } do
      local _, status, complaint = lines(table.unpack(words))
      lu.assertEquals(status, 1)
      lu.assertStrContains((complaint:gsub("%s+", " ")), "no node, expected the inventory, too: " ..
         "--with xtdb2proc:FILE, xtprocadmin:FILE or basil:FILE")
   end
end

function tests.test_a_rail_that_is_not_there_has_no_row()
   local machine = golden.file("rails.lua", [[
topology = graph { wiring = { source = "x", format = "x", cables = {},
   routers = { { name = "a" }, { name = "b" } },
   nodes = { { name = "c1", rails = { { router = 1, port = "1", Bps = 1e10 },
      { router = 2, port = "1", Bps = 1e10 } } },
      { name = "login", rails = { { router = 1, port = "2", Bps = 1e10 } } } } } }
]])
   local show = assert(json.decode((golden.run { "topology", "show", "-m", machine, "--json" })))
   lu.assertEquals({ show.classes[1].count, show.classes[1].least_Bps }, { 3, 1e10 })
   lu.assertEquals(show.all_to_all.node_Bps, 1e10)
end

-- The JSON had a number, where the text said which pairs, why, and which links carry more.
function tests.test_json_says_what_follows_a_failure()
   setup()
   local machine = golden.file("torus.lua", MACHINES.torus)
   for _, command in ipairs { "show", "route n02 n63", "dependents r1.0.0/X+", "exposed r1.0.0/X+",
      "classes", "load ring", "check --slurm-conf -" } do
      local arguments = { "topology" }
      for word in command:gmatch "%S+" do
         arguments[#arguments + 1] = word
      end
      local function ask(...)
         local a = table.move(arguments, 1, #arguments, 1, {})
         table.move({ "-m", machine, ... }, 1, 2 + select("#", ...), #a + 1, a)
         return golden.run(a)
      end
      lu.assertNil(assert(json.decode((ask "--json"))).supposed)
      local d = json.decode((ask("--json", "--fail", "r1.1.0/X+", "--fail", "r1.1.0/Z+", "--fail",
         "r1.0.0/X+=0.5"))).supposed
      lu.assertEquals(d.components, { { component = "r1.0.0/X+", left = 0.5 },
         { component = "r1.1.0/X+", left = 0 }, { component = "r1.1.0/Z+", left = 0 } })
      lu.assertEquals(d.pairs_without_route, 4)
      lu.assertEquals(d.router_pairs, 1)
      lu.assertEquals(d.router_pairs_without_route, { { from = "r1.1.0", to = "r1.1.1",
         why = "r1.1.0/Z+ failed, and Z has no other way" } })
      lu.assertEquals(d.links_that_carry_more, 15)
      lu.assertEquals(#d.carry_more, 15)
      lu.assertEquals(d.carry_more[1].component, "r0.1.0/X-")
      lu.assertEquals(d.carry_more[1].routes_now, 4 * d.carry_more[1].routes_before)
   end
end

function tests.test_many_pairs_without_a_route_are_counted_and_some_named()
   setup()
   local machine = golden.file("ring.lua", MACHINES.ring:gsub("6", "60"):gsub("0%-5", "0-59"))
   local arguments = { "topology", "show", "-m", machine, "--fail", "r3/X+", "--fail", "r9/X-" }
   local text = golden.run(arguments)
   golden.narrow("show", text)
   arguments[#arguments + 1] = "--json"
   local d = json.decode((golden.run(arguments))).supposed
   lu.assertEquals(d.pairs_without_route, d.router_pairs)
   lu.assertTrue(d.router_pairs > 100 and d.router_pairs < 1000)
   lu.assertEquals(#d.router_pairs_without_route, 100)
   lu.assertStrContains(text, ("no route    %d pairs of nodes, on %d pairs of routers:"):format(
      d.router_pairs, d.router_pairs))
   lu.assertStrContains(text, ("… and %d more (--json names 100 of them)"):format(
      d.router_pairs - 5))
end

return tests
