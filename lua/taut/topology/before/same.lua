-- SPDX-License-Identifier: GPL-2.0-or-later
--- Which components of a machine as it was are components of the machine as it is: those with the
-- same ends, of the same kind and capacity, whatever their numbers and names.
local matching = require "taut.topology.matching"
local report = require "taut.report"
local tables = require "taut.base.tables"
local unknown = require "taut.topology.unknown"

local same = {}

local SAME = 0.01 -- capacities that differ by less are the same
local NAMED = 3   -- in words, of each sort

---------------------------------------------------------------- comparing

-- What it carries, below 0 where that is learned; of how many cables.
local function capacity_made(topo, component)
   if topo.made then
      return topo:made(component)
   end
   return unknown.made_capacity(topo, component), topo.cables[component] or 1
end

local function is_alike(old, old_component, new, component)
   local a, cables = capacity_made(old, old_component)
   local b, cables_now = capacity_made(new, component)
   return old:kind(old_component) == new:kind(component) and cables == cables_now
      and (a < 0) == (b < 0) and math.abs(a - b) <= SAME * math.max(math.abs(a), math.abs(b))
end

-- What a node is called now.  A line of the site's map counts where only the old machine has the
-- first name and only the new one the second.
local function renamer_of(old, new, renamed)
   return function(name)
      local other = not new.node_id[name] and renamed[name]
      if other and new.node_id[other] and not (old and old.node_id[other]) then
         return other
      end
      return name
   end
end

-- By node its number now; and what differs.
local function compare_nodes(difference, old, new)
   local is_kept = {}
   for n, name in ipairs(old.nodes) do
      local now = difference.node(name)
      local m = new.node_id[now]
      difference.nodes[n], is_kept[m or 0] = m, true
      if not m then
         table.insert(difference.nodes_gone, name)
      elseif now ~= name then
         table.insert(difference.renamed, ("%s is %s"):format(name, now))
         table.insert(difference.renamed_pairs, { name, now })
      end
   end
   for m, name in ipairs(new.nodes) do
      if not is_kept[m] then
         difference.nodes_new[#difference.nodes_new + 1] = name
      end
   end
end

-- The rail of a node now that leads to router r: the one of the same number, if it does, else
-- another, since a fabric that was added may have moved them; nil: none does.
local function rail_now(new, node, rail, rail_then)
   if rail <= new.rails and (new:router(node, rail) or false) == rail_then then
      return rail
   end
   for k = 1, new.rails or 0 do
      if rail_then and new:router(node, k) == rail_then then
         return k
      end
   end
end

-- One tx and rx: is the node on the same router?
local function compare_ends(difference, old, new, routers)
   local n, m = #old.nodes, #new.nodes
   for e = 1, n * old.rails do
      local node, rail = (e - 1) % n + 1, (e - 1) // n + 1
      local now, r = difference.nodes[node], old:router(node, rail)
      local k = now and r and rail_now(new, now, rail, routers[r])
      if k then
         for way = -1, 0 do
            local c, other = 2 * e + way, 2 * (now + m * (k - 1)) + way
            if is_alike(old, c, new, other) then
               difference.map[c] = other
            else
               table.insert(difference.other, old.components[c])
            end
         end
      elseif now and r then
         difference.moved[#difference.moved + 1] = old.nodes[node]
      end
   end
end

local function has_ends(old, component, new, other, routers)
   return other and new:is_link(other) and routers[old:from(component)] == new:from(other)
      and routers[old:to(component)] == new:to(other)
end

-- Links by name, and which are left.
local function compare_named(difference, old, new, routers)
   local left, taken = {}, {}
   for c = old.first_link, #old.components do
      local other = new.component_id[old.components[c]]
      if not has_ends(old, c, new, other, routers) then
         left[#left + 1] = c
      else
         taken[other] = true
         if is_alike(old, c, new, other) then
            difference.map[c] = other
         else
            table.insert(difference.other, old.components[c])
         end
      end
   end
   return left, taken
end

local function key_of(from, to, kind)
   return ("%d %d %s"):format(from, to, kind)
end

-- Remembers what has a key, while it is the only one; false where there are more.
local function take_only(map, key, value)
   if map[key] == nil then
      map[key] = value
   else
      map[key] = false
   end
end

-- Those that are called otherwise: where one such link is left between two routers on both sides.
local function compare_unnamed(difference, old, new, routers, left, taken)
   local then_, now = {}, {}
   for _, c in ipairs(left) do
      local from, to = routers[old:from(c)], routers[old:to(c)]
      if from and to then
         local key = key_of(from, to, old:kind(c))
         take_only(then_, key, c)
      end
   end
   for c = new.first_link, #new.components do
      if next(then_) and not taken[c] then
         take_only(now, key_of(new:from(c), new:to(c), new:kind(c)), c)
      end
   end
   for _, c in ipairs(left) do
      local from, to = routers[old:from(c)], routers[old:to(c)]
      local key = from and to and key_of(from, to, old:kind(c))
      local other = key and then_[key] and now[key]
      if other and is_alike(old, c, new, other) then
         difference.map[c], taken[other] = other, true
      else
         table.insert(difference.links_gone, old.components[c])
      end
   end
   for c = new.first_link, #new.components do
      if not taken[c] then
         difference.links_new[#difference.links_new + 1] = new.components[c]
      end
   end
end

local function count_kept(difference)
   for _, c in pairs(difference.map) do
      difference.kept, difference.was[c] = difference.kept + 1, true
   end
end

--- @param old topology, or machine of topology/before/kept.lua
-- @param new topology
-- @param renamed map old name of a node → new name (config/renamed.lua)
-- @return {
--   map = component then → now, was = set of those, as they are numbered now,
--   nodes = number of a node then → now, nodes_then = names,
--   node = function(name then) → name now, name = function(name of a component then) → now, or nil,
--   kept = how many components, of,
--   and arrays of names: nodes_new, nodes_gone, renamed, moved (nodes on another router),
--   links_new, links_gone, other (components of another kind or capacity);
--   renamed_pairs = { { name then, name now }, … } }
function same.compare(old, new, renamed)
   local d = { map = {}, was = {}, nodes = {}, nodes_then = old.nodes,
      node = renamer_of(old, new, renamed or {}), kept = 0, of = #old.components, nodes_new = {},
      nodes_gone = {}, renamed = {}, moved = {}, links_new = {}, links_gone = {}, other = {},
      renamed_pairs = {} }
   compare_nodes(d, old, new)
   local routers = matching.of(old, new)
   compare_ends(d, old, new, routers)
   local left, taken = compare_named(d, old, new, routers)
   compare_unnamed(d, old, new, routers, left, taken)
   function d.name(name)
      local c = d.map[old.component_id[name] or 0]
      return c and new.components[c]
   end
   count_kept(d)
   return d
end

--- What nodes and their tx and rx are called now, where the machine is the same.
-- @return { node, name }, as of compare
function same.names(topo, renamed)
   local node = renamer_of(nil, topo, renamed or {})
   return { node = node, name = function(name)
      local own, way = name:match "^(.*)(/[tr]x)$"
      if not own then
         return name
      end
      local of, rail
      if topo.rails > 1 then
         of, rail = own:match "^(.*)(:%d+)$"
      end
      return node(of or own) .. (rail or "") .. way
   end }
end

---------------------------------------------------------------- in words

local function some_of(list)
   local text = table.concat(list, ", ", 1, math.min(NAMED, #list))
   return text .. report.text_if(#list > NAMED, ", …")
end

local SORTS = {
   { "nodes_new", "%d new node%s (%s)" }, { "nodes_gone", "%d node%s gone (%s)" },
   { "renamed", "%d node%s renamed (%s)" }, { "moved", "%d node%s on another router (%s)" },
   { "links_new", "%d new link%s (%s)" }, { "links_gone", "%d link%s gone (%s)" },
   { "other", "%d component%s of another kind or capacity (%s)" },
}

--- What differs, in words: "1 new node (n126), 2 links gone (r1/X+, r2/X-)".
-- @param difference of same.compare
function same.words(difference)
   local list = {}
   for _, sort in ipairs(SORTS) do
      local names = difference[sort[1]]
      if #names > 0 then
         list[#list + 1] = sort[2]:format(#names, report.text_if(#names ~= 1, "s"),
            some_of(names))
      end
   end
   return tables.unless_blank(table.concat(list, ", ")) or "other numbers or routes"
end

return same
