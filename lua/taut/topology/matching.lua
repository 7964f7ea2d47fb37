-- SPDX-License-Identifier: GPL-2.0-or-later
--- Which router of one description is which of another.
--
-- Nodes have the same names in both.  Routers may not (a GUID in one, a place in the other).  If
-- fewer than half of the names are known to both sides, routers are matched by their nodes, and
-- those without nodes by the routers they are linked to.
local tables = require "taut.base.tables"

local matching = {}

local function by_name(first, second)
   local map, known = {}, 0
   for r = 0, first.routers - 1 do
      map[r] = second.router_id[first.router_name[r]]
      if map[r] then
         known = known + 1
      end
   end
   return map, known
end

-- Takes the pairs with the most votes first; each router once on both sides.
local function elect_pairs(votes, map, taken)
   local list = {}
   for r, by in pairs(votes) do
      for s, n in pairs(by) do
         list[#list + 1] = { r, s, n }
      end
   end
   table.sort(list, function(one, other)
      if one[3] ~= other[3] then
         return one[3] > other[3]
      elseif one[1] ~= other[1] then
         return one[1] < other[1]
      end
      return one[2] < other[2]
   end)
   local found = 0
   for _, v in ipairs(list) do
      if not map[v[1]] and not taken[v[2]] then
         map[v[1]], taken[v[2]], found = v[2], true, found + 1
      end
   end
   return found
end

local function vote_for(votes, router, counterpart)
   votes[router] = votes[router] or {}
   votes[router][counterpart] = (votes[router][counterpart] or 0) + 1
end

-- Routers next to each router.
local function neighbours(topo)
   local next_to = {}
   for r = 0, topo.routers - 1 do
      next_to[r] = {}
      for _, c in ipairs(topo:links_of(r)) do
         next_to[r][topo:to(c)] = true
      end
   end
   return next_to
end

-- How many neighbours of a router agree that it is its counterpart.
local function count_agreeing(router, counterpart, map, near_a, near_b)
   local n = 0
   for s in pairs(near_a[router]) do
      if map[s] and near_b[counterpart][map[s]] then
         n = n + 1
      end
   end
   return n
end

-- What most neighbours of a router take it for.
local function opinion_around(router, map, near_a, near_b)
   local votes, best = {}, nil
   for s in pairs(near_a[router]) do
      for x in pairs(tables.or_empty(map[s] and near_b[map[s]])) do
         votes[x] = (votes[x] or 0) + 1
         if not best or votes[x] > votes[best] or votes[x] == votes[best] and x < best then
            best = x
         end
      end
   end
   return best
end

-- Nodes that have changed places take their routers' names with them: where the neighbours of a
-- router know better, they are believed.
local function settle_swapped(first, second, map)
   local near_a, near_b, owner = neighbours(first), neighbours(second), {}
   for r, x in pairs(map) do
      owner[x] = r
   end
   local function worth_of(router, counterpart)
      local worth = count_agreeing(router, map[router], map, near_a, near_b)
      if counterpart then
         worth = worth + count_agreeing(counterpart, map[counterpart], map, near_a, near_b)
      end
      return worth
   end
   -- the router becomes its counterpart, and the other, if there is one, its own
   local function assign_router(router, counterpart, other, other_counterpart)
      map[router], owner[counterpart] = counterpart, router
      owner[other_counterpart] = other
      if other then
         map[other] = other_counterpart
      end
   end
   for r = 0, first.routers - 1 do
      local y = map[r]
      local x = y and opinion_around(r, map, near_a, near_b)
      local o = x and owner[x]
      if x and x ~= y then
         local before = worth_of(r, o)
         assign_router(r, x, o, y)
         if worth_of(r, o) <= before then
            assign_router(r, y, o, x)
         end
      end
   end
end

local function by_nodes(first, second)
   local map, taken, votes = {}, {}, {}
   for n, name in ipairs(first.nodes) do
      local m = second.node_id[name]
      local r, s = first:router(n), m and second:router(m)
      if r and s then
         vote_for(votes, r, s)
      end
   end
   elect_pairs(votes, map, taken)
   repeat
      votes = {}
      for r = 0, first.routers - 1 do
         if not map[r] then
            for _, c in ipairs(first:links_of(r)) do
               local known = map[first:to(c)]
               for _, d in ipairs(tables.or_empty(known and second:links_of(known))) do
                  if not taken[second:to(d)] then
                     vote_for(votes, r, second:to(d))
                  end
               end
            end
         end
      end
   until elect_pairs(votes, map, taken) == 0
   settle_swapped(first, second, map)
   return map
end

--- @param first, second topologies
-- @return map router of the first → router of the second, "name" or "nodes", how many are matched
function matching.of(first, second)
   local map, known = by_name(first, second)
   if known * 2 >= math.min(first.routers, second.routers) then
      return map, "name", known
   end
   map, known = by_nodes(first, second), 0
   for _ in pairs(map) do
      known = known + 1
   end
   return map, "nodes", known
end

return matching
