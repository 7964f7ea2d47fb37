-- SPDX-License-Identifier: GPL-2.0-or-later
--- A set of nodes in words and numbers.
local tables = require "taut.base.tables"
local hostlist = require "taut.hostlist"
local json = require "taut.json"
local place = require "taut.place"
local reasons = require "taut.place.advice.reasons"

local describe = {}

local LEAST, DENSITY = 64, 0.9 -- of a dense box
local LARGE = 4096             -- routers of a machine of which only the best is looked at that way

--- A candidate of any nodes.
function describe.set(s, nodes, shape)
   return place.describe(s.topo, s.free, { nodes = nodes, shape = shape, kind = "set" }, s.version)
end

--- What is left of large free submeshes after each candidate, into c.dense; none of it where there
-- are none now.
-- @param s scene; list of candidates, the best first
function describe.fragments(s, list)
   local before = s.view:dense(s.free, LEAST, DENSITY, s.version)
   s.dense = before
   for i, c in ipairs(list) do
      if before and before > 0 and (i == 1 or s.topo.routers <= LARGE) then
         c.dense = place.dense(s.topo, s.free, LEAST, DENSITY, c.nodes, s.version)
      elseif before == 0 then
         c.dense = 0
      end
   end
end

-- Components that are not well, those its traffic crosses and those near it that it does not;
-- worst first.
local function ill(s, c)
   local crossed, near, routers = json.array {}, json.array {}, {}
   if not next(s.left) then
      return crossed, near
   end
   for _, n in ipairs(c.nodes) do
      routers[s.topo:router(n) or -1] = true
   end
   for comp, left in pairs(s.left) do
      local row = { component = s.topo.components[comp], left = left }
      if (c.score.load or {})[comp] then
         crossed[#crossed + 1] = row
      elseif s.topo:is_link(comp) and (routers[s.topo:from(comp)] or routers[s.topo:to(comp)]) then
         near[#near + 1] = row
      end
   end
   for _, list in ipairs { crossed, near } do
      table.sort(list, function(a, b)
         return a.left ~= b.left and a.left < b.left or a.left == b.left and
            a.component < b.component
      end)
   end
   return crossed, near
end

-- Links that running jobs load, too.
local function shared_links(s, c)
   local n = 0
   for comp in pairs(s.background or {}) do
      if (c.score.load or {})[comp] and s.topo:is_link(comp) then
         n = n + 1
      end
   end
   return n
end

-- When all nodes are free, where that is not yet so.
local function start_of(s, c)
   if not s.soon then
      return nil
   end
   local ends, last = s.view:ending(), nil
   for _, n in ipairs(c.nodes) do
      if not s.view.free[n] and ends[n] then
         last = math.max(last or 0, ends[n])
      end
   end
   return last
end

local function number(v)
   return v and v < math.huge and v or nil
end

-- Where rates are max-min fair: ratio, and share of the time after which a message has arrived on
-- average; of all steps where no message has to be sent, nothing.
local function fair_of(c)
   local f = c.score.fair
   return f and f.time_s > 0 and f.time_s < math.huge and
      { ratio = f.ratio, mean = f.mean_s / f.time_s } or nil
end

--- Names of a candidate's nodes, as a host list.
function describe.nodelist(s, c)
   local names = tables.map(c.nodes, function(n) return s.topo.nodes[n] end)
   return hostlist.compress(names)
end

--- A candidate as it goes to the asker.
-- @param s scene: topo, view, P, left, background, soon
-- @param c candidate with score
-- @param own Slurm's choice, or nil
function describe.row(s, c, own)
   local crossed, near = ill(s, c)
   local row = { nodelist = describe.nodelist(s, c), at = c.at, extent = c.extent,
      shape = c.shape .. (c.exchanged and ", nodes exchanged" or ""), density = c.density,
      strangers = c.strangers, routers = c.used, surface = c.surface,
      score = number(c.score.ratio), job_ratio = number(c.score.job_ratio),
      mean_hops = c.score.hops_mean, max_hops = c.score.hops_max, lost = c.score.lost,
      slowest = c.score.slowest and s.topo.components[c.score.slowest], crossed = crossed,
      crosses = json.array {}, avoids = near, shared_links = shared_links(s, c),
      dense_before = s.dense, dense_after = c.dense, start = start_of(s, c),
      fair = fair_of(c), fair_error = c.score.fair_error }
   for i, x in ipairs(crossed) do
      row.crosses[i] = x.component
   end
   row.reasons = json.array(reasons.of(s, c, row, own))
   return row
end

return describe
