-- SPDX-License-Identifier: GPL-2.0-or-later
--- The parts of a page that are text: tables of components that are not good, of nodes, repairs,
-- days, actions and jobs.  They say all that the picture says, for who cannot see it, or prints.
local alarms = require "taut.report.alarms"
local chart = require "taut.report.page.chart"
local html = require "taut.report.page.html"
local report = require "taut.report"
local tables = require "taut.base.tables"
local verdicts = require "taut.report.verdicts"

local sections = {}

local NODES = 500 -- rows of nodes that are not well, jobs

local function format_time(time)
   if time then
      return os.date("%Y-%m-%d %H:%M", math.floor(time))
   end
   return "-"
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

-- A paragraph with a number in it; nothing where that is 0.
local function paragraph_of_count(count, form)
   if count > 0 then
      return paragraph(form:format(count))
   end
   return ""
end

-- A paragraph about something; nothing where there is none.
local function paragraph_with(before, text)
   if text then
      return paragraph(before .. text)
   end
   return ""
end

-- A table; where it would have no rows, a paragraph that says so.
local function table_or_paragraph(rows, text, caption, heads)
   if #rows == 0 then
      return paragraph(text)
   end
   return html.table(caption, heads, rows)
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
   if #items == 0 then
      return ""
   end
   return section("alarms", "Alarms", "<ul>" .. table.concat(items) .. "</ul>")
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

local function has_verdict(node)
   return verdicts.is_verdict(node.tx.state) or verdicts.is_verdict(node.rx.state)
end

local function is_suspect(node)
   return not has_verdict(node) and not (is_well(node.tx) and is_well(node.rx))
end

-- Nodes by their tx and rx, and those that are drained, by whomever.
local function node_tiles(data)
   local bad, suspect = tables.count(data.nodes, has_verdict), tables.count(data.nodes, is_suspect)
   local drained = tables.count(data.nodes, function(node) return node.drain end)
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
      return {} -- each is shown as one of a set
   end
   return { summary_tile(#data.links, "links"), summary_tile(n.ok, "links well", "ok"),
      summary_tile(n.suspect, "links suspect", n.suspect > 0 and "suspect"),
      summary_tile(n.slow, "links slow", n.slow > 0 and "slow"),
      summary_tile(n.lossy, "links lossy", n.lossy > 0 and "lossy"),
      summary_tile(n.failed, "links failed", n.failed > 0 and "failed"),
      summary_tile(n.unknown - hidden, "links never tested") }
end

local function summary_tiles(data)
   local hidden = data.status.links_in_sets or 0
   local only_in_sets = data.status.unknown_in_sets or hidden
   local tiles = link_tiles(data, only_in_sets)
   local function append(more)
      table.move(more, 1, #more, #tiles + 1, tiles)
   end
   if hidden > 0 then
      append(set_tiles(data.status.set_states, only_in_sets))
   end
   append(node_tiles(data))
   append { summary_tile(report.percent(data.status.coverage),
      ("tested in the last %g h"):format(data.status.coverage_h)) }
   return tiles
end

--- What matters, in numbers.
function sections.summary(data)
   local mode = "Taut observes; it drains nothing."
   if data.status.mode == "enable" then
      mode = "Taut drains nodes that depend on a slow component."
   end
   if data.status.switch == "off" then
      mode = mode .. " Checks are off."
   end
   return '<section id="summary" aria-label="Summary"><dl class="tiles">' ..
      table.concat(summary_tiles(data), "\n") .. "</dl>" .. paragraph(mode) ..
      paragraph_with("The picture has no verdicts: ", data.note) .. "</section>\n"
end

---------------------------------------------------------------- what to do first

local REPAIRS_FIRST = 3

-- A sentence that begins with something to show in the picture.
local function list_item(shown, text)
   return html.tag("li", nil, html.raw(shown.html .. html.text(text)))
end

-- What is repaired is shown as what it is in the picture.
local function show_repair(repair)
   return html.show(report.text_if(repair.is_link, "link", "node"), repair.what)
end

local function repair_item(repair)
   local gain = "jobs are placed elsewhere meanwhile"
   if repair.nodes > 0 then
      gain = report.count(repair.nodes, "node") .. " comes back"
   end
   return list_item(show_repair(repair), (": repair %s, of which %s is left; %s."):format(
      repair.cable or "it", report.percent(repair.left), gain))
end

--- What to do, the first thing first.
function sections.first(data)
   local items = {}
   for i = 1, math.min(REPAIRS_FIRST, #data.repairs) do
      items[i] = repair_item(data.repairs[i])
   end
   for _, v in ipairs(data.status.sets) do
      items[#items + 1] = html.tag("li", nil, v.text .. ". `taut repair SWITCH` names its " ..
         "cables; " .. report.text_if(v.adaptive,
         "where a sweep's counters speak against one of them, ", "with `addresses` in taut.lua ") ..
         "Taut finds the one.")
   end
   if #data.status.held > 0 then
      items[#items + 1] = html.tag("li", nil, ("%s would be drained, and something holds that " ..
         "back: see Nodes."):format(report.count(#data.status.held, "node")))
   end
   local content = "<ol>" .. table.concat(items) .. "</ol>"
   if #items == 0 then
      content = paragraph(report.text_if(#alarms.of(data.status) > 0, "See to the alarms.",
         "Nothing is to repair."))
   end
   local suspects = tables.or_empty(data.status.states).suspect or 0
   if suspects > 0 then
      content = content .. paragraph(("%s: nothing to do, Taut tests them first."):format(
         report.count(suspects, "suspect")))
   end
   return section("first", "What to do first", content)
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
   if case.action_why then
      return ("%s: %s"):format(case.action or "-", case.action_why)
   end
   return case.action or "watch"
end

--- Links, tx and rx that are not well, with what speaks against them.
function sections.verdicts(data)
   local rows = tables.map(data.cases, function(case)
      return { id = "case-" .. case.component, html.show_component(case.component, case.is_link),
         html.verdict(case.state, report.state(case)), format_time(case.since),
         ("%d of %d"):format(case.low or 0, case.low_of or case.tests or 0), action_cell(case),
         evidence_cell(case), case.cable or "-" }
   end)
   local sets = tables.map(data.status.sets, function(set) return html.tag("li", nil, set.text) end)
   local none = report.text_if(#sets > 0,
      "Of these sets one link is slow; every other component tested is well.",
      "Every component that was tested is well.")
   local content = table_or_paragraph(rows, none, "Components that are not well, worst first",
      { "Component", "Verdict", "Since", ">Low tests",  "Action", "Evidence", "Cable" })
      .. paragraph_of_count((data.cases_all or 0) - #data.cases, "%d more are not listed.")
   if #sets > 0 then
      content = content .. "<ul>" .. table.concat(sets) .. "</ul>"
   end
   return section("verdicts", "What is not well", content)
end

---------------------------------------------------------------- nodes

-- Why a node is drained, or would be.
local function why_drained(node, held)
   if node.drain and node.reason then
      return node.reason
   elseif held then
      return ("would be drained: %s [%s]"):format(held.reason, held.why)
   end
   return "-"
end

local function node_rows(data)
   local held, rows, more = {}, {}, 0
   for _, v in ipairs(data.status.held) do
      held[v.node] = v
   end
   for _, n in ipairs(data.nodes) do
      local h = held[n.node]
      local is_listed = n.drain or h or not is_well(n.tx) or not is_well(n.rx)
      if is_listed and #rows < NODES then
         rows[#rows + 1] = { html.show("node", n.node),
            html.verdict(n.tx.state, report.state(n.tx)),
            html.verdict(n.rx.state, report.state(n.rx)),
            (n.slurm or "?") .. report.text_if(n.drain, ", drained"), why_drained(n, h) }
      elseif is_listed then
         more = more + 1
      end
   end
   return rows, more
end

--- Nodes that are drained, would be, or are not well.
function sections.nodes(data)
   local rows, more = node_rows(data)
   return section("nodes", "Nodes", table_or_paragraph(rows,
      "No node is drained, and each that was tested is well.",
      "Nodes that are drained or not well", { "Node", "tx", "rx", "Slurm", "Why" })
      .. paragraph_of_count(more, "%d more are not listed; the search finds each."))
end

local function action_row(action, is_private)
   local text, node, who = action.reason or action.component or "-", "-", nil
   if action.result and action.result ~= "done" and action.result ~= "seen" then
      text = ("%s [%s]"):format(text, action.result)
   end
   if action.node and action.node ~= "" then
      node = html.show("node", action.node)
   end
   if is_private then
      who = action.who or "-"
   end
   return { format_time(action.time), report.word(action.action), node, text, who }
end

--- What was done and why, the latest first.
function sections.actions(data)
   local rows = tables.map(data.actions, function(action)
      return action_row(action, data.private)
   end)
   local heads = { "Time", "What", "Node", "Why" }
   if data.private then
      heads[5] = "Who"
   end
   return section("actions", "What was done and why", table_or_paragraph(rows,
      "Nothing was drained or resumed in this time.", "Actions, the latest first", heads))
end

---------------------------------------------------------------- repairs

--- What to repair first.
function sections.repairs(data)
   local rows = tables.map(data.repairs, function(repair, number)
      local gain = "-"
      if repair.gain then
         gain = ("%.2g%%"):format(repair.gain * 100)
      end
      return { tostring(number), show_repair(repair), report.percent(repair.left),
         tostring(repair.nodes), gain, ("%.3g"):format(repair.alone_hours),
         ("%.3g"):format(repair.together_hours), repair.cable or "-" }
   end)
   if #rows == 0 then
      return section("repairs", "Repairs, by benefit", paragraph "Nothing is to repair.")
   end
   return section("repairs", "Repairs, by benefit", html.table(
      "Repairs, the one that brings most first", { ">Order", "What", ">Left", ">Nodes back",
         ">Traffic faster", ">Node-hours a day alone", ">With those before it", "Cable" }, rows)
      .. paragraph(
      "Node-hours a day: of the nodes that come back, of what slow nodes that run jobs get " ..
      "back, and of the time that messages spend less on links where every node exchanges with " ..
      "another one, drawn at random, and does nothing else. `taut study repair` says it for " ..
      "your jobs.") .. paragraph_with("Traffic: ", data.repairs_note))
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

local function job_row(job, now)
   local runs = "-"
   if job.start and job.start > 0 then
      runs = format_duration(math.max(0, math.floor(now - job.start)))
   end
   return { html.show("job", tostring(job.id)), job.user or "-", job.name or "-",
      job.partition or "-", tostring(job.count or #job.members), tostring(job.routers),
      ("%.1f"):format(job.hops_mean), tostring(job.hops_most), runs }
end

--- Where running jobs are; nothing where jobs are not shown.
function sections.jobs(data)
   if not data.jobs then
      return ""
   end
   local rows = {}
   for i = 1, math.min(#data.jobs, NODES) do
      rows[i] = job_row(data.jobs[i], data.at)
   end
   return section("jobs", "Where running jobs are", table_or_paragraph(rows, "No job runs.",
      "Running jobs", { "Job", "User", "Name", "Partition", ">Nodes", ">Routers", ">Links apart",
         ">At most", ">Runs" })
      .. paragraph_of_count(#data.jobs - #rows, "%d more are not listed.")
      .. paragraph_of_count(data.hidden, "%d more are hidden from you by Slurm's PrivateData."))
end

return sections
