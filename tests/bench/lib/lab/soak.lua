-- SPDX-License-Identifier: GPL-2.0-or-later
-- What soak noted, as figures: lab/soak.lua ROWS MINUTES
local figure = require "figure"
local stats = require "stats"

local path, minutes = arg[1], tonumber(arg[2])
math.randomseed(tonumber(os.getenv "BENCH_SEED" or "1"))

local MOST_POINTS, BLOCKS, AGAIN = 150, 10, 200
local GRACE_S, LEAST_S = 90, 60 -- a verdict may come so late; a fault is to be found in so long
local OURS = { tautd = true, store = true, ["taut-slurm"] = true }

-- ---- reading ----

local memory, order, sizes, began, faults = {}, {}, {}, {}, {}
local now_there = {} -- verdict or drain -> when it was last seen

local function note_memory(t, name, pid, pss, fds)
   if not memory[name] then
      memory[name] = {}
      order[#order + 1] = name
   end
   local list = memory[name]
   list[#list + 1] = { t = tonumber(t), pid = pid, pss = tonumber(pss), fds = tonumber(fds) }
end

local function note_size(t, bytes, tests)
   local last = sizes[#sizes]
   bytes, tests = tonumber(bytes), tonumber(tests)
   if bytes and tests then
      local more = last and tests - last.count or tests
      sizes[#sizes + 1] = { t = tonumber(t), bytes = bytes, count = tests,
         tests = (last and last.tests or 0) + (more < 0 and tests or more) }
   end
end

-- What was not there 20 s ago begins anew.
local function note_verdict(t, what)
   t = tonumber(t)
   if not now_there[what] or t - now_there[what] > 20 then
      began[#began + 1] = { t = t, what = what }
   end
   now_there[what] = t
end

local function note_fault(word, t, what)
   if word == "fault" then
      faults[#faults + 1] = { what = what, from = tonumber(t), to = math.huge }
   elseif word == "healed" then
      faults[#faults].to = tonumber(t)
   end
end

for line in io.lines(path) do
   local w = {}
   for word in line:gmatch "%S+" do
      w[#w + 1] = word
   end
   if w[1] == "mem" and w[6] then
      note_memory(table.unpack(w, 2))
   elseif w[1] == "db" then
      note_size(table.unpack(w, 2))
   elseif (w[1] == "verdict" or w[1] == "drain") and w[3] then
      note_verdict(w[2], w[3])
   elseif w[1] == "fault" or w[1] == "healed" then
      note_fault(table.unpack(w))
   end
end

-- ---- memory ----

-- Points of the process that was there last, without the first fifth of the run or of its own life.
local function settled(list)
   local last, own = list[#list], {}
   for _, p in ipairs(list) do
      if p.pid == last.pid then
         own[#own + 1] = p
      end
   end
   local from = math.max(minutes * 60 / 4, own[1].t) + (last.t - own[1].t) / 5
   local kept = {}
   for _, p in ipairs(own) do
      if p.t >= from then
         kept[#kept + 1] = p
      end
   end
   local thin = {}
   for i = 1, #kept, math.max(1, math.ceil(#kept / MOST_POINTS)) do
      thin[#thin + 1] = kept[i]
   end
   return thin
end

-- Median of the slopes of all pairs, in kB an hour (Theil and Sen).
local function slope(points)
   local slopes = {}
   for i = 1, #points do
      for j = i + 1, #points do
         if points[j].t ~= points[i].t then
            slopes[#slopes + 1] = (points[j].pss - points[i].pss) / (points[j].t - points[i].t)
         end
      end
   end
   return (stats.median(slopes) or 0 / 0) * 3600
end

-- Neighbours in time are alike, so whole blocks are drawn.
local function interval(points)
   local size, values = math.max(1, #points // BLOCKS), {}
   for i = 1, AGAIN do
      local drawn = {}
      for _ = 1, BLOCKS do
         local from = math.random(math.max(1, #points - size + 1))
         table.move(points, from, math.min(#points, from + size - 1), #drawn + 1, drawn)
      end
      values[i] = slope(drawn)
   end
   return stats.quantile(values, 0.025), stats.quantile(values, 0.975)
end

local function of(points, key)
   local list = {}
   for i, p in ipairs(points) do
      list[i] = p[key]
   end
   return list
end

-- By how many the last third has more descriptors open than the first.
local function fds_more(points)
   local third, list = #points // 3, of(points, "fds")
   return stats.median(table.move(list, #list - third + 1, #list, 1, {})) -
      stats.median(table.move(list, 1, third, 1, {}))
end

local worst, least_sure, fds
print("process        PSS kB   %/hour   95 % interval         descriptors   more")
for _, name in ipairs(order) do
   local points = settled(memory[name])
   if #points < 9 then
      print(("%-12s only %d points"):format(name, #points))
   else
      local middle = stats.median(of(points, "pss"))
      local low, high = interval(points)
      local percent, more = 100 * slope(points) / middle, fds_more(points)
      print(("%-12s %8.0f %+8.2f   %+8.2f … %+8.2f   %11.0f  %+5.1f"):format(name, middle, percent,
         100 * low / middle, 100 * high / middle, stats.median(of(points, "fds")), more))
      if OURS[name] then
         fds = math.max(fds or more, more)
         if not worst or percent > worst then
            worst, least_sure = percent, 100 * low / middle
         end
      end
   end
end

-- ---- the database ----

local function predicted()
   local half
   for i, s in ipairs(sizes) do
      if s.t >= minutes * 30 then
         half = i
         break
      end
   end
   local first, middle, last = sizes[math.max(1, (half or 1) // 4)], sizes[half], sizes[#sizes]
   if not half or middle.tests == first.tests then
      return nil
   end
   local each = (middle.bytes - first.bytes) / (middle.tests - first.tests)
   local bytes = middle.bytes + each * (last.tests - middle.tests)
   print(("\ndatabase: %.0f kB of %d tests, %.0f bytes a test in the first half; " ..
      "at the end %.0f kB, by the first half %.0f kB"):format(middle.bytes / 1e3, middle.tests,
      each, last.bytes / 1e3, bytes / 1e3))
   return last.bytes / bytes
end

local ratio = predicted()

-- ---- verdicts ----

local function node_of(component)
   return component:match "^(n%d+)/"
end

local function is_of(what, f)
   return what == f.what or what == node_of(f.what)
end

local wrong, missed, long = 0, 0, 0
for _, v in ipairs(began) do
   local is_right = false
   for _, f in ipairs(faults) do
      is_right = is_right or is_of(v.what, f) and v.t >= f.from and v.t <= f.to + GRACE_S
   end
   if not is_right then
      wrong = wrong + 1
      print(("wrong: %s after %d s"):format(v.what, v.t))
   end
end
for _, f in ipairs(faults) do
   if f.to < math.huge and f.to - f.from >= LEAST_S then
      local found = false
      for _, v in ipairs(began) do
         found = found or is_of(v.what, f) and v.t >= f.from and v.t <= f.to + 30
      end
      long, missed = long + 1, missed + (found and 0 or 1)
      if not found then
         print(("not called: %s from %d s to %d s"):format(f.what, f.from, f.to))
      end
   end
end
print(("faults: %d, of which %d for %d s or more; %d tests\n"):format(#faults, long, LEAST_S,
   sizes[#sizes] and sizes[#sizes].tests or 0))

figure("soak.slope_percent_hour", worst, "%/h", "<=", 1)
figure("soak.slope_lower_bound", least_sure, "%/h", "<=", 1)
figure("soak.fds", fds, "descriptors", "<=", 0)
figure("soak.database", ratio, "of_predicted", "<=", 1.1)
figure("soak.wrong", wrong, "verdicts", "<=", 0)
figure("soak.missed", missed, "faults")
