-- SPDX-License-Identifier: GPL-2.0-or-later
--- Everybody to everybody else in steps, as MPI does it with long messages: pairwise exchange, in
-- which rank i meets rank i xor k, where the ranks are a power of two; else shifts by 1, 2, …
--
-- Source: R. Thakur, R. Rabenseifner, W. Gropp, as all_reduce_rd.lua.
local motif = require "taut.place.pattern.motif"

local MOST_RANKS = 2048

local function exchange_step(ranks, number, bytes, by_xor)
   local src, dst = {}, {}
   for i = 0, ranks - 1 do
      src[i + 1], dst[i + 1] = i + 1, (i + number) % ranks + 1
      if by_xor then
         dst[i + 1] = (i ~ number) + 1
      end
   end
   return { src = src, dst = dst, bytes = bytes, waits = "all" }
end

return motif.of { summary = "all-to-all step by step: pairwise exchange, else shifts",
   takes = { "bytes", "way" }, sized = false, shape = "any", dims = 1,
   -- @param options { bytes = of one message, way = "pairwise" or "shift" (what fits the ranks) }
   phases = function(ranks, options)
      local is_power = ranks & (ranks - 1) == 0
      if options.way == "pairwise" and not is_power then
         return nil, ("pairwise exchange: expected a power of two of ranks, got %d"):format(ranks)
      elseif ranks > MOST_RANKS then
         return nil, ("expected at most %d ranks (all-to-all has no such limit), got %d"):format(
            MOST_RANKS, ranks)
      end
      local phases = {}
      for k = 1, ranks - 1 do
         phases[k] = exchange_step(ranks, k, options.bytes, is_power and options.way ~= "shift")
      end
      return phases
   end }
