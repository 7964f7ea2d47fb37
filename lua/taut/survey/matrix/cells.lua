-- SPDX-License-Identifier: GPL-2.0-or-later
--- The squares of a heat map: one for each pair, or, on a very large machine, one for several.
local colour = require "taut.report.colour"
local report = require "taut.report"

local cells = {}

local STEPS = 64        -- shades; more are not told apart, fewer would show
local MOST = 1024       -- squares in a row
local TIPS = 64         -- nodes up to which each square has its own text
local NOTHING = "#ffffff"
cells.VOID = "#9db0c4"  -- bluish: no shade of the scale is
cells.ABSENT = "#dfe5ea"

local FILLS = { void = cells.VOID, absent = cells.ABSENT }
-- Up to so many squares in a row have sides of so many pixels.
local SIDES = { { squares = 20, px = 40 }, { squares = 36, px = 26 }, { squares = 64, px = 15 } }

--- How large a square is, in pixels, and how many nodes it stands for in each direction.
function cells.size(nodes)
   local bin = (nodes + MOST - 1) // MOST
   local squares = (nodes + bin - 1) // bin
   for _, fit in ipairs(SIDES) do
      if squares <= fit.squares then
         return fit.px, bin, squares
      end
   end
   return math.max(1, 1024 // squares), bin, squares
end

-- The slowest pair of a square, and what is the case where none has a figure.
local function worst_in(matrix, row, column, bin)
   local worst, state
   for i = (row - 1) * bin + 1, math.min(row * bin, matrix.n) do
      for j = (column - 1) * bin + 1, math.min(column * bin, matrix.n) do
         local r = matrix:ratio(i, j)
         if r and (not worst or r < worst) then
            worst = r
         end
         if i ~= j and not state then
            state = report.text_if(matrix.class[matrix:key(i, j)] == "void", "void", "absent")
         end
      end
   end
   return worst, state
end

-- Colour of a square, and its share of the expectation if it has one.
local function fill_of(matrix, row, column, bin)
   local r, state = worst_in(matrix, row, column, bin)
   if r then
      return colour.heat(math.floor(math.min(r, 1) * (STEPS - 1) + 0.5) / (STEPS - 1)), r
   end
   return FILLS[state] or NOTHING
end

-- Runs of one colour in a row become one shape, all shapes of a colour one path.
local function draw_paths(doc, matrix, x, y, px, bin, squares)
   local paths, order = {}, {}
   local function put_squares(fill, row, first, last)
      if fill ~= NOTHING then
         if not paths[fill] then
            paths[fill] = {}
            order[#order + 1] = fill
         end
         table.insert(paths[fill], ("M%d %dh%dv%dh-%dz"):format(x + (first - 1) * px,
            y + (row - 1) * px, (last - first + 1) * px, px, (last - first + 1) * px))
      end
   end
   for row = 1, squares do
      local fill, first = nil, 1
      for column = 1, squares do
         local now = fill_of(matrix, row, column, bin)
         if now ~= fill then
            if fill then
               put_squares(fill, row, first, column - 1)
            end
            fill, first = now, column
         end
      end
      put_squares(fill, row, first, squares)
   end
   table.sort(order)
   for _, fill in ipairs(order) do
      doc:path(table.concat(paths[fill]), { fill = fill, shape_rendering = "crispEdges" })
   end
end

-- The number that stands in a square: microseconds, or percent.
local function figure_of(matrix, row, column, ratio)
   if matrix.mode == "latency" then
      return matrix.median_ns[matrix:key(row, column)] / 1e3
   end
   return 100 * ratio
end

local function draw_squares(doc, matrix, x, y, px, tip_of)
   local void, size = doc:hatch(cells.ABSENT, cells.VOID), 9.5
   if px >= 36 then
      size = 12
   end
   for i = 1, matrix.n do
      for j = 1, matrix.n do
         local fill, r = fill_of(matrix, i, j, 1)
         local left, top = x + (j - 1) * px, y + (i - 1) * px
         if i ~= j and fill == cells.VOID then
            doc:rect(left, top, px, px, { fill = void, shape_rendering = "crispEdges",
               tip = tip_of(i, j) })
         elseif i ~= j then
            doc:rect(left, top, px, px, { fill = fill, shape_rendering = "crispEdges",
               tip = tip_of(i, j) })
         end
         if r and px >= 24 then
            doc:text(left + px / 2, top + px / 2 + 4, ("%.0f"):format(figure_of(matrix, i, j, r)), {
               anchor = "middle", size = size, fill = colour.ink(fill), pointer_events = "none" })
         end
      end
   end
end

-- A dot in each slow square, if there is room, so that shades need not be compared.
local function draw_dots(doc, matrix, x, y, px)
   doc:open { fill = "#1769c4", stroke = "#ffffff", stroke_width = 0.8, pointer_events = "none" }
   local radius, across, down = px / 4.5, px / 2, px / 2
   if px >= 24 then -- beside the figure
      radius, across, down = 3, px - 6, 6
   end
   for k, class in pairs(matrix.class) do
      if class == "low" then
         local i, j = matrix:at(k)
         doc:circle(x + (j - 1) * px + across, y + (i - 1) * px + down, radius)
      end
   end
   doc:close()
end

--- Draw all squares.
-- @param doc SVG document
-- @param matrix matrix
-- @param x, y upper left corner, whole pixels
-- @param tip_of function(i, j) → text at the pointer
-- @return width and height in pixels
function cells.draw(doc, matrix, x, y, tip_of)
   local px, bin, squares = cells.size(matrix.n)
   if matrix.n <= TIPS then
      draw_squares(doc, matrix, x, y, px, tip_of)
   else
      draw_paths(doc, matrix, x, y, px, bin, squares)
   end
   if bin == 1 and px >= 8 then
      draw_dots(doc, matrix, x, y, px)
   end
   return squares * px
end

return cells
