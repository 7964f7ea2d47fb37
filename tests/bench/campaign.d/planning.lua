-- SPDX-License-Identifier: GPL-2.0-or-later
--- Taut's plan, for its own diagnosis or for somebody else's suspects.
local coverage = require "taut.coverage"
local plan = require "taut.plan"

local planning = {}

--- @param machine of machine.load
-- @param diagnosis with wants() and, where it is Taut's own, evidence
-- @return planner: plan(ask) → tests, touch(tests, time)
function planning.new(machine, diagnosis)
   local times = coverage.new(false, #machine.topo.components)
   local planner = plan.planner { topology = machine.topo, coverage = times,
      checks = machine.checks, wants = diagnosis and diagnosis.wants and function()
         return diagnosis:wants()
      end }
   if diagnosis and diagnosis.evidence then
      times:follow(diagnosis.evidence)
      planner.touch = function() end
   end
   return planner
end

return planning
