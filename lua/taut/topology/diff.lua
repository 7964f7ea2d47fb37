-- SPDX-License-Identifier: GPL-2.0-or-later
--- What two descriptions of one machine disagree about.
local tables = require "taut.base.tables"
local matching = require "taut.topology.matching"

local diff = {}

local SAME = 0.01 -- capacities that differ by less are the same

-- Do two capacities differ, as far as both are known?
local function differ(a, b)
   return a and b and math.abs(a - b) > SAME * math.max(a, b)
end

-- Names that only one side has.
local function only(names, other)
   return tables.filter(names, function(name) return not other[name] end)
end

local function moved_nodes(a, b, map)
   local list = {}
   for n, name in ipairs(a.nodes) do
      local m = b.node_id[name]
      for rail = 1, m and math.max(a.rails or 1, b.rails or 1) or 0 do
         local r, s = a:router(n, rail), b:router(m, rail)
         if (r and map[r]) ~= s then
            list[#list + 1] = { node = name, rail = rail, first = r and a.router_name[r],
               second = s and b.router_name[s] }
         end
      end
   end
   return list
end

-- Links per pair of routers, under the names of the first side: key → { from, to, links = names,
-- capacity = nil where it is not known }.
local function pairs_of(topo, name_of)
   local at, list = {}, {}
   for c = 1, #topo.components do
      if topo:is_link(c) then
         local key = name_of(topo:from(c)) .. "\0" .. name_of(topo:to(c))
         local p = at[key]
         if not p then
            p = { from = name_of(topo:from(c)), to = name_of(topo:to(c)), capacity = 0, links = {} }
            at[key] = p
            list[#list + 1] = p
         end
         local known = topo:known_capacity(c)
         p.capacity = p.capacity and known and p.capacity + known
         table.insert(p.links, topo.components[c])
      end
   end
   return at, list
end

local function link_difference(p, q)
   return { from = p.from, to = p.to, first = #p.links, second = q and #q.links or 0,
      first_Bps = p.capacity, second_Bps = q and q.capacity or 0, links = p.links,
      other_links = q and q.links or {} }
end

-- Of two directions with the same difference, one is enough.
local function both_ways(list)
   local at, out = {}, {}
   for _, l in ipairs(list) do
      at[l.from .. "\0" .. l.to] = l
   end
   for _, l in ipairs(list) do
      local back = at[l.to .. "\0" .. l.from]
      local same = back and back.first == l.first and back.second == l.second and
         back.first_Bps == l.first_Bps and back.second_Bps == l.second_Bps
      l.both = same or false
      if not (same and back.told) then
         out[#out + 1], l.told = l, true
      end
   end
   for _, l in ipairs(list) do
      l.told = nil
   end
   return out
end

local function differing_links(a, b, map)
   local back = {}
   for r, s in pairs(map) do
      back[s] = a.router_name[r]
   end
   local at_a, list_a = pairs_of(a, function(r) return a.router_name[r] end)
   local at_b, list_b = pairs_of(b, function(s) return back[s] or b.router_name[s] end)
   local links, capacities = {}, {}
   for _, p in ipairs(list_a) do
      local q = at_b[p.from .. "\0" .. p.to]
      if not q or #q.links ~= #p.links then
         links[#links + 1] = link_difference(p, q)
      elseif differ(p.capacity, q.capacity) then
         capacities[#capacities + 1] = link_difference(p, q)
      end
   end
   for _, q in ipairs(list_b) do
      if not at_a[q.from .. "\0" .. q.to] then
         links[#links + 1] = link_difference({ from = q.from, to = q.to, links = {}, capacity = 0 },
            q)
      end
   end
   return both_ways(links), both_ways(capacities)
end

local function node_capacities(a, b)
   local list = {}
   for c, name in ipairs(a.components) do
      local d = not a:is_link(c) and a:is_there(c) and b.component_id[name]
      d = d and b:is_there(d) and d -- a rail that one side has not is told as moved
      local first, second = a:known_capacity(c), d and b:known_capacity(d)
      if d and differ(first, second) then
         list[#list + 1] = { component = name, first_Bps = first, second_Bps = second }
      end
   end
   return list
end

--- @param a, b topologies
-- @return { matched_by = "name" | "nodes", matched = routers, of = routers of a,
--   nodes_first, nodes_second = names that only one has, moved = { node, rail, first, second },
--   routers_first, routers_second = names,
--   links = { from, to, both = the way back differs alike and is left out, first, second = how
--   many, links, other_links = names }, capacities = { from, to, both, first_Bps, second_Bps },
--   ends = { component, first_Bps, second_Bps }, count = of all these }
function diff.compare(a, b)
   local map, how, known = matching.of(a, b)
   local d = { matched_by = how, matched = known, of = a.routers,
      nodes_first = only(a.nodes, b.node_id), nodes_second = only(b.nodes, a.node_id),
      moved = moved_nodes(a, b, map), routers_first = {}, routers_second = {} }
   local seen = {}
   for r = 0, a.routers - 1 do
      if map[r] then
         seen[map[r]] = true
      else
         table.insert(d.routers_first, a.router_name[r])
      end
   end
   for s = 0, b.routers - 1 do
      if not seen[s] then
         table.insert(d.routers_second, b.router_name[s])
      end
   end
   d.links, d.capacities = differing_links(a, b, map)
   d.ends = node_capacities(a, b)
   d.count = 0
   for _, key in ipairs { "nodes_first", "nodes_second", "moved", "routers_first",
      "routers_second", "links", "capacities", "ends" } do
      d.count = d.count + #d[key]
   end
   return d
end

return diff
