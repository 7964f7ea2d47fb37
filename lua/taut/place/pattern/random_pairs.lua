-- SPDX-License-Identifier: GPL-2.0-or-later
--- Ranks exchange messages in pairs drawn at random; of an odd number one stays silent.
local random_pairs = { takes = { "bytes", "seed" } }

-- Numbers of our own, so that a seed means the same pairs on every machine and leaves the
-- program's other random numbers alone: D. Knuth's 64-bit linear congruential generator (MMIX).
local function generator(seed)
   local x = seed
   return function(most) -- 1 … most
      x = x * 6364136223846793005 + 1442695040888963407
      return (x >> 33) % most + 1
   end
end

--- @param ranks ranks
-- @param options { bytes =, seed = (default 1) }
function random_pairs.steps(ranks, options)
   local order, draw, src, dst = {}, generator(options.seed or 1), {}, {}
   for i = 1, ranks do
      order[i] = i
   end
   for i = ranks, 2, -1 do
      local j = draw(i)
      order[i], order[j] = order[j], order[i]
   end
   for i = 1, ranks - 1, 2 do
      src[i], dst[i], src[i + 1], dst[i + 1] = order[i], order[i + 1], order[i + 1], order[i]
   end
   return { { kind = "pairs", src = src, dst = dst, bytes = options.bytes, times = 1 } }
end

return random_pairs
