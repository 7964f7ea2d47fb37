-- SPDX-License-Identifier: GPL-2.0-or-later
--- All pairs in N-1 steps.
local steps = {}

--- Rounds that all pairs take: each node meets another one in each, for odd counts but one.
function steps.count(nodes)
   if nodes % 2 == 0 then
      return nodes - 1
   end
   return nodes
end

--- Disjoint pairs of one step, by the circle method: one place is fixed, the others turn.
-- @param nodes how many nodes
-- @param number step, from 1
-- @return array of { a, b } in 1 … nodes; every pair comes in exactly one step
function steps.step(nodes, number)
   local places = nodes + nodes % 2
   local list = {}
   local function node_at(place)
      if place == 0 then
         return places
      end
      return (number + place - 1) % (places - 1) + 1
   end
   for i = 0, places // 2 - 1 do
      local a, b = node_at(i), node_at(places - 1 - i)
      if a <= nodes and b <= nodes then
         list[#list + 1] = { a, b }
      end
   end
   return list
end

return steps
