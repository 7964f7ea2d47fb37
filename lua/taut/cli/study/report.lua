-- SPDX-License-Identifier: GPL-2.0-or-later
--- A study's answer in all the forms it is given in.
--
-- A report is { title, notes = array of sentences, heads, rows (texts, as report.table has them),
-- csv = { heads, rows of values }, data = what --json prints, curves = { x, y = labels, series =
-- { { name, points = { { x, y, low, high }, … } }, … } } or nil, footer = array of sentences }.
local curve = require "taut.study.curve"
local json = require "taut.json"
local save = require "taut.report.save"
local svg = require "taut.report.svg"
local tables = require "taut.base.tables"
local terminal = require "taut.report"
local common = require "taut.cli.topology.common"

local report = {}

-- RFC 4180; a text that a spreadsheet would take for a formula gets an apostrophe before it.
local function csv_field(value)
   if value == nil or value ~= value then
      return ""
   elseif math.type(value) == "float" then
      return ("%.8g"):format(value)
   elseif type(value) ~= "string" then
      return tostring(value)
   end
   value = value:gsub("%c", " ")
   if value:find "^[=+@-]" then
      value = "'" .. value
   end
   if value:find '[",]' then
      return '"' .. value:gsub('"', '""') .. '"'
   end
   return value
end

--- @return text
function report.csv(page)
   local lines = {}
   for i, row in ipairs { page.csv.heads, table.unpack(page.csv.rows) } do
      local parts = {}
      for k = 1, #page.csv.heads do
         parts[k] = csv_field(row[k])
      end
      lines[i] = table.concat(parts, ",")
   end
   return table.concat(lines, "\r\n") .. "\r\n"
end

local STYLE = "body{font:15px/1.5 sans-serif;max-width:60em;margin:2em auto;padding:0 1em;" ..
   "color:#1c1c1c;background:#fff}table{border-collapse:collapse;margin:1em 0}" ..
   "th,td{padding:.2em .7em;border-bottom:1px solid #d5dbe1;text-align:left}" ..
   ".n{text-align:right;font-variant-numeric:tabular-nums}svg{max-width:100%;height:auto}" ..
   "pre{background:#f3f5f7;padding:1em;overflow:auto}"

local function html_cells(tag, page, row)
   local parts = {}
   for i, h in ipairs(page.heads) do
      local class = terminal.text_if(h:sub(1, 1) == ">", ' class="n"')
      parts[i] = ("<%s%s>%s</%s>"):format(tag, class, svg.escape((row[i]:gsub("^>", ""))), tag)
   end
   return "<tr>" .. table.concat(parts) .. "</tr>"
end

--- One file with everything in it.
-- @return text
function report.html(page)
   local h = { "<!DOCTYPE html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>" ..
      svg.escape(page.title) .. "</title><style>" .. STYLE .. "</style></head><body><h1>" ..
      svg.escape(page.title) .. "</h1>" }
   for _, note in ipairs(page.notes) do
      h[#h + 1] = "<p>" .. svg.escape(note) .. "</p>"
   end
   if page.curves then
      h[#h + 1] = curve.svg(page, true)
   end
   h[#h + 1] = "<table><thead>" .. html_cells("th", page, page.heads) .. "</thead><tbody>"
   for _, row in ipairs(page.rows) do
      h[#h + 1] = html_cells("td", page, row)
   end
   h[#h + 1] = "</tbody></table>"
   for _, note in ipairs(page.footer or {}) do
      h[#h + 1] = "<p>" .. svg.escape(note) .. "</p>"
   end
   h[#h + 1] = "<details><summary>Values</summary><pre>" .. svg.escape(report.csv(page)) ..
      "</pre></details></body></html>\n"
   return table.concat(h, "\n")
end

local function print_all(page)
   terminal.wrap(page.title, "")
   for _, note in ipairs(page.notes) do
      terminal.wrap(note, "")
   end
   print ""
   local rows = {}
   for i, row in ipairs(page.rows) do
      rows[i] = { table.unpack(row) }
   end
   common.table(page.heads, rows)
   if page.footer and #page.footer > 0 then
      print ""
   end
   for _, note in ipairs(page.footer or {}) do
      terminal.wrap(note, "")
   end
end

--- Options of every study that say what is written.
function report.setup(parser)
   parser:option("--csv"):description "Write the values as CSV.":argname "<file>"
   parser:option("--svg"):description "Write curves, and the table, as SVG.":argname "<file>"
   parser:option("--png"):description "The same as PNG (with rsvg-convert).":argname "<file>"
   parser:option("--html"):description "Write a page with all of it in one file."
      :argname "<file>"
end

--- Give it in every form that was asked for.
-- @return exit status
function report.give(page, args)
   local wrong = {}
   local function note_written(ok, err)
      if not ok then
         wrong[#wrong + 1] = err
      end
   end
   if args.csv then
      note_written(save.text(args.csv, report.csv(page)))
   end
   if (args.svg or args.png) and not page.curves then
      wrong[#wrong + 1] = "this answer has no curves: --svg and --png have nothing to draw"
   elseif args.svg then
      note_written(save.text(args.svg, curve.svg(page)))
   end
   if args.png and page.curves then
      note_written(save.png(args.png, curve.svg(page)))
   end
   if args.html then
      note_written(save.text(args.html, report.html(page)))
   end
   if args.json then
      print(json.encode(page.data, 2))
   elseif args.csv ~= "-" and args.svg ~= "-" and args.html ~= "-" then
      print_all(page)
   end
   for _, err in ipairs(wrong) do
      terminal.complain("study: ", err)
   end
   return tables.one_if(#wrong > 0)
end

return report
