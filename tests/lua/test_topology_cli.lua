-- SPDX-License-Identifier: GPL-2.0-or-later
-- `taut topology …` on small machines: what it prints, in 80 columns, and as JSON.
local golden = require "golden"
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
   lu.assertEquals(ask("behind", "n05/tx").behind, { "n05" })
   lu.assertEquals(#ask("exposed", "r1.0.0/X+").exposed, 2)
   lu.assertEquals(ask("classes").unused, { "r0.0.0/X-", "r0.0.1/Z+" })
   lu.assertEquals(ask("load", "ring", "--bytes", "10").classes[1].most_bytes, 10)
   lu.assertEquals(ask("check", "--slurm-conf", "-").findings, {})
   lu.assertEquals(ask("export", "slurm", "--as", "block").form, "block")
   local picture = golden.file("p.svg", "")
   lu.assertEquals(ask("draw", "-o", picture).bytes > 1000, true)
end

-- A node with one rail of two: no component of the rail that is not there is shown or counted.
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

return tests
