-- SPDX-License-Identifier: GPL-2.0-or-later
--- Stalls while a plan was carried out: growth of congestion counters between a node's HELLO and
-- its RESULT.
--
-- They are kept with each test of the node that was not good, so that a low test on a busy port can
-- be distinguished from a broken route. The counters are read twice per plan, not per test, so they
-- cover all tests of the plan together.
local counters = require "taut.events.counters"
local growth = require "taut.events.counters.growth"
local meaning = require "taut.events.meaning"
local readings = require "taut.events.readings"

local stalls = {}

-- Growth of one node's stall counters, and the one that grew most.
local function sum_stalls(peer)
   local sum, most, where = 0, 0, nil
   local before = readings.ports(peer.hello_readings)
   for key, port in pairs(readings.ports(peer.readings)) do
      local grown = before[key] and growth.interface(counters.counts[port.source] or {},
         before[key].values, port.values)
      for name, g in pairs(grown or {}) do
         if g.amount and g.amount > 0 and meaning.kind(port.source, name) == "stall" then
            sum = sum + g.amount
            if g.amount > most then
               most, where = g.amount, ("%s/%s %s"):format(peer.name, port.name, name)
            end
         end
      end
   end
   return sum, where
end

--- @param peers of a session: node → { name, hello_readings, readings }
-- @return node → { sum, where }; only nodes whose counters were read twice
function stalls.of(peers)
   local map = {}
   for n, peer in pairs(peers or {}) do
      if peer.hello_readings and peer.readings then
         local sum, where = sum_stalls(peer)
         map[n] = { sum = sum, where = where }
      end
   end
   return map
end

--- Note on a test what its two ends stalled: `stalls` (the larger growth; nil where nobody could
-- say) and `stalled_at`.
function stalls.add(test, map)
   for _, n in ipairs { test.src, test.dst } do
      local s = map[n]
      if s and (not test.stalls or s.sum > test.stalls) then
         test.stalls, test.stalled_at = s.sum, s.where
      end
   end
end

return stalls
