-- SPDX-License-Identifier: GPL-2.0-or-later
--- All pairs in N-1 steps, and what a pair can reach when others run with it.
local steps = {}

--- Rounds that all pairs take: each node meets another one in each, for odd counts but one.
function steps.count(nodes)
   return nodes % 2 == 0 and nodes - 1 or nodes
end

--- Disjoint pairs of one step, by the circle method: one place is fixed, the others turn.
-- @param nodes how many nodes
-- @param number step, from 1
-- @return array of { a, b } in 1 … nodes; every pair comes in exactly one step
function steps.step(nodes, number)
   local places = nodes + nodes % 2
   local list = {}
   local function node_at(place)
      return place == 0 and places or (number + place - 1) % (places - 1) + 1
   end
   for i = 0, places // 2 - 1 do
      local a, b = node_at(i), node_at(places - 1 - i)
      if a <= nodes and b <= nodes then
         list[#list + 1] = { a, b }
      end
   end
   return list
end

--- Streams through each component; a share of one where traffic is spread over a set.
function steps.loads(tests)
   local load = {}
   for _, t in ipairs(tests) do
      for _, stage in ipairs(t.route) do
         if type(stage) == "table" then
            for i, c in ipairs(stage) do
               load[c] = (load[c] or 0) + stage.w[i]
            end
         else
            load[stage] = (load[stage] or 0) + 1
         end
      end
   end
   return load
end

local function share_of(topo, load, component)
   return topo.capacity[component] / math.max(1, load[component])
end

--- What a test can reach among others: the capacity divided by the streams on the most loaded
-- stage of its route.
function steps.expectation(topo, t, load)
   local least = math.huge
   for _, stage in ipairs(t.route) do
      for _, c in ipairs(type(stage) == "table" and stage or { stage }) do
         least = math.min(least, share_of(topo, load, c))
      end
   end
   return least
end

--- Say what each test of a step can reach: planned_Bps, and through: component → streams.
-- @return the tests; their expect(left) does the same again for those that are left
function steps.expect(tests, topo)
   local load = steps.loads(tests)
   for _, t in ipairs(tests) do
      t.planned_Bps, t.through = steps.expectation(topo, t, load), load
   end
   tests.expect = function(left) steps.expect(left, topo) end
   return tests
end

return steps
