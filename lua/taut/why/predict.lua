-- SPDX-License-Identifier: GPL-2.0-or-later
--- How long a job's communication takes by the flow model (place/score.lua): on its nodes as they
-- were, with all healthy, beside its neighbours, and on the best nodes that were free.
--
-- The model gives times relative to a network in which only the nodes' own tx and rx limit; what a
-- job's busiest node counted, over what a node can inject, is the time that goes with that.
local pattern = require "taut.place.pattern"
local profile = require "taut.events.profile"
local load_rails = require "taut.topology.load_rails"
local rank = require "taut.place.rank"
local score = require "taut.place.score"
local slurm = require "taut.place.slurm"
local task = require "taut.base.task"

local predict = {
   MOST = 512, -- nodes; of a larger job nothing is predicted: it would hold up tautd
}

-- What a job that names no pattern may do; what lies between them is not known.
local ASSUMED = { "all-to-all", "halo3d", "ring" }
local SEARCHED = 128 -- nodes of a job for which the best free nodes are looked for
local ALONE = 4      -- components that are not well, each looked at alone

--- The patterns of a job: those it named, or those that are assumed.
-- @param comm what --comm said, or nil
-- @param count nodes
-- @return array of patterns, said
function predict.patterns(cache, comm, count)
   local P = comm and cache:make(comm, count)
   if P then
      return { P }, true
   end
   local list = {}
   for _, name in ipairs(ASSUMED) do
      list[#list + 1] = cache:make(name, count)
   end
   return list, false
end

local function time_ratio(topo, nodes, traffic, options)
   task.breathe()
   local s = score.evaluate(topo, nodes, traffic, options)
   if s.lost == 0 and s.ratio < math.huge then
      return s.ratio, s
   end
   return nil, s
end

--- Seconds that an ideal network needs for what the busiest node counted; nil where a node's
-- capacity is not known.
function predict.ideal_s(topo, nodes, bytes)
   local sum = 0
   for _, n in ipairs(nodes) do
      local Bps = topo:known_capacity(topo.tx[n])
      if not Bps or Bps <= 0 then
         return nil
      end
      sum = sum + Bps * topo.rails
   end
   return bytes / (sum / #nodes)
end

-- What a neighbour puts on the components: to all of its nodes alike, as who talks to whom is not
-- known.  map component → bytes per second.
local function load_of(topo, cache, neighbour)
   task.breathe()
   local P = #neighbour.nodes <= predict.MOST and cache:make("all-to-all", #neighbour.nodes)
   local map = {}
   if P then
      local sent = (#neighbour.nodes - 1) * P.bytes
      for c, bytes in pairs(score.evaluate(topo, neighbour.nodes, P, { load = true }).load) do
         map[c] = bytes / sent * neighbour.Bps * neighbour.share
      end
      return map
   end
   local flat = {}
   profile.spread(flat, neighbour.nodes, neighbour.Bps * neighbour.share)
   for c, Bps in ipairs((load_rails.pairs(topo, flat))) do
      if Bps > 0 then
         map[c] = Bps
      end
   end
   return map
end

-- The loads of all neighbours together, and of each the link of the job that it fills most.
-- @param own map component → bytes of the job
local function background(topo, cache, list, own)
   local all = {}
   for _, n in ipairs(list) do
      n.links = 0
      for c, Bps in pairs(load_of(topo, cache, n)) do
         all[c] = (all[c] or 0) + Bps
         if own[c] and topo:is_link(c) then
            local share = Bps / topo.capacity[c]
            n.links = n.links + 1
            if not n.most or share > n.most or share == n.most and c < n.at then
               n.most, n.at = share, c
            end
         end
      end
   end
   return all
end

local function left_of(topo, bad, only)
   local map = {}
   for _, b in ipairs(bad) do
      local c = topo.component_id[b.name]
      if c and (not only or only == b) then
         map[c] = math.max(0.001, b.left)
      end
   end
   return map
end

-- The time with all that is bad, and an array of those with one of them alone.
local function times_of_bad(topo, nodes, traffic, bad, healthy)
   if #bad == 0 then
      return healthy, {}
   end
   local all = time_ratio(topo, nodes, traffic, { left = left_of(topo, bad) }) or healthy
   if #bad == 1 then
      return all, { all }
   end
   local alone = {}
   for k = 1, math.min(ALONE, #bad) do
      alone[k] = time_ratio(topo, nodes, traffic, { left = left_of(topo, bad, bad[k]) }) or healthy
   end
   return all, alone
end

--- Times of a job's communication, relative to the ideal network.
-- @param topo topology
-- @param nodes node numbers in rank order
-- @param list of predict.patterns
-- @param bad of ways.lua
-- @param others neighbours: array of { nodes = node numbers, Bps = that a node sends, share = of
--   the job's time }; set are `links` (that it shares), `most` (share of one) and `at` (which)
-- @param cache of patterns
-- @return array, one for each pattern: { name, healthy, bad, others, all, of = array of the ratio
--   with each of `bad` alone }
function predict.times(topo, nodes, list, bad, others, cache)
   local out, map = {}, nil
   for _, P in ipairs(list) do
      local healthy, s = time_ratio(topo, nodes, P, { load = #others > 0 })
      if healthy then
         local t = { name = P.name, healthy = healthy, others = healthy }
         t.bad, t.of = times_of_bad(topo, nodes, P, bad, healthy)
         t.all = t.bad
         if #others > 0 then
            map = map or background(topo, cache, others, s.load)
            t.others = time_ratio(topo, nodes, P, { background = map }) or healthy
            t.all = time_ratio(topo, nodes, P, { left = left_of(topo, bad), background = map })
               or t.bad
         end
         out[#out + 1] = t
      end
   end
   return out
end

--- What is free, its own nodes included, as the job finds it.
-- @param advice advice, its view up to date
-- @return set of node numbers, how many
local function free_of(advice, nodes, partition)
   local members, free, count = advice.view:partition(partition or ""), {}, 0
   for n in pairs(advice.view.free) do
      if not members or members[n] then
         free[n] = true
      end
   end
   for _, n in ipairs(nodes) do
      free[n] = true
   end
   for _ in pairs(free) do
      count = count + 1
   end
   return free, count
end

--- How well a job was placed, all components being healthy: on its nodes, on those that Slurm's own
-- rule gives of the free ones, and on the best of them.
-- @param advice advice, its view up to date; inside a task (base/task.lua)
-- @param nodes node numbers
-- @param traffic pattern
-- @param when "start" or "end": of the job
-- @return { pattern, got, best, slurm, free = nodes, when }; nil where the pattern says nothing
function predict.place(advice, nodes, traffic, partition, when)
   local got = time_ratio(advice.topo, nodes, traffic, {})
   if not got then
      return nil
   end
   local out = { pattern = traffic.name, got = got, when = when }
   local free, count = free_of(advice, nodes, partition)
   out.free = count
   if #nodes <= SEARCHED and count > #nodes then
      local found = rank.best(advice.topo, free, #nodes, traffic,
         { rank = advice.view.rank, top = 1, hops = true })
      if found and found[1] then
         out.best = math.min(found[1].score.ratio, got)
      end
      local own = slurm.choice(free, #nodes, advice:line_of(free))
      if own then
         out.slurm = time_ratio(advice.topo, own, traffic, {})
      end
   elseif count == #nodes then
      out.best = got
   end
   return out
end

--- Patterns are kept from one answer to the next.
predict.cache = pattern.cache

return predict
