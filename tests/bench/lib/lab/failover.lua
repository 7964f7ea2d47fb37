-- SPDX-License-Identifier: GPL-2.0-or-later
-- Figures of `failover` out of FOLDER: samples of who acts, log of faults, actions of the database.
local figure = require "figure"

local folder, rounds = arg[1], tonumber(arg[2])

local function lines(name)
   local list = {}
   for line in io.lines(folder .. "/" .. name) do
      list[#list + 1] = line
   end
   return list
end

-- { from, to } of times in which nobody acted; how often one acted before and after the other.
local function gaps()
   local list, double, since, last = {}, 0, nil, nil
   for _, line in ipairs(lines "samples") do
      local t, a, b = line:match "^(%d+) (%d) (%d)$"
      local now = a .. b
      if now == "00" then
         since = since or t / 1e6
      elseif since then
         list[#list + 1] = { since, t / 1e6 }
         since = nil
      end
      -- both in one look may be two moments of one change; then the next is the other one alone
      double = double + (last and last[2] == "11" and last[1] == now and 1 or 0)
      last = { last and last[2], now }
   end
   return list, double
end

-- Faults with how long nobody acted in their time; what was noted besides, by word.
local function faults(list)
   local out, count = {}, { lost = 0, undrained = 0 }
   local back
   for _, line in ipairs(lines "log") do
      local t, word, rest = line:match "^(%d+) (%S+) ?(.*)$"
      t = t / 1e6
      if word == "fault" then
         out[#out + 1], back = { what = rest, at = t, s = 0 }, nil
      elseif word == "back" then
         back = t
      elseif word == "over" then
         for _, g in ipairs(list) do
            local f = out[#out]
            if g[2] > f.at and g[1] < t then
               -- whose host is away may think that it acts, but no node hears it
               local from = f.what == "host_away" and f.s == 0 and f.at or g[1]
               f.s = math.max(f.s, g[2] - math.max(from, back or 0))
            end
         end
      else
         count[word] = count[word] + 1
         print(word, rest)
      end
   end
   return out, count
end

-- What changes something in Slurm; alerts of one that did not know yet are none.
local CHANGES = { drain = true, release = true }

-- Actions by an older token after one by a newer, and drains without a release since the last.
local function doubles()
   local most, n, drained = 0, 0, {}
   for _, line in ipairs(lines "actions") do
      local action, node, result, token = line:match "^[^|]*|[^|]*|([^|]*)|([^|]*)|([^|]*)|(%d+)$"
      token = tonumber(token)
      if token and CHANGES[action] then
         n = n + (token < most and 1 or 0)
         most = math.max(most, token)
      end
      if action == "drain" and result == "done" then
         n = n + (drained[node] and 1 or 0)
         drained[node] = true
      elseif action == "release" or action == "resumed" or action == "taken over" then
         drained[node] = nil
      end
   end
   return n, most
end

local list, both = gaps()
local all, count = faults(list)
local twice, tokens = doubles()
local by, times = {}, {}
for _, f in ipairs(all) do
   by[f.what] = by[f.what] or {}
   table.insert(by[f.what], f.s)
   times[#times + 1] = f.s
end
table.sort(times)
print(("\n%-16s %5s  %s"):format("FAULT", "TIMES", "LONGEST WITHOUT ONE THAT ACTS"))
for what, s in pairs(by) do
   table.sort(s)
   print(("%-16s %5d  %.2f s"):format(what, #s, s[#s]))
end
print(("%d leases\n"):format(tokens))
local ran = #times == rounds
figure("failover_s", ran and times[#times] or nil, "s", "<=", 5)
figure("failover_median", ran and times[(#times + 1) // 2] or nil, "s")
figure("failover_double", ran and both + twice or nil, "times", "<=", 0)
figure("failover_lost", ran and count.lost or nil, "nodes", "<=", 0)
figure("failover_undrained", ran and count.undrained or nil, "faults", "<=", 0)
