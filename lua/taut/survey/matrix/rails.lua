-- SPDX-License-Identifier: GPL-2.0-or-later
--- One matrix for each rail, one after the other: the interfaces of a node are different wires.
local report = require "taut.report"
local tables = require "taut.base.tables"

local rails = {}
local Job = {}
Job.__index = Job

--- Which rails are measured.
-- @param topo topology
-- @param options `rail`: this one only; `single`: there must be but one
-- @return array of numbers; or nil and what is wrong
function rails.chosen(topo, options)
   local most, rail = topo.rails or 1, options.rail
   if rail ~= nil then
      if math.type(rail) ~= "integer" or rail < 1 or rail > most then
         return nil, ("rail: expected %s, got %s"):format(report.text_if(most > 1, "1 to " .. most,
            "1, as this machine has one"), tostring(rail):sub(1, 40))
      end
      return { rail }
   elseif options.single and most > 1 then
      return nil, ("standard output takes the matrix of one rail, and here are %d: --rail 1 to %d")
         :format(most, most)
   end
   return tables.fill(1, most, function(k) return k end)
end

--- A topology as one rail of its nodes sees it.
function rails.view(topo, rail)
   return setmetatable({
      route = function(_, src, dst, into, k) return topo:route(src, dst, into, k or rail) end,
      hops = function(_, src, dst, k) return topo:hops(src, dst, k or rail) end,
      router = function(_, node, k) return topo:router(node, k or rail) end,
   }, { __index = topo })
end

--- Those of the nodes that have this rail.
function rails.nodes(topo, nodes, rail)
   return tables.filter(nodes, function(node) return topo:router(node, rail) end)
end

---------------------------------------------------------------- several matrices as one survey

function Job:next(present)
   while self.jobs[self.at] do
      local phases = self.jobs[self.at]:next(present)
      if phases then
         return phases
      end
      self.at = self.at + 1
   end
   return nil
end

function Job:take(tests)
   return self.jobs[self.at]:take(tests)
end

--- @return { rails = array of each matrix's findings, in the order of the layout's }
function Job:finish(why)
   local found = tables.map(self.jobs, function(job) return job:finish(why) end)
   return { rails = found }
end

--- @param jobs of matrix.lua, one for each rail
-- @return job (see survey/init.lua); its layout has `rails`, the layout of each
function rails.join(jobs)
   local layouts = tables.map(jobs, function(job) return job.layout end)
   return setmetatable({ jobs = jobs, at = 1, layout = { rails = layouts } }, Job)
end

return rails
