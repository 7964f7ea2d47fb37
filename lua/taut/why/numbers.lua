-- SPDX-License-Identifier: GPL-2.0-or-later
--- Medians and what lies far from them.
local numbers = {}

local SIGMA = 1.4826 -- of a normal distribution, over its median absolute deviation

--- The value below which a share of them lies; nil of none.
function numbers.quantile(list, share)
   if #list == 0 then
      return nil
   end
   local sorted = table.move(list, 1, #list, 1, {})
   table.sort(sorted)
   local at = 1 + share * (#sorted - 1)
   local low = math.floor(at)
   local high = math.min(low + 1, #sorted)
   return sorted[low] + (at - low) * (sorted[high] - sorted[low])
end

--- Median, and a spread that a few values far away do not change.
-- @return median, spread (as a standard deviation); nil of none
function numbers.middle(list)
   local median = numbers.quantile(list, 0.5)
   if not median then
      return nil
   end
   local off = {}
   for i, v in ipairs(list) do
      off[i] = math.abs(v - median)
   end
   return median, SIGMA * numbers.quantile(off, 0.5)
end

--- The values that are far from all others.
-- @param rows array of { name, value }
-- @param options { share = of the median, least = in the value's own unit, most = how many }:
--   nearer than the larger of the two, or than five spreads, is not far
-- @return { median, spread, out = array of { name, value }, the farthest first }; nil of none
function numbers.outliers(rows, options)
   local list = {}
   for i, r in ipairs(rows) do
      list[i] = r[2]
   end
   local median, spread = numbers.middle(list)
   if not median then
      return nil
   end
   local far, out = math.max(5 * spread, (options.share or 0) * math.abs(median), options.least
      or 0), {}
   for _, r in ipairs(rows) do
      if #rows > 2 and math.abs(r[2] - median) > far then
         out[#out + 1] = r
      end
   end
   table.sort(out, function(one, other)
      local x, y = math.abs(one[2] - median), math.abs(other[2] - median)
      return x > y or x == y and one[1] < other[1]
   end)
   for i = #out, (options.most or 4) + 1, -1 do
      out[i] = nil
   end
   return { median = median, spread = spread, out = out }
end

return numbers
