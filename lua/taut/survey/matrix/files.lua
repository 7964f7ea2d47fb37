-- SPDX-License-Identifier: GPL-2.0-or-later
--- A matrix as files: CSV, JSON, SVG, PNG.
local report = require "taut.report"
local tables = require "taut.base.tables"
local json = require "taut.json"
local picture = require "taut.survey.matrix.picture"
local save = require "taut.report.save"
local sys = require "taut.sys"

local files = {}

local PATH_MAX = 4000

---------------------------------------------------------------- CSV

-- RFC 4180; a text that a spreadsheet would take for a formula gets an apostrophe before it.
local function csv_cell(value)
   if value == nil then
      return ""
   elseif math.type(value) == "float" then
      return ("%.6g"):format(value)
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

-- To the nearest whole number; nil for none.
local function rounded(value)
   return value and math.floor(value + 0.5)
end

local LATENCY_HEADS = { "from", "to", "median_ns", "p99_ns", "usual_ns", "class",
   "measured_again", "why" }
local STREAM_HEADS = { "from", "to", "bw_Bps", "expected_Bps", "ratio", "class",
   "measured_again", "why" }

local function latency_fields(matrix, row, column)
   local k, usual = matrix:key(row, column), nil
   local class = matrix.class[k]
   if class ~= "void" and matrix.expected[k] then
      usual = rounded(1e9 / matrix.expected[k])
   end
   return { matrix.names[row], matrix.names[column], matrix.median_ns[k], matrix.p99_ns[k], usual,
      class or "none", report.text_if(matrix.again[k], "yes", "no"), matrix.why[k] }
end

local function stream_fields(matrix, row, column)
   local k, Bps = matrix:key(row, column), nil
   local class = matrix.class[k]
   if class and class ~= "void" then
      Bps = rounded(matrix.bw[k])
   end
   return { matrix.names[row], matrix.names[column], Bps, rounded(matrix.expected[k]),
      matrix:ratio(row, column), class or "none", report.text_if(matrix.again[k], "yes", "no"),
      matrix.why[k] }
end

local function json_line(list, count)
   local parts = tables.fill(1, count, function(index) return csv_cell(list[index]) end)
   return table.concat(parts, ",") .. "\r\n"
end

--- One line for each pair, in the order of rows and columns.
-- @param matrix matrix
-- @return text
function files.csv(matrix)
   local heads, fields_of = STREAM_HEADS, stream_fields
   if matrix.mode == "latency" then
      heads, fields_of = LATENCY_HEADS, latency_fields
   end
   local parts = { json_line(heads, 8) }
   for i = 1, matrix.n do
      for j = 1, matrix.n do
         if i ~= j then
            parts[#parts + 1] = json_line(fields_of(matrix, i, j), 8)
         end
      end
   end
   return table.concat(parts)
end

---------------------------------------------------------------- JSON

-- Rows of figures; null where there is none.
local function rows_of(matrix, get)
   local rows = json.array {}
   for i = 1, matrix.n do
      local row = json.array {}
      for j = 1, matrix.n do
         row[j] = get(matrix:key(i, j), i, j)
         if row[j] == nil then
            row[j] = json.null
         end
      end
      rows[i] = row
   end
   return rows
end

local function whole_or_null(value)
   return value and math.floor(value + 0.5)
end

-- `cells` are for the picture only: `class` has every pair.
local function without_cells(findings)
   local list = json.array {}
   for i, f in ipairs(findings) do
      list[i] = tables.copy(f)
      list[i].cells = nil
   end
   return list
end

--- Everything, as data: matrices are rows (senders) of columns (receivers) in the order of `nodes`.
-- @param matrix matrix
-- @param options { findings (with `text`), unnamed, info = table of the measurement's parameters }
-- @return text
function files.json(matrix, options)
   local function figure_or_nil(figures, key)
      if matrix.class[key] == "good" or matrix.class[key] == "low" then
         return figures[key]
      end
      return nil
   end
   local d = { nodes = json.array(matrix.names), mode = matrix.mode, good = matrix.good,
      summary = matrix:summary(),
      findings = without_cells(options.findings), unnamed = options.unnamed, info = options.info,
      class = rows_of(matrix, function(key, row, column)
         if row == column then
            return nil
         end
         return matrix.class[key] or "none"
      end),
      why = json.array {} }
   if matrix.mode == "latency" then
      d.median_ns = rows_of(matrix, function(key)
         return figure_or_nil(matrix.median_ns, key)
      end)
      d.p99_ns = rows_of(matrix, function(key)
         return figure_or_nil(matrix.p99_ns, key)
      end)
   else
      d.bw_Bps = rows_of(matrix, function(key)
         return whole_or_null(figure_or_nil(matrix.bw, key))
      end)
      d.expected_Bps = rows_of(matrix, function(key) return whole_or_null(matrix.expected[key]) end)
   end
   for k, why in pairs(matrix.why) do
      local i, j = matrix:at(k)
      d.why[#d.why + 1] = { from = matrix.names[i], to = matrix.names[j], why = why }
   end
   table.sort(d.why, function(one, other)
      return one.from < other.from or one.from == other.from and one.to < other.to
   end)
   return json.encode(d) .. "\n"
end

---------------------------------------------------------------- files

-- Why a file cannot be written, or nil.
local function why_not(kind, path)
   if #path == 0 or #path > PATH_MAX then
      return ("--%s: expected a path of 1 to %d bytes, got %d"):format(kind, PATH_MAX, #path)
   end
   local f, name = sys.create_beside(path)
   if not f then
      return name
   end
   f:close()
   os.remove(name)
   return nil
end

--- Can these files be written?
-- @return array of errors
function files.check(want)
   local wrong = {}
   for kind, path in pairs(files.without_stdout(want)) do
      wrong[#wrong + 1] = why_not(kind, path)
   end
   if want.png == "-" then
      wrong[#wrong + 1] = "--png: expected a file, got -"
   elseif want.png and not os.execute "command -v rsvg-convert >/dev/null" then
      wrong[#wrong + 1] = "--png: rsvg-convert is not installed (Debian: librsvg2-bin)"
   end
   return wrong
end

--- The files of one rail of several: m.csv is m-rail2.csv; all of them as they are without one.
-- @param rail number or nil
function files.of_rail(want, rail)
   local list = {}
   for kind, path in pairs(want) do
      local stem, ending = path:match "^(.*[^/])(%.[^./]+)$"
      list[kind] = path
      if rail and path ~= "-" then
         list[kind] = ("%s-rail%d%s"):format(stem or path, rail, ending or "")
      end
   end
   return list
end

--- Those of them that are files.
function files.without_stdout(want)
   local list = {}
   for kind, path in pairs(want) do
      if path ~= "-" then
         list[kind] = path
      end
   end
   return list
end

--- Is one of them standard output ("-")?  Then nothing else belongs there.
function files.uses_stdout(want)
   return want.csv == "-" or want.json == "-" or want.svg == "-"
end

--- Write the files that were asked for.
-- @param matrix matrix
-- @param options as for json, and for the picture subtitle, levels
-- @param want { csv, json, svg, png = paths or nil }
-- @return array of errors
function files.write(matrix, options, want)
   local wrong = {}
   local function note_written(ok, err)
      if not ok then
         wrong[#wrong + 1] = err
      end
   end
   if want.csv then
      note_written(save.text(want.csv, files.csv(matrix)))
   end
   if want.json then
      note_written(save.text(want.json, files.json(matrix, options)))
   end
   local text = (want.svg or want.png) and picture.svg(matrix, options)
   if want.svg then
      note_written(save.text(want.svg, text))
   end
   if want.png then
      note_written(save.png(want.png, text))
   end
   return wrong
end

return files
