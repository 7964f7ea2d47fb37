-- SPDX-License-Identifier: GPL-2.0-or-later
--- Medians, and how sure they are.
local stats = {}

local function sorted(list)
   local copy = table.move(list, 1, #list, 1, {})
   table.sort(copy)
   return copy
end

--- @param list numbers
-- @param share 0 … 1
-- @return that quantile, between two values where it falls between them; nil of an empty list
function stats.quantile(list, share)
   local s = sorted(list)
   if #s == 0 then
      return nil
   end
   local at = 1 + share * (#s - 1)
   local low = math.floor(at)
   local high = math.min(low + 1, #s)
   if at == low or s[low] == s[high] then
      return s[low] -- which may be infinite
   end
   return s[low] + (at - low) * (s[high] - s[low])
end

function stats.median(list)
   return stats.quantile(list, 0.5)
end

function stats.mean(list)
   local sum = 0
   for _, v in ipairs(list) do
      sum = sum + v
   end
   return #list > 0 and sum / #list or nil
end

--- The 95 % interval of a median, by bootstrap (percentiles of 2000 resamples).
-- @return lower end, upper end
function stats.interval(list)
   local medians, again = {}, {}
   for i = 1, 2000 do
      for k = 1, #list do
         again[k] = list[math.random(#list)]
      end
      medians[i] = stats.median(again)
   end
   return stats.quantile(medians, 0.025), stats.quantile(medians, 0.975)
end

--- The 95 % interval of anything that is worked out from n samples, by bootstrap (percentiles of
-- 1000 resamples).
-- @param n how many samples there are
-- @param fn gets an array of n of their numbers (1 … n, some twice), gives a number
-- @return lower end, upper end
function stats.resampled(n, fn)
   local values, numbers = {}, {}
   for i = 1, 1000 do
      for k = 1, n do
         numbers[k] = math.random(n)
      end
      values[i] = fn(numbers)
   end
   return stats.quantile(values, 0.025), stats.quantile(values, 0.975)
end

math.randomseed(math.tointeger(tonumber(os.getenv "BENCH_SEED" or 1)))

return stats
