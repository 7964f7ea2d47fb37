-- SPDX-License-Identifier: GPL-2.0-or-later
-- Reads "WORD B/s" of each run; prints the table and the figures.
local figure = require "figure"
local stats = require "stats"

local runs = { tcp = {}, iperf3 = {}, ofi = {}, pingpong = {} }
for line in io.lines() do
   local word, Bps = line:match("^(%w+) (%S+)$")
   if runs[word] then
      table.insert(runs[word], tonumber(Bps))
   end
end

local names = { { "tcp", "engine, TCP" }, { "iperf3", "iperf3" },
   { "ofi", "engine, libfabric tcp" },
   { "pingpong", "fi_pingpong -p tcp -e rdm" } }
print(("%-26s %5s %8s %8s %8s"):format("GB/s", "runs", "median", "least", "best"))
for _, n in ipairs(names) do
   local l = runs[n[1]]
   print(("%-26s %5d %8.3f %8.3f %8.3f"):format(n[2], #l, (stats.median(l) or 0) / 1e9,
      (stats.quantile(l, 0) or 0) / 1e9, (stats.quantile(l, 1) or 0) / 1e9))
end
print()
for _, pair in ipairs { { "tcp", "iperf3" }, { "ofi", "pingpong" } } do
   local ours, theirs = runs[pair[1]], runs[pair[2]]
   local some = #ours > 0 and #theirs > 0
   figure(("probe_throughput.%s"):format(pair[1]),
      some and stats.median(ours) / stats.median(theirs), "of_" .. pair[2], ">=", 0.9)
   figure(("probe_throughput.%s_best"):format(pair[1]),
      some and stats.quantile(ours, 1) / stats.quantile(theirs, 1), "of_" .. pair[2])
end
