-- SPDX-License-Identifier: GPL-2.0-or-later
--- Nodes that come and go: Slurm's dynamic and cloud nodes.  Each has its place in the description
-- from the start; while Slurm does not have it, it is away: nothing of it is tested, advised, or
-- counted as missing.
local hostlist = require "taut.hostlist"
local tables = require "taut.base.tables"

local dynamic = {}

--- Say which nodes may be away.
-- @param topo topology, built
-- @param text host list of some of its nodes
-- @return true, or nil and what was expected
function dynamic.apply(topo, text)
   if type(text) ~= "string" then
      return nil, "topology.dynamic: expected a host list in quotes, got " .. tostring(text)
   end
   local names, err = hostlist.expand(text, math.max(1, #topo.nodes))
   if not names then
      return nil, "topology.dynamic: " .. err
   end
   topo.dynamic = {}
   for _, name in ipairs(names) do
      local n = topo.node_id[name]
      if not n then
         return nil, ("topology.dynamic: node '%s' is not in the topology: one that comes needs " ..
            "a place there"):format(name)
      end
      topo.dynamic[n] = true
   end
   return true
end

--- With several fabrics a node may be away if one of them allows it.
-- @param topo the whole, built
function dynamic.join(topo)
   for _, f in ipairs(topo.fabrics) do
      for n in pairs(f.topo.dynamic or {}) do
         topo.dynamic = topo.dynamic or {}
         topo.dynamic[f.node[n]] = true
      end
   end
end

-- Links that no test can reach: those of routers all of whose nodes are away, both directions.
local function unreached(topo)
   local seen, list = {}, {}
   local function add_component(component)
      if component and not seen[component] then
         seen[component] = true
         list[#list + 1] = component
      end
   end
   local looked = {}
   for n in pairs(topo.away) do
      for rail = 1, topo.rails do
         local r = topo:router(n, rail)
         local here = not r or looked[r]
         if not here then
            here = tables.any(topo:on_router(r), function(other) return not topo.away[other] end)
         end
         for _, c in ipairs(tables.or_empty(not here and topo:links_of(r))) do
            add_component(c)
            add_component(topo:opposite(c))
         end
         looked[r or -1] = true
      end
   end
   table.sort(list)
   return list
end

--- Say who is away.
-- @param topo topology
-- @param away set of node numbers
function dynamic.set_away(topo, away)
   topo.away, topo.absent_count, topo.away_count = away, nil, 0
   for _ in pairs(away) do
      topo.away_count = topo.away_count + 1
   end
   topo.unreached = unreached(topo)
   for _, f in ipairs(topo.fabrics or {}) do
      local own = {}
      for n in pairs(away) do
         own[f.number[n] or 0] = f.number[n] and true
      end
      dynamic.set_away(f.topo, own)
   end
end

return dynamic
