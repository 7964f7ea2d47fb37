-- SPDX-License-Identifier: GPL-2.0-or-later
--- Halves of the ranks' grid on halves of the nodes, and so on: neighbours stay neighbours.
local tables = require "taut.base.tables"
local boxes = require "taut.place.rankmap.boxes"

local bisect = {}

-- How much longer an axis of the grid counts that lies along this axis of the nodes already, and
-- how much shorter one that lies along another.
local SAME, OTHER = 2.5, 0.9

-- A cut of the nodes near the middle.
local function cut_in_half(nodes, per_node)
   local all, sum, best, off = 0, 0, 1, math.huge
   for _, n in ipairs(nodes) do
      all = all + per_node[n]
   end
   for i = 1, #nodes - 1 do
      sum = sum + per_node[nodes[i]]
      if math.abs(2 * sum - all) < off then
         best, off = i, math.abs(2 * sum - all)
      end
   end
   return best
end

function bisect.map(job)
   local grid = job.P.grid
   if not grid then
      return nil, "the pattern has no grid"
   end
   local node_at, node_axes = boxes.nodes(job.topo, job.nodes)
   if not node_at then
      return nil, "the nodes have no coordinates"
   end
   local rank_at, order = boxes.ranks(grid), {}
   local function map_half(nodes, ranks, along)
      if #nodes == 1 then
         for _, r in ipairs(ranks) do
            order[r] = nodes[1]
         end
         return
      end
      local axis = boxes.longest(nodes, node_at, node_axes)
      local of_ranks = boxes.longest(ranks, rank_at, #grid, function(along_axis)
         if along[along_axis] == axis then
            return SAME
         elseif along[along_axis] then
            return OTHER
         end
         return 1
      end)
      local with = { table.unpack(along, 1, #grid) }
      with[of_ranks] = with[of_ranks] or axis
      boxes.sort(nodes, node_at, node_axes, axis)
      boxes.sort(ranks, rank_at, #grid, of_ranks)
      local cut, count = cut_in_half(nodes, job.per_node), 0
      for i = 1, cut do
         count = count + job.per_node[nodes[i]]
      end
      map_half(table.move(nodes, 1, cut, 1, {}), table.move(ranks, 1, count, 1, {}), with)
      map_half(table.move(nodes, cut + 1, #nodes, 1, {}),
         table.move(ranks, count + 1, #ranks, 1, {}), with)
   end
   local all = tables.fill(1, job.P.ranks, function(rank) return rank end)
   map_half(table.move(job.nodes, 1, #job.nodes, 1, {}), all, {})
   return { { name = "bisect", about = "halves of the grid on halves of the nodes",
      order = order } }
end

return bisect
