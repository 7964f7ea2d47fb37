-- SPDX-License-Identifier: GPL-2.0-or-later
--- The parts of a page that are text: tables of what is not well, of nodes, repairs, days, actions
-- and jobs.  They say all that the picture says, for who cannot see it, or prints.
local alarms = require "taut.report.alarms"
local chart = require "taut.report.page.chart"
local html = require "taut.report.page.html"
local report = require "taut.report"
local tables = require "taut.base.tables"
local verdicts = require "taut.report.verdicts"

local sections = {}

local NODES = 500 -- rows of nodes that are not well, jobs

local function format_time(time)
   return time and os.date("%Y-%m-%d %H:%M", math.floor(time)) or "-"
end

--- A part of the page with its heading.
function sections.section(id, title, content)
   return ('<section id="%s" aria-labelledby="%s-title"><h2 id="%s-title">%s</h2>\n%s</section>\n')
      :format(id, id, id, html.text(title), content)
end

local section = sections.section

local function paragraph(text)
   return html.tag("p", nil, text)
end

---------------------------------------------------------------- the first lines

local function summary_tile(value, name, class)
   return ('<div class="tile %s"><dt>%s</dt><dd>%s</dd></div>'):format(class or "", html.text(name),
      html.text(value))
end

--- What keeps Taut from acting: before all else.
function sections.alarms(data)
   local items = tables.map(alarms.of(data.status), function(alarm)
      return html.tag("li", nil, alarms.line(alarm))
   end)
   return #items == 0 and "" or section("alarms", "Alarms", "<ul>" .. table.concat(items) ..
      "</ul>")
end

-- Sets of links, where links cannot be told apart.
local function set_tiles(counts, hidden)
   return { summary_tile(counts.all, "sets of links"), summary_tile(counts.ok, "sets well", "ok"),
      summary_tile(counts.slow + counts.failed, "sets with a slow link",
      counts.slow + counts.failed > 0 and "slow"), summary_tile(counts.unknown,
      "sets never tested"), summary_tile(hidden, "links tested in sets only") }
end

local function is_well(component)
   return component.state == "ok" or component.state == "unknown"
end

-- Nodes by their tx and rx, and those that are drained, by whomever.
local function node_tiles(data)
   local bad, suspect, drained = 0, 0, 0
   for _, v in ipairs(data.nodes) do
      local is_bad = verdicts.is_verdict(v.tx.state) or verdicts.is_verdict(v.rx.state)
      bad = bad + (is_bad and 1 or 0)
      suspect = suspect + (not is_bad and not (is_well(v.tx) and is_well(v.rx)) and 1 or 0)
      drained = drained + (v.drain and 1 or 0)
   end
   return { summary_tile(#data.nodes, "nodes"),
      summary_tile(bad, "nodes slow, lossy or failed", bad > 0 and "slow"),
      summary_tile(suspect, "nodes suspect", suspect > 0 and "suspect"),
      summary_tile(#data.status.drained, "nodes drained by Taut", #data.status.drained > 0
      and "slow"), summary_tile(drained - #data.status.drained, "nodes drained by others") }
end

local function link_tiles(data, hidden)
   local n = { ok = 0, suspect = 0, slow = 0, lossy = 0, failed = 0, unknown = 0 }
   for _, l in ipairs(data.links) do
      n[l.state] = n[l.state] + 1
   end
   if hidden == #data.links then
      return {} -- each is told as one of a set
   end
   return { summary_tile(#data.links, "links"), summary_tile(n.ok, "links well", "ok"),
      summary_tile(n.suspect, "links suspect", n.suspect > 0 and "suspect"),
      summary_tile(n.slow, "links slow", n.slow > 0 and "slow"),
      summary_tile(n.lossy, "links lossy", n.lossy > 0 and "lossy"),
      summary_tile(n.failed, "links failed", n.failed > 0 and "failed"),
      summary_tile(n.unknown - hidden, "links never tested") }
end

--- What matters, in numbers.
function sections.summary(data)
   local hidden = data.status.links_in_sets or 0
   local only_in_sets = data.status.unknown_in_sets or hidden
   local tiles = link_tiles(data, only_in_sets)
   for _, more in ipairs { hidden > 0 and set_tiles(data.status.set_states, only_in_sets) or {},
      node_tiles(data), { summary_tile(report.percent(data.status.coverage),
      ("tested in the last %g h"):format(
      data.status.coverage_h)) } } do
      table.move(more, 1, #more, #tiles + 1, tiles)
   end
   local mode = data.status.mode == "enable"
      and "Taut drains nodes that depend on a slow component."
      or "Taut observes; it drains nothing."
   if data.status.switch == "off" then
      mode = mode .. " Checks are off."
   end
   return '<section id="summary" aria-label="Summary"><dl class="tiles">' ..
      table.concat(tiles, "\n") .. "</dl>" .. paragraph(mode) ..
      (data.note and paragraph("The picture has no verdicts: " .. data.note) or "") ..
      "</section>\n"
end

---------------------------------------------------------------- what to do first

local REPAIRS_FIRST = 3

-- A sentence that begins with something to show in the picture.
local function list_item(shown, text)
   return html.tag("li", nil, html.raw(shown.html .. html.text(text)))
end

--- What to do, the first thing first.
function sections.first(data)
   local items = {}
   for i = 1, math.min(REPAIRS_FIRST, #data.repairs) do
      local r = data.repairs[i]
      items[i] = list_item(html.show(r.is_link and "link" or "node", r.what),
         (": repair %s, of which %s is left; %s."):format(r.cable or "it", report.percent(r.left),
         r.nodes > 0 and report.count(r.nodes, "node") .. " comes back"
         or "jobs are placed elsewhere meanwhile"))
   end
   for _, v in ipairs(data.status.sets) do
      items[#items + 1] = html.tag("li", nil, v.text .. ". `taut repair SWITCH` names its " ..
         "cables; " .. (v.adaptive and "where a sweep's counters speak against one of them, "
         or "with `addresses` in taut.lua ") .. "Taut finds the one.")
   end
   if #data.status.held > 0 then
      items[#items + 1] = html.tag("li", nil, ("%s would be drained, and something holds that " ..
         "back: see Nodes."):format(report.count(#data.status.held, "node")))
   end
   local suspects = data.status.states and data.status.states.suspect or 0
   local rest = suspects > 0 and paragraph(("%s: nothing to do, Taut tests them first."):format(
      report.count(suspects, "suspect"))) or ""
   return section("first", "What to do first", (#items > 0 and "<ol>" .. table.concat(items) ..
      "</ol>" or paragraph(#alarms.of(data.status) > 0 and "See to the alarms."
      or "Nothing is to repair.")) .. rest)
end

---------------------------------------------------------------- verdicts

local function evidence_cell(case)
   local items = {}
   for _, e in ipairs(case.evidence or {}) do
      items[#items + 1] = html.tag("li", nil, ("%s left of it: %s"):format(report.percent(e.left),
         e.text))
   end
   for _, r in ipairs(case.reasoning or {}) do
      items[#items + 1] = html.tag("li", nil, r.text)
   end
   if #items == 0 then
      return html.raw "-"
   end
   return html.raw(html.details(report.count(#items, "finding"),
      "<ul>" .. table.concat(items) .. "</ul>"))
end

local function action_cell(case)
   return case.action_why and ("%s: %s"):format(case.action or "-", case.action_why) or case.action
      or "watch"
end

--- Links, tx and rx that are not well, with what speaks against them.
function sections.verdicts(data)
   local rows = tables.map(data.cases, function(case)
      return { id = "case-" .. case.component, html.show(case.is_link and "link" or "node",
         case.is_link and case.component
         or (case.component:gsub("/[tr]x[%d]*$", "")), case.component),
         html.verdict(case.state, report.state(case)), format_time(case.since),
         ("%d of %d"):format(case.low or 0, case.low_of or case.tests or 0), action_cell(case),
         evidence_cell(case), case.cable or "-" }
   end)
   local sets = tables.map(data.status.sets, function(set) return html.tag("li", nil, set.text) end)
   local content = #rows == 0 and (#sets > 0
      and paragraph "Of these sets one link is slow; every other component tested is well."
      or paragraph "Every component that was tested is well.") or html.table(
         "Components that are not well, worst first", { "Component", "Verdict", "Since",
         ">Low tests",  "Action", "Evidence", "Cable" }, rows)
   if (data.cases_all or 0) > #data.cases then
      content = content .. paragraph(("%d more are not listed."):format(data.cases_all
         - #data.cases))
   end
   if #sets > 0 then
      content = content .. "<ul>" .. table.concat(sets) .. "</ul>"
   end
   return section("verdicts", "What is not well", content)
end

---------------------------------------------------------------- nodes

local function node_rows(data)
   local held, rows, more = {}, {}, 0
   for _, v in ipairs(data.status.held) do
      held[v.node] = v
   end
   for _, n in ipairs(data.nodes) do
      local h = held[n.node]
      if n.drain or h or not is_well(n.tx) or not is_well(n.rx) then
         local why = n.drain and n.reason or h and ("would be drained: %s [%s]"):format(h.reason,
            h.why) or "-"
         local row = { html.show("node", n.node), html.verdict(n.tx.state, report.state(n.tx)),
            html.verdict(n.rx.state, report.state(n.rx)),
            (n.slurm or "?") .. (n.drain and ", drained" or ""), why }
         more = more + (#rows >= NODES and 1 or 0)
         rows[#rows + 1] = #rows < NODES and row or nil
      end
   end
   return rows, more
end

--- Nodes that are drained, would be, or are not well.
function sections.nodes(data)
   local rows, more = node_rows(data)
   local content = #rows == 0 and paragraph "No node is drained, and each that was tested is well."
      or html.table("Nodes that are drained or not well", { "Node", "tx", "rx", "Slurm", "Why" },
         rows)
   return section("nodes", "Nodes", content .. (more > 0 and paragraph(
      ("%d more are not listed; the search finds each."):format(more)) or ""))
end

--- What was done and why, the latest first.
function sections.actions(data)
   local rows = tables.map(data.actions, function(action)
      local text = action.reason or action.component or "-"
      if action.result and action.result ~= "done" and action.result ~= "seen" then
         text = ("%s [%s]"):format(text, action.result)
      end
      local is_node = action.node and action.node ~= ""
      return { format_time(action.time), report.word(action.action),
         is_node and html.show("node", action.node) or "-", text, data.private
         and (action.who or "-") or nil }
   end)
   local heads = { "Time", "What", "Node", "Why" }
   heads[5] = data.private and "Who" or nil
   return section("actions", "What was done and why", #rows == 0
      and paragraph "Nothing was drained or resumed in this time."
      or html.table("Actions, the latest first", heads, rows))
end

---------------------------------------------------------------- repairs

--- What to repair first.
function sections.repairs(data)
   local rows = tables.map(data.repairs, function(repair, number)
      return { tostring(number), html.show(repair.is_link and "link" or "node", repair.what),
         report.percent(repair.left), tostring(repair.nodes),
         repair.gain and ("%.2g%%"):format(repair.gain * 100) or "-",
         ("%.3g"):format(repair.alone_hours), ("%.3g"):format(repair.together_hours), repair.cable
         or "-" }
   end)
   if #rows == 0 then
      return section("repairs", "Repairs, by what they bring", paragraph "Nothing is to repair.")
   end
   return section("repairs", "Repairs, by what they bring", html.table(
      "Repairs, the one that brings most first", { ">Order", "What", ">Left", ">Nodes back",
         ">Traffic faster", ">Node-hours a day alone", ">With those before it", "Cable" }, rows)
      .. paragraph(
      "Node-hours a day: of the nodes that come back, of what slow nodes that run jobs get " ..
      "back, and of the time that messages spend less on links where every node exchanges with " ..
      "another one, drawn at random, and does nothing else. `taut study repair` says it for " ..
      "your jobs.") .. (data.repairs_note
      and paragraph("Traffic: " .. data.repairs_note) or ""))
end

---------------------------------------------------------------- days

local function values_of(days, fn)
   return tables.map(days, fn)
end

local function day_table(days)
   local rows = {}
   for i = #days, 1, -1 do
      local v = days[i]
      rows[#rows + 1] = { os.date("%Y-%m-%d", v.from), tostring(v.failed), tostring(v.lossy),
         tostring(v.slow), tostring(v.suspect), tostring(v.drains), tostring(v.resumes),
         tostring(v.checks), tostring(v.tests.good), tostring(v.tests.low), tostring(v.tests.void) }
   end
   return html.table("Each day, the latest first", { "Day", ">Failed", ">Lossy", ">Slow",
      ">Suspect", ">Drained", ">Resumed", ">Checks",
      ">Tests good", ">Tests low", ">Tests discarded" }, rows)
end

--- How it was in the last weeks.
function sections.trend(data)
   local days = data.days
   if #days == 0 then
      return section("trend", "The last weeks", paragraph "Nothing is stored.")
   end
   local labels = values_of(days, function(day) return os.date("%m-%d", day.from) end)
   local function series_of(name, class, fn)
      return { name = name, class = class, values = values_of(days, fn) }
   end
   return section("trend", "The last weeks", '<div class="charts">' .. chart.bars {
      title = "Components not well, at the end of each day", days = labels, series = {
         series_of("failed", "failed", function(day) return day.failed end),
         series_of("lossy", "lossy", function(day) return day.lossy end),
         series_of("slow", "slow", function(day) return day.slow end),
         series_of("suspect", "suspect", function(day) return day.suspect end) } } .. chart.bars {
      title = "Nodes drained and resumed", days = labels, series = {
         series_of("drained", "slow", function(day) return day.drains end),
         series_of("resumed", "ok", function(day) return day.resumes end) } } .. chart.bars {
      title = "Tests", days = labels, series = {
         series_of("good", "ok", function(day) return day.tests.good end),
         series_of("low", "slow", function(day) return day.tests.low end),
         series_of("discarded", "unknown", function(day) return day.tests.void end) } } ..
      "</div>" .. html.details("The numbers of each day", day_table(days)))
end

---------------------------------------------------------------- jobs

local function format_duration(seconds)
   return ("%d:%02d h"):format(seconds // 3600, seconds % 3600 // 60)
end

--- Where running jobs are; nothing where jobs are not shown.
function sections.jobs(data)
   if not data.jobs then
      return ""
   end
   local rows = {}
   for i, j in ipairs(data.jobs) do
      rows[i] = i <= NODES and { html.show("job", tostring(j.id)), j.user or "-", j.name or "-",
         j.partition or "-", tostring(j.count or #j.members), tostring(j.routers),
         ("%.1f"):format(j.hops_mean), tostring(j.hops_most),
         j.start and j.start > 0 and format_duration(math.max(0, math.floor(data.at - j.start)))
         or "-" } or nil
   end
   local content = #rows == 0 and paragraph "No job runs." or html.table("Running jobs",
      { "Job", "User", "Name", "Partition", ">Nodes", ">Routers", ">Links apart", ">At most",
         ">Runs" }, rows)
   if #data.jobs > #rows then
      content = content .. paragraph(("%d more are not listed."):format(#data.jobs - #rows))
   end
   return section("jobs", "Where running jobs are", content .. (data.hidden > 0 and paragraph(
      ("%d more are hidden from you by Slurm's PrivateData."):format(data.hidden)) or ""))
end

return sections
