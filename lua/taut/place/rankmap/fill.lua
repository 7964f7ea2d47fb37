-- SPDX-License-Identifier: GPL-2.0-or-later
--- Ranks put on nodes one after the other.
local fill = {}

--- Ranks of job.per in the order of the nodes.
-- @param job see taut.rankmap
-- @param nodes its nodes, in any order
-- @param ranks its ranks, in any order (default 1, 2, …)
-- @return node of each rank
function fill.blocks(job, nodes, ranks)
   local order, next_rank = {}, 1
   for _, n in ipairs(nodes) do
      for _ = 1, job.per_node[n] do
         local rank = next_rank
         if ranks then
            rank = ranks[next_rank] or rank
         end
         order[rank] = n
         next_rank = next_rank + 1
      end
   end
   return order
end

return fill
