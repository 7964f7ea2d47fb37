-- SPDX-License-Identifier: GPL-2.0-or-later
--- What two descriptions of one machine disagree about.
local tables = require "taut.base.tables"
local matching = require "taut.topology.matching"

local diff = {}

local SAME = 0.01 -- capacities that differ by less are the same

-- Do two capacities differ, as far as both are known?
local function do_differ(one, other)
   return one and other and math.abs(one - other) > SAME * math.max(one, other)
end

-- Names that only one side has.
local function only_here(names, other)
   return tables.filter(names, function(name) return not other[name] end)
end

local function moved_nodes(first, second, map)
   local list = {}
   for n, name in ipairs(first.nodes) do
      local m, last = second.node_id[name], 0
      if m then
         last = math.max(first.rails or 1, second.rails or 1)
      end
      for rail = 1, last do
         local r, s = first:router(n, rail), second:router(m, rail)
         if (r and map[r]) ~= s then
            list[#list + 1] = { node = name, rail = rail, first = r and first.router_name[r],
               second = s and second.router_name[s] }
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

-- @param other the same pair in the other machine, or nil
local function link_difference(pair, other)
   other = other or { links = {}, capacity = 0 }
   return { from = pair.from, to = pair.to, first = #pair.links, second = #other.links,
      first_Bps = pair.capacity, second_Bps = other.capacity, links = pair.links,
      other_links = other.links }
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

local function differing_links(first, second, map)
   local back = {}
   for r, s in pairs(map) do
      back[s] = first.router_name[r]
   end
   local at_a, list_a = pairs_of(first, function(router) return first.router_name[router] end)
   local at_b, list_b = pairs_of(second, function(router)
      return back[router] or second.router_name[router]
   end)
   local links, capacities = {}, {}
   for _, p in ipairs(list_a) do
      local q = at_b[p.from .. "\0" .. p.to]
      if not q or #q.links ~= #p.links then
         links[#links + 1] = link_difference(p, q)
      elseif do_differ(p.capacity, q.capacity) then
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

local function node_capacities(here, there)
   local list = {}
   for c, name in ipairs(here.components) do
      local d = not here:is_link(c) and here:is_there(c) and there.component_id[name]
      d = d and there:is_there(d) and d -- a rail that one side lacks is reported as moved
      local first, second = here:known_capacity(c), d and there:known_capacity(d)
      if d and do_differ(first, second) then
         list[#list + 1] = { component = name, first_Bps = first, second_Bps = second }
      end
   end
   return list
end

--- @param first, second topologies
-- @return { matched_by = "name" | "nodes", matched = routers, of = routers of a,
--   nodes_first, nodes_second = names that only one has, moved = { node, rail, first, second },
--   routers_first, routers_second = names,
--   links = { from, to, both = the way back differs alike and is left out, first, second = how
--   many, links, other_links = names }, capacities = { from, to, both, first_Bps, second_Bps },
--   ends = { component, first_Bps, second_Bps }, count = of all these }
function diff.compare(first, second)
   local map, how, known = matching.of(first, second)
   local d = { matched_by = how, matched = known, of = first.routers,
      nodes_first = only_here(first.nodes, second.node_id),
         nodes_second = only_here(second.nodes, first.node_id),
      moved = moved_nodes(first, second, map), routers_first = {}, routers_second = {} }
   local seen = {}
   for r = 0, first.routers - 1 do
      if map[r] then
         seen[map[r]] = true
      else
         table.insert(d.routers_first, first.router_name[r])
      end
   end
   for s = 0, second.routers - 1 do
      if not seen[s] then
         table.insert(d.routers_second, second.router_name[s])
      end
   end
   d.links, d.capacities = differing_links(first, second, map)
   d.ends = node_capacities(first, second)
   d.count = 0
   for _, key in ipairs { "nodes_first", "nodes_second", "moved", "routers_first",
      "routers_second", "links", "capacities", "ends" } do
      d.count = d.count + #d[key]
   end
   return d
end

return diff
