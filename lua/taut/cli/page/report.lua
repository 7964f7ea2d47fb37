-- SPDX-License-Identifier: GPL-2.0-or-later
local alarms = require "taut.report.alarms"
local gather = require "taut.cli.page.gather"
local json = require "taut.json"
local mail = require "taut.cli.page.mail"
local page = require "taut.report.page"
local placement = require "taut.cli.page.placement"
local report = require "taut.report"
local save = require "taut.report.save"
local sys = require "taut.sys"
local tables = require "taut.base.tables"
local when = require "taut.cli.state.when"

local command = { summary = "What is slow, drained, to repair, and how it was: text, or one page." }

local WEEKS = 14 * 86400 -- how far back by default

local function parse_address(text)
   if mail.is_address(text) then
      return text
   end
   return nil, "expected a mail address, got " .. text
end

function command.setup(parser)
   parser:option("--html"):description "Write one page for a browser to this file (- : here)."
      :argname "<file>"
   parser:option("-s --since"):description(
      "What was done from then on: 7d, 12h, 2026-03-05 (two weeks)."):argname "<time>"
      :convert(when.since)
   parser:option("--mail"):description "Send it, with the page attached."
      :argname "<address>":count "*":convert(parse_address)
   parser:flag("--private"):description(
      "With running jobs that you may see, users, and texts typed into Slurm.")
end

local function is_bad_day(day)
   return day.slow + day.lossy + day.failed
end

-- All of it in a few lines.
local function summary_text(data)
   local n, first, last = gather.count(data), data.days[1], data.days[#data.days]
   local lines, hidden = tables.map(alarms.of(data.status), alarms.line), data.status.links_in_sets
      or 0
   local only_in_sets = data.status.unknown_in_sets or hidden
   lines[#lines + 1] = ("links       %d ok, %d suspect, %d slow, %d lossy, %d failed, "
      .. "%d never tested"):format(n.link.ok, n.link.suspect, n.link.slow, n.link.lossy,
      n.link.failed, n.link.unknown - only_in_sets)
   if hidden > 0 then
      lines[#lines + 1] = "sets        " .. report.sets(data.status.set_states, only_in_sets)
   end
   lines[#lines + 1] =
      ("nodes       %d, %d of them not well, %d drained by Taut"):format(#data.nodes, n.nodes,
      #data.status.drained)
   if first and first ~= last then
      lines[#lines + 1] = ("trend       %d slow, lossy or failed components on %s, %d today")
         :format(is_bad_day(first), os.date("%m-%d", first.from), is_bad_day(last))
   end
   return lines
end

local function print_text(data)
   print(table.concat(summary_text(data), "\n"))
   local rows = {}
   for i, c in ipairs(data.cases) do
      rows[i] = { c.component, report.state(c), c.action or "watch",
         report.ago(c.since, data.status.now) }
   end
   if #rows > 0 then
      print ""
      report.table({ "COMPONENT", "VERDICT", "ACTION", "SINCE" }, rows)
   end
   for i, v in ipairs(data.status.sets) do
      if i == 1 then
         print ""
      end
      report.wrap(v.text, "", "  ")
   end
   for i, r in ipairs(data.repairs) do
      if i == 1 then
         print "\nrepairs, the one that brings most first"
      end
      report.wrap(("%s: %s%.3g node-hours a day alone, %.3g with those before it; %s"):format(
         r.what, report.text_if(r.nodes > 0, report.count(r.nodes, "node") .. " back, "),
         r.alone_hours,
         r.together_hours, r.cable or "-"), "  ", "    ")
   end
   for i, v in ipairs(data.status.drained) do
      if i == 1 then
         print "\ndrained by Taut"
      end
      report.wrap(("%s: %s"):format(v.node, v.reason or "-"), "  ", "    ")
   end
end

local function add_jobs(data, request)
   local jobs, err = gather.jobs(request)
   if not jobs then
      return nil, err
   end
   data.jobs, data.hidden, data.lost = jobs.jobs, jobs.hidden, jobs.lost
   placement.add(data.topo, data.jobs)
   return true
end

-- For programs: the answers, without what only a picture needs.
local function print_json(data)
   print(json.encode({ at = data.at, since = data.since, private = data.private, cases = data.cases,
      days = json.array(data.days), repairs = json.array(data.repairs), actions = data.actions,
      drained = data.status.drained, held = data.status.held, jobs = data.jobs, lost = data.lost },
         2))
end

local function send_mail(data, to, text)
   local lines, drained = summary_text(data), #data.status.drained
   lines[#lines + 1] = "\nThe attached page has all of it; it needs nothing but a browser.\n"
   return mail.send { to = to, page = text, text = table.concat(lines, "\n"),
      subject = ("Taut: %s: %s not well, %s drained"):format(data.machine.title,
         report.count(data.cases_all, "component"), report.count(drained, "node")) }
end

-- The page, to where it is to go.
local function give_page(data, args)
   local text, ok, err = page.make(data), true, nil
   if args.html then
      ok, err = save.text(args.html, text)
   end
   if ok and args.html and args.html ~= "-" and not args.json then
      print(("%s: %s, %s"):format(args.html, report.count(#data.links, "link"),
         report.bytes(#text)))
   end
   if ok and #args.mail > 0 then
      ok, err = send_mail(data, args.mail, text)
   end
   return ok, err
end

function command.run(args)
   if args.html == "-" and sys.isatty(1) then
      report.complain "report: a page cannot be shown on a terminal: name a file, --html FILE"
      return 2
   end
   local o = { socket = args.socket, server = args.server, since = args.since or os.time() - WEEKS,
      private = args.private }
   local d, err = gather.all(o)
   local ok = d ~= nil
   if d and args.private then
      ok, err = add_jobs(d, o)
   end
   if ok and (args.html or #args.mail > 0) then
      ok, err = give_page(d, args)
   end
   if not ok then
      report.complain("report: ", err)
      return 1
   elseif args.json and args.html ~= "-" then
      print_json(d)
   elseif not args.html and #args.mail == 0 then
      print_text(d)
   end
   return 0
end

return command
