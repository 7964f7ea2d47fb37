-- SPDX-License-Identifier: GPL-2.0-or-later
-- audit.lua --links COUNT RUN: that many random links of a 4x4x4 torus and what is left of each;
-- audit.lua: the table, from what tests/bench/audit wrote.
local figure = require "figure"
local json = require "taut.json"
local links = require "taut.survey.links"
local stats = require "stats"
local topology = require "taut.topology"

local seed = tonumber(os.getenv "BENCH_SEED" or "") or 1

local function torus(shape)
   local dims, n = {}, 1
   for d in shape:gmatch "%d+" do
      dims[#dims + 1] = math.tointeger(tonumber(d))
      n = n * dims[#dims]
   end
   return assert(topology.build { kind = "torus", dims = dims, nodes_per_router = 1,
      nodes = ("n[0-%d]"):format(n - 1), capacity = 1e6 }), n
end

if arg[1] == "--links" then
   math.randomseed(seed, 1000 * tonumber(arg[3]) + tonumber(arg[2]))
   local topo, chosen = torus "4x4x4", {}
   for _ = 1, tonumber(arg[2]) do
      local c
      repeat
         c = math.random(#topo.components)
      until topo:is_link(c) and not chosen[c]
      chosen[c] = true
      print(topo.components[c], math.random(20, 60))
   end
   return
end

local sizes, order, faults = {}, {}, {}
for line in io.lines() do
   local shape, nodes, ms, text = line:match "^size (%S+) (%d+) audit (%d+) (.*)$"
   if shape then
      local s = sizes[shape] or { nodes = nodes, ms = {}, wrong = 0, void = 0 }
      if not sizes[shape] then
         sizes[shape], order[#order + 1] = s, shape
      end
      local found = assert(json.decode(text))
      s.ms[#s.ms + 1] = tonumber(ms)
      s.links, s.wrong = found.links, s.wrong + #found.slow
      s.void = s.void + found.void
      s.missed = (s.missed or 0) + found.links - found.measured
   else
      local count, list, took, body = line:match "^faulty (%d+) (.-) ?audit (%d+) (.*)$"
      local f = { count = tonumber(count), want = {}, ms = tonumber(took),
         found = assert(json.decode(body)) }
      for link, percent in list:gmatch "(%S+)%s+(%d+)" do
         f.want[link] = tonumber(percent) / 100
      end
      faults[#faults + 1] = f
   end
end

local function phases(shape)
   local topo, n = torus(shape)
   local all = {}
   for i = 1, n do
      all[i] = i
   end
   return #links.plan(topo, all).phases
end

print(("%-10s %6s %6s %7s %10s %7s %6s %11s"):format("torus", "nodes", "links", "phases",
   "wall s", "slow", "disc.", "unmeasured"))
local wall
for _, shape in ipairs(order) do
   local s = sizes[shape]
   wall = stats.median(s.ms) / 1000
   print(("%-10s %6s %6d %7d %10.2f %7d %6d %11d"):format(shape, s.nodes, s.links, phases(shape),
      wall, s.wrong, s.void, s.missed))
end
for _, shape in ipairs { "8x8x8", "16x16x16" } do
   print(("%-10s %6s %6s %7d %10s"):format(shape, "-", "-", phases(shape), "not run"))
end

print(("\n%-10s %6s %7s %7s %14s %10s"):format("slow links", "runs", "found", "wrong",
   "worst error", "wall s"))
local all_found, all_wanted, all_wrong, worst = 0, 0, 0, 0
for _, count in ipairs { 1, 3, 6 } do
   local runs, found, wrong, off, ms = 0, 0, 0, 0, {}
   for _, f in ipairs(faults) do
      if f.count == count then
         runs = runs + 1
         ms[#ms + 1] = f.ms / 1000
         for _, s in ipairs(f.found.slow) do
            local left = f.want[s.component]
            if left and #s["or"] == 0 then
               found, off = found + 1, math.max(off, math.abs(s.left - left))
            else
               wrong = wrong + 1
            end
         end
      end
   end
   all_found, all_wanted = all_found + found, all_wanted + runs * count
   all_wrong, worst = all_wrong + wrong, math.max(worst, off)
   print(("%-10d %6d %3d/%-3d %7d %12.1f %% %10.2f"):format(count, runs, found, runs * count,
      wrong, 100 * off, #ms > 0 and stats.median(ms) or 0))
end
local healthy = 0
for _, s in pairs(sizes) do
   healthy = healthy + s.wrong
end
print()
figure("audit_phases_64", phases "4x4x4", "phases")
figure("audit_phases_4096_over_64", phases "16x16x16" / phases "4x4x4", "ratio", "<=", 1)
figure("audit_wall_64", wall, "s")
figure("audit_found", all_wanted > 0 and all_found / all_wanted or nil, "share", ">=", 1)
figure("audit_wrong", all_wrong + healthy, "components", "<=", 0)
