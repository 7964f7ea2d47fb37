-- SPDX-License-Identifier: GPL-2.0-or-later
--- tautd itself: database, configuration, what keeps it from acting.
local report = require "taut.report"
local tables = require "taut.base.tables"

local FREE_LOW = 1 << 30 -- bytes: a day's rows of a large machine

local function say_server(database, say)
   if database.away then
      say("mend", "database", ("the server is away: %s; %s on disk"):format(database.away,
         report.count(tables.or_empty(database.queued).rows or 0, "row")),
         "start it, see doc/store.md")
   elseif database.queued and database.queued.refused + database.queued.left_out > 0 then
      say("look", "database", report.count(database.queued.refused + database.queued.left_out,
         "row") .. " were refused by the server", database.path ..
         "/queue/refused.rows lists them with reasons")
   end
end

local function say_database(facts, say)
   local b = facts.database
   if b.is_server then
      say_server(b, say)
   end
   if b.damage then
      say("mend", "database", "is damaged: " .. b.damage, "see doc/store.md")
   end
   if b.error then
      say("mend", "database", ("%s cannot be written: %s; %s wait"):format(b.path, b.error,
         report.count(b.waiting, "row")), "room, owner and mode of its folder")
   elseif b.lost > 0 then
      say("mend", "database", report.count(b.lost, "row") .. " were lost since tautd's start",
         "a faster or emptier file system under " .. b.path)
   elseif b.free and b.free < FREE_LOW then
      say("mend", "database", ("%s left for %s"):format(report.bytes(b.free), b.path),
         "room, or a smaller keep_days in taut.lua(5)")
   elseif not (b.away or b.damage) then
      local where = ("%s, %s"):format(b.path, report.bytes(b.bytes or 0))
      if b.is_server then
         where = "on a server; " .. b.path
      end
      say("ok", "database", ("%s, %s free"):format(where, report.bytes(b.free or 0)))
   end
   if b.mode and b.mode & 7 ~= 0 then
      say("mend", "database", ("mode %04o: all users can read whose jobs ran where"):format(b.mode),
         "chmod 0640 " .. b.path)
   end
end

local function say_configuration(daemon, say)
   if daemon.config_error then
      say("mend", "taut.lua", "not taken: " .. daemon.config_error,
         "taut config check, then taut config reload")
   elseif #daemon.hints > 0 then
      say("look", "taut.lua", daemon.hints[1], "taut config check lists what to change")
   else
      say("ok", "taut.lua", daemon.config .. " is in force")
   end
end

local function say_acting(facts, say)
   local w = facts.daemon
   if w.munge_error then
      say("mend", "MUNGE", "tautd's host: " .. w.munge_error .. "; no node can be authenticated",
         "systemctl enable --now munge there and on all nodes, with one key: auth/slurm does " ..
         "not take its place")
   end
   if w.brakes then
      say("mend", "brakes", w.brakes, "the folder of the database has to be writable")
   end
   if w.checks == "off" then
      say("look", "checks", "are off", "taut on")
   end
   if w.stopped or w.capped then
      say("look", "policy", "draining has stopped: " .. (w.stopped or "a cap is reached"),
         "taut policy, then taut policy continue")
   elseif facts.slurm.standby then
      say("ok", "policy", "standing by: " .. facts.slurm.standby)
   elseif w.mode == "observe" then
      say("ok", "policy", "observes: nothing is drained; taut policy drain, when you trust it")
   else
      say("ok", "policy", "drains")
   end
end

local function say_controllers(acting, say)
   if not acting then
      return
   elseif acting.here and acting.waiting then
      say("ok", "controllers", ("the tautd on %s is active, lease %d; the one on %s is on standby")
         :format(acting.host, acting.token, acting.waiting))
   elseif acting.here then
      say("mend", "controllers",
         ("the tautd on %s is active, no other is on standby"):format(acting.host),
         "start tautd on the others of " .. table.concat(acting.controllers, ", "))
   elseif acting.host then
      say("ok", "controllers", ("this tautd is on standby, the one on %s is active, lease %d")
         :format(acting.host, acting.token))
   else
      say("mend", "controllers", "no tautd is active: " .. (acting.error
         or "one is about to take over"),
         "the database has to answer, see doc/controllers.md")
   end
end

return function(facts, say)
   local w = facts.daemon
   say_controllers(w.acting, say)
   if w.acting and w.acting.blank then
      return
   end
   say_database(facts, say)
   say_configuration(w, say)
   say_acting(facts, say)
   if w.metrics_error then
      say("mend", "metrics", w.metrics_error, "metrics.listen in taut.lua(5)")
   end
   if w.on_event.error then
      say("mend", "on_event", ("%s: %s"):format(w.on_event.program or "-", w.on_event.error),
         "policy.on_event in taut.lua(5): run it by hand with the JSON that the log has")
   end
end
