-- SPDX-License-Identifier: GPL-2.0-or-later
local ask = require "taut.base.ask"
local meaning = require "taut.events.meaning"
local report = require "taut.report"
local tables = require "taut.base.tables"
local whole = require "taut.cli.whole"
local verdicts = require "taut.report.verdicts"

local explain = {
   summary = "Tests and events behind a verdict; results of a job's check and counters." }

function explain.setup(parser)
   parser:argument("what"):description "Node or component: n5, n5/tx, r1.0.0/X+.":args "?"
   parser:option("-j --job"):description "A job instead.":argname "<id>"
      :convert(whole(1, 2 ^ 32 - 1 | 0))
end

local TESTS_SHOWN = 12 -- ids of tests behind one sentence
local ENDS_SHOWN = 32  -- nodes of low tests

local function format_time(time)
   return os.date("%m-%d %H:%M:%S", math.floor(time))
end

-- "tests 4 7 9 …", so many that a line or two hold them.
local function test_list(ids)
   if not ids or #ids == 0 then
      return ""
   end
   local most = math.min(#ids, TESTS_SHOWN)
   local list = table.concat(ids, " ", 1, most)
   if #ids > most then
      list = ("%s and %d more"):format(list, #ids - most)
   end
   return (" (%s %s)"):format(report.text_if(#ids == 1, "test", "tests"), list)
end

-- What a test did to a way of seeing it.
local function ruled_out_by(reason)
   if reason.ruled_out and reason.by then
      return (": ruled out by test %d"):format(reason.by)
   elseif reason.ruled_out then
      return ": ruled out"
   elseif reason.by then
      return ("; test %d cleared it"):format(reason.by)
   end
   return ""
end

-- Why the verdict is what it is, and what else was ruled out, and by what.
local function print_reasoning(list)
   for _, r in ipairs(list) do
      report.wrap(r.text .. test_list(r.tests) .. ruled_out_by(r), "  - ", "    ")
   end
end

local function print_component(component, now)
   report.wrap(("%s %s"):format(component.component, report.is(component)), "", "  ")
   local capacity = "capacity " .. report.bandwidth(component.capacity_Bps)
   if component.learned then
      capacity = report.learned(component.learned)
   end
   report.wrap(("%s, %s, last tested %s, last cleared %s"):format(capacity,
      report.count(component.tests, "test"), report.ago(component.last, now),
      report.ago(component.cleared_at, now)), "  ", "    ")
   if component.low > 0 then
      report.wrap(table.concat(component.far_ends, " ", 1,
         math.min(ENDS_SHOWN, #component.far_ends)) .. report.text_if(
         #component.far_ends > ENDS_SHOWN, " …"), "  low tests with: ", "    ")
   end
   print_reasoning(component.reasoning)
   for _, e in ipairs(component.evidence) do
      report.wrap(("%s left of it: %s, first seen %s"):format(report.percent(e.left), e.text,
         report.ago(e.since, now)), "  ", "    ")
   end
   if component.known then
      report.wrap(("%s, by %s"):format(report.known(component.known), component.known.who or "?"),
         "  ", "    ")
   end
   if verdicts.is_verdict(component.state) then
      report.wrap(("action: %s%s; cable %s"):format(component.action or "-",
         report.text_with(" (", component.action_why, ")"), component.cable), "  ")
   end
end

-- What else a test has to say: its streams, why it means nothing, what its ports did meanwhile.
local function test_remark(test)
   local words = {}
   if (test.streams or 1) > 1 then
      words[#words + 1] = test.streams .. " streams"
   end
   if (test.foreign_bytes or 0) > 0 then
      words[#words + 1] = report.bytes(test.foreign_bytes) .. " of others"
   end
   if (test.stalls or 0) > 0 then
      words[#words + 1] = ("%s +%d"):format(test.stalled_at or "stalls", test.stalls)
   end
   if test.class == "void" and test.why then
      words[#words + 1] = test.why
   else
      words[#words + 1] = test.route
   end
   return report.text_with("; ", tables.unless_blank(table.concat(words, "; ")))
end

-- Everything that has a time, the latest first: events, verdicts, actions and tests.
local function merge_time_line(answer)
   local rows = {}
   local function add_entry(time, from, row)
      row.time, row.order = time, #rows
      local when = format_time(time)
      if from and time - from >= 60 then
         when = ("%s, %s before"):format(when, report.ago(from, time):gsub(" ago", ""))
      end
      table.insert(row, 1, when)
      rows[#rows + 1] = row
   end
   for _, e in ipairs(answer.observations or {}) do
      local jobs = e.jobs and #e.jobs > 0 and table.concat(e.jobs, " ", 1, math.min(3, #e.jobs))
      add_entry(e.to, e.from, { jobs or e.during or "-", e.class, e.text })
   end
   for _, v in ipairs(answer.verdicts or {}) do
      add_entry(v.time, nil, { "-", "verdict", ("%s: from %s to %s"):format(v.component, v.was,
         v.state) })
   end
   for _, a in ipairs(answer.actions or {}) do
      add_entry(a.time, nil, { "-", report.word(a.action),
         ("%s by %s: %s"):format(a.node, a.who or "?", a.reason or "") })
   end
   for _, t in ipairs(answer.tests or {}) do
      local job = t.purpose or "-"
      if t.job and t.job > 0 then
         job = tostring(t.job)
      end
      add_entry(t.time, nil, { job, report.word(t.class),
         ("%s>%s %s, %s of expected%s"):format(t.src, t.dst, report.bandwidth(t.bw_Bps),
         report.percent(t.ratio), test_remark(t)) })
   end
   table.sort(rows, function(one, other)
      return one.time > other.time or one.time == other.time and one.order < other.order
   end)
   return rows
end

local function print_time_line(answer)
   local rows = merge_time_line(answer)
   if #rows == 0 then
      print "no tests stored, no events"
      return
   end
   report.table({ "TIME", ">JOB", "CLASS", "WHAT" }, rows)
end

local function bytes_or_none(bytes)
   if bytes then
      return report.bytes(bytes)
   end
   return "-"
end

-- Why there is no growth.
local NOTES = { booted = "node booted: not known", gone = "port is gone: not known",
   reload = "driver was loaded again: not known", reset = "somebody reset them: not known" }

local function print_growth(growth)
   local rows = {}
   for i, g in ipairs(growth) do
      local c = g.counters
      local bad, stalled, bytes = {}, {}, {}
      for name, v in pairs(c) do
         local kind, times, side = meaning.kind(g.source, name)
         if v > 0 and kind == "error" then
            bad[#bad + 1] = ("%s +%d"):format(name, v)
         elseif v > 0 and kind == "stall" then
            stalled[#stalled + 1] = ("%s +%d"):format(name, v)
         elseif kind == "bytes" then
            bytes[side] = (bytes[side] or 0) + v * times
         end
      end
      table.sort(bad)
      table.sort(stalled)
      local name = g.interface
      if g.source ~= "netdev" then
         name = ("%s (%s)"):format(name, g.source)
      end
      rows[i] = { g.node, name, ("%.1f s"):format(g.seconds), bytes_or_none(bytes.send),
         bytes_or_none(bytes.receive), tables.unless_blank(table.concat(stalled, ", ")) or "-",
         tables.unless_blank(table.concat(bad, ", ")) or NOTES[g.note or ""] or "none" }
   end
   if #rows > 0 then
      print "\ncounters from the end of the check to the epilog"
      report.table({ "NODE", "PORT", ">TIME", ">SENT", ">RECEIVED", "STALLS", "ERRORS" }, rows)
   end
end

local function print_job(answer)
   for _, e in ipairs(answer.events) do
      local head = ("%s  %s of %s on %s: "):format(format_time(e.time), e.purpose, answer.about,
         report.count(e.expected or 0, "node"))
      local text = e.note or ""
      if e.heard then
         text = ("%d heard from, %s"):format(e.heard, report.count(e.tests or 0, "test"))
      end
      if e.trace_ns then
         text = ("%s; ways asked for in %.1f ms"):format(text, e.trace_ns / 1e6)
      end
      print(head .. text)
   end
   if answer.summary then
      print(answer.summary.line:sub(7))
   end
   if #answer.tests + #answer.observations > 0 then
      print_time_line(answer)
   end
   print_growth(answer.growth)
end

local function print_thing(answer)
   if answer.node then
      local n = answer.node
      report.wrap(("%s in Slurm: %s%s%s"):format(n.name, n.slurm or "?",
         report.text_if(n.drain, ", drained"),
         report.text_with(": ", tables.unless_blank(n.reason))), "", "  ")
      if n.held then
         report.wrap("would be drained, but " .. n.held, "  ", "    ")
      end
   end
   for _, c in ipairs(answer.components) do
      print_component(c, answer.now)
   end
   print ""
   print_time_line(answer)
end

function explain.run(args)
   if (args.what == nil) == (args.job == nil) then
      report.complain "explain: give a node or component, or --job ID"
      return 2
   end
   local d, code = ask.tautd(args, "explain", { what = args.what, job = args.job })
   if not d then
      return code
   end
   if d.components then
      print_thing(d)
   else
      print_job(d)
   end
   return 0
end

return explain
