-- SPDX-License-Identifier: GPL-2.0-or-later
--- A matrix as files: CSV, JSON, SVG, PNG.
local tables = require "taut.base.tables"
local json = require "taut.json"
local picture = require "taut.survey.matrix.picture"
local save = require "taut.report.save"
local sys = require "taut.sys"

local files = {}

local PATH_MAX = 4000

---------------------------------------------------------------- CSV

-- RFC 4180; a text that a spreadsheet would take for a formula gets an apostrophe before it.
local function cell(v)
   if v == nil then
      return ""
   elseif math.type(v) == "float" then
      return ("%.6g"):format(v)
   elseif type(v) ~= "string" then
      return tostring(v)
   end
   v = v:gsub("%c", " ")
   if v:find "^[=+@-]" then
      v = "'" .. v
   end
   return v:find '[",]' and '"' .. v:gsub('"', '""') .. '"' or v
end

local function line(list, n)
   local parts = tables.fill(1, n, function(i) return cell(list[i]) end)
   return table.concat(parts, ",") .. "\r\n"
end

--- One line for each pair, in the order of rows and columns.
-- @param m matrix
-- @return text
function files.csv(m)
   local latency = m.mode == "latency"
   local parts = { latency and line({ "from", "to", "median_ns", "p99_ns", "usual_ns", "class",
      "measured_again", "why" }, 8) or line({ "from", "to", "bw_Bps", "expected_Bps", "ratio",
      "class", "measured_again", "why" }, 8) }
   for i = 1, m.n do
      for j = 1, m.n do
         local k = m:key(i, j)
         local class, again = m.class[k], m.again[k] and "yes" or "no"
         if i ~= j and latency then
            local usual = class ~= "void" and m.expected[k]
            parts[#parts + 1] = line({ m.names[i], m.names[j], m.median_ns[k], m.p99_ns[k],
               usual and math.floor(1e9 / usual + 0.5) or nil, class or "none", again,
               m.why[k] }, 8)
         elseif i ~= j then
            local void = class == "void" or not class
            parts[#parts + 1] = line({ m.names[i], m.names[j],
               not void and math.floor(m.bw[k] + 0.5) or nil,
               m.expected[k] and math.floor(m.expected[k] + 0.5) or nil, m:ratio(i, j),
               class or "none", again, m.why[k] }, 8)
         end
      end
   end
   return table.concat(parts)
end

---------------------------------------------------------------- JSON

-- Rows of figures; null where there is none.
local function rows_of(m, get)
   local rows = json.array {}
   for i = 1, m.n do
      local row = json.array {}
      for j = 1, m.n do
         local v = get(m:key(i, j), i, j)
         row[j] = v == nil and json.null or v
      end
      rows[i] = row
   end
   return rows
end

local function whole(v)
   return v and math.floor(v + 0.5)
end

-- `cells` are for the picture only: `class` has every pair.
local function without_cells(findings)
   local list = json.array {}
   for i, f in ipairs(findings) do
      list[i] = {}
      for k, v in pairs(f) do
         list[i][k] = k ~= "cells" and v or nil
      end
   end
   return list
end

--- Everything, as data: matrices are rows (senders) of columns (receivers) in the order of `nodes`.
-- @param m matrix
-- @param o { findings (with `text`), unnamed, info = table of what it was measured with }
-- @return text
function files.json(m, o)
   local has = function(k) return m.class[k] == "good" or m.class[k] == "low" end
   local d = { nodes = json.array(m.names), mode = m.mode, good = m.good, summary = m:summary(),
      findings = without_cells(o.findings), unnamed = o.unnamed, info = o.info,
      class = rows_of(m, function(k, i, j) return i ~= j and (m.class[k] or "none") or nil end),
      why = json.array {} }
   if m.mode == "latency" then
      d.median_ns = rows_of(m, function(k) return has(k) and m.median_ns[k] or nil end)
      d.p99_ns = rows_of(m, function(k) return has(k) and m.p99_ns[k] or nil end)
   else
      d.bw_Bps = rows_of(m, function(k) return has(k) and whole(m.bw[k]) or nil end)
      d.expected_Bps = rows_of(m, function(k) return whole(m.expected[k]) end)
   end
   for k, why in pairs(m.why) do
      local i, j = m:at(k)
      d.why[#d.why + 1] = { from = m.names[i], to = m.names[j], why = why }
   end
   table.sort(d.why, function(a, b)
      return a.from < b.from or a.from == b.from and a.to < b.to
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
-- @return array of what is wrong
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
      list[kind] = rail and path ~= "-" and ("%s-rail%d%s"):format(stem or path, rail,
         ending or "") or path
   end
   return list
end

--- Those of them that are files.
function files.without_stdout(want)
   local list = {}
   for kind, path in pairs(want) do
      list[kind] = path ~= "-" and path or nil
   end
   return list
end

--- Is one of them standard output ("-")?  Then nothing else belongs there.
function files.uses_stdout(want)
   return want.csv == "-" or want.json == "-" or want.svg == "-"
end

--- Write the files that were asked for.
-- @param m matrix
-- @param o as for json, and for the picture subtitle, levels
-- @param want { csv, json, svg, png = paths or nil }
-- @return array of what went wrong
function files.write(m, o, want)
   local wrong = {}
   local function note(ok, err)
      if not ok then
         wrong[#wrong + 1] = err
      end
   end
   if want.csv then
      note(save.text(want.csv, files.csv(m)))
   end
   if want.json then
      note(save.text(want.json, files.json(m, o)))
   end
   local text = (want.svg or want.png) and picture.svg(m, o)
   if want.svg then
      note(save.text(want.svg, text))
   end
   if want.png then
      note(save.png(want.png, text))
   end
   return wrong
end

return files
