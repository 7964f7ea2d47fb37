-- SPDX-License-Identifier: GPL-2.0-or-later
--- Rows that wait in memory for the store, in order: so many, and of so many bytes.
--
-- While much waits, what one node told of its counters has a share of that, so that one that tells
-- much takes no room from the others.
local tables = require "taut.base.tables"

local waiting = {}
local Waiting = {}
Waiting.__index = Waiting

local ROWS_MAX, BYTES_MAX = 200000, 64 << 20
local DETAIL = 3 / 4         -- of that for details; the rest is for what was decided
local VITAL = tables.set { "action", "component", "drained", "evidence", "setting", "together",
   "verdict" }
local CALM_BYTES = 4 << 20   -- below this, shares are not limited
local NODE_BYTES = 128 << 10 -- of samples of one node
local VALUE_BYTES, DEPTH = 24, 4

-- What a row takes as JSON, about.
local function bytes_of(value, depth)
   if type(value) == "string" then
      return #value + VALUE_BYTES
   elseif type(value) ~= "table" or depth > DEPTH then
      return VALUE_BYTES
   end
   local n = VALUE_BYTES
   for _, part in pairs(value) do
      n = n + bytes_of(part, depth + 1)
   end
   return n
end

-- Counts a row in (by = 1) or out (by = -1).
local function count_row(self, row, by)
   local bytes = by * bytes_of(row[2], 0)
   self.count, self.bytes = self.count + by, self.bytes + bytes
   if row[1] == "sample" then
      local node = row[2].node
      local left = (self.of_node[node] or 0) + bytes
      self.of_node[node] = nil
      if left > 0 then
         self.of_node[node] = left
      end
   end
end

--- Add a row.
-- @param row { table, columns }
-- @return true; or nil and why there is no room for it
function Waiting:add(row)
   local part = DETAIL
   if VITAL[row[1]] then
      part = 1
   end
   if self.count >= part * ROWS_MAX or self.bytes >= part * BYTES_MAX then
      return nil, ("%d rows (%d MB) wait for the database"):format(self.count,
         self.bytes // 1000000)
   elseif self.bytes > CALM_BYTES and row[1] == "sample"
      and (self.of_node[row[2].node] or 0) > NODE_BYTES then
      return nil, ("%s has %d kB of samples that wait for the database"):format(row[2].node,
         self.of_node[row[2].node] // 1000)
   end
   self.last = self.last + 1
   self.rows[self.last] = row
   count_row(self, row, 1)
   return true
end

--- Take the first rows.
-- @param most_rows, most_bytes of them; one row comes in any case, where there is one
-- @return array of rows
function Waiting:take(most_rows, most_bytes)
   local list, left = {}, self.bytes
   while self.first <= self.last and #list < most_rows
      and (#list == 0 or left - self.bytes < most_bytes) do
      local row = self.rows[self.first]
      self.rows[self.first] = nil
      self.first = self.first + 1
      list[#list + 1] = row
      count_row(self, row, -1)
   end
   return list
end

--- Rows that were taken, and could not be written, wait again before all others.
function Waiting:give_back(rows)
   for i = #rows, 1, -1 do
      self.first = self.first - 1
      self.rows[self.first] = rows[i]
      count_row(self, rows[i], 1)
   end
end

function waiting.new()
   return setmetatable({ rows = {}, first = 1, last = 0, count = 0, bytes = 0, of_node = {} },
      Waiting)
end

return waiting
