-- SPDX-License-Identifier: GPL-2.0-or-later
--- Round and round, as srun --distribution=cyclic does.
local cyclic = {}

function cyclic.map(job)
   local order, n = {}, 0
   local round = 0
   while n < job.P.ranks do
      round = round + 1
      for i, node in ipairs(job.nodes) do
         if job.per[i] >= round then
            n = n + 1
            order[n] = node
         end
      end
   end
   if round == 1 then
      return nil, "one rank on each node: the same as block"
   end
   return { { name = "cyclic", about = "one on each node, and round again", order = order } }
end

return cyclic
