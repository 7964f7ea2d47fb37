-- SPDX-License-Identifier: GPL-2.0-or-later
local ask = require "taut.base.ask"
local report = require "taut.report"
local sys = require "taut.sys"
local when = require "taut.cli.state.when"
local whole = require "taut.cli.whole"

local events = { summary = "What counters, sweeps and logs saw: where, when, and which jobs ran." }

local WIDTH = 80
local DAY = 86400 -- how far back by default

function events.setup(parser)
   parser:option("-n --node"):description "Of this node.":argname "<name>"
   parser:option("-l --link"):description "Of this link or port: r1.0.0/X+, leaf3/17."
      :argname "<name>"
   parser:option("-j --job"):description "While this job ran there.":argname "<id>"
      :convert(whole(1, 2 ^ 32 - 1 | 0))
   parser:option("-s --since"):description "From then on: 90m, 12h, 2d, 2026-03-05."
      :argname "<time>":convert(when.since)
   parser:option("--limit"):description "Maximum number, the latest.":argname "<n>":default "1000"
      :convert(whole(1, 100000))
   parser:flag("-q --serious"):description "Leave out what is harmless."
end

local function window_in_words(event)
   local till = os.date("%m-%d %H:%M:%S", math.floor(event.to))
   if not event.from or event.to - event.from < 60 then
      return till
   end
   local from, to = math.floor(event.from), math.floor(event.to)
   local is_same_day = os.date("%m-%d", from) == os.date("%m-%d", to)
   return ("%s-%s"):format(os.date("%m-%d %H:%M", from),
      os.date(report.text_if(is_same_day, "%H:%M", "%m-%d %H:%M"), to))
end

local function jobs_in_words(event)
   if not event.jobs or #event.jobs == 0 then
      return report.text_if(event.during == "idle", "idle", "-")
   end
   local text = table.concat(event.jobs, " ", 1, math.min(4, #event.jobs))
   if #event.jobs > 4 then
      text = ("%s +%d"):format(text, #event.jobs - 4)
   end
   return text
end

-- What stands before the text of an event.
local function event_cells(event)
   local where = event.port or event.node or "-"
   if event.components and event.components[1] then
      where = table.concat(event.components, " ")
   end
   return { window_in_words(event), event.source, event.class, where, report.percent(event.left),
      jobs_in_words(event) }
end

--- An event as it is shown on a terminal, where the text would not fit beside the rest: one line
-- for when, where and whom, the text below.
-- @return array of lines
function events.lines(event)
   local c = event_cells(event)
   local head = ("%-17s  %-8s  %-10s  %s"):format(c[1], c[2], c[3], c[4])
   if event.left then
      head = ("%s  %s left"):format(head, c[5])
   end
   if c[6] == "idle" then
      head = head .. "  idle"
   elseif c[6] ~= "-" then
      head = ("%s  %s %s"):format(head, report.text_if(#event.jobs == 1, "job", "jobs"), c[6])
   end
   local lines = { head }
   if #head >= WIDTH then
      lines = report.lines(head, "", "    ")
   end
   table.move(report.lines(event.text, "    ", "    "), 1, 100, #lines + 1, lines)
   return lines
end

-- One line each for other programs, whatever its length.
local function print_table(list)
   local rows = {}
   for i, e in ipairs(list) do
      rows[i] = event_cells(e)
      table.insert(rows[i], e.text)
   end
   report.table({ "TIME", "FROM", "CLASS", "COMPONENT", ">LEFT", "JOBS", "WHAT" }, rows)
end

function events.run(args)
   local since = args.since or os.time() - DAY
   if args.job then
      since = args.since or 0
   end
   local d, code = ask.tautd(args, "events", { node = args.node, link = args.link, job = args.job,
      since = since, limit = args.limit,
      serious = args.serious })
   if not d then
      return code
   elseif #d.observations == 0 then
      print(report.text_if(args.since or args.job, "no events", "no events in the last day"))
      return 0
   elseif sys.isatty(1) then
      for _, e in ipairs(d.observations) do
         print(table.concat(events.lines(e), "\n"))
      end
   else
      print_table(d.observations)
   end
   if d.more then
      io.stderr:write(("taut: these are the latest %d, there are more (--since, --limit)\n")
         :format(#d.observations))
   end
   return 0
end

return events
