-- SPDX-License-Identifier: GPL-2.0-or-later
--- Cutting sets of places in halves, along the axis on which they reach farthest.
local tables = require "taut.base.tables"
local boxes = {}

local function extent_along(places, at, axis)
   local lo, hi = math.huge, -math.huge
   for _, p in ipairs(places) do
      local x = at[p][axis]
      lo, hi = math.min(lo, x), math.max(hi, x)
   end
   return hi - lo
end

--- The axis on which places reach farthest.
-- @param places array
-- @param at map place → array of coordinates
-- @param axes how many coordinates
-- @param near function(axis) → how many times its length an axis counts (default 1)
function boxes.longest(places, at, axes, near)
   local best, most = 1, -1
   for axis = 1, axes do
      local e = extent_along(places, at, axis)
      if near then
         e = e * near(axis)
      end
      if e > most then
         best, most = axis, e
      end
   end
   return best
end

--- Sort places along an axis; those with one coordinate by the others.
-- @param places array; sorted in place
function boxes.sort(places, at, axes, first)
   table.sort(places, function(place, other)
      local a, b = at[place], at[other]
      if a[first] ~= b[first] then
         return a[first] < b[first]
      end
      for axis = 1, axes do
         if a[axis] ~= b[axis] then
            return a[axis] < b[axis]
         end
      end
      return place < other
   end)
end

--- Places in the order in which cutting in halves, and these again, reaches them: neighbours in
-- the list are close to each other.
-- @return array
function boxes.order(places, at, axes)
   local out = {}
   local function cut_list(list)
      if #list == 1 then
         out[#out + 1] = list[1]
         return
      end
      boxes.sort(list, at, axes, boxes.longest(list, at, axes))
      local half = #list // 2
      cut_list(table.move(list, 1, half, 1, {}))
      cut_list(table.move(list, half + 1, #list, 1, {}))
   end
   if #places > 0 then
      cut_list(table.move(places, 1, #places, 1, {}))
   end
   return out
end

--- Coordinates of ranks 1 … n of a grid.
function boxes.ranks(grid)
   local at, n = {}, 1
   for _, len in ipairs(grid) do
      n = n * len
   end
   for rank = 1, n do
      local rest, c = rank - 1, {}
      for d = #grid, 1, -1 do
         c[d] = rest % grid[d]
         rest = rest // grid[d]
      end
      at[rank] = c
   end
   return at
end

-- Begin to count a ring behind the largest gap, so that a box across its seam is a box.
local function unroll_ring(at, axis, len)
   local used = {}
   for _, c in pairs(at) do
      used[c[axis]] = true
   end
   local list = tables.keys(used)
   local start, gap = list[1], list[1] + len - list[#list]
   for i = 2, #list do
      if list[i] - list[i - 1] > gap then
         start, gap = list[i], list[i] - list[i - 1]
      end
   end
   for _, c in pairs(at) do
      c[axis] = (c[axis] - start) % len
   end
end

--- Coordinates of nodes, where the topology has some: of the router, and the place there.
-- @return map node → array, how many axes; or nil
function boxes.nodes(topo, nodes)
   if not topo.coordinates or not topo.dims then
      return nil
   end
   local at, on = {}, {}
   for _, n in ipairs(nodes) do
      local r = topo:router(n)
      if not r then
         return nil
      end
      on[r] = (on[r] or 0) + 1
      local c = topo:coordinates(r)
      c[#topo.dims + 1] = on[r]
      at[n] = c
   end
   for axis, len in ipairs(topo.dims) do
      if topo.wrap and topo.wrap[axis] then
         unroll_ring(at, axis, len)
      end
   end
   return at, #topo.dims + 1
end

return boxes
