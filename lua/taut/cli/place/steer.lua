-- SPDX-License-Identifier: GPL-2.0-or-later
local ask = require "taut.base.ask"
local tables = require "taut.base.tables"
local report = require "taut.report"
local when = require "taut.cli.state.when"

local steer = { summary = "Steering of jobs that gave --comm: state, on, off, report." }

function steer.setup(parser)
   parser:argument("set"):description "Switch it; outlives a restart.":args "?"
      :choices { "on", "off" }
   parser:flag("--report"):description "Jobs that were steered, and their gain."
   parser:option("-s --since"):description "With --report, from then on: 12h, 30d, 2026-03-05."
      :argname "<time>":default "30d":convert(when.since)
end

local function format_times(factor)
   if factor then
      return ("%.2f"):format(factor)
   end
   return "-"
end

local function format_seconds(seconds)
   if seconds then
      return ("%.0f s"):format(seconds)
   end
   return "-"
end

local function print_report(report_of)
   report.wrap(("%d jobs gave --comm, %d were steered: %d excluded nodes, %d asked for few " ..
      "switches, %d preferred cells, %d placed"):format(report_of.jobs, report_of.touched,
      report_of.excluded, report_of.switches, report_of.preferred, report_of.placed), "")
   local in_vain = report.text_if(report_of.in_vain > 0,
      ("; %s taken back"):format(report.count(report_of.in_vain, "placement")))
   print(("waiting added: %s in all%s"):format(format_seconds(report_of.added_s), in_vain))
   local rows = tables.map(report_of.programs, function(program)
      return { program.user, program.name, program.nodes, (program.comm or "-"):match "^[^:]+",
         program.jobs, program.others, format_times(program.predicted),
         format_times(program.faster), format_times(program.rate), format_seconds(program.added_s) }
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
      .. "over others. Both need %d jobs on each side."):format(report_of.least), "")
end

local function print_state(state)
   print(("steering is %s%s"):format(report.text_if(state.on, "on", "off"),
      report.text_if(state.place, ", placing too")))
   if state.error then
      print("error    " .. state.error)
   end
   if state.written then
      print(("advice   %s, written %s"):format(state.file, os.date("%H:%M:%S",
         math.floor(state.written))))
   end
   if not state.on then
      return -- what it would avoid and prefer is in force for nobody
   end
   for _, a in ipairs(state.avoided) do
      local text = ("avoided  %s at %s, %d nodes exposed"):format(a.component,
         report.percent(a.left), a.nodes)
      if a.gain then
         text = ("%s, up to %.2f times as slow"):format(text, a.gain)
      end
      print(text)
   end
   if state.switches then
      print(("switches one for %d nodes, for which a job waits %d s at most"):format(
         state.switches.nodes, state.switches.wait_s))
   end
   if state.prefer then
      print(("cells    jobs of up to %d nodes prefer %s"):format(state.prefer.nodes,
         state.prefer.features))
   end
   local rows = tables.map(state.pending, function(job)
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
   local since
   if args.report then
      since = args.since
   end
   local d, code = ask.tautd(args, "steer", { set = args.set, report = args.report or nil,
      since = since })
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
