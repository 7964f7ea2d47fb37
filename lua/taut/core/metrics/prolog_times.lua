-- SPDX-License-Identifier: GPL-2.0-or-later
--- How long prologs took, as tautd sees them: from a node's HELLO until its answer that nothing is
-- due, or until its RESULT.  What a node does before and after is not in it, nor what srun waits
-- for besides.
local prolog_times = {}
local Times = {}
Times.__index = Times

prolog_times.BOUNDS = { 0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.25, 0.5, 1, 2.5 } -- seconds
prolog_times.KINDS = { "nothing_due", "tests" }

local function new_histogram()
   local h = { n = 0, sum = 0 }
   for i = 1, #prolog_times.BOUNDS + 1 do
      h[i] = 0
   end
   return h
end

--- A prolog is over.
-- @param kind one of KINDS
function Times:add(kind, seconds)
   local h, at = self.by[kind], 1
   seconds = math.max(0, seconds)
   while at <= #prolog_times.BOUNDS and seconds > prolog_times.BOUNDS[at] do
      at = at + 1
   end
   h[at], h.n, h.sum = h[at] + 1, h.n + 1, h.sum + seconds
end

--- The bound below which half of them lie, in seconds; nil where there were none, or where half
-- took longer than all bounds.
function Times:median(kind)
   local h, below = self.by[kind], 0
   for i, bound in ipairs(prolog_times.BOUNDS) do
      below = below + h[i]
      if h.n > 0 and below * 2 >= h.n then
         return bound
      end
   end
   return nil
end

--- Counts, for `taut status`: kind → { count, median_s }.
function Times:state()
   local out = {}
   for _, kind in ipairs(prolog_times.KINDS) do
      out[kind] = { count = self.by[kind].n, median_s = self:median(kind) }
   end
   return out
end

--- Samples of a Prometheus histogram.
function Times:samples()
   local list = {}
   local function add_sample(suffix, kind, value, le)
      list[#list + 1] = { value, suffix = suffix, labels = { kind = kind, le = le } }
   end
   for _, kind in ipairs(prolog_times.KINDS) do
      local h, below = self.by[kind], 0
      for i, bound in ipairs(prolog_times.BOUNDS) do
         below = below + h[i]
         add_sample("_bucket", kind, below, ("%g"):format(bound))
      end
      add_sample("_bucket", kind, h.n, "+Inf")
      add_sample("_sum", kind, h.sum)
      add_sample("_count", kind, h.n)
   end
   return list
end

function prolog_times.new()
   local by = {}
   for _, kind in ipairs(prolog_times.KINDS) do
      by[kind] = new_histogram()
   end
   return setmetatable({ by = by }, Times)
end

return prolog_times
