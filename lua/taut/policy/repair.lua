-- SPDX-License-Identifier: GPL-2.0-or-later
--- What somebody with a spare part in the hand wants to know of a component.
--
-- Nodes to drain for a repair are those whose traffic dies when the part is out: those behind the
-- cable, and those on the routers of a module (a blade, a switch) that is taken out.
local tables = require "taut.base.tables"
local task = require "taut.base.task"

local repair = {}

---------------------------------------------------------------- parts

--- Numbers of several lists, each once, ascending.
function repair.union(lists)
   local seen, out = {}, {}
   for _, list in ipairs(lists) do
      for _, n in ipairs(list) do
         if not seen[n] then
            out[#out + 1] = n
         end
         seen[n] = true
      end
   end
   table.sort(out)
   return out
end

-- Name of the module a router is in; its own name where nothing is known of modules.
local function module_name(topo, router)
   local layout = tables.or_empty(topo.layout)
   if layout.cname then
      return (layout.cname(router):gsub("g%d+$", ""))
   end
   return topo.router_name[router]
end

-- Routers of the same module.
local function routers_of(topo, router)
   local name, list = module_name(topo, router), {}
   if name == topo.router_name[router] then
      return { router }
   end
   for other = 0, topo.routers - 1 do
      task.breathe()
      if module_name(topo, other) == name then
         list[#list + 1] = other
      end
   end
   return list
end

-- A module: its routers, and the nodes that lose the network without it.
local function module_of(topo, router)
   local routers, lists = routers_of(topo, router), {}
   for _, m in ipairs(routers) do
      lists[#lists + 1] = topo:on_router(m)
      for _, c in ipairs(topo:links_of(m)) do
         task.breathe()
         lists[#lists + 1] = topo:behind(c, 0)
         local back = topo:opposite(c)
         if back then
            lists[#lists + 1] = topo:behind(back, 0)
         end
      end
   end
   return { name = module_name(topo, router), routers = routers, nodes = repair.union(lists) }
end

-- The modules at the ends of a component, each once.
local function modules_of(topo, component)
   local list, seen = {}, {}
   for _, r in ipairs { topo:from(component), topo:to(component) } do
      local name = module_name(topo, r)
      if not seen[name] then
         seen[name] = true
         list[#list + 1] = module_of(topo, r)
      end
   end
   return list
end

--- What a repair of a component is about.
-- @param topo topology
-- @return table: components (numbers: both directions), behind (nodes that lose the network without
--   the cable), modules (array of { name, routers, nodes }); nodes and routers are numbers
function repair.parts(topo, component)
   local list, back = { component }, topo:opposite(component)
   if back ~= component then
      list[2] = back
   end
   local behind = tables.map(list, function(one) return topo:behind(one, 0) end)
   return { components = list, behind = repair.union(behind),
      modules = modules_of(topo, component) }
end

--- All components of a module: links of its routers in both directions, tx and rx of their nodes.
function repair.module_components(topo, module)
   local lists = {}
   for _, r in ipairs(module.routers) do
      lists[#lists + 1] = topo:links_of(r)
      for _, c in ipairs(topo:links_of(r)) do
         lists[#lists + 1] = { topo:opposite(c) }
      end
      for _, n in ipairs(topo:on_router(r)) do
         lists[#lists + 1] = topo:ports(n, r)
      end
   end
   return repair.union(lists)
end

return repair
