-- SPDX-License-Identifier: GPL-2.0-or-later
--- Groups of nodes as topology/tree and topology/block want them.
local lists = require "taut.topology.export.lists"
local order = require "taut.topology.order"
local tables = require "taut.base.tables"

local slurm_tree = {}

local function nodes_of(topo, chosen, group)
   local list = {}
   for i = group.first, group.last do
      for _, n in ipairs(topo:at_home(chosen.routers[i])) do
         list[#list + 1] = topo.nodes[n]
      end
   end
   return list
end

local function name_of(topo, chosen, group, depth)
   if group.first == group.last and not group.children then
      return topo.router_name[chosen.routers[group.first]]
   elseif depth == 0 then
      return "whole"
   end
   return chosen.name_of(topo, chosen.routers, group.first, group.last)
end

-- Leaves first, as Slurm's own examples have them.
local function walk_group(self, group, depth)
   local list = {}
   for i, child in ipairs(group.children or {}) do
      list[i] = walk_group(self, child, depth + 1)
   end
   local name = self.switches:take(name_of(self.topo, self.o, group, depth))
   if group.children then
      self.rows[#self.rows + 1] = { name = name, children = list }
   else
      self.rows[#self.rows + 1] = { name = name, nodes = nodes_of(self.topo, self.o, group) }
   end
   return name
end

--- Switches of a tree.
-- @param chosen order with keys, see taut.order
-- @param leaf most nodes of a leaf that stands for more than one router
-- @return array of { name =, nodes = array of names } or { name =, children = array of names }
function slurm_tree.switches(topo, chosen, leaf)
   local self = { topo = topo, o = chosen, rows = {}, switches = lists.switches() }
   local roots = order.groups(topo, chosen, leaf)
   for _, group in ipairs(roots) do -- nothing is above several: Slurm would start jobs across
      walk_group(self, group, tables.one_if(#roots > 1))
   end
   return self.rows
end

local function largest_child(group)
   local most = 0
   for _, child in ipairs(group.children or { group }) do
      most = math.max(most, child.count)
   end
   return most
end

--- Blocks: the largest groups with at most `size` nodes, in order.
-- @param size nil: as large as the largest part of the whole
-- @return array of { name =, nodes = array of names }, nodes of the smallest block
function slurm_tree.blocks(topo, chosen, size)
   local roots = order.groups(topo, chosen, 0)
   if not size and #roots > 1 then
      size = math.huge
   end
   size = size or largest_child(roots[1])
   local rows, least, switches = {}, math.huge, lists.switches()
   local function visit_group(group, depth)
      if group.children and group.count > size then
         for _, child in ipairs(group.children) do
            visit_group(child, depth + 1)
         end
         return
      end
      rows[#rows + 1] = { name = switches:take(name_of(topo, chosen, group, depth)),
         nodes = nodes_of(topo, chosen, group) }
      least = math.min(least, group.count)
   end
   for _, group in ipairs(roots) do
      visit_group(group, tables.one_if(#roots > 1))
   end
   return rows, least
end

return slurm_tree
