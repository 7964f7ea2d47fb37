-- SPDX-License-Identifier: GPL-2.0-or-later
--- Routes as their users want them.  A stage is a component, or a set of links of which traffic
-- takes one (topology/init.lua).
local tables = require "taut.base.tables"

local stages = {}

-- Is there a set in it?
local function has_sets(route)
   for i = 1, #route do -- asked for each test
      if type(route[i]) == "table" then
         return true
      end
   end
   return false
end

--- Components that the route surely uses: what a test clears or accuses.
-- @param route array of stages, or nil
-- @return array; the route itself where there are no sets
function stages.sure(route)
   if not route or not has_sets(route) then
      return route or {}
   end
   return tables.filter(route, function(stage) return type(stage) ~= "table" end)
end

--- All components it may use: what a test occupies.
-- @return array; the route itself where there are no sets
function stages.all(route)
   if not route or not has_sets(route) then
      return route or {}
   end
   local list = {}
   for _, s in ipairs(route) do
      if type(s) == "table" then
         table.move(s, 1, #s, #list + 1, list)
      else
         list[#list + 1] = s
      end
   end
   return list
end

--- The components of a stage: a set's members, or the one component.
function stages.members(stage)
   if type(stage) == "table" then
      return stage
   end
   return { stage }
end

local SHOWN = 3 -- members of a set that stand in a text

--- The route as text: names, sets as {a|b|c|+5}.
-- @param names components of the topology
function stages.text(route, names)
   local out = {}
   for i, s in ipairs(route) do
      if type(s) ~= "table" then
         out[i] = names[s]
      else
         local some = tables.fill(1, math.min(#s, SHOWN), function(component)
            return names[s[component]]
         end)
         if #s > SHOWN then
            some[#some + 1] = ("+%d"):format(#s - SHOWN)
         end
         out[i] = "{" .. table.concat(some, "|") .. "}"
      end
   end
   return table.concat(out, " ")
end

--- What such a text says of the way between the two ends, their tx and rx left out; of two nodes of
-- one router, which have nothing between them, all of it.
function stages.between(text)
   return text:match "^%S+ (.+) %S+$" or text
end

return stages
