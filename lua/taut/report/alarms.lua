-- SPDX-License-Identifier: GPL-2.0-or-later
--- What keeps Taut from acting, or what it cannot act on by itself: the first lines of whatever
-- says how the machine is.  One list in one order and the same words, wherever it is shown.
local report = require "taut.report"

local alarms = {}

local GO_ON = "; `taut policy continue` goes on"

--- @param s answer of `status`
-- @return array of { word, text }, the first the one that matters most
function alarms.of(s)
   local list = {}
   local function add(word, text)
      list[#list + 1] = text and { word = word, text = text } or nil
   end
   add("brakes", s.brakes)
   add("stopped", s.stopped and s.stopped.why .. GO_ON)
   local partitions = {}
   for name in pairs(s.capped) do
      partitions[#partitions + 1] = name
   end
   table.sort(partitions)
   for _, name in ipairs(partitions) do
      add("at a cap", s.capped[name].why .. GO_ON)
   end
   add("slurm", s.slurm_error and "does not answer: " .. s.slurm_error)
   add("munge", s.munge_error and "does not answer on tautd's host, so no node can be heard: " ..
      s.munge_error)
   local store, q = s.store, s.store.queued
   add("database", store.error and ("cannot be written: %s; %s in memory"):format(store.error,
      report.count(store.waiting or 0, "row") .. ((store.waiting or 0) == 1 and " waits"
      or " wait")))
   add("database", store.away and "is away: " .. store.away .. (q and q.rows > 0 and
      ("; %s (%s) on disk, the oldest of %s"):format(report.count(q.rows, "row"),
         report.bytes(q.bytes), report.ago(q.since, s.now)) or ""))
   add("database", s.database and s.database.damage and "is damaged: " .. s.database.damage)
   add("lost", store.lost > 0 and report.count(store.lost, "row") .. " for the database" or nil)
   add("changed", s.machine_wide)
   return list
end

--- One of them in a line.
function alarms.line(a)
   return ("%s: %s"):format(a.word, a.text)
end

return alarms
