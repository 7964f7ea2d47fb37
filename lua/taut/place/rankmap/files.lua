-- SPDX-License-Identifier: GPL-2.0-or-later
--- Files that tell a job's launcher which rank goes where.
local tables = require "taut.base.tables"

local files = {}

-- Ranks from 0 that an order has on each node, in the order of the nodes.
local function slots_of(job, order)
   local on, list = {}, {}
   for r, n in ipairs(order) do
      on[n] = on[n] or {}
      table.insert(on[n], r - 1)
   end
   for _, n in ipairs(job.nodes) do
      for _, r in ipairs(on[n]) do
         list[#list + 1] = r
      end
   end
   return list
end

--- For srun --distribution=arbitrary with SLURM_HOSTFILE: a host name for each rank.
function files.hostfile(job, order)
   local lines = tables.map(order, function(node) return job.topo.nodes[node] end)
   return table.concat(lines, "\n") .. "\n"
end

--- For MPICH_RANK_REORDER_METHOD=3: the ranks in the order of the slots, which are those of the
-- first node, then those of the second …
function files.mpich(job, order)
   local lines, list = { "# " .. job.words }, slots_of(job, order)
   local at = 1
   for i = 1, #job.nodes do
      lines[#lines + 1] = table.concat(list, ",", at, at + job.per[i] - 1)
      at = at + job.per[i]
   end
   return table.concat(lines, "\n") .. "\n"
end

--- Names of the formats.
files.names = { "hostfile", "mpich" }

--- How such a file is used.
files.usage = {
   hostfile = function(name, job)
      return ("SLURM_HOSTFILE=%s srun --distribution=arbitrary -n %d …"):format(name, job.P.ranks)
   end,
   mpich = function(name)
      return ("cp %s MPICH_RANK_ORDER; MPICH_RANK_REORDER_METHOD=3 srun --distribution=block …")
         :format(name)
   end,
}

return files
