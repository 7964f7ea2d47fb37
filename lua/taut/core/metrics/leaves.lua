-- SPDX-License-Identifier: GPL-2.0-or-later
--- Samples by switch, where the site wants such (`metrics.leaves`): what is not well at it, for
-- dashboards that show a row for each leaf.  A component counts for the switch with nodes that it
-- is nearest to: a node's tx and rx for the node's, an uplink for its leaf, a link between two such
-- for the one it leaves.
local leaves = {}

local STATES = { "failed", "lossy", "slow", "suspect" }

local function find_router(topo, component)
   if not topo:is_link(component) then
      return topo:router(topo:node_of(component))
   end
   local from, to = topo:from(component), topo:to(component)
   if #topo:on_router(from) == 0 and #topo:on_router(to) > 0 then
      return to
   end
   return from
end

-- What is not well at each switch: array of { router, left = the least, components = state → how
-- many, sets = of links one of which is slow }; the worst first.
local function list_not_well(diagnosis, topo)
   local by, list = {}, {}
   local function count_at_leaf(component, left)
      local r = find_router(topo, component)
      local leaf = by[r] or { router = r, left = 1, components = {}, sets = 0, count = 0 }
      if not by[r] then
         by[r], list[#list + 1] = leaf, leaf
      end
      leaf.left, leaf.count = math.min(leaf.left, left or 1), leaf.count + 1
      return leaf
   end
   for c, k in diagnosis:each() do
      local state = diagnosis:state(c)
      if state ~= "ok" and state ~= "unknown" then
         local of = count_at_leaf(c, k.left).components
         of[state] = (of[state] or 0) + 1
      end
   end
   for _, v in ipairs(diagnosis:set_verdicts()) do
      local leaf = count_at_leaf(v.members[1], v.left)
      leaf.sets = leaf.sets + 1
   end
   table.sort(list, function(first, second)
      if first.left ~= second.left then
         return first.left < second.left
      elseif first.count ~= second.count then
         return first.count > second.count
      end
      return first.router < second.router
   end)
   return list
end

--- @param most switches that are named; false: none
-- @return samples of components by leaf and state; of sets by leaf; of the least left by leaf; how
--   many switches are left out
function leaves.samples(diagnosis, topo, most)
   local components, sets, left = {}, {}, {}
   if not most then
      return components, sets, left, 0
   end
   local list = list_not_well(diagnosis, topo)
   for i = 1, math.min(#list, most) do
      local leaf, name = list[i], topo.router_name[list[i].router]
      local fabric = topo.fabrics and topo:fabric_at(leaf.router).name
      for _, state in ipairs(STATES) do
         components[#components + 1] = leaf.components[state]
            and { leaf.components[state], labels = { fabric = fabric, leaf = name,
               state = state } }
      end
      sets[#sets + 1] = leaf.sets > 0 and { leaf.sets, labels = { fabric = fabric, leaf = name } }
         or nil
      left[i] = { leaf.left, labels = { fabric = fabric, leaf = name } }
   end
   return components, sets, left, math.max(0, #list - most)
end

return leaves
