-- SPDX-License-Identifier: GPL-2.0-or-later
--- What is drawn over and beside the squares of a heat map: boundaries, frames, margins.
--
-- All take the document and the frame f of picture.lua: { m = matrix, x, y = upper left corner,
-- size, px = of a square, bin = nodes in a square, levels, row_mark and column_mark (number of a
-- finding, by node), regions = array of { n = number of a finding, keys = its pairs } }.
local marks = { COLOUR = "#1769c4", GREY = "#56616d", BAR = 56 } -- BAR: pixels of 100 %

local BOUNDARY = "#2f4058"

--- Groups of one level as { first square, last square, label } in pixels.
function marks.spans(figure, level)
   local list = {}
   for i, first in ipairs(level.starts) do
      local last = (level.starts[i + 1] or figure.m.n + 1) - 1
      list[i] = { from = (first - 1) // figure.bin * figure.px,
         to = (last + figure.bin - 1) // figure.bin * figure.px,
         label = level.labels[i] }
   end
   return list
end

--- Lines between the groups of each level.
function marks.boundaries(doc, figure)
   doc:open { stroke = BOUNDARY, fill = "none", pointer_events = "none" }
   for l = #figure.levels, 1, -1 do
      local level = figure.levels[l]
      local room = figure.size / #level.starts
      local width = math.max(0.3, 1.8 - 0.6 * (l - 1)) * math.min(1, room / 30)
      if room >= 6 then
         for i, s in ipairs(marks.spans(figure, level)) do
            if i > 1 then
               doc:line(figure.x + s.from, figure.y, figure.x + s.from, figure.y + figure.size,
                  { stroke_width = width,
                  stroke = BOUNDARY })
               doc:line(figure.x, figure.y + s.from, figure.x + figure.size, figure.y + s.from,
                  { stroke_width = width,
                  stroke = BOUNDARY })
            end
         end
      end
   end
   doc:rect(figure.x, figure.y, figure.size, figure.size, { stroke_width = 1 })
   doc:close()
end

local function draw_number(doc, x, y, number, radius)
   doc:circle(x, y, radius, { fill = marks.COLOUR, stroke = "#ffffff", stroke_width = 0.8,
      pointer_events = "none" })
   local size = radius + 3
   if number > 9 then
      size = radius + 1
   end
   doc:text(x, y + 0.37 * (radius + 3), number, { anchor = "middle", size = size,
      bold = true, fill = "#ffffff", pointer_events = "none" })
end

-- Sides of a square that have no square of the same region beside them, as a path.
local function open_sides(figure, in_region, row, column)
   local x, y, px = figure.x + (column - 1) * figure.px, figure.y + (row - 1) * figure.px, figure.px
   local function is_open(a, b)
      return a < 1 or a > figure.m.n or b < 1 or b > figure.m.n or not in_region[figure.m:key(a, b)]
   end
   local function side(is_drawn, form, left, top)
      if is_drawn then
         return form:format(left, top, px)
      end
      return ""
   end
   return side(is_open(row - 1, column), "M%d %dh%d", x, y)
      .. side(is_open(row + 1, column), "M%d %dh%d", x, y + px)
      .. side(is_open(row, column - 1), "M%d %dv%d", x, y)
      .. side(is_open(row, column + 1), "M%d %dv%d", x + px, y)
end

-- The first square of each part of a region that hangs together.
local function first_of_parts(matrix, keys, in_region)
   local seen, first = {}, {}
   for _, k in ipairs(keys) do
      local open = {}
      if not seen[k] then
         open[1], first[#first + 1] = k, k
      end
      while #open > 0 do
         local at = table.remove(open)
         seen[at] = true
         local i, j = matrix:at(at)
         for _, d in ipairs { { -1, 0 }, { 1, 0 }, { 0, -1 }, { 0, 1 } } do
            local a, b = i + d[1], j + d[2]
            local next_k = a >= 1 and a <= matrix.n and b >= 1 and b <= matrix.n
               and matrix:key(a, b)
            if next_k and in_region[next_k] and not seen[next_k] then
               seen[next_k] = true
               open[#open + 1] = next_k
            end
         end
      end
   end
   return first
end

-- The square of a region that has most of the others near it: where squares are too small for
-- numbers, one is put there.
local function densest_square(figure, keys)
   local near, count, best = math.max(1, 16 * figure.bin // figure.px), {}, nil
   local function tile_of(key)
      local i, j = figure.m:at(key)
      return (i // near) * figure.m.n + j // near
   end
   for _, k in ipairs(keys) do
      count[tile_of(k)] = (count[tile_of(k)] or 0) + 1
   end
   for _, k in ipairs(keys) do
      if not best or count[tile_of(best)] < count[tile_of(k)] then
         best = k
      end
   end
   return best
end

local function draw_region(doc, figure, region)
   local in_region, path = {}, {}
   for _, k in ipairs(region.keys) do
      in_region[k] = true
   end
   for n, k in ipairs(region.keys) do
      path[n] = open_sides(figure, in_region, figure.m:at(k))
   end
   -- beside the figure where there is one, else in the middle; it is as large as its square
   local stroke, r, across, down = 1.5, figure.px / 2 - 1, figure.px / 2, figure.px / 2
   if figure.px >= 24 then
      stroke, r, across, down = 2, 7, figure.px - 7, 7
   end
   doc:path(table.concat(path), { fill = "none", stroke = marks.COLOUR, stroke_width = stroke,
      pointer_events = "none" })
   for _, k in ipairs(first_of_parts(figure.m, region.keys, in_region)) do
      local i, j = figure.m:at(k)
      draw_number(doc, figure.x + (j - 1) * figure.px + across,
         figure.y + (i - 1) * figure.px + down, region.n, r)
   end
end

--- What is slow between nodes and no row or column, a link, a router, a boundary, a pair: its
-- squares framed, each part of it numbered.
function marks.regions(doc, figure)
   for _, region in ipairs(figure.regions) do
      if figure.bin == 1 and figure.px >= 12 then
         draw_region(doc, figure, region)
      else
         local i, j = figure.m:at(densest_square(figure, region.keys))
         draw_number(doc, figure.x + ((j - 1) // figure.bin + 0.5) * figure.px,
            figure.y + ((i - 1) // figure.bin + 0.5) * figure.px, region.n, 8)
      end
   end
end

--- Rows and columns of nodes that are slow, framed and numbered.
function marks.slow(doc, figure)
   -- a frame round a thin line would hide it
   local off, stroke = 0, 2
   if figure.px < 8 then
      off, stroke = 3, 1
   end
   local function draw_frame(x, y, width, height)
      doc:rect(figure.x + x - off, figure.y + y - off, width + 2 * off, height + 2 * off,
         { fill = "none",
         stroke = marks.COLOUR, stroke_width = stroke, pointer_events = "none" })
   end
   local thick = figure.px
   local side = figure.size + marks.BAR + 22
   for i, n in pairs(figure.row_mark) do
      local at = (i - 1) // figure.bin * figure.px
      draw_frame(0, at, figure.size, thick)
      draw_number(doc, figure.x + side, figure.y + at + thick / 2, n, 8)
   end
   for j, n in pairs(figure.column_mark) do
      local at = (j - 1) // figure.bin * figure.px
      draw_frame(at, 0, thick, figure.size)
      draw_number(doc, figure.x + at + thick / 2, figure.y + side, n, 8)
   end
end

--- Median of each row to the right, of each column below: a slow node stands out at any size.
function marks.margins(doc, figure)
   local row, column = figure.m:margins()
   local function draw_bar(index, share, down)
      local length = marks.BAR * math.min(1, share)
      local at, thick = (index - 1) * figure.px / figure.bin, figure.px / figure.bin
      local gap, fill = 0, "#aebbc8"
      if thick >= 8 then
         gap = 1
      end
      if share < figure.m.good then
         fill = marks.COLOUR
      end
      if down then
         doc:rect(figure.x + at + gap, figure.y + figure.size + 6, thick - 2 * gap, length,
            { fill = fill })
      else
         doc:rect(figure.x + figure.size + 6, figure.y + at + gap, length, thick - 2 * gap,
            { fill = fill })
      end
   end
   for i = 1, figure.m.n do
      if row[i] then
         draw_bar(i, row[i], false)
      end
      if column[i] then
         draw_bar(i, column[i], true)
      end
   end
   local x, y = figure.x + figure.size + 6, figure.y + figure.size + 6
   for _, share in ipairs { figure.m.good, 1 } do
      local dash
      if share == figure.m.good then
         dash = "3 3"
      end
      local right, below = x + marks.BAR * share, y + marks.BAR * share
      doc:line(right, figure.y, right, figure.y + figure.size, { stroke = marks.GREY,
         stroke_width = 0.6, stroke_dasharray = dash })
      doc:line(figure.x, below, figure.x + figure.size, below, { stroke = marks.GREY,
         stroke_width = 0.6, stroke_dasharray = dash })
   end
   doc:text(x, figure.y - 6, "median", { size = 10, fill = marks.GREY })
   doc:text(figure.x - 6, y + 12, "median", { size = 10, fill = marks.GREY, anchor = "end" })
end

return marks
