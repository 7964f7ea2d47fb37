-- SPDX-License-Identifier: GPL-2.0-or-later
--- Ranks exchange messages in pairs drawn at random; of an odd number one stays silent.
local random_pairs = { takes = { "bytes", "seed" } }

-- Numbers of our own, so that a seed means the same pairs on every machine and leaves the
-- program's other random numbers alone: D. Knuth's 64-bit linear congruential generator (MMIX).
local function numbers(seed)
   local x = seed
   return function(n) -- 1 … n
      x = x * 6364136223846793005 + 1442695040888963407
      return (x >> 33) % n + 1
   end
end

--- @param n ranks
-- @param o { bytes =, seed = (default 1) }
function random_pairs.steps(n, o)
   local order, draw, src, dst = {}, numbers(o.seed or 1), {}, {}
   for i = 1, n do
      order[i] = i
   end
   for i = n, 2, -1 do
      local j = draw(i)
      order[i], order[j] = order[j], order[i]
   end
   for i = 1, n - 1, 2 do
      src[i], dst[i], src[i + 1], dst[i + 1] = order[i], order[i + 1], order[i + 1], order[i]
   end
   return { { kind = "pairs", src = src, dst = dst, bytes = o.bytes, times = 1 } }
end

return random_pairs
