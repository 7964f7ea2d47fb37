-- SPDX-License-Identifier: GPL-2.0-or-later
--- A job's last epilog was heard: what its counters say together becomes part of a profile and,
-- where the site wants it, one line in the job's AdminComment.
local json = require "taut.json"
local loop = require "taut.loop"
local summary = require "taut.events.summary"
local sys = require "taut.sys"

local job_over = {}
local JobOver = {}
JobOver.__index = JobOver

local WAIT_MS = 500 -- until the epilogs' samples are in the store

local function comment(slurm, id, line)
   slurm:ask({ op = "comment", job = id, comment = line }, function(reply, err)
      if err then
         sys.log("info", ("job %d: AdminComment not written: %s"):format(id, err))
      elseif not reply.done then
         sys.log("info", ("job %d: AdminComment left alone: %s"):format(id, reply.why))
      end
   end)
end

local function tell(self, id, rows)
   local s = summary.of(rows)
   if not s then
      return
   end
   local line = summary.line(s)
   sys.log(s.errors > 0 and "notice" or "info", ("job %d: %s"):format(id, line:sub(7)))
   if self.comment then
      comment(self.slurm, id, line)
   end
end

-- Slurm still knows what the job was, and what was done to it.
local function profile(self, id, rows)
   self.slurm:ask({ op = "job", job = id }, function(reply)
      local job = reply and reply.job
      if job and (job.num_nodes or 0) >= 1 then
         self.profiles:take(job, rows, self.steer:over(job))
      end
   end)
end

--- @param id job
function JobOver:take(id)
   loop.timer(WAIT_MS, function()
      self.journal:flush()
      self.journal:query("growth_of_job", { job = id, latest = true }, function(rows)
         for _, row in ipairs(rows or {}) do
            row.counters = json.decode(row.counters)
         end
         profile(self, id, rows or {})
         tell(self, id, rows or {})
      end)
   end)
end

--- Write AdminComments from now on, or not.
function JobOver:reload(with_comment)
   self.comment = with_comment
end

--- @param o { slurm = helper (taut-slurm), journal, profiles, steer, comment = write
--   AdminComments }
function job_over.new(o)
   return setmetatable(o, JobOver)
end

return job_over
