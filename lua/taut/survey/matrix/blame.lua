-- SPDX-License-Identifier: GPL-2.0-or-later
--- Which nodes, links or boundaries explain the slow pairs of a matrix, by the topology's routes.
--
-- Greedily the component (or node, cable, router as a whole) that most unexplained slow pairs cross
-- and that hardly any good pair clears; components that explain the same pairs are named together.
-- A stage of several links (hashed or adaptive traffic) is a candidate as it is: one broken member
-- of it makes its share of the pairs slow.
local tables = require "taut.base.tables"

local blame = {}

local MOST = 0.8   -- of the pairs across a component that are slow, before it is blamed
local SAME = 0.95  -- of two components' slow pairs that are the same, before they are one
local LEAST = 2    -- slow pairs: a single one is a pair

-- Capacity that a good pair showed of component c, or is as good as.
local function clears(m, k, topo, c, most)
   if m.mode == "latency" then
      return true -- what is late on the way would have made it late
   end
   local streams = m.loads and m.loads[k] and m.loads[k][c] or 1
   local capacity = topo.capacity[c] / streams
   return m.bw[k] >= m.good * capacity or m.bw[k] >= most * m.expected[k]
end

-- The list keeps the order; `of` finds one by its component number or shared stage.
local function candidate(list, topo, key)
   local c = list.of[key]
   if not c then
      c = { key = key, low = {}, clear = 0, kind = type(key) == "table" and "set"
         or topo:is_link(key) and "link" or topo:kind(key) }
      list.of[key] = c
      list[#list + 1] = c
   end
   return c
end

-- One candidate for each component, and each shared stage, on the way of a slow pair.
local function of_low_pairs(m, topo, number, pause)
   local list, route, low = { of = {} }, {}, {}
   for k, class in pairs(m.class) do
      if class == "low" then
         low[#low + 1] = k
      end
   end
   table.sort(low)
   for _, k in ipairs(low) do
      local i, j = m:at(k)
      pause()
      for _, stage in ipairs(topo:route(number[i], number[j], route) or {}) do
         table.insert(candidate(list, topo, stage).low, k)
      end
   end
   return list, low
end

local function count_clears(m, topo, number, list, most, pause)
   for i = 1, m.n do
      pause()
      for j = 1, m.n do
         local k = m:key(i, j)
         if m.class[k] == "good" then
            for _, stage in ipairs(topo:route(number[i], number[j]) or {}) do
               local c = list.of[stage]
               if c and (type(stage) == "table" or clears(m, k, topo, stage, most)) then
                  c.clear = c.clear + 1
               end
            end
         end
      end
   end
end

-- Of a set of links one broken member of n slows the pairs that are hashed onto it: about 1 in n.
local function least_share(c)
   return c.kind == "set" and 0.5 / #c.key or MOST
end

local function is_blamed(c, rest)
   return #rest >= LEAST and #rest >= least_share(c) * (#rest + c.clear)
end

---------------------------------------------------------------- several components as one

local function router_of(topo, c)
   return topo.router_name[topo:from(c)]
end

-- Links that leave each router.
local function count_ports(topo)
   local count = {}
   for c = 1, #topo.components do
      local r = topo:is_link(c) and router_of(topo, c)
      if r then
         count[r] = (count[r] or 0) + 1
      end
   end
   return count
end

local function union(members)
   local list, seen = {}, {}
   for _, c in ipairs(members) do
      for _, k in ipairs(c.low) do
         if not seen[k] then
            seen[k] = true
            list[#list + 1] = k
         end
      end
   end
   table.sort(list)
   return list
end

-- Adds member c to the group of that kind and name.
local function group(groups, kind, name, c)
   local id = kind .. " " .. name
   if not groups[id] then
      groups[id] = { kind = kind, name = name, members = {} }
      groups[#groups + 1] = groups[id]
   end
   table.insert(groups[id].members, c)
end

-- The things that a blamed component is part of.
local function group_one(groups, topo, c)
   if c.kind ~= "link" then
      return group(groups, "node", topo.nodes[topo:ends(c.key)[1]], c)
   end
   local back, name = topo:opposite(c.key), topo.components[c.key]
   group(groups, "router", router_of(topo, c.key), c)
   if back then
      local other = topo.components[back]
      group(groups, "router", router_of(topo, back), c)
      group(groups, "cable", name < other and name or other, c)
   end
end

-- A node, a cable or a router is slow as a whole when all its parts are to be blamed each by
-- itself: tx and rx, both directions, most of the links.
local function add_wholes(list, topo)
   local groups, ports = {}, count_ports(topo)
   for _, c in ipairs(list) do
      if c.kind ~= "set" and is_blamed(c, c.low) then
         group_one(groups, topo, c)
      end
   end
   for _, g in ipairs(groups) do
      local enough = g.kind == "router" and math.max(3, 1.5 * ports[g.name]) or 2
      if #g.members >= enough then
         g.low, g.clear = union(g.members), 0
         for _, c in ipairs(g.members) do
            g.clear = g.clear + c.clear
         end
         list[#list + 1] = g
      end
   end
end

---------------------------------------------------------------- the best explanation

-- The smallest thing that explains as much; a set of links only where nothing single does.
local RANK = { tx = 1, rx = 1, link = 1, node = 2, cable = 2, router = 3, set = 4 }

local function without(list, taken)
   return tables.filter(list, function(k) return not taken[k] end)
end

local function better(c, rest, best, best_rest)
   if not best then
      return true
   elseif (c.kind == "set") ~= (best.kind == "set") then
      return best.kind == "set"
   elseif #rest ~= #best_rest then
      return #rest > #best_rest
   elseif RANK[c.kind] ~= RANK[best.kind] then
      return RANK[c.kind] < RANK[best.kind]
   end
   return c.clear < best.clear
end

local function best_of(list, taken)
   local best, best_rest
   for _, c in ipairs(list) do
      local rest = without(c.low, taken)
      if is_blamed(c, rest) and better(c, rest, best, best_rest) then
         best, best_rest = c, rest
      end
   end
   return best, best_rest
end

-- Other single components that explain the same pairs.
local function tied_with(list, best, rest, taken)
   local mine, tied = {}, {}
   for _, k in ipairs(rest) do
      mine[k] = true
   end
   for _, c in ipairs(RANK[best.kind] == 1 and list or {}) do
      local others = c ~= best and RANK[c.kind] == 1 and without(c.low, taken) or {}
      local same = tables.sum(others, function(k) return mine[k] and 1 or 0 end)
      if same > 0 and same >= SAME * math.max(#rest, #others) and is_blamed(c, others) then
         tied[#tied + 1] = c.key
      end
   end
   return tied
end

--- Explain the slow pairs.
-- @param m matrix (see data.lua)
-- @param topo topology
-- @param number array: row → node number of the topology
-- @param o { clear_most = share of its expectation with which a pair clears all it crosses,
--   pause = function called often, for a caller that must not block }
-- @return array of { kind = "tx", "rx", "link", "set" (key = component or set), "node", "cable" or
--   "router" (name, members), pairs = keys, clear = good pairs across it, tied = components };
--   array of the keys that nothing explains
function blame.components(m, topo, number, o)
   local list, low = of_low_pairs(m, topo, number, o.pause)
   local found, taken = {}, {}
   if #low > 0 then
      count_clears(m, topo, number, list, o.clear_most, o.pause)
      add_wholes(list, topo)
   end
   while true do
      local best, rest = best_of(list, taken)
      if not best then
         return found, without(low, taken)
      end
      o.pause()
      found[#found + 1] = { kind = best.kind, key = best.key, name = best.name,
         members = best.members, tied = tied_with(list, best, rest, taken), pairs = rest,
         clear = best.clear }
      for _, k in ipairs(rest) do
         taken[k] = true
      end
   end
end

--- What slow pairs cross and no good pair clears: all there is to say of single ones.
-- @param keys array of pairs
-- @return array, in the order of keys, of arrays of components (shared stages left out)
function blame.possible(m, topo, number, keys, o)
   local list, routes = { of = {} }, {}
   for n, k in ipairs(keys) do
      local i, j = m:at(k)
      routes[n] = topo:route(number[i], number[j]) or {}
      for _, stage in ipairs(routes[n]) do
         candidate(list, topo, stage)
      end
   end
   if #keys > 0 then
      count_clears(m, topo, number, list, o.clear_most, o.pause)
   end
   for n, route in ipairs(routes) do
      local left = tables.filter(route, function(stage)
         return list.of[stage].clear == 0 and type(stage) ~= "table"
      end)
      routes[n] = left
   end
   return routes
end

return blame
