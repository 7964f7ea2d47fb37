-- SPDX-License-Identifier: GPL-2.0-or-later
--- What must hold for every topology, whatever its kind: its answers against its own routes, one
-- by one.
local islands = require "taut.topology.islands"
local lu = require "luaunit"

local topocheck = {}

local function members(stage)
   return type(stage) == "table" and stage or { stage }
end

-- Share of the traffic that crosses a stage: 1, or less where it may pass by without it.
local function share_of(stage)
   if type(stage) ~= "table" then
      return 1
   end
   local sum = 0
   lu.assertEquals(#stage.w, #stage)
   for _, w in ipairs(stage.w) do
      lu.assertTrue(w > 0)
      sum = sum + w
   end
   lu.assertTrue(sum <= 1 + 1e-9)
   return sum
end

-- The routers where traffic may be after a stage, from those where it may be before; `loose` when
-- some has passed by a stage before, and `at` is more than what can be.
local function follow(topo, at, stage, seen, loose)
   local left, after = {}, {}
   for _, c in ipairs(members(stage)) do
      lu.assertTrue(topo:is_link(c), topo.components[c])
      lu.assertTrue(at[topo:from(c)], topo.components[c] .. " begins elsewhere")
      lu.assertNil(topo.failed[c], topo.components[c] .. " has failed")
      left[topo:from(c)], after[topo:to(c)] = true, true
   end
   local passes_by = share_of(stage) < 1 - 1e-9
   for r in pairs(at) do
      lu.assertTrue(left[r] or passes_by or loose, "no way on from " .. topo.router_name[r])
      lu.assertNil(seen[r] and not next(at, next(at)) or nil, "a cycle")
      seen[r] = not passes_by or nil
      after[r] = after[r] or passes_by or nil
   end
   return after
end

--- One route: begins with the tx, ends with the rx, is connected, uses no failed link, meets no
-- router twice (where it is sure).
function topocheck.route(topo, a, b, route, rail)
   local first = #topo.nodes * ((rail or 1) - 1)
   lu.assertEquals(route[1], 2 * (first + a) - 1)
   lu.assertEquals(route[#route], 2 * (first + b))
   local at, seen, passes_by = { [topo:router(a, rail)] = true }, {}, false
   for i = 2, #route - 1 do
      at = follow(topo, at, route[i], seen, passes_by)
      passes_by = passes_by or share_of(route[i]) < 1 - 1e-9
   end
   local last = topo:router(b, rail)
   -- where some passes by a stage, what was followed here is more than what can be
   lu.assertEquals(passes_by and { [last] = at[last] } or at, { [last] = true })
end

-- Links on a shortest way over links that have not failed, from router r to all.
local function distances(topo, r)
   local hops, queue = { [r] = 0 }, { r }
   for _, at in ipairs(queue) do
      for _, c in ipairs(topo:links_of(at)) do
         local s = topo:to(c)
         if not topo.failed[c] and not hops[s] then
            hops[s] = hops[at] + 1
            queue[#queue + 1] = s
         end
      end
   end
   return hops
end

--- All routes of a small topology.
-- @param o { minimal = routes are shortest ways, complete = every pair has one }
-- @return pairs without a route
function topocheck.routes(topo, o)
   local buffer, lost = {}, 0
   for a = 1, #topo.nodes do
      local hops = distances(topo, topo:router(a))
      for b = 1, #topo.nodes do
         local route, why = topo:route(a, b, buffer)
         if route then
            lu.assertIs(route, buffer)
            topocheck.route(topo, a, b, route)
            lu.assertTrue(topo:hops(a, b) <= #route - 2)
            if o.minimal then
               lu.assertEquals(#route - 2, hops[topo:router(b)])
               lu.assertEquals(topo:hops(a, b), #route - 2)
            end
         else
            lost = lost + 1
            lu.assertFalse(o.complete or false, why)
            lu.assertIsString(why)
            lu.assertEquals(topo:hops(a, b), math.huge)
         end
      end
   end
   return lost
end

-- fn(a, b, route) for each pair of nodes that has one.
local function each_route(topo, fn)
   for a = 1, #topo.nodes do
      for b = 1, #topo.nodes do
         local route = a ~= b and topo:route(a, b)
         if route then
            fn(a, b, route)
         end
      end
   end
end

--- The all-to-all load is what the routes add up to.
function topocheck.load(topo)
   local want, routed = {}, 0
   for c = 1, #topo.components do
      want[c] = 0
   end
   each_route(topo, function(_, _, route)
      routed = routed + 1
      for i = 2, #route - 1 do
         local s = route[i]
         for k, c in ipairs(members(s)) do
            want[c] = want[c] + (type(s) == "table" and s.w[k] or 1)
         end
      end
   end)
   local got, lost = topo:load "all-to-all"
   local walked = topo:load("all-to-all", { walk = true })
   lu.assertEquals(lost, #topo.nodes * (#topo.nodes - 1) - routed)
   for c = topo.first_link, #topo.components do
      lu.assertAlmostEquals(got[c], want[c], 1e-6, topo.components[c])
      lu.assertAlmostEquals(walked[c], want[c], 1e-6, topo.components[c])
   end
end

--- Nodes exposed to each component (or to the links in `list`).
function topocheck.exposed(topo, list)
   local from, to, n = {}, {}, #topo.nodes
   each_route(topo, function(a, b, route)
      local counted = {} -- a link may be in several stages
      for _, s in ipairs(route) do
         for _, c in ipairs(members(s)) do
            from[c], to[c] = from[c] or {}, to[c] or {}
            local one = counted[c] and 0 or 1
            from[c][a], to[c][b] = (from[c][a] or 0) + one, (to[c][b] or 0) + one
            counted[c] = true
         end
      end
   end)
   if not list then
      list = {}
      for c = topo.first_link, #topo.components do
         list[#list + 1] = c
      end
   end
   local others = {} -- nodes that links join to each
   for a = 1, n do
      others[a] = -1
      for b = 1, n do
         others[a] = others[a] + (islands.are_joined(topo, a, b) and 1 or 0)
      end
   end
   for _, c in ipairs(list) do
      local want = {}
      for i = 1, n do
         local most = math.max((from[c] or {})[i] or 0, (to[c] or {})[i] or 0)
         want[#want + 1] = most > 0.25 * others[i] and i or nil
      end
      lu.assertEquals(topo:exposed(c), want, topo.components[c])
   end
end

--- Classes: components used by the same routes, those of sets together.
function topocheck.classes(topo)
   local keys, want = {}, {}
   each_route(topo, function(a, b, route)
      for _, s in ipairs(route) do
         for _, c in ipairs(members(s)) do
            keys[c] = keys[c] or {}
            table.insert(keys[c], ("%d>%d%s"):format(a, b, type(s) == "table" and "?" or ""))
         end
      end
   end)
   local by_key, unused = {}, {}
   for c = 1, #topo.components do
      if keys[c] then
         local key = table.concat(keys[c], " ")
         by_key[key] = by_key[key] or {}
         table.insert(by_key[key], c)
      else
         unused[#unused + 1] = c
      end
   end
   for _, class in pairs(by_key) do
      want[#want + 1] = #class > 1 and class or nil
   end
   local got, none = topo:classes()
   lu.assertItemsEquals(got, want)
   lu.assertEquals(none, unused)
end

--- Names and numbers fit together, links have their opposite.
function topocheck.names(topo)
   lu.assertEquals(#topo.components, #topo.capacity)
   for c, name in ipairs(topo.components) do
      lu.assertEquals(topo.component_id[name], c)
      lu.assertTrue(topo.capacity[c] > 0)
      lu.assertIsString(topo:kind(c))
      lu.assertIsString(topo:class(c))
      lu.assertIsString(topo:cable(c))
      lu.assertIsString(topo:place(c))
      lu.assertTrue(#topo:near(c) > 0)
      if topo:is_link(c) then
         local back = topo:opposite(c)
         lu.assertEquals(name:match "^(.*)/", topo.router_name[topo:from(c)])
         lu.assertTrue(not back or topo:from(back) == topo:to(c) and topo:to(back) == topo:from(c)
            and topo:opposite(back) == c, name)
         lu.assertNil(topo:node_of(c))
      else
         local n, rail = topo:node_of(c)
         lu.assertEquals(topo:from(c), topo:router(n, rail))
         lu.assertEquals(topo:ends(c), { n })
      end
   end
   for n, name in ipairs(topo.nodes) do
      lu.assertEquals(topo.node_id[name], n)
      lu.assertEquals(topo:node_of(topo.tx[n]), n)
      lu.assertEquals(topo:kind(topo.rx[n]), "rx")
      lu.assertTableContains(topo:on_router(topo:router(n)), n)
   end
   for r = 0, topo.routers - 1 do
      lu.assertEquals(topo.router_id[topo.router_name[r]], r)
   end
end

--- Fail some random cables, with both of their directions, and degrade one more.
-- @return the report of set_health
function topocheck.fail(topo, cables)
   local left, links = {}, #topo.components - topo.first_link + 1
   for i = 0, links > 0 and cables or -1 do
      local c = math.random(topo.first_link, #topo.components)
      if i == 0 then
         left[c] = 0.5
      else
         left[c] = 0
         local back = topo:opposite(c)
         left[back or c] = 0
      end
   end
   return topo:set_health(left)
end

return topocheck
