-- SPDX-License-Identifier: GPL-2.0-or-later
--- Baseline: regularised least squares on path values.
--
-- NetBouncer (C. Tan et al., NSDI 2019): each link has a latent value x in 0 … 1, a path's value y
-- is the product of those of its links, and the x are looked for that minimise
--   sum over paths of (y - product of x)^2  +  lambda * sum over links of x (1 - x)
-- by coordinate descent, each x in turn at the minimum of the parabola the others leave it; the
-- second term draws a value to 0 or 1.  Links of a path that did well are good, before anything is
-- solved; so are a device's.  A link below a threshold is bad.  y here is measured / expected
-- bandwidth of a path over a window.
local leastsquares = {}

-- Looked for by `campaign --tune --player leastsquares --seeds 1001
-- --faults-at-once 30 --faults 100 --warm 200 --jobs 4000`: recall 16 of 16, precision 16 of 856
-- (of the grid the two with below = 0.7 were not run).
leastsquares.tuned = { window_h = 24, lambda = 1, below = 0.5, fine = 0.9, paths = 8 }

leastsquares.grid = { window_h = { 24 }, lambda = { 0.3, 1 }, below = { 0.5, 0.7 },
   fine = { 0.9 }, paths = { 8 } }

local EVERY_S = 3600 -- the problem is solved again
local ROUNDS = 30    -- of the descent; it has settled long before
local SETTLED = 1e-4

function leastsquares.new(b)
   b.window, b.next, b.good_at = {}, 0, {}
end

-- Rows of the window by path: y is the mean; only components that no path of the window cleared.
local function problem(b, now)
   local oldest, kept, paths, list, on = now - b.s.window_h * 3600, {}, {}, {}, {}
   for _, r in ipairs(b.window) do
      if r.time >= oldest then
         kept[#kept + 1] = r
         local key = r.src << 32 | r.dst
         local p = paths[key]
         if not p then
            p = { sum = 0, n = 0, links = {} }
            paths[key], list[#list + 1] = p, p
            for _, c in ipairs(r.route) do
               if (b.good_at[c] or -1) < oldest then
                  p.links[#p.links + 1] = c
               end
            end
         end
         p.sum, p.n = p.sum + r.mean, p.n + 1
      end
   end
   b.window = kept
   for _, p in ipairs(list) do
      p.y = math.min(1, p.sum / p.n)
      for _, c in ipairs(p.links) do
         on[c] = on[c] or {}
         table.insert(on[c], p)
      end
   end
   return on
end

-- Minimum over 0 … 1 of a x^2 - 2 b x.
local function minimum(a, b)
   if a > 0 then
      return math.max(0, math.min(1, b / a))
   end
   return a - 2 * b < 0 and 1 or 0
end

local function others(p, x, c)
   local product = 1
   for _, l in ipairs(p.links) do
      product = l ~= c and product * x[l] or product
   end
   return product
end

local function descend(on, lambda)
   local x, order = {}, {}
   for c in pairs(on) do
      x[c] = 1
      order[#order + 1] = c
   end
   table.sort(order)
   for _, c in ipairs(order) do -- begin where each would stand alone
      local sum = 0
      for _, p in ipairs(on[c]) do
         sum = sum + p.y
      end
      x[c] = sum / #on[c]
   end
   for _ = 1, ROUNDS do
      local moved = 0
      for _, c in ipairs(order) do
         local a, b = -lambda, -lambda / 2
         for _, p in ipairs(on[c]) do
            local rest = others(p, x, c)
            a, b = a + rest * rest, b + p.y * rest
         end
         local new = minimum(a, b)
         moved, x[c] = math.max(moved, math.abs(new - x[c])), new
      end
      if moved < SETTLED then
         break
      end
   end
   return x, order
end

local function solve(b, now)
   local on = problem(b, now)
   local x, order = descend(on, b.s.lambda)
   local slow, wants = {}, {}
   for _, c in ipairs(order) do
      if x[c] < b.s.below then
         if #on[c] >= b.s.paths then
            slow[c] = x[c]
         else
            wants[#wants + 1] = c
         end
      end
   end
   table.sort(wants, function(p, q)
      if #on[p] ~= #on[q] then
         return #on[p] > #on[q]
      end
      return p < q
   end)
   b:wants(wants)
   return slow
end

function leastsquares.take(b, rows, now)
   for _, r in ipairs(rows) do
      r.time = now
      if r.mean >= b.s.fine then
         for _, c in ipairs(r.route) do
            b.good_at[c] = now
         end
      else
         b.window[#b.window + 1] = r
      end
   end
   if now < b.next then
      return nil
   end
   b.next = now + EVERY_S
   return solve(b, now)
end

function leastsquares.forget(b, c)
   local kept = {}
   for _, r in ipairs(b.window) do
      local uses = false
      for _, l in ipairs(r.route) do
         uses = uses or l == c
      end
      kept[#kept + 1] = not uses and r or nil
   end
   b.window = kept
end

return leastsquares
