-- SPDX-License-Identifier: GPL-2.0-or-later
-- What the importers write is what a taut.lua can load, and says the same.
local command = require "taut.cli.topology.import"
local grid = require "taut.import.grid"
local hostlist = require "taut.hostlist"
local import = require "taut.import"
local importing = require "importing"
local lu = require "luaunit"
local sandbox = require "taut.sandbox"
local source = require "taut.import.source"
local topology = require "taut.topology"
local wiring = require "taut.import.wiring"
local write = require "taut.import.write"

local tests = {}
local data = importing.data

function tests.tearDown()
   importing.clean()
end

-- Loads a text as tautd loads its configuration, and gives what it says of the topology.
local function load_text(text)
   local dir = os.tmpname()
   os.remove(dir)
   assert(os.execute(("mkdir -m 755 '%s'"):format(dir)))
   local path = dir .. "/taut.lua"
   local f = assert(io.open(path, "w"))
   f:write(text)
   f:close()
   local given = {}
   local env = setmetatable({}, { __newindex = given, __index = function(_, kind)
      return function(t)
         t.kind = kind
         return t
      end
   end })
   local ok, err = sandbox.load(path, env)
   os.execute(("rm -r '%s'"):format(dir))
   lu.assertTrue(ok, err)
   return given.topology
end

-- Without what a file need not say again.
local function bare(w)
   return { source = w.source, format = w.format, routers = w.routers, nodes = w.nodes,
      cables = w.cables, tables = w.tables, lids = w.lids }
end

local function text_of(w, opts)
   return write.text(w, import.recognise(w), opts)
end

function tests.test_round_trips()
   local files = {
      { "ibnetdiscover", "infiniband/psmn-x5/X5.topofile", "fattree" },
      { "ibnetdiscover", "infiniband/jabl-ibtopotool/1.topo", "graph" },
      { "ibnetdiscover", "infiniband/jabl-ibtopotool/3.topo", "graph" },
      { "ibnetdiscover", "routing/df-a4h2p2-minhop/ibnetdiscover.txt.gz", "graph" },
      { "ibnetdiscover", "routing/hx44-dor/ibnetdiscover.txt.gz", "graph",
         { { format = "opensm-lfts", path = data "routing/hx44-dor/opensm-lfts.dump.gz" } } },
      { "rtr", "cray/links-edison.txt.gz", "graph",
         { { format = "xtdb2proc", path = data "cray/edison-pytokio/sample.xtdb2proc.gz" } } },
      { "slurm-conf", "slurm/schedmd-testsuite/python/check/topology/topology.conf", "fattree" },
   }
   for _, f in ipairs(files) do
      local w = assert(import.read(f[1], data(f[2]), { with = f[4] }))
      local text = text_of(w)
      local conf = load_text(text)
      lu.assertEquals(conf.kind, f[3], f[2])
      lu.assertEquals(bare(conf.wiring), bare(w), f[2])
      -- and once more: the text of what was loaded is the same text
      conf.wiring.notes = w.notes
      lu.assertEquals(text_of(conf.wiring), text)
   end
end

-- Where a model says all there is, the file is a few lines of it, and builds.
function tests.test_a_torus_becomes_a_model()
   local w = assert(import.read("ibnetdiscover", data "routing/t444-dor/ibnetdiscover.txt.gz"))
   local text = text_of(w)
   lu.assertTrue(#text < 2000)
   lu.assertStrContains(text, "torus 4x4x4, 1 node on a router")
   local conf = load_text(text)
   lu.assertEquals({ conf.kind, conf.dims, conf.nodes_per_router }, { "torus", { 4, 4, 4 }, 1 })
   local topo = assert(topology.build(conf))
   -- each node is on the router that its name says
   for i, name in ipairs(topo.nodes) do
      local at = table.concat(topo:coordinates(topo:router(i)), "-")
      lu.assertEquals(name, "n-" .. at .. "-0")
   end
   lu.assertEquals(topo.capacity[topo.component_id["r0.0.0/X+"]], 4000000000)
   -- and every cable of the wiring joins routers that are one hop apart in the model
   local node_at = {}
   for _, n in ipairs(w.nodes) do
      node_at[n.rails[1].router] = topo.node_id[n.name]
   end
   for _, c in ipairs(w.cables) do
      lu.assertEquals(topo:hops(node_at[c.a], node_at[c.b]), 1)
   end
   lu.assertEquals(load_text(text_of(w, { as = "graph" })).kind, "graph")
end

function tests.test_a_torus_that_does_not_fit_stays_a_graph()
   local w = assert(import.read("ibnetdiscover", data "routing/t444-dor/ibnetdiscover.txt.gz"))
   table.remove(w.cables)
   local text = text_of(w)
   lu.assertEquals(load_text(text).kind, "graph")
   lu.assertStrContains(text, "-- What does not fit: no cable between")
end

function tests.test_names_keep_their_order()
   for expected, names in pairs {
      ["n[0-3]"] = { "n0", "n1", "n2", "n3" },
      ["n[08-10],n2,n1"] = { "n08", "n09", "n10", "n2", "n1" },
      ["a,b1,n[9-10]"] = { "a", "b1", "n9", "n10" },
      ["tux00Z,tux010"] = { "tux00Z", "tux010" },
   } do
      lu.assertEquals(write.in_order(names), expected)
      lu.assertEquals(hostlist.expand(expected), names)
   end
   -- the longest list that a machine may have
   local long = {}
   for i = 1, 20000 do
      long[i] = "n" .. (i * 7919 % 20000)
   end
   lu.assertEquals(hostlist.expand(write.in_order(long)), long)
end

function tests.test_a_bandwidth_that_is_not_known()
   local w = wiring.new(source.of("", "made"), "made")
   grid.torus(w, 1, { 4, 3 }, "r", 100)
   for i = 1, 12 do
      w:node(1, { name = "n" .. i, rails = { { router = i, port = "n" } } })
   end
   w = w:finish()
   local conf = load_text(text_of(w))
   lu.assertNil(conf.capacity)
   local topo, err = topology.build(conf)
   lu.assertNil(topo)
   lu.assertStrContains(err, "topology.capacity")
   assert(topology.build(load_text(text_of(w, { capacity = 1e9 }))))
end

function tests.test_only_what_is_not_known_is_asked_for()
   local w = assert(import.read("rtr", importing.file(importing.text_of((os.getenv "TAUT_SRCDIR" or
      ".") .. "/tests/fuzz/corpus/import/rtr/small"))))
   w.nodes[1] = { name = "n1", rails = { { router = 1, port = "n0" } } }
   lu.assertStrContains(text_of(w), "rtr does not say what nodes carry: { tx = ..., rx = ... }")
   lu.assertEquals(load_text(text_of(w, { capacity = 8e9 })).capacity, { tx = 8e9, rx = 8e9 })
   for _, c in ipairs(w.cables) do
      c.Bps = nil
   end
   lu.assertEquals(load_text(text_of(w, { capacity = 8e9 })).capacity, 8e9)
end

-- What is loaded back is the same topology as the wiring itself makes, and goes by its tables.
function tests.test_it_builds_what_was_imported()
   local _, why = topology.build { kind = "graph" }
   lu.skipIf(why and why:find "is not known", "no topology of the kind graph")
   local dir = "routing/t444-dor/"
   local w = assert(import.read("ibnetdiscover", data(dir .. "ibnetdiscover.txt.gz"),
      { with = { { format = "opensm-lfts", path = data(dir .. "opensm-lfts.dump.gz") } } }))
   local topo = assert(topology.build(load_text(text_of(w))))
   local direct = assert(topology.build { kind = "graph", wiring = w })
   lu.assertEquals(topo.signature, direct.signature)
   lu.assertEquals(topo.components, direct.components)
   lu.assertEquals(topo.capacity, direct.capacity)
   local to = {}
   for i in ipairs(w.routers) do
      to[i] = {}
   end
   for _, c in ipairs(w.cables) do
      to[c.a][c.a_port], to[c.b][c.b_port] = c.b, c.a
   end
   for a = 1, #w.nodes, 7 do
      for b = 1, #w.nodes do
         local goal, at, names = w.nodes[b].rails[1], w.nodes[a].rails[1].router, {}
         while at ~= goal.router do
            local port = tostring(w.tables[at][goal.lid])
            names[#names + 1] = w.routers[at].name .. "/" .. port
            at = to[at][port]
         end
         local route = a ~= b and topo:route(topo.node_id[w.nodes[a].name],
            topo.node_id[w.nodes[b].name]) or { 0, 0 }
         lu.assertEquals(#route, #names + 2)
         for i, name in ipairs(names) do
            lu.assertEquals(topo.components[route[i + 1]], name)
         end
      end
   end
   local psmn = assert(import.read("ibnetdiscover", data "infiniband/psmn-x5/X5.topofile"))
   lu.assertEquals(#assert(topology.build(load_text(text_of(psmn)))).nodes, 89)
end

-- Whatever a description has in it, it stays a text of the file.
function tests.test_names_are_no_program()
   local w = { source = 'x"\n]] os.exit(1) --', format = "made",
      notes = { { line = 1, text = "a\nos.exit(1)" } },
      nodes = { { name = "n1", rails = { { router = 1, port = "1" } } } },
      routers = { { name = "a", place = '"} os.exit(1) --\n\r\0\255' } }, cables = {} }
   local conf = load_text(text_of(w, { as = "graph" }))
   lu.assertEquals(conf.wiring.routers[1].place, w.routers[1].place)
   lu.assertEquals(conf.wiring.source, w.source)
end

-- The command, as `taut topology import` calls it.
local function run(...)
   local parser = require "argparse" "import"
   command.setup(parser)
   local ok, args = parser:pparse { ... }
   lu.assertTrue(ok, args)
   local out, err = os.tmpname(), os.tmpname()
   local stderr = io.stderr
   rawset(io, "stderr", assert(io.open(err, "w")))
   args.output = args.output or out
   local status = command.run(args)
   io.stderr:close()
   rawset(io, "stderr", stderr)
   local text, said = importing.text_of(out), importing.text_of(err)
   os.remove(out)
   os.remove(err)
   return status, text, (said:gsub("\n +", " "))
end

function tests.test_command()
   local file = data "infiniband/psmn-x5/X5.topofile"
   local status, text, said = run("ibnetdiscover", file, "--with", "nodemap:" ..
      data "infiniband/psmn-x5/X5.map")
   lu.assertEquals(status, 0)
   lu.assertStrContains(said, "irregular fat tree of 2 levels")
   lu.assertStrContains(said, "does not fit: ")
   lu.assertStrContains(text, "topology = fattree {")
   lu.assertStrContains(text, '"x5570comp1"')
   status, text = run("slurm-conf", importing.file "SwitchName=a Nodes=n[1-2]\n", "--nodes",
      "n[1-2]", "--capacity", "12.5GB")
   lu.assertEquals(status, 0)
   lu.assertStrContains(text, "capacity = { tx = 12500000000, rx = 12500000000 }")
end

function tests.test_command_that_fails()
   local status, text, said, _ = run("ibnetdiscover", "/no/such/file")
   lu.assertEquals({ status, text }, { 1, "" })
   lu.assertStrContains(said, "taut: /no/such/file: No such file")
   status, _, said = run("hexagons", "/dev/null")
   lu.assertEquals(status, 1)
   lu.assertStrContains(said, "expected one of slurm-conf, slurm-yaml")
   status, text, said = run("xtprocadmin", data "cray/daint/xtprocadmin.daint.gz")
   lu.assertEquals({ status, text }, { 1, "" })
   lu.assertStrContains(said, "no cable between 1919 routers")
   status, _, said = run("slurm-conf", importing.file "SwitchName=a Nodes=n1\n", "--nodes", "n[")
   lu.assertEquals(status, 1)
   lu.assertStrContains(said, "--nodes: host list")
   status, _, said = run("slurm-conf", importing.file "SwitchName=a Nodes=n1\n", "-o", "/no/x")
   lu.assertEquals(status, 1)
   lu.assertStrContains(said, "cannot write /no/x")
   for _, option in ipairs { { "--with", "x" }, { "--capacity", "fast" }, { "--as", "x" } } do
      local parser = require "argparse" "import"
      command.setup(parser)
      lu.assertFalse((parser:pparse { "rtr", "x", table.unpack(option) }))
   end
end

return tests
