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

local function stamp(t)
   return os.date("%m-%d %H:%M", math.floor(t))
end

---------------------------------------------------------------- one job

local function head(j)
   local words = { ("job %s, %s of %s, %s"):format(j.label or j.id, j.name or "?", j.user or "?",
      report.count(j.nodes or 0, "node")) }
   if j.run_s then
      words[#words + 1] = report.time(j.run_s)
   end
   if j.state == "ended" then
      words[#words + 1] = ("%s %s"):format(j.result or "ended", stamp(j.ended))
   else
      words[#words + 1] = j.state == "pending" and "pending" or "running since " .. stamp(j.begin)
   end
   if j.sent then
      words[#words + 1] = ("moved %s"):format(report.bytes(j.sent + (j.received or 0)))
   end
   return table.concat(words, ", ")
end

local NAMES = { component = "component", placement = "placement", neighbours = "neighbours",
   congestion = "congestion", node = "one node", earlier = "earlier runs", input = "input",
   elsewhere = "processors", waiting = "processors" }

-- What it is, what it cost, how that is known, how sure it is.
local function title(f)
   local name = NAMES[f.cause] or f.cause
   if f.how == "not known" then
      return name
   end
   local words = { f.hi_s and report.lost_time(f.lo_s or 0, f.hi_s) }
   words[#words + 1] = f.how
   words[#words + 1] = f.sure and "confidence " .. f.sure or nil
   return name .. ": " .. table.concat(words, ", ")
end

local function print_answer(d)
   report.wrap(head(d.job), "", "  ")
   print()
   report.wrap(d.verdict.text, "")
   if #d.findings > 0 then
      print()
   end
   for _, f in ipairs(d.findings) do
      if f.how == "not known" then
         report.wrap(title(f) .. ": " .. f.text, "  ", "    ")
      else
         print("  " .. title(f))
         report.wrap(f.text, "    ")
      end
   end
end

---------------------------------------------------------------- those that lost most

local function hours(s)
   return s >= 360000 and ("%.0f"):format(s / 3600) or ("%.2f"):format(s / 3600)
end

local function print_slow(d)
   local rows = {}
   for i, j in ipairs(d.jobs) do
      rows[i] = { tostring(j.label or j.id), j.user or "-", j.name or "-", tostring(j.nodes),
         stamp(j.ended), report.time(j.run_s or 0), hours(j.lost_node_s),
            lost.words[j.cause] or "-", j.component or j.node or "-" }
   end
   if #rows == 0 then
      print(("no job is known to have lost time since %s"):format(stamp(d.since)))
      return
   end
   report.table({ ">JOB", "USER", "NAME", ">NODES", "ENDED", ">TOOK", ">LOST NODE-H", "TO",
      "WHERE" }, rows)
end

local function slow(args)
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

-- "1234_7.0" of a step: "1234_7", "0".  A name is nil where it is none of a job.
local function split(text)
   local job, step = text, nil
   if text and text:find(".", 1, true) then
      job, step = text:match "^([%d_+]+)%.(%w+)$"
   end
   if job and (job:find "^[1-9]%d*$" or job:find "^%d+[_+]%d+$") then
      return job, step
   end
end

function why.run(args)
   if args.slow and args.job or args.since and not args.slow then
      report.complain(args.since and not args.slow and "--since goes with --slow"
         or "--slow tells of all jobs: leave out the number")
      return 2
   elseif args.slow then
      return slow(args)
   end
   local job, step = split(args.job)
   if args.job and not job then
      report.complain(("%s: expected a job such as 1234, 1234_7 or 1234+1"):format(args.job))
      return 2
   end
   local id = math.tointeger(tonumber(job))
   local d, code = ask.tautd(args, "why", { job = id, label = not id and job or nil })
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
