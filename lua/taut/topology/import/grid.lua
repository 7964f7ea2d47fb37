-- SPDX-License-Identifier: GPL-2.0-or-later
--- Routers at the points of a torus, and the cables between them.
--
-- For formats that give coordinates but no cables: a torus has one between all neighbours.
local grid = {}

local LETTERS = { "X", "Y", "Z", "A", "B", "C" }

-- Number of points, or nil when there are more than the limit.
local function count_points(dims, limit)
   local n = 1
   for _, d in ipairs(dims) do
      n = n * d
      if n > limit then
         return nil
      end
   end
   return n
end

--- Add the routers of a torus to a wiring being made, first coordinate slowest, and its cables.
-- @param wiring wiring being made
-- @param line of the file
-- @param dims lengths
-- @param prefix of the routers' names
-- @param limit on their number
-- @return function of coordinates (array, from 0) → router, or nil when there are too many
function grid.torus(wiring, line, dims, prefix, limit)
   local count = count_points(dims, limit)
   if not count then
      return nil
   end
   local base = #wiring.routers
   for i = 0, count - 1 do
      local at, rest = {}, i
      for d = #dims, 1, -1 do
         at[d] = rest % dims[d]
         rest = rest // dims[d]
      end
      wiring:router(line, { name = prefix .. table.concat(at, "."), coord = at })
   end
   local stride = count
   for d, len in ipairs(dims) do
      stride = stride // len
      for i = 0, count - 1 do
         local x = i // stride % len
         -- a ring of two has one cable, "+" at both ends
         if len > 2 or len == 2 and x == 0 then
            local j = i + ((x + 1) % len - x) * stride
            local far_sign = "-"
            if len == 2 then
               far_sign = "+"
            end
            wiring:cable { a = base + i + 1, a_port = LETTERS[d] .. "+", b = base + j + 1,
               b_port = LETTERS[d] .. far_sign }
         end
      end
   end
   return function(at)
      local i = 0
      for d, len in ipairs(dims) do
         i = i * len + at[d]
      end
      return base + i + 1
   end
end

return grid
