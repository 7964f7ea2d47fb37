-- SPDX-License-Identifier: GPL-2.0-or-later
--- Who chooses a job's nodes: Slurm, or Taut for heavy jobs and Slurm for the others.
local place = require "taut.place"
local slurm = require "replay.slurm"
local sys = require "taut.sys"

local policies = {}

local TOP = 5 -- candidates that are scored

--- Slurm's own choice.
function policies.slurm(world)
   return function(job, free)
      return slurm.choose(world.topo, free, job.nodes)
   end
end

-- Patterns whose ranks talk to few others.
local NEAR = { halo2d = true, halo3d = true, halo27 = true, lattice4d = true, sweep = true,
   ring = true, shift = true, ["all-reduce-ring"] = true }

-- Ties go to the set whose bytes have less far to go.
local function better(a, b)
   if math.abs(a.ratio - b.ratio) > 1e-6 * b.ratio then
      return a.ratio < b.ratio
   end
   return a.hops_mean < b.hops_mean
end

local function candidates(world, job, free)
   return place.search(world.topo, free, job.nodes, { top = TOP, left = world.left,
      measure = NEAR[world.comm:pattern(job).name] and "near" or nil }) or {}
end

--- The best of Taut's candidates and of Slurm's choice for jobs that communicate.  Sets job.speed:
-- the whole job's time there, relative to that on Slurm's choice.
function policies.ours(world)
   return function(job, free)
      local chosen = slurm.choose(world.topo, free, job.nodes)
      if not job.pattern or job.nodes == 1 then
         return chosen
      end
      local began = sys.now()
      local best = world.comm:evaluate(job, chosen)
      local was = best.job_ratio
      for _, c in ipairs(candidates(world, job, free)) do
         local result = world.comm:evaluate(job, c.nodes)
         if better(result, best) then
            best, chosen = result, c.nodes
         end
      end
      job.speed = best.job_ratio / was
      world.took[#world.took + 1] = sys.now() - began
      return chosen
   end
end

return policies
