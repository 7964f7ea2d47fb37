-- SPDX-License-Identifier: GPL-2.0-or-later
--- Sets of a tree: the lowest part of it that holds enough, by best fit, and in it the leaves.
--
-- A part is the leaves below one router of a level, or below several that have the same leaves.
-- Where leaves have fewer ways up than nodes, a job does best on one leaf or thinly on many: there
-- are candidates of both sorts, and the score decides.
local report = require "taut.report"
local tables = require "taut.base.tables"
local common = require "taut.place.common"
local islands = require "taut.topology.islands"

local place = {}

local trees = setmetatable({}, { __mode = "k" })

-- Routers above each of these, and for each of them the least number among the routers of that
-- level that its leaf reaches: leaves with the same one are in the same part.
local function climb_level(topo, above, part)
   local next_above, next_part, level = {}, {}, {}
   for leaf, list in pairs(above) do
      local seen, up = {}, {}
      for _, r in ipairs(list) do
         for _, c in ipairs(topo:links_of(r)) do
            local s = topo:to(c)
            if not seen[s] and (topo.level_of[s] or 0) > (topo.level_of[r] or 0) then
               seen[s], up[#up + 1] = true, s
            end
         end
      end
      table.sort(up)
      next_above[leaf], next_part[leaf] = up, up[1] or part[leaf]
      if #up > 0 then
         level[#level + 1] = leaf
      end
   end
   if #level == 0 then
      return nil, next_part
   end
   return next_above, next_part
end

-- For each level from the leaves upwards, map leaf → number of its part.
local function parts_of(topo)
   if trees[topo] then
      return trees[topo]
   end
   local above, part = {}, {}
   for _, r in ipairs((common.routers(topo))) do
      above[r], part[r] = { r }, r
   end
   local levels = { part }
   while above and #levels <= 8 do
      above, part = climb_level(topo, above, part)
      if above then
         levels[#levels + 1] = part
      end
   end
   local all, island = {}, islands.of(topo).by_links
   for r in pairs(levels[1]) do
      all[r] = -1 - island[r]
   end
   levels[#levels + 1] = all
   trees[topo] = levels
   return levels
end

-- Parts of a level with enough free nodes, the one with least to spare first.
local function fitting_parts(level, on, routers, count)
   local by, list = {}, {}
   for _, r in ipairs(routers) do
      local p = level[r]
      by[p] = by[p] or { part = p, free = 0, routers = {} }
      by[p].free = by[p].free + #on[r]
      table.insert(by[p].routers, r)
   end
   for _, p in pairs(by) do
      if p.free >= count then
         list[#list + 1] = p
      end
   end
   table.sort(list, function(one, other)
      return one.free < other.free or one.free == other.free and one.part < other.part
   end)
   return list
end

-- Leaves by best fit: the fullest ones, and at the end the smallest that holds what is left.
local function best_fit(on, routers, count)
   local list, out = common.fullest_first(on, routers), {}
   while #out < count do
      local rest, pick = count - #out, 1
      for i, r in ipairs(list) do
         if #on[r] >= rest then
            pick = i
         end
      end
      local r = table.remove(list, pick)
      table.move(on[r], 1, math.min(rest, #on[r]), #out + 1, out)
   end
   return out
end

local function nodes_in_words(count, part, whole)
   return ("%d leaves of %s"):format(count,
      report.text_if(whole, "the whole tree", "those below " .. tostring(part)))
end

local function candidate(topo, free, options, part, nodes, cost)
   local c = common.describe(topo, free, { nodes = common.sorted(nodes, options), kind = "leaves",
      cost = cost })
   if c.used == 1 then
      c.shape = "leaf " .. topo.router_name[topo:router(nodes[1])]
   else
      c.shape = nodes_in_words(c.used, topo.router_name[part.part], part.part < 0)
   end
   return c
end

local function healthy_routers(topo, on, routers, left)
   local bad = {}
   for c, share in pairs(left or {}) do
      if topo:is_link(c) and share < 1 then
         bad[topo:from(c)], bad[topo:to(c)] = true, true
      end
   end
   local list = tables.filter(routers, function(router)
      return not bad[router] and #on[router] > 0
   end)
   if #list < #routers then
      return list
   end
   return nil
end

local function search_in(topo, free, count, options, on, routers, out, take)
   local found = 0
   for i, level in ipairs(parts_of(topo)) do
      local fit = fitting_parts(level, on, routers, count)
      for _, p in ipairs(common.first_and_last(fit)) do
         take(out, candidate(topo, free, options, p, best_fit(on, p.routers, count), i))
         take(out, candidate(topo, free, options, p, common.fill(on, p.routers, count, true),
            i + 0.5))
      end
      if #fit > 0 then
         found = found + 1
      end
      if found == 3 then
         return
      end
   end
end

--- Free nodes in the smallest parts that have so many nodes and are free almost wholly.
function place.dense(topo, free, least, density, taken)
   local best = 0
   for _, level in ipairs(parts_of(topo)) do
      best = math.max(best, common.dense(topo, free, least, density, taken,
         function(router) return level[router] end))
   end
   return best
end

--- See taut.place.
function place.search(topo, free, count, options)
   local on, routers = common.by_router(topo, free, options)
   local out, take = {}, common.taker()
   if options.exclusive then
      local _, total = common.routers(topo)
      local whole = tables.filter(routers, function(router) return #on[router] == total[router] end)
      routers = whole
   end
   local without = healthy_routers(topo, on, routers, options.left)
   if without then
      search_in(topo, free, count, options, on, without, out, take)
   end
   search_in(topo, free, count, options, on, routers, out, take)
   return out
end

return place
