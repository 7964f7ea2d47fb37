-- SPDX-License-Identifier: GPL-2.0-or-later
--- Who chooses a job's nodes: Slurm, or Taut for heavy jobs and Slurm for the others.
local place = require "taut.place"
local slurm = require "replay.slurm"

local policies = {}

local TOP = 5 -- candidates that are scored

--- Slurm's own choice.
function policies.slurm(world)
   return function(job, free)
      return slurm.choose(world.topo, free, job.nodes)
   end
end

-- Ties go to the smaller submesh.
local function better(a, b)
   if math.abs(a.ratio - b.ratio) > 1e-6 * b.ratio then
      return a.ratio < b.ratio
   end
   return a.hops_mean < b.hops_mean
end

--- The best of Taut's candidates and of Slurm's choice for jobs that communicate.
function policies.ours(world)
   return function(job, free)
      local chosen = slurm.choose(world.topo, free, job.nodes)
      if not job.pattern or job.nodes == 1 then
         return chosen
      end
      local best = world.comm:evaluate(job, chosen)
      local found = place.search(world.topo, free, job.nodes, { top = TOP, left = world.left,
         avoid = world.left, background = world.comm.background }) or {}
      for _, c in ipairs(found) do
         local result = world.comm:evaluate(job, c.nodes)
         if better(result, best) then
            best, chosen = result, c.nodes
         end
      end
      return chosen
   end
end

return policies
