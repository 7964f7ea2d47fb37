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
local terminal = require "taut.report"
local common = require "taut.cli.topology.common"

local report = {}

-- RFC 4180; a text that a spreadsheet would take for a formula gets an apostrophe before it.
local function field(v)
   if v == nil then
      return ""
   elseif math.type(v) == "float" then
      return v == v and ("%.8g"):format(v) or ""
   elseif type(v) ~= "string" then
      return tostring(v)
   end
   v = v:gsub("%c", " ")
   if v:find "^[=+@-]" then
      v = "'" .. v
   end
   return v:find '[",]' and '"' .. v:gsub('"', '""') .. '"' or v
end

--- @return text
function report.csv(R)
   local lines = {}
   for i, row in ipairs { R.csv.heads, table.unpack(R.csv.rows) } do
      local parts = {}
      for k = 1, #R.csv.heads do
         parts[k] = field(row[k])
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

local function cells(tag, R, row)
   local parts = {}
   for i, h in ipairs(R.heads) do
      local class = h:sub(1, 1) == ">" and ' class="n"' or ""
      parts[i] = ("<%s%s>%s</%s>"):format(tag, class, svg.escape((row[i]:gsub("^>", ""))), tag)
   end
   return "<tr>" .. table.concat(parts) .. "</tr>"
end

--- One file with everything in it.
-- @return text
function report.html(R)
   local h = { "<!DOCTYPE html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>" ..
      svg.escape(R.title) .. "</title><style>" .. STYLE .. "</style></head><body><h1>" ..
      svg.escape(R.title) .. "</h1>" }
   for _, note in ipairs(R.notes) do
      h[#h + 1] = "<p>" .. svg.escape(note) .. "</p>"
   end
   if R.curves then
      h[#h + 1] = curve.svg(R, true)
   end
   h[#h + 1] = "<table><thead>" .. cells("th", R, R.heads) .. "</thead><tbody>"
   for _, row in ipairs(R.rows) do
      h[#h + 1] = cells("td", R, row)
   end
   h[#h + 1] = "</tbody></table>"
   for _, note in ipairs(R.footer or {}) do
      h[#h + 1] = "<p>" .. svg.escape(note) .. "</p>"
   end
   h[#h + 1] = "<details><summary>Values</summary><pre>" .. svg.escape(report.csv(R)) ..
      "</pre></details></body></html>\n"
   return table.concat(h, "\n")
end

local function print_all(R)
   terminal.wrap(R.title, "")
   for _, note in ipairs(R.notes) do
      terminal.wrap(note, "")
   end
   print ""
   local rows = {}
   for i, row in ipairs(R.rows) do
      rows[i] = { table.unpack(row) }
   end
   common.table(R.heads, rows)
   if R.footer and #R.footer > 0 then
      print ""
   end
   for _, note in ipairs(R.footer or {}) do
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
function report.give(R, args)
   local wrong = {}
   local function note(ok, err)
      wrong[#wrong + 1] = not ok and err or nil
   end
   if args.csv then
      note(save.text(args.csv, report.csv(R)))
   end
   if (args.svg or args.png) and not R.curves then
      wrong[#wrong + 1] = "this answer has no curves: --svg and --png have nothing to draw"
   elseif args.svg then
      note(save.text(args.svg, curve.svg(R)))
   end
   if args.png and R.curves then
      note(save.png(args.png, curve.svg(R)))
   end
   if args.html then
      note(save.text(args.html, report.html(R)))
   end
   if args.json then
      print(json.encode(R.data, 2))
   elseif args.csv ~= "-" and args.svg ~= "-" and args.html ~= "-" then
      print_all(R)
   end
   for _, err in ipairs(wrong) do
      terminal.complain("study: ", err)
   end
   return #wrong == 0 and 0 or 1
end

return report
