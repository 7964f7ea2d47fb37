-- SPDX-License-Identifier: GPL-2.0-or-later
--- Numbers of endpoints, which are rails of nodes, and of their ports.
--
--    endpoint  e = nodes * (rail - 1) + node     from 1
--    tx        2 e - 1, the port's way out
--    rx        2 e, its way in
--
-- Links follow (taut_graph_tx, taut_graph_rx and taut_graph_link count the same from 0).
local endpoint_numbers = {}

--- @param nodes how many there are
-- @param node, rail numbers, from 1; rail (optional): 1
function endpoint_numbers.endpoint_of(nodes, node, rail)
   return nodes * ((rail or 1) - 1) + node
end

--- @return node, rail
function endpoint_numbers.node_of(nodes, endpoint)
   return (endpoint - 1) % nodes + 1, (endpoint - 1) // nodes + 1
end

--- @return components tx, rx of an endpoint
function endpoint_numbers.ports_of(endpoint)
   return 2 * endpoint - 1, 2 * endpoint
end

--- @return components tx, rx of a node's rail
function endpoint_numbers.ports_of_rail(nodes, node, rail)
   return endpoint_numbers.ports_of(endpoint_numbers.endpoint_of(nodes, node, rail))
end

--- @return array of tx and rx of all rails of a node
function endpoint_numbers.ports_of_node(nodes, node, rails)
   local list = {}
   for rail = 1, rails or 1 do
      list[#list + 1], list[#list + 2] = endpoint_numbers.ports_of_rail(nodes, node, rail)
   end
   return list
end

return endpoint_numbers
