-- SPDX-License-Identifier: GPL-2.0-or-later
-- Every model, healthy and with failures: loads, classes, exposed nodes and names against its own
-- routes.  What the routes themselves have to be is in the test of each model.
local lu = require "luaunit"
local stages = require "taut.topology.stages"
local tables = require "taut.base.tables"
local topocheck = require "lib.topocheck"
local topology = require "taut.topology"
local wirings = require "lib.wirings"

local machines = {
   { kind = "fattree", nodes_per_leaf = 2, levels = { { down = 3, up = 2, parallel = 2 } },
      nodes = "n[0-5]" },
   { kind = "fattree", nodes_per_leaf = 2, levels = { { down = 2, up = 2 }, { down = 3, up = 1 } },
      nodes = "n[0-11]", service = "n[3,11]" },
   { kind = "fattree", nodes_per_leaf = 2, levels = { { down = 3, up = 2 } }, nodes = "n[0-5]",
      routing = "ecmp" },
   -- two leaves: the sets on the way up and down are one class
   { kind = "fattree", nodes_per_leaf = 2, levels = { { down = 2, up = 2 } }, nodes = "n[0-3]",
      routing = "ecmp" },
   { kind = "dragonfly", groups = 3, routers = 3, nodes_per_router = 2, nodes = "n[0-17]",
      routing = "minimal", service = "n4" },
   { kind = "dragonfly", groups = 3, rows = 2, columns = 2, nodes_per_router = 1, nodes = "n[0-11]",
      global_links = 3, routing = "minimal" },
   { kind = "dragonfly", groups = 4, routers = 2, nodes_per_router = 1, nodes = "n[0-7]",
      global_links = 2, misrouted = 0 },
   { kind = "dragonfly", groups = 4, routers = 2, nodes_per_router = 1, nodes = "n[0-7]",
      routing = "valiant" },
   { kind = "hyperx", dims = { 3, 4 }, nodes_per_router = 1, nodes = "n[0-11]" },
   { kind = "hyperx", dims = { 3, 2, 2 }, nodes_per_router = 1, nodes = "n[0-11]",
      routing = "doal" },
}

-- Four switches in a ring, two of them with two cables, and tables that go round one way.
local function ring(with_tables)
   local w = wirings.new(4, { { 1, 1, 2, 2 }, { 2, 1, 3, 2 }, { 3, 1, 4, 2 }, { 4, 1, 1, 2 },
      { 1, 3, 2, 3 } }, { lids = true })
   if with_tables then
      w.tables = {}
      for i = 1, 4 do
         w.tables[i] = {}
         for lid = 1, 4 do
            w.tables[i][lid] = lid == i and 9 or 1
            w.tables[i][10 + lid] = lid == i and 0 or 1
         end
      end
   end
   return { kind = "graph", wiring = w }
end
table.insert(machines, ring(false))
table.insert(machines, ring(true))

local function each(fn)
   for i, conf in ipairs(machines) do
      conf.capacity = 1e9
      fn(assert(topology.build(conf)), conf, i)
   end
end

local tests = {}

local function assert_crosses_what_routes_have(topo, what)
   for a = 1, #topo.nodes do
      for b = 1, #topo.nodes do
         local is = tables.set(a ~= b and stages.all(topo:route(a, b) or {}) or {})
         for c = 1, a ~= b and #topo.components or 0 do
            lu.assertEquals(topo:crosses(a, b, c), is[c] or false, what)
         end
      end
   end
end

function tests.test_a_route_crosses_what_it_is_made_of()
   local torus = { kind = "torus", dims = { 4, 3, 2 }, nodes_per_router = 1, nodes = "n[0-23]",
      capacity = 1e9 }
   local list = table.move(machines, 1, #machines, 2, { torus })
   for i, conf in ipairs(list) do
      conf.capacity = 1e9
      local topo = assert(topology.build(conf))
      assert_crosses_what_routes_have(topo, i)
      topocheck.fail(topo, 1)
      assert_crosses_what_routes_have(topo, i)
   end
end

function tests.test_names_and_numbers()
   each(topocheck.names)
end

function tests.test_healthy()
   each(function(topo)
      lu.assertEquals(topocheck.routes(topo, { complete = true }), 0)
      topocheck.load(topo)
      topocheck.exposed(topo)
      topocheck.classes(topo)
   end)
end

function tests.test_with_failures()
   math.randomseed(16)
   for _ = 1, 12 do
      each(function(topo, conf)
         local report = topocheck.fail(topo, math.random(3))
         local lost = topocheck.routes(topo, {})
         lu.assertEquals(report.pairs, lost)
         -- adaptive traffic spares two groups that lost links, which a walk does not know
         if conf.kind ~= "dragonfly" or conf.routing then
            topocheck.load(topo)
         end
         topocheck.exposed(topo)
         topocheck.classes(topo)
      end)
   end
end

-- A dragonfly with a group that has no nodes at all now and then.
local function random_dragonfly(routing)
   local groups, rows, columns = math.random(2, 5), math.random(2), math.random(3)
   local per = groups * rows * columns < 12 and math.random(2) or 1
   local count = groups * rows * columns * per
   local service = {}
   for i = 0, count - 2 do
      service[#service + 1] = math.random(4) == 1 and "n" .. i or nil
   end
   return assert(topology.build { kind = "dragonfly", groups = groups, rows = rows,
      columns = columns, nodes_per_router = per, nodes = ("n[0-%d]"):format(count - 1),
      service = service, global_links = { default = math.random(3), { 0, 1, math.random(0, 1) } },
      capacity = 1e9, routing = routing, misrouted = routing == "adaptive" and
      math.random(0, 1) / 10 or nil })
end

-- Classes and exposed nodes are counted from what many routes have in common: in groups that are
-- whole and in those that fall apart, with and without links to others, the same as route by route.
function tests.test_what_routes_of_dragonflies_have_in_common()
   math.randomseed(19)
   for i = 1, 150 do
      local topo = random_dragonfly(({ "minimal", "adaptive", "valiant" })[i % 3 + 1])
      if i % 2 == 0 and #topo.components >= topo.first_link then
         topocheck.fail(topo, math.random(6))
      end
      topocheck.exposed(topo)
      topocheck.classes(topo)
   end
end

function tests.test_healed_routes_are_the_old_ones()
   math.randomseed(17)
   each(function(topo)
      local before, signature = topo:load "all-to-all", topo.signature
      topocheck.fail(topo, 2)
      lu.assertNotEquals(topo.signature, signature)
      topo:set_health {}
      lu.assertEquals(topo:load "all-to-all", before)
      lu.assertEquals(topo.signature, signature)
   end)
end

function tests.test_every_machine_has_a_signature_of_its_own()
   local seen = {}
   each(function(topo)
      lu.assertNil(seen[topo.signature])
      seen[topo.signature] = true
   end)
   each(function(topo)
      lu.assertTrue(seen[topo.signature])
   end)
end

-- Each of these was taken, or broke with an error of Lua's own.
function tests.test_sizes_beyond_all_limits_are_refused()
   local level = { down = 65536, up = 1 }
   local cases = {
      { { kind = "fattree", nodes_per_leaf = 1, levels = { level, level, level, level } },
         "topology.levels: expected at most 1048576 routers" },
      { { kind = "torus", dims = { 2 }, nodes_per_router = 1 << 40 },
         "topology.nodes_per_router: expected a whole number 1 to 65536, got 1099511627776" },
      { { kind = "graph", wiring = { routers = { { name = "a/x" } }, nodes = {}, cables = {} } },
         "topology.wiring: routers[1]: expected a name without '/', got 'a/x'" },
   }
   for _, c in ipairs(cases) do
      c[1].nodes, c[1].capacity = c[1].nodes or "n[1-4]", 1e9
      local topo, err = topology.build(c[1])
      lu.assertNil(topo)
      lu.assertEquals(err, c[2])
   end
end

return tests
