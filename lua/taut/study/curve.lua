-- SPDX-License-Identifier: GPL-2.0-or-later
--- A picture of a study: lines with their spread, the table beneath.
local svg = require "taut.report.svg"
local terminal = require "taut.report"

local curve = {}

local LEFT, TOP, WIDE, HIGH = 70, 46, 560, 300
local LINE = 18 -- of the table
-- Colours that differ in lightness, too; dashes tell those apart that repeat one.
local COLOURS = { "#1b3a6b", "#d1495b", "#3f8f6b", "#c27a00", "#6b3fa0", "#5a5a5a" }
local DASHES = { nil, "6 3", "2 3" }

-- Round steps that make about five parts of a range.
local function list_ticks(low, high)
   local raw = math.max(high - low, 1e-12) / 5
   local power = 10 ^ math.floor(math.log(raw, 10))
   local step = power
   for _, m in ipairs { 1, 2, 5, 10 } do
      step = m * power
      if step >= raw * 0.999 then
         break
      end
   end
   local list, i = {}, math.ceil(low / step - 1e-9)
   while i * step <= high + step * 1e-6 do
      list[#list + 1] = i * step
      i = i + 1
   end
   return list
end

local function find_range(series)
   local x0, x1, y0, y1 = math.huge, -math.huge, 0, -math.huge
   for _, s in ipairs(series) do
      for _, p in ipairs(s.points) do
         x0, x1 = math.min(x0, p[1]), math.max(x1, p[1])
         y0, y1 = math.min(y0, p[3] or p[2]), math.max(y1, p[4] or p[2])
      end
   end
   if x1 < x0 then
      return 0, 1, 0, 1
   end
   if x1 <= x0 then
      x1 = x0 + 1
   end
   if y1 <= y0 then
      y1 = y0 + 1
   end
   return x0, x1, y0, y1
end

local function draw_axes(doc, report, at)
   local x0, x1, y0, y1 = table.unpack(at.range)
   for _, y in ipairs(list_ticks(y0, y1)) do
      local v = at.y(y)
      doc:line(LEFT, v, LEFT + WIDE, v, { stroke = "#d5dbe1" })
      doc:text(LEFT - 8, v + 4, ("%g"):format(tonumber(("%.6g"):format(y))), { anchor = "end",
         size = 11 })
   end
   for _, x in ipairs(list_ticks(x0, x1)) do
      local v = at.x(x)
      doc:line(v, TOP + HIGH, v, TOP + HIGH + 4, { stroke = "#5a5a5a" })
      doc:text(v, TOP + HIGH + 17, ("%g"):format(tonumber(("%.6g"):format(x))),
         { anchor = "middle", size = 11 })
   end
   doc:line(LEFT, TOP + HIGH, LEFT + WIDE, TOP + HIGH, { stroke = "#5a5a5a" })
   doc:text(LEFT + WIDE / 2, TOP + HIGH + 36, report.curves.x, { anchor = "middle" })
   doc:text(18, TOP + HIGH / 2, report.curves.y, { anchor = "middle", turn = -90 })
end

local function draw_series(doc, series, number, at)
   local colour = COLOURS[(number - 1) % #COLOURS + 1]
   local dash = DASHES[(number - 1) // #COLOURS % #DASHES + 1]
   local points = {}
   for _, p in ipairs(series.points) do
      local x, y = at.x(p[1]), at.y(p[2])
      points[#points + 1] = ("%s%.2f %.2f"):format(terminal.text_if(#points == 0, "M", "L"), x, y)
      if p[3] and p[4] and p[4] > p[3] then
         doc:line(x, at.y(p[3]), x, at.y(p[4]), { stroke = colour, stroke_width = 4,
            stroke_opacity = 0.3 })
      end
      doc:circle(x, y, 2.5, { fill = colour, tip = ("%s: %g, %.4g"):format(series.name, p[1],
         p[2]) })
   end
   if #points > 1 then
      doc:path(table.concat(points), { fill = "none", stroke = colour, stroke_width = 1.6,
         stroke_dasharray = dash })
   end
   local y = TOP + 10 + (number - 1) * 16
   doc:line(LEFT + WIDE + 14, y, LEFT + WIDE + 38, y, { stroke = colour, stroke_width = 2,
      stroke_dasharray = dash })
   doc:text(LEFT + WIDE + 44, y + 4, series.name, { size = 11 })
end

local function draw_table(doc, report, top)
   local heads, rows = report.heads, report.rows
   local wide, x = {}, { LEFT - 40 }
   for i, h in ipairs(heads) do
      wide[i] = svg.width(h, 11)
      for _, row in ipairs(rows) do
         wide[i] = math.max(wide[i], svg.width(row[i], 11))
      end
      x[i + 1] = x[i] + wide[i] + 14
   end
   for r = 0, #rows do
      for i, h in ipairs(heads) do
         local text, left, anchor = h:gsub("^>", ""), x[i], "start"
         if r > 0 then
            text = rows[r][i]
         end
         if h:sub(1, 1) == ">" then
            left, anchor = left + wide[i], "end"
         end
         doc:text(left, top + r * LINE, text, { size = 11, anchor = anchor, bold = r == 0 or nil })
      end
   end
   return x[#x]
end

local function table_width(report)
   local sum = LEFT - 40
   for i, h in ipairs(report.heads) do
      local most = svg.width(h, 11)
      for _, row in ipairs(report.rows) do
         most = math.max(most, svg.width(row[i], 11))
      end
      sum = sum + most + 14
   end
   return sum
end

local function legend_width(report)
   local most = 0
   for _, s in ipairs(report.curves.series) do
      most = math.max(most, svg.width(s.name, 11))
   end
   return most + 60
end

--- Curves of the results of repair.when.
function curve.of_failures(list)
   local points = {}
   for i, p in ipairs(list) do
      points[i] = { p.failed, p.degradation * 100, p.least * 100, p.most * 100 }
   end
   return { x = "further failed cables", y = "longer, %", series = { { name = "mean",
      points = points } } }
end

--- @param report of a study (lua/taut/cli/study/report.lua)
-- @param bare without the table, which stands beside it
-- @return SVG text
function curve.svg(report, bare)
   local below, width = 50, LEFT + WIDE + legend_width(report)
   if not bare then -- the table
      below, width = 60 + (#report.rows + 2) * LINE, math.max(width, table_width(report) + 20)
   end
   local height = TOP + HIGH + below
   local doc = svg.new { width = math.ceil(width),
      height = math.max(height, TOP + 30 + #report.curves.series * 16), title = report.title,
      description = table.concat(report.notes, " ") }
   local range = { find_range(report.curves.series) }
   local at = { range = range,
      x = function(value) return LEFT + (value - range[1]) / (range[2] - range[1]) * WIDE end,
      y = function(value)
         return TOP + HIGH - (value - range[3]) / (range[4] - range[3]) * HIGH
      end }
   doc:text(LEFT, 26, report.title, { size = 14, bold = true })
   draw_axes(doc, report, at)
   for i, s in ipairs(report.curves.series) do
      draw_series(doc, s, i, at)
   end
   if not bare then
      draw_table(doc, report, TOP + HIGH + 64)
   end
   return doc:finish()
end

return curve
