--- What the searches of all kinds of fabric share.
local common = {}

local LEAST_LEFT = 0.02 -- a failed link counts as one with this left

--- How much longer what crosses a link takes: 0 for a healthy one.
function common.weight(left)
   return 1 / math.max(left, LEAST_LEFT) - 1
end

--- Compare arrays of numbers: below 0, 0 or above it.
function common.compare(a, b)
   for i = 1, math.min(#a, #b) do
      if a[i] ~= b[i] then
         return a[i] - b[i]
      end
   end
   return #a - #b
end

--- Nodes in the order in which a job's ranks go through them: o.rank (node → place in Slurm's
-- table), else by number.  Sorts in place.
function common.sorted(nodes, o)
   local rank = o.rank
   if rank then
      table.sort(nodes, function(a, b) return rank[a] < rank[b] end)
   else
      table.sort(nodes)
   end
   return nodes
end

--- fn(list, candidate) that appends a candidate whose nodes are not those of an earlier one.
-- Returns whether it did.
function common.taker()
   local seen = {}
   return function(list, c)
      local key = table.concat(c.nodes, ",")
      if seen[key] then
         return false
      end
      seen[key] = true
      list[#list + 1] = c
      return true
   end
end

--- Free nodes by router, each list ascending, at most `most` on each.
function common.by_router(topo, free, most)
   local on, routers = {}, {}
   for n in pairs(free) do
      local r = topo:router(n)
      if r then
         if not on[r] then
            on[r] = {}
            routers[#routers + 1] = r
         end
         table.insert(on[r], n)
      end
   end
   table.sort(routers)
   for _, list in pairs(on) do
      table.sort(list)
      for i = #list, (most or math.huge) + 1, -1 do
         list[i] = nil
      end
   end
   return on, routers
end

return common
