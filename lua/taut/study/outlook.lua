-- SPDX-License-Identifier: GPL-2.0-or-later
--- When the next threshold is reached, with the failures a day that were seen.
--
-- Failures come one by one at a steady rate; after t days the number of cables that are out is that
-- of today and rate * t more, give or take the root of it (Poisson).
local outlook = {}

local DAY = 86400

--- Cables that failed, from stored observations: each link once.
-- @param list observations { components, left, class, to }
-- @param days looked at
-- @param is_cable function(name): is the component a link between routers?
-- @return failures a day over the days looked at, how many
function outlook.rate(list, days, is_cable)
   local seen, n = {}, 0
   for _, o in ipairs(list) do
      local is_failure = o.left == 0 or o.class == "fatal"
      for _, name in ipairs(o.components or {}) do
         if is_failure and is_cable(name) and not seen[name] then
            seen[name], n = true, n + 1
            break
         end
      end
   end
   return n / days, n
end

--- Degradation at growing numbers of failed cables, and the day of each threshold.
-- @param curve array of { failed = more than today, degradation } ascending, as repair.when gives
-- @param rate failures a day
-- @param limits array of degradations
-- @return array of { limit, failed, days, early, late } of one standard deviation either way; days
--   is nil where the curve does not reach it
function outlook.days(curve, rate, limits)
   local out = {}
   for i, limit in ipairs(limits) do
      local at
      for k, p in ipairs(curve) do
         local before = curve[k - 1]
         if p.degradation >= limit and not at then
            local f = 1
            if before and p.degradation > before.degradation then
               f = (limit - before.degradation) / (p.degradation - before.degradation)
            end
            at = 0
            if before then
               at = before.failed + f * (p.failed - before.failed)
            end
         end
      end
      out[i] = { limit = limit, failed = at }
      if at and rate > 0 then
         local spread = math.sqrt(at)
         out[i].days, out[i].early = at / rate, math.max(0, at - spread) / rate
         out[i].late = (at + spread) / rate
      end
   end
   return out
end

outlook.DAY = DAY

return outlook
