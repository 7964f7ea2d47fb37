-- SPDX-License-Identifier: GPL-2.0-or-later
-- A dragonfly as one really was: NERSC's Edison, by its own dump of the interconnect, and some of
-- its nodes by the system database.
local check = require "lib.routecheck"
local import = require "taut.topology.import"
local importing = require "lib.importing"
local lu = require "luaunit"
local topology = require "taut.topology"

local tests = {}
local wiring -- read once: the dump has 69,120 lines

local function edison(o)
   wiring = wiring or assert(import.read("rtr", importing.data "cray/links-edison.txt.gz",
      { with = { { format = "xtdb2proc",
         path = importing.data "cray/edison-pytokio/sample.xtdb2proc.gz" } } }))
   local conf = { kind = "dragonfly", wiring = wiring, capacity = { tx = 10e9, rx = 10e9 } }
   for k, v in pairs(o or {}) do
      conf[k] = v
   end
   return assert(topology.build(conf))
end

function tests.tearDown()
   importing.clean()
end

function tests.test_groups_rows_and_columns()
   local topo = edison()
   lu.assertEquals({ topo.routers, topo.groups }, { 15 * 96, 15 })
   local routers, rows, columns = {}, {}, {}
   for r = 0, topo.routers - 1 do
      local at = topo:coordinates(r)
      routers[at[1]] = (routers[at[1]] or 0) + 1
      rows[at[2]], columns[at[3]] = true, true
      lu.assertEquals(topo:router_at(at), r)
   end
   local groups = {}
   for g, n in pairs(routers) do
      lu.assertEquals(n, 96)
      groups[#groups + 1] = g
   end
   table.sort(groups)
   lu.assertEquals(groups, { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 14, 15 })
   lu.assertEquals({ #rows, #columns, rows[0], columns[0] }, { 5, 15, true, true })
end

-- Green: all 16 of a chassis, one tile each; black: all 6 of a column, three tiles; blue: between
-- groups, as many tiles as the dump has ends that are not unused.
function tests.test_links_of_each_kind()
   local topo = edison()
   local tiles = { green = 0, black = 0, blue = 0 }
   local rate = { green = 3 * 14e9 // 8, black = 3 * 14e9 // 8, blue = 3 * 12.5e9 // 8 }
   local links = { green = 0, black = 0, blue = 0 }
   for c = topo.first_link, #topo.components do
      local kind = topo:kind(c)
      local a, b = topo:coordinates(topo:from(c)), topo:coordinates(topo:to(c))
      links[kind] = links[kind] + 1
      tiles[kind] = tiles[kind] + topo.capacity[c] // rate[kind]
      lu.assertEquals(a[1] ~= b[1], kind == "blue")
      if kind == "black" then
         lu.assertEquals(a[3], b[3])
      elseif kind == "green" then
         lu.assertEquals(a[2], b[2])
      end
      lu.assertEquals(topo:opposite(topo:opposite(c)), c)
   end
   lu.assertEquals(tiles, { green = 21600, black = 21600, blue = 5040 })
   lu.assertEquals({ links.green, links.black }, { 1440 * 15, 1440 * 5 })
end

function tests.test_every_pair_of_groups_is_linked()
   local topo, count = edison(), {}
   for c = topo.first_link, #topo.components do
      local a, b = topo:group(topo:from(c)), topo:group(topo:to(c))
      if a ~= b then
         count[a * 16 + b] = (count[a * 16 + b] or 0) + 1
      end
   end
   local pairs_linked = 0
   for _ in pairs(count) do
      pairs_linked = pairs_linked + 1
   end
   lu.assertEquals(pairs_linked, 15 * 14)
end

-- The coordinates that the system database gives for each node are those of its router.
function tests.test_every_node_of_the_database_is_where_the_dump_has_it()
   local topo, n = edison(), 0
   for line in io.lines(importing.data "cray/edison-pytokio/sample.xtdb2proc.gz") do
      local slot, cage, row, x, y, z, nid = line:match "^cpu=%d+,slot=(%d+),cage=(%d+),.*\z
         cab_row=(%d+),x_coord=(%d+),y_coord=(%d+),z_coord=(%d+),.*processor_id=(%d+)"
      if nid then
         local node = topo.node_id[("nid%05d"):format(tonumber(nid))]
         local router = topo:router(node)
         lu.assertEquals(topo:coordinates(router), { tonumber(x), tonumber(y), tonumber(z) })
         -- and so does the router's name: slot is the column, the cage with the cabinet the row
         local words = ("-%sc%ss%sa0"):format(row, cage, slot)
         lu.assertEquals(topo.router_name[router]:sub(-#words), words)
         n = n + 1
      end
   end
   lu.assertEquals(n, 499)
   lu.assertEquals(#topo.nodes, 499)
end

function tests.test_routes()
   for _, routing in ipairs { "minimal", "adaptive" } do
      local topo = edison { routing = routing, misrouted = 0 }
      math.randomseed(11)
      for _ = 1, 2000 do
         local a, b = math.random(499), math.random(499)
         local route = topo:route(a, b)
         check.nodes(topo, a, b, route)
         lu.assertTrue(topo:hops(a, b) <= 5) -- row and column, blue, row and column
      end
   end
end

return tests
