-- SPDX-License-Identifier: GPL-2.0-or-later
--- Traffic over several rails, of which not all nodes have all and not all have a route: against
-- the routes, pair by pair.
local lu = require "luaunit"
local topology = require "taut.topology"

local tests = {}

local function members(stage)
   return type(stage) == "table" and stage or { stage, w = { 1 } }
end

-- A rail's routers in a row, with a shortcut now and then; each node has some of the rails.
local function random_wiring(rails, same)
   local w, ports = { source = "x", format = "x", routers = {}, nodes = {}, cables = {} }, {}
   local function port(r)
      ports[r] = (ports[r] or 0) + 1
      return tostring(ports[r])
   end
   local function cable(a, b)
      w.cables[#w.cables + 1] = { a = a, b = b, a_port = port(a), b_port = port(b), Bps = 1e9 }
   end
   local per = math.random(2, 4)
   for r = 1, rails * per do
      w.routers[r] = { name = "s" .. r }
      if r % per ~= 1 then
         cable(r - 1, r)
      end
   end
   for _ = 1, math.random(0, 3) do
      local k, a, b = math.random(0, rails - 1), math.random(per), math.random(per)
      if a ~= b then
         cable(k * per + a, k * per + b)
      end
   end
   for n = 1, math.random(2, 7) do
      local list = {}
      for k = 1, same and rails or math.random(1, rails) do
         local r = (k - 1) * per + math.random(per)
         list[k] = { router = r, port = port(r), Bps = 1e9 }
      end
      w.nodes[n] = { name = "n" .. n, rails = list }
   end
   return w
end

local function build(w, kind, routing)
   return assert(topology.build { kind = kind, wiring = w, routing = routing })
end

local function zeroes(topo)
   local out = {}
   for c = 1, #topo.components do
      out[c] = 0
   end
   return out
end

-- One pair, by its routes: over the rails that have one, or nowhere but into the rails there are.
local function add(topo, want, a, b, bytes)
   local routes, both = {}, {}
   for k = 1, topo.rails do
      if topo:router(a, k) and topo:router(b, k) then
         both[#both + 1] = k
         routes[#routes + 1] = topo:route(a, b, nil, k) or nil
      end
   end
   for _, route in ipairs(routes) do
      for _, stage in ipairs(route) do
         local m = members(stage)
         for i, c in ipairs(m) do
            want[c] = want[c] + bytes / #routes * m.w[i]
         end
      end
   end
   for _, k in ipairs(#routes == 0 and both or {}) do
      local first = #topo.nodes * (k - 1)
      local tx, rx = 2 * (first + a) - 1, 2 * (first + b)
      want[tx], want[rx] = want[tx] + bytes / #both, want[rx] + bytes / #both
   end
   return #routes == 0 and 1 or 0
end

local function assert_load(topo, got, lost, want, want_lost)
   lu.assertEquals(lost, want_lost)
   for c = 1, #topo.components do
      lu.assertAlmostEquals(got[c], want[c], 1e-6, topo.components[c])
   end
end

local function check(topo)
   local want, lost, n = zeroes(topo), 0, #topo.nodes
   for a = 1, n do
      for b = 1, n do
         lost = lost + (a ~= b and add(topo, want, a, b, 60) or 0)
      end
   end
   for _, walk in ipairs { false, true } do
      local got, without = topo:load("all-to-all", { bytes = 60, walk = walk })
      assert_load(topo, got, without, want, lost)
   end
   want, lost = zeroes(topo), 0
   for a = 1, n do
      lost = lost + add(topo, want, a, a % n + 1, 60)
   end
   local got, without = topo:load("ring", { bytes = 60 })
   assert_load(topo, got, without, want, lost)
end

local function fail_some(topo)
   local left = {}
   for c = topo.first_link, #topo.components do
      left[c] = math.random() < 0.2 and 0 or nil
   end
   topo:set_health(left)
end

function tests.test_a_pair_shares_the_rails_that_both_have_and_that_lead_there()
   math.randomseed(4)
   for i = 1, 60 do
      local topo = build(random_wiring(math.random(1, 3), i % 3 == 0), i % 2 == 0 and "graph"
         or "fattree", i % 4 == 1 and "ecmp" or nil)
      check(topo)
      fail_some(topo)
      check(topo)
   end
end

-- Two with two rails, and a login node with one, as on a small cluster.
local function cluster()
   local function rail(r, port)
      return { router = r, port = port, Bps = 1e10 }
   end
   return build({ source = "x", format = "x", routers = { { name = "a" }, { name = "b" } },
      nodes = { { name = "c1", rails = { rail(1, "1"), rail(2, "1") } },
         { name = "c2", rails = { rail(1, "2"), rail(2, "2") } },
         { name = "login", rails = { rail(1, "3") } } },
      cables = { { a = 1, b = 2, a_port = "9", b_port = "9", Bps = 1e10 } } }, "graph")
end

function tests.test_a_node_with_one_rail_gets_all_its_bytes_by_it()
   local topo = cluster()
   local loads, lost = topo:load("all-to-all", { bytes = 100 })
   local function of(name)
      return loads[topo.component_id[name]]
   end
   lu.assertEquals(lost, 0)
   lu.assertEquals({ of "login:1/tx", of "login:1/rx", of "login:2/tx", of "login:2/rx" },
      { 200, 200, 0, 0 })
   lu.assertEquals({ of "c1:1/tx", of "c1:2/tx" }, { 150, 50 })
end

function tests.test_what_is_said_of_a_rail_that_is_not_there()
   local topo = cluster()
   local missing = topo.component_id["login:2/tx"]
   lu.assertFalse(topo:is_there(missing))
   lu.assertTrue(topo:is_there(topo.component_id["login:1/tx"]))
   lu.assertEquals({ topo:route(1, 3, nil, 2) }, { nil, "login has no rail 2" })
   lu.assertEquals(topo:exposed(missing), {})
   lu.assertEquals(topo:exposed(topo.component_id["login:1/tx"]), { 3 })
   local _, unused = topo:classes()
   lu.assertNotTableContains(unused, missing)
end

-- Behind a component stands who would be drained for it: not the other node of two.
function tests.test_behind_a_port_is_its_own_node_only()
   local topo = assert(topology.build { kind = "torus", dims = { 2 }, nodes_per_router = 1,
      nodes = "n[0-1]", capacity = 1e9 })
   lu.assertEquals(topo:behind(topo.component_id["n0/rx"], 0), { 1 })
   lu.assertEquals(topo:behind(topo.component_id["n0/tx"], 0.5), { 1 })
end

-- In planes of their own: "why" is of the rail that was asked for.
function tests.test_why_a_rail_has_no_route()
   local topo = assert(topology.build { kind = "fattree", nodes_per_leaf = 2, rails = 2,
      levels = { { down = 2, up = 1 } }, nodes = "n[0-3]", capacity = 1e9 })
   topo:set_health { [topo.component_id["p2.leaf0/3"]] = 0 }
   lu.assertEquals({ topo:route(1, 3, nil, 2) }, { nil, "no route: p2.leaf0/3 failed" })
   local loads, lost = topo:load("all-to-all", { bytes = 4 })
   lu.assertEquals(lost, 0)
   lu.assertEquals(loads[topo.component_id["n0:1/tx"]], 2 + 2 * 4)
   lu.assertEquals(loads[topo.component_id["n0:2/tx"]], 2)
end

return tests
