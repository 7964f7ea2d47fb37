-- SPDX-License-Identifier: GPL-2.0-or-later
--- All-reduce by recursive doubling: in round k everybody exchanges the whole vector with the rank
-- whose number differs in bit k.
--
-- If n is not a power of two, the excess ranks hand their vector to a neighbour first and get the
-- result from it in the end.  Source:  R.  Thakur, R.  Rabenseifner, W.  Gropp, "Optimization of
-- collective communication operations in MPICH", Int.  J.  High Perform.  Comput.  Appl. 19 (2005).
local all_reduce_rd = { takes = { "bytes" } }

local function pairs_step(bytes, src, dst)
   return { kind = "pairs", src = src, dst = dst, bytes = bytes, times = 1 }
end

-- The even ones of the first 2 * extra ranks (from 0) and their odd neighbours, from 1.
local function fold_step(extra)
   local even, odd = {}, {}
   for i = 1, extra do
      even[i], odd[i] = 2 * i - 1, 2 * i
   end
   return even, odd
end

--- @param ranks ranks
-- @param options { bytes = of the whole vector }
function all_reduce_rd.steps(ranks, options)
   local power, steps = 1, {}
   while power * 2 <= ranks do
      power = power * 2
   end
   local extra = ranks - power
   local even, odd = fold_step(extra)
   if extra > 0 then
      steps[1] = pairs_step(options.bytes, even, odd)
   end
   local function rank_of(index) -- of those that take part, from 0
      if index < extra then
         return odd[index + 1]
      end
      return index + extra + 1
   end
   local bit = 1
   while bit < power do
      local src, dst = {}, {}
      for i = 0, power - 1 do
         src[i + 1], dst[i + 1] = rank_of(i), rank_of(i ~ bit)
      end
      steps[#steps + 1] = pairs_step(options.bytes, src, dst)
      bit = bit * 2
   end
   if extra > 0 then
      steps[#steps + 1] = pairs_step(options.bytes, odd, even)
   end
   return steps
end

return all_reduce_rd
