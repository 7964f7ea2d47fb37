-- SPDX-License-Identifier: GPL-2.0-or-later
--- What a test can reach beside the others of its phase.
--
-- Of u(c) streams of the phase through component c, each gets the share capacity(c) / max(1, u(c)).
-- A test can reach the smallest share on its way:
--
--    expectation = min over c on the way of  capacity(c) / max(1, u(c))      bytes per second
--
-- Of a set of links the slowest counts, since a stream may meet it.  The tests of jobs are C
-- objects, and the same formula is taut_graph_share (advisor/lib/graph/graph.h) for them.
local stages = require "taut.topology.stages"

local expectation = {}

--- What each of so many streams gets of component c.
-- @param streams nil: one
-- @return bytes per second
function expectation.share_of(topo, c, streams)
   return topo.capacity[c] / math.max(1, streams or 1)
end

--- The smallest share on a route.
-- @param streams optional: map component → streams through it
-- @param unknown optional: map component → true for those that are left out
-- @return bytes per second (math.huge: nothing is left); the first component that was left out
function expectation.of_way(route, topo, streams, unknown)
   local least, open = math.huge, nil
   for _, c in ipairs(stages.all(route)) do
      if unknown and unknown[c] then
         open = open or c
      else
         least = math.min(least, expectation.share_of(topo, c, streams and streams[c]))
      end
   end
   return least, open
end

--- What a planned test can reach.
-- @param t test: route; shares (optional): map component → the plan's own streams through it
-- @return bytes per second, of those components whose capacity is known (math.huge: none is); and
--   the first one whose is not, or nil
function expectation.of_test(t, topo)
   return expectation.of_way(t.route, topo, t.shares, topo.open)
end

--- Streams of some tests through each component: u(c).  A set is used by a part of each stream:
-- w of it, or equal parts.
-- @param tests array of { route }
-- @return map component → streams
function expectation.streams_through(tests)
   local streams = {}
   for _, t in ipairs(tests) do
      for _, stage in ipairs(t.route) do
         if type(stage) == "table" then
            local weights = stage.w or {}
            for i, c in ipairs(stage) do
               streams[c] = (streams[c] or 0) + (weights[i] or 1 / #stage)
            end
         else
            streams[stage] = (streams[stage] or 0) + 1
         end
      end
   end
   return streams
end

--- Say what each test of a phase can reach: sets planned_Bps, and through (map component →
-- streams, of those that have more than one; all tests share it; nil: none has).
-- @param tests array of { route }
-- @return the tests; their expect(left) does the same again for those of them that are left
function expectation.of_phase(tests, topo)
   local streams, through = expectation.streams_through(tests), {}
   for c, n in pairs(streams) do
      if n > 1 then
         through[c] = n
      end
   end
   for _, t in ipairs(tests) do
      t.planned_Bps = expectation.of_way(t.route, topo, through)
      t.through = next(through) and through
   end
   tests.expect = function(left) expectation.of_phase(left, topo) end
   return tests
end

return expectation
