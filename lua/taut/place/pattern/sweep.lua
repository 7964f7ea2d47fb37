-- SPDX-License-Identifier: GPL-2.0-or-later
--- Wavefront sweep over a two-dimensional grid of ranks (transport codes: Sweep3D, Kripke).
--
-- A sweep from a corner passes a message on in both dimensions, away from that corner. With the
-- many planes of a rank's block in flight all ranks send at once. So one step stands for a full
-- pipeline, and each of the four corners has one. Source: K. R. Koch, R. S. Baker, R. E. Alcouffe,
-- "Solution of the first-order form of the 3-D discrete ordinates equation on a massively parallel
-- processor", Trans. ANS 65 (1992).
local grid = require "taut.place.pattern.grid"

local sweep = { messages = 2, takes = { "bytes", "grid" } }

--- @param ranks ranks
-- @param options { bytes =, grid = lengths }
-- @return steps, grid; or nil and what was expected
function sweep.steps(ranks, options)
   local lengths, err = grid.take(ranks, 2, options.grid)
   if not lengths then
      return nil, err
   end
   local steps = {}
   for corner = 0, 3 do
      local src, dst = {}, {}
      local x, y = corner // 2 * 2 - 1, corner % 2 * 2 - 1
      grid.each(lengths, { { x, 0 }, { 0, y } }, false, function(rank, other)
         src[#src + 1], dst[#dst + 1] = rank, other
      end)
      steps[#steps + 1] = { kind = "pairs", src = src, dst = dst, bytes = options.bytes, times = 1 }
   end
   return steps, lengths
end

return sweep
