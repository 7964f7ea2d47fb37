-- SPDX-License-Identifier: GPL-2.0-or-later
--- Which jobs run where an observation was made.
local loop = require "taut.loop"
local tables = require "taut.base.tables"

local jobs = {}

local ROUTES = 2000 -- most routes looked at for one link

-- Is this component on a route between two nodes of the job?  Of a large job some pairs are looked
-- at, spread over all of them.
local function loads(topo, nodes, c, budget)
   local n = #nodes
   local pairs_all = n * (n - 1)
   local step = math.max(1, pairs_all // budget)
   for i = 0, pairs_all - 1, step do
      local a, b = i // (n - 1), i % (n - 1)
      b = b >= a and b + 1 or b
      if topo:crosses(nodes[a + 1], nodes[b + 1], c) then
         return true
      end
   end
   return false
end

local function numbers(topo, names)
   return tables.map(names, function(name) return topo.node_id[name] end)
end

--- Jobs on a node now.
function jobs.on_node(cluster, name)
   local list = tables.keys(cluster.on_node[name] or {})
   return list
end

local function on_link(cluster, topo, ids, c)
   local list = {}
   for _, id in ipairs(ids) do
      local nodes = numbers(topo, cluster.jobs[id].names)
      if #nodes > 1 and loads(topo, nodes, c, math.max(8, ROUTES // #ids)) then
         list[#list + 1] = id
      end
   end
   return list
end

--- Jobs whose traffic may cross a link now.
function jobs.on_link(cluster, topo, c)
   return on_link(cluster, topo, tables.keys(cluster.jobs), c)
end

--- The same of those that began between two times: array of { id, since }.
function jobs.over(cluster, topo, c, from, to)
   local ids, since = {}, {}
   for _, id in ipairs(tables.keys(cluster.jobs)) do
      local seen = cluster.seen_running[id] or {}
      since[id] = math.min(cluster.jobs[id].added, (seen.start or math.huge) - loop.ahead())
      ids[#ids + 1] = since[id] >= from and since[id] <= to and id or nil
   end
   return tables.map(on_link(cluster, topo, ids, c), function(id)
      return { id = id, since = since[id] }
   end)
end

--- Jobs of an observation.
-- @param o observation with its components named
-- @param now seconds: what happened long before says nothing of the jobs that run now
function jobs.of(o, cluster, topo, now)
   if o.to < now - 120 then
      return {}
   elseif o.node then
      return jobs.on_node(cluster, o.node)
   end
   local seen, list = {}, {}
   for _, name in ipairs(o.components) do
      local c = topo.component_id[name]
      for _, id in ipairs(c and jobs.on_link(cluster, topo, c) or {}) do
         if not seen[id] then
            seen[id] = true
            list[#list + 1] = id
         end
      end
   end
   return list
end

return jobs
