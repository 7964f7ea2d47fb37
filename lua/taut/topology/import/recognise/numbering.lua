-- SPDX-License-Identifier: GPL-2.0-or-later
--- Numbers for the layers of a dimension: which router is at which coordinate.
local tables = require "taut.base.tables"

local numbering = {}

-- The layers in the order of a walk from a given one.
local function walk_layers(joined, start, second)
   local order, at, before = {}, start, nil
   local seen = {}
   while at and not seen[at] do
      order[#order + 1], seen[at] = at, true
      local next_one
      if #order == 1 then
         next_one = second
      end
      if not next_one then
         for _, m in ipairs(joined[at]) do
            if m ~= before and not seen[m] then
               next_one = m
               break
            end
         end
      end
      before, at = at, next_one
   end
   return order
end

local function numbers_in(router)
   if router.coord then
      return router.coord
   end
   local list = {}
   for digits in router.name:gmatch "%d+" do
      list[#list + 1] = math.tointeger(tonumber(digits)) or 0
   end
   return list
end

-- The end of a loop that is for something only: 0, where it is not so.
local function last_if(is_so, last)
   if is_so then
      return last
   end
   return 0
end

-- The field of the routers' names that numbers the layers: values layer → number from 0, field.
local function by_names(graph, layer, joined, shape, taken)
   local first = numbers_in(graph.wiring.routers[1])
   for f = 1, #first do
      local value, least, good = {}, math.huge, not taken[f]
      for r = 1, last_if(good, graph.routers) do
         local v, l = numbers_in(graph.wiring.routers[r])[f], layer.part[r]
         if not v or value[l] and value[l] ~= v then
            good = false
            break
         end
         value[l], least = v, math.min(least, v)
      end
      local seen = {}
      for l = 1, last_if(good, layer.count) do
         local v = value[l] - least
         good = good and v < layer.count and not seen[v]
         seen[v] = true
         value[l] = v
      end
      for l = 1, last_if(good and shape ~= "complete", layer.count) do
         for _, m in ipairs(joined[l]) do
            local step = (value[m] - value[l]) % layer.count
            good = good and (step == 1 or step == layer.count - 1)
         end
      end
      if good then
         return value, f
      end
   end
end

local function port_number(port)
   return tonumber(port) or tonumber(port:match "%d+") or port:byte()
end

-- Of the first router's links in a dimension: the layer that its lowest port leads to, the port.
local function lowest_port(graph, dim_of, dim, layer)
   local best, to
   for r = 1, graph.routers do
      for _, s in ipairs(graph.near[r]) do
         local e = graph.edge[r][s]
         if dim_of[e.index] == dim and layer.part[r] == layer.part[1] then
            for _, p in ipairs(e.ports) do
               local own, plus = p[1], 0
               if e.a ~= r then
                  own = p[2]
               end
               if own:find("+", 1, true) then
                  plus = -0.5
               end
               if not best or port_number(own) + plus < best then
                  best, to = port_number(own) + plus, layer.part[s]
               end
            end
         end
      end
      if best then
         break
      end
   end
   return to, best or math.huge
end

--- Numbers the layers of a dimension: by names where they do it, else from the first router on.
-- @param graph graph
-- @param dim_of array edge index → dimension
-- @param dim dimension
-- @param layer { part[router] = layer, count }
-- @param joined[layer] = array of the layers next to it
-- @param shape "ring", "line", "complete" or "short"
-- @param taken set of the names' fields that other dimensions have taken; added to
-- @return array layer → number from 0, field of the names or nil, lowest port of the dimension
function numbering.layers(graph, dim_of, dim, layer, joined, shape, taken)
   local value, field = by_names(graph, layer, joined, shape, taken)
   local to, port = lowest_port(graph, dim_of, dim, layer)
   if value then
      taken[field] = true
      return value, field, port
   end
   value = {}
   local order
   if shape == "complete" then
      order = tables.fill(1, layer.count, function(one) return one end)
   elseif shape == "line" then
      local start
      for l = 1, layer.count do
         start = start or #joined[l] == 1 and l
      end
      order = walk_layers(joined, start)
   else
      order = walk_layers(joined, layer.part[1], to)
   end
   for i, l in ipairs(order) do
      value[l] = i - 1
   end
   return value, nil, port
end

return numbering
