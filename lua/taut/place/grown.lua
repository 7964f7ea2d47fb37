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

local function avoided_routers(topo, left)
   local list = {}
   for c, share in pairs(left or {}) do
      if topo:is_link(c) and share < SLOW then
         list[#list + 1] = c
      end
   end
   return list
end

local function load_free(kept, free, options)
   if not options.version or kept.free ~= free or kept.version ~= options.version
      or kept.per_router ~= options.per_router then
      kept.sets:free(free, options.per_router)
   end
   kept.free, kept.version, kept.per_router = free, options.version, options.per_router
end

--- Free nodes beside each set: those on its routers, and on those next to them, that are not in it.
-- A set that is taken leaves them in pieces.
-- @param list of candidates; each gets `surface`
function place.surfaces(topo, free, list, options)
   local k = kernel_of(topo)
   load_free(k, free, { version = options.version })
   for _, c in ipairs(list) do
      c.surface = k.sets:surface(c.nodes)
   end
end

--- See taut.place.
function place.search(topo, free, count, options)
   local k = kernel_of(topo)
   local s = k.sets
   load_free(k, free, options)
   s:avoid(avoided_routers(topo, options.left))
   local found, out, take = {}, {}, common.taker()
   for _, r in ipairs(s:seeds(SEEDS)) do
      local hops = s:reach(r, count)
      if hops then
         found[#found + 1] = { router = r, hops = hops }
      end
   end
   table.sort(found, function(one, other)
      return one.hops < other.hops or one.hops == other.hops and one.router < other.router
   end)
   for i = 1, math.min(#found, options.grown or options.top) do
      local nodes = assert(s:grow(found[i].router, count, options.rank))
      take(out, { nodes = nodes, kind = "grown", cost = found[i].hops / count,
         shape = "set grown around " .. topo.router_name[found[i].router] })
   end
   return out
end

return place
