-- SPDX-License-Identifier: GPL-2.0-or-later
--- A job beside earlier runs of the same user, job name and number of nodes.
--
-- Only runs that moved as many bytes are compared in time: others had another input.  Runs that
-- are known to have lost time themselves are left out, as long as enough others are there.
local facts = require "taut.why.facts"
local numbers = require "taut.why.numbers"
local tables = require "taut.base.tables"

local earlier = {
   LEAST = 3, -- runs: fewer cannot be compared
}

local ALIKE = 0.25   -- of the bytes: what differs by less had the same input
local SLOWER = 0.1   -- of the median time: less is no delay
local SURE = 5       -- runs alike: with so many a comparison is sure
local SPREADS = 3    -- of the earlier runs' times: neither is less than so many
local BAD_CAUSES = { component = true, placement = true, neighbours = true, congestion = true,
   node = true, elsewhere = true }

local function bytes_of(counted)
   return counted.traffic and (counted.traffic.sent or 0) + (counted.traffic.received or 0)
end

local function sum_of(map)
   local n = 0
   for _, v in pairs(map or {}) do
      n = n + v
   end
   return n
end

--- What was held up per GB, of one job; nil where nothing can say.
function earlier.stalled(counted)
   local t = counted.traffic
   local bytes = bytes_of(counted)
   if not t or not t.can_stall and next(t.stalls or {}) == nil or (bytes or 0) < 1e6 then
      return nil
   end
   return sum_of(t.stalls) / (bytes / 1e9)
end

--- What is usual of this machine's adapters: what was held up per GB, of other jobs.
-- @param rows of the store's `counted_lately`, or nil
-- @return { jobs, median, most = of nine in ten }; nil where fewer than LEAST tell
function earlier.of_class(rows)
   local list = {}
   for _, r in ipairs(rows or {}) do
      list[#list + 1] = earlier.stalled(facts.read(r.facts))
   end
   if #list < earlier.LEAST then
      return nil
   end
   return { jobs = #list, median = numbers.quantile(list, 0.5),
      most = numbers.quantile(list, 0.9) }
end

--- How sure a comparison is.
-- @param compared of earlier.compare
function earlier.sureness(compared)
   if compared.alike >= SURE then
      return "high"
   end
   return "medium"
end

-- Of one that runs it is not known how much it will move: all.
local function alike_runs(rows, bytes, is_running)
   local list = {}
   for _, r in ipairs(rows) do
      if is_running or r.bytes and bytes
         and math.abs(r.bytes - bytes) <= math.max(ALIKE * bytes, 1e6) then
         list[#list + 1] = r
      end
   end
   return list
end

local function untroubled(rows)
   local list = {}
   for _, r in ipairs(rows) do
      if not BAD_CAUSES[r.cause or ""] then
         list[#list + 1] = r
      end
   end
   if #list >= earlier.LEAST then
      return list
   end
   return rows
end

local function values_of(rows, field)
   local list = {}
   for _, r in ipairs(rows) do
      list[#list + 1] = r[field]
   end
   return list
end

--- @param rows of the store's `earlier_runs`
-- @param run_s seconds of this one, or nil while it runs
-- @param counted its facts
-- @param pattern name of the first that predict.times looked at, or nil: predictions for others are
--   no comparison
-- @return { runs (all), alike (as many bytes), median_s, least_s, most_s, spread_s, slower_than (of
--   `alike`), lost_s (beyond the median), is_slower, bytes (median of all), times_bytes (this one's
--   over that), stalled, cpu_s (of a node), model (predicted ratios): medians; stalled_most;
--   is_other_input }
function earlier.compare(rows, run_s, counted, pattern)
   for _, r in ipairs(rows) do
      local g = facts.read(r.facts)
      r.bytes, r.stalled = bytes_of(g), earlier.stalled(g)
      r.cpu_s = g.traffic and g.traffic.cpu and g.traffic.cpu.median
      local is_alike = type(g.model) == "table" and g.model.name == pattern
      for _, name in ipairs { "healthy", "bad", "others" } do
         r[name] = nil
         if is_alike then
            r[name] = tonumber(g.model[name])
         end
      end
   end
   local bytes = bytes_of(counted)
   local e = { runs = #rows, bytes = numbers.quantile(values_of(rows, "bytes"), 0.5) }
   if bytes and e.bytes and e.bytes > 0 then
      e.times_bytes = bytes / e.bytes
   end
   local list = untroubled(alike_runs(rows, bytes, run_s == nil))
   e.alike = #list
   e.is_other_input = #rows >= earlier.LEAST and e.times_bytes ~= nil and #list < earlier.LEAST
      and math.abs(e.times_bytes - 1) > ALIKE
   if #list < earlier.LEAST then
      return e
   end
   local times = values_of(list, "run_s")
   e.median_s, e.spread_s = numbers.middle(times)
   e.least_s, e.most_s = numbers.quantile(times, 0), numbers.quantile(times, 1)
   e.stalled, e.cpu_s = numbers.quantile(values_of(list, "stalled"), 0.5),
      numbers.quantile(values_of(list, "cpu_s"), 0.5)
   e.stalled_most = numbers.quantile(values_of(list, "stalled"), 1)
   local healthy = numbers.quantile(values_of(list, "healthy"), 0.5)
   e.model = healthy and { healthy = healthy,
      bad = numbers.quantile(values_of(list, "bad"), 0.5) or healthy,
      others = numbers.quantile(values_of(list, "others"), 0.5) or healthy }
   if run_s then
      e.slower_than = tables.count(times, function(time) return run_s > time end)
      e.lost_s = run_s - e.median_s
      e.is_slower = e.lost_s > math.max(SLOWER * e.median_s, SPREADS * e.spread_s)
   end
   return e
end

return earlier
