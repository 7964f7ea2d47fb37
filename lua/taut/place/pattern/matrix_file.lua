-- SPDX-License-Identifier: GPL-2.0-or-later
--- Reads a traffic matrix from a file.
--
-- Two formats; lines that are empty or begin with # are left out:
--   csv     row i has the bytes that rank i sends to each rank, with commas between them
--   sparse  lines "SRC DST BYTES", ranks from 0, in any order; a line that repeats a pair adds to
--           it.  Every rank up to the highest must stand in some line: one that says nothing to
--           nobody needs "5 5 0", so that a file that lost lines is noticed.
local report = require "taut.report"
local tables = require "taut.base.tables"
local matrix_file = {}

local CHUNK = 1 << 16
local MOST_LINE = 1 << 22   -- bytes
local MOST_RANKS = 1 << 20
local MOST_CSV = 8192       -- ranks of a full matrix
local MOST_PAIRS = 1 << 22  -- that are not 0
local MOST_BYTES = 1e18     -- of one pair
local MOST_HOLES = 8        -- that an error names

-- Lines of a file, in pieces, so that one without line ends cannot fill the memory.
-- @return function → line, or nil at the end, or nil and what is wrong
local function lines_of(file)
   local rest, at, is_over = "", 1, false
   return function()
      while true do
         local stop = rest:find("\n", at, true)
         if stop then
            local line = rest:sub(at, stop - 1)
            at = stop + 1
            return line
         elseif is_over then
            local line = rest:sub(at)
            rest, at = "", 1
            return tables.unless_blank(line)
         end
         rest, at = rest:sub(at), 1
         if #rest > MOST_LINE then
            return nil, ("line of more than %d bytes"):format(MOST_LINE)
         end
         local more, err = file:read(CHUNK)
         if err then
            return nil, err
         end
         is_over = not more
         rest = rest .. (more or "")
      end
   end
end

local function quote_text(text)
   local word = text:gsub("%c", "?")
   if #word > 40 then
      return word:sub(1, 40) .. "…"
   end
   return word
end

local function bytes_of(text)
   if not text:find "^[%d.]+[eE]?%+?%d*$" then -- no nan, no hexadecimal, no sign
      return nil
   end
   local v = tonumber(text)
   if v and v <= MOST_BYTES then
      return v
   end
   return nil
end

local EXPECTED = ("expected a number of bytes from 0 to %.0e"):format(MOST_BYTES)

local function rank_of(text)
   local r = text:find "^%d%d?%d?%d?%d?%d?%d?$" and math.tointeger(tonumber(text))
   if r and r < MOST_RANKS then
      return r
   end
   return nil
end

local function add_message(data, src, dst, bytes)
   local i = #data.src + 1
   if i > MOST_PAIRS then
      return nil, ("more than %d pairs"):format(MOST_PAIRS)
   end
   data.src[i], data.dst[i], data.bytes[i] = src, dst, bytes
   return true
end

---------------------------------------------------------------- csv

local function csv_row(data, line)
   local row, column = data.ranks + 1, 0
   if row > MOST_CSV then
      return nil, ("more than %d rows; larger matrices are better written as sparse lines"):format(
         MOST_CSV)
   end
   for cell in (line .. ","):gmatch "%s*([^,]-)%s*," do
      column = column + 1
      local v = bytes_of(cell)
      if cell == "" then
         return nil, ("column %d of row %d is empty"):format(column, row)
      elseif not v then
         return nil, ("column %d: %s, got '%s'"):format(column, EXPECTED, quote_text(cell))
      elseif column > MOST_CSV then
         return nil, ("more than %d columns"):format(MOST_CSV)
      end
      local ok, err = true, nil
      if v > 0 and row ~= column then
         ok, err = add_message(data, row, column, v)
      end
      if not ok then
         return nil, err
      end
   end
   data.columns = data.columns or column
   if column ~= data.columns then
      return nil, ("row %d has %d columns, the rows before it %d"):format(row, column, data.columns)
   end
   data.ranks = row
   return true
end

local function csv_end(data)
   if data.ranks ~= (data.columns or 0) then
      return nil, ("%d rows of %d columns, expected as many rows as columns"):format(data.ranks,
         data.columns)
   end
   return true
end

---------------------------------------------------------------- sparse

local function sparse_row(data, line)
   local a, b, v, more = line:match "^%s*(%S+)%s+(%S+)%s+(%S+)%s*(.*)$"
   if not a or more ~= "" then
      return nil, ("expected SRC DST BYTES, got '%s'"):format(quote_text(line))
   end
   local src, dst, bytes = rank_of(a), rank_of(b), bytes_of(v)
   if not src or not dst then
      local wrong = a
      if src then
         wrong = b
      end
      return nil, ("expected ranks from 0 to %d, got '%s'"):format(MOST_RANKS - 1,
         quote_text(wrong))
   elseif not bytes then
      return nil, ("%s, got '%s'"):format(EXPECTED, quote_text(v))
   end
   data.seen[src], data.seen[dst] = true, true
   data.ranks = math.max(data.ranks, src + 1, dst + 1)
   if bytes == 0 or src == dst then
      return true
   end
   local key = src << 20 | dst
   local known = data.at[key]
   if known then
      data.bytes[known] = data.bytes[known] + bytes
      return true
   end
   data.at[key] = #data.src + 1
   return add_message(data, src + 1, dst + 1, bytes)
end

-- "3, 7-9" of what stands nowhere, from 0.
local function missing_cells(data)
   local list, first = {}, nil
   for r = 0, data.ranks do
      local is_hole = r < data.ranks and not data.seen[r]
      if is_hole and not first then
         first = r
      elseif not is_hole and first then
         local hole = tostring(first)
         if first < r - 1 then
            hole = ("%d-%d"):format(first, r - 1)
         end
         list[#list + 1], first = hole, nil
      end
   end
   return list
end

local function sparse_end(data)
   local list = missing_cells(data)
   if #list == 0 then
      return true
   end
   local more = ""
   if #list > MOST_HOLES then
      more = (" and %d more"):format(#list - MOST_HOLES)
   end
   return nil, ("no line for rank %s%s of %d (one that is silent needs a line such as '%s %s 0')")
      :format(table.concat(list, ", ", 1, math.min(#list, MOST_HOLES)), more, data.ranks,
         list[1]:match "^%d+", list[1]:match "^%d+")
end

---------------------------------------------------------------- both

local formats = {
   csv = { row = csv_row, finish = csv_end },
   sparse = { row = sparse_row, finish = sparse_end },
}

local function parse_file(file, path, format)
   local d = { ranks = 0, src = {}, dst = {}, bytes = {}, seen = {}, at = {} }
   local next_line, number = lines_of(file), 0
   while true do
      local line, err = next_line()
      number = number + 1
      if err then
         return nil, ("%s:%d: %s"):format(path, number, err)
      elseif not line then
         break
      end
      if not line:find "^%s*$" and not line:find "^%s*#" then
         if not format then
            format = report.text_if(line:find(",", 1, true), "csv", "sparse")
         end
         local ok
         ok, err = formats[format].row(d, line)
         if not ok then
            return nil, ("%s:%d: %s"):format(path, number, err)
         end
      end
   end
   if d.ranks == 0 then
      return nil, path .. ": no traffic in it, expected a matrix"
   end
   local ok, err = formats[format].finish(d)
   if not ok then
      return nil, ("%s: %s"):format(path, err)
   end
   return { ranks = d.ranks, src = d.src, dst = d.dst, bytes = d.bytes }
end

--- Read it.
-- @param spec { name = "matrix", file = path, format = "csv" or "sparse" (default: csv where the
--   first line has a comma), … }
-- @return spec with `data` in place of `file`, or nil and what is wrong, with file and line
function matrix_file.read(spec)
   local path = spec.file
   if path == "" then
      return nil, "pattern matrix: expected a file, as in matrix:FILE"
   elseif spec.format and not formats[spec.format] then
      return nil, ("pattern matrix: format: expected csv or sparse, got %s"):format(
         tostring(spec.format))
   end
   local file, err = io.open(path, "r")
   if not file then
      return nil, "pattern matrix: " .. err
   end
   local data
   data, err = parse_file(file, path, spec.format)
   file:close()
   if not data then
      return nil, "pattern matrix: " .. err
   end
   local out = tables.copy(spec)
   out.file, out.data = nil, data
   return out
end

return matrix_file
