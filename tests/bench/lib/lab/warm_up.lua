-- SPDX-License-Identifier: GPL-2.0-or-later
-- Reads "LEVEL MS JSON" of each test; prints what the first fifth of a test and the rest reached.
local figure = require "figure"
local json = require "taut.json"
local stats = require "stats"

local LEVELS = { { 100, "100 %" }, { 50, "50 %" }, { 25, "25 %" }, { 10, "10 %" }, { 1, "1 %" },
   { 0, "unshaped" } }
local LENGTHS = { 5, 10, 20, 40, 80, 160 }

local runs = {}
for line in io.lines() do
   local level, ms, text = line:match("^(%d+) (%d+) (.*)$")
   local recv = assert(json.decode(text)).recv
   level, ms = tonumber(level), tonumber(ms)
   runs[level] = runs[level] or {}
   runs[level][ms] = runs[level][ms] or { first = {}, window = {} }
   if recv.bytes and recv.total_bytes > 0 then
      table.insert(runs[level][ms].first, (recv.total_bytes - recv.bytes) / (ms / 5))
      table.insert(runs[level][ms].window, recv.bytes / (ms * 4 / 5))
   end
end

io.write "test, ms   "
for _, ms in ipairs(LENGTHS) do
   io.write(("%18d"):format(ms))
end
print("\nleft out, ms" .. ("%17g %17g %17g %17g %17g %17g"):format(1, 2, 4, 8, 16, 32))
print("level         MB/s" .. ("       first  rest"):rep(#LENGTHS))
for _, l in ipairs(LEVELS) do
   local of = runs[l[1]] or {}
   local truth = of[160] and stats.median(of[160].window) or 0
   io.write(("%-10s %7.2f"):format(l[2], truth / 1e3))
   for _, ms in ipairs(LENGTHS) do
      local r = of[ms] or { first = {}, window = {} }
      io.write(("  %8.1f %6.1f %%"):format(100 * (stats.median(r.first) or 0) / truth,
         100 * (stats.median(r.window) or 0) / truth))
   end
   print()
end
print()
for _, ms in ipairs { 5, 20 } do
   local of = runs[100]
   figure(("warm_up_%d_ms"):format(ms),
      100 * stats.median(of[ms].window) / stats.median(of[160].window), "%")
end
