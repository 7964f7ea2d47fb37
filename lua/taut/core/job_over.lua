-- SPDX-License-Identifier: GPL-2.0-or-later
--- A job's last epilog was heard: what its counters say together becomes part of a profile, what is
-- known of it a row for `taut why` and, where the site wants it, one line its AdminComment.
local loop = require "taut.loop"
local summary = require "taut.events.summary"
local sys = require "taut.sys"

local job_over = {}
local JobOver = {}
JobOver.__index = JobOver

local WAIT_MS = 500 -- until the epilogs' samples are in the store

local function write_comment(slurm, id, line)
   slurm:ask({ op = "comment", job = id, comment = line }, function(reply, err)
      if err then
         sys.log("info", ("job %d: AdminComment not written: %s"):format(id, err))
      elseif not reply.done then
         sys.log("info", ("job %d: AdminComment left alone: %s"):format(id, reply.why))
      end
   end)
end

local function tell_summary(self, id, counted)
   local line = summary.line(counted)
   sys.log(counted.errors > 0 and "notice" or "info", ("job %d: %s"):format(id, line:sub(7)))
   if self.comment == true then
      write_comment(self.slurm, id, line)
   end
end

-- Slurm still knows what the job was, and what was done to it.
local function profile_job(self, id, usage)
   self.slurm:ask({ op = "job", job = id }, function(reply)
      local job = reply and reply.job
      if not job or (job.num_nodes or 0) < 1 then
         return
      end
      local row = self.profiles:take(job, usage.nodes, self.steer:over(job))
      self.why:over(job, usage, row, function(line)
         if line and self.comment == "why" then
            write_comment(self.slurm, id, line)
         end
      end)
   end)
end

--- @param id job
function JobOver:take(id)
   loop.timer(WAIT_MS, function()
      self.journal:flush()
      self.journal:query("usage_of_job", { job = id }, function(rows)
         local usage = rows and rows[1] or { nodes = {} }
         profile_job(self, id, usage)
         if usage.summary then
            tell_summary(self, id, usage.summary)
         end
      end)
   end)
end

--- What becomes AdminComment from now on.
function JobOver:reload(with)
   self.comment = with
end

--- @param options { slurm = helper (taut-slurm), journal, profiles, steer, why, comment = what
--   becomes AdminComment: true, the counters; "why", the verdict; false, nothing }
function job_over.new(options)
   return setmetatable(options, JobOver)
end

return job_over
