-- SPDX-License-Identifier: GPL-2.0-or-later
--- Candidates in the order of their benefit to a job.
--
-- First by the predicted time of its communication, in steps of 4 % from the best. Of sets within
-- one step the one with fewest free nodes beside it is better, because later jobs get less compact
-- sets otherwise (tests/bench/replay). Then follow the denser submesh, and the one with fewer hops.
-- Small sets are improved by exchanging nodes, as long as the machine is small enough for it: what
-- is found by shape only can miss a slow link.
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
   if ratio == math.huge then
      return ratio
   end
   return math.floor(math.log(ratio / best) / STEP + 1e-9)
end

-- The least time of some candidates, relative to the ideal one.
local function best_of(list)
   local best = math.huge
   for _, c in ipairs(list) do
      best = math.min(best, c.score.ratio)
   end
   if best == math.huge then
      return 1
   end
   return math.max(best, 1e-9)
end

--- Is one candidate better than the other?  Both with their score.
-- @param best the best ratio of all that are compared, or nil: of these two
function rank.is_better(one, other, best)
   best = best or best_of { one, other }
   local x, y = step_of(one.score.ratio, best), step_of(other.score.ratio, best)
   if x ~= y then
      return x < y
   elseif one.surface and other.surface and one.surface ~= other.surface then
      return one.surface < other.surface
   elseif one.density and other.density and one.density ~= other.density then
      return one.density > other.density
   elseif one.score.hops_mean ~= other.score.hops_mean then
      return one.score.hops_mean < other.score.hops_mean
   end
   return one.nodes[1] < other.nodes[1]
end

local function sort_by_score(list)
   local best = best_of(list)
   table.sort(list, function(one, other) return rank.is_better(one, other, best) end)
end

local function replace_node(nodes, index, node, order)
   local list = table.move(nodes, 1, #nodes, 1, {})
   list[index] = node
   if order then
      table.sort(list, function(one, other) return order[one] < order[other] end)
   else
      table.sort(list)
   end
   return list
end

-- One exchange that helps, or nil when none does or `left` tries are used up.
local function exchange_nodes(topo, candidate, spare, pattern, options, left)
   local own = tables.set(candidate.nodes)
   for _, n in ipairs(spare) do
      local last = #candidate.nodes
      if own[n] then
         last = 0
      end
      for i = 1, last do
         if left.tries <= 0 then
            return nil
         end
         left.tries = left.tries - 1
         task.breathe()
         local nodes = replace_node(candidate.nodes, i, n, options.rank)
         local s = score.evaluate(topo, nodes, pattern, options)
         if s.ratio < candidate.score.ratio * 0.999 then
            return nodes, s
         end
      end
   end
   return nil
end

-- Free nodes, those nearest to the candidate's first router first.
local function by_distance(topo, free, candidate)
   local list, hops = {}, {}
   for n in pairs(free) do
      list[#list + 1], hops[n] = n, topo:hops(candidate.nodes[1], n)
   end
   table.sort(list, function(one, other)
      return hops[one] < hops[other] or hops[one] == hops[other] and one < other
   end)
   return list
end

local function improve_candidate(topo, candidate, free, pattern, options, tries, redo)
   local left = { tries = tries }
   local spare = by_distance(topo, free, candidate)
   while left.tries > 0 and candidate.score.ratio > GOOD do
      local nodes, s = exchange_nodes(topo, candidate, spare, pattern, options, left)
      if not nodes then
         return candidate
      end
      candidate = redo(nodes, candidate)
      candidate.score = s
      place.surfaces(topo, free, { candidate }, options.version)
   end
   return candidate
end

--- Score candidates and sort them, the best first.
-- @param topo topology
-- @param list of place.search; each gets `score`, what score.evaluate gives
-- @param pattern pattern of taut.pattern
-- @param options table: left, background (see score.evaluate), rank (node → place in Slurm's
--   table), top
-- @param free set of nodes that may be exchanged against those of a candidate, or nil for none
-- @param redo function(nodes, c) that makes a candidate of the improved nodes; needed with free
-- @return the list; without the rest of it when options.top of them are as good as the ideal
--   network: nothing is better
function rank.sort(topo, list, pattern, options, free, redo)
   local ideal, kept = 0, {}
   for _, c in ipairs(list) do
      if ideal < (options.top or math.huge) then
         task.breathe()
         c.score = score.evaluate(topo, c.nodes, pattern, options)
         if c.score.ratio <= GOOD then
            ideal = ideal + 1
         end
         kept[#kept + 1] = c
      end
   end
   list = kept
   sort_by_score(list)
   local tries = 0
   if free then
      tries = math.min(MOST_TRIES, WORK // #topo.components)
   end
   for i = 1, math.min(IMPROVED, #list) do
      if tries >= 16 and #list[i].nodes > 1 then
         list[i] = improve_candidate(topo, list[i], free, pattern, options, tries // IMPROVED, redo)
      end
   end
   sort_by_score(list)
   return list
end

--- Search and sort.
-- @param topo, free, count, options as of place.search, with left and background
-- @param pattern pattern of `count` ranks
-- @return array of candidates with score, the best first; or nil and why there is none
function rank.best(topo, free, count, pattern, options)
   local own = {}
   if pattern.steps[1] and pattern.steps[1].kind == "pairs" then
      own.measure = "near"
   end
   local found, err = place.search(topo, free, count, setmetatable(own, { __index = options }))
   if not found then
      return nil, err
   end
   task.breathe()
   local spare
   if not options.exclusive and not options.per_router then
      spare = free -- for exchanges
   end
   return rank.sort(topo, found, pattern, options, spare, function(nodes, candidate)
      local set = place.describe(topo, free, { nodes = nodes, kind = "set" }, options.version)
      set.shape, set.exchanged = set.box or candidate.shape, true
      return set
   end)
end

return rank
