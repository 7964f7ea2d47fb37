-- SPDX-License-Identifier: GPL-2.0-or-later
--- Bars, a stack for each day: what a page's trend is drawn as.  Colours are the page's style's.
local html = require "taut.report.page.html"

local chart = {}

local WIDE, HIGH = 640, 166 -- of a picture, in its own units
local LEFT, RIGHT, BOTTOM, TOP = 66, 10, 32, 12 -- room for letters

-- The next larger of 1, 2, 5, 10 …: the end of an axis.
local function axis_end(value)
   local ten = 1
   while ten * 10 <= value do
      ten = ten * 10
   end
   for _, k in ipairs { 1, 2, 5 } do
      if value <= k * ten then
         return k * ten
      end
   end
   return 10 * ten
end

local function highest_value(drawn)
   local most = 1
   for i in ipairs(drawn.days) do
      local sum = 0
      for _, s in ipairs(drawn.series) do
         sum = sum + s.values[i]
      end
      most = math.max(most, sum)
   end
   return axis_end(most)
end

local function draw_bar(class, x, y, w, h, tip)
   return ('<rect class="%s" x="%.1f" y="%.1f" width="%.1f" height="%.1f"><title>%s</title></rect>')
      :format(class, x, y, w, h, html.text(tip))
end

local function draw_label(x, y, anchor, text)
   return ('<text x="%.1f" y="%.1f" text-anchor="%s">%s</text>'):format(x, y, anchor,
      html.text(text))
end

local function draw_axis(out, top)
   for _, share in ipairs { 0, 0.5, 1 } do
      local y = HIGH - BOTTOM - share * (HIGH - BOTTOM - TOP)
      out[#out + 1] = ('<line class="axis" x1="%d" x2="%d" y1="%.1f" y2="%.1f"/>'):format(LEFT,
         WIDE, y, y)
      if share ~= 0.5 or top >= 2 then
         out[#out + 1] = draw_label(LEFT - 5, y + 6, "end", ("%g"):format(top * share))
      end
   end
end

local function draw_bars(out, drawn, top)
   local step = (WIDE - LEFT - RIGHT) / #drawn.days
   local every = math.max(1, math.ceil(64 / step))
   for i, day in ipairs(drawn.days) do
      local x, y = LEFT + (i - 1) * step, HIGH - BOTTOM
      for _, s in ipairs(drawn.series) do
         local h = s.values[i] / top * (HIGH - BOTTOM - TOP)
         if h > 0 then
            y = y - h
            out[#out + 1] = draw_bar(s.class, x + step * 0.12, y, step * 0.76, h,
               ("%s: %d %s"):format(day, s.values[i], s.name))
         end
      end
      if (#drawn.days - i) % every == 0 then
         out[#out + 1] = draw_label(x + step / 2, HIGH - 6, "middle", day)
      end
   end
end

--- A picture with its legend.
-- @param drawn { title, days = array of short texts, series = array of { name, class, values } },
--   the lowest of a stack first
function chart.bars(drawn)
   local top, names = highest_value(drawn), {}
   local out = { ('<svg class="chart" role="img" viewBox="0 0 %d %d" aria-label="%s">'):format(WIDE,
      HIGH, html.text(drawn.title .. "; the table below has the numbers")) }
   draw_axis(out, top)
   draw_bars(out, drawn, top)
   out[#out + 1] = "</svg>"
   for i, s in ipairs(drawn.series) do
      names[i] = ('<span class="key %s">%s</span>'):format(s.class, html.text(s.name))
   end
   return ("<figure><figcaption>%s <span class=\"keys\">%s</span></figcaption>%s</figure>"):format(
      html.text(drawn.title), table.concat(names), table.concat(out, "\n"))
end

return chart
