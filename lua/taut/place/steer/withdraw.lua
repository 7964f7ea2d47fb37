-- SPDX-License-Identifier: GPL-2.0-or-later
--- Which pending jobs get nodes back that Taut had excluded or required.
local hostlist = require "taut.hostlist"
local mark = require "taut.slurm.mark"

local withdraw = {}

-- What taut-slurm is asked: it changes nothing when the job is no longer as `job` has it.
local function request(job, m, change)
   return { op = "steer", job = job.id, was_comment = job.comment,
      was_excluded = job.excluded or "", was_required = job.required or "",
      comment = mark.format(m), excluded = change.excluded, required = change.required }
end
withdraw.request = request

-- The excluded nodes that nothing speaks against any more go out of the list.  One that somebody
-- has changed is his.
local function excludes(job, m, exposed)
   if not m.excluded or not mark.same(job.excluded, m.excluded) then
      return nil
   end
   local keep, gone = {}, 0
   for name in pairs(mark.names(m.excluded)) do
      if exposed[name] then
         keep[#keep + 1] = name
      else
         gone = gone + 1
      end
   end
   if gone == 0 then
      return nil
   end
   m.excluded = #keep > 0 and hostlist.compress(keep) or nil
   return { request = request(job, m, { excluded = m.excluded or "" }),
      why = ("%d nodes are not excluded any more"):format(gone) }
end

-- A node that the job waits for and will not get soon.
local function lost(cluster, list)
   local set, count = mark.names(list)
   for name in pairs(set or {}) do
      if not cluster:is_free(name) then
         return ("%s is not free any more"):format(name)
      end
   end
   return (count or 0) == 0 and "its list cannot be read" or nil
end

-- A placement that did not start in time, or cannot.
local function placement(cluster, job, m, now, wait_s)
   if not m.placed_at or not mark.same(job.required, m.placed_on) then
      return nil
   end
   local why = not wait_s and "placing is off"
      or now - m.placed_at >= wait_s and ("it did not start within %d s"):format(wait_s)
      or lost(cluster, m.placed_on)
   if not why then
      return nil
   end
   m.placed, m.tried = nil, math.floor(now)
   return { request = request(job, m, { required = "" }), why = "placement taken back: " .. why }
end

--- What to take back now, one change a job at a time.
-- @param cluster of slurm/cluster/init.lua
-- @param exposed map node name → anything, of nodes that stay excluded; empty when steering is off
-- @param now seconds
-- @param wait_s how long a placement may wait; nil: take all of them back
-- @return array of { job, request, why }
function withdraw.decide(cluster, exposed, now, wait_s)
   local list = {}
   for _, job in ipairs(cluster.pending) do
      local m = mark.parse(job.comment)
      local change = m and (placement(cluster, job, m, now, wait_s) or excludes(job, m, exposed))
      if change then
         change.job = job.id
         list[#list + 1] = change
      end
   end
   return list
end

return withdraw
