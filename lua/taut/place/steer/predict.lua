-- SPDX-License-Identifier: GPL-2.0-or-later
--- What steering should gain: the pattern's predicted time on the nodes a job gets, and on those it
-- would have got from Slurm alone.
local advice = require "taut.place.advice"
local hostlist = require "taut.hostlist"
local pattern = require "taut.place.pattern"
local score = require "taut.place.score"
local slurm = require "taut.place.slurm"

local predict = {}

local MOST_NODES = 2048 -- of a larger job nothing is predicted: it would hold up tautd

-- Node numbers of names; nil where one is none of the topology's.
local function numbers(d, names)
   local list = {}
   for i, name in ipairs(names) do
      list[i] = d.topo.node_id[name]
      if not list[i] then
         return nil
      end
   end
   return list
end

local function ratio(d, P, nodes)
   local s = score.evaluate(d.topo, nodes, P, { left = advice.left(d) })
   return s.lost == 0 and s.ratio < math.huge and s.ratio or nil
end

-- What Slurm would have taken of a partition's free nodes and the job's own.
local function choice(d, nodes, partition)
   local v = advice.view(d)
   local members, free = v:partition(partition), {}
   for n in pairs(v.free) do
      free[n] = members and members[n] or nil
   end
   for _, n in ipairs(nodes) do
      free[n] = true
   end
   local config = d.cluster.config or {}
   return slurm.choice(free, #nodes, { order = v.order, rank = v.rank, switches = v:switches(),
      dragonfly = (config.topology_param or ""):lower():find("dragonfly", 1, true) ~= nil })
end

--- Of a job that has its nodes: predicted time over that of an ideal network on them, and on those
-- Slurm would have chosen among these and the free ones.
-- @param job of taut-slurm: nodes, partition
-- @param comm what --comm said
-- @return { got, without }, or nil where the pattern or the nodes do not allow it
function predict.of(d, job, comm)
   local names = hostlist.expand(job.nodes or "", MOST_NODES)
   local nodes = names and numbers(d, names)
   local P = nodes and #nodes > 1 and pattern.make(comm, #nodes)
   local others = P and choice(d, nodes, job.partition)
   local got = others and ratio(d, P, nodes)
   local without = got and ratio(d, P, others)
   return without and { got = got, without = without } or nil
end

--- The best free nodes for a job that waits.
-- @return host list, predicted ratio on it, on what Slurm would take; nil where there is nothing
--   to choose, or where Slurm's choice is as good for all
function predict.best(d, job, comm)
   local best = advice.pick(d, { count = job.num_nodes, pattern = comm,
      partition = job.partition, exclude = job.excluded, start = "now" })
   if not best then
      return nil
   end
   return best.nodes, best.score, best.slurm
end

return predict
