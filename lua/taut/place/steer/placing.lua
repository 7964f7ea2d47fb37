-- SPDX-License-Identifier: GPL-2.0-or-later
--- Whether the job at the head of the queue gets nodes chosen for it.
local hostlist = require "taut.hostlist"
local mark = require "taut.slurm.mark"
local withdraw = require "taut.place.steer.withdraw"

local placing = {}

local AT_ONCE = 2 -- jobs that advice is asked for in one look: it takes up to 50 ms each

-- Reasons of a job that waits for nothing but nodes.
local WAITS_FOR_NODES = { None = true, Priority = true, Resources = true }

-- The first job of each partition's queue.
local function first_of_queues(pending)
   local seen, list = {}, {}
   for _, job in ipairs(pending) do
      local p = job.partition or ""
      if not seen[p] and WAITS_FOR_NODES[job.reason] then
         seen[p] = true
         list[#list + 1] = job
      end
   end
   return list
end

--- May this job be placed?
-- @return true, or false and why not
function placing.may(job)
   local m = mark.parse(job.comment)
   if not m then
      return false, "it gave no --comm"
   elseif m.placed or m.tried then
      return false, "it was placed already"
   elseif job.required or job.features or job.reservation then
      return false, "it chooses nodes itself"
   elseif job.excluded and not mark.same(job.excluded, m.excluded) then
      return false, "it excludes nodes itself"
   elseif job.array_tasks or (job.array_job or 0) ~= 0 or (job.het_job or 0) ~= 0 then
      return false, "it is an array or has several parts"
   elseif (job.partition or ""):find("[^%w_.-]") then
      return false, "it has several partitions"
   elseif (job.num_nodes or 0) < 2 or job.max_nodes ~= job.num_nodes then
      return false, "it has no fixed number of nodes from 2 on"
   end
   return true
end

-- Are these as many free nodes as the job wants?
local function is_good(cluster, job, nodelist)
   local names = hostlist.expand(nodelist or "", 1 << 20) or {}
   for _, name in ipairs(names) do
      if not cluster:is_free(name) then
         return false
      end
   end
   return #names == job.num_nodes
end

--- What to place now.
-- @param cluster of slurm/cluster/init.lua
-- @param now seconds
-- @param least_gain predicted time on Slurm's choice over that on ours, at least
-- @param advise function(job, mark) → host list, predicted ratio there, on Slurm's choice; or nil
-- @return array of { job, request, why, ratio, slurm_ratio }
function placing.decide(cluster, now, least_gain, advise)
   local list, asked = {}, 0
   for _, job in ipairs(first_of_queues(cluster.pending)) do
      if asked < AT_ONCE and placing.may(job) then
         asked = asked + 1
         local m = mark.parse(job.comment)
         local nodes, ours, slurms = advise(job, m)
         if nodes and ours > 0 and slurms / ours >= least_gain and is_good(cluster, job, nodes) then
            m.placed = ("%d:%s"):format(now, nodes)
            list[#list + 1] = { job = job.id, ratio = ours, slurm_ratio = slurms,
               request = withdraw.request(job, m, { required = nodes }),
               why = ("placed on %s: %.2fx ideal time, Slurm's choice %.2fx"):format(nodes, ours,
                  slurms) }
         end
      end
   end
   return list
end

return placing
