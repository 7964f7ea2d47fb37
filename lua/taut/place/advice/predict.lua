-- SPDX-License-Identifier: GPL-2.0-or-later
--- What steering should gain: the pattern's predicted time on the nodes a job gets, and on those it
-- would have got from Slurm alone.
local hostlist = require "taut.hostlist"
local pattern = require "taut.place.pattern"
local score = require "taut.place.score"
local search = require "taut.place.advice.search"
local slurm = require "taut.place.slurm"

local predict = {}

local MOST_NODES = 2048 -- of a larger job nothing is predicted: it would hold up tautd

-- Node numbers of names; nil where one is not one of the topology's.
local function node_numbers(topo, names)
   local list = {}
   for i, name in ipairs(names) do
      list[i] = topo.node_id[name]
      if not list[i] then
         return nil
      end
   end
   return list
end

local function time_ratio(advice, traffic, nodes)
   local s = score.evaluate(advice.topo, nodes, traffic, { left = advice:left() })
   if s.lost == 0 and s.ratio < math.huge then
      return s.ratio
   end
   return nil
end

-- What Slurm would have taken of a partition's free nodes and the job's own.
local function slurms_choice(advice, nodes, partition)
   local members, free = advice.view:partition(partition), {}
   for n in pairs(advice.view.free) do
      if members then
         free[n] = members[n]
      end
   end
   for _, n in ipairs(nodes) do
      free[n] = true
   end
   return slurm.choice(free, #nodes, search.line_of(advice, free))
end

--- Of a job that has its nodes: predicted time over that of an ideal network on them, and on those
-- Slurm would have chosen among these and the free ones.
-- @param advice advice, its view up to date
-- @param job of taut-slurm: nodes, partition
-- @param comm what --comm said
-- @return { got, without }, or nil where the pattern or the nodes do not allow it
function predict.of(advice, job, comm)
   local names = hostlist.expand(job.nodes or "", MOST_NODES)
   local nodes = names and node_numbers(advice.topo, names)
   local P = nodes and #nodes > 1 and pattern.make(comm, #nodes)
   local others = P and slurms_choice(advice, nodes, job.partition)
   local got = others and time_ratio(advice, P, nodes)
   local without = got and time_ratio(advice, P, others)
   if not without then
      return nil
   end
   return { got = got, without = without }
end

return predict
