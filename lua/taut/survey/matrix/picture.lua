-- SPDX-License-Identifier: GPL-2.0-or-later
--- The heat map of a matrix as SVG: senders down, receivers across, in topology order, with the
-- boundaries of routers, leaves, groups …, what is slow marked and said in words below.
local tables = require "taut.base.tables"
local cells = require "taut.survey.matrix.cells"
local colour = require "taut.report.colour"
local marks = require "taut.survey.matrix.marks"
local report = require "taut.report"
local svg = require "taut.report.svg"
local sentences = require "taut.survey.matrix.sentences"

local picture = {}

local MARK, GREY, BAR = marks.COLOUR, marks.GREY, marks.BAR
local NOTES = 24    -- findings in words

---------------------------------------------------------------- labels

local function widest_text(list, size)
   local most = 0
   for _, text in ipairs(list) do
      most = math.max(most, svg.width(text, size))
   end
   return math.min(most, 240)
end

-- The finest level that has room for its labels.
local function level_to_label(figure)
   for l = #figure.levels, 1, -1 do
      local level = figure.levels[l]
      if #level.starts > 1 and figure.size / #level.starts >= 13 then
         return level
      end
   end
   return nil
end

-- What stands along both sides: nodes, else groups, else some of the nodes.
local function labels_of(figure)
   local list = {}
   if figure.px >= 10 then
      for i, name in ipairs(figure.m.names) do
         list[i] = { at = (i - 0.5) * figure.px, text = name, i = i }
      end
      return list
   end
   local level = level_to_label(figure)
   if level then
      for i, s in ipairs(marks.spans(figure, level)) do
         list[i] = { at = (s.from + s.to) / 2, text = s.label }
      end
      return list
   end
   local step = math.max(1, math.ceil(figure.m.n * 14 / figure.size))
   for i = 1, figure.m.n, step do
      list[#list + 1] = { at = ((i - 1) // figure.bin + 0.5) * figure.px, text = figure.m.names[i],
         i = i }
   end
   return list
end

-- Of a label: is it marked?
local function label_style(mark, size)
   if mark then
      return { bold = true, fill = MARK, size = size }
   end
   return { size = size }
end

local function draw_labels(doc, figure)
   for _, l in ipairs(figure.labels) do
      local row, column = l.i and figure.row_mark[l.i], l.i and figure.column_mark[l.i]
      local left, top = label_style(row, figure.font), label_style(column, figure.font)
      left.anchor, top.turn = "end", -90
      doc:text(figure.x - 6, figure.y + l.at + 4, l.text, left)
      doc:text(figure.x + l.at + 4, figure.y - 6, l.text, top)
   end
   doc:text(figure.x + figure.size / 2, figure.y - figure.label - 14, "to: receiver",
      { anchor = "middle",
      fill = GREY })
   doc:text(figure.x - figure.label - 14, figure.y + figure.size / 2, "from: sender",
      { anchor = "middle",
      fill = GREY, turn = -90 })
end

---------------------------------------------------------------- legend and words

local function scale_labels(matrix)
   if matrix.mode == "latency" then
      return { { 0.1, "10×" }, { 0.25, "4×" }, { 0.5, "2×" }, { 1, "usual" } }
   end
   return { { 0, "0" }, { 0.25, "25" }, { 0.5, "50" }, { 0.75, "75" }, { 1, "100 %" } }
end

local function draw_legend(doc, figure, y)
   local void = cells.VOID
   if figure.px >= 15 then
      void = doc:hatch(cells.ABSENT, cells.VOID)
   end
   doc:bar(figure.x, y, 260, 14, colour.heat, scale_labels(figure.m))
   local x = figure.x + 290
   local function draw_key(fill, text)
      doc:rect(x, y, 14, 14, { fill = fill, stroke = GREY, stroke_width = 0.5 })
      doc:text(x + 20, y + 11, text, { size = 11 })
      x = x + 38 + svg.width(text, 11)
   end
   draw_key(void, "discarded")
   draw_key(cells.ABSENT, "not measured")
   if figure.bin == 1 and figure.px >= 8 then
      doc:circle(x + 7, y + 7, 4, { fill = MARK })
      local slow = ("slow: below %d %%"):format(math.floor(figure.m.good * 100 + 0.5))
      if figure.m.mode == "latency" then
         slow = ("slow: over %.3g× the usual"):format(1 / figure.m.good)
      end
      doc:text(x + 20, y + 11, slow, { size = 11 })
   elseif figure.bin > 1 then
      doc:text(x, y + 11, ("a square is %d×%d pairs, the slowest shown"):format(figure.bin,
         figure.bin),
         { size = 11 })
   end
   local names = tables.map(figure.levels, function(level) return level.name end)
   if #names > 0 then
      doc:text(figure.x, y + 50, ("lines: another %s%s"):format(table.concat(names, ", "),
         report.text_if(#names > 1, ", the heaviest first")), { size = 11, fill = GREY })
      y = y + 20
   end
   return y + 44
end

-- Lines of at most so many pixels, broken between words.
local function break_text(text, wide, size)
   local lines, line = {}, ""
   for word in text:gmatch "%S+" do
      if line ~= "" and svg.width(line .. " " .. word, size) > wide then
         lines[#lines + 1] = line
         line = word
      else
         line = report.text_with("", tables.unless_blank(line), " ") .. word
      end
   end
   lines[#lines + 1] = line
   return lines
end

local function notes_of(figure, list, unnamed, wide)
   local notes = {}
   for n, finding in ipairs(list) do
      if n <= NOTES then
         notes[n] = { number = n, lines = break_text(sentences.finding(figure.m, finding),
            wide - 24, 12) }
      end
   end
   local more = math.max(0, #list - NOTES)
   if more + unnamed > 0 then
      notes[#notes + 1] = { lines = { ("%s more; see the CSV file"):format(report.count(
         more + unnamed, report.text_if(more > 0, "finding", "slow pair"))) } }
   elseif #list == 0 then
      local s = figure.m:summary()
      notes[1] = { lines = { report.text_if(s.good + s.low > 0, "No pair is slow.",
         "Nothing is known of any pair.") } }
   end
   return notes
end

local function draw_notes(doc, x, y, notes)
   for _, note in ipairs(notes) do
      local left = x
      if note.number then
         left = x + 24
         doc:circle(x + 8, y - 4, 8, { fill = MARK })
         doc:text(x + 8, y, note.number, { anchor = "middle", size = 11, bold = true,
            fill = "#ffffff" })
      end
      for _, line in ipairs(note.lines) do
         doc:text(left, y, line)
         y = y + 17
      end
      y = y + 5
   end
end

---------------------------------------------------------------- the whole

-- The squares of a finding, in order.
local function keys_of(matrix, finding)
   local keys = {}
   for _, k in ipairs(finding.cells or {}) do
      local i, j = matrix:at(k)
      if i >= 1 and i <= matrix.n and i ~= j then
         keys[#keys + 1] = k
      end
   end
   table.sort(keys)
   return keys
end

local function marks_of(figure, list)
   figure.row_mark, figure.column_mark, figure.regions = {}, {}, {}
   for n = math.min(#list, NOTES), 1, -1 do
      local one = list[n]
      local i = one.node and figure.m.index[one.node]
      if i and one.kind ~= "rx" then
         figure.row_mark[i] = n
      end
      if i and one.kind ~= "tx" then
         figure.column_mark[i] = n
      end
      local keys = {}
      if not one.node then
         keys = keys_of(figure.m, one)
      end
      if #keys > 0 then
         table.insert(figure.regions, { n = n, keys = keys })
      end
   end
end

local function title_of(matrix)
   if matrix.mode == "latency" then
      return "Latency of all pairs: µs, and in times of what is usual over as many links"
   end
   return "Bandwidth of all pairs, in % of what each route can carry"
end

local function pair_in_words(matrix, row, column)
   local k = matrix:key(row, column)
   local class = matrix.class[k]
   if not class then
      return "not measured"
   elseif class == "void" then
      return "discarded: " .. (matrix.why[k] or "?")
   elseif matrix.mode == "latency" then
      return ("%.1f µs, 99th %.1f µs"):format(matrix.median_ns[k] / 1e3,
         (matrix.p99_ns[k] or 0) / 1e3)
   end
   return ("%s, %s of %s"):format(report.bandwidth(matrix.bw[k]),
      report.percent(matrix:ratio(row, column) or 0), report.bandwidth(matrix.expected[k]))
end

local function tip_of(matrix)
   return function(row, column)
      return ("%s to %s: %s"):format(matrix.names[row], matrix.names[column],
         pair_in_words(matrix, row, column))
   end
end

--- Draw a matrix.
-- @param matrix matrix, judged
-- @param options { subtitle, findings = array (findings.lua), unnamed = how many slow pairs are not
--   named, levels = array, the coarsest first, of { starts = first row of each group, labels } }
-- @return SVG text
function picture.svg(matrix, options)
   local function font_size(px)
      if px >= 24 then
         return 12
      elseif px >= 12 then
         return 10
      end
      return 10.5
   end
   local px, bin, squares = cells.size(matrix.n)
   local f = { m = matrix, px = px, bin = bin, size = squares * px, levels = options.levels or {},
      font = font_size(px) }
   marks_of(f, options.findings)
   f.labels = labels_of(f)
   local texts = tables.map(f.labels, function(line) return line.text end)
   f.label = math.ceil(widest_text(texts, f.font))
   f.x, f.y = f.label + 36, f.label + 100
   local width = math.max(f.x + f.size + BAR + 48, 760)
   local notes = notes_of(f, options.findings, options.unnamed or 0, width - f.x - 24)
   local lines = tables.sum(notes, function(note) return #note.lines + 0.3 end)
   local bottom = f.y + f.size + BAR + 44
   local doc = svg.new { width = width, height = math.ceil(bottom + 84 + lines * 17),
      title = title_of(matrix), description = options.subtitle }
   doc:text(24, 32, title_of(matrix), { size = 18, bold = true })
   doc:text(24, 54, options.subtitle or "", { fill = GREY })
   cells.draw(doc, matrix, f.x, f.y, tip_of(matrix))
   marks.boundaries(doc, f)
   marks.margins(doc, f)
   draw_labels(doc, f)
   marks.slow(doc, f)
   marks.regions(doc, f)
   draw_notes(doc, f.x, draw_legend(doc, f, bottom) + 16, notes)
   return doc:finish()
end

return picture
