--- Runs: lists of low tests, and what they show together.
local runs = {}

--- The list without what is_out(v) says.
function runs.without(list, is_out)
   local kept = {}
   for _, v in ipairs(list) do
      if not is_out(v) then
         kept[#kept + 1] = v
      end
   end
   return kept
end

--- The largest ratio.
function runs.best(list)
   local best = 0
   for _, t in ipairs(list) do
      best = math.max(best, t.ratio)
   end
   return best
end

--- A ceiling: at least half of the run lies within `ceiling` below its best.  Only single streams
-- are compared; several at once push each other about.
function runs.has_ceiling(list, ceiling)
   local best, near, n = 0, 0, 0
   for _, t in ipairs(list) do
      best = t.streams == 1 and math.max(best, t.ratio) or best
   end
   for _, t in ipairs(list) do
      if t.streams == 1 then
         n = n + 1
         near = near + ((t.ratio >= best * (1 - ceiling) or best - t.ratio < 0.005) and 1 or 0)
      end
   end
   return near * 2 >= n
end

--- How many different values key(test) has.
function runs.count(list, key)
   local seen, n = {}, 0
   for _, t in ipairs(list) do
      local v = key(t)
      if not seen[v] then
         seen[v] = true
         n = n + 1
      end
   end
   return n
end

return runs
