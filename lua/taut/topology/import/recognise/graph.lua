-- SPDX-License-Identifier: GPL-2.0-or-later
--- The routers of a wiring as a simple graph: one edge per pair of routers that cables join.
local graph = {}

local function edge_between(fabric, router, other)
   if router > other then
      router, other = other, router
   end
   local e = fabric.edge[router][other]
   if not e then
      e = { a = router, b = other, cables = 0, index = #fabric.edges + 1, ports = {} }
      fabric.edges[e.index] = e
      fabric.edge[router][other], fabric.edge[other][router] = e, e
      table.insert(fabric.near[router], other)
      table.insert(fabric.near[other], router)
   end
   return e
end

--- Make it.
-- @return { routers = count, near[r] = array of neighbours, edge[r][s] = edge, edges, hosts[r],
--   wiring }; an edge has a, b, cables, ports (array of { port at a, port at b }), kind
function graph.of(wiring)
   local g = { routers = #wiring.routers, near = {}, edge = {}, edges = {}, hosts = {},
      wiring = wiring }
   for r = 1, g.routers do
      g.near[r], g.edge[r], g.hosts[r] = {}, {}, 0
   end
   for _, c in ipairs(wiring.cables) do
      local e = edge_between(g, c.a, c.b)
      e.cables = e.cables + 1
      e.kind = e.kind or c.kind
      e.ports[e.cables] = { c.a_port, c.b_port }
      if e.a ~= c.a then
         e.ports[e.cables] = { c.b_port, c.a_port }
      end
   end
   for r = 1, g.routers do
      table.sort(g.near[r])
   end
   for _, n in ipairs(wiring.nodes) do
      for _, rail in ipairs(n.rails) do
         if rail then
            g.hosts[rail.router] = g.hosts[rail.router] + 1
         end
      end
   end
   return g
end

--- Connected parts, using only the edges that `use` accepts.
-- @param use function of an edge, or nil for all
-- @return map router → number of its part, number of parts
function graph.parts(fabric, use)
   local part, count = {}, 0
   for start = 1, fabric.routers do
      if not part[start] then
         count = count + 1
         part[start] = count
         local queue, first = { start }, 1
         while queue[first] do
            local r = queue[first]
            first = first + 1
            for _, s in ipairs(fabric.near[r]) do
               if not part[s] and (not use or use(fabric.edge[r][s])) then
                  part[s] = count
                  queue[#queue + 1] = s
               end
            end
         end
      end
   end
   return part, count
end

--- Smallest and largest of an array.
function graph.range(list)
   local least, most = math.huge, -math.huge
   for _, v in ipairs(list) do
      least, most = math.min(least, v), math.max(most, v)
   end
   return least, most
end

--- The value that most of an array have.
function graph.mode(list)
   local count, best = {}, nil
   for _, v in ipairs(list) do
      count[v] = (count[v] or 0) + 1
      if not best or count[v] > count[best] or count[v] == count[best] and v < best then
         best = v
      end
   end
   if best == nil then
      return nil, 0
   end
   return best, count[best]
end

--- A list of misfits that stays short: after 20, only their number.
function graph.misfits()
   local list, count = {}, 0
   return {
      add = function(what, ...)
         count = count + 1
         if count <= 20 then
            list[count] = what:format(...)
         end
      end,
      count = function() return count end,
      list = function()
         if count > 20 then
            list[21] = ("and %d more"):format(count - 20)
         end
         return list
      end,
   }
end

return graph
