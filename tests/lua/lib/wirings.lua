-- SPDX-License-Identifier: GPL-2.0-or-later
--- Wirings by hand, as an importer returns them: switches s1, s2 …, with a node n1, n2 … on each.
local topology = require "taut.topology"

local wirings = {}

--- @param count switches
-- @param cables each { a, a's port, b, b's port }
-- @param o nil or { port = the node's ("9"), lids = true: switches have 11, 12 …, nodes 1, 2 … }
function wirings.new(count, cables, o)
   o = o or {}
   local w = { source = "hand", routers = {}, nodes = {}, cables = {} }
   for i = 1, count do
      w.routers[i] = { name = "s" .. i, lid = o.lids and 10 + i or nil }
      w.nodes[i] = { name = "n" .. i,
         rails = { { router = i, port = o.port or "9", lid = o.lids and i or nil } } }
   end
   for i, c in ipairs(cables) do
      w.cables[i] = { a = c[1], a_port = tostring(c[2]), b = c[3], b_port = tostring(c[4]) }
   end
   return w
end

--- The machine of a wiring, by its shortest ways or tables.
-- @param w wiring
-- @param more nil or settings of the topology
function wirings.graph(w, more)
   local conf = { kind = "graph", wiring = w, capacity = 1e9 }
   for k, v in pairs(more or {}) do
      conf[k] = v
   end
   return assert(topology.build(conf))
end

return wirings
