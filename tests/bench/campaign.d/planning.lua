-- SPDX-License-Identifier: GPL-2.0-or-later
--- Taut's plan, for Taut's suspects or somebody else's.
local coverage = require "taut.coverage"
local plan = require "taut.plan"

local planning = {}
local P = {}
P.__index = P

--- @param ask as play.lua has it
function P:plan(ask)
   return self.planner:plan(ask)
end

--- What is to be tested more.
-- @param list components, the most suspicious first
function P:want(list)
   local wanted = { version = self.wanted.version + 1 }
   for i, c in ipairs(list) do
      wanted[i] = { c = c, want = "confirm" }
   end
   self.wanted = wanted
end

--- These tests were run: all that is on their way counts as looked at.
function P:touch(tests, now)
   self.planner:touch(tests, now)
end

--- @param machine of machine.load
-- @param wants function() → what a diagnosis would like tested; nil: what `want` was told
function planning.new(machine, wants)
   local self = setmetatable({ wanted = { version = 0 },
      coverage = coverage.new(false, #machine.topo.components) }, P)
   self.planner = plan.planner { topology = machine.topo, coverage = self.coverage,
      checks = machine.conf.checks, wants = wants or function() return self.wanted end }
   return self
end

return planning
