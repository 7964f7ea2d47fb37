-- SPDX-License-Identifier: GPL-2.0-or-later
--- Gemini: names, coordinates, node ids, kinds of links.
local cabinets = require "taut.topology.cabinets"
local lu = require "luaunit"
local topology = require "taut.topology"

local tests = {}

local function small()
   return assert(topology.build { kind = "torus", dims = { 2, 2, 8 }, nodes_per_router = 2,
      layout = "gemini-chassis", two_cables = true, nodes = "nid[00000-00063]" })
end

local function titan(more)
   local conf = { kind = "torus", dims = { 25, 16, 24 }, nodes_per_router = 2,
      layout = "gemini", nodes = "nid[00000-19199]" }
   for k, v in pairs(more or {}) do
      conf[k] = v
   end
   return assert(topology.build(conf))
end

-- Sample lines of TopoBW's report in M. Ezell, CUG 2013: source, direction, kind, destination,
-- their node ids, and MB/s of the pair alone (E) or with the partner sending, too (S).
local REPORT = {
   { "c0-0c0s5n1", "X+", "C", "c0-0c1s5n1", 11, 53, "E", 5945.98 },
   { "c0-0c0s3n2", "X+", "C", "c0-0c1s3n2", 24, 38, "S", 2974.83 },
   { "c0-0c0s3n0", "Y+", "G", "c0-0c0s3n1", 6, 7, "S", 6777.84 },
   { "c0-0c0s7n1", "Y+", "M", "c0-0c0s7n2", 15, 16, "E", 5947.03 },
   { "c0-0c1s6n3", "Z+", "B", "c0-0c1s7n3", 45, 47, "E", 6762.15 },
   { "c0-0c1s7n0", "Z+", "C", "c0-0c1s0n0", 48, 62, "S", 2853.55 },
}
local CLASS = { C = "cable", M = "mezzanine", B = "backplane" }

function tests.test_a_report_of_a_real_machine_fits()
   local topo = small()
   local layout = topo.layout
   for _, line in ipairs(REPORT) do
      local from, direction, letter, to, from_nid, to_nid, mode, rate = table.unpack(line)
      local p, k = cabinets.parse(from)
      local q, m = cabinets.parse(to)
      local r, s = layout.router_of(p), layout.router_of(q)
      lu.assertEquals(layout.nid(r, k), from_nid)
      lu.assertEquals(layout.nid(s, m), to_nid)
      lu.assertEquals({ layout.router_of_nid(from_nid) }, { r, k })
      lu.assertEquals(layout.cname(r, k), from)
      lu.assertEquals(topo.nodes[from_nid + 1], ("nid%05d"):format(from_nid))
      lu.assertEquals(topo:router(to_nid + 1), s)
      local route = topo:route(from_nid + 1, to_nid + 1)
      if letter == "G" then
         lu.assertEquals(#route, 2)
      else
         lu.assertEquals(#route, 3)
         lu.assertEquals(topo:kind(route[2]), direction)
         lu.assertEquals(topo:class(route[2]), CLASS[letter])
      end
      -- alone the pair reaches the least of its route, with its partner half of a link
      local least = math.huge
      for i, c in ipairs(route) do
         local shared = mode == "S" and #route == 3 and i == 2 and 2 or 1
         least = math.min(least, topo.capacity[c] / shared)
      end
      lu.assertAlmostEquals(rate * 1e6 / least, 1, 0.06)
   end
end

function tests.test_folding()
   for n = 1, 30 do
      local seen = {}
      for x = 0, n - 1 do
         local at = cabinets.unfold(x, n)
         lu.assertEquals(cabinets.fold(at, n), x)
         lu.assertTrue(at >= 0 and at < n and not seen[at])
         seen[at] = true
         -- a cable reaches two cabinets on, or the next one where the row ends
         local gap = math.abs(cabinets.unfold((x + 1) % n, n) - at)
         lu.assertTrue(gap <= 2, ("%d of %d"):format(x, n))
      end
   end
end

function tests.test_names_come_back_from_coordinates_and_ids()
   local topo = titan()
   local layout, seen = topo.layout, {}
   lu.assertEquals(#topo.nodes, 19200)
   for r = 0, topo.routers - 1, 7 do
      for k = 0, 1 do
         local name = layout.cname(r, k)
         local p, which = cabinets.parse(name)
         lu.assertEquals(layout.router_of(p), r)
         lu.assertEquals(which, k)
         local nid = layout.nid(r, k)
         lu.assertEquals({ layout.router_of_nid(nid) }, { r, k })
         lu.assertNil(seen[nid])
         seen[nid] = true
         lu.assertEquals(topo:router(nid + 1), r)
      end
   end
   for _, bad in ipairs { "c0-0c3s0n0", "c0-0c0s8n0", "c0-0c0s0n4", "c0-0c0s0g2", "nid00001",
      "c-0c0s0n0", "" } do
      lu.assertNil(cabinets.parse(bad), bad)
   end
   lu.assertEquals({ cabinets.parse "c3-5c1s0g1l27" }, { { column = 3, row = 5, cage = 1, slot = 0,
      gemini = 1 } })
end

function tests.test_titan_has_its_nodes_links_and_classes()
   local topo = titan { service = "nid[00000-00511]" }
   lu.assertEquals(#topo.nodes, 18688)
   lu.assertEquals(topo.routers, 9600)
   lu.assertNil(topo.node_id.nid00511)
   local count, capacity = {}, {}
   for c = topo.first_link, #topo.components do
      local what = topo:kind(c):sub(1, 1) .. " " .. topo:class(c)
      count[what] = (count[what] or 0) + 1
      capacity[what] = topo.capacity[c]
   end
   lu.assertEquals(count, { ["X cable"] = 2 * 9600, ["Y cable"] = 9600, ["Y mezzanine"] = 9600,
      ["Z backplane"] = 2 * 9600 * 21 // 24, ["Z cable"] = 2 * 9600 * 3 // 24 })
   lu.assertEquals(capacity, { ["X cable"] = 6e9, ["Y cable"] = 3e9, ["Y mezzanine"] = 6e9,
      ["Z backplane"] = 9.75e9, ["Z cable"] = 6e9 })
   lu.assertEquals(topo.capacity[topo.tx[1]], 6.7e9)
   local function place(name)
      return topo:place(topo.component_id[name])
   end
   lu.assertEquals(place "r0.0.0/X+", "cable c0-0c0s0g0 to c2-0c0s0g0")
   lu.assertEquals(place "r12.0.0/X+", "cable c24-0c0s0g0 to c23-0c0s0g0")
   lu.assertEquals(place "r0.0.0/Y+", "mezzanine of c0-0c0s0")
   lu.assertEquals(place "r0.1.0/Y+", "cable c0-0c0s0g1 to c0-2c0s0g0")
   lu.assertEquals(place "r0.0.3/Z+", "backplane of c0-0c0, s3g0 to s4g0")
   lu.assertEquals(place "r0.0.23/Z+", "cable c0-0c2s7g0 to c0-0c0s0g0")
   lu.assertEquals(place "nid00512/tx", topo.layout.cname(topo:router(1)))
end

function tests.test_a_site_may_know_better_what_a_kind_carries()
   local topo = titan { capacity = { backplane = 8e9, ["Y cable"] = 2e9, X = 5e9, tx = 6e9 } }
   for name, want in pairs { ["r0.0.3/Z+"] = 8e9, ["r0.0.7/Z+"] = 6e9, ["r0.1.0/Y+"] = 2e9,
      ["r0.0.0/Y+"] = 6e9, ["r3.1.0/X-"] = 5e9, ["nid00000/tx"] = 6e9, ["nid00000/rx"] = 6.7e9 } do
      lu.assertEquals(topo.capacity[topo.component_id[name]], want, name)
   end
end

function tests.test_layouts_that_do_not_fit_are_refused()
   local cases = {
      { { layout = "aries" }, "topology.layout: 'aries' is not known (known: gemini, gemini-ch" },
      { { dims = { 25, 15, 24 }, nodes = "n[1-18000]" }, "needs dims = { columns, 2 * rows, 24 }" },
      { { nodes_per_router = 4, nodes = "n[1-38400]" }, "and 2 nodes per router" },
      { { dims = { 4, 24 }, nodes = "n[1-192]" }, "needs dims" },
      { { service = "nid[19199-19200]" }, "topology.service: 'nid19200' is not one of" },
      { { service = "nid[" }, "topology.service: expected a host list: " },
      { { service = 5 }, "topology.service: expected a host list: got 5" },
   }
   for _, c in ipairs(cases) do
      local conf = { kind = "torus", dims = { 25, 16, 24 }, nodes_per_router = 2,
         layout = "gemini", nodes = "nid[00000-19199]" }
      for k, v in pairs(c[1]) do
         conf[k] = v
      end
      local topo, err = topology.build(conf)
      lu.assertNil(topo)
      lu.assertStrContains(err, c[2])
   end
end

return tests
