-- SPDX-License-Identifier: GPL-2.0-or-later
-- What the importers write is what a taut.lua can load, and says the same.
local command = require "taut.cli.topology.import"
local draw = require "taut.topology.draw"
local grid = require "taut.topology.import.grid"
local hostlist = require "taut.hostlist"
local import = require "taut.topology.import"
local importing = require "lib.importing"
local lu = require "luaunit"
local model = require "taut.topology.import.model"
local recognise = require "taut.topology.import.recognise"
local sandbox = require "taut.sandbox"
local source = require "taut.topology.import.source"
local topology = require "taut.topology"
local wiring = require "taut.topology.import.wiring"
local write = require "taut.topology.import.write"

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
   return write.text(w, recognise.kind(w), opts)
end

-- The same, whose routers do not have a field that a model was told.
local function without(w, field)
   local routers = {}
   for i, r in ipairs(w.routers) do
      routers[i] = {}
      for k, v in pairs(r) do
         routers[i][k] = k ~= field and v or nil
      end
   end
   return setmetatable({ routers = routers }, { __index = w })
end

function tests.test_round_trips()
   local files = {
      { "ibnetdiscover", "infiniband/psmn-x5/X5.topofile", "fattree" },
      { "ibnetdiscover", "infiniband/jabl-ibtopotool/1.topo", "graph" },
      { "ibnetdiscover", "infiniband/jabl-ibtopotool/3.topo", "graph" },
      { "ibnetdiscover", "routing/df-a4h2p2-minhop/ibnetdiscover.txt.gz", "dragonfly",
         told = "group" },
      { "ibnetdiscover", "routing/hx44-dor/ibnetdiscover.txt.gz", "hyperx", told = "coord" },
      { "ibnetdiscover", "routing/hx44-dor/ibnetdiscover.txt.gz", "graph",
         { { format = "opensm-lfts", path = data "routing/hx44-dor/opensm-lfts.dump.gz" } } },
      { "rtr", "cray/links-edison.txt.gz", "dragonfly",
         { { format = "xtdb2proc", path = data "cray/edison-pytokio/sample.xtdb2proc.gz" } } },
      { "slurm-conf", "slurm/schedmd-testsuite/python/check/topology/topology.conf", "fattree" },
   }
   for _, f in ipairs(files) do
      local w = assert(import.read(f[1], data(f[2]), { with = f[4] }))
      local text = text_of(w)
      local conf = load_text(text)
      lu.assertEquals(conf.kind, f[3], f[2])
      lu.assertEquals(bare(f.told and without(conf.wiring, f.told) or conf.wiring), bare(w), f[2])
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

-- One dead cable is not a reason to forget what the machine is.
function tests.test_a_torus_with_cables_out_is_that_torus()
   local function cut(...)
      local w = assert(import.read("ibnetdiscover", data "routing/t444-dor/ibnetdiscover.txt.gz"))
      for _, i in ipairs { ... } do
         table.remove(w.cables, i)
      end
      local text, kind, why = text_of(w)
      return load_text(text), text, kind, why
   end
   local conf, text, kind, why = cut(100, 17)
   lu.assertEquals({ kind, why, #conf.down }, { "torus", nil, 2 })
   lu.assertStrContains(text, "-- What does not fit: no cable between")
   local topo, n = assert(topology.build(conf)), 0
   for c, left in pairs(topo.degraded) do
      lu.assertEquals({ left, topo:is_link(c) }, { 0, true })
      n = n + 1
   end
   lu.assertEquals(n, 4)
   for a = 1, 64 do
      for b = 1, 64 do
         for _, c in ipairs(a ~= b and assert(topo:route(a, b)) or {}) do
            lu.assertNotEquals(topo.degraded[c], 0)
         end
      end
   end
   conf, text, kind, why = cut(150, 120, 100, 70, 40, 17)
   lu.assertEquals({ conf.kind, kind, why }, { "graph", "graph", "6 of 192 cables are missing" })
   lu.assertStrContains(text, "-- Written as a graph: 6 of 192 cables are missing")
   local _, err = topology.build { kind = "torus", dims = { 4 }, nodes_per_router = 1,
      nodes = "n[0-3]", down = { "r9/X+" } }
   lu.assertStrMatches(err, "topology.down: expected a link such as r0/X., got r9/X%+")
end

---------------------------------------------------------------- dragonfly, HyperX

local edison_wiring -- read once: the dump has 69,120 lines

local function edison()
   edison_wiring = edison_wiring or assert(import.read("rtr", data "cray/links-edison.txt.gz",
      { with = { { format = "xtdb2proc",
         path = data "cray/edison-pytokio/sample.xtdb2proc.gz" } } }))
   return edison_wiring
end

-- Each two routers that have cables, as names, with what all these carry.
local function joined(w)
   local rate = {}
   for _, c in ipairs(w.cables) do
      for _, e in ipairs { { c.a, c.b }, { c.b, c.a } } do
         local key = w.routers[e[1]].name .. " " .. w.routers[e[2]].name
         rate[key] = (rate[key] or 0) + c.Bps
      end
   end
   return rate
end

local function links(topo)
   local rate = {}
   for c = topo.first_link, #topo.components do
      local key = topo.router_name[topo:from(c)] .. " " .. topo.router_name[topo:to(c)]
      lu.assertNil(rate[key], key)
      rate[key] = topo.capacity[c]
   end
   return rate
end

-- A dump of all routers and a sample of the nodes: names and cables are the real ones.
function tests.test_a_dragonfly_of_which_few_nodes_are_known()
   local w = edison()
   local text = text_of(w, { capacity = 10e9 })
   lu.assertStrContains(text, "-- What does not fit: 126 of 1440 routers have other than 0 nodes")
   local conf = load_text(text)
   local topo = assert(topology.build(conf))
   lu.assertEquals({ topo.kind_name, topo.groups, topo.routers, #topo.nodes },
      { "dragonfly", 15, 1440, 499 })
   lu.assertEquals(links(topo), joined(w))
   local classes = {}
   for c = topo.first_link, #topo.components do
      classes[topo:class(c)] = true
   end
   lu.assertEquals(classes, { green = true, black = true, blue = true })
   for i, r in ipairs(w.routers) do
      lu.assertEquals(topo.router_name[i - 1], r.name)
      lu.assertEquals(topo:coordinates(i - 1), { r.group, r.row, r.col })
   end
   local svg = assert(draw.picture({ topo = topo, state = {}, left = {}, path = "edison.lua" }))
   lu.assertStrContains(svg, ">group 13<")
   lu.assertStrContains(svg, "edison: dragonfly")
end

-- Minimal and adaptive routes between the nodes of the file are those of the wiring itself.
function tests.test_a_dragonfly_is_routed_as_one()
   local w = edison()
   local conf = load_text(text_of(w, { capacity = 10e9 }))
   for _, routing in ipairs { "minimal", "adaptive" } do
      conf.routing = routing
      local topo = assert(topology.build(conf))
      local direct = assert(topology.build { kind = "dragonfly", wiring = w, routing = routing,
         capacity = { tx = 10e9, rx = 10e9 } })
      lu.assertEquals(topo.signature, direct.signature)
      for n = 2, #topo.nodes, 31 do
         local minimal = topo:group(topo:router(n)) == topo:group(topo:router(1)) and 2 or 5
         lu.assertTrue(topo:hops(1, n) <= minimal)
      end
   end
end

-- The dump alone has no nodes: it says what the machine is, and cannot be used yet.
function tests.test_a_dragonfly_without_nodes()
   local w = setmetatable({ nodes = {} }, { __index = edison() })
   local conf = load_text(text_of(w))
   lu.assertEquals(conf.kind, "dragonfly")
   local topo, err = topology.build(conf)
   lu.assertNil(topo)
   lu.assertStrContains(err, "has no node")
end

local function ib(dir)
   return assert(import.read("ibnetdiscover", data("routing/" .. dir .. "/ibnetdiscover.txt.gz")))
end

function tests.test_groups_and_coordinates_are_told()
   local w = ib "df-a4h2p2-minhop"
   local topo = assert(topology.build(load_text(text_of(w))))
   lu.assertEquals({ topo.kind_name, topo.groups }, { "dragonfly", 9 })
   for r = 0, topo.routers - 1 do
      lu.assertEquals(topo:router_at(topo:coordinates(r)), r)
   end
   lu.assertEquals(links(topo), joined(w))
   -- what a file calls groups and are none is not kept
   for i, r in ipairs(w.routers) do
      r.group, r.row, r.col = i % 2, 0, 0
   end
   local again = assert(topology.build(load_text(text_of(w))))
   lu.assertEquals(again.signature, topo.signature)

   w = ib "hx44-dor"
   topo = assert(topology.build(load_text(text_of(w))))
   lu.assertEquals({ topo.kind_name, topo.dims }, { "hyperx", { 4, 4 } })
   lu.assertEquals(links(topo), joined(w))
   lu.assertEquals(topo:hops(1, #topo.nodes), 2)
end

-- Pairs of routers without a route.
local function lost(topo)
   local _, pairs_lost = topo.graph:all_to_all(nil, { routers = true, walk = true })
   return pairs_lost
end

-- Whichever cables are missing of a fabric whose groups or places are known: where it is written
-- as a model, the model finds all ways.
function tests.test_a_model_is_written_only_where_it_finds_every_way()
   math.randomseed(18)
   local kinds = {}
   for i = 1, 60 do
      local w = ib(i % 2 == 0 and "df-a4h2p2-minhop" or "hx44-dor")
      local found = recognise.kind(w)
      for _ = 1, math.random(i % 2 == 0 and 30 or 25) do
         table.remove(w.cables, math.random(#w.cables))
      end
      local conf = load_text(write.text(w, found))
      local topo = assert(topology.build(conf))
      local key = conf.kind .. (i % 2 == 0 and " of groups" or " of places")
      kinds[key] = (kinds[key] or 0) + 1
      lu.assertTrue(conf.kind == "graph" or lost(topo) == 0, key)
   end
   for _, key in ipairs { "dragonfly of groups", "graph of groups", "hyperx of places",
      "graph of places" } do
      lu.assertTrue((kinds[key] or 0) >= 3, key)
   end
end

function tests.test_why_a_dragonfly_is_written_as_a_graph()
   local w = ib "df-a4h2p2-minhop"
   local found = recognise.kind(w)
   local first, kept, inside = found.members[1], {}, {}
   for _, r in ipairs(first) do
      inside[r] = true
   end
   for _, c in ipairs(w.cables) do -- all but those of one router to the others of its group
      if not (inside[c.a] and inside[c.b] and (c.a == first[1] or c.b == first[1])) then
         kept[#kept + 1] = c
      end
   end
   w.cables = kept
   local kind, _, why = model.choose(w, found)
   lu.assertEquals(kind, "graph")
   lu.assertStrContains(why, "falls apart")
   lu.assertStrContains(write.text(w, found), "-- Written as a graph: the group of ")
end

function tests.test_why_a_hyperx_is_written_as_a_graph()
   local w = ib "hx44-dor"
   local found = recognise.kind(w)
   local function choose(change)
      local cables = { table.unpack(w.cables) }
      change(cables)
      return { model.choose(setmetatable({ cables = cables }, { __index = w }), found) }
   end
   local function diagonal(list)
      for a, x in ipairs(found.coord) do
         for b, y in ipairs(found.coord) do
            if x[1] ~= y[1] and x[2] ~= y[2] then
               list[#list + 1] = { a = a, b = b, a_port = "90", b_port = "91", Bps = 1 }
               return
            end
         end
      end
   end
   lu.assertStrContains(choose(diagonal)[3], "are joined and not in one row")
   local one = found.coord[1]
   local alone = choose(function(list) -- of its row nothing is left to the first router
      for i = #list, 1, -1 do
         local a, b = found.coord[list[i].a], found.coord[list[i].b]
         if a[1] == b[1] and (list[i].a == 1 or list[i].b == 1) and a[1] == one[1] then
            table.remove(list, i)
         end
      end
   end)
   lu.assertEquals(alone[1], "graph")
   lu.assertStrContains(alone[3], "no two links of their row lead from")
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
   local topo = assert(topology.build(conf)) -- what it is not told it learns
   lu.assertTrue(topo.open[topo.tx[1]])
   lu.assertTrue(topo.open[topo.first_link])
   topo = assert(topology.build(load_text(text_of(w, { capacity = 1e9 }))))
   lu.assertNil(topo.open)
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
   lu.assertEquals(status, 2)
   lu.assertStrContains(said, "expected one of slurm-conf, slurm-yaml")
   status, text, said = run("xtprocadmin", data "cray/daint/xtprocadmin.daint.gz")
   lu.assertEquals({ status, text }, { 1, "" })
   lu.assertStrContains(said, "no cable between 1919 routers")
   status, _, said = run("slurm-conf", importing.file "SwitchName=a Nodes=n1\n", "--nodes", "n[")
   lu.assertEquals(status, 2)
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
