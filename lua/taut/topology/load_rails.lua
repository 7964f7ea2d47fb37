-- SPDX-License-Identifier: GPL-2.0-or-later
--- Traffic of a pair of nodes, shared among the rails that both have.
--
-- A rail that one of the two has not got, or that has no route between them, carries nothing: its
-- share goes to the others.  What no rail can carry is lost; the nodes send it all the same, into
-- all rails that both have.  A set of rails is a number here, bit k - 1 stands for rail k.
local tables = require "taut.base.tables"

local load_rails = {}

local MOST = 1 << 20 -- pairs of routers without a route that the kernel names

local function count(set)
   local n = 0
   while set ~= 0 do
      set, n = set & (set - 1), n + 1
   end
   return n
end

-- For each rail of a set: fn(rail).
local function each(set, fn)
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
   return setmetatable({}, { __index = function(sets, n)
      local set = 0
      for k = 1, topo.rails do
         set = topo:router(n, k) and set | 1 << (k - 1) or set
      end
      sets[n] = set
      return set
   end })
end

-- Those of a set over which a has a route to b.
local function routed(topo, set, a, b)
   local left = set
   each(set, function(k)
      left = topo:hops(a, b, k) < math.huge and left or left & ~(1 << (k - 1))
   end)
   return left
end

local function add_port(topo, out, n, k, way, bytes)
   local c = 2 * (#topo.nodes * (k - 1) + n) - (way == "tx" and 1 or 0)
   out[c] = out[c] + bytes
end

local function add_ends(topo, out, a, b, set, bytes)
   local share = bytes / count(set)
   each(set, function(k)
      add_port(topo, out, a, k, "tx", share)
      add_port(topo, out, b, k, "rx", share)
   end)
end

local function add_links(topo, out, links, times)
   for l, v in ipairs(links) do
      local c = topo.first_link + l - 1
      out[c] = out[c] + v * times
   end
end

local function nothing(topo)
   return tables.fill(1, #topo.components, function() return 0 end)
end

---------------------------------------------------------------- pairs

-- Lists for the kernel, one for each rail; `of(a, b)` is the set that carries a pair.
local function by_rail(topo, list, of)
   local lists = tables.fill(1, topo.rails, function() return {} end)
   for i = 1, #list, 3 do
      local a, b, set = list[i], list[i + 1], of(list[i], list[i + 1])
      local share = list[i + 2] / count(set)
      each(set, function(k)
         local t = lists[k]
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
   local sets, out = sets_of(topo), nothing(topo)
   local function both(a, b)
      return sets[a] & sets[b]
   end
   local carries = both
   local lost = add_pairs(topo, out, by_rail(topo, list, both))
   if lost > 0 and topo.rails > 1 then
      carries, out = function(a, b) return routed(topo, both(a, b), a, b) end, nothing(topo)
      add_pairs(topo, out, by_rail(topo, list, carries))
      lost = 0
   end
   for i = 1, #list, 3 do
      local a, b = list[i], list[i + 1]
      local set = carries(a, b)
      if set == 0 and (carries ~= both or both(a, b) == 0) then
         lost = lost + 1
      end
      set = set ~= 0 and set or both(a, b)
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
         local n, x, y = count(a.set & b.set), unit, count(a.set & b.set)
         while y ~= 0 do
            x, y = y, x % y
         end
         unit = n > 0 and unit // x * n or unit
      end
   end
   return unit
end

local function weigh(topo, weights, group, set, w)
   each(group.set & set, function(k)
      for _, n in ipairs(group.nodes) do
         weights[#topo.nodes * (k - 1) + n] = w
      end
   end)
end

local function no_weights(topo)
   return tables.fill(1, #topo.nodes * topo.rails, function() return 0 end)
end

-- From the nodes of one group to all.  Where all have the same rails, sources are as good as
-- destinations and one kernel run is all there is.
local function kernel(topo, groups, from, unit, opt)
   local src, dst = no_weights(topo), #groups > 1 and no_weights(topo) or nil
   weigh(topo, src, from, -1, 1)
   for _, to in ipairs(dst and groups or {}) do
      local n = count(from.set & to.set)
      weigh(topo, dst, to, from.set, n > 0 and unit // n or 0)
   end
   return topo.graph:all_to_all(src, { to = dst, walk = opt.walk, most = opt.most })
end

-- What tx and rx carry: the links' kernel does not look at them.
local function add_ports(topo, out, groups, bytes)
   for _, a in ipairs(groups) do
      for _, b in ipairs(groups) do
         local both = a.set & b.set
         local share = both ~= 0 and (#b.nodes - (a == b and 1 or 0)) * bytes / count(both)
         each(both, function(k)
            for _, n in ipairs(a.nodes) do
               add_port(topo, out, n, k, "tx", share)
               add_port(topo, out, n, k, "rx", share)
            end
         end)
      end
   end
end

-- fn(a, b) for each pair of nodes of which some rail may have no route, perhaps more than once.
local function each_doubtful(topo, groups, nodes, o, fn)
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
      local _, _, lost = kernel(topo, groups, from, o.unit, { walk = o.walk, most = MOST })
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
local function hand_over(topo, out, groups, nodes, sets, o)
   local lists, seen, lost = {}, {}, 0
   for k = 1, topo.rails do
      lists[k] = {}
   end
   each_doubtful(topo, groups, nodes, o, function(a, b)
      local both = sets[a] & sets[b]
      if a == b or both == 0 or seen[a * (#topo.nodes + 1) + b] then
         return
      end
      seen[a * (#topo.nodes + 1) + b] = true
      local left = routed(topo, both, a, b)
      if left == 0 then
         lost = lost + 1
      elseif left ~= both then
         add_ends(topo, out, a, b, both, -o.bytes)
         add_ends(topo, out, a, b, left, o.bytes)
         each(left, function(k)
            local t, more = lists[k], o.bytes / count(left) - o.bytes / count(both)
            local n = #t
            t[n + 1], t[n + 2], t[n + 3] = a, b, more
         end)
      end
   end)
   add_pairs(topo, out, lists)
   return lost
end

--- What every node puts on the components that sends to all others.
-- @param topo topology
-- @param nodes array of them
-- @param o { bytes = for each pair, walk = walk every pair }
-- @return bytes by component, pairs without a route
function load_rails.all_to_all(topo, nodes, o)
   local sets, out, lost = sets_of(topo), nothing(topo), 0
   local groups = groups_of(nodes, sets)
   local unit = #groups > 1 and common_unit(groups) or 1
   local asked = #groups == 1 and math.max(count(groups[1].set), 1) or 1
   for _, from in ipairs(groups) do
      local links, without = kernel(topo, groups, from, unit, o)
      add_links(topo, out, links, o.bytes / unit / asked)
      lost = lost + without
   end
   add_ports(topo, out, groups, o.bytes)
   if lost > 0 and topo.rails > 1 then
      lost = hand_over(topo, out, groups, nodes, sets, { bytes = o.bytes, walk = o.walk,
         unit = unit })
   end
   for _, a in ipairs(groups) do
      for _, b in ipairs(groups) do
         local n = #a.nodes * (#b.nodes - (a == b and 1 or 0))
         lost = lost + (a.set & b.set == 0 and n or 0)
      end
   end
   return out, lost
end

return load_rails
