-- SPDX-License-Identifier: GPL-2.0-or-later
--- Halo exchange of a three-dimensional grid of ranks with all 26 neighbours: faces, edges and
-- corners, as a 27-point stencil needs them.
--
-- A rank's block has `side` cells along each edge; with b bytes for a face (side * side cells) an
-- edge has b / side and a corner b / side^2.
local grid = require "taut.place.pattern.grid"

local halo27 = { messages = 26, takes = { "bytes", "grid", "periodic", "side" } }

local function offsets()
   local list = {}
   for i = 0, 26 do
      local o = { i // 9 - 1, i // 3 % 3 - 1, i % 3 - 1 }
      o.far = math.abs(o[1]) + math.abs(o[2]) + math.abs(o[3])
      list[#list + 1] = o.far > 0 and o or nil
   end
   return list
end

--- @param n ranks
-- @param o { bytes = of a face, grid =, periodic = (default true), side = cells (default 32) }
-- @return steps, grid; or nil and what was expected
function halo27.steps(n, o)
   local lengths, err = grid.take(n, 3, o.grid)
   if not lengths then
      return nil, err
   end
   local src, dst, bytes, list = {}, {}, {}, offsets()
   grid.each(lengths, list, o.periodic ~= false, function(a, b, k)
      local i = #src + 1
      src[i], dst[i] = a, b
      bytes[i] = o.bytes / (o.side or 32) ^ (list[k].far - 1)
   end)
   return { { kind = "pairs", src = src, dst = dst, bytes = bytes, times = 1 } }, lengths
end

return halo27
