-- SPDX-License-Identifier: GPL-2.0-or-later
--- What keeps Taut from acting, or what it cannot act on by itself: the first lines of whatever
-- says how the machine is.  One list in one order and the same words, wherever it is shown.
local report = require "taut.report"

local alarms = {}

local GO_ON = "; `taut policy continue` goes on"

--- @param status answer of `status`
-- @return array of { word, text }, the first the one that matters most
function alarms.of(status)
   local list = {}
   local function add_alarm(word, text)
      list[#list + 1] = text and { word = word, text = text } or nil
   end
   add_alarm("brakes", status.brakes)
   add_alarm("stopped", status.stopped and status.stopped.why .. GO_ON)
   local partitions = {}
   for name in pairs(status.capped) do
      partitions[#partitions + 1] = name
   end
   table.sort(partitions)
   for _, name in ipairs(partitions) do
      add_alarm("at a cap", status.capped[name].why .. GO_ON)
   end
   add_alarm("slurm", status.slurm_error and "does not answer: " .. status.slurm_error)
   add_alarm("munge", status.munge_error
      and "does not answer on tautd's host, so no node can be authenticated: " ..
         status.munge_error)
   local store, q = status.store, status.store.queued
   add_alarm("database", store.error and ("cannot be written: %s; %s in memory"):format(store.error,
      report.count(store.waiting or 0, "row") .. ((store.waiting or 0) == 1 and " waits"
      or " wait")))
   add_alarm("database", store.away and "is away: " .. store.away .. (q and q.rows > 0 and
      ("; %s (%s) on disk, the oldest of %s"):format(report.count(q.rows, "row"),
         report.bytes(q.bytes), report.ago(q.since, status.now)) or ""))
   add_alarm("database", status.database and status.database.damage and "is damaged: " ..
      status.database.damage)
   add_alarm("lost", store.lost > 0 and report.count(store.lost, "row") .. " for the database"
      or nil)
   add_alarm("changed", status.machine_wide)
   return list
end

--- One of them in a line.
function alarms.line(alarm)
   return ("%s: %s"):format(alarm.word, alarm.text)
end

return alarms
