-- SPDX-License-Identifier: GPL-2.0-or-later
--- What somebody with a spare part in the hand wants to know of a component, and what follows when
-- it is done.
--
-- Nodes to drain for a repair are those whose traffic dies when the part is out: those behind the
-- cable, and those on the routers of a module (a blade, a switch) that is taken out.
local hostlist = require "taut.hostlist"
local json = require "taut.json"
local loop = require "taut.loop"
local findings

local repair = {}

---------------------------------------------------------------- parts

-- Nodes of several lists, each once, ascending.
local function union(lists)
   local seen, out = {}, {}
   for _, list in ipairs(lists) do
      for _, n in ipairs(list) do
         out[#out + 1] = not seen[n] and n or nil
         seen[n] = true
      end
   end
   table.sort(out)
   return out
end

-- Name of the module a router is in; its own name where nothing is known of modules.
local function module_name(topo, r)
   local layout = topo.layout
   return type(layout) == "table" and layout.cname and layout.cname(r):gsub("g%d+$", "")
      or topo.router_name[r]
end

-- Routers of the same module.
local function routers_of(topo, r)
   local name, list = module_name(topo, r), {}
   if name == topo.router_name[r] then
      return { r }
   end
   for other = 0, topo.routers - 1 do
      list[#list + 1] = module_name(topo, other) == name and other or nil
   end
   return list
end

-- A module: its routers, and the nodes that lose the network without it.
local function module_of(topo, r)
   local routers, lists = routers_of(topo, r), {}
   for _, m in ipairs(routers) do
      lists[#lists + 1] = topo:on_router(m)
      for _, c in ipairs(topo:links_of(m)) do
         lists[#lists + 1] = topo:behind(c, 0)
         local back = topo:opposite(c)
         lists[#lists + 1] = back and topo:behind(back, 0) or nil
      end
   end
   return { name = module_name(topo, r), routers = routers, nodes = union(lists) }
end

-- The modules at the ends of a component, each once.
local function modules_of(topo, c)
   local list, seen = {}, {}
   for _, r in ipairs { topo:from(c), topo:to(c) } do
      local name = module_name(topo, r)
      if not seen[name] then
         seen[name] = true
         list[#list + 1] = module_of(topo, r)
      end
   end
   return list
end

--- What a repair of component c is about.
-- @param topo topology
-- @return table: components (numbers: both directions), behind (nodes that lose the network without
--   the cable), modules (array of { name, routers, nodes }); nodes and routers are numbers
function repair.parts(topo, c)
   local back = topo:opposite(c)
   local list = { c, back ~= c and back or nil }
   local behind = {}
   for i, one in ipairs(list) do
      behind[i] = topo:behind(one, 0)
   end
   return { components = list, behind = union(behind), modules = modules_of(topo, c) }
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
         lists[#lists + 1] = { topo.tx[n], topo.rx[n] }
      end
   end
   return union(lists)
end

---------------------------------------------------------------- answers

local function names_of(list, names)
   local out = json.array {}
   for i, n in ipairs(list) do
      out[i] = names[n]
   end
   return out
end

local function compressed(topo, nodes)
   return #nodes > 0 and hostlist.compress(names_of(nodes, topo.nodes)) or ""
end

-- Nodes that we drained because of these components.
local function drained_for(d, components)
   local wanted, out = {}, json.array {}
   for _, c in ipairs(components) do
      wanted[d.topo.components[c]] = true
   end
   for name, x in pairs(d.act.history.drained) do
      out[#out + 1] = wanted[x.component] and name or nil
   end
   table.sort(out)
   return out
end

local function describe(d, c)
   local topo, p, now = d.topo, repair.parts(d.topo, c), loop.time()
   local k = d.diagnosis:record(c) or {}
   local modules = json.array {}
   for i, m in ipairs(p.modules) do
      modules[i] = { name = m.name, routers = names_of(m.routers, topo.router_name),
         nodes = names_of(m.nodes, topo.nodes), list = compressed(topo, m.nodes) }
   end
   return { component = topo.components[c], state = d.diagnosis:state(c), left = k.left,
      since = k.since, remark = d.diagnosis:remark(c, now), action = d.measures[c],
      is_link = topo:is_link(c), class = topo:class(c), kind = topo:kind(c), cable = topo:cable(c),
      place = topo:place(c), ports = names_of(p.components, topo.components), modules = modules,
      behind = names_of(p.behind, topo.nodes), behind_list = compressed(topo, p.behind),
      evidence = d.events:evidence_of(c), drained = drained_for(d, p.components), now = now }
end

-- Nodes whose drains count no more: their own tx or rx was repaired, or they were drained for it.
local function forgiven(d, components)
   local list, seen, wanted = {}, {}, {}
   for _, c in ipairs(components) do
      wanted[d.topo.components[c]] = true
      local n = d.topo:node_of(c)
      if n and not seen[d.topo.nodes[n]] then
         seen[d.topo.nodes[n]] = true
         list[#list + 1] = d.topo.nodes[n]
      end
   end
   for _, x in ipairs(d.act.history.drains) do
      if wanted[x.component] and not seen[x.node] then
         seen[x.node] = true
         list[#list + 1] = x.node
      end
   end
   return list
end

-- Give nodes back one after the other; fn(released, failed) when all was tried.
local function release_all(d, names, who, fn)
   local released, failed, i = json.array {}, json.array {}, 0
   local function step(ok, err)
      if i > 0 then
         local list = ok and released or failed
         list[#list + 1] = ok and names[i] or err
      end
      i = i + 1
      if not names[i] then
         return fn(released, failed)
      end
      d.act:release(names[i], who, step)
   end
   step()
end

local function done(d, c, args, who, reply)
   findings = findings or require "taut.core.findings"
   local p = repair.parts(d.topo, c)
   local list = { p.components }
   for _, m in ipairs(args.module and p.modules or {}) do
      list[#list + 1] = repair.module_components(d.topo, m)
   end
   local components = union(list)
   local drained = drained_for(d, components)
   findings.repaired(d, components)
   d.act:repaired(forgiven(d, components), d.topo.components[c], who)
   release_all(d, args.release and drained or {}, who, function(released, failed)
      reply { component = d.topo.components[c], forgotten = names_of(components,
         d.topo.components), drained = drained_for(d, components), released = released,
         failed = failed, probation_h = d.conf.policy.probation_h }
   end)
end

--- Answer `taut repair`.
-- @param args { component, done, module, release }
function repair.answer(d, args, who, uid, reply)
   local name = tostring(args.component)
   local c = d.topo.component_id[name] or d.topo.node_id[name]
      and d.topo.tx[d.topo.node_id[name]]
   if not c then
      return reply(nil, ("'%s' is neither a component nor a node (r1.0.0/X+, n5/tx, n5 …)"):format(
         name))
   elseif not args.done then
      return reply(describe(d, c))
   elseif not d.cluster:is_admin(uid) then
      return reply(nil, ("only root and SlurmUser may do this, you are %s"):format(who))
   end
   done(d, c, args, who, reply)
end

return repair
