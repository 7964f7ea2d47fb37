-- SPDX-License-Identifier: GPL-2.0-or-later
--- Nearest neighbours in a grid of any number of dimensions: what halo2d, halo3d and lattice4d are.
local grid = require "taut.place.pattern.grid"

local halo = {}

--- One step in which everybody sends one message to both neighbours in each dimension.  Where a
-- periodic dimension has two places, both messages go to the same rank; where it has one, none.
-- @param dims how many dimensions
-- @return function(n, o = { bytes =, grid = lengths or nil, periodic = default true })
--   → steps, grid; or nil and what was expected
function halo.steps_of(dims)
   return function(ranks, options)
      local lengths, err = grid.take(ranks, dims, options.grid)
      if not lengths then
         return nil, err
      end
      local src, dst = {}, {}
      grid.each(lengths, grid.faces(dims), options.periodic ~= false, function(rank, other)
         src[#src + 1], dst[#dst + 1] = rank, other
      end)
      return { { kind = "pairs", src = src, dst = dst, bytes = options.bytes, times = 1 } }, lengths
   end
end

return halo
