-- SPDX-License-Identifier: GPL-2.0-or-later
--- Taut itself: its plan and its diagnosis, with a site's settings.
local diagnose = require "taut.diagnose"
local planning = require "planning"
local ports = require "ports"

local taut = {}
local Taut = {}
Taut.__index = Taut

function Taut:plan(ask)
   return self.planner:plan(ask)
end

function Taut:ways(tests, trace, most)
   self.ports:assign(tests, trace, most)
end

function Taut:observe(ask, tests, values)
   return self.diagnosis:observe_event { tests = tests, values = values, time = ask.time,
      event = ask.event, purpose = ask.purpose }
end

function Taut:forget(c, now)
   self.diagnosis:forget(c, now)
end

local function fields(t)
   local list = {}
   for name, value in pairs(t) do
      if type(value) == "number" then
         list[#list + 1] = ("%s %.4g"):format(name, value)
      elseif type(value) == "string" or type(value) == "boolean" then
         list[#list + 1] = ("%s %s"):format(name, value)
      end
   end
   table.sort(list)
   return table.concat(list, ", ")
end

--- What is known about a component, for --trace.
function Taut:explain(c, now)
   local d, names = self.diagnosis, self.diagnosis.topo.components
   local k, case, seen, run = d:component(c), d.evidence:case(c), d:seen(c), d:run(c)
   local lines = { ("%s; tests %d, last %.2f h ago, cleared %.2f h ago"):format(fields(k),
      seen.tests, (now - (seen.last or -math.huge)) / 3600,
      (now - (seen.cleared_at or -math.huge)) / 3600) }
   if case then
      lines[#lines + 1] = "case: " .. fields(case)
   end
   for _, r in ipairs(k.tied or {}) do
      lines[#lines + 1] = ("tied with %s: %s"):format(names[r.component], fields(r))
   end
   for i, t in ipairs(run) do
      if i > #run - 30 then
         lines[#lines + 1] = "   " .. fields(t)
      end
   end
   return table.concat(lines, "\n      ")
end

--- @param machine of machine.load
function taut.new(machine)
   local diagnosis = diagnose.new(machine.topo, machine.conf.diagnosis)
   local planner = planning.new(machine, function() return diagnosis:wants() end)
   diagnosis:tell(planner.coverage)
   return setmetatable({ diagnosis = diagnosis, planner = planner,
      ports = ports.new(machine.topo) }, Taut)
end

return taut
