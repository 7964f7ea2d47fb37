-- SPDX-License-Identifier: GPL-2.0-or-later
--- Candidates in the order of what a job gets from them.
--
-- First by the predicted time of its communication, in steps of 4 % from the best: what is nearer
-- than that is equal, and then the set that leaves fewest free nodes beside it is the better one,
-- since those who come later get less compact sets otherwise (tests/bench/replay); after that the
-- denser submesh, and the one with fewer hops.  Small sets are improved by exchanging nodes, as
-- long as the machine is small enough for it: what is found by shape only can miss a slow link.
local place = require "taut.place"
local score = require "taut.place.score"
local tables = require "taut.base.tables"
local task = require "taut.base.task"

local rank = {}

local STEP = math.log(1.04)
local GOOD = 1.005       -- a ratio below which nothing is exchanged
local WORK = 600000      -- components times evaluations that exchanges may take
local MOST_TRIES = 1500
local IMPROVED = 3       -- candidates that are improved

-- Steps begin at the best ratio there is: steps that begin at 1 would tell 1.019 from 1.021.
local function step_of(ratio, best)
   return ratio == math.huge and math.huge or math.floor(math.log(ratio / best) / STEP + 1e-9)
end

-- The least time of some candidates, relative to the ideal one.
local function best_of(list)
   local best = math.huge
   for _, c in ipairs(list) do
      best = math.min(best, c.score.ratio)
   end
   return best < math.huge and math.max(best, 1e-9) or 1
end

--- Is candidate a better than b?  Both with their score.
-- @param best the best ratio of all that are compared, or nil: of these two
function rank.is_better(a, b, best)
   best = best or best_of { a, b }
   local x, y = step_of(a.score.ratio, best), step_of(b.score.ratio, best)
   if x ~= y then
      return x < y
   elseif a.surface and b.surface and a.surface ~= b.surface then
      return a.surface < b.surface
   elseif a.density and b.density and a.density ~= b.density then
      return a.density > b.density
   elseif a.score.hops_mean ~= b.score.hops_mean then
      return a.score.hops_mean < b.score.hops_mean
   end
   return a.nodes[1] < b.nodes[1]
end

local function sort(list)
   local best = best_of(list)
   table.sort(list, function(a, b) return rank.is_better(a, b, best) end)
end

local function replaced(nodes, i, n, order)
   local list = table.move(nodes, 1, #nodes, 1, {})
   list[i] = n
   table.sort(list, order and function(a, b) return order[a] < order[b] end or nil)
   return list
end

-- One exchange that helps, or nil when none does or `left` tries are used up.
local function exchange(topo, c, spare, P, o, left)
   local own = tables.set(c.nodes)
   for _, n in ipairs(spare) do
      for i = 1, own[n] and 0 or #c.nodes do
         if left.tries <= 0 then
            return nil
         end
         left.tries = left.tries - 1
         task.breathe()
         local nodes = replaced(c.nodes, i, n, o.rank)
         local s = score.evaluate(topo, nodes, P, o)
         if s.ratio < c.score.ratio * 0.999 then
            return nodes, s
         end
      end
   end
   return nil
end

-- Free nodes, those nearest to the candidate's first router first.
local function by_distance(topo, free, c)
   local list, hops = {}, {}
   for n in pairs(free) do
      list[#list + 1], hops[n] = n, topo:hops(c.nodes[1], n)
   end
   table.sort(list, function(a, b)
      return hops[a] ~= hops[b] and hops[a] < hops[b] or hops[a] == hops[b] and a < b
   end)
   return list
end

local function improve(topo, c, free, P, o, tries, redo)
   local left = { tries = tries }
   local spare = by_distance(topo, free, c)
   while left.tries > 0 and c.score.ratio > GOOD do
      local nodes, s = exchange(topo, c, spare, P, o, left)
      if not nodes then
         return c
      end
      c = redo(nodes, c)
      c.score = s
      place.surfaces(topo, free, { c }, o.version)
   end
   return c
end

--- Score candidates and sort them, the best first.
-- @param topo topology
-- @param list of place.search; each gets `score`, what score.evaluate gives
-- @param P pattern of taut.pattern
-- @param o table: left, background (see score.evaluate), rank (node → place in Slurm's table),
--   top
-- @param free set of nodes that may be exchanged against those of a candidate, or nil for none
-- @param redo function(nodes, c) that makes a candidate of the improved nodes; needed with free
-- @return the list; without the rest of it when o.top of them are as good as the ideal network:
--   nothing is better
function rank.sort(topo, list, P, o, free, redo)
   local ideal, kept = 0, {}
   for _, c in ipairs(list) do
      if ideal < (o.top or math.huge) then
         task.breathe()
         c.score = score.evaluate(topo, c.nodes, P, o)
         ideal = ideal + (c.score.ratio <= GOOD and 1 or 0)
         kept[#kept + 1] = c
      end
   end
   list = kept
   sort(list)
   local tries = free and math.min(MOST_TRIES, WORK // #topo.components) or 0
   for i = 1, math.min(IMPROVED, #list) do
      if tries >= 16 and #list[i].nodes > 1 then
         list[i] = improve(topo, list[i], free, P, o, tries // IMPROVED, redo)
      end
   end
   sort(list)
   return list
end

--- Search and sort.
-- @param topo, free, count, o as of place.search, with left and background
-- @param P pattern of `count` ranks
-- @return array of candidates with score, the best first; or nil and why there is none
function rank.best(topo, free, count, P, o)
   local near = P.steps[1] and P.steps[1].kind == "pairs"
   local found, err = place.search(topo, free, count,
      setmetatable({ measure = near and "near" or nil }, { __index = o }))
   if not found then
      return nil, err
   end
   task.breathe()
   local may_exchange = not o.exclusive and not o.per_router
   return rank.sort(topo, found, P, o, may_exchange and free or nil, function(nodes, c)
      local set = place.describe(topo, free, { nodes = nodes, kind = "set" }, o.version)
      set.shape, set.exchanged = set.box or c.shape, true
      return set
   end)
end

return rank
