-- SPDX-License-Identifier: GPL-2.0-or-later
--- Taut's plan, for its own diagnosis or for somebody else's suspects.
local coverage = require "taut.coverage"
local plan = require "taut.plan"

local planning = {}

--- @param machine of machine.load
-- @param wants function() → what is to be tested (see taut.plan); nil: what planner:want is told
-- @return planner: plan(ask) → tests; its coverage is to be told what was seen well, by
--   diagnosis:tell(coverage) or by touch(tests, time)
function planning.new(machine, wants)
   return plan.planner { topology = machine.topo, wants = wants, checks = machine.conf.checks,
      coverage = coverage.new(false, #machine.topo.components) }
end

return planning
