-- SPDX-License-Identifier: GPL-2.0-or-later
--- Hostile nodes and users, for `taut status` and `taut doctor`.
local json = require "taut.json"

local attackers = {}

local FLOODS = 10 -- senders that are named
local OPEN = 16   -- nodes, likewise

--- Senders of repeatedly refused messages; for an address, its node.
-- @param parts { refusals, addresses }
-- @return array of { from, node, count, since, time, why }, the most first
function attackers.floods(parts)
   local list = table.move(parts.refusals:floods(), 1, FLOODS, 1, json.array {})
   for _, f in ipairs(list) do
      f.node = f.from:find "[.:]" and parts.addresses:node_at(f.from .. ":0") or nil
   end
   return list
end

--- Nodes that name jobs which Slurm does not have.
-- @param parts { cluster }
function attackers.claims(parts)
   return json.array(parts.cluster.claims:surges())
end

--- Nodes that name addresses which are not theirs.
-- @param parts { networks }
function attackers.endpoints(parts)
   return json.array(parts.networks:odd_ones())
end

--- Nodes that take plans and never answer.
-- @param parts { site, no_results }
function attackers.mute(parts)
   return json.array(parts.no_results:list(parts.site.topo.nodes))
end

--- Nodes where users may call from ports that tautd takes for root's; all of them may be.
-- @param parts { site, cluster }
-- @return { count, names = some of them }
function attackers.open_ports(parts)
   local names, count = json.array {}, 0
   for name in pairs(parts.site.conf.node_ports == "root" and parts.cluster:user_ports() or {}) do
      count = count + 1
      if count <= OPEN then
         names[#names + 1] = name
      end
   end
   table.sort(names)
   return { count = count, names = names }
end

return attackers
