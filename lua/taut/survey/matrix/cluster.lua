-- SPDX-License-Identifier: GPL-2.0-or-later
--- Rows, columns and blocks of slow pairs, where no route explains them (no topology, or another
-- routing than it says): "slow with all others" is a node, "slow from these to those" a boundary.
local tables = require "taut.base.tables"

local cluster = {}

local MOST = 0.8
local BLOCK = 6      -- slow pairs that make a block
local DENSE = 0.6    -- of its pairs that are slow

-- Slow and all measured pairs per row and column; those of rows and columns named already are left
-- out, or every column would look slow next to a few slow rows.
local function count_lines(matrix, low, out_row, out_column)
   local row, column = {}, {}
   for i = 1, matrix.n do
      row[i], column[i] = { low = 0, all = 0 }, { low = 0, all = 0 }
   end
   for k, class in pairs(matrix.class) do
      local i, j = matrix:at(k)
      if class ~= "void" and not out_row[i] and not out_column[j] then
         row[i].all, column[j].all = row[i].all + 1, column[j].all + 1
         if low[k] then
            row[i].low, column[j].low = row[i].low + 1, column[j].low + 1
         end
      end
   end
   return row, column
end

local function worst_line(list)
   local best
   for i, l in ipairs(list) do
      if l.low >= 2 and l.low >= MOST * l.all and (not best or l.low > list[best].low) then
         best = i
      end
   end
   return best
end

local function keys_of(matrix, low, is_in)
   local list = {}
   for k in pairs(low) do
      local i, j = matrix:at(k)
      if is_in(i, j) then
         list[#list + 1] = k
      end
   end
   table.sort(list)
   return list
end

local function take_lines(matrix, low, found)
   local out_row, out_column = {}, {}
   while true do
      local row, column = count_lines(matrix, low, out_row, out_column)
      local i, j = worst_line(row), worst_line(column)
      if not i and not j then
         return
      end
      local keys, line
      if i and (not j or row[i].low >= column[j].low) then
         line, keys = row[i], keys_of(matrix, low, function(one) return one == i end)
         found[#found + 1] = { kind = "row", at = i, pairs = keys, clear = line.all - line.low }
         out_row[i] = true
      else
         line, keys = column[j], keys_of(matrix, low, function(_, other) return other == j end)
         found[#found + 1] = { kind = "column", at = j, pairs = keys, clear = line.all - line.low }
         out_column[j] = true
      end
      for _, k in ipairs(keys) do
         low[k] = nil
      end
   end
end

-- Slow columns of a row, as an ordered list.
local function columns_of(matrix, low, row)
   local list = {}
   for j = 1, matrix.n do
      if low[matrix:key(row, j)] then
         list[#list + 1] = j
      end
   end
   return list
end

local function do_overlap(columns, others)
   local has = tables.set(columns)
   local same = tables.count(others, function(column) return has[column] end)
   return same / math.max(#columns, #others)
end

-- Rows whose slow columns are nearly those of this row.
local function rows_like(matrix, low, row, mine)
   local rows = {}
   for a = 1, matrix.n do
      local theirs = columns_of(matrix, low, a)
      if a == row or #theirs > 0 and do_overlap(mine, theirs) >= 0.5 then
         rows[#rows + 1] = a
      end
   end
   return rows
end

local function take_blocks(matrix, low, found, pause)
   for i = 1, matrix.n do
      pause()
      local columns = columns_of(matrix, low, i)
      local rows = {}
      if #columns > 0 then
         rows = rows_like(matrix, low, i, columns)
      end
      local in_row, in_column = {}, {}
      for _, a in ipairs(rows) do
         in_row[a] = true
      end
      for _, b in ipairs(columns) do
         in_column[b] = true
      end
      local keys = keys_of(matrix, low, function(one, other)
         return in_row[one] and in_column[other]
      end)
      if #rows > 1 and #columns > 1 and #keys >= BLOCK and #keys >= DENSE * #rows * #columns then
         found[#found + 1] = { kind = "block", rows = rows, columns = columns, pairs = keys,
            clear = #rows * #columns - #keys }
         for _, k in ipairs(keys) do
            low[k] = nil
         end
      end
   end
end

--- Group slow pairs.
-- @param matrix matrix
-- @param keys array of slow pairs
-- @param pause called often
-- @return array of { kind = "row", "column" (at = number) or "block" (rows, columns), pairs,
--   clear }; array of the keys that are in none
function cluster.find(matrix, keys, pause)
   local low, found, rest = {}, {}, {}
   for _, k in ipairs(keys) do
      low[k] = true
   end
   take_lines(matrix, low, found)
   pause()
   take_blocks(matrix, low, found, pause)
   for _, k in ipairs(keys) do
      if low[k] then
         rest[#rest + 1] = k
      end
   end
   return found, rest
end

return cluster
