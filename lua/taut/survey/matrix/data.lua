-- SPDX-License-Identifier: GPL-2.0-or-later
--- What was measured of all pairs: n × n figures, row = sender, column = receiver.
--
-- Flat arrays, since a large machine has millions of pairs.  A pair's class is "good", "low",
-- "void" (measured, but the figure means nothing) or nil (not measured).
local tables = require "taut.base.tables"

local data = {}
local Data = {}
Data.__index = Data

--- @param names of the nodes, in the order of rows and columns (the topology's)
-- @param options { good = least share of the expectation that is good, mode = "stream" or
--   "latency", apart = pairs that nothing joins, so that they are not measured, or nil }
-- @return an empty matrix
function data.new(names, options)
   options = options or {}
   local self = setmetatable({ names = names, n = #names, index = {}, good = options.good or 0.75,
      mode = options.mode or "stream", apart = options.apart or 0, bw = {}, expected = {},
         class = {},
      why = {}, again = {}, median_ns = {}, p99_ns = {}, hops = {} }, Data)
   for i, name in ipairs(names) do
      self.index[name] = i
   end
   return self
end

function Data:key(row, column)
   return (row - 1) * self.n + column
end

--- Row and column of a key.
function Data:at(key)
   return (key - 1) // self.n + 1, (key - 1) % self.n + 1
end

--- Take what was measured of a pair; a later measurement replaces an earlier one.
-- @param row, column sender, receiver
-- @param result { bw_Bps, expected_Bps, class, why, again = measured alone once more, and of a
--   latency lat_ns = { median, p99 }, hops = links on the route }
function Data:set(row, column, result)
   local k = self:key(row, column)
   self.class[k], self.why[k] = result.class, result.why
   self.bw[k], self.expected[k] = result.bw_Bps, result.expected_Bps
   self.again[k] = result.again or self.again[k]
   self.median_ns[k] = result.lat_ns and result.lat_ns.median
   self.p99_ns[k] = result.lat_ns and result.lat_ns.p99
   self.hops[k] = result.hops
end

--- Share of the expectation that a pair reached; nil where there is no figure.
function Data:ratio(row, column)
   local k = self:key(row, column)
   local class = self.class[k]
   local is_known = (class == "good" or class == "low") and self.bw[k]
   if is_known and (self.expected[k] or 0) > 0 then
      return self.bw[k] / self.expected[k]
   end
   return nil
end

--- Latencies have no capacity to be held against: a pair is low when it takes more than `times`
-- the median of the pairs with as many links between them.
function Data:judge_latency(times)
   local of, expected = {}, {}
   self.good = 1 / times
   for k, ns in pairs(self.median_ns) do
      local h = self.hops[k] or 0
      of[h] = of[h] or {}
      table.insert(of[h], ns)
   end
   for h, list in pairs(of) do
      expected[h] = tables.median(list)
   end
   for k, ns in pairs(self.median_ns) do
      local usual = expected[self.hops[k] or 0]
      -- as rates, so that everything else holds for both
      self.bw[k], self.expected[k] = 1e9 / ns, 1e9 / usual
      self.class[k] = "low"
      if ns <= times * usual then
         self.class[k] = "good"
      end
   end
end

--- How many pairs there are to be measured.
function Data:pairs_of()
   return self.n * (self.n - 1) - self.apart
end

--- Numbers for a heading.
-- @return { pairs, measured, good, low, void, median_Bps, ratio (median), worst = { i, j, ratio } }
function Data:summary()
   local s = { pairs = self:pairs_of(), measured = 0, good = 0, low = 0, void = 0 }
   local bws, ratios = {}, {}
   for k, class in pairs(self.class) do
      s[class] = s[class] + 1
      s.measured = s.measured + 1
      local i, j = self:at(k)
      local r = self:ratio(i, j)
      if r then
         bws[#bws + 1], ratios[#ratios + 1] = self.bw[k], r
         local w = s.worst
         if not w or r < w.ratio or r == w.ratio and k < self:key(w.i, w.j) then
            s.worst = { i = i, j = j, ratio = r }
         end
      end
   end
   s.median_Bps, s.ratio = tables.median(bws), tables.median(ratios)
   return s
end

--- Median ratio of each row and of each column; nil where nothing was measured.
-- @return rows, columns: arrays with holes
function Data:margins()
   local row, column = {}, {}
   for i = 1, self.n do
      row[i], column[i] = {}, {}
   end
   for k in pairs(self.class) do
      local i, j = self:at(k)
      local r = self:ratio(i, j)
      if r then
         table.insert(row[i], r)
         table.insert(column[j], r)
      end
   end
   for i = 1, self.n do
      row[i], column[i] = tables.median(row[i]), tables.median(column[i])
   end
   return row, column
end

return data
