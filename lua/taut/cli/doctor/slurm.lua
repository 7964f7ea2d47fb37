-- SPDX-License-Identifier: GPL-2.0-or-later
--- What slurm.conf has to say for checks to work.
local health_check = require "taut.slurm.health_check"
local tables = require "taut.base.tables"
local sys = require "taut.sys"

local RARE_S = 3600 -- a health check that comes less often re-tests drained nodes late

local FLAGS = "PrologFlags=Alloc,DeferBatch in slurm.conf"

local function has_word(list, word)
   return tables.any(list, function(flag) return flag:lower() == word:lower() end)
end

local function say_prolog(slurm, say)
   local flags = tables.unless_blank(table.concat(slurm.prolog_flags, ",")) or "not set"
   if not has_word(slurm.prolog_flags, "Alloc") then
      say("mend", "PrologFlags", flags .. ": only the first node of a job runs the prolog, so " ..
         "no links are checked", FLAGS)
   elseif not has_word(slurm.prolog_flags, "DeferBatch") then
      say("mend", "PrologFlags", flags .. ": a batch script starts while other nodes still check",
         FLAGS)
   elseif has_word(slurm.prolog_flags, "RunInJob") then
      say("look", "PrologFlags", flags .. ": with RunInJob Slurm calls no SPANK prolog",
         ("Prolog=%s/taut-prolog.sh and Epilog=%s/taut-epilog.sh in slurm.conf, if they " ..
         "are missing"):format(sys.paths.libexecdir, sys.paths.libexecdir))
   else
      say("ok", "PrologFlags", flags)
   end
end

-- Both checks come with one interval: taut-healthcheck runs its own, then the site's.
local function say_program(health, say)
   local ours = sys.paths.libexecdir .. "/taut-healthcheck"
   local every = ("HealthCheckNodeState=%s"):format(health_check.states(health.states))
   if not health.program or health.program == "" then
      say("mend", "health check", "HealthCheckProgram is not set: idle and drained nodes are " ..
         "never tested", ("HealthCheckProgram=%s, HealthCheckInterval=300 and %s in slurm.conf")
         :format(ours, every))
   elseif not health.program:find "taut%-healthcheck" then
      say("mend", "health check", ("HealthCheckProgram is %s: idle and drained nodes are never " ..
         "tested"):format(health.program),
         ("on the nodes, as root: %s; then HealthCheckProgram=%s " ..
         "and %s in slurm.conf. Taut's check runs first, then yours, and yours gives the exit " ..
         "status. No symbolic link: NHC finds its configuration by its name"):format(
         health_check.command(health.program, sys.paths.confdir .. "/healthcheck.next"), ours,
         every))
   else
      return true
   end
   return false
end

local function say_cadence(health, say)
   local every = health.interval_s or 0
   local states = tables.unless_blank(table.concat(health.states, ",")) or "none"
   if every == 0 then
      say("mend", "health check", "HealthCheckInterval is 0: it never runs",
         "HealthCheckInterval=300 in slurm.conf")
   elseif has_word(health.states, "CYCLE") then
      say("mend", "health check", ("HealthCheckNodeState is %s: CYCLE spreads the nodes over " ..
         "the interval, and idle nodes wait a second for each other only"):format(states),
         ("HealthCheckNodeState=%s: the same states without CYCLE; doc/install.md, step 4, says " ..
         "what a check of your own then costs, and how it is spread"):format(
         health_check.states(health.states)))
   elseif not has_word(health.states, "IDLE") then
      say("mend", "health check", ("HealthCheckNodeState is %s: idle and drained nodes are not " ..
         "tested"):format(states), "HealthCheckNodeState with IDLE, besides what your own check " ..
         "wants: nodes with jobs are not tested")
   elseif every > RARE_S then
      say("look", "health check", ("every %.1f h: drained nodes are tested again, and suspects " ..
         "told apart, no more often"):format(every / 3600), "HealthCheckInterval=300; a check " ..
         "of your own that is too expensive for that can check a time stamp in healthcheck.next")
   else
      say("ok", "health check", ("every %d s, %s; %s/healthcheck.next of a node, where there is " ..
         "one, has the same interval"):format(every, states, sys.paths.confdir))
   end
end

return function(facts, say)
   local s = facts.slurm
   if s.alps == "alps" then
      return say("ok", "Slurm", "none: ALPS is used instead")
   elseif s.error or not s.known then
      return say("mend", "Slurm", "does not answer: " .. (s.error or "slurm.conf was not read yet"),
         "`scontrol ping` on tautd's host, as tautd's user, has to say UP")
   end
   say("ok", "Slurm", "answers; " .. (s.version or "of unknown version"))
   if s.alps then
      return
   end
   say_prolog(s, say)
   if say_program(s.health_check, say) then
      say_cadence(s.health_check, say)
   end
end
