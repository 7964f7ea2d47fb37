-- SPDX-License-Identifier: GPL-2.0-or-later
--- Which pending jobs get nodes back that Taut had excluded or required.
local hostlist = require "taut.hostlist"
local mark = require "taut.slurm.mark"

local withdraw = {}

-- What taut-slurm is asked: it changes nothing when the job is no longer as `job` has it.
local function request_change(job, entry, change)
   return { op = "steer", job = job.id, was_comment = job.comment,
      was_excluded = job.excluded or "", was_required = job.required or "",
      comment = mark.format(entry), excluded = change.excluded, required = change.required }
end
withdraw.request = request_change

-- The excluded nodes that nothing speaks against any more go out of the list.  One that somebody
-- has changed is his.
local function shorten_exclusion(job, entry, exposed)
   if not entry.excluded or not mark.same(job.excluded, entry.excluded) then
      return nil
   end
   local keep, gone = {}, 0
   for name in pairs(mark.names(entry.excluded)) do
      if exposed[name] then
         keep[#keep + 1] = name
      else
         gone = gone + 1
      end
   end
   if gone == 0 then
      return nil
   end
   entry.excluded = nil
   if #keep > 0 then
      entry.excluded = hostlist.compress(keep)
   end
   return { request = request_change(job, entry, { excluded = entry.excluded or "" }),
      why = ("%d nodes are not excluded any more"):format(gone) }
end

-- A node that the job waits for and will not get soon.
local function lost_node(cluster, list)
   local set, count = mark.names(list)
   for name in pairs(set or {}) do
      if not cluster:is_free(name) then
         return ("%s is not free any more"):format(name)
      end
   end
   if (count or 0) == 0 then
      return "its list cannot be read"
   end
   return nil
end

-- A placement that did not start in time, or cannot.
local function end_placement(cluster, job, entry, now, wait_s)
   if not entry.placed_at or not mark.same(job.required, entry.placed_on) then
      return nil
   end
   local why
   if not wait_s then
      why = "placing is off"
   elseif now - entry.placed_at >= wait_s then
      why = ("it did not start within %d s"):format(wait_s)
   else
      why = lost_node(cluster, entry.placed_on)
   end
   if not why then
      return nil
   end
   entry.placed, entry.tried = nil, math.floor(now)
   return { request = request_change(job, entry, { required = "" }),
      why = "placement taken back: " .. why }
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
      local change = m and (end_placement(cluster, job, m, now, wait_s)
         or shorten_exclusion(job, m, exposed))
      if change then
         change.job = job.id
         list[#list + 1] = change
      end
   end
   return list
end

return withdraw
