-- SPDX-License-Identifier: GPL-2.0-or-later
--- Routers next to each other, for tests that cross as little as possible.
local neighbours = {}

-- Routers one link on, in the order of the links.
local function next_routers(topo, router)
   local list, seen = {}, {}
   for _, c in ipairs(topo:links_of(router)) do
      local s = topo:to(c)
      if not seen[s] then
         seen[s] = true
         list[#list + 1] = s
      end
   end
   return list
end

--- Nodes on the nearest routers that have any.
-- @param topo topology
-- @param from array of routers to start from
-- @return array of nodes, ascending
function neighbours.nearest_nodes(topo, from)
   local seen, now, list = {}, from, {}
   while #list == 0 and #now > 0 do
      local after = {}
      for _, r in ipairs(now) do
         if not seen[r] then
            seen[r] = true
            table.move(topo:on_router(r), 1, #topo:on_router(r), #list + 1, list)
            table.move(next_routers(topo, r), 1, #next_routers(topo, r), #after + 1, after)
         end
      end
      now = after
   end
   table.sort(list)
   return list
end

-- Routers of the set that can be reached through none of the set, by way of at most `most` links.
local function reach_routers(topo, router, set, most)
   local seen, now, list = { [router] = true }, { router }, {}
   for _ = 1, most do
      local after = {}
      for _, at in ipairs(now) do
         for _, s in ipairs(next_routers(topo, at)) do
            if not seen[s] then
               seen[s] = true
               if set[s] then
                  list[#list + 1] = s
               else
                  after[#after + 1] = s
               end
            end
         end
      end
      if #list > 0 then
         break
      end
      now = after
   end
   return list
end

-- A pair goes into the first group where neither router has a part yet.
local function put_pair(groups, router, other)
   for _, g in ipairs(groups) do
      if not g.used[router] and not g.used[other] then
         g.used[router], g.used[other] = true, true
         table.insert(g.pairs, { router, other })
         return
      end
   end
   groups[#groups + 1] = { key = ("group %05d"):format(#groups + 1), pairs = { { router, other } },
      used = { [router] = true, [other] = true } }
end

local MOST = 2    -- links between neighbours: a switch without nodes may be between them
local PARTNERS = 6 -- neighbours that a router behind such a switch is tested with

--- Candidate tests between neighbouring routers of a set, in groups in which no router takes part
-- twice.
-- @param self topology
-- @param by_router map router number → array of its nodes that take part
-- @return array of groups, each { key =, pairs = array of { from router, to router } }
function neighbours.groups(self, by_router)
   local routers, groups = {}, {}
   for r in pairs(by_router) do
      routers[#routers + 1] = r
   end
   table.sort(routers)
   for _, r in ipairs(routers) do
      local list = reach_routers(self, r, by_router, MOST)
      table.sort(list, function(one, other) -- those after r first, round the end
         return (one - r) % self.routers < (other - r) % self.routers
      end)
      local direct = #list > 0 and #self:links_between(r, list[1]) > 0
      local last = #list
      if not direct then
         last = math.min(last, PARTNERS)
      end
      for i = 1, last do
         put_pair(groups, r, list[i])
      end
   end
   for _, g in ipairs(groups) do
      g.used = nil
   end
   return groups
end

return neighbours
