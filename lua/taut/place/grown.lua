-- SPDX-License-Identifier: GPL-2.0-or-later
--- Sets grown around a router: the nearest free nodes, over links that are well.  For fabrics
-- without a shape of their own, and one more candidate everywhere.
local common = require "taut.place.common"
local sets = require "taut.sets"

local place = {}

local SEEDS = 24  -- routers tried, spread over those with free nodes
local SLOW = 0.75 -- links with less left are not grown over

local kernels = setmetatable({}, { __mode = "k" })

local function kernel_of(topo)
   local k = kernels[topo]
   if not k then
      k = { sets = sets.new(topo.graph) }
      kernels[topo] = k
   end
   return k
end

local function avoided(topo, left)
   local list = {}
   for c, share in pairs(left or {}) do
      if topo:is_link(c) and share < SLOW then
         list[#list + 1] = c
      end
   end
   return list
end

local function load_free(k, free, o)
   if not o.version or k.free ~= free or k.version ~= o.version or k.per_router ~= o.per_router then
      k.sets:free(free, o.per_router)
   end
   k.free, k.version, k.per_router = free, o.version, o.per_router
end

--- Free nodes beside each set: those on its routers, and on those next to them, that are not in it.
-- A set that is taken leaves them in pieces.
-- @param list of candidates; each gets `surface`
function place.surfaces(topo, free, list, o)
   local k = kernel_of(topo)
   load_free(k, free, { version = o.version })
   for _, c in ipairs(list) do
      c.surface = k.sets:surface(c.nodes)
   end
end

--- See taut.place.
function place.search(topo, free, count, o)
   local k = kernel_of(topo)
   local s = k.sets
   load_free(k, free, o)
   s:avoid(avoided(topo, o.left))
   local found, out, take = {}, {}, common.taker()
   for _, r in ipairs(s:seeds(SEEDS)) do
      local hops = s:reach(r, count)
      if hops then
         found[#found + 1] = { router = r, hops = hops }
      end
   end
   table.sort(found, function(a, b)
      return a.hops ~= b.hops and a.hops < b.hops or a.hops == b.hops and a.router < b.router
   end)
   for i = 1, math.min(#found, o.grown or o.top) do
      local nodes = assert(s:grow(found[i].router, count, o.rank))
      take(out, { nodes = nodes, kind = "grown", cost = found[i].hops / count,
         shape = "set grown around " .. topo.router_name[found[i].router] })
   end
   return out
end

return place
