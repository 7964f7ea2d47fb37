-- SPDX-License-Identifier: GPL-2.0-or-later
--- Finds the dimensions of a product of rings, lines or complete graphs, one number per edge.
--
-- In such a product two links of a router lie in different dimensions exactly when they span a
-- square (Feder, "Product graph representations", 1992, uses the same relation).  Opposite sides
-- of squares make classes; classes that meet at routers without squares are one dimension.  Both
-- are decided by majority, so that a few missing cables do no harm.
local dimensions = {}

-- Opposite corners with exactly two routers between them, which are not joined themselves.
local function each_square(graph, fn)
   local via, count = {}, {}
   for u = 1, graph.routers do
      local seen = {}
      for _, v in ipairs(graph.near[u]) do
         for _, x in ipairs(graph.near[v]) do
            if x ~= u and not graph.edge[u][x] then
               if not count[x] then
                  count[x], via[x] = 0, {}
                  seen[#seen + 1] = x
               end
               count[x] = count[x] + 1
               if count[x] <= 2 then
                  via[x][count[x]] = v
               end
            end
         end
      end
      for _, x in ipairs(seen) do
         local v, w = via[x][1], via[x][2]
         if x > u and count[x] == 2 and not graph.edge[v][w] then
            fn(u, v, x, w)
         end
         count[x], via[x] = nil, nil
      end
   end
end

local function find_root(parent, index)
   while parent[index] ~= index do
      parent[index] = parent[parent[index]]
      index = parent[index]
   end
   return index
end

local function join_classes(parent, edge, other)
   edge, other = find_root(parent, edge), find_root(parent, other)
   if edge ~= other then
      parent[math.max(edge, other)] = math.min(edge, other)
   end
end

local function square_classes(graph)
   local parent = {}
   for i in ipairs(graph.edges) do
      parent[i] = i
   end
   local edge = graph.edge
   each_square(graph, function(u, v, x, w)
      join_classes(parent, edge[u][v].index, edge[w][x].index)
      join_classes(parent, edge[u][w].index, edge[v][x].index)
   end)
   return parent
end

-- Counts, for each pair of classes, the routers where they meet and the squares they span there.
local function meet_in_squares(graph, parent)
   local meets, squares, size, width = {}, {}, {}, #graph.edges + 1
   local function key_of(edge, other)
      return math.min(edge, other) * width + math.max(edge, other)
   end
   local class = {}
   for i in ipairs(graph.edges) do
      class[i] = find_root(parent, i)
      size[class[i]] = (size[class[i]] or 0) + 1
   end
   for u = 1, graph.routers do
      local near = graph.near[u]
      for i = 1, #near do
         local a = class[graph.edge[u][near[i]].index]
         for j = i + 1, #near do
            local b = class[graph.edge[u][near[j]].index]
            if a ~= b then
               local k = key_of(a, b)
               meets[k] = (meets[k] or 0) + 1
            end
         end
      end
   end
   each_square(graph, function(u, v, x, w)
      local edge = graph.edge
      for _, corner in ipairs { { u, v, w }, { x, v, w } } do
         local c = corner[1]
         local a, b = class[edge[c][corner[2]].index], class[edge[c][corner[3]].index]
         if a ~= b then
            local k = key_of(a, b)
            squares[k] = (squares[k] or 0) + 1
         end
      end
   end)
   return meets, squares, size, width
end

-- Numbers classes 1, 2, … in the order of their first edge.
local function number_classes(graph, parent)
   local number, count, dim_of = {}, 0, {}
   for i in ipairs(graph.edges) do
      local c = find_root(parent, i)
      if not number[c] then
         count = count + 1
         number[c] = count
      end
      dim_of[i] = number[c]
   end
   return dim_of, count
end

-- Work that is too much for what it could tell.
local MOST_WORK = 3e7

--- By structure.
-- @return array edge index → dimension (1 …), number of dimensions; or nil when it is too large
function dimensions.by_squares(graph)
   local work = 0
   for r = 1, graph.routers do
      work = work + (#graph.near[r]) ^ 2
   end
   if work > MOST_WORK then
      return nil
   end
   local parent = square_classes(graph)
   local meets, squares, size, width = meet_in_squares(graph, parent)
   local groups = {}
   for i in ipairs(graph.edges) do
      groups[i] = find_root(parent, i)
   end
   for k, n in pairs(meets) do
      local a, b = k // width, k % width
      if n >= 0.5 * math.max(size[a], size[b]) and (squares[k] or 0) < 0.5 * n then
         join_classes(groups, a, b)
      end
   end
   return number_classes(graph, groups)
end

--- Ports of an edge as a word that does not depend on its direction.
local function port_word(port)
   if port[1] < port[2] then
      return port[1] .. "|" .. port[2]
   end
   return port[2] .. "|" .. port[1]
end

--- By ports: links that leave and arrive at the same pair of ports everywhere are a dimension.
-- @return as by_squares
function dimensions.by_ports(graph)
   local parent, at = {}, {}
   for i, e in ipairs(graph.edges) do
      parent[i] = i
      for _, p in ipairs(e.ports) do
         local word = port_word(p)
         if at[word] then
            join_classes(parent, i, at[word])
         else
            at[word] = i
         end
      end
   end
   return number_classes(graph, parent)
end

--- The pairs of ports that the edges of a dimension use, sorted, as one word.
function dimensions.port_words(graph, dim_of, dim)
   local seen, list = {}, {}
   for i, e in ipairs(graph.edges) do
      if dim_of[i] == dim then
         for _, p in ipairs(e.ports) do
            local word = port_word(p)
            if not seen[word] then
               seen[word] = true
               list[#list + 1] = word
            end
         end
      end
   end
   table.sort(list)
   return table.concat(list, " ")
end

return dimensions
