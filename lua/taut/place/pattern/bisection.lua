-- SPDX-License-Identifier: GPL-2.0-or-later
--- The first half of the ranks exchanges messages with the second: rank i with i + n/2.
local bisection = { takes = { "bytes" } }

--- @param ranks ranks; of an odd number the last one stays silent
-- @param options { bytes = }
function bisection.steps(ranks, options)
   local half, src, dst = ranks // 2, {}, {}
   for i = 1, half do
      src[i], dst[i], src[half + i], dst[half + i] = i, half + i, half + i, i
   end
   return { { kind = "pairs", src = src, dst = dst, bytes = options.bytes, times = 1 } }
end

return bisection
