-- SPDX-License-Identifier: GPL-2.0-or-later
local ask = require "taut.base.ask"
local audit = require "taut.cli.survey.audit"
local loop = require "taut.loop"
local report = require "taut.report"
local sys = require "taut.sys"
local tables = require "taut.base.tables"

local verify = {
   summary = "Have a component tested, by the next idle check or now; a leaf or the machine, now." }

local POLL_MS = 500
local SETTLE_S = 5 -- the last RESULT of a check may come after its job has begun

function verify.setup(parser)
   parser:argument("component"):args "?":description(
      "Its name: r1.0.0/X+, leaf3/17, n5/tx …; or of a router, leaf3: all its links.")
   parser:flag("--all"):description "All links of the machine, on all idle nodes, now."
   parser:flag("--now"):description
      "Submit a job to free nodes that can test it; its check does."
   parser:option("--wait"):description "With --now: give up a job that has not begun by then."
      :argname "<seconds>":default "60":convert(function(text)
         return tables.within(tonumber(text), 1, 86400),
            ("--wait: expected seconds from 1 to 86400, got %s"):format(text)
      end)
end

local IS_OPEN = { ok = true, unknown = true, suspect = true }

local function print_result(answer)
   local best, state = "", report.is(answer)
   if answer.best_Bps > 0 and answer.capacity_Bps then
      best = (", the best %.0f%% (%s of %s)"):format(100 * answer.best_Bps / answer.capacity_Bps,
         report.bandwidth(answer.best_Bps), report.bandwidth(answer.capacity_Bps))
   end
   if answer.low > 0 and IS_OPEN[answer.state] then
      state = ("no verdict yet: it takes low tests in %d periods of %.0f min, " ..
         "`taut explain %s`"):format(answer.spells or 3, (answer.spell_s or 3600) / 60,
         answer.component)
   end
   report.wrap(("%s: %d good, %d low, %d discarded tests%s; %s"):format(answer.component,
      answer.good, answer.low, answer.void, best, state), "", "  ")
end

-- A job belongs to SlurmUser, whoever asked for it.
local function job_command(asked, seconds)
   local argv = { "srun", "--exclusive", "--quiet", "--input=none", "--job-name=taut-verify",
      "--immediate=" .. math.floor(seconds), "--ntasks-per-node=1", "--nodes=" .. asked.count,
      "--nodelist=" .. asked.nodes, "true" }
   if sys.uid() == 0 and asked.slurm_user and asked.slurm_user ~= "root" then
      return { "runuser", "-u", asked.slurm_user, "--", table.unpack(argv) }
   end
   return argv
end

local function run_job(asked, seconds)
   local state = {}
   local proc, why = loop.spawn { argv = job_command(asked, seconds),
      on_line = function(line) io.stderr:write(line, "\n") end,
      on_exit = function(what, status)
         state.exit, state.status = what, status
         loop.stop()
      end }
   if not proc then
      return nil, why
   end
   loop.run()
   return state.status == 0, state.exit
end

-- Wait until what the job's check found is there.
local function await_outcome(args)
   local quiet = ask.at(args)
   local d, code
   for _ = 1, SETTLE_S * 1000 // POLL_MS do
      d, code = ask.tautd(quiet, "verify", { component = args.component, look = true })
      if not d or d.done then
         break
      end
      loop.timer(POLL_MS, loop.stop)
      loop.run()
   end
   return d, code
end

-- Have a job test it, and say what came of it.
local function verify_by_job(args, asked)
   if asked.count < 2 then
      report.complain(("verify: no two free nodes can test %s now; it stays marked for " ..
         "the next idle check"):format(asked.component))
      return 1
   end
   local ok, why = run_job(asked, args.wait)
   if not ok then
      report.complain(("verify: srun on %s: %s; the component stays marked"):format(asked.nodes,
         why))
      return 1
   end
   local found, code = await_outcome(args)
   if found and args.json then
      return select(2, ask.tautd(args, "verify", { component = args.component, look = true }))
   elseif found then
      print_result(found)
   end
   return code or 0
end

-- All links of a router, or of the machine: a survey on idle nodes.
local function by_survey(args, router)
   return audit.run { all = true, at = router, json = args.json, socket = args.socket,
      server = args.server }
end

function verify.run(args)
   if args.all and (args.component or args.now) or not args.all and not args.component then
      report.complain "verify: expected a component, a router, or --all alone"
      return 2
   elseif args.all then
      return by_survey(args)
   end
   local asked = ask.at(args)
   local d, code = ask.tautd(asked, "verify", { component = args.component, now = args.now })
   if not d then
      return code
   elseif d.router then
      if d.set and not args.json then
         report.wrap(("%s is one of %s, which no test tells apart: the sets of %s are measured")
            :format(d.component, d.set, d.router), "", "  ")
      end
      return by_survey(args, d.router)
   elseif args.now then
      return verify_by_job(args, d)
   end
   if args.json then
      print(ask.json(d))
      return 0
   end
   report.wrap(("%s is marked: it is tested by the next idle check or job that can")
      :format(d.component), "", "  ")
   return 0
end

return verify
