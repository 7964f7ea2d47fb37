-- SPDX-License-Identifier: GPL-2.0-or-later
--- Which jobs run where an observation was made.
local loop = require "taut.loop"
local tables = require "taut.base.tables"

local jobs = {}

local ROUTES = 2000 -- most routes looked at for one link

-- Is this component on a route between two nodes of the job?  Of a large job some pairs are looked
-- at, spread over all of them.
local function crosses_component(topo, nodes, component, budget)
   local n = #nodes
   local pairs_all = n * (n - 1)
   local step = math.max(1, pairs_all // budget)
   for i = 0, pairs_all - 1, step do
      local a, b = i // (n - 1), i % (n - 1)
      if b >= a then
         b = b + 1
      end
      if topo:crosses(nodes[a + 1], nodes[b + 1], component) then
         return true
      end
   end
   return false
end

local function number_nodes(topo, names)
   return tables.map(names, function(name) return topo.node_id[name] end)
end

--- Jobs on a node now.
function jobs.on_node(cluster, name)
   local list = tables.keys(cluster.on_node[name] or {})
   return list
end

local function list_on_link(cluster, topo, ids, component)
   local list = {}
   for _, id in ipairs(ids) do
      local nodes = number_nodes(topo, cluster.jobs[id].names)
      if #nodes > 1 and crosses_component(topo, nodes, component, math.max(8, ROUTES // #ids)) then
         list[#list + 1] = id
      end
   end
   return list
end

--- Jobs whose traffic may cross a link now.
function jobs.on_link(cluster, topo, component)
   return list_on_link(cluster, topo, tables.keys(cluster.jobs), component)
end

--- The same of those that began between two times: array of { id, since }.
function jobs.over(cluster, topo, component, from, to)
   local ids, since = {}, {}
   for _, id in ipairs(tables.keys(cluster.jobs)) do
      local seen = cluster.seen_running[id] or {}
      since[id] = math.min(cluster.jobs[id].added, (seen.start or math.huge) - loop.ahead())
      if since[id] >= from and since[id] <= to then
         ids[#ids + 1] = id
      end
   end
   return tables.map(list_on_link(cluster, topo, ids, component), function(id)
      return { id = id, since = since[id] }
   end)
end

--- Jobs of an observation.
-- @param observation with its components named
-- @param now seconds: what happened long before says nothing of the jobs that run now
function jobs.of(observation, cluster, topo, now)
   if observation.to < now - 120 then
      return {}
   elseif observation.node then
      return jobs.on_node(cluster, observation.node)
   end
   local seen, list = {}, {}
   for _, name in ipairs(observation.components) do
      local c = topo.component_id[name]
      for _, id in ipairs(tables.or_empty(c and jobs.on_link(cluster, topo, c))) do
         if not seen[id] then
            seen[id] = true
            list[#list + 1] = id
         end
      end
   end
   return list
end

return jobs
