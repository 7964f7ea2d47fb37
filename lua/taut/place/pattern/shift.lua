-- SPDX-License-Identifier: GPL-2.0-or-later
--- Everybody sends one message to the rank a number of places further on.
local shift = { takes = { "bytes", "by" } }

--- One step of n pairs, rank i to rank i + by modulo n.
-- @param n ranks
-- @param o { bytes =, by = places (default 1) }
function shift.steps(n, o)
   local src, dst, by = {}, {}, (o.by or 1) % n
   for i = 1, by > 0 and n or 0 do
      src[i], dst[i] = i, (i - 1 + by) % n + 1
   end
   return { { kind = "pairs", src = src, dst = dst, bytes = o.bytes, times = 1 } }
end

return shift
