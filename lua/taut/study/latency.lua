-- SPDX-License-Identifier: GPL-2.0-or-later
--- Latency against offered load, uniform random traffic, with links out.
--
-- Everybody sends to everybody else alike. A packet waits at a link for those before it: at a use
-- of u, u / (2 (1 - u)) times its own length on average (a queue with random arrivals and packets
-- of one length: M/D/1, F. Pollaczek 1930). Where a link is asked for more than it carries there
-- is no latency to state: saturated.
local engine = require "taut.study"

local latency = {}

latency.loads = { 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9 }
latency.packet_bytes = 2048
latency.hop_ns = 100 -- through a router and a cable

-- Mean wait of a byte on its way, in seconds; nil where some link is full.
local function mean_wait_s(machine, result, left, packet)
   local sum, topo = 0, machine.topo
   for c, Bps in pairs(result.load) do
      local capacity = topo.capacity[c] * (left[c] or 1)
      local u = Bps / capacity
      if u >= 1 then
         return nil
      end
      sum = sum + Bps * packet / capacity * u / (2 * (1 - u))
   end
   if result.carried > 0 then
      return sum / result.carried
   end
   return 0
end

--- One curve.
-- @param overlay of the machine
-- @param options { loads = shares of a node's injection, packet_bytes, hop_ns }
-- @return array of { load, latency_s or nil where it is saturated, wait_s, busiest = use of the
--   busiest link, hops }, pairs without a way; or nil and what is wrong
function latency.curve(machine, overlay, options)
   local list, left, lost = {}, overlay:left(), 0
   local packet = options.packet_bytes or latency.packet_bytes
   for i, share in ipairs(options.loads or latency.loads) do
      local d = engine.demand(machine.places)
      local n = #machine.topo.nodes
      local ok, err = d:all { place = machine.place,
         bytes = share * machine.inject_Bps / (n - 1) }
      local r
      if ok then
         r, err = machine.study:solve(d, overlay, { unit_s = 1 }, true)
      end
      if not r then
         return nil, err
      end
      local wait_s = mean_wait_s(machine, r, left, packet)
      local hop_s = (options.hop_ns or latency.hop_ns) * 1e-9
      local moved_s = r.hops * hop_s + packet / machine.inject_Bps
      list[i] = { load = share, wait_s = wait_s, latency_s = wait_s and moved_s + wait_s,
         busiest = r.link_s, hops = r.hops }
      lost = r.lost_pairs
   end
   return list, lost
end

return latency
