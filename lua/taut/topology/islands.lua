-- SPDX-License-Identifier: GPL-2.0-or-later
--- Islands: parts of a machine that no link connects.
--
-- A file with several roots, or a sweep of several fabrics, describes them; no route leads from one
-- to another, so no test, no job and no advice does.  Failures do not make islands: these follow
-- from the wiring.
local tables = require "taut.base.tables"

local islands = {}

local kept = setmetatable({}, { __mode = "k" }) -- by topology: wiring never changes

-- Routers that a link joins, in whichever direction.
local function joined_routers(topo)
   local near = tables.fill(0, topo.routers - 1, function() return {} end)
   for c = topo.first_link, #topo.components do
      local r, s = topo:from(c), topo:to(c)
      near[r][#near[r] + 1], near[s][#near[s] + 1] = s, r
   end
   return near
end

-- Rails of a node hold its routers together: a node on several planes is in one part.
local function join_rails(topo, near)
   if (topo.rails or 1) <= 1 then
      return
   end
   for n = 1, #topo.nodes do
      local first
      for rail = 1, topo.rails do
         local r = topo:router(n, rail)
         first = first or r
         if r and r ~= first then
            near[first][#near[first] + 1], near[r][#near[r] + 1] = r, first
         end
      end
   end
end

local function walk_part(topo, near, first, number, of)
   local part = { number = number, first = first, routers = 0, nodes = {} }
   local stack = { first }
   of[first] = number
   while #stack > 0 do
      local at = table.remove(stack)
      part.routers = part.routers + 1
      for _, n in ipairs(topo:at_home(at)) do
         part.nodes[#part.nodes + 1] = n
      end
      for _, s in ipairs(near[at]) do
         if not of[s] then
            of[s], stack[#stack + 1] = number, s
         end
      end
   end
   table.sort(part.nodes)
   return part
end

local function find_parts(topo)
   local near, of, parts, with_nodes = joined_routers(topo), {}, {}, {}
   local by_links = {}
   for r = 0, topo.routers - 1 do
      if not by_links[r] then
         walk_part(topo, near, r, r, by_links)
      end
   end
   join_rails(topo, near)
   for r = 0, topo.routers - 1 do
      if not of[r] then
         parts[#parts + 1] = walk_part(topo, near, r, #parts + 1, of)
         if #parts[#parts].nodes > 0 then
            with_nodes[#with_nodes + 1] = parts[#parts]
         end
      end
   end
   return { by_links = by_links, of_router = of, parts = parts, with_nodes = with_nodes }
end

--- The parts of a machine.
-- @return { of_router = map router → number, parts = array of { number, first = router, routers =
--   how many, nodes = array }, with_nodes = those of them that have nodes }
function islands.of(topo)
   kept[topo] = kept[topo] or find_parts(topo)
   return kept[topo]
end

--- Does the machine consist of several parts with nodes?
function islands.are_several(topo)
   return #islands.of(topo).with_nodes > 1
end

--- The part that a node is in, by its number; nil where it is on no router.
function islands.of_node(topo, node)
   for rail = 1, topo.rails or 1 do
      local r = topo:router(node, rail)
      if r then
         return islands.of(topo).of_router[r]
      end
   end
end

--- Do links join two nodes on one rail?  Whether they are up is another matter.
function islands.are_joined(topo, src, dst, rail)
   local by, r, s = islands.of(topo).by_links, topo:router(src, rail), topo:router(dst, rail)
   return r ~= nil and s ~= nil and by[r] == by[s]
end

--- How many nodes the part of this one has, itself among them.
function islands.size(topo, node)
   local part = islands.of_node(topo, node)
   if not part then
      return 1
   end
   return #islands.of(topo).parts[part].nodes
end

--- Ordered pairs of nodes, on each rail, that no links join.
function islands.pairs_apart(topo)
   local by, apart = islands.of(topo).by_links, 0
   for rail = 1, topo.rails or 1 do
      local count, all = {}, 0
      for n = 1, #topo.nodes do
         local r = topo:router(n, rail)
         if r then
            count[by[r]], all = (count[by[r]] or 0) + 1, all + 1
         end
      end
      for _, some in pairs(count) do
         apart = apart + some * (all - some)
      end
   end
   return apart
end

--- Nodes of a list by their part, in its order; those on no router are left out.
-- @return array of lists, the largest first
function islands.split(topo, nodes)
   local by, list = {}, {}
   for _, n in ipairs(nodes) do
      local part = islands.of_node(topo, n)
      if part and not by[part] then
         by[part] = {}
         list[#list + 1] = by[part]
      end
      if part then
         table.insert(by[part], n)
      end
   end
   table.sort(list, function(one, other)
      return #one > #other or #one == #other and one[1] < other[1]
   end)
   return list
end

return islands
