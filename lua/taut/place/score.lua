--- How good a set of nodes is: mean hops, and the routes that cross slow links.
local stages = require "taut.stages"

local score = {}

local SAMPLE = 48 -- nodes of a large set whose pairs are looked at

local function sample(nodes)
   if #nodes <= SAMPLE then
      return nodes
   end
   local list = {}
   for i = 0, SAMPLE - 1 do
      list[#list + 1] = nodes[1 + i * #nodes // SAMPLE]
   end
   return list
end

--- @param topo topology
-- @param nodes array of node numbers
-- @param avoid map component → capacity left
-- @return table: mean_hops, max_hops, crossing (share of the pairs, 0 … 1), slowest (least
--   capacity left on any of their routes), through (map component → number of pairs)
function score.of(topo, nodes, avoid)
   local list = sample(nodes)
   local pairs_n, hops, most, crossing, slowest, through = 0, 0, 0, 0, 1, {}
   for i, a in ipairs(list) do
      for j, b in ipairs(list) do
         if i ~= j then
            local h = topo:hops(a, b)
            pairs_n, hops, most = pairs_n + 1, hops + h, math.max(most, h)
            local hit = false
            for _, c in ipairs(next(avoid) and stages.all(topo:route(a, b)) or {}) do
               if avoid[c] then
                  hit, slowest = true, math.min(slowest, avoid[c])
                  through[c] = (through[c] or 0) + 1
               end
            end
            crossing = crossing + (hit and 1 or 0)
         end
      end
   end
   local n = math.max(1, pairs_n)
   return { mean_hops = hops / n, max_hops = most, crossing = crossing / n, slowest = slowest,
      through = through }
end

return score
