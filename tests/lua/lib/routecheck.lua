-- SPDX-License-Identifier: GPL-2.0-or-later
--- What holds for every route, of any model: property tests ask for it.
local routecheck = {}

local function members(stage)
   if type(stage) == "number" then
      return { stage }, { 1 }
   end
   return stage, stage.w
end

local function fail(topo, what, a, b, route)
   local words = {}
   for i, stage in ipairs(route) do
      local list, w = members(stage)
      local names = {}
      for k, c in ipairs(list) do
         names[k] = ("%s*%.3g"):format(topo.components[c], w[k])
      end
      words[i] = table.concat(names, "|")
   end
   error(("%s: %s to %s: %s"):format(what, tostring(a), tostring(b), table.concat(words, " ")), 0)
end

-- Each link leaves a router that the stages before lead to; returns what traffic enters and
-- leaves at each router, and the links.
local function follow(topo, r, s, first, last, route, left)
   local seen, balance, links = { [r] = true }, {}, {}
   for i = first, last do
      local list, w = members(route[i])
      local next_seen, sum = {}, 0
      for k, c in ipairs(list) do
         local from, to = topo:from(c), topo:to(c)
         if not topo:is_link(c) then
            fail(topo, "not a link", r, s, route)
         elseif not seen[from] then
            fail(topo, "not connected at " .. topo.components[c], r, s, route)
         elseif left and left[c] == 0 then
            fail(topo, "uses failed " .. topo.components[c], r, s, route)
         elseif not (w[k] > 0 and w[k] <= 1 + 1e-9) then
            fail(topo, "weight " .. w[k], r, s, route)
         end
         next_seen[to] = true
         balance[from] = (balance[from] or 0) - w[k]
         balance[to] = (balance[to] or 0) + w[k]
         links[#links + 1] = c
         sum = sum + w[k]
      end
      if sum > 1 + 1e-9 then
         fail(topo, "stage " .. i .. " has weights of " .. sum, r, s, route)
      end
      for at in pairs(next_seen) do
         seen[at] = true
      end
   end
   if r ~= s and not seen[s] then
      fail(topo, "does not arrive", r, s, route)
   end
   return balance, links
end

-- What leaves r arrives at s, and nothing is lost or made on the way.
local function conserved(topo, r, s, balance, route, total)
   for at, v in pairs(balance) do
      local expected = at == r and -total or at == s and total or 0
      if math.abs(v - expected) > 1e-6 then
         fail(topo, ("%s: %.4g in less out, not %.4g"):format(topo.router_name[at], v, expected),
            r, s, route)
      end
   end
end

-- No way round in circles along the links of a route.
local function acyclic(topo, r, s, links, route)
   local out, state = {}, {}
   for _, c in ipairs(links) do
      local from = topo:from(c)
      out[from] = out[from] or {}
      table.insert(out[from], topo:to(c))
   end
   local function visit(at)
      state[at] = 1
      for _, to in ipairs(out[at] or {}) do
         if state[to] == 1 then
            fail(topo, "goes in circles at " .. topo.router_name[to], r, s, route)
         elseif not state[to] then
            visit(to)
         end
      end
      state[at] = 2
   end
   visit(r)
end

--- Check one route between routers.
-- @param o { left = health by component, total = share of the traffic in the stages (1), circles =
--   true where the model may come by a router twice }
-- @return its links
function routecheck.routers(topo, r, s, route, o)
   o = o or {}
   local balance, links = follow(topo, r, s, 1, #route, route, o.left)
   conserved(topo, r, s, balance, route, o.total or 1)
   if not o.circles then
      acyclic(topo, r, s, links, route)
   end
   return links
end

--- Check one route between nodes.
function routecheck.nodes(topo, a, b, route, o)
   o = o or {}
   local rail = o.rail or 1
   local n = #topo.nodes * (rail - 1)
   if route[1] ~= 2 * (n + a) - 1 or route[#route] ~= 2 * (n + b) then
      fail(topo, "wrong ends", a, b, route)
   end
   local r, s = topo:router(a, rail), topo:router(b, rail)
   local balance, links = follow(topo, r, s, 2, #route - 1, route, o.left)
   conserved(topo, r, s, balance, route, r == s and 0 or o.total or 1)
   if not o.circles then
      acyclic(topo, r, s, links, route)
   end
   return links
end

--- Distances from router r by breadth-first search over healthy links that `may` take.
-- @return map router → hops
function routecheck.distances(topo, r, left, may)
   local dist, queue, head = { [r] = 0 }, { r }, 1
   while queue[head] do
      local at = queue[head]
      head = head + 1
      for _, c in ipairs(topo:links_of(at)) do
         local to = topo:to(c)
         if not dist[to] and not (left and left[c] == 0) and (not may or may(c)) then
            dist[to] = dist[at] + 1
            queue[#queue + 1] = to
         end
      end
   end
   return dist
end

--- Random failures.
-- @param count how many links
-- @return health by component, of the failed ones
function routecheck.failures(topo, count)
   local links, left = {}, {}
   for c = 1, #topo.components do
      if topo:is_link(c) then
         links[#links + 1] = c
      end
   end
   for _ = 1, count do
      left[links[math.random(#links)]] = 0
   end
   return left
end

--- The links of a route as names, stage by stage; sets as "a|b".
function routecheck.names(topo, route)
   local words = {}
   for i, stage in ipairs(route) do
      local list = {}
      for k, c in ipairs((members(stage))) do
         list[k] = topo.components[c]
      end
      table.sort(list)
      words[i] = table.concat(list, "|")
   end
   return table.concat(words, " ")
end

return routecheck
