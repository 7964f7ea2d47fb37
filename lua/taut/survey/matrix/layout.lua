-- SPDX-License-Identifier: GPL-2.0-or-later
--- The order of rows and columns, and where the boundaries of the machine lie in it.
local tables = require "taut.base.tables"

local layout = {}

local LETTERS = { "X", "Y", "Z", "A", "B", "C" }
local NAMES = { dragonfly = { "group ", "row " } }

-- What a dimension's coordinate is called: "X", "group ".
local function name_of(topo, dim)
   return (NAMES[topo.kind_name] or LETTERS)[dim] or "coordinate " .. dim .. " "
end

-- What a group of the first `depth` coordinates is called: "X1 Y0".
local function label_of(topo, at, depth)
   local parts = tables.fill(1, depth, function(dim) return name_of(topo, dim) .. at[dim] end)
   return table.concat(parts, " ")
end

-- One text per level for the router of a node, the coarsest first.
local function path_of(topo, router)
   local list = {}
   local at = {}
   if topo.coordinates then
      at = topo:coordinates(router) or at
   end
   for depth = 1, #at - 1 do
      list[depth] = label_of(topo, at, depth)
   end
   list[#list + 1] = topo.router_name[router]
   return list
end

-- A level whose groups are single nodes, or the same as the one before, says nothing.
local function is_useful(level, before, count)
   return #level.starts > 1 and #level.starts < count
      and not (before and #before.starts == #level.starts)
end

--- Boundaries between groups of rows.
-- @param topo topology or nil
-- @param number array: row → node number, in topology order
-- @return array, the coarsest first, of { name = "X", starts = first row of each
--   group, labels = their names }
function layout.levels(topo, number)
   local levels, paths, useful = {}, {}, {}
   for i, n in ipairs(tables.or_empty(topo and number)) do
      paths[i] = path_of(topo, topo:router(n))
   end
   local depth = #(paths[1] or {})
   for l = 1, depth do
      local level = { starts = {}, labels = {}, name = "router" }
      if l < depth then
         level.name = name_of(topo, l):match "^(.-) *$" or level.name
      end
      for i, path in ipairs(paths) do
         if i == 1 or path[l] ~= paths[i - 1][l] then
            table.insert(level.starts, i)
            table.insert(level.labels, path[l])
         end
      end
      levels[l] = level
   end
   for _, level in ipairs(levels) do
      if is_useful(level, useful[#useful], #number) then
         useful[#useful + 1] = level
      end
   end
   return useful
end

return layout
