-- SPDX-License-Identifier: GPL-2.0-or-later
--- Halo exchange of a three-dimensional grid of ranks with all 26 neighbours: faces, edges and
-- corners, as a 27-point stencil needs them.
--
-- A rank's block has `side` cells along each edge; with b bytes for a face (side * side cells) an
-- edge has b / side and a corner b / side^2.
local grid = require "taut.place.pattern.grid"

local halo27 = { messages = 26, takes = { "bytes", "grid", "periodic", "side" } }

--- @param ranks ranks
-- @param options { bytes = of a face, grid =, periodic = (default true), side = cells (default 32)
--   }
-- @return steps, grid; or nil and what was expected
function halo27.steps(ranks, options)
   local lengths, err = grid.take(ranks, 3, options.grid)
   if not lengths then
      return nil, err
   end
   local src, dst, bytes, list = {}, {}, {}, grid.around()
   grid.each(lengths, list, options.periodic ~= false, function(rank, other, offset)
      local i = #src + 1
      src[i], dst[i] = rank, other
      bytes[i] = options.bytes / (options.side or 32) ^ (list[offset].far - 1)
   end)
   return { { kind = "pairs", src = src, dst = dst, bytes = bytes, times = 1 } }, lengths
end

return halo27
