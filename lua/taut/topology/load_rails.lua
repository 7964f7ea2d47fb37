-- SPDX-License-Identifier: GPL-2.0-or-later
--- Traffic of a pair of nodes, shared among the rails that both have.
--
-- A rail that one of the two has not got, or that has no route between them, carries nothing: its
-- share goes to the others.  What no rail can carry is lost; the nodes send it all the same, into
-- all rails that both have.  A set of rails is a number here, bit k - 1 stands for rail k.
local endpoint_numbers = require "taut.topology.model.endpoint_numbers"
local tables = require "taut.base.tables"

local load_rails = {}

local MOST = 1 << 20 -- pairs of routers without a route that the kernel names

local function count_set(set)
   local n = 0
   while set ~= 0 do
      set, n = set & (set - 1), n + 1
   end
   return n
end

-- For each rail of a set: fn(rail).
local function each_rail(set, fn)
   local k = 1
   while set ~= 0 do
      if set & 1 == 1 then
         fn(k)
      end
      set, k = set >> 1, k + 1
   end
end

-- The rails that nodes have; only nodes that are asked for.
local function sets_of(topo)
   return setmetatable({}, { __index = function(sets, node)
      local set = 0
      for k = 1, topo.rails do
         if topo:router(node, k) then
            set = set | 1 << (k - 1)
         end
      end
      sets[node] = set
      return set
   end })
end

-- Those of a set over which src has a route to dst.
local function routed_rails(topo, set, src, dst)
   local left = set
   each_rail(set, function(rail)
      if topo:hops(src, dst, rail) == math.huge then
         left = left & ~(1 << (rail - 1))
      end
   end)
   return left
end

local function add_port(topo, out, node, rail, way, bytes)
   local c, rx = endpoint_numbers.ports_of_rail(#topo.nodes, node, rail)
   if way == "rx" then
      c = rx
   end
   out[c] = out[c] + bytes
end

local function add_ends(topo, out, src, dst, set, bytes)
   local share = bytes / count_set(set)
   each_rail(set, function(rail)
      add_port(topo, out, src, rail, "tx", share)
      add_port(topo, out, dst, rail, "rx", share)
   end)
end

local function add_links(topo, out, links, times)
   for l, v in ipairs(links) do
      local c = topo.first_link + l - 1
      out[c] = out[c] + v * times
   end
end

local function no_load(topo)
   return tables.fill(1, #topo.components, function() return 0 end)
end

---------------------------------------------------------------- pairs

-- Lists for the kernel, one for each rail; `of(a, b)` is the set that carries a pair.
local function by_rail(topo, list, of)
   local lists = tables.fill(1, topo.rails, function() return {} end)
   for i = 1, #list, 3 do
      local a, b, set = list[i], list[i + 1], of(list[i], list[i + 1])
      local share = list[i + 2] / count_set(set)
      each_rail(set, function(rail)
         local t = lists[rail]
         local n = #t
         t[n + 1], t[n + 2], t[n + 3] = a, b, share
      end)
   end
   return lists
end

local function add_pairs(topo, out, lists)
   local lost = 0
   for k, list in ipairs(lists) do
      if #list > 0 then
         local links, without = topo.graph:pair_loads(list, k)
         add_links(topo, out, links, 1)
         lost = lost + without
      end
   end
   return lost
end

--- What pairs of nodes put on the components.
-- @param topo topology
-- @param list flat array { from node, to node, bytes, … }
-- @return bytes by component, pairs without a route
function load_rails.pairs(topo, list)
   local sets, out = sets_of(topo), no_load(topo)
   local function rails_of_both(node, other)
      return sets[node] & sets[other]
   end
   local carries = rails_of_both
   local lost = add_pairs(topo, out, by_rail(topo, list, rails_of_both))
   if lost > 0 and topo.rails > 1 then
      carries, out = function(src, dst)
         return routed_rails(topo, rails_of_both(src, dst), src, dst)
      end, no_load(topo)
      add_pairs(topo, out, by_rail(topo, list, carries))
      lost = 0
   end
   for i = 1, #list, 3 do
      local a, b = list[i], list[i + 1]
      local set = carries(a, b)
      if set == 0 and (carries ~= rails_of_both or rails_of_both(a, b) == 0) then
         lost = lost + 1
      end
      if set == 0 then
         set = rails_of_both(a, b)
      end
      if set ~= 0 then
         add_ends(topo, out, a, b, set, list[i + 2])
      end
   end
   return out, lost
end

---------------------------------------------------------------- all-to-all

-- Nodes that have the same rails: { set =, nodes = { … } }, …
local function groups_of(nodes, sets)
   local groups, at = {}, {}
   for _, n in ipairs(nodes) do
      local g = at[sets[n]]
      if not g then
         g = { set = sets[n], nodes = {} }
         at[g.set], groups[#groups + 1] = g, g
      end
      g.nodes[#g.nodes + 1] = n
   end
   return groups
end

-- The least number that every number of rails two nodes share divides: weights are whole.
local function common_unit(groups)
   local unit = 1
   for _, a in ipairs(groups) do
      for _, b in ipairs(groups) do
         local n, x, y = count_set(a.set & b.set), unit, count_set(a.set & b.set)
         while y ~= 0 do
            x, y = y, x % y
         end
         if n > 0 then
            unit = unit // x * n
         end
      end
   end
   return unit
end

local function weigh_set(topo, weights, group, set, weight)
   each_rail(group.set & set, function(rail)
      for _, n in ipairs(group.nodes) do
         weights[endpoint_numbers.endpoint_of(#topo.nodes, n, rail)] = weight
      end
   end)
end

local function no_weights(topo)
   return tables.fill(1, #topo.nodes * topo.rails, function() return 0 end)
end

-- From the nodes of one group to all.  Where all have the same rails, sources are as good as
-- destinations and one kernel run is all there is.
local function load_of_groups(topo, groups, from, unit, opt)
   local src, dst = no_weights(topo), nil
   weigh_set(topo, src, from, -1, 1)
   if #groups > 1 then
      dst = no_weights(topo)
      for _, to in ipairs(groups) do
         local n, weight = count_set(from.set & to.set), 0
         if n > 0 then
            weight = unit // n
         end
         weigh_set(topo, dst, to, from.set, weight)
      end
   end
   return topo.graph:all_to_all(src, { to = dst, walk = opt.walk, most = opt.most })
end

-- To how many nodes of a group a node of another one sends; of its own it leaves itself out.
local function others_in(group, own)
   if group == own then
      return #group.nodes - 1
   end
   return #group.nodes
end

-- What tx and rx carry: the links' kernel does not look at them.
local function add_ports(topo, out, groups, bytes)
   for _, a in ipairs(groups) do
      for _, b in ipairs(groups) do
         local both = a.set & b.set
         local share = both ~= 0 and others_in(b, a) * bytes / count_set(both)
         each_rail(both, function(rail)
            for _, n in ipairs(a.nodes) do
               add_port(topo, out, n, rail, "tx", share)
               add_port(topo, out, n, rail, "rx", share)
            end
         end)
      end
   end
end

-- fn(a, b) for each pair of nodes of which some rail may have no route, perhaps more than once.
local function each_doubtful(topo, groups, nodes, options, fn)
   local on = {}
   for _, n in ipairs(nodes) do
      for k = 1, topo.rails do
         local r = topo:router(n, k)
         local key = r and r * topo.rails + k
         if key then
            on[key] = on[key] or {}
            table.insert(on[key], n)
         end
      end
   end
   local function each_pair(list, others)
      for _, a in ipairs(list) do
         for _, b in ipairs(others) do
            fn(a, b)
         end
      end
   end
   for _, from in ipairs(groups) do
      local _, _, lost = load_of_groups(topo, groups, from, options.unit,
         { walk = options.walk, most = MOST })
      if #lost == MOST then
         return each_pair(nodes, nodes)
      end
      for _, p in ipairs(lost) do
         for k = 1, topo.rails do
            each_pair(on[p[1] * topo.rails + k] or {}, on[p[2] * topo.rails + k] or {})
         end
      end
   end
end

-- Give what a rail has no route for to the rails that have one.
-- @return pairs that no rail can carry
local function hand_over(topo, out, groups, nodes, sets, options)
   local lists, seen, lost = {}, {}, 0
   for k = 1, topo.rails do
      lists[k] = {}
   end
   each_doubtful(topo, groups, nodes, options, function(src, dst)
      local both = sets[src] & sets[dst]
      if src == dst or both == 0 or seen[src * (#topo.nodes + 1) + dst] then
         return
      end
      seen[src * (#topo.nodes + 1) + dst] = true
      local left = routed_rails(topo, both, src, dst)
      if left == 0 then
         lost = lost + 1
      elseif left ~= both then
         add_ends(topo, out, src, dst, both, -options.bytes)
         add_ends(topo, out, src, dst, left, options.bytes)
         each_rail(left, function(rail)
            local t, more = lists[rail], options.bytes / count_set(left) - options.bytes
               / count_set(both)
            local n = #t
            t[n + 1], t[n + 2], t[n + 3] = src, dst, more
         end)
      end
   end)
   add_pairs(topo, out, lists)
   return lost
end

--- What every node puts on the components that sends to all others.
-- @param topo topology
-- @param nodes array of them
-- @param options { bytes = for each pair, walk = walk every pair }
-- @return bytes by component, pairs without a route
function load_rails.all_to_all(topo, nodes, options)
   local sets, out, lost = sets_of(topo), no_load(topo), 0
   local groups = groups_of(nodes, sets)
   local unit, asked = 1, 1
   if #groups > 1 then
      unit = common_unit(groups)
   elseif #groups == 1 then
      asked = math.max(count_set(groups[1].set), 1)
   end
   for _, from in ipairs(groups) do
      local links, without = load_of_groups(topo, groups, from, unit, options)
      add_links(topo, out, links, options.bytes / unit / asked)
      lost = lost + without
   end
   add_ports(topo, out, groups, options.bytes)
   if lost > 0 and topo.rails > 1 then
      lost = hand_over(topo, out, groups, nodes, sets, { bytes = options.bytes, walk = options.walk,
         unit = unit })
   end
   for _, a in ipairs(groups) do
      for _, b in ipairs(groups) do
         if a.set & b.set == 0 then
            lost = lost + #a.nodes * others_in(b, a)
         end
      end
   end
   return out, lost
end

return load_rails
