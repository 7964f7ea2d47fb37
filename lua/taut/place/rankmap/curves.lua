-- SPDX-License-Identifier: GPL-2.0-or-later
--- Nodes along a line through the fabric (taut.order: Hilbert's curve, to and fro, trees), ranks in
-- blocks along it: as they are numbered, and where the pattern has a grid also in boxes of it.
local tables = require "taut.base.tables"
local boxes = require "taut.place.rankmap.boxes"
local fill = require "taut.place.rankmap.fill"
local order = require "taut.topology.order"

local curves = {}

local function only_wanted(list, wanted)
   return tables.filter(list, function(node) return wanted[node] end)
end

function curves.map(job)
   local list, ranks = {}, nil
   if job.P.grid then
      local all = tables.fill(1, job.P.ranks, function(rank) return rank end)
      ranks = boxes.order(all, boxes.ranks(job.P.grid), #job.P.grid)
   end
   for _, o in ipairs(order.candidates(job.topo)) do
      local nodes = only_wanted(o.nodes, job.per_node)
      if #nodes == #job.nodes then
         list[#list + 1] = { name = o.name, about = o.about, order = fill.blocks(job, nodes) }
         if ranks then
            list[#list + 1] = { name = o.name .. "+boxes",
               about = "boxes of ranks, nodes: " .. o.about,
               order = fill.blocks(job, nodes, ranks) }
         end
      end
   end
   return list
end

return curves
