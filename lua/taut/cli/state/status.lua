-- SPDX-License-Identifier: GPL-2.0-or-later
local alarms = require "taut.report.alarms"
local ask = require "taut.base.ask"
local tables = require "taut.base.tables"
local report = require "taut.report"

local CLOCKS = 5 -- nodes by name

local status = { summary = "How Taut is doing: coverage, verdicts, drains, alerts." }

function status.setup() end

-- How many are not shown, after those that are.
local function more_than(count, shown)
   if count > shown then
      return (" and %d more"):format(count - shown)
   end
   return ""
end

-- Which of several tautd acts.
local function print_acting(answer)
   local a = answer.acting
   if not a then
      return
   end
   local text
   if a.here then
      local other = "no other is on standby"
      if a.waiting then
         other = ("the one on %s is on standby"):format(a.waiting)
      end
      text = ("the tautd on %s, lease %d; %s"):format(a.host, a.token, other)
   elseif a.host then
      text = ("the tautd on %s, lease %d; this one, on %s, is on standby"):format(a.host, a.token,
         a.this)
   else
      text = "none known on " .. a.this .. report.text_with(": ", a.error) ..
         "; jobs start unchecked, nothing is drained or stored"
   end
   report.wrap(text, "active      ", (" "):rep(12))
end

-- The same list stands first in `taut report`, on the page and in `taut check`.
local function print_alarms(answer)
   for _, a in ipairs(alarms.of(answer)) do
      report.wrap(a.text, ("%-11s "):format(a.word), (" "):rep(12))
   end
end

local function print_mode(answer)
   print("mode        " .. report.text_if(answer.mode == "enable",
      "drain: nodes that depend on a slow component are drained",
      "observe: nothing is drained (`taut policy drain` changes that)"))
   if answer.standby then
      report.wrap(answer.standby, "standing by ", (" "):rep(12))
   end
   if answer.switch == "off" then
      print("checks      off (`taut on` starts them)")
   end
end

-- What a prolog takes, as tautd sees it: bounds of a histogram.
local function print_prologs(prologs)
   local parts = {}
   for _, kind in ipairs { { "nothing_due", "nothing due" }, { "tests", "with tests" } } do
      local v = prologs and prologs[kind[1]]
      if v and v.median_s then
         parts[#parts + 1] = ("%d %s, half within %g ms"):format(v.count, kind[2],
            v.median_s * 1000)
      end
   end
   if #parts > 0 then
      report.wrap(table.concat(parts, "; "), "prologs     ", (" "):rep(12))
   end
end

local function print_checks(answer)
   print(("jobs        %d started, %d of them heard from (%s)"):format(answer.jobs_started,
      answer.jobs_heard, report.count(answer.hellos, "node prolog")))
   print_prologs(answer.prologs)
   if answer.away then
      print(("nodes       %d here, %d of `dynamic` away"):format(answer.nodes, answer.away))
   end
   if #answer.silent > 0 then
      report.wrap(table.concat(answer.silent, " ", 1, math.min(#answer.silent, 16)) ..
         more_than(#answer.silent, 16) .. " (a job runs, no prolog was heard)", "silent      ",
         (" "):rep(12))
   end
   local mute = tables.map(answer.no_results or {}, function(row)
      return ("%s (%d plans)"):format(row.node, row.plans)
   end)
   if #mute > 0 then
      report.wrap(report.some(mute, 16) .. ": tests were planned there, and no RESULT came",
         "no results  ", (" "):rep(12))
   end
   print(("tests       %d good, %d low, %d discarded"):format(answer.tests.good, answer.tests.low,
      answer.tests.void))
   local hidden, sets = answer.links_in_sets or 0, answer.set_states
   local of_sets = ""
   if hidden > 0 then
      of_sets = (" and %s of links"):format(report.count(sets.all, "set"))
   end
   print(("coverage    %s of %d components%s in the last %g h"):format(
      report.percent(answer.coverage), answer.components - hidden, of_sets, answer.coverage_h))
   for _, f in ipairs(answer.fabrics or {}) do
      report.wrap(("%s: %s of %d on %s"):format(f.name, report.percent(f.coverage), f.components,
         report.count(f.nodes, "node")), (" "):rep(12), (" "):rep(14))
   end
   local n, only_in_sets = answer.states, answer.unknown_in_sets or hidden
   print(("components  %d ok, %d suspect, %d slow, %d lossy, %d failed, %d unknown"):format(n.ok,
      n.suspect, n.slow, n.lossy or 0, n.failed, n.unknown - only_in_sets))
   if hidden > 0 then
      print("sets        " .. report.sets(sets, only_in_sets))
   end
end

local function print_learned(answer)
   for i, r in ipairs(answer.learned or {}) do
      report.wrap(("%s: %s"):format(r.class, report.learned(r)),
         ("%-12s"):format(report.text_if(i == 1, "learned")), (" "):rep(14))
   end
end

-- Of a server: what waits on disk, and what it refused.
local function print_server(answer, say)
   local q = answer.store.queued
   if not answer.store.away and q and q.rows > 0 then
      say("database", ("is back; %s (%s) on disk, the oldest of %s"):format(
         report.count(q.rows, "row"), report.bytes(q.bytes), report.ago(q.since, answer.now)))
   end
   if q and q.refused + q.left_out > 0 then
      local text = ("%s by the database, set aside in queue/refused.rows"):format(
         report.count(q.refused + q.left_out, "row"))
      if q.left_out > 0 then
         text = ("%s, %d found no room"):format(text, q.left_out)
      end
      say("refused", text)
   end
end

local function print_pruned(answer, say)
   local cut = answer.database.cut
   say("database", cut and ("was larger than keep_gb %s: details of before %s were dropped"):format(
      report.ago(cut.at, answer.now), os.date("%F %R", math.floor(cut.before))))
   say("database", answer.database.error and "was not checked: " .. answer.database.error)
end

-- Nodes that MUNGE refuses for their clocks, or nil.
local function refused_clocks(list)
   local texts = {}
   for i, r in ipairs(list) do
      texts[i] = ("%s (%d s %s)"):format(r.node, math.abs(r.behind_s),
         report.text_if(r.behind_s > 0, "behind", "ahead"))
   end
   return texts[1] and "MUNGE refuses messages of these nodes, because their clocks differ: " ..
      report.some(texts, CLOCKS)
end

-- Senders of floods, and of jobs that do not exist.
local function print_attackers(answer, say)
   for _, f in ipairs(answer.floods or {}) do
      say("flood", ("%s%s: %s refused since %s, the last %s: %s"):format(f.from,
         report.text_with(" (", f.node, ")"), report.count(f.count, "message"),
         report.ago(f.since, answer.now), report.ago(f.time, answer.now), f.why))
   end
   for _, e in ipairs(answer.endpoints or {}) do
      say("endpoint", ("%s, %s"):format(e.why, report.ago(e.time, answer.now)))
   end
   for _, c in ipairs(answer.claims or {}) do
      say("invented", ("%s named %s that Slurm does not have there, the last %d, %s%s"):format(
         c.node, report.count(c.denied, "job"), c.last, report.ago(c.time, answer.now),
         report.text_if(c.shared > 0,
         "; its word kept it out of " .. report.count(c.shared, "check"))))
   end
end

-- Where a port of root's is anybody's.
local function say_open_ports(answer)
   local p = answer.open_ports or { count = 0, names = {} }
   if p.count <= 0 then
      return nil
   end
   return ("users may call from ports below 1024 on %s%s: there a port tells " ..
      "nothing of root (sysctl net.ipv4.ip_unprivileged_port_start)"):format(
      table.concat(p.names, ", "), more_than(p.count, #p.names))
end

local function print_troubles(answer)
   local function print_trouble(what, text)
      if text then
         report.wrap(text, ("%-11s "):format(what), (" "):rep(12))
      end
   end
   print_trouble("clock", answer.clock)
   print_trouble("clocks", refused_clocks(answer.clocks_refused or {}))
   print_server(answer, print_trouble)
   print_pruned(answer, print_trouble)
   print_trouble("hint", answer.hint)
   print_trouble("metrics", answer.metrics_error)
   print_trouble("on_event", answer.on_event.error and ("%s: %s"):format(answer.on_event.program
      or "-", answer.on_event.error))
   print_trouble("config", answer.config_error and "not taken: " .. answer.config_error)
   local refused = answer.refused > 0 or answer.refused_streams > 0
   print_trouble("refused", refused and ("%s, %s that no plan asked for"):format(
      report.count(answer.refused, "message"), report.count(answer.refused_streams, "stream")))
   print_attackers(answer, print_trouble)
   print_trouble("ports", say_open_ports(answer))
end

local function print_fabric(answer)
   local f, text = answer.fabric, "not swept yet"
   if not f then
      return
   elseif f.error then
      text = "cannot be swept: " .. f.error
   elseif f.swept then
      text = ("swept %s, %d nodes, %d links%s"):format(report.ago(f.swept, answer.now), f.nodes,
         f.links, report.text_with(", not complete: ", f.incomplete))
   end
   print("fabric      " .. text)
end

local function print_logs(answer)
   local l = answer.logs
   if l then
      local wrong = l.wrong > 0 and (", %s not understood"):format(report.count(l.wrong, "line"))
      local text = l.error and "cannot be read: " .. l.error
      print("logs        " .. (text or report.count(l.logs, "log") .. " followed" .. (wrong or "")))
      for _, f in ipairs(l.failing) do
         print(("            %s: %s"):format(f.path, f.why))
      end
   end
end

-- Lanes, widths and speeds below what they should be, and what is slow as a whole without any.
local function print_evidence(answer)
   local rows = tables.map(answer.evidence, function(row)
      return { row.component, report.percent(row.left), report.ago(row.since, answer.now),
         row.text }
   end)
   if #rows > 0 then
      print ""
      report.table({ "COMPONENT", ">LEFT", "SINCE", "EVIDENCE" }, rows)
   end
   for i, g in ipairs(answer.throttled) do
      if i == 1 then
         print ""
      end
      print(("%s: %d of %d nodes low, at best %s, and nothing speaks against its links: " ..
         "throttled?"):format(g.group, g.low, g.nodes, report.percent(g.best)))
   end
end

local function print_verdicts(answer)
   if #answer.verdicts > 0 then
      local rows = tables.map(answer.verdicts, function(row)
         return { row.component, report.state(row), row.action or "watch", tostring(row.low),
            report.ago(row.since, answer.now) }
      end)
      print ""
      report.table({ "COMPONENT", "VERDICT", "ACTION", ">LOW", "SINCE" }, rows)
      for _, v in ipairs(answer.verdicts) do
         local why = answer.measure_remarks[v.component]
         if v.known then
            report.wrap(("%s: %s"):format(v.component, report.known(v.known)), "  ")
         end
         if why then
            report.wrap(("%s: %s: %s"):format(v.component, v.action or "-", why), "  ")
         end
      end
   end
end

local function print_sets(answer)
   for i, v in ipairs(answer.sets) do
      if i == 1 then
         print ""
      end
      report.wrap(("%s (%s)"):format(v.text, report.ago(v.since, answer.now)), "", "  ")
   end
end

local function print_nodes(answer)
   local rows = tables.map(answer.drained, function(row)
      return { row.node, "drained", row.reason }
   end)
   for _, v in ipairs(answer.held) do
      rows[#rows + 1] = { v.node, "would drain", ("%s [%s]"):format(v.reason, v.why) }
   end
   if #rows > 0 then
      print ""
      report.table({ "NODE", "STATE", "REASON" }, rows)
   end
end

local function print_alerts(answer)
   local first = math.max(1, #answer.alerts - 4)
   for i = first, #answer.alerts do
      if i == first then
         print "\nlast alerts"
      end
      report.wrap(answer.alerts[i].text, ("  %-12s "):format(report.ago(answer.alerts[i].time,
         answer.now)), (" "):rep(15))
   end
end

--- Print what tautd answers.
function status.show(answer)
   print_acting(answer)
   if answer.acting and answer.acting.blank then
      return -- it knows nothing of its own
   end
   print_alarms(answer)
   print_mode(answer)
   print_checks(answer)
   print_learned(answer)
   print_fabric(answer)
   print_logs(answer)
   print_troubles(answer)
   print_verdicts(answer)
   print_sets(answer)
   print_evidence(answer)
   print_nodes(answer)
   print_alerts(answer)
end

function status.run(args)
   local s, code = ask.tautd(args, "status")
   if not s then
      return code
   end
   status.show(s)
   return 0
end

return status
