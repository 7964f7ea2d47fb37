-- SPDX-License-Identifier: GPL-2.0-or-later
local alarms = require "taut.report.alarms"
local ask = require "taut.base.ask"
local tables = require "taut.base.tables"
local report = require "taut.report"

local CLOCKS = 5 -- nodes by name

local status = { summary = "How Taut is doing: coverage, verdicts, drains, alerts." }

function status.setup() end

-- Which of several tautd acts.
local function print_acting(s)
   local a = s.acting
   if not a then
      return
   end
   local text
   if a.here then
      text = ("the tautd on %s, by lease %d; %s"):format(a.host, a.token, a.waiting and
         ("the one on %s stands by"):format(a.waiting) or "no other one stands by")
   elseif a.host then
      text = ("the tautd on %s, by lease %d; this one, on %s, stands by"):format(a.host, a.token,
         a.this)
   else
      text = "nobody, as far as is known on " .. a.this .. (a.error and ": " .. a.error or "") ..
         "; jobs start unchecked, nothing is drained or stored"
   end
   report.wrap(text, "acts        ", (" "):rep(12))
end

-- The same list stands first in `taut report`, on the page and in `taut check`.
local function print_alarms(s)
   for _, a in ipairs(alarms.of(s)) do
      report.wrap(a.text, ("%-11s "):format(a.word), (" "):rep(12))
   end
end

local function print_mode(s)
   local mode = s.mode == "enable" and "drain: nodes that depend on a slow component are drained"
      or "observe: nothing is drained (`taut policy drain` changes that)"
   print("mode        " .. mode)
   if s.standby then
      report.wrap(s.standby, "standing by ", (" "):rep(12))
   end
   if s.switch == "off" then
      print("checks      off (`taut on` starts them)")
   end
end

-- What a prolog takes, as tautd sees it: bounds of a histogram.
local function print_prologs(p)
   local parts = {}
   for _, kind in ipairs { { "nothing_due", "nothing due" }, { "tests", "with tests" } } do
      local v = p and p[kind[1]]
      parts[#parts + 1] = v and v.median_s and ("%d %s, half within %g ms"):format(v.count, kind[2],
         v.median_s * 1000) or nil
   end
   if #parts > 0 then
      report.wrap(table.concat(parts, "; "), "prologs     ", (" "):rep(12))
   end
end

local function print_checks(s)
   print(("jobs        %d started, %d of them heard from (%s)"):format(s.jobs_started, s.jobs_heard,
      report.count(s.hellos, "node prolog")))
   print_prologs(s.prologs)
   if s.away then
      print(("nodes       %d here, %d of `dynamic` away"):format(s.nodes, s.away))
   end
   if #s.silent > 0 then
      report.wrap(table.concat(s.silent, " ", 1, math.min(#s.silent, 16)) .. (#s.silent > 16 and
         (" and %d more"):format(#s.silent - 16) or "") .. " (a job runs, no prolog was heard)",
         "silent      ", (" "):rep(12))
   end
   local mute = tables.map(s.no_results or {}, function(r)
      return ("%s (%d plans)"):format(r.node, r.plans)
   end)
   if #mute > 0 then
      report.wrap(report.some(mute, 16) .. ": tests were planned there, and no RESULT came",
         "no results  ", (" "):rep(12))
   end
   print(("tests       %d good, %d low, %d discarded"):format(s.tests.good, s.tests.low,
      s.tests.void))
   local hidden, sets = s.links_in_sets or 0, s.set_states
   print(("coverage    %s of %d components%s in the last %g h"):format(report.percent(s.coverage),
      s.components - hidden, hidden > 0 and (" and %s of links"):format(report.count(sets.all,
      "set")) or "", s.coverage_h))
   for _, f in ipairs(s.fabrics or {}) do
      report.wrap(("%s: %s of %d on %s"):format(f.name, report.percent(f.coverage), f.components,
         report.count(f.nodes, "node")), (" "):rep(12), (" "):rep(14))
   end
   local n, only_in_sets = s.states, s.unknown_in_sets or hidden
   print(("components  %d ok, %d suspect, %d slow, %d lossy, %d failed, %d unknown"):format(n.ok,
      n.suspect, n.slow, n.lossy or 0, n.failed, n.unknown - only_in_sets))
   if hidden > 0 then
      print("sets        " .. report.sets(sets, only_in_sets))
   end
end

local function print_learned(s)
   for i, r in ipairs(s.learned or {}) do
      report.wrap(("%s: %s"):format(r.class, report.learned(r)), i == 1 and "learned     "
         or (" "):rep(12), (" "):rep(14))
   end
end

-- Of a server: what waits on disk, and what it refused.
local function print_server(s, say)
   local q = s.store.queued
   if not s.store.away and q and q.rows > 0 then
      say("database", ("is back; %s (%s) on disk, the oldest of %s"):format(
         report.count(q.rows, "row"), report.bytes(q.bytes), report.ago(q.since, s.now)))
   end
   if q and q.refused + q.left_out > 0 then
      say("refused", ("%s by the database, set aside in queue/refused.rows%s"):format(
         report.count(q.refused + q.left_out, "row"), q.left_out > 0 and
         (", %d found no room"):format(q.left_out) or ""))
   end
end

local function print_pruned(s, say)
   local cut = s.database.cut
   say("database", cut and ("was larger than keep_gb %s: details of before %s were dropped"):format(
      report.ago(cut.at, s.now), os.date("%F %R", math.floor(cut.before))))
   say("database", s.database.error and "was not looked through: " .. s.database.error)
end

-- Nodes that MUNGE refuses for their clocks, or nil.
local function refused_clocks(list)
   local texts = {}
   for i, r in ipairs(list) do
      texts[i] = ("%s (%d s %s)"):format(r.node, math.abs(r.behind_s),
         r.behind_s > 0 and "behind" or "ahead")
   end
   return texts[1] and "MUNGE refuses what these send, since their clocks are off: " ..
      report.some(texts, CLOCKS)
end

-- Who floods, and who names jobs that there are none of.
local function print_attackers(s, say)
   for _, f in ipairs(s.floods or {}) do
      say("flood", ("%s%s: %s refused since %s, the last %s: %s"):format(f.from,
         f.node and (" (%s)"):format(f.node) or "", report.count(f.count, "message"),
         report.ago(f.since, s.now), report.ago(f.time, s.now), f.why))
   end
   for _, e in ipairs(s.endpoints or {}) do
      say("endpoint", ("%s, %s"):format(e.why, report.ago(e.time, s.now)))
   end
   for _, c in ipairs(s.claims or {}) do
      say("invented", ("%s named %s that Slurm does not have there, the last %d, %s%s"):format(
         c.node, report.count(c.denied, "job"), c.last, report.ago(c.time, s.now),
         c.shared > 0 and ("; its word kept it out of %s"):format(report.count(c.shared, "check"))
         or ""))
   end
end

-- Where a port of root's is anybody's.
local function open_ports(s)
   local p = s.open_ports or { count = 0, names = {} }
   local rest = p.count - #p.names
   return p.count > 0 and ("users may call from ports below 1024 on %s%s: there a port tells " ..
      "nothing of root (sysctl net.ipv4.ip_unprivileged_port_start)"):format(
      table.concat(p.names, ", "), rest > 0 and (" and %d more"):format(rest) or "") or nil
end

local function print_troubles(s)
   local function say(what, text)
      if text then
         report.wrap(text, ("%-11s "):format(what), (" "):rep(12))
      end
   end
   say("clock", s.clock)
   say("clocks", refused_clocks(s.clocks_refused or {}))
   print_server(s, say)
   print_pruned(s, say)
   say("hint", s.hint)
   say("metrics", s.metrics_error)
   say("on_event", s.on_event.error and ("%s: %s"):format(s.on_event.program or "-",
      s.on_event.error))
   say("config", s.config_error and "not taken: " .. s.config_error)
   local refused = s.refused > 0 or s.refused_streams > 0
   say("refused", refused and ("%s, %s that no plan asked for"):format(
      report.count(s.refused, "message"), report.count(s.refused_streams, "stream")))
   print_attackers(s, say)
   say("ports", open_ports(s))
end

local function print_fabric(s)
   local f = s.fabric
   if f then
      print("fabric      " .. (f.error and "cannot be swept: " .. f.error or f.swept
         and ("swept %s, %d nodes, %d links%s"):format(report.ago(f.swept, s.now), f.nodes,
            f.links, f.incomplete and ", not complete: " .. f.incomplete or "")
         or "not swept yet"))
   end
end

local function print_logs(s)
   local l = s.logs
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
local function print_evidence(s)
   local rows = tables.map(s.evidence, function(e)
      return { e.component, report.percent(e.left), report.ago(e.since, s.now), e.text }
   end)
   if #rows > 0 then
      print ""
      report.table({ "COMPONENT", ">LEFT", "SINCE", "EVIDENCE" }, rows)
   end
   for i, g in ipairs(s.throttled) do
      if i == 1 then
         print ""
      end
      print(("%s: %d of %d nodes low, at best %s, and nothing speaks against its links: " ..
         "throttled?"):format(g.group, g.low, g.nodes, report.percent(g.best)))
   end
end

local function print_verdicts(s)
   if #s.verdicts > 0 then
      local rows = tables.map(s.verdicts, function(v)
         return { v.component, report.state(v), v.action or "watch", tostring(v.low),
            report.ago(v.since, s.now) }
      end)
      print ""
      report.table({ "COMPONENT", "VERDICT", "ACTION", ">LOW", "SINCE" }, rows)
      for _, v in ipairs(s.verdicts) do
         local why = s.measure_remarks[v.component]
         if v.known then
            report.wrap(("%s: %s"):format(v.component, report.known(v.known)), "  ")
         end
         if why then
            report.wrap(("%s: %s: %s"):format(v.component, v.action or "-", why), "  ")
         end
      end
   end
end

local function print_sets(s)
   for i, v in ipairs(s.sets) do
      if i == 1 then
         print ""
      end
      report.wrap(("%s (%s)"):format(v.text, report.ago(v.since, s.now)), "", "  ")
   end
end

local function print_nodes(s)
   local rows = tables.map(s.drained, function(v) return { v.node, "drained", v.reason } end)
   for _, v in ipairs(s.held) do
      rows[#rows + 1] = { v.node, "would drain", ("%s [%s]"):format(v.reason, v.why) }
   end
   if #rows > 0 then
      print ""
      report.table({ "NODE", "STATE", "REASON" }, rows)
   end
end

local function print_alerts(s)
   local first = math.max(1, #s.alerts - 4)
   for i = first, #s.alerts do
      if i == first then
         print "\nlast alerts"
      end
      report.wrap(s.alerts[i].text, ("  %-12s "):format(report.ago(s.alerts[i].time, s.now)),
         (" "):rep(15))
   end
end

--- Print what tautd answers.
function status.show(s)
   print_acting(s)
   if s.acting and s.acting.blank then
      return -- it knows nothing of its own
   end
   print_alarms(s)
   print_mode(s)
   print_checks(s)
   print_learned(s)
   print_fabric(s)
   print_logs(s)
   print_troubles(s)
   print_verdicts(s)
   print_sets(s)
   print_evidence(s)
   print_nodes(s)
   print_alerts(s)
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
