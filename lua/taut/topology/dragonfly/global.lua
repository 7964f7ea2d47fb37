-- SPDX-License-Identifier: GPL-2.0-or-later
--- Links between the groups of a regular dragonfly: how many for each pair, and at which routers.
--
-- Each group counts the others: from 0 without itself ("absolute"), or from its successor on
-- ("relative"), and lays cables to them in this order, round by round while pairs want more.  The
-- routers of a group take the cables in turn, each as many as it has ports for.
local shape = require "taut.topology.shape"

local global = {}

local ARRANGEMENTS = { "absolute", "relative" }

-- Cables between each pair of groups: a number, or { default = n, { g, h, n }, … }.
local function pair_counts(conf, groups)
   local given = conf.global_links == nil and 1 or conf.global_links
   local list = type(given) == "table" and given or {}
   local default = type(given) == "table" and (given.default or 0) or given
   if math.type(default) ~= "integer" or default < 0 or default > 4096 then
      return nil, ("topology.global_links: expected cables for each pair of groups, 0 to 4096, "
         .. "got %s"):format(tostring(default))
   end
   local special = {}
   for i, e in ipairs(list) do
      local a, b, n = table.unpack(type(e) == "table" and e or {}, 1, 3)
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
   return function(a, b)
      return special[math.min(a, b) * groups + math.max(a, b)] or default
   end
end

-- Which of its groups-1 neighbours a group counts as k-th (from 0), under either arrangement.
local function rank(arrangement, groups, g, other)
   if arrangement == "relative" then
      return (other - g - 1) % groups
   end
   return other > g and other - 1 or other
end

-- The router of group g at which cable m to another group ends.  A group's cables are laid round
-- by round: the first to each other group, then the second; routers take them in turn, as many
-- each as are needed to place the fullest pair on all groups.
local function router_of(o, g, other, m)
   local port = m * (o.groups - 1) + rank(o.arrangement, o.groups, g, other)
   return g * o.routers + port // o.ports
end

local function most(groups, count)
   local n = 0
   for a = 0, groups - 1 do
      for b = a + 1, groups - 1 do
         n = math.max(n, count(a, b))
      end
   end
   return n
end

-- Cables between two groups as links: { from router, to router, cables }.
local function pair_links(o, a, b, n)
   local list, at = {}, {}
   for m = 0, n - 1 do
      local u, v = router_of(o, a, b, m), router_of(o, b, a, m)
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

local function add_pair(s, kind, capacity, used, to_group, r, peer, cables)
   local key = r << 20 | to_group
   local k = (used[key] or 0) + 1
   used[key] = k
   s:link(r, peer, kind .. to_group .. (k > 1 and "." .. k or ""), kind, capacity * cables,
      cables)
end

--- Add all links between the groups of a regular dragonfly.
-- @param s shape, which has the routers
-- @param conf `global_links`, `arrangement`
-- @param groups how many
-- @param g { routers = in each, kinds.global = what the links are called }
-- @param capacity by kind, of one cable
-- @return true, or nil and what was expected
function global.add(s, conf, groups, g, capacity)
   local count, err = pair_counts(conf, groups)
   if not count then
      return nil, err
   end
   local arrangement
   arrangement, err = shape.word(conf, "arrangement", ARRANGEMENTS, "absolute")
   if not arrangement then
      return nil, err
   end
   local ports = math.max(1, -(-most(groups, count) * (groups - 1) // g.routers))
   local o = { groups = groups, routers = g.routers, ports = ports, arrangement = arrangement }
   local kind, used = g.kinds.global, {}
   for a = 0, groups - 1 do
      for b = a + 1, groups - 1 do
         for _, e in ipairs(pair_links(o, a, b, count(a, b))) do
            add_pair(s, kind, capacity[kind], used, b, e[1], e[2], e[3])
            add_pair(s, kind, capacity[kind], used, a, e[2], e[1], e[3])
         end
      end
   end
   return true
end

return global
