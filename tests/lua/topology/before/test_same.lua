-- SPDX-License-Identifier: GPL-2.0-or-later
-- A machine that changes: which components are what they were.
local kept = require "taut.topology.before.kept"
local lu = require "luaunit"
local same = require "taut.topology.before.same"
local topology = require "taut.topology"
local wirings = require "lib.wirings"

local function torus(dims, o)
   local conf = { kind = "torus", dims = dims, nodes_per_router = 1, capacity = 1e9,
      nodes = ("n[0-%d]"):format(dims[1] * dims[2] - 1) }
   for k, v in pairs(o or {}) do
      conf[k] = v
   end
   return assert(topology.build(conf))
end

local function tree(leaves, o)
   local conf = { kind = "fattree", nodes_per_leaf = 2, levels = { { down = leaves, up = 2 } },
      nodes = ("n[0-%d]"):format(2 * leaves - 1), capacity = 1e9 }
   for k, v in pairs(o or {}) do
      conf[k] = v
   end
   return assert(topology.build(conf))
end

-- Three switches in a row and one beside, nodes on each.
local function wiring()
   return wirings.new(4, { { 1, 1, 2, 1 }, { 1, 2, 2, 2 }, { 2, 3, 3, 3 }, { 3, 4, 4, 4 } })
end

local graph = wirings.graph

-- As a restart does: the old machine out of its text.
local function compare(old, new, renamed)
   return same.compare(assert(kept.read(kept.text(old))), new, renamed or {})
end

-- Names of components that are not what they were.
local function gone(old, d)
   local list = {}
   for c, name in ipairs(old.components) do
      list[#list + 1] = not d.map[c] and name or nil
   end
   return table.concat(list, " ")
end

-- Both have the same ends, by the names of routers and nodes.
local function check_ends(old, new, d)
   for c, other in pairs(d.map) do
      if old:is_link(c) then
         lu.assertEquals(new.router_name[new:from(other)], old.router_name[old:from(c)])
         lu.assertEquals(new.router_name[new:to(other)], old.router_name[old:to(c)])
      else
         local n, rail = old:node_of(c)
         local m, rail_now = new:node_of(other)
         lu.assertEquals(new.nodes[m], d.node(old.nodes[n]))
         lu.assertEquals(rail_now, rail)
         lu.assertEquals(new.router_name[new:router(m, rail)],
            old.router_name[old:router(n, rail)])
      end
      lu.assertEquals(new:kind(other), old:kind(c))
      lu.assertTrue(d.was[other])
   end
end

local tests = {}

function tests.test_a_machine_out_of_its_text_is_the_same()
   for _, topo in ipairs { torus { 4, 3 }, torus({ 4, 3 }, { nodes = "a[001-012]" }), tree(4),
      tree(4, { rails = 2, nodes = "n[0-7]" }), graph(wiring()) } do
      local d = compare(topo, topo)
      lu.assertEquals({ d.kept, d.of }, { #topo.components, #topo.components })
      for c = 1, #topo.components do
         lu.assertEquals(d.map[c], c)
      end
      lu.assertEquals(same.words(d), "other numbers or routes")
      lu.assertEquals(kept.text(topo), kept.text(topo))
   end
end

function tests.test_a_torus_grows()
   local old, new = torus { 3, 4 }, torus { 4, 4 }
   local d = compare(old, new)
   check_ends(old, new, d)
   -- rings of the first dimension are longer: the links that closed them lead elsewhere now
   lu.assertEquals(gone(old, d), "r0.0/X- r0.1/X- r0.2/X- r0.3/X- r2.0/X+ r2.1/X+ r2.2/X+ r2.3/X+")
   lu.assertStrContains(same.words(d), "4 new nodes (n12, n13, n14, …)")
   lu.assertStrContains(same.words(d), "8 links gone (r0.0/X-, r0.1/X-, r0.2/X-, …)")
   -- where its nodes are counted along the other one, they sit elsewhere
   new = torus { 3, 5 }
   d = compare(old, new)
   check_ends(old, new, d)
   lu.assertEquals(#d.moved, 8) -- all but the first four
end

function tests.test_a_leaf_more_forgets_nothing()
   local old, new = tree(4), tree(5)
   local d = compare(old, new)
   check_ends(old, new, d)
   lu.assertEquals(gone(old, d), "")
   lu.assertEquals(same.words(d), "2 new nodes (n8, n9), 4 new links (leaf4/3, leaf4/4, " ..
      "spine0/5, …)")
end

function tests.test_nodes_are_numbered_otherwise()
   local old = graph(wiring())
   local w = wiring()
   w.nodes = { w.nodes[3], w.nodes[1], w.nodes[4], w.nodes[2] }
   local new = graph(w)
   local d = compare(old, new)
   check_ends(old, new, d)
   lu.assertEquals(d.kept, d.of)
   lu.assertEquals(d.nodes, { 2, 4, 1, 3 })
   lu.assertNotEquals(d.map[1], 1)
end

function tests.test_a_node_that_changed_places_has_another_cable()
   local old, w = graph(wiring()), wiring()
   w.nodes[1].rails[1].router, w.nodes[2].rails[1].router = 2, 1
   local d = compare(old, graph(w))
   lu.assertEquals(gone(old, d), "n1/tx n1/rx n2/tx n2/rx")
   lu.assertEquals(same.words(d), "2 nodes on another router (n1, n2)")
end

function tests.test_a_cable_that_was_moved_is_another_one()
   local old, w = graph(wiring()), wiring()
   w.cables[4].b, w.cables[4].a = 4, 2 -- from switch 2 now, with the port's old name
   local new = graph(w)
   local d = compare(old, new)
   check_ends(old, new, d)
   lu.assertEquals(gone(old, d), "s3/4 s4/4")
   lu.assertEquals(same.words(d), "2 new links (s2/4, s4/4), 2 links gone (s3/4, s4/4)")
end

function tests.test_a_cable_in_another_port_is_the_same_but_of_two_nobody_knows()
   local old, w = graph(wiring()), wiring()
   w.cables[3].a_port, w.cables[3].b_port = "17", "18"
   local d = compare(old, graph(w))
   lu.assertEquals(d.kept, d.of)
   lu.assertEquals(d.name "s2/3", "s2/17")
   for i = 1, 2 do
      w.cables[i].a_port, w.cables[i].b_port = "2" .. i, "2" .. i
   end
   d = compare(old, graph(w))
   lu.assertEquals(gone(old, d), "s1/1 s1/2 s2/1 s2/2")
end

function tests.test_other_capacities_are_other_components()
   local old = tree(4)
   local d = compare(old, tree(4, { capacity = { tx = 1e9, rx = 1.005e9, link = 2e9 } }))
   lu.assertEquals(d.kept, 16)
   for c in pairs(d.map) do
      lu.assertFalse(old:is_link(c))
   end
   lu.assertStrContains(same.words(d), "16 components of another kind or capacity")
   -- what is learned is what it was, what is learned no more is not
   local learns = tree(4, { capacity = { tx = 1e9, rx = 1e9 } })
   lu.assertEquals(compare(learns, tree(4, { capacity = { tx = 1e9, rx = 1e9 } })).kept, 32)
   lu.assertEquals(compare(learns, old).kept, 16)
end

function tests.test_renamed_nodes_with_and_without_a_map()
   local old, new = tree(3), tree(3, { nodes = "n[0-3],m[4-5]" })
   local d = compare(old, new)
   lu.assertEquals(gone(old, d), "n4/tx n4/rx n5/tx n5/rx")
   lu.assertStrContains(same.words(d), "2 new nodes (m4, m5), 2 nodes gone (n4, n5)")
   d = compare(old, new, { n4 = "m4", n5 = "m5", n0 = "n1", n99 = "m4" })
   check_ends(old, new, d)
   lu.assertEquals(d.kept, d.of)
   lu.assertEquals({ d.node "n4", d.name "n5/rx", d.node "n0" }, { "m4", "m5/rx", "n0" })
   lu.assertEquals(same.words(d), "2 nodes renamed (n4 is m4, n5 is m5)")
   -- a map that stays does no harm: neither name is of the other machine only
   d = compare(new, tree(4, { nodes = "n[0-3],m[4-5],n[4-5]" }), { n4 = "m4", n5 = "m5" })
   lu.assertEquals(d.kept, d.of)
   lu.assertEquals(d.renamed, {})
   local names = same.names(new, { n4 = "m4" })
   lu.assertEquals({ names.node "n4", names.name "n4/tx", names.name "n3/tx",
      names.name "leaf0/3" }, { "m4", "m4/tx", "n3/tx", "leaf0/3" })
end

function tests.test_switches_that_are_called_otherwise_are_known_by_their_nodes()
   local old, w = graph(wiring()), wiring()
   for r = 1, 4 do
      w.routers[r].name = "0x000" .. r
   end
   local d = compare(old, graph(w))
   lu.assertEquals(d.kept, d.of - 4) -- two cables of one pair, by other names
end

function tests.test_what_is_damaged_is_said()
   local text = kept.text(tree(2))
   for _, bad in ipairs { "", "{}", "[]", text:sub(1, 50),
      (text:gsub('"version":1', '"version":2')),
      (text:gsub('"links":"%d+', '"links":"77')), (text:gsub('"sorts":.-%]%]', '"sorts":[]')) } do
      local old, err = kept.read(bad)
      lu.assertNil(old, bad)
      lu.assertStrContains(err, "damaged")
   end
end

return tests
