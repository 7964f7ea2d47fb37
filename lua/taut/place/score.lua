-- SPDX-License-Identifier: GPL-2.0-or-later
--- How good a set of nodes is: how long a job's communication takes there.
--
-- The traffic of each step of its pattern (lua/taut/place/pattern/) goes along the routes of the
-- machine; the step takes as long as its slowest component: bytes divided by what the component
-- has left and other jobs leave of it (advisor/lib/flow/traffic.h).  The score is that time
-- relative to a network in which only the nodes' own healthy tx and rx limit.
local flow = require "taut.flow"

local score = {}

-- The C side of topologies and patterns, as long as these are there.
local flows = setmetatable({}, { __mode = "k" })
local compiled = setmetatable({}, { __mode = "k" })

local function flow_of(topo)
   local f = flows[topo]
   if not f then
      f = assert(flow.new(topo.graph))
      flows[topo] = f
   end
   return f
end

local function pattern_of(pattern)
   local c = compiled[pattern]
   if not c then
      c = assert(flow.pattern(pattern))
      compiled[pattern] = c
   end
   return c
end

-- An empty map says nothing; told so, the C side need not go through all components.
local function nil_if_empty(map)
   if map and next(map) then
      return map
   end
   return nil
end

-- Where rates are fair to every message: as far as there are not too many.
local function add_fair(scored, model, nodes, pattern)
   local last, mean = model:fair(nodes, pattern_of(pattern))
   if not last then
      scored.fair_error = mean
      return
   end
   scored.fair = { time_s = last, mean_s = mean, ratio = 1 }
   if scored.ideal_s > 0 then
      scored.fair.ratio = last / scored.ideal_s
   end
end

--- How long a pattern takes on some nodes.
-- @param topo topology
-- @param nodes array of node numbers in rank order, as many as the pattern has ranks; a node that
--   stands several times has several ranks, and what they say to each other stays there
-- @param pattern pattern (taut.pattern.make); it must not be changed afterwards
-- @param options table: left = map component → share of its capacity that is left (where that is
--   less than the topology says), background = map component → bytes/s of other jobs, load = true
--   for the bytes, or a table whose keys are the components to tell of; hops = true for hops_max,
--   fair = true for max-min fair rates
-- @return { time_s, ideal_s, ratio = time_s / ideal_s, job_ratio = the same for the whole job with
--   its compute share, slowest = component that takes longest or nil, hops_mean = links that a byte
--   crosses, lost = pairs of ranks without a route (all times are then infinite),
--   load = map component → bytes, where something goes,
--   hops_max = links between the two nodes farthest apart,
--   fair = { time_s, ratio, mean_s = until a message has arrived on average } where each message
--   gets a max-min fair rate that it keeps; or fair_error = why not }
function score.evaluate(topo, nodes, pattern, options)
   options = options or {}
   if #nodes ~= pattern.ranks then
      error(("%d nodes for %d ranks"):format(#nodes, pattern.ranks), 2)
   end
   local f = flow_of(topo)
   f:found(nil_if_empty(options.left), nil_if_empty(options.background))
   local s = assert(f:time(nodes, pattern_of(pattern)))
   s.ratio = 1
   if s.ideal_s > 0 then
      s.ratio = s.time_s / s.ideal_s
   elseif s.lost > 0 then
      s.ratio = math.huge
   end
   s.job_ratio = pattern.compute + (1 - pattern.compute) * s.ratio
   if options.load then
      s.load = f:load(options.load)
   end
   if options.hops then
      s.hops_max = (f:hops(nodes))
   end
   if options.fair then
      add_fair(s, f, nodes, pattern)
   end
   return s
end

return score
