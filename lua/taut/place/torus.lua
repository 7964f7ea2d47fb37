--- Submeshes of a torus or mesh: bounding boxes that hold enough free nodes, and the best nodes
-- in them.
--
-- A box extends over at most half a ring plus one, or the whole ring, so that the minimal routes
-- between its routers stay inside.  Boxes are looked at by volume; once some hold enough, those
-- up to half as large again are still compared, since a little room may avoid a slow link.
local score = require "taut.place.score"
local stages = require "taut.stages"

local place = {}

local KEPT = 200           -- boxes that are scored at most
local REFINED = 20         -- of these, the best are refined
local REFINED_STEPS = 8    -- exchanges in each
local REFINED_NODES = 128  -- a larger set stays as it is
local SLOW_COST = 1000     -- of a route over a slow link, in hops

-- Every allowed extent of a box, as arrays; sorted by volume, then by the longest side.
local function shapes(topo)
   local list = { {} }
   for _, len in ipairs(topo.dims) do
      local longer = {}
      for _, s in ipairs(list) do
         for e = 1, len do
            if e <= len // 2 + 1 or e == len then
               local copy = table.move(s, 1, #s, 1, {})
               copy[#copy + 1] = e
               longer[#longer + 1] = copy
            end
         end
      end
      list = longer
   end
   for _, s in ipairs(list) do
      s.volume, s.longest = 1, 0
      for _, e in ipairs(s) do
         s.volume, s.longest = s.volume * e, math.max(s.longest, e)
      end
   end
   table.sort(list, function(a, b)
      if a.volume ~= b.volume then
         return a.volume < b.volume
      elseif a.longest ~= b.longest then
         return a.longest < b.longest
      end
      return table.concat(a, ",") < table.concat(b, ",")
   end)
   return list
end

-- Calls fn(router) for each router of the box at `at` with extents `shape`.
local function each_router(topo, at, shape, fn)
   local here = {}
   local function go(d)
      if d > #shape then
         fn(topo:router_at(here))
         return
      end
      for i = 0, shape[d] - 1 do
         here[d] = at[d] + i
         go(d + 1)
      end
   end
   go(1)
end

-- Last position worth trying: a whole ring is the same from everywhere, a mesh has an end.
local function last_position(topo, shape, d)
   if shape[d] == topo.dims[d] then
      return 0
   end
   return topo.dims[d] - (topo.wrap[d] and 1 or shape[d])
end

local function each_position(topo, shape, fn)
   local at = {}
   local function go(d)
      if d > #shape then
         fn(at)
         return
      end
      for x = 0, last_position(topo, shape, d) do
         at[d] = x
         go(d + 1)
      end
   end
   go(1)
end

-- Free nodes of a box, the routers with most free nodes first (a job alone on a router meets no
-- stranger there).
local function free_in(topo, at, shape, free_on)
   local routers, total = {}, 0
   each_router(topo, at, shape, function(r)
      local list = free_on[r]
      if list then
         routers[#routers + 1] = { r = r, list = list }
         total = total + #list
      end
   end)
   return routers, total
end

local function choose(routers, count)
   table.sort(routers, function(a, b)
      return #a.list ~= #b.list and #a.list > #b.list or #a.list == #b.list and a.r < b.r
   end)
   local chosen = {}
   for _, x in ipairs(routers) do
      for _, n in ipairs(x.list) do
         if #chosen < count then
            chosen[#chosen + 1] = n
         end
      end
   end
   table.sort(chosen)
   return chosen
end

local function by_router(topo, free)
   local on = {}
   for n in pairs(free) do
      local r = topo:router(n)
      on[r] = on[r] or {}
      table.insert(on[r], n)
   end
   for _, list in pairs(on) do
      table.sort(list)
   end
   return on
end

-- Score a set of nodes into c.
local function rate(topo, c, nodes, avoid)
   local s = score.of(topo, nodes, avoid)
   c.nodes, c.mean_hops, c.max_hops = nodes, s.mean_hops, s.max_hops
   c.crossing, c.slowest, c.through = s.crossing, s.slowest, s.through
   return c
end

local function candidate(topo, at, shape, routers, count, avoid)
   local pool = {}
   for _, x in ipairs(routers) do
      table.move(x.list, 1, #x.list, #pool + 1, pool)
   end
   local c = { at = table.move(at, 1, #at, 1, {}), shape = shape, volume = shape.volume,
      density = count / (shape.volume * topo.nodes_per_router), pool = pool }
   return rate(topo, c, choose(routers, count), avoid)
end

-- What node n costs among the others: hops both ways, and slow links far above them.
local function burden(topo, n, others, skip, avoid)
   local cost = 0
   for _, m in ipairs(others) do
      if m ~= n and m ~= skip then
         cost = cost + topo:hops(n, m)
         for _, route in ipairs(next(avoid) and { stages.all(topo:route(n, m)),
            stages.all(topo:route(m, n)) } or {}) do
            for _, c in ipairs(route) do
               cost = cost + (avoid[c] and SLOW_COST or 0)
            end
         end
      end
   end
   return cost
end

-- The member that `pick` says is the extreme one, and its burden.
local function extreme(topo, list, others, skip, avoid, pick)
   local best, cost
   for _, n in ipairs(list) do
      local b = burden(topo, n, others, skip, avoid)
      if not cost or pick(b, cost) then
         best, cost = n, b
      end
   end
   return best, cost
end

-- Exchange the worst node for the best one left over in the box, while that helps.
local function refine(topo, c, avoid)
   local chosen, spare = {}, {}
   for _, n in ipairs(c.nodes) do
      chosen[n] = true
   end
   for _, n in ipairs(c.pool) do
      spare[#spare + 1] = not chosen[n] and n or nil
   end
   for _ = 1, #spare > 0 and #c.nodes <= REFINED_NODES and REFINED_STEPS or 0 do
      local worst, was = extreme(topo, c.nodes, c.nodes, nil, avoid,
         function(a, b) return a > b end)
      local best, is = extreme(topo, spare, c.nodes, worst, avoid,
         function(a, b) return a < b end)
      if is >= was then
         break
      end
      for i, n in ipairs(c.nodes) do
         c.nodes[i] = n == worst and best or n
      end
      for i, n in ipairs(spare) do
         spare[i] = n == best and worst or n
      end
   end
   table.sort(c.nodes)
   return rate(topo, c, c.nodes, avoid)
end

local function better(a, b)
   if a.crossing ~= b.crossing then
      return a.crossing < b.crossing
   elseif a.mean_hops ~= b.mean_hops then
      return a.mean_hops < b.mean_hops
   elseif a.density ~= b.density then
      return a.density > b.density
   end
   return a.nodes[1] < b.nodes[1]
end

-- The same nodes found in several boxes count once, in the smallest.
local function distinct(list, top)
   local seen, out = {}, {}
   for _, c in ipairs(list) do
      local key = table.concat(c.nodes, ",")
      if not seen[key] and #out < top then
         seen[key] = true
         out[#out + 1] = c
      end
   end
   return out
end

--- @param topo torus
-- @param free set of node numbers
-- @param count nodes wanted
-- @param o table: avoid = map component → capacity left; top = answers (default 5)
-- @return array of { nodes, at, shape, volume, density, mean_hops, max_hops, crossing, slowest,
--   through }, the best first; or nil and why there is none
function place.search(topo, free, count, o)
   local on, total = by_router(topo, free), 0
   for _, list in pairs(on) do
      total = total + #list
   end
   if total < count then
      return nil, ("%d nodes asked for, %d are free and healthy"):format(count, total)
   end
   local found, limit = {}, math.huge
   for _, shape in ipairs(shapes(topo)) do
      if shape.volume > limit or #found >= KEPT then
         break
      end
      if shape.volume * topo.nodes_per_router >= count then
         each_position(topo, shape, function(at)
            local routers, n = free_in(topo, at, shape, on)
            if n >= count and #found < KEPT then
               found[#found + 1] = candidate(topo, at, shape, routers, count, o.avoid or {})
               limit = math.min(limit, math.max(shape.volume + 1, shape.volume * 3 // 2))
            end
         end)
      end
   end
   table.sort(found, better)
   for i = 1, math.min(#found, REFINED) do
      refine(topo, found[i], o.avoid or {})
   end
   table.sort(found, better)
   return distinct(found, o.top or 5)
end

return place
