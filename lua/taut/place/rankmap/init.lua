-- SPDX-License-Identifier: GPL-2.0-or-later
--- Which rank of a job goes on which of its nodes.
--
-- Slurm puts ranks on nodes in blocks, in the order of its table of nodes.  Several ways to do
-- better are tried, and each is judged by what its communication takes (taut.place.score); where
-- none is better than the blocks, blocks it is.
local tables = require "taut.base.tables"
local score = require "taut.place.score"

local rankmap = {}

-- Ways to place ranks: adding one is a file and a line.  Each module has
--   map(job) → array of { name, about, order = node number of each rank }, or nil and why not
local registry = {
   { "block", "taut.place.rankmap.block" },
   { "cyclic", "taut.place.rankmap.cyclic" },
   { "curves", "taut.place.rankmap.curves" },
   { "bisect", "taut.place.rankmap.bisect" },
   { "scotch", "taut.place.rankmap.scotch" },
}

local WORTH = 0.005      -- less time than this share does not count …
local WORTH_HOPS = 0.05  -- … but the same time with so much less on the links is

--- Names of the ways, in the order they are tried.
rankmap.names = tables.map(registry, function(row) return row[1] end)

--- How many ranks each node gets: evenly, the first ones one more.
-- @return array, or nil and what was expected
function rankmap.spread(ranks, nodes)
   if ranks < nodes then
      return nil, ("%d ranks on %d nodes: expected at least one for each node"):format(ranks, nodes)
   end
   local per = tables.fill(1, nodes, function(index)
      return ranks // nodes + tables.one_if(index <= ranks % nodes)
   end)
   return per
end

-- Every node has its number of ranks, or something is wrong with a way.
local function check_order(job, order)
   local count = {}
   for _, n in ipairs(order) do
      count[n] = (count[n] or 0) + 1
   end
   for i, n in ipairs(job.nodes) do
      if count[n] ~= job.per[i] then
         return false
      end
   end
   return #order == job.P.ranks
end

local function is_better(one, other)
   if one.time_s < other.time_s * (1 - WORTH) then
      return true
   end
   return one.time_s <= other.time_s * (1 + 1e-9) and one.on_links < other.on_links
      * (1 - WORTH_HOPS)
end

local function judge_way(job, name, about, order)
   local s = score.evaluate(job.topo, order, job.P, { left = job.left,
      background = job.background })
   return { name = name, about = about, order = order, time_s = s.time_s, lost = s.lost,
      hops_mean = s.hops_mean, on_links = s.hops_mean * s.bytes, bytes = s.bytes,
      slowest = s.slowest }
end

local function is_same(order, other)
   for r, n in ipairs(order) do
      if other[r] ~= n then
         return false
      end
   end
   return true
end

-- Has another way come to that order?
local function is_known(tried, order)
   return tables.any(tried, function(way) return is_same(way.order, order) end)
end

--- Try all ways.
-- @param job { topo, nodes = array in Slurm's order, per = ranks on each of them, P = pattern,
--   left, background = as for score.evaluate, only = name of the one way to try beside block,
--   scotch = program, default "scotch_gmap" }
-- @return { best = { name, about, order = node of each rank, time_s, hops_mean, bytes, slowest },
--   block = the same of Slurm's order, tried = array of all that differ,
--   skipped = array of { name, why },
--   gain = block's time / best's time (infinite
--   where the best needs no network) }
function rankmap.search(job)
   job.per_node = {}
   for i, n in ipairs(job.nodes) do
      job.per_node[n] = job.per[i]
   end
   local tried, skipped = {}, {}
   for _, row in ipairs(registry) do
      local name, m = row[1], require(row[2])
      if name == "block" or not job.only or job.only == name then
         local list, why = m.map(job)
         if not list then
            skipped[#skipped + 1] = { name = name, why = why }
         end
         for _, o in ipairs(list or {}) do
            assert(check_order(job, o.order), o.name)
            if not is_known(tried, o.order) then
               tried[#tried + 1] = judge_way(job, o.name, o.about, o.order)
            end
         end
      end
   end
   local best = tried[1]
   for _, t in ipairs(tried) do
      if is_better(t, best) then
         best = t
      end
   end
   local was, is, gain = tried[1].time_s, best.time_s, 1
   if was ~= is then
      gain = was / is
   end
   return { best = best, block = tried[1], tried = tried, skipped = skipped,
      gain = gain }
end

return rankmap
