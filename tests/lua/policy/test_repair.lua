-- SPDX-License-Identifier: GPL-2.0-or-later
-- repair.lua: parts, and whose traffic dies when they are taken out.
local lu = require "luaunit"
local repair = require "taut.policy.repair"
local sim = require "lib.sim"
local topology = require "taut.topology"

local tests = {}

local function names(list, of)
   local out = {}
   for i, n in ipairs(list) do
      out[i] = of[n]
   end
   return out
end

local function parts(topo, name)
   local p = repair.parts(topo, assert(topo.component_id[name], name))
   local modules = {}
   for i, m in ipairs(p.modules) do
      modules[i] = m.name .. ": " .. table.concat(names(m.nodes, topo.nodes), " ")
   end
   return names(p.components, topo.components), names(p.behind, topo.nodes), modules
end

function tests.test_a_cable_of_a_torus_cuts_nobody_off_a_router_its_nodes()
   local topo = sim.torus({ 4, 2, 2 }, 2)
   local components, behind, modules = parts(topo, "r1.0.0/X+")
   lu.assertEquals(components, { "r1.0.0/X+", "r2.0.0/X-" })
   lu.assertEquals(behind, {})
   lu.assertEquals(modules, { "r1.0.0: n8 n9", "r2.0.0: n16 n17" })
end

function tests.test_a_node_is_behind_its_own_cable()
   local topo = sim.torus({ 4, 2, 2 }, 2)
   local components, behind, modules = parts(topo, "n5/tx")
   lu.assertEquals(components, { "n5/tx", "n5/rx" })
   lu.assertEquals(behind, { "n5" })
   lu.assertEquals(modules, { "r0.1.0: n4 n5" })
end

function tests.test_a_gemini_module_has_two_routers_and_four_nodes()
   local topo = assert(topology.build { kind = "torus", layout = "gemini", dims = { 2, 4, 24 },
      nodes_per_router = 2, nodes = "nid[00000-00383]" })
   local c = topo.component_id["r0.0.0/X+"]
   local p = repair.parts(topo, c)
   lu.assertEquals(#p.modules, 2)
   for _, m in ipairs(p.modules) do
      lu.assertStrMatches(m.name, "c%d+%-%d+c%ds%d")
      lu.assertEquals({ #m.routers, #m.nodes }, { 2, 4 })
   end
   -- a mezzanine is inside one module
   for i, name in ipairs(topo.components) do
      if topo:is_link(i) and topo:class(i) == "mezzanine" then
         lu.assertEquals(#repair.parts(topo, i).modules, 1, name)
         break
      end
   end
   local list = repair.module_components(topo, p.modules[1])
   local seen = {}
   for _, x in ipairs(list) do
      lu.assertNil(seen[x])
      seen[x] = true
   end
   lu.assertTrue(seen[c] and seen[topo:opposite(c)])
   -- two routers: 4 tx, 4 rx, and their links both ways
   lu.assertTrue(#list > 8 + 12, #list)
end

function tests.test_a_leaf_is_lost_with_its_switch_a_spine_is_not()
   local topo = assert(topology.build { kind = "fattree", nodes_per_leaf = 4,
      levels = { { down = 4, up = 2 } }, nodes = "n[0-15]", capacity = 1e9 })
   local uplink
   for c = topo.first_link, #topo.components do
      uplink = uplink or topo:kind(c) == "uplink" and c
   end
   local p = repair.parts(topo, uplink)
   lu.assertEquals(#p.modules, 2)
   lu.assertEquals(#p.modules[1].nodes, 4)
   lu.assertEquals(#p.modules[2].nodes, 0)
end

return tests
