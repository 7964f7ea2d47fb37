-- SPDX-License-Identifier: GPL-2.0-or-later
--- Which nodes, links or boundaries explain the slow pairs of a matrix, by the topology's routes.
--
-- Greedily the component (or node, cable, router as a whole) that most unexplained slow pairs cross
-- and that hardly any good pair clears; components that explain the same pairs are named together.
-- A stage of several links (hashed or adaptive traffic) is a candidate as it is: one broken member
-- of it makes its share of the pairs slow.
local expectation = require "taut.topology.model.expectation"
local tables = require "taut.base.tables"

local blame = {}

local MOST = 0.8   -- of the pairs across a component that are slow, before it is blamed
local SAME = 0.95  -- of two components' slow pairs that are the same, before they are one
local LEAST = 2    -- slow pairs: a single one is a pair

-- Capacity that a good pair showed of a component, or is as good as.
local function clears_component(matrix, key, topo, component, most)
   if matrix.mode == "latency" then
      return true -- what is late on the way would have made it late
   end
   local streams = matrix.loads and matrix.loads[key]
   local capacity = expectation.share_of(topo, component, streams and streams[component])
   return matrix.bw[key] >= matrix.good * capacity or matrix.bw[key] >= most * matrix.expected[key]
end

local function kind_of(topo, key)
   if type(key) == "table" then
      return "set"
   elseif topo:is_link(key) then
      return "link"
   end
   return topo:kind(key)
end

-- The list keeps the order; `of` finds one by its component number or shared stage.
local function candidate(list, topo, key)
   local c = list.of[key]
   if not c then
      c = { key = key, low = {}, clear = 0, kind = kind_of(topo, key) }
      list.of[key] = c
      list[#list + 1] = c
   end
   return c
end

-- One candidate for each component, and each shared stage, on the way of a slow pair.
local function of_low_pairs(matrix, topo, number, pause)
   local list, route, low = { of = {} }, {}, {}
   for k, class in pairs(matrix.class) do
      if class == "low" then
         low[#low + 1] = k
      end
   end
   table.sort(low)
   for _, k in ipairs(low) do
      local i, j = matrix:at(k)
      pause()
      for _, stage in ipairs(topo:route(number[i], number[j], route) or {}) do
         table.insert(candidate(list, topo, stage).low, k)
      end
   end
   return list, low
end

local function count_clears(matrix, topo, number, list, most, pause)
   for i = 1, matrix.n do
      pause()
      for j = 1, matrix.n do
         local k = matrix:key(i, j)
         if matrix.class[k] == "good" then
            for _, stage in ipairs(topo:route(number[i], number[j]) or {}) do
               local c = list.of[stage]
               if c and (type(stage) == "table" or clears_component(matrix, k, topo, stage,
                  most)) then
                  c.clear = c.clear + 1
               end
            end
         end
      end
   end
end

-- Of a set of links one broken member of n slows the pairs that are hashed onto it: about 1 in n.
local function least_share(component)
   if component.kind == "set" then
      return 0.5 / #component.key
   end
   return MOST
end

local function is_blamed(component, rest)
   return #rest >= LEAST and #rest >= least_share(component) * (#rest + component.clear)
end

---------------------------------------------------------------- several components as one

local function router_of(topo, component)
   return topo.router_name[topo:from(component)]
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

local function union_of(members)
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

-- Adds a component to the group of that kind and name.
local function add_to_group(groups, kind, name, component)
   local id = kind .. " " .. name
   if not groups[id] then
      groups[id] = { kind = kind, name = name, members = {} }
      groups[#groups + 1] = groups[id]
   end
   table.insert(groups[id].members, component)
end

-- The things that a blamed component is part of.
local function group_component(groups, topo, component)
   if component.kind ~= "link" then
      return add_to_group(groups, "node", topo.nodes[topo:ends(component.key)[1]], component)
   end
   local back, name = topo:opposite(component.key), topo.components[component.key]
   add_to_group(groups, "router", router_of(topo, component.key), component)
   if back then
      local other = topo.components[back]
      add_to_group(groups, "router", router_of(topo, back), component)
      if other < name then
         name = other
      end
      add_to_group(groups, "cable", name, component)
   end
end

-- A node, a cable or a router is slow as a whole when all its parts are to be blamed each by
-- itself: tx and rx, both directions, most of the links.
local function add_wholes(list, topo)
   local groups, ports = {}, count_ports(topo)
   for _, c in ipairs(list) do
      if c.kind ~= "set" and is_blamed(c, c.low) then
         group_component(groups, topo, c)
      end
   end
   for _, g in ipairs(groups) do
      local enough = 2
      if g.kind == "router" then
         enough = math.max(3, 1.5 * ports[g.name])
      end
      if #g.members >= enough then
         g.low, g.clear = union_of(g.members), 0
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

local function without_taken(list, taken)
   return tables.filter(list, function(key) return not taken[key] end)
end

local function is_better(one, rest, best, best_rest)
   if not best then
      return true
   elseif (one.kind == "set") ~= (best.kind == "set") then
      return best.kind == "set"
   elseif #rest ~= #best_rest then
      return #rest > #best_rest
   elseif RANK[one.kind] ~= RANK[best.kind] then
      return RANK[one.kind] < RANK[best.kind]
   end
   return one.clear < best.clear
end

local function best_of(list, taken)
   local best, best_rest
   for _, c in ipairs(list) do
      local rest = without_taken(c.low, taken)
      if is_blamed(c, rest) and is_better(c, rest, best, best_rest) then
         best, best_rest = c, rest
      end
   end
   return best, best_rest
end

-- Other single components that explain the same pairs.
local function tied_with(list, best, rest, taken)
   local mine, tied = tables.set(rest), {}
   if RANK[best.kind] ~= 1 then
      return tied
   end
   for _, c in ipairs(list) do
      local others = {}
      if c ~= best and RANK[c.kind] == 1 then
         others = without_taken(c.low, taken)
      end
      local same = tables.count(others, function(key) return mine[key] end)
      if same > 0 and same >= SAME * math.max(#rest, #others) and is_blamed(c, others) then
         tied[#tied + 1] = c.key
      end
   end
   return tied
end

--- Explain the slow pairs.
-- @param matrix matrix (see data.lua)
-- @param topo topology
-- @param number array: row → node number of the topology
-- @param options { clear_most = share of its expectation with which a pair clears all it crosses,
--   pause = function called often, for a caller that must not block }
-- @return array of { kind = "tx", "rx", "link", "set" (key = component or set), "node", "cable" or
--   "router" (name, members), pairs = keys, clear = good pairs across it, tied = components };
--   array of the keys that nothing explains
function blame.components(matrix, topo, number, options)
   local list, low = of_low_pairs(matrix, topo, number, options.pause)
   local found, taken = {}, {}
   if #low > 0 then
      count_clears(matrix, topo, number, list, options.clear_most, options.pause)
      add_wholes(list, topo)
   end
   while true do
      local best, rest = best_of(list, taken)
      if not best then
         return found, without_taken(low, taken)
      end
      options.pause()
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
function blame.possible(matrix, topo, number, keys, options)
   local list, routes = { of = {} }, {}
   for n, k in ipairs(keys) do
      local i, j = matrix:at(k)
      routes[n] = topo:route(number[i], number[j]) or {}
      for _, stage in ipairs(routes[n]) do
         candidate(list, topo, stage)
      end
   end
   if #keys > 0 then
      count_clears(matrix, topo, number, list, options.clear_most, options.pause)
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
