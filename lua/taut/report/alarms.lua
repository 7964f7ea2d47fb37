-- SPDX-License-Identifier: GPL-2.0-or-later
--- What keeps Taut from acting, or what it cannot act on by itself: the first lines of whatever
-- says how the machine is.  One list in one order and the same words, wherever it is shown.
local report = require "taut.report"

local alarms = {}

local GO_ON = "; `taut policy continue` goes on"

-- What waits for the database: in memory, and in the file of the queue.
local function rows_in_memory(count)
   return report.count(count, "row") .. report.text_if(count == 1, " waits", " wait")
end

local function rows_on_disk(queued, now)
   if not queued or queued.rows <= 0 then
      return ""
   end
   return ("; %s (%s) on disk, the oldest of %s"):format(report.count(queued.rows, "row"),
      report.bytes(queued.bytes), report.ago(queued.since, now))
end

--- @param status answer of `status`
-- @return array of { word, text }, the first the one that matters most
function alarms.of(status)
   local list = {}
   local function add_alarm(word, text)
      if text then
         list[#list + 1] = { word = word, text = text }
      end
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
   local store = status.store
   add_alarm("database", store.error and ("cannot be written: %s; %s in memory"):format(store.error,
      rows_in_memory(store.waiting or 0)))
   add_alarm("database", store.away and "is away: " .. store.away
      .. rows_on_disk(store.queued, status.now))
   add_alarm("database", status.database and status.database.damage and "is damaged: " ..
      status.database.damage)
   add_alarm("lost", store.lost > 0 and report.count(store.lost, "row") .. " for the database")
   add_alarm("changed", status.machine_wide)
   return list
end

--- One of them in a line.
function alarms.line(alarm)
   return ("%s: %s"):format(alarm.word, alarm.text)
end

return alarms
