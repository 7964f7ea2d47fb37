-- SPDX-License-Identifier: GPL-2.0-or-later
--- Links between the groups of a regular dragonfly: how many for each pair, and at which routers.
--
-- Each group counts the others: from 0 without itself ("absolute"), or from its successor on
-- ("relative"), and lays cables to them in this order, round by round while pairs want more.  The
-- routers of a group take the cables in turn, each as many as it has ports for.
local shape = require "taut.topology.shape"
local tables = require "taut.base.tables"

local global = {}

local ARRANGEMENTS = { "absolute", "relative" }

-- Cables between each pair of groups: a number, or { default = n, { g, h, n }, … }.
local function pair_counts(conf, groups)
   local default = conf.global_links
   if default == nil then
      default = 1
   end
   local list = tables.or_empty(default)
   if type(default) == "table" then
      default = list.default or 0
   end
   if math.type(default) ~= "integer" or default < 0 or default > 4096 then
      return nil, ("topology.global_links: expected cables for each pair of groups, 0 to 4096, "
         .. "got %s"):format(tostring(default))
   end
   local special = {}
   for i, e in ipairs(list) do
      local a, b, n = table.unpack(tables.or_empty(e), 1, 3)
      for _, v in ipairs { a or -1, b or -1 } do
         if math.type(v) ~= "integer" or v < 0 or v >= groups or a == b then
            return nil, ("topology.global_links[%d]: expected { group, other group, cables } with "
               .. "groups 0 to %d"):format(i, groups - 1)
         end
      end
      if math.type(n) ~= "integer" or n < 0 or n > 4096 then
         return nil, ("topology.global_links[%d]: expected 0 to 4096 cables, got %s"):format(i,
            tostring(n))
      end
      special[math.min(a, b) * groups + math.max(a, b)] = n
   end
   return function(one, other)
      return special[math.min(one, other) * groups + math.max(one, other)] or default
   end
end

-- Which of its groups-1 neighbours a group counts as k-th (from 0), under either arrangement.
local function rank_of_group(arrangement, groups, group, other)
   if arrangement == "relative" then
      return (other - group - 1) % groups
   end
   if other > group then
      return other - 1
   end
   return other
end

-- The router of a group at which a cable by its number to another group ends.  A group's cables are
-- laid round by round: the first to each other group, then the second; routers take them in turn,
-- as many each as are needed to place the fullest pair on all groups.
local function router_of(plan, group, other, number)
   local port = number * (plan.groups - 1) + rank_of_group(plan.arrangement, plan.groups,
      group, other)
   return group * plan.routers + port // plan.ports
end

local function most_links(groups, count)
   local n = 0
   for a = 0, groups - 1 do
      for b = a + 1, groups - 1 do
         n = math.max(n, count(a, b))
      end
   end
   return n
end

-- Cables between two groups as links: { from router, to router, cables }.
local function pair_links(plan, from, to, number)
   local list, at = {}, {}
   for m = 0, number - 1 do
      local u, v = router_of(plan, from, to, m), router_of(plan, to, from, m)
      local key = u << 32 | v
      if at[key] then
         at[key][3] = at[key][3] + 1
      else
         at[key] = { u, v, 1 }
         list[#list + 1] = at[key]
      end
   end
   return list
end

local function add_pair(fabric, kind, capacity, used, to_group, router, peer, cables)
   local key = router << 20 | to_group
   local k = (used[key] or 0) + 1
   used[key] = k
   local port = kind .. to_group
   if k > 1 then
      port = port .. "." .. k
   end
   fabric:link(router, peer, port, kind, capacity * cables, cables)
end

--- Add all links between the groups of a regular dragonfly.
-- @param fabric shape, which has the routers
-- @param conf `global_links`, `arrangement`
-- @param groups how many
-- @param grouping { routers = in each, kinds.global = what the links are called }
-- @param capacity by kind, of one cable
-- @return true, or nil and what was expected
function global.add(fabric, conf, groups, grouping, capacity)
   local count, err = pair_counts(conf, groups)
   if not count then
      return nil, err
   end
   local arrangement
   arrangement, err = shape.word(conf, "arrangement", ARRANGEMENTS, "absolute")
   if not arrangement then
      return nil, err
   end
   local ports = math.max(1, -(-most_links(groups, count) * (groups - 1) // grouping.routers))
   local o = { groups = groups, routers = grouping.routers, ports = ports,
      arrangement = arrangement }
   local kind, used = grouping.kinds.global, {}
   for a = 0, groups - 1 do
      for b = a + 1, groups - 1 do
         for _, e in ipairs(pair_links(o, a, b, count(a, b))) do
            add_pair(fabric, kind, capacity[kind], used, b, e[1], e[2], e[3])
            add_pair(fabric, kind, capacity[kind], used, a, e[2], e[1], e[3])
         end
      end
   end
   return true
end

return global
