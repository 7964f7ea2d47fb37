-- SPDX-License-Identifier: GPL-2.0-or-later
--- What Slurm takes of the free nodes where it has no topology plugin: runs of nodes that follow
-- each other in its table (select/cons_tres, _eval_nodes()): the shortest that is long enough; else
-- the longest, and again for the rest.
local slurm = {}

local function runs(size, free)
   local list, last = {}, nil
   for n = 1, size do
      if not free[n] then
         last = nil
      elseif last then
         last.n = last.n + 1
      else
         last = { first = n, n = 1 }
         list[#list + 1] = last
      end
   end
   return list
end

local function best_of(list, count)
   local best
   for i, r in ipairs(list) do
      local b = best and list[best]
      if not b or r.n >= count and (b.n < count or r.n < b.n) or r.n < count and r.n > b.n then
         best = i
      end
   end
   return table.remove(list, best)
end

--- @return array of `count` node numbers, ascending; there must be as many free ones
function slurm.choose(topo, free, count)
   local list, chosen = runs(#topo.nodes, free), {}
   while #chosen < count do
      local r = best_of(list, count - #chosen)
      for n = r.first, r.first + math.min(r.n, count - #chosen) - 1 do
         chosen[#chosen + 1] = n
      end
   end
   table.sort(chosen)
   return chosen
end

return slurm
