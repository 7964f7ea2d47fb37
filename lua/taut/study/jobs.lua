-- SPDX-License-Identifier: GPL-2.0-or-later
--- Jobs that fill a machine: how many ranks each has, and where they are.
--
-- As in the study of failed links: `count` equal jobs, each the largest cube, square or power of
-- two that fits into its part of `ranks`. Unused endpoints are drawn at random over the network,
-- and the jobs lie on the others in order.
local jobs = {}

-- Numbers of our own, so that a seed means the same everywhere (as place/pattern/random_pairs).
local function random_numbers(seed)
   local x = seed * 2654435761 + 88172645463325252
   return function(below)
      x = x * 6364136223846793005 + 1442695040888963407
      return (x >> 33) % below
   end
end

local function integer_root(n, k)
   local s = math.max(1, math.floor(n ^ (1 / k)))
   while (s + 1) ^ k <= n do
      s = s + 1
   end
   while s > 1 and s ^ k > n do
      s = s - 1
   end
   return s
end

local sizes = {
   cube = function(ranks) return integer_root(ranks, 3) ^ 3 // 1 | 0 end,
   square = function(ranks) return integer_root(ranks, 2) ^ 2 // 1 | 0 end,
   halvings = function(ranks)
      local p = 1
      while 2 * p <= ranks do
         p = 2 * p
      end
      return p
   end,
   any = function(ranks) return ranks end,
}

--- Names of the shapes.
jobs.shapes = { "any", "cube", "halvings", "square" }

-- Nodes that are used, in order: the others are drawn one by one as they come.
local function used_nodes(total, wanted, seed)
   local draw, list = random_numbers(seed), {}
   for n = 1, total do
      if draw(total - n + 1) < wanted - #list then
         list[#list + 1] = n
      end
   end
   return list
end

-- A job whose ranks fill nodes one after the other.
local function place_job(machine, nodes, first, ranks, per_node)
   local place, node = {}, {}
   for i = 0, ranks - 1 do
      local n = nodes[first + i // per_node]
      place[i + 1], node[i + 1] = machine.place[n], n - 1
   end
   return { ranks = ranks, nodes = -(-ranks // per_node), place = place, node = node }
end

--- Lay out jobs.
-- @param machine of taut.study.machine
-- @param options { count = how many, shape =, ranks = all together (the largest power of two that
--   the machine has room for), per_node = ranks a node (1), seed = }
-- @return array of { ranks =, nodes = how many, place and node = of each rank, from 0 }, or nil and
--   why not
function jobs.lay(machine, options)
   local per_node, total = options.per_node or 1, #machine.topo.nodes
   local all = options.ranks or sizes.halvings(total * per_node)
   local ranks = sizes[options.shape](all // options.count)
   if all > total * per_node then
      return nil, ("%d ranks, %d on a node: the machine has room for %d"):format(all, per_node,
         total * per_node)
   elseif ranks < 2 then
      return nil, ("%d jobs of %d ranks in all: each has %d, expected at least 2"):format(
         options.count, all, ranks)
   end
   local each = -(-ranks // per_node)
   if each * options.count > total then
      return nil, ("%d jobs of %d nodes: the machine has %d"):format(options.count, each, total)
   end
   local nodes, list = used_nodes(total, each * options.count, options.seed), {}
   for j = 0, options.count - 1 do
      list[j + 1] = place_job(machine, nodes, j * each + 1, ranks, per_node)
   end
   return list
end

--- A job on given nodes, in this order.
-- @param nodes array of node numbers
function jobs.on(machine, nodes, per_node)
   return place_job(machine, nodes, 1, #nodes * (per_node or 1), per_node or 1)
end

return jobs
