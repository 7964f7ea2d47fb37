-- SPDX-License-Identifier: GPL-2.0-or-later
--- Where running jobs are: their nodes, how many routers those are on, how far apart.
local choice = require "taut.topology.fabrics.choice"
local hostlist = require "taut.hostlist"
local json = require "taut.json"
local tables = require "taut.base.tables"

local placement = {}

local NAMES_MAX = 1 << 20
local PAIRS = 400 -- of nodes whose distance is looked at

-- Pairs of 1 … n: all of them, or PAIRS that are spread over them.
local function sample_pairs(count)
   local list = {}
   if count * (count - 1) // 2 > PAIRS then
      for k = 1, PAIRS do
         list[k] = { k * 7919 % count + 1, k * 104729 % count + 1 }
      end
      return list
   end
   for i = 1, count - 1 do
      for j = i + 1, count do
         list[#list + 1] = { i, j }
      end
   end
   return list
end

-- Links on the way between nodes, on average and at most.
local function mean_distance(topo, nodes)
   local sum, n, most = 0, 0, 0
   for _, p in ipairs(sample_pairs(#nodes)) do
      if p[1] ~= p[2] then
         local hops = topo:hops(nodes[p[1]], nodes[p[2]]) or 0
         sum, n, most = sum + hops, n + 1, math.max(most, hops)
      end
   end
   if n == 0 then
      return 0, most
   end
   return sum / n, most
end

--- Add to each job where it is.
-- @param jobs rows of the request `running`; each gets members (names of nodes), routers,
--   hops_mean, hops_most
function placement.add(topo, jobs)
   for _, job in ipairs(jobs) do
      local nodes, routers, count = {}, {}, 0
      job.members = json.array {}
      for _, name in ipairs(hostlist.expand(job.nodes or "", NAMES_MAX) or {}) do
         local n = topo.node_id[name]
         if n then
            nodes[#nodes + 1], job.members[#job.members + 1] = n, name
         end
      end
      local own = topo -- of several fabrics the one that the job is on
      if topo.fabrics then
         local f = choice.of(topo, { nodes = nodes, partition = job.partition })
         own, nodes = f.topo, tables.map(tables.filter(nodes, function(node)
            return f.number[node] ~= nil
         end), function(node) return f.number[node] end)
      end
      for _, n in ipairs(nodes) do
         local r = own:router(n)
         if not routers[r] then
            count = count + 1
         end
         routers[r] = true
      end
      job.routers = count
      job.hops_mean, job.hops_most = mean_distance(own, nodes)
   end
end

return placement
