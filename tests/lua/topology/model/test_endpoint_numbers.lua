-- SPDX-License-Identifier: GPL-2.0-or-later
-- Numbers of endpoints and of their ports: of the topology's own, for one rail and for several.
local lu = require "luaunit"
local endpoint_numbers = require "taut.topology.model.endpoint_numbers"
local topology = require "taut.topology"

local tests = {}

local function tree(rails)
   return assert(topology.build { kind = "fattree", nodes_per_leaf = 2, capacity = 10e9,
      levels = { { down = 3, up = 2 } }, nodes = "n[1-6]", rails = rails })
end

function tests.test_ports_are_those_of_the_topology()
   for _, rails in ipairs { 1, 3 } do
      local topo = tree(rails)
      for node, name in ipairs(topo.nodes) do
         for rail = 1, rails do
            local tx, rx = endpoint_numbers.ports_of_rail(#topo.nodes, node, rail)
            local port = rails > 1 and name .. ":" .. rail or name
            lu.assertEquals({ topo.components[tx], topo.components[rx] },
               { port .. "/tx", port .. "/rx" })
            lu.assertEquals({ topo:node_of(tx) }, { node, rail })
            local endpoint = endpoint_numbers.endpoint_of(#topo.nodes, node, rail)
            lu.assertEquals({ endpoint_numbers.node_of(#topo.nodes, endpoint) }, { node, rail })
         end
         lu.assertEquals(endpoint_numbers.ports_of_node(#topo.nodes, node, rails), topo:ports(node))
      end
   end
end

return tests
