-- SPDX-License-Identifier: GPL-2.0-or-later
--- Everybody sends one message to the rank a number of places further on.
local shift = { takes = { "bytes", "by" } }

--- One step of as many pairs as ranks, rank i to rank i + by modulo their number.
-- @param ranks ranks
-- @param options { bytes =, by = places (default 1) }
function shift.steps(ranks, options)
   local src, dst, by = {}, {}, (options.by or 1) % ranks
   if by > 0 then
      for i = 1, ranks do
         src[i], dst[i] = i, (i - 1 + by) % ranks + 1
      end
   end
   return { { kind = "pairs", src = src, dst = dst, bytes = options.bytes, times = 1 } }
end

return shift
