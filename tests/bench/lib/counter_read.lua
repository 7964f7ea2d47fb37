-- SPDX-License-Identifier: GPL-2.0-or-later
-- Reads "NODE round FIRST SECOND" (ns) and "NODE files SOURCE IF OPENS READS FIELDS" of
-- bench-counters; prints what a reading of each node costs.
local figure = require "figure"
local stats = require "stats"
local units = require "kernel.units"

local NODES = { "infiniband", "roce", "slingshot", "aries" }
local runs, most = {}, {}
for _, node in ipairs(NODES) do
   runs[node] = { first = {}, second = {}, files = {} }
end
for line in io.lines() do
   local node, a, b = line:match "^(%a+) round (%d+) (%d+)$"
   if node then
      table.insert(runs[node].first, a / 1e6)
      table.insert(runs[node].second, b / 1e6)
   else
      local source, interface, opens, reads, fields
      node, source, interface, opens, reads, fields =
         line:match "^(%a+) files (%a+) (%w+) (%d+) (%d+) (%d+)$"
      runs[assert(node, line)].files[source .. " " .. interface] = { source = source,
         opens = tonumber(opens), reads = tonumber(reads), fields = tonumber(fields) }
   end
end

print "node        first: median  least  worst    again: median    files opened  read  told"
for _, node in ipairs(NODES) do
   local r, opens, reads, fields = runs[node], 0, 0, 0
   for _, f in pairs(r.files) do
      opens, reads, fields = opens + f.opens, reads + f.reads, fields + f.fields
      if not most.opens or f.opens > most.opens then
         most = { opens = f.opens, source = f.source }
      end
   end
   print(("%-12s %13.2f %6.2f %6.2f %16.2f %15d %5d %5d"):format(node, stats.median(r.first),
      math.min(table.unpack(r.first)), math.max(table.unpack(r.first)), stats.median(r.second),
      opens, reads, fields))
end
print()
for _, node in ipairs(NODES) do
   local by, words = {}, {}
   for _, f in pairs(runs[node].files) do
      if not by[f.source] or f.opens > by[f.source].opens then
         by[f.source] = f
      end
   end
   for source, f in pairs(by) do
      words[#words + 1] = ("%s %d opened, %d read, %d told"):format(source, f.opens, f.reads,
         f.fields)
   end
   table.sort(words)
   print(("%-12s a port at most: %s"):format(node, table.concat(words, "; ")))
end
print()
units.figure("counter_read", stats.median(runs.infiniband.first), "ms", "<=", 5)
for _, node in ipairs { "roce", "slingshot", "aries" } do
   units.figure("counter_read_" .. node, stats.median(runs[node].first), "ms")
end
units.figure("counter_again", stats.median(runs.infiniband.second), "ms")
figure("counter_opens", most.opens, "files", "<=", 64)
