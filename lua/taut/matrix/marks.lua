--- What is drawn over and beside the squares of a heat map: boundaries, frames, margins.
--
-- All take the document and the frame f of picture.lua: { m = matrix, x, y = upper left corner,
-- size, px = of a square, bin = nodes in a square, levels, row_mark, column_mark, pair_mark }.
local marks = { COLOUR = "#1769c4", GREY = "#56616d", BAR = 56 } -- BAR: pixels of 100 %

local BOUNDARY = "#2f4058"

--- Groups of one level as { first square, last square, label } in pixels.
function marks.spans(f, level)
   local list = {}
   for i, first in ipairs(level.starts) do
      local last = (level.starts[i + 1] or f.m.n + 1) - 1
      list[i] = { from = (first - 1) // f.bin * f.px, to = (last + f.bin - 1) // f.bin * f.px,
         label = level.labels[i] }
   end
   return list
end

--- Lines between the groups of each level.
function marks.boundaries(doc, f)
   doc:open { stroke = BOUNDARY, fill = "none", pointer_events = "none" }
   for l = #f.levels, 1, -1 do
      local level = f.levels[l]
      local room = f.size / #level.starts
      local width = math.max(0.3, 1.8 - 0.6 * (l - 1)) * math.min(1, room / 30)
      if room >= 6 then
         for i, s in ipairs(marks.spans(f, level)) do
            if i > 1 then
               doc:line(f.x + s.from, f.y, f.x + s.from, f.y + f.size, { stroke_width = width,
                  stroke = BOUNDARY })
               doc:line(f.x, f.y + s.from, f.x + f.size, f.y + s.from, { stroke_width = width,
                  stroke = BOUNDARY })
            end
         end
      end
   end
   doc:rect(f.x, f.y, f.size, f.size, { stroke_width = 1 })
   doc:close()
end

--- Rows and columns of nodes that are slow, framed and numbered; single pairs framed.
function marks.slow(doc, f)
   -- a frame round a thin line would hide it
   local off, stroke = f.px < 8 and 3 or 0, f.px < 8 and 1 or 2
   local function frame(x, y, w, h)
      doc:rect(f.x + x - off, f.y + y - off, w + 2 * off, h + 2 * off, { fill = "none",
         stroke = marks.COLOUR, stroke_width = stroke, pointer_events = "none" })
   end
   local function number(x, y, n)
      doc:circle(f.x + x, f.y + y, 8, { fill = marks.COLOUR })
      doc:text(f.x + x, f.y + y + 4, n, { anchor = "middle", size = 11, bold = true,
         fill = "#ffffff" })
   end
   local thick = f.px
   local side = f.size + marks.BAR + 22
   for i, n in pairs(f.row_mark) do
      local at = (i - 1) // f.bin * f.px
      frame(0, at, f.size, thick)
      number(side, at + thick / 2, n)
   end
   for j, n in pairs(f.column_mark) do
      local at = (j - 1) // f.bin * f.px
      frame(at, 0, thick, f.size)
      number(at + thick / 2, side, n)
   end
   for _, p in ipairs(f.pair_mark) do
      frame((p[2] - 1) // f.bin * f.px, (p[1] - 1) // f.bin * f.px, thick, thick)
   end
end

--- Median of each row to the right, of each column below: a slow node stands out at any size.
function marks.margins(doc, f)
   local row, column = f.m:margins()
   local function bar(i, share, down)
      local length = marks.BAR * math.min(1, share)
      local at, thick = (i - 1) * f.px / f.bin, f.px / f.bin
      local gap = thick >= 8 and 1 or 0
      local fill = share < f.m.good and marks.COLOUR or "#aebbc8"
      if down then
         doc:rect(f.x + at + gap, f.y + f.size + 6, thick - 2 * gap, length, { fill = fill })
      else
         doc:rect(f.x + f.size + 6, f.y + at + gap, length, thick - 2 * gap, { fill = fill })
      end
   end
   for i = 1, f.m.n do
      if row[i] then
         bar(i, row[i], false)
      end
      if column[i] then
         bar(i, column[i], true)
      end
   end
   local x, y = f.x + f.size + 6, f.y + f.size + 6
   for _, share in ipairs { f.m.good, 1 } do
      local dash = share == f.m.good and "3 3" or nil
      local right, below = x + marks.BAR * share, y + marks.BAR * share
      doc:line(right, f.y, right, f.y + f.size, { stroke = marks.GREY,
         stroke_width = 0.6, stroke_dasharray = dash })
      doc:line(f.x, below, f.x + f.size, below, { stroke = marks.GREY,
         stroke_width = 0.6, stroke_dasharray = dash })
   end
   doc:text(x, f.y - 6, "median", { size = 10, fill = marks.GREY })
   doc:text(f.x - 6, y + 12, "median", { size = 10, fill = marks.GREY, anchor = "end" })
end

return marks
