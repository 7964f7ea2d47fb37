-- SPDX-License-Identifier: GPL-2.0-or-later
-- The engine of studies against `taut topology load`, where routes are plain, and what it refuses.
local lu = require "luaunit"
local study = require "taut.study"
local topology = require "taut.topology"

local tests = {}

local RULES = { unit_s = 1 }

local function torus()
   return assert(topology.build { kind = "torus", dims = { 4, 3, 2 }, nodes_per_router = 2,
      nodes = "n[0-47]", capacity = { link = 8e9, tx = 6e9, rx = 6e9 } })
end

local function tree()
   return assert(topology.build { kind = "fattree", nodes_per_leaf = 3, levels = {
      { down = 4, up = 2 }, { down = 2, up = 2, parallel = 2 } }, nodes = "f[0-23]",
      capacity = 5e9 })
end

-- Place of each node.
local function places(topo, s)
   local list = {}
   if s and select(2, s:places()) == "nodes" then
      for n = 1, #topo.nodes do
         list[n] = n - 1
      end
      return list
   end
   for r = 0, #topo.router_name do
      for _, n in ipairs(topo:on_router(r)) do
         list[n] = r
      end
   end
   return list
end

local function same_loads(topo, s, want, bytes)
   local r = assert(s:solve(bytes, s:overlay(), RULES, true))
   local sum = 0
   for c = topo.first_link, #topo.components do
      lu.assertAlmostEquals(r.load[c] or 0, want[c], 1e-6 * (1 + want[c]), topo.components[c])
      sum = sum + want[c]
   end
   lu.assertAlmostEquals(r.carried * r.hops, sum, 1e-6 * sum)
   return r
end

function tests.test_all_to_all_is_that_of_topology_load()
   for _, topo in ipairs { torus(), tree() } do
      local s = assert(study.machine(topo.graph, { kind = "routes" }))
      local d = assert(study.demand(s:places()))
      assert(d:all { place = places(topo, s), bytes = 1000 })
      same_loads(topo, s, topo:load("all-to-all", { bytes = 1000 }), d)
   end
end

function tests.test_a_shift_is_that_of_topology_load_with_links_out()
   local topo = torus()
   local out = { [topo.component_id["r1.0.0/X+"]] = 0, [topo.component_id["r2.0.0/X-"]] = 0 }
   topo:set_health(out)
   local s = assert(study.machine(topo.graph, { kind = "routes" }))
   local d = assert(study.demand(s:places()))
   assert(d:stencil { grid = { 48 }, offsets = { { 5 } }, bytes = { 7 }, periodic = true,
      place = places(topo) })
   local r = same_loads(topo, s, topo:load("shift", { bytes = 7, by = 5 }), d)
   lu.assertEquals(r.lost_pairs, 0)
end

function tests.test_pairs_are_a_stencil()
   local topo = torus()
   local s = assert(study.machine(topo.graph, { kind = "routes" }))
   local src, dst = {}, {}
   for i = 1, 48 do
      src[i], dst[i] = i, i % 48 + 1
   end
   local a, b = study.demand(24), study.demand(24)
   assert(a:pairs { src = src, dst = dst, bytes = 3, times = 2, place = places(topo) })
   assert(b:stencil { grid = { 48 }, offsets = { { 1 } }, bytes = { 6 }, periodic = true,
      place = places(topo) })
   lu.assertEquals(s:solve(a, s:overlay(), RULES, true).load,
      s:solve(b, s:overlay(), RULES, true).load)
   lu.assertEquals(a:totals().messages, 96)
end

function tests.test_a_slow_link_takes_longer()
   local topo = torus()
   local s = assert(study.machine(topo.graph, { kind = "routes" }))
   local d = assert(study.demand(24):add(0, 6, 8e9))
   local link = topo.component_id["r0.1.0/X+"]
   local full = s:solve(d, s:overlay(), RULES)
   lu.assertAlmostEquals(full.mean_s, 1, 1e-12)
   local slow = s:solve(d, s:overlay():slow(nil, 0.25), RULES)
   lu.assertAlmostEquals(slow.mean_s, 4, 1e-12)
   lu.assertAlmostEquals(s:solve(d, s:overlay { [link] = 0.5 }, RULES).mean_s, 1, 1e-12)
end

function tests.test_cables_of_links()
   local topo = assert(topology.build { kind = "hyperx", dims = { 4, 3 }, links = { 1, 2 },
      nodes_per_router = 1, nodes = "h[0-11]", capacity = 1e9 })
   local place = {}
   for r = 1, 12 do
      place[r] = r - 1
   end
   local s = assert(study.machine(topo.graph, { kind = "lines", dims = { 4, 3 }, place = place,
      cables = topo.cables }))
   local _, taken = s:draw(1, 1)
   lu.assertEquals(taken, 3 * 6 + 4 * 3 * 2)
   local left = s:draw(0.5, 1, nil, 0.5):left()
   local some = next(left)
   lu.assertTrue(some ~= nil)
   for _, share in pairs(left) do
      lu.assertTrue(share == 0.5 or share == 0.75)
   end
   lu.assertEquals(s:draw(0.3, 7):left(), s:draw(0.3, 7):left())
   lu.assertNotEquals(s:draw(0.3, 7):left(), s:draw(0.3, 8):left())
end

function tests.test_what_is_wrong_is_said()
   local topo = torus()
   local s = assert(study.machine(topo.graph, { kind = "routes" }))
   local d = study.demand(24)
   lu.assertErrorMsgContains("no share from 0 to 1", s.draw, s, 1.5, 1)
   lu.assertErrorMsgContains("place 24 is not within 0 to 23", d.add, d, 24, 0, 1)
   lu.assertErrorMsgContains("unit_s is not above 0", s.solve, s, d, s:overlay(), { unit_s = 0 })
   lu.assertErrorMsgContains("invalid option 'rings'", study.machine, topo.graph,
      { kind = "rings" })
   local nothing, err = study.machine(topo.graph, { kind = "lines", dims = { 5, 5 },
      place = places(topo) })
   lu.assertNil(nothing)
   lu.assertStrContains(err, "25 places for 24 routers")
   nothing, err = s:solve(study.demand(7), s:overlay(), RULES)
   lu.assertNil(nothing)
   lu.assertStrContains(err, "cannot solve")
end

return tests
