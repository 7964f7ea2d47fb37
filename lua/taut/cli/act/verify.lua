-- SPDX-License-Identifier: GPL-2.0-or-later
local ask = require "taut.base.ask"
local loop = require "taut.loop"
local report = require "taut.report"
local sys = require "taut.sys"

local verify = { summary = "Have a component tested: by the next idle check, or by a job now." }

local POLL_MS = 500
local SETTLE_S = 5 -- the last RESULT of a check may come after its job has begun

function verify.setup(parser)
   parser:argument("component"):description "Its name, such as r1.0.0/X+, leaf3/17 or n5/tx."
   parser:flag("--now"):description
      "Submit a job to free nodes that can test it; its check does."
   parser:option("--wait"):description "With --now: give up a job that has not begun by then."
      :argname "<seconds>":default "60":convert(function(v)
         local n = tonumber(v)
         return n and n >= 1 and n <= 86400 and n or nil,
            ("--wait: expected seconds from 1 to 86400, got %s"):format(v)
      end)
end

local function show(d)
   report.wrap(("%s %s; %s asked for tests: %d good, %d low, %d discarded%s"):format(d.component,
      report.is(d), d.marked_by, d.good, d.low, d.void, d.best_Bps > 0 and
         ("; the best got %s of %s"):format(report.bandwidth(d.best_Bps),
            report.bandwidth(d.capacity_Bps)) or ""), "", "  ")
end

-- A job belongs to SlurmUser, whoever asked for it.
local function command(d, seconds)
   local argv = { "srun", "--exclusive", "--quiet", "--input=none", "--job-name=taut-verify",
      "--immediate=" .. math.floor(seconds), "--ntasks-per-node=1", "--nodes=" .. d.count,
      "--nodelist=" .. d.nodes, "true" }
   if sys.uid() == 0 and d.slurm_user and d.slurm_user ~= "root" then
      return { "runuser", "-u", d.slurm_user, "--", table.unpack(argv) }
   end
   return argv
end

local function run_job(d, seconds)
   local state = {}
   local proc, why = loop.spawn { argv = command(d, seconds),
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
local function outcome(args)
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
local function by_job(args, d)
   if d.count < 2 then
      report.complain(("verify: no two free nodes can test %s now; it stays marked for " ..
         "the next idle check"):format(d.component))
      return 1
   end
   local ok, why = run_job(d, args.wait)
   if not ok then
      report.complain(("verify: srun on %s: %s; the component stays marked"):format(d.nodes, why))
      return 1
   end
   local found, code = outcome(args)
   if found and args.json then
      return select(2, ask.tautd(args, "verify", { component = args.component, look = true }))
   elseif found then
      show(found)
   end
   return code or 0
end

function verify.run(args)
   local asked = ask.at(args, { json = args.json and not args.now })
   local d, code = ask.tautd(asked, "verify", { component = args.component, now = args.now })
   if not d then
      return code
   elseif args.now then
      return by_job(args, d)
   end
   report.wrap(("%s is marked: it is tested by the next idle check or job that can")
      :format(d.component), "", "  ")
   return 0
end

return verify
