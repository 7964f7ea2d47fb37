-- SPDX-License-Identifier: GPL-2.0-or-later
--- Sets of a HyperX: rows, planes and boxes.
--
-- Any two routers of a row are linked, so that a box is the product of any coordinates of each
-- dimension, neighbours or not. For each shape those with most free nodes are taken, one dimension
-- after the other until nothing changes.
local tables = require "taut.base.tables"
local common = require "taut.place.common"

local place = {}

local SHAPES = 24 -- tried at most
local ROUNDS = 3

-- Shapes that could hold enough if free nodes are spread evenly, the most compact first.
local function shapes_for(topo, count, share)
   local list = {}
   local function extend_shape(dim, shape, volume)
      if dim > #topo.dims then
         if volume * share >= count * 0.95 and volume * share <= count * 2 + 8 * share then
            local s, sides = table.move(shape, 1, #shape, 1, {}), 0
            for _, e in ipairs(s) do
               sides = sides + (e - 1) / e -- hops between random places
            end
            s.volume, s.sides = volume, sides
            list[#list + 1] = s
         end
         return
      end
      for e = 1, topo.dims[dim] do
         shape[dim] = e
         extend_shape(dim + 1, shape, volume * e)
      end
   end
   extend_shape(1, {}, 1)
   table.sort(list, function(one, other)
      if one.sides * one.volume ~= other.sides * other.volume then
         return one.sides * one.volume < other.sides * other.volume
      end
      return common.compare(one, other) < 0
   end)
   return list
end

-- So many coordinates of a dimension with most free nodes among what the others leave.
local function pick_coordinates(topo, count_at, chosen, dim, wanted, at)
   local sum = {}
   for r, n in pairs(count_at) do
      local inside = true
      for k = 1, #topo.dims do
         inside = inside and (k == dim or chosen[k][at[r][k]])
      end
      if inside then
         local x = at[r][dim]
         sum[x] = (sum[x] or 0) + n
      end
   end
   local list, set = {}, {}
   for x = 0, topo.dims[dim] - 1 do
      list[#list + 1] = x
   end
   table.sort(list, function(one, other)
      local sa, sb = sum[one] or 0, sum[other] or 0
      return sa > sb or sa == sb and one < other
   end)
   for i = 1, wanted do
      set[list[i]] = true
   end
   return set
end

local function box_of(topo, count_at, at, shape)
   local chosen = tables.fill(1, #topo.dims, function()
      return setmetatable({}, { __index = function() return true end })
   end)
   for _ = 1, ROUNDS do
      for d, e in ipairs(shape) do
         chosen[d] = pick_coordinates(topo, count_at, chosen, d, e, at)
      end
   end
   local routers, n = {}, 0
   for r, c in pairs(count_at) do
      local inside = true
      for d = 1, #topo.dims do
         inside = inside and chosen[d][at[r][d]]
      end
      if inside then
         routers[#routers + 1], n = r, n + c
      end
   end
   table.sort(routers)
   return routers, n
end

local function name_of(shape)
   local long = tables.count(shape, function(extent) return extent > 1 end)
   local words = { [0] = "router", "row", "plane" }
   return ("%s of %s routers"):format(words[long] or "box", table.concat(shape, "×"))
end

-- What a router counts: its free nodes, or nothing where it has to be free wholly and is not; a
-- router at a bad link counts less.
local function count_routers(topo, on, options)
   local _, total = common.routers(topo)
   local count_at, at, n = {}, {}, 0
   for r, list in pairs(on) do
      if not options.exclusive or #list == total[r] then
         count_at[r], at[r] = #list, topo:coordinates(r)
         n = n + #list
      end
   end
   for c, share in pairs(options.left or {}) do
      if topo:is_link(c) and share < 1 then
         for _, r in ipairs { topo:from(c), topo:to(c) } do
            count_at[r] = count_at[r] and math.min(count_at[r], 0.5)
         end
      end
   end
   return count_at, at, n
end

--- Free nodes in rows that are free almost wholly; planes where a row has too few nodes.
function place.dense(topo, free, least, density, taken)
   local best = 0
   for d = 1, #topo.dims do
      best = math.max(best, common.dense(topo, free, least, density, taken, function(router)
         local at = topo:coordinates(router)
         at[d] = -1
         return table.concat(at, ",")
      end))
   end
   return best
end

--- See taut.place.
function place.search(topo, free, count, options)
   local on = common.by_router(topo, free, options)
   local count_at, at, n = count_routers(topo, on, options)
   local out, take, tried = {}, common.taker(), 0
   for _, shape in ipairs(shapes_for(topo, count, n / topo.routers)) do
      tried = tried + 1
      if tried > SHAPES or #out >= 2 * options.top then
         break
      end
      local routers = box_of(topo, count_at, at, shape)
      for _, evenly in ipairs { false, true } do
         local nodes = common.fill(on, routers, count, evenly)
         if #nodes == count then
            take(out, common.describe(topo, free, { nodes = common.sorted(nodes, options),
               kind = "box",
               shape = name_of(shape), cost = shape.sides }))
         end
      end
   end
   return out
end

return place
