-- SPDX-License-Identifier: GPL-2.0-or-later
--- What the running heavy jobs do to the network, and to each other.
--
-- A job puts a steady load on components: the bytes of its pattern over the time of a step, with
-- its computing, as it would be alone on the machine as it is.  A job is predicted (score.evaluate)
-- with the loads of all others as background.
local pattern = require "taut.place.pattern"
local score = require "taut.place.score"

local comm = {}

local NEGLIGIBLE = 1 -- B/s: what is left of a sum is rounding

--- @param topo topology
-- @param left map component → capacity left, as measured
function comm.new(topo, left)
   return setmetatable({ topo = topo, left = left, background = {}, made = {} },
      { __index = comm })
end

--- The pattern of a job, with its ranks.
function comm:pattern(job)
   local key = job.pattern .. "/" .. job.nodes
   self.made[key] = self.made[key] or assert(pattern.make(job.pattern, job.nodes))
   return self.made[key]
end

--- Predicted time of a step on these nodes, relative to an ideal network.
-- @param alone true: without the other jobs
-- @return as score.evaluate
function comm:evaluate(job, nodes, alone)
   return assert(score.evaluate(self.topo, nodes, self:pattern(job), { left = self.left,
      background = not alone and self.background or nil, load = alone }))
end

-- The whole step's time with what the job computes.
local function period(p, result)
   local computes = p.compute < 1 and p.compute / (1 - p.compute) * result.ideal_s or math.huge
   return computes + result.time_s
end

local function add(self, load, sign)
   local sums = self.background
   for c, Bps in pairs(load) do
      local v = (sums[c] or 0) + sign * Bps
      sums[c] = v > NEGLIGIBLE and v or nil
   end
end

--- The job has these nodes from now on.  Sets job.alone (ratio) and job.load (B/s per component).
function comm:begin(job, nodes)
   local p, result = self:pattern(job), self:evaluate(job, nodes, true)
   local step = period(p, result)
   job.alone, job.load = result.ratio, {}
   for c, bytes in pairs(result.load) do
      if bytes > 0 then
         job.load[c] = bytes / step
      end
   end
   add(self, job.load, 1)
end

function comm:finish(job)
   add(self, job.load, -1)
   job.load = nil
end

--- A running job's ratio as it is now, with the others.
function comm:now(job)
   add(self, job.load, -1)
   local ratio = self:evaluate(job, job.on).ratio
   add(self, job.load, 1)
   return ratio
end

return comm
