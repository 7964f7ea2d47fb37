-- SPDX-License-Identifier: GPL-2.0-or-later
--- A page about a machine, in one file that needs nothing from outside: what `taut report --html`
-- writes and `taut serve` serves.
--
-- Texts are HTML made here; the picture is drawn by the page's own program (page.js, draw.js,
-- find.js) from data that stand at the end of the file.  Nothing in those is ever made HTML: the
-- program writes text only, and a policy in the file's head lets no other program run.
local html = require "taut.report.page.html"
local json = require "taut.json"
local lost = require "taut.report.page.lost"
local seal = require "taut.seal"
local report = require "taut.report"
local sections = require "taut.report.page.sections"
local sys = require "taut.sys"
local tables = require "taut.base.tables"

local page = {}

local SCRIPTS = { "draw.js", "find.js", "page.js" }

local function read_part(name)
   local path = package.searchpath("taut.report.page", package.path)
   local f = assert(io.open(path:gsub("init%.lua$", name), "rb"))
   local text = f:read "a"
   f:close()
   return text
end

local function page_style()
   return read_part "page.css"
end

local function page_program()
   return "(function () {\n'use strict';\n" .. table.concat(tables.map(SCRIPTS, read_part), "\n") ..
      "\n}());\n"
end

--- What a page may load and run.
-- @param nonce of its own style and program
-- @param live may it ask where it came from again?
function page.policy(nonce, live)
   return ("default-src 'none'; style-src 'nonce-%s'; script-src 'nonce-%s'; connect-src %s; " ..
      "img-src data:; base-uri 'none'; form-action 'none'"):format(nonce, nonce,
      report.text_if(live, "'self'", "'none'"))
end

local CONTROLS = [[
<div class="tools" role="group" aria-label="Picture">
<label>Find <input id="find" type="search" autocomplete="off" spellcheck="false"
 placeholder="node, router or link" aria-controls="found"></label>
<button type="button" id="previous">Previous not well</button>
<button type="button" id="next">Next not well</button>
<button type="button" id="closer" aria-label="Zoom in">+</button>
<button type="button" id="farther" aria-label="Zoom out">&#8722;</button>
<button type="button" id="whole">Whole machine</button>
<label>Colours <select id="colours"><option value="verdict">verdicts</option>
<option value="slurm">state in Slurm</option></select></label>
<label><input type="checkbox" id="only"> only what is not well</label>
<label>Theme <select id="theme"><option value="">as the system</option>
<option value="light">light</option><option value="dark">dark</option></select></label>
<button type="button" id="print">Print</button>
</div>
<ul id="found" aria-label="Found" hidden></ul>
]]

local KEYS = "Drag or arrow keys move, the wheel or + and - zoom, 0 shows all, n and p go to " ..
   "the next and previous component that is not well, Escape lets go. The tables below say the " ..
   "same in words."

local function machine_picture(data)
   local m = data.machine
   return '<section id="machine" aria-labelledby="machine-title"><h2 id="machine-title">' ..
      html.text(m.title) .. "</h2>" .. html.tag("p", { { "id", "machine-about" } }, m.subtitle) ..
      CONTROLS .. '<div class="stage"><canvas id="picture" tabindex="0" role="application" ' ..
      'aria-roledescription="picture" aria-label="' .. html.text("Picture of the machine: " ..
         m.title) .. '" aria-describedby="machine-about keys"></canvas>' ..
      '<div id="tip" role="presentation" hidden></div>' ..
      '<div id="panel" hidden><div id="about" role="status" aria-live="polite"></div>' ..
      '<p id="ways"></p><button type="button" id="let-go">Close</button></div></div>' ..
      '<ul id="legend" aria-label="Legend"></ul><p id="keys">' .. html.text(KEYS) .. "</p>" ..
      "<noscript><p>The picture needs JavaScript; the tables below do not.</p></noscript>" ..
      "</section>\n"
end

-- What the program needs to know of components that are not well.
local function case_of(case)
   local texts = {}
   for _, e in ipairs(case.evidence or {}) do
      texts[#texts + 1] = e.text
   end
   for _, r in ipairs(case.reasoning or {}) do
      texts[#texts + 1] = r.text
   end
   return { name = case.component, state = case.state, left = case.left,
      loss = case.loss and report.lost(case.loss), action = case.action, cable = case.cable,
      remark = tables.unless_blank(case.remark), link = case.is_link,
      texts = json.array(texts) }
end

local function data_of(data)
   local m, jobs = tables.copy(data.machine), nil
   for _, c in ipairs(data.jobs or {}) do
      jobs = jobs or json.array {}
      jobs[#jobs + 1] = { id = tostring(c.id), nodes = c.members }
   end
   m.title, m.subtitle = nil, nil
   return { at = data.at, machine = m, jobs = jobs, sets = #data.status.sets > 0 or nil,
      cases = json.array(tables.map(data.cases, case_of)) }
end

-- After how many seconds a page that is served asks again.
local function live_attribute(live)
   if not live then
      return ""
   end
   return (' data-live="%d"'):format(live)
end

--- @param data { at, since (seconds since 1970), private, status, links, nodes, actions (answers of
--   tautd), cases, cases_all, days, repairs, repairs_note, note, machine (columns of
--   taut.cli.page.layout), jobs, hidden and lost, or nil: jobs are not shown }
-- @param live seconds after which the page asks again, or nil: it is a file
-- @return the whole file as text, and its policy
function page.make(data, live)
   local nonce = seal.hex(seal.random(16))
   local policy = page.policy(nonce, live)
   local cluster = data.status.cluster
   local title = "Taut: " .. report.text_with("", cluster, ", ") .. data.machine.title
   local when = ("Made %s; actions since %s. Taut %s."):format(
      os.date("%Y-%m-%d %H:%M:%S", data.at), os.date("%Y-%m-%d %H:%M", math.floor(data.since)),
      sys.version)
   return table.concat {
      '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">\n',
      '<meta http-equiv="Content-Security-Policy" content="', html.text(policy), '">\n',
      '<meta name="viewport" content="width=device-width, initial-scale=1">\n',
      '<link rel="icon" href="data:,">\n', -- or browsers ask for one
      '<meta name="color-scheme" content="light dark">',
      '<meta name="referrer" content="no-referrer">',
      html.tag("title", nil, title), '\n<style nonce="', nonce, '">\n', page_style(),
      "</style></head>\n<body", live_attribute(live), ">\n",
      '<a class="skip" href="#verdicts">To the verdicts</a>\n<header><h1>',
      html.text(title), "</h1>", html.tag("p", { { "id", "when" } }, when), "</header>\n<main>\n",
      sections.alarms(data), sections.first(data), sections.summary(data), machine_picture(data),
      sections.verdicts(data),
      sections.repairs(data), sections.nodes(data), sections.jobs(data), lost.section(data),
      sections.trend(data),
      sections.actions(data), "</main>\n<footer>",
      html.tag("p", nil, report.text_if(data.private,
         "This page names users and jobs: keep it confidential.",
         "This page names no users and no jobs.")), "</footer>\n",
      '<script type="application/json" id="data">', html.data(data_of(data)), "</script>\n",
      '<script nonce="', nonce, '">\n', page_program(), "</script></body></html>\n" }, policy
end

return page
