-- SPDX-License-Identifier: GPL-2.0-or-later
-- Any wiring: shortest ways, and forwarding tables.
local check = require "lib.routecheck"
local lu = require "luaunit"
local topology = require "taut.topology"
local wirings = require "lib.wirings"

-- A connected random wiring with parallel cables; every router has `npr` nodes.
local function random_wiring(routers, extra, npr)
   local w, port = { source = "random", routers = {}, nodes = {}, cables = {} }, {}
   local function next_port(r)
      port[r] = (port[r] or 0) + 1
      return tostring(port[r])
   end
   local function cable(a, b)
      table.insert(w.cables, { a = a, a_port = next_port(a), b = b, b_port = next_port(b) })
   end
   for r = 1, routers do
      w.routers[r] = { name = "s" .. r, lid = 1000 + r }
      if r > 1 then
         cable(r, math.random(r - 1))
      end
   end
   for _ = 1, routers > 1 and extra or 0 do
      local a, b = math.random(routers), math.random(routers)
      if a ~= b then
         cable(a, b)
      end
   end
   for r = 1, routers do
      for _ = 1, npr do
         local n = #w.nodes + 1
         w.nodes[n] = { name = "n" .. n, rails = { { router = r, port = "h" .. n, lid = n } } }
      end
   end
   return w
end

local build = wirings.graph

-- Tables that lead along shortest ways, a random one of several.
local function fill_tables(w)
   local plain = build(w, { routing = "shortest" })
   w.tables = {}
   for r = 0, plain.routers - 1 do
      local t = {}
      local function entry(lid, s)
         local dist = check.distances(plain, s)
         local list = {}
         for _, c in ipairs(plain:links_of(r)) do
            list[#list + 1] = dist[plain:to(c)] == dist[r] - 1 and c or nil
         end
         t[lid] = r == s and 0 or tonumber(plain:kind(1) and
            plain.components[list[math.random(#list)]]:match "/(%d+)$")
      end
      for s = 0, plain.routers - 1 do
         entry(w.routers[s + 1].lid, s)
      end
      for n = 1, #plain.nodes do
         entry(n, plain:router(n))
      end
      w.tables[r + 1] = t
   end
   return w
end

local tests = {}

function tests.test_shortest_ways_in_equal_shares()
   math.randomseed(12)
   for i = 1, 60 do
      local w = random_wiring(math.random(8), math.random(0, 8), 1)
      local topo, left = build(w), {}
      if i % 2 == 0 and #topo.components >= topo.first_link then
         left = check.failures(topo, math.random(3))
         for c in pairs(left) do -- a cable fails both ways
            left[topo:opposite(c)] = 0
         end
         topo:set_health(left)
      end
      for r = 0, topo.routers - 1 do
         local dist = check.distances(topo, r, left)
         for s = 0, topo.routers - 1 do
            local route = topo:router_route(r, s)
            lu.assertEquals(route and #route, dist[s])
            lu.assertEquals(topo:hops(r + 1, s + 1), dist[s] or math.huge)
            if route then
               check.routers(topo, r, s, route, { left = left })
               for _, stage in ipairs(route) do
                  local sum = 0
                  for _, share in ipairs(type(stage) == "table" and stage.w or { 1 }) do
                     sum = sum + share
                  end
                  lu.assertAlmostEquals(sum, 1, 1e-9)
               end
            else
               lu.assertStrContains(topo:because(r, s), "failed")
            end
         end
      end
   end
end

function tests.test_tables_are_followed_entry_by_entry()
   math.randomseed(13)
   for _ = 1, 40 do
      local w = fill_tables(random_wiring(math.random(7), math.random(0, 8), 2))
      local topo = build(w)
      for a = 1, #topo.nodes do
         for b = 1, #topo.nodes do
            local route = topo:route(a, b)
            check.nodes(topo, a, b, route)
            for i = 2, #route - 1 do
               local r = topo:from(route[i])
               lu.assertEquals(topo.components[route[i]],
                  ("s%d/%d"):format(r + 1, w.tables[r + 1][b]))
            end
         end
      end
      for r = 0, topo.routers - 1 do
         for s = 0, topo.routers - 1 do
            check.routers(topo, r, s, assert(topo:router_route(r, s)))
         end
      end
      lu.assertEquals(topo:load("all-to-all"), topo:load("all-to-all", { walk = true }))
   end
end

function tests.test_tables_do_not_reroute()
   math.randomseed(14)
   for _ = 1, 30 do
      local topo = build(fill_tables(random_wiring(math.random(2, 7), 8, 1)))
      local before = {}
      for a = 1, #topo.nodes do
         for b = 1, #topo.nodes do
            before[a * 100 + b] = topo:route(a, b)
         end
      end
      local left = check.failures(topo, 2)
      local report, lost = topo:set_health(left), 0
      for a = 1, #topo.nodes do
         for b = 1, #topo.nodes do
            local cut
            for _, c in ipairs(before[a * 100 + b]) do
               cut = cut or left[c] == 0 and topo.components[c]
            end
            if cut then
               lost = lost + 1
               lu.assertNil((topo:route(a, b)))
               lu.assertStrContains(topo:why(a, b), cut)
            else
               lu.assertEquals(topo:route(a, b), before[a * 100 + b])
            end
         end
      end
      lu.assertEquals(report.pairs, lost)
   end
end

-- s1 - s2 - s3 in a row, a node on each.
local function row()
   local w = wirings.new(3, { { 1, 1, 2, 1 }, { 2, 2, 3, 1 } }, { port = "5", lids = true })
   w.tables = { { 5, 1, 1, [11] = 0, [12] = 1, [13] = 1 },
      { 1, 5, 2, [11] = 1, [12] = 0, [13] = 2 },
      { 1, 1, 5, [11] = 1, [12] = 1, [13] = 0 } }
   return w
end

function tests.test_tables_that_lead_nowhere_say_where()
   local cases = {
      { function(w) w.tables[2][3] = nil end, "the table of s2 has no entry for n3 (lid 3)" },
      { function(w) w.tables[2][3] = 1 end, "in circles at s1 for n3" },
      { function(w) w.tables[2][3] = 7 end, "to port 7, where no router is" },
      { function(w) w.tables[2] = nil end, "the table of s2 has no entry for n3" },
      { function(w) w.nodes[3].rails[1].lid = nil end, "n3 has no lid" },
   }
   for _, c in ipairs(cases) do
      local w = row()
      c[1](w)
      local topo = build(w)
      local route = topo:route(1, 3)
      lu.assertNil(route)
      lu.assertEquals(topo:hops(1, 3), math.huge)
      lu.assertStrContains(topo:why(1, 3), c[2], false)
      lu.assertNotNil((topo:route(1, 2)))
   end
end

function tests.test_bad_tables_say_what_was_expected()
   local cases = {
      { {}, "expected tables" },
      { { [9] = {} }, "tables[9]" },
      { { "x" }, "tables[1]" },
      { { { [1] = "5" } }, "expected [lid] = port" },
      { { { x = 5 } }, "got [x] = 5" },
   }
   for _, c in ipairs(cases) do
      local w = row()
      w.tables = c[1]
      local topo, err = topology.build { kind = "graph", wiring = w, capacity = 1 }
      lu.assertNil(topo)
      lu.assertStrContains(err, c[2])
   end
end

function tests.test_other_tables_are_another_signature()
   local w = row()
   local before = build(w).signature
   lu.assertEquals(build(row()).signature, before)
   w.tables[2][3] = 1
   lu.assertNotEquals(build(w).signature, before)
end

function tests.test_rails_that_not_all_nodes_have()
   local w = row()
   table.insert(w.nodes[1].rails, { router = 2, port = "6", lid = 21 })
   table.insert(w.nodes[3].rails, { router = 3, port = "6", lid = 23 })
   w.tables[2][23] = 2
   local topo = build(w)
   lu.assertEquals(topo.rails, 2)
   lu.assertEquals(check.names(topo, topo:route(1, 3, nil, 2)), "n1:2/tx s2/2 n3:2/rx")
   lu.assertNil((topo:route(1, 2, nil, 2)))
   topo = build(w, { rails = 1 })
   lu.assertEquals(topo.rails, 1)
   lu.assertEquals(check.names(topo, topo:route(1, 3)), "n1/tx s1/1 s2/2 n3/rx")
end

-- What a site may write by hand, or a broken program: never a crash, always a reason.
function tests.test_nonsense_is_refused_with_a_reason()
   math.randomseed(15)
   local junk = { false, 0, -1, 1.5, math.huge, 0 / 0, "x", "", {}, { {} }, 1 << 40 }
   local function spoil(t, depth)
      local keys = {}
      for k in pairs(t) do
         keys[#keys + 1] = k
      end
      if #keys == 0 then
         return
      end
      table.sort(keys, function(a, b) return tostring(a) < tostring(b) end)
      local k = keys[math.random(#keys)]
      if type(t[k]) == "table" and math.random(depth + 1) > 1 then
         spoil(t[k], depth - 1)
      else
         t[k] = junk[math.random(#junk)]
      end
   end
   local refused = 0
   for i = 1, 3000 do
      local w = row()
      for k, r in ipairs(w.routers) do
         r.group, r.coord, r.level, r.row, r.col = 0, { k, 0 }, k, k, k
      end
      for _ = 1, math.random(3) do
         spoil(w, 4)
      end
      local kind = ({ "graph", "fattree", "hyperx", "dragonfly" })[i % 4 + 1]
      local topo, err = topology.build { kind = kind, wiring = w, capacity = 1e9 }
      if not topo then
         lu.assertStrMatches(err, "^topology.*")
         refused = refused + 1
      else
         for n = 1, #topo.nodes do
            topo:route(1, n)
         end
      end
   end
   lu.assertTrue(refused > 1000)
end

return tests
