-- SPDX-License-Identifier: GPL-2.0-or-later
--- What became of each job's check: counted, and an event of its own where there was none.
local loop = require "taut.loop"
local sys = require "taut.sys"

local job_checks = {}
local JobChecks = {}
JobChecks.__index = JobChecks

local QUIET = { single = true, off = true, ["nothing due"] = true } -- not worth a line in the log

--- A job began.
-- @param h its first HELLO
-- @param count how many nodes it has
-- @param why it is not checked: one of a few words; nil where it is
-- @param detail says more than why, or nil
function JobChecks:note(h, count, why, detail)
   local result = why or "checked"
   self.counts[result] = (self.counts[result] or 0) + 1
   if not why then
      return
   end
   self.journal:add("event", { id = self.ids:event(), time = loop.time(), purpose = h.purpose,
      job = h.job, restart = h.restart or 0, uid = h.uid, nodes = h.nodes, expected = count,
      tests = 0, note = "not checked: " .. (detail or why) })
   if not QUIET[why] then
      sys.log("info", ("job %d on %d nodes: not checked: %s"):format(h.job, count, detail or why))
   end
end

--- @param o { ids, journal }
function job_checks.new(o)
   return setmetatable({ ids = o.ids, journal = o.journal, counts = {} }, JobChecks)
end

return job_checks
