-- SPDX-License-Identifier: GPL-2.0-or-later
--- A phase: tests that run at once without meeting each other.
--
-- No node takes part twice, no component is on two routes, and no test's data meets another's
-- acknowledgements.  Where tests name their routers (from_router, to_router), no router both sends
-- into the fabric and receives from it.
-- Source of the rule about routers: Ezell, CUG 2013 (TopoBW): a Gemini never sends and receives
-- at once.
local phase = {}
local Phase = {}
Phase.__index = Phase

local function meets_any(route, used)
   for _, stage in ipairs(route) do
      if type(stage) ~= "table" then
         if used[stage] then
            return true
         end
      elseif meets_any(stage, used) then
         return true
      end
   end
   return false
end

local function mark_route(route, used)
   for _, stage in ipairs(route) do
      if type(stage) == "table" then
         mark_route(stage, used)
      else
         used[stage] = true
      end
   end
end

-- Two tests that stay below one router do not use it.
local function meets_role(self, test)
   local from, to = test.from_router, test.to_router
   return from ~= to and (self.role[from] == "recv" or self.role[to] == "send")
end

--- Can a test join?
-- @param test { src, dst, route = stages there, back = stages of its acknowledgements, from_router,
--   to_router (optional) }
function Phase:fits(test)
   return not (self.node[test.src] or self.node[test.dst] or meets_role(self, test)
      or meets_any(test.route, self.data) or meets_any(test.route, self.ack)
      or meets_any(test.back, self.data))
end

--- Let a test join, whether it fits or not: those of a group are to meet.
function Phase:put(test)
   self.node[test.src], self.node[test.dst] = true, true
   mark_route(test.route, self.data)
   mark_route(test.back, self.ack)
   if test.from_router ~= test.to_router then
      self.role[test.from_router], self.role[test.to_router] = "send", "recv"
   end
   self.tests[#self.tests + 1] = test
end

--- @return phase; its `tests` are those that joined
function phase.new()
   return setmetatable({ node = {}, data = {}, ack = {}, role = {}, tests = {} }, Phase)
end

return phase
