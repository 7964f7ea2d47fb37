-- SPDX-License-Identifier: GPL-2.0-or-later
--- Times with max-min fair rates, for those who ask (taut.place.score says what they are).
local tables = require "taut.base.tables"
local score = require "taut.place.score"
local task = require "taut.base.task"

local fair = {}

local MOST = 1 << 15 -- messages: fair rates are found in one go, and tautd has other work

-- Messages of a pattern, in all steps that differ.
local function count_messages(pattern)
   return tables.sum(pattern.steps, function(step)
      if step.kind == "pairs" then
         return #step.src
      end
      return pattern.ranks * (pattern.ranks - 1)
   end)
end

--- Of the best set and Slurm's, and of those that are looked at with this scene from now on.
-- @param result { s = scene, found = candidates, slurm = Slurm's choice or nil }; their scores get
--   `fair`, or `fair_error`
function fair.add(result)
   result.s.fair = count_messages(result.s.P) <= MOST
   for _, c in ipairs { result.found[1], result.slurm } do
      task.breathe()
      if not result.s.fair then
         c.score.fair_error = "too many messages for fair rates"
      elseif not c.score.fair then
         c.score = score.evaluate(result.s.topo, c.nodes, result.s.P, result.s)
      end
   end
end

return fair
