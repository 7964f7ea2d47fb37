-- SPDX-License-Identifier: GPL-2.0-or-later
--- Taut's plan, for its own diagnosis or for somebody else's suspects.
local coverage = require "taut.plan.coverage"
local plan = require "taut.plan"

local planning = {}

--- @param machine of machine.load
-- @param wants function() → what is to be tested (see taut.plan); nil: what `want` was told
-- @return planner: plan(ask) → tests; its coverage is to be told what was seen well, by
--   diagnosis:tell(coverage) or by touch(tests, time); without `wants` it has want(self, list of
--   components, the most suspicious first), too
function planning.new(machine, wants)
   local told = { version = 0 }
   -- in this world a node sends and receives at once, and a phase with several streams is two
   local checks = setmetatable({ duplex = true, wide_phases = 1, set_flows = 1 },
      { __index = machine.conf.checks })
   local planner = plan.planner { topology = machine.topo, checks = checks,
      wants = wants or function() return told end,
      coverage = coverage.new(false, #machine.topo.components) }
   function planner.want(_, list)
      local entries = { version = told.version + 1 }
      for i, c in ipairs(list) do
         entries[i] = { c = c, want = "confirm" }
      end
      told = entries
   end
   return planner
end

return planning
