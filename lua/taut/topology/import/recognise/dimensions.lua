-- SPDX-License-Identifier: GPL-2.0-or-later
--- Finds the dimensions of a product of rings, lines or complete graphs, one number per edge.
--
-- In such a product two links of a router lie in different dimensions exactly when they span a
-- square (Feder, "Product graph representations", 1992, uses the same relation).  Opposite sides
-- of squares make classes; classes that meet at routers without squares are one dimension.  Both
-- are decided by majority, so that a few missing cables do no harm.
local dimensions = {}

-- Opposite corners with exactly two routers between them, which are not joined themselves.
local function each_square(g, fn)
   local via, count = {}, {}
   for u = 1, g.routers do
      local seen = {}
      for _, v in ipairs(g.near[u]) do
         for _, x in ipairs(g.near[v]) do
            if x ~= u and not g.edge[u][x] then
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
         if x > u and count[x] == 2 and not g.edge[v][w] then
            fn(u, v, x, w)
         end
         count[x], via[x] = nil, nil
      end
   end
end

local function find(parent, i)
   while parent[i] ~= i do
      parent[i] = parent[parent[i]]
      i = parent[i]
   end
   return i
end

local function join(parent, a, b)
   a, b = find(parent, a), find(parent, b)
   if a ~= b then
      parent[math.max(a, b)] = math.min(a, b)
   end
end

local function square_classes(g)
   local parent = {}
   for i in ipairs(g.edges) do
      parent[i] = i
   end
   local edge = g.edge
   each_square(g, function(u, v, x, w)
      join(parent, edge[u][v].index, edge[w][x].index)
      join(parent, edge[u][w].index, edge[v][x].index)
   end)
   return parent
end

-- Counts, for each pair of classes, the routers where they meet and the squares they span there.
local function meetings(g, parent)
   local meets, squares, size, width = {}, {}, {}, #g.edges + 1
   local function key(a, b)
      return a < b and a * width + b or b * width + a
   end
   local class = {}
   for i in ipairs(g.edges) do
      class[i] = find(parent, i)
      size[class[i]] = (size[class[i]] or 0) + 1
   end
   for u = 1, g.routers do
      local near = g.near[u]
      for i = 1, #near do
         local a = class[g.edge[u][near[i]].index]
         for j = i + 1, #near do
            local b = class[g.edge[u][near[j]].index]
            if a ~= b then
               local k = key(a, b)
               meets[k] = (meets[k] or 0) + 1
            end
         end
      end
   end
   each_square(g, function(u, v, x, w)
      local edge = g.edge
      for _, corner in ipairs { { u, v, w }, { x, v, w } } do
         local c = corner[1]
         local a, b = class[edge[c][corner[2]].index], class[edge[c][corner[3]].index]
         if a ~= b then
            local k = key(a, b)
            squares[k] = (squares[k] or 0) + 1
         end
      end
   end)
   return meets, squares, size, width
end

-- Numbers classes 1, 2, … in the order of their first edge.
local function numbered(g, parent)
   local number, count, dim_of = {}, 0, {}
   for i in ipairs(g.edges) do
      local c = find(parent, i)
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
function dimensions.by_squares(g)
   local work = 0
   for r = 1, g.routers do
      work = work + (#g.near[r]) ^ 2
   end
   if work > MOST_WORK then
      return nil
   end
   local parent = square_classes(g)
   local meets, squares, size, width = meetings(g, parent)
   local groups = {}
   for i in ipairs(g.edges) do
      groups[i] = find(parent, i)
   end
   for k, n in pairs(meets) do
      local a, b = k // width, k % width
      if n >= 0.5 * math.max(size[a], size[b]) and (squares[k] or 0) < 0.5 * n then
         join(groups, a, b)
      end
   end
   return numbered(g, groups)
end

--- Ports of an edge as a word that does not depend on its direction.
local function port_word(p)
   return p[1] < p[2] and p[1] .. "|" .. p[2] or p[2] .. "|" .. p[1]
end

--- By ports: links that leave and arrive at the same pair of ports everywhere are a dimension.
-- @return as by_squares
function dimensions.by_ports(g)
   local parent, at = {}, {}
   for i, e in ipairs(g.edges) do
      parent[i] = i
      for _, p in ipairs(e.ports) do
         local word = port_word(p)
         if at[word] then
            join(parent, i, at[word])
         else
            at[word] = i
         end
      end
   end
   return numbered(g, parent)
end

--- The pairs of ports that the edges of a dimension use, sorted, as one word.
function dimensions.port_words(g, dim_of, d)
   local seen, list = {}, {}
   for i, e in ipairs(g.edges) do
      if dim_of[i] == d then
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
