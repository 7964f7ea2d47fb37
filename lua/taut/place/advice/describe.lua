-- SPDX-License-Identifier: GPL-2.0-or-later
--- A set of nodes in words and numbers.
local report = require "taut.report"
local tables = require "taut.base.tables"
local hostlist = require "taut.hostlist"
local json = require "taut.json"
local place = require "taut.place"
local reasons = require "taut.place.advice.reasons"

local describe = {}

local LEAST, DENSITY = 64, 0.9 -- of a dense box
local LARGE = 4096             -- routers of a machine of which only the best is looked at that way

--- A candidate of any nodes.
function describe.set(scene, nodes, shape)
   return place.describe(scene.topo, scene.free, { nodes = nodes, shape = shape, kind = "set" },
      scene.version)
end

--- What is left of large free submeshes after each candidate, into c.dense; none of it where there
-- are none now.
-- @param scene scene; list of candidates, the best first
function describe.fragments(scene, list)
   local before = scene.view:dense(scene.free, LEAST, DENSITY, scene.version)
   scene.dense = before
   for i, c in ipairs(list) do
      if before and before > 0 and (i == 1 or scene.topo.routers <= LARGE) then
         c.dense = place.dense(scene.topo, scene.free, LEAST, DENSITY, c.nodes, scene.version)
      elseif before == 0 then
         c.dense = 0
      end
   end
end

-- Components that are not well, those its traffic crosses and those near it that it does not;
-- worst first.
local function ill_components(scene, candidate)
   local crossed, near, routers = json.array {}, json.array {}, {}
   if not next(scene.left) then
      return crossed, near
   end
   for _, n in ipairs(candidate.nodes) do
      routers[scene.topo:router(n) or -1] = true
   end
   for comp, left in pairs(scene.left) do
      local row = { component = scene.topo.components[comp], left = left }
      if (candidate.score.load or {})[comp] then
         crossed[#crossed + 1] = row
      elseif scene.topo:is_link(comp) and (routers[scene.topo:from(comp)]
         or routers[scene.topo:to(comp)]) then
         near[#near + 1] = row
      end
   end
   for _, list in ipairs { crossed, near } do
      table.sort(list, function(one, other)
         return one.left < other.left
            or one.left == other.left and one.component < other.component
      end)
   end
   return crossed, near
end

-- Links that running jobs load, too.
local function shared_links(scene, candidate)
   local n = 0
   for comp in pairs(scene.background or {}) do
      if (candidate.score.load or {})[comp] and scene.topo:is_link(comp) then
         n = n + 1
      end
   end
   return n
end

-- When all nodes are free, where that is not yet so.
local function start_of(scene, candidate)
   if not scene.soon then
      return nil
   end
   local ends, last = scene.view:ending(), nil
   for _, n in ipairs(candidate.nodes) do
      if not scene.view.free[n] and ends[n] then
         last = math.max(last or 0, ends[n])
      end
   end
   return last
end

local function number_or_nil(value)
   if value and value < math.huge then
      return value
   end
   return nil
end

-- Where rates are max-min fair: ratio, and share of the time after which a message has arrived on
-- average; of all steps where no message has to be sent, nothing.
local function fair_rates(candidate)
   local f = candidate.score.fair
   if f and f.time_s > 0 and f.time_s < math.huge then
      return { ratio = f.ratio, mean = f.mean_s / f.time_s }
   end
   return nil
end

--- Names of a candidate's nodes, as a host list.
function describe.nodelist(scene, candidate)
   local names = tables.map(candidate.nodes, function(node) return scene.topo.nodes[node] end)
   return hostlist.compress(names)
end

--- A candidate as it goes to the asker.
-- @param scene scene: topo, view, P, left, background, soon
-- @param candidate candidate with score
-- @param own Slurm's choice, or nil
function describe.row(scene, candidate, own)
   local crossed, near = ill_components(scene, candidate)
   local row = { nodelist = describe.nodelist(scene, candidate), at = candidate.at,
      extent = candidate.extent,
      shape = candidate.shape .. report.text_if(candidate.exchanged, ", nodes exchanged"),
         density = candidate.density,
      strangers = candidate.strangers, routers = candidate.used, surface = candidate.surface,
      score = number_or_nil(candidate.score.ratio), job_ratio =
         number_or_nil(candidate.score.job_ratio),
      mean_hops = candidate.score.hops_mean, max_hops = candidate.score.hops_max,
         lost = candidate.score.lost,
      slowest = candidate.score.slowest and scene.topo.components[candidate.score.slowest],
         crossed = crossed,
      crosses = json.array {}, avoids = near, shared_links = shared_links(scene, candidate),
      dense_before = scene.dense, dense_after = candidate.dense, start = start_of(scene, candidate),
      fair = fair_rates(candidate), fair_error = candidate.score.fair_error }
   for i, x in ipairs(crossed) do
      row.crosses[i] = x.component
   end
   row.reasons = json.array(reasons.of(scene, candidate, row, own))
   return row
end

return describe
