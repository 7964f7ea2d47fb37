-- SPDX-License-Identifier: GPL-2.0-or-later
--- Nodes that booted since their last message: older evidence against their tx and rx says little
-- about their present state.
local endpoint_numbers = require "taut.topology.model.endpoint_numbers"

local node_boots = {}

--- Take down the boot ids of an event's nodes.
-- @param known map node → boot id, kept by the caller
-- @param peers map node → { boot = its boot id or nil }
-- @param topo topology
-- @return tx and rx, of all rails, of nodes whose boot id is another one than was known
function node_boots.note(known, peers, topo)
   local list = {}
   for n, peer in pairs(peers or {}) do
      local was = known[n]
      known[n] = peer.boot or was
      if was and known[n] ~= was then
         local ports = endpoint_numbers.ports_of_node(#topo.nodes, n, topo.rails)
         table.move(ports, 1, #ports, #list + 1, list)
      end
   end
   return list
end

--- Nodes whose boot id is one that was not known, before note() takes it down.
function node_boots.news(known, peers)
   local list = {}
   for n, peer in pairs(peers or {}) do
      if peer.boot and peer.boot ~= known[n] then
         list[#list + 1] = n
      end
   end
   table.sort(list)
   return list
end

return node_boots
