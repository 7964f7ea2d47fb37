-- SPDX-License-Identifier: GPL-2.0-or-later
--- Which router of one description is which of another.
--
-- Nodes have the same names in both.  Routers may not (a GUID in one, a place in the other): where
-- fewer than half of the names are known to both sides, routers are matched by their nodes, and
-- those without nodes by the routers they are linked to.
local matching = {}

local function by_name(a, b)
   local map, known = {}, 0
   for r = 0, a.routers - 1 do
      map[r] = b.router_id[a.router_name[r]]
      known = known + (map[r] and 1 or 0)
   end
   return map, known
end

-- Takes the pairs with the most votes first; each router once on both sides.
local function elect(votes, map, taken)
   local list = {}
   for r, by in pairs(votes) do
      for s, n in pairs(by) do
         list[#list + 1] = { r, s, n }
      end
   end
   table.sort(list, function(x, y)
      if x[3] ~= y[3] then
         return x[3] > y[3]
      elseif x[1] ~= y[1] then
         return x[1] < y[1]
      end
      return x[2] < y[2]
   end)
   local found = 0
   for _, v in ipairs(list) do
      if not map[v[1]] and not taken[v[2]] then
         map[v[1]], taken[v[2]], found = v[2], true, found + 1
      end
   end
   return found
end

local function vote(votes, r, s)
   votes[r] = votes[r] or {}
   votes[r][s] = (votes[r][s] or 0) + 1
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

-- How many neighbours of r agree that it is x.
local function agree(r, x, map, near_a, near_b)
   local n = 0
   for s in pairs(near_a[r]) do
      n = n + (map[s] and near_b[x][map[s]] and 1 or 0)
   end
   return n
end

-- What most neighbours of r take it for.
local function opinion(r, map, near_a, near_b)
   local votes, best = {}, nil
   for s in pairs(near_a[r]) do
      for x in pairs(map[s] and near_b[map[s]] or {}) do
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
local function settle(a, b, map)
   local near_a, near_b, owner = neighbours(a), neighbours(b), {}
   for r, x in pairs(map) do
      owner[x] = r
   end
   local function worth(r, o)
      return agree(r, map[r], map, near_a, near_b) +
         (o and agree(o, map[o], map, near_a, near_b) or 0)
   end
   -- r becomes x, and o, if there is one, y
   local function assign(r, x, o, y)
      map[r], owner[x] = x, r
      owner[y] = o
      if o then
         map[o] = y
      end
   end
   for r = 0, a.routers - 1 do
      local y = map[r]
      local x = y and opinion(r, map, near_a, near_b)
      local o = x and owner[x]
      if x and x ~= y then
         local before = worth(r, o)
         assign(r, x, o, y)
         if worth(r, o) <= before then
            assign(r, y, o, x)
         end
      end
   end
end

local function by_nodes(a, b)
   local map, taken, votes = {}, {}, {}
   for n, name in ipairs(a.nodes) do
      local m = b.node_id[name]
      local r, s = a:router(n), m and b:router(m)
      if r and s then
         vote(votes, r, s)
      end
   end
   elect(votes, map, taken)
   repeat
      votes = {}
      for r = 0, a.routers - 1 do
         if not map[r] then
            for _, c in ipairs(a:links_of(r)) do
               local known = map[a:to(c)]
               for _, d in ipairs(known and b:links_of(known) or {}) do
                  if not taken[b:to(d)] then
                     vote(votes, r, b:to(d))
                  end
               end
            end
         end
      end
   until elect(votes, map, taken) == 0
   settle(a, b, map)
   return map
end

--- @param a, b topologies
-- @return map router of a → router of b, "name" or "nodes", how many are matched
function matching.of(a, b)
   local map, known = by_name(a, b)
   if known * 2 >= math.min(a.routers, b.routers) then
      return map, "name", known
   end
   map, known = by_nodes(a, b), 0
   for _ in pairs(map) do
      known = known + 1
   end
   return map, "nodes", known
end

return matching
