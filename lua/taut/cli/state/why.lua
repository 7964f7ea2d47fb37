-- SPDX-License-Identifier: GPL-2.0-or-later
local ask = require "taut.base.ask"
local lost = require "taut.report.page.lost"
local report = require "taut.report"
local when = require "taut.cli.state.when"

local why = { summary = "Was a job slow because of the network?  The answer, and what it " ..
   "rests on." }

function why.setup(parser)
   parser:argument("job"):description
      "A job: 1234, 1234_7 of an array, 1234+1 of a heterogeneous one; your last without."
      :argname "<job>":args "?"
   parser:flag("--slow"):description "The jobs that lost most, for administrators."
   parser:option("--since"):description "With --slow: 7d (default), 12h, 2026-03-05."
      :argname "<time>"
end

local function format_time(time)
   return os.date("%m-%d %H:%M", math.floor(time))
end

---------------------------------------------------------------- one job

local function print_head(job)
   local words = { ("job %s, %s of %s, %s"):format(job.label or job.id, job.name or "?",
      job.user or "?", report.count(job.nodes or 0, "node")) }
   if job.run_s then
      words[#words + 1] = report.time(job.run_s)
   end
   if job.state == "ended" then
      words[#words + 1] = ("%s %s"):format(job.result or "ended", format_time(job.ended))
   elseif job.state == "pending" then
      words[#words + 1] = "pending"
   else
      words[#words + 1] = "running since " .. format_time(job.begin)
   end
   if job.sent then
      words[#words + 1] = ("moved %s"):format(report.bytes(job.sent + (job.received or 0)))
   end
   return table.concat(words, ", ")
end

local NAMES = { component = "component", placement = "placement", neighbours = "neighbours",
   congestion = "congestion", node = "one node", earlier = "earlier runs", input = "input",
   elsewhere = "processors", waiting = "processors" }

-- What it is, what it cost, how that is known, how sure it is.
local function finding_title(finding)
   local name = NAMES[finding.cause] or finding.cause
   if finding.how == "not known" then
      return name
   end
   local words = { finding.hi_s and report.lost_time(finding.lo_s or 0, finding.hi_s) }
   words[#words + 1] = finding.how
   if finding.sure then
      words[#words + 1] = "confidence " .. finding.sure
   end
   return name .. ": " .. table.concat(words, ", ")
end

local function print_answer(answer)
   report.wrap(print_head(answer.job), "", "  ")
   print()
   report.wrap(answer.verdict.text, "")
   if #answer.findings > 0 then
      print()
   end
   for _, f in ipairs(answer.findings) do
      if f.how == "not known" then
         report.wrap(finding_title(f) .. ": " .. f.text, "  ", "    ")
      else
         print("  " .. finding_title(f))
         report.wrap(f.text, "    ")
      end
   end
end

---------------------------------------------------------------- those that lost most

local function format_hours(seconds)
   if seconds >= 360000 then
      return ("%.0f"):format(seconds / 3600)
   end
   return ("%.2f"):format(seconds / 3600)
end

local function print_slow(answer)
   local rows = {}
   for i, j in ipairs(answer.jobs) do
      rows[i] = { tostring(j.label or j.id), j.user or "-", j.name or "-", tostring(j.nodes),
         format_time(j.ended), report.time(j.run_s or 0), format_hours(j.lost_node_s),
            lost.words[j.cause] or "-", j.component or j.node or "-" }
   end
   if #rows == 0 then
      print(("no job is known to have lost time since %s"):format(format_time(answer.since)))
      return
   end
   report.table({ ">JOB", "USER", "NAME", ">NODES", "ENDED", ">TOOK", ">LOST NODE-H", "TO",
      "WHERE" }, rows)
end

local function show_slow(args)
   local since, err = when.since(args.since or "7d")
   if not since then
      report.complain("--since: ", err)
      return 2
   end
   local d, code = ask.tautd(args, "jobs_that_lost", { since = since })
   if not d then
      return code
   end
   print_slow(d)
   return 0
end

-- "1234_7.0" of a step: "1234_7", "0".  A name is nil where it is not one of a job.
local function split_label(text)
   local job, step = text, nil
   if text and text:find(".", 1, true) then
      job, step = text:match "^([%d_+]+)%.(%w+)$"
   end
   if job and (job:find "^[1-9]%d*$" or job:find "^%d+[_+]%d+$") then
      return job, step
   end
end

function why.run(args)
   if args.since and not args.slow then
      report.complain "--since goes with --slow"
      return 2
   elseif args.slow and args.job then
      report.complain "--slow tells of all jobs: leave out the number"
      return 2
   elseif args.slow then
      return show_slow(args)
   end
   local job, step = split_label(args.job)
   if args.job and not job then
      report.complain(("%s: expected a job such as 1234, 1234_7 or 1234+1"):format(args.job))
      return 2
   end
   local id, label = math.tointeger(tonumber(job)), nil
   if not id then
      label = job
   end
   local d, code = ask.tautd(args, "why", { job = id, label = label })
   if not d then
      return code
   end
   print_answer(d)
   if step then
      print()
      report.wrap(("Step %s: what nodes count is read when a job begins and when it ends, so " ..
         "that steps are not told apart; this is the whole job."):format(step), "")
   end
   return 0
end

return why
