-- SPDX-License-Identifier: GPL-2.0-or-later
--- Sets of a dragonfly: in one group, or evenly in few.
--
-- Few groups make short ways, but two of them share few cables; which it is to be the score says,
-- so that there are candidates of either sort.
local report = require "taut.report"
local tables = require "taut.base.tables"
local common = require "taut.place.common"

local place = {}

local SPREADS = { 0, 1, 2, 4, 8 } -- groups more than are needed; and all of them

-- Groups with free nodes: { group, free, routers = array }, those with most free nodes first; and
-- the free nodes by router.
local function groups_of(topo, free, options)
   local on, routers = common.by_router(topo, free, options)
   local by, list = {}, {}
   for _, r in ipairs(routers) do
      local g = topo:group(r)
      if not by[g] then
         by[g] = { group = g, free = 0, routers = {}, bad = 0 }
         list[#list + 1] = by[g]
      end
      by[g].free = by[g].free + #on[r]
      table.insert(by[g].routers, r)
   end
   for c, share in pairs(options.left or {}) do
      if topo:is_link(c) and share < 1 then
         local a, b = by[topo:group(topo:from(c))], by[topo:group(topo:to(c))]
         if a then
            a.bad = a.bad + common.weight(share)
         end
         if a and b and b ~= a then
            b.bad = b.bad + common.weight(share)
         end
      end
   end
   return list, on
end

-- As even as what is free allows: how many nodes of each of the first groups.
local function even_shares(list, groups, count)
   local take, rest = {}, count
   for i = groups, 1, -1 do -- the one with least room first: what it cannot take the others must
      take[i] = math.min(list[i].free, rest // i)
      rest = rest - take[i]
   end
   for i = 1, groups do
      local more = math.min(rest, list[i].free - take[i])
      take[i], rest = take[i] + more, rest - more
   end
   if rest == 0 then
      return take
   end
   return nil
end

local function candidate(topo, free, options, on, list, take, evenly, words)
   local nodes, m = {}, 0
   for i, n in ipairs(take) do
      if n > 0 then
         local part = common.fill(on, list[i].routers, n, evenly)
         table.move(part, 1, #part, #nodes + 1, nodes)
         m = m + 1
      end
   end
   return common.describe(topo, free, { nodes = common.sorted(nodes, options), kind = "groups",
      cost = m,
      shape = words:format(m)
         .. report.text_if(evenly, ", all routers alike", ", fullest routers first") })
end

-- One group: the one with least to spare, and the one with most.
local function search_one_group(topo, free, count, options, on, list, out, take)
   local fit = tables.filter(list, function(group) return group.free >= count end)
   table.sort(fit, function(one, other)
      if one.bad ~= other.bad then
         return one.bad < other.bad
      end
      return one.free < other.free or one.free == other.free and one.group < other.group
   end)
   for _, g in ipairs(common.first_and_last(fit)) do
      for _, evenly in ipairs { false, true } do
         take(out, candidate(topo, free, options, on, { g }, { count }, evenly,
            "group " .. g.group .. "%.0s"))
      end
   end
end

local function search_several_groups(topo, free, count, options, on, list, out, take)
   table.sort(list, function(one, other)
      if one.bad ~= other.bad then
         return one.bad < other.bad
      end
      return one.free > other.free or one.free == other.free and one.group < other.group
   end)
   local least, room = 0, 0
   while room < count do
      least = least + 1
      room = room + list[least].free
   end
   local done, last = {}, #SPREADS
   if #out > 0 then
      last = 1 -- where one group does, more are hardly ever better
   end
   for i = 0, last do
      local m = #list
      if i < #SPREADS then
         m = least + SPREADS[i + 1]
      end
      m = math.max(2, m)
      local shared = m <= #list and not done[m] and even_shares(list, m, count)
      done[m] = true
      if shared then
         take(out, candidate(topo, free, options, on, list, shared, true, "%d groups evenly"))
         if i == 0 then
            take(out, candidate(topo, free, options, on, list, shared, false, "%d groups evenly"))
         end
      end
   end
end

-- Wholly free routers only: no other job is on them.
local function alone_routers(topo, free)
   local _, total = common.routers(topo)
   local on, rest = common.by_router(topo, free, {}), {}
   for r, list in pairs(on) do
      if #list == total[r] then
         for _, n in ipairs(list) do
            rest[n] = true
         end
      end
   end
   return rest
end

--- Free nodes in groups that are free almost wholly.
function place.dense(topo, free, least, density, taken)
   return common.dense(topo, free, least, density, taken, function(router)
      return topo:group(router)
   end)
end

--- See taut.place.
function place.search(topo, free, count, options)
   local usable = free
   if options.exclusive then
      usable = alone_routers(topo, free)
   end
   local list, on = groups_of(topo, usable, options)
   local out, take, room = {}, common.taker(), 0
   for _, g in ipairs(list) do
      room = room + g.free
   end
   if room < count then
      return out
   end
   search_one_group(topo, free, count, options, on, list, out, take)
   search_several_groups(topo, free, count, options, on, list, out, take)
   return out
end

return place
