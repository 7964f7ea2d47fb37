-- SPDX-License-Identifier: GPL-2.0-or-later
--- What steering cost: how long a job waited for nodes that Taut kept it from, although it could
-- have started on others.
--
-- Looked at with each answer of Slurm: the time since the one before counts when enough nodes were
-- free at this one, but too few of those that the job was left with.
local mark = require "taut.slurm.mark"
local tables = require "taut.base.tables"

local ledger = {}
local Ledger = {}
Ledger.__index = Ledger

local WAITS_FOR_NODES = { None = true, Priority = true, Resources = true, ["9"] = true }
local MOST_GAP_S = 120 -- a longer gap says nothing about what was between

-- Free nodes of a partition, as a set and how many; `memo` is for one look.
local function free_of(cluster, partition, memo)
   if not memo[partition] then
      local set, count = {}, 0
      for _, name in ipairs(cluster.partitions[partition] or {}) do
         if cluster:is_free(name) then
            set[name], count = true, count + 1
         end
      end
      memo[partition] = { set = set, count = count }
   end
   return memo[partition].set, memo[partition].count
end

local function count_in(set, list)
   local n = 0
   for name in pairs(tables.or_empty(list and mark.names(list))) do
      n = n + tables.one_if(set[name])
   end
   return n
end

-- Is it Taut that this job waits for?
local function waits_for_us(cluster, job, entry, memo)
   if not WAITS_FOR_NODES[job.reason] then
      return false
   end
   local set, free = free_of(cluster, job.partition or "", memo)
   local need = job.num_nodes or 0
   if free < need then
      return false
   end
   if entry.placed_on and count_in(set, entry.placed_on) < need then
      return true
   elseif entry.excluded and free - count_in(set, entry.excluded) < need then
      return true
   end
   return entry.switches ~= nil
end

--- Look at the jobs that wait.
-- @param cluster of slurm/cluster/init.lua
-- @param now seconds
function Ledger:look(cluster, now)
   local since = 0
   if self.last then
      since = math.min(now - self.last, MOST_GAP_S)
   end
   self.last = now
   local still, memo = {}, {}
   for _, job in ipairs(cluster.pending) do
      local m = mark.parse(job.comment)
      if m then
         local entry = self.jobs[job.id] or { added = 0 }
         if entry.seen and waits_for_us(cluster, job, m, memo) then
            entry.added = entry.added + since
         end
         entry.seen, still[job.id] = true, true
         self.jobs[job.id] = entry
      end
   end
   for id, entry in pairs(self.jobs) do
      entry.gone = entry.gone or now
      if still[id] then
         entry.gone = nil
      end
      if entry.gone and now - entry.gone > 14 * 86400 then
         self.jobs[id] = nil
      end
   end
end

--- The entry of a job, made where there is none: { added = seconds, predicted = { got, without } }.
function Ledger:of(id)
   self.jobs[id] = self.jobs[id] or { added = 0 }
   return self.jobs[id]
end

--- The job is over; its entry goes.
function Ledger:take(id)
   local entry = self.jobs[id] or { added = 0 }
   self.jobs[id] = nil
   return entry
end

function ledger.new()
   return setmetatable({ jobs = {} }, Ledger)
end

return ledger
