-- SPDX-License-Identifier: GPL-2.0-or-later
--- What is kept of a job for `taut why`, in one text of the table `job`: its nodes, what each
-- counted in few numbers, what its check saw, what was wrong on its ways, what was predicted.
--
-- It does not grow with the job, but for the host list: of nodes only those far from the others
-- have a name.
local json = require "taut.json"
local loop = require "taut.loop"
local numbers = require "taut.why.numbers"
local tables = require "taut.base.tables"

local facts = {}

local STALLS = 6        -- counters that are kept
local FAR = 4           -- nodes far from the others
local UNEVEN = 0.25     -- of the median: bytes, processor time
local LATE_S = 2        -- between nodes' times

--- The number of a job as squeue writes it: "1234_7" of an array, "1234+1" of a heterogeneous job;
-- nil for another one.
function facts.label(job)
   if (job.array_job or 0) ~= 0 and job.array_task then
      return ("%d_%d"):format(job.array_job, job.array_task)
   elseif (job.het_job or 0) ~= 0 and job.het_offset then
      return ("%d+%d"):format(job.het_job, job.het_offset)
   end
   return nil
end

--- When a job that Slurm tells of began, by this host's clock; nil where Slurm does not say.
function facts.begin_of(job)
   if (job.start or 0) > 0 then
      return job.start - loop.ahead()
   end
   return nil
end

local function rows_of(nodes, fn)
   local rows = {}
   for _, n in ipairs(nodes) do
      local v = fn(n)
      if v then
         rows[#rows + 1] = { n.node, v }
      end
   end
   return rows
end

-- The counters that grew most.
local function stalls_of(all)
   local list = {}
   for name, v in pairs(all) do
      if v > 0 then
         list[#list + 1] = { name, v }
      end
   end
   table.sort(list, function(one, other)
      return one[2] > other[2] or one[2] == other[2] and one[1] < other[1]
   end)
   local out = {}
   for i = 1, math.min(STALLS, #list) do
      out[list[i][1]] = list[i][2]
   end
   return out
end

-- What nodes counted: nil where none told.
local function traffic_of(usage)
   local s, nodes = usage.summary, usage.nodes
   if not s or #nodes == 0 then
      return nil
   end
   local bytes = numbers.outliers(rows_of(nodes, function(node)
      return node.sent + node.received
   end),
      { share = UNEVEN, least = 1e6, most = FAR })
   local times = numbers.outliers(rows_of(nodes, function(node) return node.seconds end),
      { share = UNEVEN, least = LATE_S, most = FAR })
   local cpu = numbers.outliers(rows_of(nodes, function(node) return node.cpu_s end),
      { share = UNEVEN, least = 1, most = FAR })
   local most = 0
   for _, n in ipairs(nodes) do
      most = math.max(most, n.sent, n.received)
   end
   local gaps
   if #s.notes > 0 then
      gaps = #s.notes
   end
   return { told = #nodes, seconds = s.seconds, sent = s.sent, received = s.received,
      busiest = most, bytes = bytes, times = times, cpu = cpu,
      stalls = stalls_of(s.stalls), errors = s.errors,
      can_stall = next(s.stalls) ~= nil or s.segments ~= nil or nil, segments = s.segments,
      worst = s.worst, gaps = gaps }
end

-- What the check before the job saw: the last one, of several starts.
local function check_of(events, tests)
   local e
   for _, row in ipairs(events) do
      if row.purpose == "prolog" then
         e = row
      end
   end
   if not e then
      return nil
   end
   local check = { expected = e.expected, heard = e.heard, tests = 0, good = 0, low = 0, void = 0 }
   for _, t in ipairs(tests) do
      if t.event == e.id then
         check.tests = check.tests + 1
         check[t.class] = (check[t.class] or 0) + 1
         if t.class == "low" and (not check.worst or (t.ratio or 0) < check.worst.ratio) then
            check.worst = { src = t.src, dst = t.dst, ratio = t.ratio or 0 }
         end
      end
   end
   return check
end

--- @param gathered { job = of taut-slurm, usage = of the store's `usage_of_job`, events, tests = of
--   the job, bad = of ways.lua, place = of predict.lua or nil, shared = another job on its nodes }
-- @return a table for facts.text
function facts.of(gathered)
   return { nodes = gathered.job.nodes, traffic = traffic_of(gathered.usage),
      check = check_of(gathered.events, gathered.tests),
      bad = tables.unless_empty(gathered.bad), place = gathered.place,
      shared = gathered.shared }
end

function facts.text(known)
   return json.encode(known)
end

--- Read it; text of another release, or damaged text, is ignored.
function facts.read(text)
   local f = type(text) == "string" and json.decode(text)
   if type(f) ~= "table" then
      return {}
   end
   for _, name in ipairs { "traffic", "check", "bad", "place" } do
      if type(f[name]) ~= "table" then
         f[name] = nil
      end
   end
   if type(f.nodes) ~= "string" then
      f.nodes = nil
   end
   return f
end

return facts
