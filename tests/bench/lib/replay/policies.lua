-- SPDX-License-Identifier: GPL-2.0-or-later
--- Who chooses a job's nodes: Slurm, or Taut for heavy jobs and Slurm for the others.  Both are the
-- product's own modules, as taut.advice puts them together where tautd places jobs (advice.pick).
local choice = require "taut.place.choice"
local rank = require "taut.place.rank"
local score = require "taut.place.score"
local slurm = require "taut.place.slurm"
local sys = require "taut.sys"

local policies = {}

local TOP = 5 -- candidates, as `taut advise` has them

-- What topology/tree would be told of a tree of leaves below one level of spines.
local function switches(topo)
   if topo.kind_name ~= "fattree" then
      return nil
   end
   local list, all = {}, { name = "top", level = 1, nodes = {} }
   for r = 0, topo.routers - 1 do
      local nodes = topo:on_router(r)
      if #nodes > 0 then
         list[#list + 1] = { name = topo.router_name[r], level = 0, nodes = nodes }
         table.move(nodes, 1, #nodes, #all.nodes + 1, all.nodes)
      end
   end
   list[#list + 1] = all
   return list
end

-- Slurm's table is in the order of the nodes' names, and so are their numbers here.
local function slurms(topo)
   local o = { order = {}, rank = {}, switches = switches(topo) }
   for n = 1, #topo.nodes do
      o.order[n], o.rank[n] = n, n
   end
   return o
end

--- Slurm's own choice.
function policies.slurm(world)
   local o = slurms(world.topo)
   return function(job, free)
      return slurm.choice(free, job.nodes, o)
   end
end

--- What tautd would place heavy jobs on: the best of Taut's candidates, of the pieces that Slurm
-- might have taken and of its own choice, by what the job gains and what it breaks up
-- (taut.place.choice).  Sets job.speed: the whole job's time, relative to that on Slurm's choice.
function policies.ours(world)
   local line = slurms(world.topo)
   return function(job, free)
      local nodes = slurm.choice(free, job.nodes, line)
      if not job.pattern or job.nodes == 1 then
         return nodes
      end
      local began = sys.now()
      local P, own = world.comm:pattern(job), { nodes = nodes }
      local o = { top = TOP, left = world.left, background = world.comm.background,
         load = world.comm.background, rank = line.rank, version = #world.took }
      own.score = score.evaluate(world.topo, nodes, P, o)
      local found = rank.best(world.topo, free, job.nodes, P, o) or {}
      local best = choice.best(world.topo, free, P, found, own, o, line)
      world.took[#world.took + 1] = sys.now() - began
      job.speed = best.score.job_ratio / own.score.job_ratio
      return best.nodes
   end
end

return policies
