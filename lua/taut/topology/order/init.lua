-- SPDX-License-Identifier: GPL-2.0-or-later
--- Orders of a machine's nodes in which neighbours in the list are neighbours in the fabric.
--
-- Slurm without a topology plugin treats the table of nodes as a line, sorted by name, and gives a
-- job a run of it if possible. `measure` measures the distances of nodes in such runs, which make
-- an order good or bad.
--
-- Each order gives every router a key, an array of numbers; routers are sorted by key, and those
-- that share the first parts of it belong together: that makes the tree of `groups`.
local islands = require "taut.topology.islands"
local keys = require "taut.topology.order.keys"

local order = {}

-- Runs and pairs looked at per size; with fewer there are, all are.
local RUNS, PAIRS = 48, 400

---------------------------------------------------------------- names, as Slurm sorts them

-- "n9" before "n10": runs of digits count as numbers.
local function parts_of(name)
   local parts = {}
   for text, digits in name:gmatch "(%D*)(%d*)" do
      parts[#parts + 1] = text
      parts[#parts + 1] = tonumber(digits) or -1
   end
   return parts
end

local function comes_before(key, other)
   for i = 1, math.min(#key, #other) do
      if key[i] ~= other[i] then
         return key[i] < other[i]
      end
   end
   return #key < #other
end

--- Nodes in the order of their names, numbers in them counted as numbers.
function order.by_name(topo)
   local list, parts = {}, {}
   for n, name in ipairs(topo.nodes) do
      list[n], parts[n] = n, parts_of(name)
   end
   table.sort(list, function(one, other) return comes_before(parts[one], parts[other]) end)
   return list
end

---------------------------------------------------------------- orders

local function nodes_by_key(topo, key)
   local routers, nodes = {}, {}
   for r = 0, topo.routers - 1 do
      if key[r] then
         routers[#routers + 1] = r
      end
   end
   table.sort(routers, function(one, other)
      local ka, kb = key[one], key[other]
      return comes_before(ka, kb) or not comes_before(kb, ka) and one < other
   end)
   for _, r in ipairs(routers) do
      for _, n in ipairs(topo:at_home(r)) do
         nodes[#nodes + 1] = n
      end
   end
   return nodes, routers
end

--- The orders that make sense for a topology; the first is that of the names.
-- @return array of { name =, about = one line, nodes = array, key = { [router] = array } or nil }
function order.candidates(topo)
   local list = { { name = "names", about = "the order of the names, as Slurm sorts them",
      nodes = order.by_name(topo) } }
   for _, k in ipairs(keys.of(topo)) do
      local nodes, routers = nodes_by_key(topo, k.key)
      list[#list + 1] = { name = k.name, about = k.about, nodes = nodes, routers = routers,
         key = k.key, name_of = k.name_of, leaf = k.leaf or 0 }
   end
   return list
end

---------------------------------------------------------------- the measure

-- Pairs i < j of 1 … size: all of them, or PAIRS spread evenly over all.
local function each_pair(size, fn)
   local all = size * (size - 1) // 2
   if all <= PAIRS then
      for i = 1, size - 1 do
         for j = i + 1, size do
            fn(i, j)
         end
      end
      return all
   end
   -- steps that share no factor with a power of two reach all i and all distances
   for k = 0, PAIRS - 1 do
      local i = k * 2654435761 % size
      local d = 1 + k * 40503 % (size - 1)
      fn(i + 1, (i + d) % size + 1)
   end
   return PAIRS
end

local function mean_hops(topo, nodes, first, size)
   local sum, unreachable = 0, false
   local count = each_pair(size, function(one, other)
      local h = topo:hops(nodes[first + one], nodes[first + other])
      unreachable = unreachable or h == math.huge
      sum = sum + h
   end)
   if unreachable then
      return nil
   end
   return sum / count
end

--- Mean hops between two nodes of a run of `size` nodes, over runs spread along the order.
-- @return mean; nil where no run is connected
function order.measure(topo, nodes, size)
   local last = #nodes - size
   local runs = math.min(RUNS, last + 1)
   local sum, counted = 0, 0
   for k = 0, runs - 1 do
      local first = last * k // math.max(1, runs - 1)
      local mean = mean_hops(topo, nodes, first, size)
      if mean then
         sum, counted = sum + mean, counted + 1
      end
   end
   if counted == 0 then
      return nil
   end
   return sum / counted
end

--- Sizes of runs to measure: powers of four, from four up to half of the machine.
function order.sizes(topo)
   local list, size = {}, 4
   while size <= #topo.nodes // 2 do
      list[#list + 1] = size
      size = size * 4
   end
   if #list == 0 then
      list[1] = #topo.nodes
   end
   return list
end

--- All orders measured, and the best: the one whose runs have, over all sizes, the smallest
-- product of mean hops.  An order that is not at least 1 % better than that of the names is not
-- worth a change.
-- @return best, all (array of candidates with hops = { [size] = mean }), sizes
function order.best(topo)
   local sizes, all = order.sizes(topo), order.candidates(topo)
   local best
   for _, c in ipairs(all) do
      c.hops, c.score = {}, 0
      for _, size in ipairs(sizes) do
         c.hops[size] = order.measure(topo, c.nodes, size)
         -- nodes of one router have a distance of 0: a mean of 0 has no logarithm
         c.score = c.score + math.log((c.hops[size] or 1e6) + 0.1)
      end
      c.score = c.score / #sizes
      if not best or c.score < best.score - 0.01 then
         best = c
      end
   end
   return best, all, sizes
end

---------------------------------------------------------------- groups

local function count_nodes(topo, routers, from, to)
   local n = 0
   for i = from, to do
      n = n + #topo:at_home(routers[i])
   end
   return n
end

local function same_prefix(key, other, depth)
   return key[depth] == other[depth]
end

-- Routers from … to share the parts of their keys before `depth`.
local function split_range(self, from, to, depth)
   local whole = count_nodes(self.topo, self.routers, from, to)
   if from == to or whole <= self.leaf then
      return { first = from, last = to, count = whole }
   end
   local key, children, start = self.key, {}, from
   for i = from + 1, to + 1 do
      if i > to or not same_prefix(key[self.routers[i]], key[self.routers[start]], depth) then
         local child = split_range(self, start, i - 1, depth + 1)
         if child.count > 0 then
            children[#children + 1] = child
         end
         start = i
      end
   end
   if #children == 1 then
      return children[1]
   end
   return { first = from, last = to, count = whole, children = children }
end

--- The trees that the keys of an order make: one, or one for each part that no link joins to the
-- others, whose number their keys begin with.
-- @param chosen candidate with keys
-- @param leaf most nodes of a group that is not split further; 0: one router each
-- @return array of groups { first, last (in o.routers), count = nodes, children = array of groups
--   or nil }
function order.groups(topo, chosen, leaf)
   local self = { topo = topo, key = chosen.key, routers = chosen.routers, leaf = leaf }
   if not islands.are_several(topo) then
      return { split_range(self, 1, #chosen.routers, 1) }
   end
   local list, start = {}, 1
   for i = 2, #chosen.routers + 1 do
      local r = chosen.routers[i]
      if not r or not same_prefix(chosen.key[r], chosen.key[chosen.routers[start]], 1) then
         list[#list + 1], start = split_range(self, start, i - 1, 2), i
      end
   end
   return list
end

return order
