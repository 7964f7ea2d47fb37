-- SPDX-License-Identifier: GPL-2.0-or-later
-- Reads what probe_accuracy's turns printed; prints the table and the figures.
-- usage: probe_accuracy.lua TESTS FROM TO <RUNS
--        probe_accuracy.lua --count LEVEL FROM TO <RUNS    tests that are not void
local figure = require "figure"
local json = require "taut.json"
local stats = require "stats"

local LEVELS = { 100, 75, 50, 25, 10 }

local counting = arg[1] == "--count" and table.remove(arg, 1)
local number, from, to = tonumber(arg[1]), arg[2], arg[3]

local function empty()
   return { iperf = {}, short = {}, probe = {}, jobs = 0, void = 0, none = 0, why = {} }
end

local levels = {}
for _, level in ipairs(LEVELS) do
   levels[level] = empty()
end

-- Of each job the one test over the link.
local function take_check(l, check)
   l.jobs = l.jobs + 1
   for _, t in ipairs(check.tests) do
      if t.src == from and t.dst == to then
         if t.class == "void" then
            l.void = l.void + 1
            local why = tostring(t.why):gsub("[%d.]+", "N")
            l.why[why] = (l.why[why] or 0) + 1
         else
            l.probe[#l.probe + 1] = t.bw_Bps
         end
         return
      end
   end
   l.none = l.none + 1
end

for line in io.lines() do
   local word, level, Bps = line:match("^(%l+)%s+(%d+)%s+([%d.e+-]+)$")
   if word == "iperf" or word == "short" then
      table.insert(levels[tonumber(level)][word], tonumber(Bps))
   else
      local at, text = line:match("^check (%d+) (.*)$")
      if at then
         take_check(levels[tonumber(at)], assert(json.decode(text)))
      end
   end
end

if counting then
   print(#levels[number].probe)
   os.exit(0)
end

-- How far values are off the truth, %, the nearest first.
local function errors(list, truth)
   local off = {}
   for i, v in ipairs(list) do
      off[i] = 100 * math.abs(v / truth - 1)
   end
   table.sort(off)
   return off
end

local function row(list, truth)
   local off = errors(list, truth)
   return #list, (stats.median(list) or 0) / 1e6, stats.median(off) or 0, off[#off] or 0
end

print("        iperf3 2 s     taut-probe                            iperf3, same time")
print("level  runs    MB/s   tests    MB/s  median  worst  disc.     runs    MB/s  median  worst")
for _, level in ipairs(LEVELS) do
   local l = levels[level]
   -- the first so many, so that no more are taken where it would help
   local probe = table.move(l.probe, 1, math.min(number, #l.probe), 1, {})
   l.truth = stats.median(l.iperf) or 0
   local n, MB, median, worst = row(probe, l.truth)
   local text = "%4d %% %4d %7.3f %7d %7.3f %5.2f %% %5.2f %% %4.1f %%"
   io.write(text:format(level, #l.iperf, l.truth / 1e6, n, MB, median, worst,
      100 * l.void / math.max(1, l.jobs)))
   text = "  %5d %7.3f %5.1f %% %5.1f %%"
   print(text:format(row(l.short, l.truth)))
   l.median, l.worst = n > 0 and median or nil, n > 0 and worst or nil
end
for _, level in ipairs(LEVELS) do
   local l = levels[level]
   for why, n in pairs(l.why) do
      print(("%d %%: %d discarded: %s"):format(level, n, why))
   end
   if l.none > 0 then
      print(("%d %%: %d jobs without a test over the link"):format(level, l.none))
   end
end
print()
for _, level in ipairs(LEVELS) do
   local l, name = levels[level], ("probe_accuracy.%d_percent"):format(level)
   local _, _, median, worst = row(l.short, l.truth)
   figure(name .. ".median", l.median, "%", "<=", 2)
   figure(name .. ".worst", l.worst, "%", "<=", 5)
   figure(name .. ".void", 100 * l.void / math.max(1, l.jobs), "%")
   figure(name .. ".iperf3_median", median, "%")
   figure(name .. ".iperf3_worst", worst, "%")
end
