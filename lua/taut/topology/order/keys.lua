-- SPDX-License-Identifier: GPL-2.0-or-later
--- Keys that put the routers of a fabric in order, per kind of fabric; see taut.order.
local tables = require "taut.base.tables"
local hilbert = require "taut.topology.order.hilbert"
local islands = require "taut.topology.islands"

local keys = {}

local LETTERS = { "x", "y", "z", "a", "b", "c" }

-- The routers that have nodes: only they need a key.
local function each_router(topo, fn)
   local key = {}
   for r = 0, topo.routers - 1 do
      if #topo:at_home(r) > 0 then
         key[r] = fn(r)
      end
   end
   return key
end

-- To and fro: every other line runs backwards, so that no step of the line is longer than one.
local function snake_place(at, dims)
   local key, back = {}, false
   for i, len in ipairs(dims) do
      key[i] = at[i]
      if back then
         key[i] = len - 1 - at[i]
      end
      back = back ~= (at[i] % 2 == 1)
   end
   return key
end

-- "group3", "group3.row2": what the coordinates of some routers have in common.
local function group_name(topo, routers, first, last)
   local a, b = topo:coordinates(routers[first]), topo:coordinates(routers[last])
   if a[2] == b[2] and #a > 2 then
      return "group" .. a[1] .. ".row" .. a[2]
   end
   return "group" .. a[1]
end

-- Routers that are connected without going higher have no name of their own.
local function pod_name(topo, routers, first)
   return "pod." .. topo.router_name[routers[first]]
end

-- Name of the box that holds some routers: "x0-3y2z0-1".
local function box_name(topo, routers, first, last)
   local lo, hi = topo:coordinates(routers[first]), topo:coordinates(routers[first])
   for i = first + 1, last do
      for d, v in ipairs(topo:coordinates(routers[i])) do
         lo[d], hi[d] = math.min(lo[d], v), math.max(hi[d], v)
      end
   end
   local parts = {}
   for d, v in ipairs(lo) do
      parts[d] = (LETTERS[d] or "d" .. d) .. v
      if hi[d] > v then
         parts[d] = parts[d] .. "-" .. hi[d]
      end
   end
   return table.concat(parts)
end

-- Most nodes of a box that is not split further: a torus has no groups of its own size.
local function box_size(topo)
   return math.min(32, #topo.nodes // 8)
end

local function grid_keys(topo)
   return {
      { name = "snake", about = "to and fro along the last dimension, then the one before",
         leaf = box_size(topo), name_of = box_name, key = each_router(topo, function(router)
            return snake_place(topo:coordinates(router), topo.dims)
         end) },
      { name = "hilbert", about = "a Hilbert curve over halves of each dimension",
         leaf = box_size(topo), key = each_router(topo, function(router)
            return hilbert.key(topo:coordinates(router), topo.dims)
         end), name_of = box_name },
   }
end

local function rows_of(topo)
   return { { name = "rows", about = "row by row, plane by plane",
      key = each_router(topo, function(router)
         return topo:coordinates(router)
      end), name_of = box_name } }
end

local function group_keys(topo)
   return { { name = "groups", about = "group by group, row by row",
      key = each_router(topo, function(router) return topo:coordinates(router) end),
      name_of = group_name } }
end

---------------------------------------------------------------- trees

-- Distance of each router from the nearest one that has nodes, where the fabric does not know its
-- levels itself.
local function levels_of(topo, next_to)
   local level, list = {}, {}
   if topo.level then
      for r = 0, topo.routers - 1 do
         level[r] = topo:level(r)
      end
      return level
   end
   for r = 0, topo.routers - 1 do
      if #topo:on_router(r) > 0 then
         level[r], list[#list + 1] = 0, r
      end
   end
   local i = 1
   while list[i] do
      for s in pairs(next_to[list[i]]) do
         if not level[s] then
            level[s], list[#list + 1] = level[list[i]] + 1, s
         end
      end
      i = i + 1
   end
   return level
end

local function adjacency(topo)
   local next_to = tables.fill(0, topo.routers - 1, function() return {} end)
   for c = 1, #topo.components do
      if topo:is_link(c) then
         next_to[topo:from(c)][topo:to(c)] = true
      end
   end
   return next_to
end

--- Level of each router: 0 for leaves, then counting upwards; nil where nothing reaches it.
function keys.levels(topo)
   return levels_of(topo, adjacency(topo))
end

-- Part of the machine that a router belongs to when only routers up to `most` are left; parts are
-- numbered in the order of their first routers.
local function parts_up_to(topo, next_to, level, most)
   local part, parts = {}, 0
   for r = 0, topo.routers - 1 do
      if not part[r] and level[r] and level[r] <= most then
         parts = parts + 1
         local stack = { r }
         part[r] = parts
         while #stack > 0 do
            for s in pairs(next_to[table.remove(stack)]) do
               if not part[s] and level[s] and level[s] <= most then
                  part[s], stack[#stack + 1] = parts, s
               end
            end
         end
      end
   end
   return part
end

-- Routers in the order of a walk outwards from a router, those with few neighbours first.
-- Source of the order: E. Cuthill, J. McKee, "Reducing the bandwidth of sparse symmetric
-- matrices" (1969).
local function walk_outwards(topo, next_to, router, seen)
   local list, i = { router }, 1
   seen[router] = true
   while list[i] do
      local more = {}
      for s in pairs(next_to[list[i]]) do
         if not seen[s] then
            seen[s], more[#more + 1] = true, s
         end
      end
      table.sort(more, function(one, other)
         local na, nb = #topo:links_of(one), #topo:links_of(other)
         return na < nb or na == nb and one < other
      end)
      table.move(more, 1, #more, #list + 1, list)
      i = i + 1
   end
   return list
end

-- Where all routers have nodes there are no levels: from one end of the fabric to the other, in
-- parts of 8 and 64 routers.
local function walk_fabric(topo, next_to)
   local place, seen, n = {}, {}, 0
   for r = 0, topo.routers - 1 do
      if not seen[r] then
         local far = walk_outwards(topo, next_to, r, {})
         for _, s in ipairs(walk_outwards(topo, next_to, far[#far], seen)) do
            place[s], n = n, n + 1
         end
      end
   end
   return { { name = "walk", about = "outwards from one end of the fabric", name_of = pod_name,
      key = each_router(topo, function(router)
         return { place[router] // 64, place[router] // 8, place[router] }
      end) } }
end

--- Switches below which routers are connected without going higher: leaf, pod, whole.
local function keys_of_tree(topo)
   local next_to = adjacency(topo)
   local level, top = levels_of(topo, next_to), 0
   for _, l in pairs(level) do
      top = math.max(top, l)
   end
   if top == 0 then
      return walk_fabric(topo, next_to)
   end
   local parts = tables.fill(1, top, function(most)
      return parts_up_to(topo, next_to, level, most)
   end)
   return { { name = "tree", about = "switch by switch, pod by pod",
      key = each_router(topo, function(router)
         local key = {}
         for l = top, 1, -1 do
            key[#key + 1] = parts[l][router]
         end
         key[#key + 1] = router
         return key
      end), name_of = pod_name } }
end

---------------------------------------------------------------- registry

local of_kind = { torus = grid_keys, mesh = grid_keys, hyperx = rows_of, dragonfly = group_keys }

--- The nodes of a part that no link joins to the others stay together.
-- @return array of { name =, about =, key = { [router] = array of numbers },
--   name_of = function(topo, routers, first, last) that names a group,
--   leaf = most nodes of a group that is not split further, or nil: one router each }
function keys.of(topo)
   local list = (of_kind[topo.kind_name] or keys_of_tree)(topo)
   if islands.are_several(topo) then
      local part = islands.of(topo).of_router
      for _, k in ipairs(list) do
         for r, key in pairs(k.key) do
            table.insert(key, 1, part[r])
         end
      end
   end
   return list
end

return keys
