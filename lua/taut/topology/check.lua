-- SPDX-License-Identifier: GPL-2.0-or-later
--- Does a topology hang together?  What in it cannot be right, or is worth a second look.
local islands = require "taut.topology.islands"
local tables = require "taut.base.tables"

local check = {}

local SAME = 0.01     -- capacities that differ by less are the same
local RARE = 0.1      -- of a class of links, a capacity that fewer have is worth a look
local NAMED = 1000    -- names that one finding lists

local function add_finding(list, kind, text, names)
   if #names > 0 then
      list[#list + 1] = { kind = kind, text = text, count = #names,
         names = table.move(names, 1, math.min(#names, NAMED), 1, {}) }
   end
end

---------------------------------------------------------------- wiring

local function find_parts(topo, list)
   local names = tables.map(islands.of(topo).with_nodes, function(part)
      return ("%d nodes with router %s"):format(#part.nodes, topo.router_name[part.first])
   end)
   if #names > 1 then
      add_finding(list, "parts", "the machine falls into parts that no link connects; " ..
         "no test, job or advice goes from one to another", names)
   end
end

-- What an importer found missing among nodes that have it otherwise.
local function missing_rails(topo, list)
   local names = tables.map(topo.missing_rails, function(missing)
      return ("%s: rail %d of %d"):format(topo.nodes[missing.node], missing.rail, topo.rails)
   end)
   add_finding(list, "missing_rails", "rails that a node has not, though its peers do", names)
end

-- What an importer found with fewer planes than it should have.
local function missing_planes(topo, list)
   local rails, links = {}, {}
   for _, c in ipairs(tables.keys(topo.planes_up)) do
      local up = topo.planes_up[c]
      local n, rail = topo:node_of(c)
      if n and topo:kind(c) == "tx" then
         rails[#rails + 1] = ("%s: rail %d has %d of %d planes"):format(topo.nodes[n], rail, up,
            topo.planes[c])
      elseif not n then
         links[#links + 1] = ("%s: %d of %d planes"):format(topo.components[c], up, topo.planes[c])
      end
   end
   add_finding(list, "planes", "rails some of whose planes are down", rails)
   add_finding(list, "link_planes", "links some of whose planes are down", links)
end

local function find_lonely(topo, list)
   local into, nodes, routers, unconnected = {}, {}, {}, {}
   for c = 1, #topo.components do
      if topo:is_link(c) then
         into[topo:to(c)] = true
      end
   end
   for r = 0, topo.routers - 1 do
      if topo.routers > 1 and (#topo:links_of(r) == 0 or not into[r]) then
         routers[#routers + 1] = topo.router_name[r]
         for _, n in ipairs(topo:on_router(r)) do
            nodes[#nodes + 1] = topo.nodes[n]
         end
      end
   end
   for n, name in ipairs(topo.nodes) do -- not every node has all rails
      local is_on = false
      for rail = 1, topo.rails or 1 do
         is_on = is_on or topo:router(n, rail) ~= nil
      end
      if not is_on then
         unconnected[#unconnected + 1] = name
      end
   end
   add_finding(list, "unconnected", "nodes that are on no router", unconnected)
   add_finding(list, "lonely", "routers without links to them or from them", routers)
   add_finding(list, "nodes_without_links", "nodes whose router has no links to it or from it",
      nodes)
end

---------------------------------------------------------------- capacities

local function do_differ(one, other)
   return math.abs(one - other) > SAME * math.max(one, other)
end

local function directions(topo, list)
   local one_way, uneven = {}, {}
   for c = 1, #topo.components do
      local back = topo:opposite(c)
      if topo:is_link(c) and not back then
         one_way[#one_way + 1] = topo.components[c]
      elseif back and c < back then
         local there, here = topo:known_capacity(c), topo:known_capacity(back)
         if there and here and do_differ(there, here) then
            uneven[#uneven + 1] = ("%s %.2f, %s %.2f GB/s"):format(topo.components[c],
               there / 1e9, topo.components[back], here / 1e9)
         end
      end
   end
   add_finding(list, "one_way", "links that have no way back", one_way)
   add_finding(list, "asymmetric", "cables whose directions differ in capacity", uneven)
end

-- Capacities of a class that only few of its links have.
local function find_rare(topo, list)
   local classes = {}
   for c = 1, #topo.components do
      local k = classes[topo:class(c)] or { n = 0, by = {} }
      classes[topo:class(c)] = k
      local v = topo:is_there(c) and topo:known_capacity(c)
      if v then
         k.n = k.n + 1
         k.by[v] = k.by[v] or {}
         table.insert(k.by[v], c)
      end
   end
   local names = {}
   for class, k in pairs(classes) do
      for v, members in pairs(k.by) do
         if #members < RARE * k.n then
            for _, c in ipairs(members) do
               names[#names + 1] = ("%s (%s) %.2f GB/s"):format(topo.components[c], class, v / 1e9)
            end
         end
      end
   end
   table.sort(names)
   add_finding(list, "rare", "capacities that fewer than 10% of their class have", names)
end

---------------------------------------------------------------- routes, names

local function unroutable(topo, options, list)
   local r = options.rerouted or topo:set_health(options.around or {})
   local names = {}
   for i, u in ipairs(r.unroutable or {}) do
      names[i] = ("%s to %s: %s"):format(topo.router_name[u[1]], topo.router_name[u[2]], u[3])
   end
   if #names > 0 then
      add_finding(list, "unroutable", ("pairs of routers without a route, for %d pairs of nodes")
         :format(r.pairs), names)
   end
end

local function in_slurm(topo, slurm, list)
   local here, there = {}, {}
   for n, name in ipairs(topo.nodes) do
      if not slurm.known[name] and not (topo.dynamic and topo.dynamic[n]) then
         here[#here + 1] = name
      end
   end
   local whole = slurm.whole or topo
   for _, name in ipairs(tables.or_empty(not slurm.is_said and slurm.names)) do
      if not whole.node_id[name] then
         there[#there + 1] = name
      end
   end
   add_finding(list, "not_in_slurm", "nodes that are not in slurm.conf", here)
   add_finding(list, "not_in_topology", "nodes in slurm.conf that are not in the topology", there)
end

--- @param topo topology
-- @param options { slurm = { names = array, known = map; of a fabric of several whole = topology of
--   all, is_said = of another one it was said what no fabric has }, rerouted = what set_health
--   told, around = map of what the fabric has routed around }, each or nil
-- @return array of { kind =, text =, count =, names = array, the first thousand }
function check.all(topo, options)
   local list = {}
   find_parts(topo, list)
   missing_rails(topo, list)
   missing_planes(topo, list)
   find_lonely(topo, list)
   directions(topo, list)
   find_rare(topo, list)
   unroutable(topo, options, list)
   if options.slurm then
      in_slurm(topo, options.slurm, list)
   end
   return list
end

return check
