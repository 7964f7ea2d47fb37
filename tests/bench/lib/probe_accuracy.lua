-- SPDX-License-Identifier: GPL-2.0-or-later
-- Reads what probe_accuracy's turns printed; prints the table and the figures.
-- usage: probe_accuracy.lua TESTS FROM TO <RUNS
--        probe_accuracy.lua --count LEVEL FROM TO <RUNS    tests that are not void
local figure = require "figure"
local json = require "taut.json"
local stats = require "stats"

local LEVELS = { 100, 50, 25 }

local counting = arg[1] == "--count" and table.remove(arg, 1)
local number, from, to = tonumber(arg[1]), arg[2], arg[3]

local function empty()
   return { iperf = {}, probe = {}, jobs = 0, void = 0, none = 0, why = {} }
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
   local level, Bps = line:match("^iperf%s+(%d+)%s+(%S+)$")
   if level then
      table.insert(levels[tonumber(level)].iperf, tonumber(Bps))
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

print("        iperf3, MB/s              taut-probe, MB/s                     ratio of the medians")
print("level   runs  median  5-95 %      tests  median  5-95 %         void   and 95 % interval")
for _, level in ipairs(LEVELS) do
   local l = levels[level]
   -- the first so many, so that no more are taken where it would help
   local probe = table.move(l.probe, 1, math.min(number, #l.probe), 1, {})
   local reference = stats.median(l.iperf)
   local function MB(list, share)
      return (stats.quantile(list, share) or 0) / 1e6
   end
   local ratio = #probe > 0 and stats.median(probe) / reference
   local low, high = 0, 0
   if ratio then
      low, high = stats.interval(probe)
   end
   local row = "%4d %% %5d  %6.3f  %.3f-%.3f  %6d  %6.3f  %6.3f-%.3f %5.1f %%   %.4f  %.4f-%.4f"
   print(row:format(level, #l.iperf, MB(l.iperf, 0.5), MB(l.iperf, 0.05), MB(l.iperf, 0.95), #probe,
      MB(probe, 0.5), MB(probe, 0.05), MB(probe, 0.95), 100 * l.void / math.max(1, l.jobs),
      ratio or 0, low / reference, high / reference))
   l.off = ratio and 100 * math.abs(ratio - 1)
   l.spread = ratio and { MB(probe, 0.05) * 1e6 / reference, MB(probe, 0.95) * 1e6 / reference }
end
for _, level in ipairs(LEVELS) do
   local l = levels[level]
   for why, n in pairs(l.why) do
      print(("%d %%: %d void: %s"):format(level, n, why))
   end
   if l.none > 0 then
      print(("%d %%: %d jobs without a test over the link"):format(level, l.none))
   end
end
print()
for _, level in ipairs(LEVELS) do
   local l = levels[level]
   figure(("probe_accuracy.%d_percent"):format(level), l.off, "%", "<=", 5)
   figure(("probe_accuracy.%d_percent.p5"):format(level), l.spread and l.spread[1], "of_iperf3")
   figure(("probe_accuracy.%d_percent.p95"):format(level), l.spread and l.spread[2], "of_iperf3")
   figure(("probe_accuracy.%d_percent.void"):format(level), 100 * l.void / math.max(1, l.jobs),
      "%")
end
