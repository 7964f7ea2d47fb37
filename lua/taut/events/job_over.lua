-- SPDX-License-Identifier: GPL-2.0-or-later
--- A job's last epilog was heard: what its counters say together, and, where the site wants it, one
-- line of that in the job's AdminComment.
local json = require "taut.json"
local loop = require "taut.loop"
local summary = require "taut.events.summary"
local sys = require "taut.sys"

local job_over = {}

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

--- @param d daemon
-- @param slurm helper (taut-slurm)
-- @param id job
function job_over.take(d, slurm, id)
   loop.timer(WAIT_MS, function()
      d.journal:flush()
      d.journal:query("growth_of_job", { job = id, latest = true }, function(rows)
         for _, row in ipairs(rows or {}) do
            row.counters = json.decode(row.counters)
         end
         d.learn:job_over(id, rows or {})
         local s = summary.of(rows or {})
         if not s then
            return
         end
         local line = summary.line(s)
         sys.log(s.errors > 0 and "notice" or "info", ("job %d: %s"):format(id, line:sub(7)))
         if d.conf.events.job_comment then
            comment(slurm, id, line)
         end
      end)
   end)
end

return job_over
