-- SPDX-License-Identifier: GPL-2.0-or-later
--- Several fabrics of one machine: each answers as it does alone, and no route leads across.
local kept = require "taut.topology.before.kept"
local lu = require "luaunit"
local same = require "taut.topology.before.same"
local topology = require "taut.topology"
local unknown = require "taut.topology.unknown"

local function ib(o)
   return { kind = "fattree", nodes_per_leaf = 2, levels = { { down = 3, up = 2 } },
      nodes = "n[1-6]", capacity = o and o.capacity or 25e9, rails = 2, rail_wiring = "planes",
      partitions = o and o.partitions, networks = o and o.networks, routing = "dmodk" }
end

local function eth(o)
   return { kind = "fattree", nodes_per_leaf = 3, levels = { { down = 2, up = 2 } },
      nodes = "n[4-9]", capacity = o and o.capacity or 3e9, routing = "ecmp",
      addresses = o and o.addresses, transport = o and o.transport }
end

local function grid()
   return { kind = "torus", dims = { 4, 4 }, nodes_per_router = 1, nodes = "n[1-16]",
      capacity = 5e9 }
end

local function build(fabrics)
   return assert(topology.build { kind = "fabrics", fabrics = fabrics })
end

-- The parts as they are alone, by name.
local function alone(fabrics)
   local list = {}
   for name, conf in pairs(fabrics) do
      list[name] = assert(topology.build(conf))
   end
   return list
end

local function words(topo, route, prefix)
   local out = {}
   for i = 2, #route - 1 do -- without tx and rx
      local s = route[i]
      local names = {}
      for k, c in ipairs(type(s) == "table" and s or { s }) do
         names[k] = (prefix or "") .. topo.components[c]
      end
      out[#out + 1] = table.concat(names, "|")
   end
   return table.concat(out, " ")
end

-- Each pair on each rail: the route of its fabric alone, or none.
local function check_routes(topo, parts)
   local found = 0
   for _, f in ipairs(topo.fabrics) do
      local part = parts[f.name]
      for k = 1, f.rails do
         for _, a in ipairs(topo.nodes) do
            for _, b in ipairs(topo.nodes) do
               local n, m = part.node_id[a], part.node_id[b]
               local rail = f.first_rail + k
               local from, to = topo.node_id[a], topo.node_id[b]
               local route = a ~= b and topo:route(from, to, nil, rail)
               local own = a ~= b and n and m and part:route(n, m, nil, k)
               lu.assertEquals(route ~= nil and route ~= false, own ~= nil and own ~= false)
               if route then
                  found = found + 1
                  lu.assertEquals(words(topo, route), words(part, own, f.name .. ":"))
                  lu.assertEquals(topo:hops(from, to, rail), part:hops(n, m, k))
                  for c = topo.first_link, #topo.components do
                     local of, own_c = topo:part_of(c)
                     lu.assertEquals(topo:crosses(from, to, c, rail),
                        of == f and part:crosses(n, m, own_c, k) or false)
                  end
               end
            end
         end
      end
   end
   return found
end

local tests = {}

function tests.test_each_fabric_routes_as_it_does_alone()
   local fabrics = { ib = ib(), eth = eth(), grid = grid() }
   local topo = build(fabrics)
   lu.assertEquals(check_routes(topo, alone(fabrics)), 6 * 5 * 2 + 6 * 5 + 16 * 15)
   lu.assertEquals(topo.rails, 4)
   lu.assertEquals(#topo.nodes, 16)
end

function tests.test_rails_are_counted_in_the_order_of_the_names_and_names_tell_the_fabric()
   local topo = build { ib = ib(), eth = eth() }
   lu.assertEquals({ topo.fabrics[1].name, topo.fabrics[2].name }, { "eth", "ib" })
   lu.assertEquals(topo.fabrics[2].first_rail, 1)
   local n4, n1, n9 = topo.node_id.n4, topo.node_id.n1, topo.node_id.n9
   lu.assertEquals(topo.router_name[topo:router(n4, 1)], "eth:leaf0")
   lu.assertEquals(topo.router_name[topo:router(n4, 3)], "ib:p2.leaf1")
   lu.assertNil(topo:router(n1, 1))
   lu.assertNil(topo:router(n9, 2))
   lu.assertNotNil(topo.component_id["eth:leaf0/4"])
   lu.assertEquals(topo:class(topo.component_id["n4:1/tx"]), "eth tx")
   lu.assertEquals(topo:class(topo.component_id["n4:2/tx"]), "ib tx")
   lu.assertEquals(topo:fabric_of(topo.component_id["n1:2/rx"]).name, "ib")
   lu.assertEquals(topo:why(n1, n9, 1), "n1 has no rail 1")
end

function tests.test_numbers_there_and_here_are_each_others_inverse()
   local topo, seen = build { ib = ib(), eth = eth(), grid = grid() }, 0
   for _, f in ipairs(topo.fabrics) do
      for c, name in ipairs(f.topo.components) do
         local w = topo:of_part(f, c)
         local of, k = topo:part_of(w)
         lu.assertIs(of, f)
         lu.assertEquals({ k, topo.components[w] }, { c, name })
         lu.assertEquals(topo:kind(w), f.topo:kind(c))
         lu.assertEquals(topo.capacity[w], f.topo.capacity[c])
         local back, own = topo:opposite(w), f.topo:opposite(c)
         lu.assertEquals(back, own and topo:of_part(f, own))
         seen = seen + 1
      end
   end
   for c in ipairs(topo.components) do
      seen = seen - (topo:is_there(c) and 1 or 0)
   end
   lu.assertEquals(seen, 0)
end

function tests.test_a_failure_moves_routes_in_its_own_fabric_only()
   local fabrics = { ib = ib(), eth = eth(), grid = grid() }
   local topo, parts = build(fabrics), alone(fabrics)
   local before = topo.epoch
   local name = topo.components[topo:links_of(topo.router_id["ib:p1.leaf0"])[1]]
   local report = topo:set_health { [topo.component_id[name]] = 0 }
   local own = parts.ib:set_health { [parts.ib.component_id[name:sub(4)]] = 0 }
   lu.assertEquals(report.pairs, own.pairs)
   lu.assertEquals(#report.more_loaded, #own.more_loaded)
   lu.assertEquals(topo.epoch, before + 1)
   check_routes(topo, parts)
   topo:set_health { [topo.component_id["grid:r0.0/X+"]] = 0 }
   parts.ib:set_health {}
   parts.grid:set_health { [parts.grid.component_id["r0.0/X+"]] = 0 }
   check_routes(topo, parts)
end

function tests.test_who_depends_on_a_component_is_what_its_fabric_says()
   local fabrics = { ib = ib(), eth = eth() }
   local topo, parts = build(fabrics), alone(fabrics)
   local function names(of, list)
      local out = {}
      for i, n in ipairs(list) do
         out[i] = of.nodes[n]
      end
      table.sort(out)
      return out
   end
   for c in ipairs(topo.components) do
      if topo:is_there(c) then
         local f, k = topo:part_of(c)
         local part = parts[f.name]
         lu.assertEquals(names(topo, topo:behind(c, 0)), names(part, part:behind(k, 0)))
         lu.assertEquals(names(topo, topo:exposed(c)), names(part, part:exposed(k)))
      end
   end
   -- of its two fabrics one is lost: a node of both is behind that
   local tx = topo.component_id["n4:1/tx"]
   lu.assertEquals(names(topo, topo:behind(tx, 0)), { "n4" })
   for r, name in pairs(topo.router_name) do
      local part, own = parts[topo:fabric_at(r).name], name:match ":(.*)$"
      lu.assertEquals(names(topo, topo:exposed_to(r)),
         names(part, part:exposed_to(part.router_id[own])))
      lu.assertEquals(names(topo, topo:behind_all(topo:parts(name), 0)),
         names(part, part:behind_all(part:parts(own), 0)))
   end
end

function tests.test_loads_classes_and_neighbours_are_those_of_the_fabrics()
   local fabrics = { ib = ib(), eth = eth() }
   local topo, parts = build(fabrics), alone(fabrics)
   local loads, lost = topo:load("all-to-all", { bytes = 1 })
   for _, f in ipairs(topo.fabrics) do
      for c, bytes in ipairs((parts[f.name]:load("all-to-all", { bytes = 1 }))) do
         lu.assertAlmostEquals(loads[topo:of_part(f, c)], bytes, 1e-9)
      end
   end
   lu.assertEquals(lost, 0)
   lu.assertEquals(#topo:classes(), #parts.ib:classes() + #parts.eth:classes())
   local by = {}
   for r = 0, topo.routers - 1 do
      local on = topo:on_router(r)
      by[r] = #on > 0 and on or nil
   end
   local groups = topo:neighbours(by)
   lu.assertTrue(#groups > 0)
   for _, g in ipairs(groups) do
      for _, p in ipairs(g.pairs) do
         lu.assertIs(topo:fabric_at(p[1]), topo:fabric_at(p[2]))
      end
   end
end

function tests.test_what_is_learned_is_learned_in_each_fabric_and_known_in_both_numbers()
   local topo = build { ib = ib { capacity = { tx = 1e9, rx = 1e9 } },
      eth = eth { capacity = { link = 3e9 } } }
   local classes = unknown.classes(topo)
   lu.assertEquals(#classes["eth tx"], 6)
   lu.assertNil(classes["ib tx"])
   lu.assertEquals(#classes["ib uplink"], 12)
   local c = classes["ib uplink"][1]
   lu.assertTrue(topo.open[c])
   unknown.known(topo, c, 7e9)
   topo:capacities_changed()
   local f, k = topo:part_of(c)
   lu.assertEquals({ topo.capacity[c], f.topo.capacity[k], f.topo.open[k] }, { 7e9, 7e9, nil })
end

function tests.test_addresses_of_all_fabrics_and_none_of_two()
   local at = { ["leaf0"] = "10.1.0.1", ["leaf1"] = "10.1.0.2" }
   local topo = build { a = eth { addresses = at }, ib = ib() }
   lu.assertEquals(topo.router_name[topo.asked_at.router["10.1.0.2"]], "a:leaf1")
   for c, address in pairs(topo.asked_at.of) do
      lu.assertEquals(topo.router_name[topo:to(c)],
         address == "10.1.0.1" and "a:leaf0" or "a:leaf1")
   end
   local none, err = topology.build { kind = "fabrics",
      fabrics = { a = eth { addresses = at }, b = eth { addresses = at } } }
   lu.assertNil(none)
   lu.assertStrContains(err, "fabrics.b.addresses: 10.1.0.")
   lu.assertStrContains(err, "is in fabric a, too")
end

function tests.test_what_is_wrong_names_fabric_and_setting()
   local function error_of(fabrics)
      local none, err = topology.build { kind = "fabrics", fabrics = fabrics }
      lu.assertNil(none)
      return err
   end
   lu.assertStrContains(error_of {}, "fabrics: expected a table { ib = fattree { … }")
   lu.assertStrContains(error_of { ib(), eth() }, "got a list")
   lu.assertStrContains(error_of { ib = 3 }, "fabrics.ib: expected a topology such as")
   lu.assertStrContains(error_of { ib = {} }, "fabrics.ib: expected a topology such as")
   lu.assertStrContains(error_of { ["i b"] = ib() }, "got 'i b'")
   lu.assertStrContains(error_of { ib = { kind = "fattree", nodes_per_leaf = 2 } },
      "fabrics.ib.")
   lu.assertStrContains(error_of { ib = ib { networks = { "10.0.0.0/33" } } },
      "fabrics.ib.networks[1]: expected such as \"10.1.0.0/16\", got 10.0.0.0/33")
   lu.assertStrContains(error_of { ib = ib { partitions = {} } }, "fabrics.ib.partitions: expected")
   lu.assertStrContains(error_of { ib = eth { transport = "roce" } },
      "fabrics.ib.transport: expected \"tcp\" or \"ofi\", got roce")
end

function tests.test_the_whole_is_another_machine_where_a_part_is()
   local a = build { ib = ib(), eth = eth() }
   lu.assertEquals(build({ ib = ib(), eth = eth() }).wiring, a.wiring)
   lu.assertNotEquals(build({ ib = ib(), lan = eth() }).wiring, a.wiring)
   local other = ib()
   other.routing = "ecmp"
   lu.assertNotEquals(build({ ib = other, eth = eth() }).wiring, a.wiring)
end

function tests.test_a_fabric_that_is_added_makes_no_others_of_those_there_were()
   local before = build { ib = ib() }
   local after = build { ib = ib(), eth = eth() }
   for _, old in ipairs { before, assert(kept.read(kept.text(before))) } do
      local d = same.compare(old, after)
      lu.assertEquals({ d.kept, d.of }, { #before.components, #before.components })
      lu.assertEquals(d.name "n4:1/tx", "n4:2/tx")
      for c, name in ipairs(before.components) do
         local now = after.components[d.map[c]]
         lu.assertTrue(not before:is_link(c) or now == name, now)
      end
   end
   -- nor does one that goes
   local d = same.compare(after, build { ib = ib() })
   lu.assertEquals(d.kept, #before.components)
end

function tests.test_a_graph_keeps_those_of_its_parts()
   local g, first = build({ ib = ib(), eth = eth() }).graph, 2 * 9 * 3 + 1
   collectgarbage()
   collectgarbage() -- the topology and its parts are gone
   local loads, lost = g:all_to_all()
   lu.assertEquals(lost, 0)
   lu.assertTrue(loads[1] > 0)
   lu.assertTrue(#g:crossing(first) > 0)
end

return tests
