-- SPDX-License-Identifier: GPL-2.0-or-later
--- What is drawn over and beside the squares of a heat map: boundaries, frames, margins.
--
-- All take the document and the frame f of picture.lua: { m = matrix, x, y = upper left corner,
-- size, px = of a square, bin = nodes in a square, levels, row_mark and column_mark (number of a
-- finding, by node), regions = array of { n = number of a finding, keys = its pairs } }.
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

local function number(doc, x, y, n, r)
   doc:circle(x, y, r, { fill = marks.COLOUR, stroke = "#ffffff", stroke_width = 0.8,
      pointer_events = "none" })
   doc:text(x, y + 0.37 * (r + 3), n, { anchor = "middle", size = n > 9 and r + 1 or r + 3,
      bold = true, fill = "#ffffff", pointer_events = "none" })
end

-- Sides of a square that have no square of the same region beside them, as a path.
local function sides(f, in_region, i, j)
   local x, y, px = f.x + (j - 1) * f.px, f.y + (i - 1) * f.px, f.px
   local function open(a, b)
      return a < 1 or a > f.m.n or b < 1 or b > f.m.n or not in_region[f.m:key(a, b)]
   end
   return (open(i - 1, j) and ("M%d %dh%d"):format(x, y, px) or "")
      .. (open(i + 1, j) and ("M%d %dh%d"):format(x, y + px, px) or "")
      .. (open(i, j - 1) and ("M%d %dv%d"):format(x, y, px) or "")
      .. (open(i, j + 1) and ("M%d %dv%d"):format(x + px, y, px) or "")
end

-- The first square of each part of a region that hangs together.
local function first_of_parts(m, keys, in_region)
   local seen, first = {}, {}
   for _, k in ipairs(keys) do
      local open = { not seen[k] and k or nil }
      first[#first + 1] = open[1]
      while #open > 0 do
         local at = table.remove(open)
         seen[at] = true
         local i, j = m:at(at)
         for _, d in ipairs { { -1, 0 }, { 1, 0 }, { 0, -1 }, { 0, 1 } } do
            local a, b = i + d[1], j + d[2]
            local next_k = a >= 1 and a <= m.n and b >= 1 and b <= m.n and m:key(a, b)
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
local function densest(f, keys)
   local near, count, best = math.max(1, 16 * f.bin // f.px), {}, nil
   local function tile(k)
      local i, j = f.m:at(k)
      return (i // near) * f.m.n + j // near
   end
   for _, k in ipairs(keys) do
      count[tile(k)] = (count[tile(k)] or 0) + 1
   end
   for _, k in ipairs(keys) do
      best = best and count[tile(best)] >= count[tile(k)] and best or k
   end
   return best
end

local function draw_region(doc, f, region)
   local in_region, path = {}, {}
   for _, k in ipairs(region.keys) do
      in_region[k] = true
   end
   for n, k in ipairs(region.keys) do
      path[n] = sides(f, in_region, f.m:at(k))
   end
   doc:path(table.concat(path), { fill = "none", stroke = marks.COLOUR,
      stroke_width = f.px >= 24 and 2 or 1.5, pointer_events = "none" })
   -- beside the figure where there is one, else in the middle; it is as large as its square
   local r = f.px >= 24 and 7 or f.px / 2 - 1
   local across, down = f.px >= 24 and f.px - 7 or f.px / 2, f.px >= 24 and 7 or f.px / 2
   for _, k in ipairs(first_of_parts(f.m, region.keys, in_region)) do
      local i, j = f.m:at(k)
      number(doc, f.x + (j - 1) * f.px + across, f.y + (i - 1) * f.px + down, region.n, r)
   end
end

--- What is slow between nodes and no row or column, a link, a router, a boundary, a pair: its
-- squares framed, each part of it numbered.
function marks.regions(doc, f)
   for _, region in ipairs(f.regions) do
      if f.bin == 1 and f.px >= 12 then
         draw_region(doc, f, region)
      else
         local i, j = f.m:at(densest(f, region.keys))
         number(doc, f.x + ((j - 1) // f.bin + 0.5) * f.px,
            f.y + ((i - 1) // f.bin + 0.5) * f.px, region.n, 8)
      end
   end
end

--- Rows and columns of nodes that are slow, framed and numbered.
function marks.slow(doc, f)
   -- a frame round a thin line would hide it
   local off, stroke = f.px < 8 and 3 or 0, f.px < 8 and 1 or 2
   local function frame(x, y, w, h)
      doc:rect(f.x + x - off, f.y + y - off, w + 2 * off, h + 2 * off, { fill = "none",
         stroke = marks.COLOUR, stroke_width = stroke, pointer_events = "none" })
   end
   local thick = f.px
   local side = f.size + marks.BAR + 22
   for i, n in pairs(f.row_mark) do
      local at = (i - 1) // f.bin * f.px
      frame(0, at, f.size, thick)
      number(doc, f.x + side, f.y + at + thick / 2, n, 8)
   end
   for j, n in pairs(f.column_mark) do
      local at = (j - 1) // f.bin * f.px
      frame(at, 0, thick, f.size)
      number(doc, f.x + at + thick / 2, f.y + side, n, 8)
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
