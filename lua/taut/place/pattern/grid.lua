-- SPDX-License-Identifier: GPL-2.0-or-later
--- Grids of ranks: how many go into each dimension, and who is whose neighbour.
--
-- Ranks are numbered as MPI_Cart_create does: the last coordinate runs fastest.
local tables = require "taut.base.tables"

local grid = {}

local MOST_DIMS = 6

-- Lengths whose product is `ranks`, none above `most`: the least sum, so the nearest to a cube.
local function best_split(ranks, dims, most, known)
   if dims == 1 and ranks <= most then
      return { ranks }
   elseif dims == 1 then
      return nil
   end
   local key = (ranks << 24 | most) * MOST_DIMS + dims
   if known[key] ~= nil then
      return known[key] or nil
   end
   local best, sum
   for d = 1, math.floor(math.min(ranks, most)) do
      if ranks % d == 0 and d ^ dims >= ranks then
         local rest = best_split(ranks // d, dims - 1, d, known)
         local total = d
         for _, len in ipairs(rest or {}) do
            total = total + len
         end
         if rest and (not sum or total < sum) then
            best, sum = { d, table.unpack(rest) }, total
         end
      end
   end
   known[key] = best or false
   return best
end

--- The most even grid of so many places, the longest dimension first, as MPI_Dims_create gives it.
-- @param ranks ranks
-- @param dims how many dimensions
-- @return array of lengths
function grid.balanced(ranks, dims)
   return best_split(ranks, dims, ranks, {})
end

--- "8x4x4" as an array.
-- @return array, or nil and what was expected
function grid.parse(text)
   local list = {}
   for part in (text .. "x"):gmatch "([^x]*)x" do
      local len = part:find "^%d%d?%d?%d?%d?%d?%d?$" and math.tointeger(tonumber(part))
      if not len or len < 1 then
         return nil, ("expected lengths such as 8x4x4, got '%s'"):format(text)
      end
      list[#list + 1] = len
   end
   return list
end

--- Take a given grid, or the balanced one.
-- @param ranks ranks
-- @param dims dimensions that the pattern has
-- @param given array or nil
-- @return array, or nil and what was expected
function grid.take(ranks, dims, given)
   if not given then
      return grid.balanced(ranks, dims)
   end
   local places, text = 1, table.concat(given, "x")
   for _, len in ipairs(given) do
      places = places * len
      if len < 1 or places > ranks then
         break -- before it is too much for an integer
      end
   end
   if #given ~= dims then
      return nil, ("grid %s has %d dimensions, the pattern has %d"):format(text, #given, dims)
   elseif places ~= ranks then
      return nil, ("grid %s does not have %d places, one for each rank"):format(text, ranks)
   end
   return given
end

--- For each rank and each offset that leads to another rank: fn(rank, other, offset number).
-- @param dims lengths
-- @param offsets array of arrays of -1, 0 or 1
-- @param periodic the last place of a dimension is next to the first
function grid.each(dims, offsets, periodic, fn)
   local at, n = {}, 1
   for d, len in ipairs(dims) do
      at[d], n = 0, n * len
   end
   for rank = 1, n do
      for k, offset in ipairs(offsets) do
         local other = 0
         for d, len in ipairs(dims) do
            local x = at[d] + offset[d]
            if not periodic and (x < 0 or x >= len) then
               other = nil
               break
            end
            other = other * len + x % len
         end
         if other and other + 1 ~= rank then
            fn(rank, other + 1, k)
         end
      end
      local d = #dims
      while d > 0 do
         at[d] = at[d] + 1
         if at[d] < dims[d] then
            break
         end
         at[d], d = 0, d - 1
      end
   end
end

--- Offsets to the two neighbours in each dimension.
function grid.faces(dims)
   local list = {}
   for d = 1, dims do
      for _, step in ipairs { 1, -1 } do
         local offset = tables.fill(1, dims, function() return 0 end)
         offset[d] = step
         list[#list + 1] = offset
      end
   end
   return list
end

--- The 26 neighbours of a place in three dimensions: offsets; `far`: over a face (1), an edge (2)
-- or a corner (3).
function grid.around()
   local list = {}
   for i = 0, 26 do
      local o = { i // 9 - 1, i // 3 % 3 - 1, i % 3 - 1 }
      o.far = math.abs(o[1]) + math.abs(o[2]) + math.abs(o[3])
      if o.far > 0 then
         list[#list + 1] = o
      end
   end
   return list
end

return grid
