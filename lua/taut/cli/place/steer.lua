-- SPDX-License-Identifier: GPL-2.0-or-later
local ask = require "taut.base.ask"
local tables = require "taut.base.tables"
local report = require "taut.report"
local when = require "taut.cli.state.when"

local steer = { summary = "Steering of jobs that gave --comm: state, on, off, report." }

function steer.setup(parser)
   parser:argument("set"):description "Switch it; outlives a restart.":args "?"
      :choices { "on", "off" }
   parser:flag("--report"):description "Jobs that were steered, and what it did for them."
   parser:option("-s --since"):description "With --report, from then on: 12h, 30d, 2026-03-05."
      :argname "<time>":default "30d":convert(when.since)
end

local function times(v)
   return v and ("%.2f"):format(v) or "-"
end

local function seconds(v)
   return v and ("%.0f s"):format(v) or "-"
end

local function print_report(r)
   report.wrap(("%d jobs gave --comm, %d were steered: %d excluded nodes, %d asked for few " ..
      "switches, %d preferred cells, %d placed"):format(r.jobs, r.touched, r.excluded, r.switches,
      r.preferred, r.placed), "")
   local in_vain = r.in_vain > 0 and report.count(r.in_vain, "placement") .. " taken back"
   print(("waiting added: %s in all%s"):format(seconds(r.added_s), in_vain and "; " .. in_vain or
      ""))
   local rows = tables.map(r.programs, function(p)
      return { p.user, p.name, p.nodes, (p.comm or "-"):match "^[^:]+", p.jobs, p.others,
         times(p.predicted), times(p.faster), times(p.rate), seconds(p.added_s) }
   end)
   if #rows == 0 then
      return
   end
   print()
   report.table({ "USER", "JOB", ">NODES", "PATTERN", ">JOBS", ">OTHERS", ">GAIN",
      ">FASTER", ">RATE", ">ADDED" }, rows)
   print()
   report.wrap(("GAIN: predicted communication time on the nodes Slurm would have taken over that "
      .. "on those the job got. FASTER: median wall time of the OTHERS (same user, name and number "
      .. "of nodes, not steered) over that of the steered; RATE: bytes sent per second, steered "
      .. "over others. Both need %d jobs on each side."):format(r.least), "")
end

local function print_state(s)
   print(("steering is %s%s"):format(s.on and "on" or "off", s.place and ", placing too" or ""))
   if s.error then
      print("error    " .. s.error)
   end
   if s.written then
      print(("advice   %s, written %s"):format(s.file, os.date("%H:%M:%S",
         math.floor(s.written))))
   end
   if not s.on then
      return -- what it would avoid and prefer is in force for nobody
   end
   for _, a in ipairs(s.avoided) do
      print(("avoided  %s at %s, %d nodes exposed%s"):format(a.component, report.percent(a.left),
         a.nodes, a.gain and (", up to %.2f times as slow"):format(a.gain) or ""))
   end
   if s.switches then
      print(("switches one for %d nodes, for which a job waits %d s at most"):format(
         s.switches.nodes, s.switches.wait_s))
   end
   if s.prefer then
      print(("cells    jobs of up to %d nodes prefer %s"):format(s.prefer.nodes,
         s.prefer.features))
   end
   local rows = tables.map(s.pending, function(job)
      return { job.id, job.user, job.name, job.nodes, (job.comm:match "^[^:]+"),
         job.reason, job.done }
   end)
   if #rows > 0 then
      print()
      report.table({ ">PENDING", "USER", "JOB", ">NODES", "PATTERN", "REASON", "WHAT WAS DONE" },
         rows)
   end
end

function steer.run(args)
   if args.set and args.report then
      report.complain "steer: either on or off, or --report"
      return 2
   end
   local d, code = ask.tautd(args, "steer", { set = args.set, report = args.report or nil,
      since = args.report and args.since or nil })
   if not d then
      return code
   end
   if args.report then
      print_report(d)
   else
      print_state(d)
   end
   return 0
end

return steer
