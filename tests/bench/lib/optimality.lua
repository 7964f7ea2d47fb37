-- SPDX-License-Identifier: GPL-2.0-or-later
-- Sets of nodes that the advisor finds, against all there are; called by ../optimality.
local figure = require "figure"
local pattern = require "taut.place.pattern"
local rank = require "taut.place.rank"
local score = require "taut.place.score"
local topology = require "taut.topology"

local quick = (os.getenv "BENCH_QUICK" or "") ~= ""
local STATES = quick and 10 or 200
local WITHIN = 1.05

math.randomseed(tonumber(os.getenv "BENCH_SEED") or 1)

local function build(conf)
   conf.capacity = conf.capacity or 1e9
   return assert(topology.build(conf))
end

local small = {
   { "torus 3x3x2", build { kind = "torus", dims = { 3, 3, 2 }, nodes_per_router = 1,
      nodes = "n[0-17]" } },
   { "torus 5x2, 2 each", build { kind = "torus", dims = { 5, 2 }, nodes_per_router = 2,
      nodes = "n[0-19]" } },
   { "mesh 4x5", build { kind = "mesh", dims = { 4, 5 }, nodes_per_router = 1,
      nodes = "n[0-19]" } },
   { "tree of 5 leaves", build { kind = "fattree", nodes_per_leaf = 4,
      levels = { { down = 5, up = 2 } }, nodes = "n[0-19]" } },
   { "dragonfly 3x3x2", build { kind = "dragonfly", groups = 3, routers = 3, nodes_per_router = 2,
      global_links = 2, nodes = "n[0-17]" } },
   { "hyperx 3x3, 2 each", build { kind = "hyperx", dims = { 3, 3 }, nodes_per_router = 2,
      nodes = "n[0-17]" } },
}

local larger = {
   { "torus 4x4x4", build { kind = "torus", dims = { 4, 4, 4 }, nodes_per_router = 1,
      nodes = "n[0-63]" } },
   { "tree of 16 leaves", build { kind = "fattree", nodes_per_leaf = 4,
      levels = { { down = 4, up = 2 }, { down = 4, up = 2 } }, nodes = "n[0-63]" } },
   { "dragonfly 4x8x2", build { kind = "dragonfly", groups = 4, routers = 8, nodes_per_router = 2,
      global_links = 2, nodes = "n[0-63]" } },
}

-- `most` nodes at most are free; in every other state some links are slow.
local function state_of(topo, i, most)
   local free, list, left = {}, {}, {}
   local share = 0.25 + 0.5 * math.random()
   for n = 1, #topo.nodes do
      if math.random() < share and #list < most then
         free[n], list[#list + 1] = true, n
      end
   end
   for _ = 1, i % 2 == 0 and math.random(3) or 0 do
      left[math.random(topo.first_link, #topo.components)] = 0.2 + 0.6 * math.random()
   end
   return free, list, left
end

-- Least ratio of all sets of `count` of these nodes.
local function exhaustive(topo, list, P, o)
   local best, chosen, count = math.huge, {}, P.ranks
   local function go(i, k)
      if k > count then
         best = math.min(best, score.evaluate(topo, chosen, P, o).ratio)
         return
      end
      for j = i, #list - (count - k) do
         chosen[k] = list[j]
         if best > 1 then -- none is better than the ideal network
            go(j + 1, k + 1)
         end
      end
   end
   go(1, 1)
   return best
end

local function compare(machines, most_free, most_count, specs, states)
   local all_cases, all_within = 0, 0
   for _, m in ipairs(machines) do
      for _, spec in ipairs(specs) do
         local cases, within, sum, worst = 0, 0, 0, 1
         for i = 1, states do
            local free, list, left = state_of(m[2], i, most_free)
            for count = 2, math.min(#list, most_count) do
               local P = assert(pattern.make(spec, count))
               local o = { left = left }
               local ours = assert(rank.best(m[2], free, count, P, o))[1].score.ratio
               local best = exhaustive(m[2], list, P, o)
               local gap = best < math.huge and ours / best or 1
               cases, sum, worst = cases + 1, sum + gap, math.max(worst, gap)
               within = within + (gap <= WITHIN and 1 or 0)
            end
         end
         print(("%-20s %-14s %6d cases %7.2f %% within 5 %%  mean %.4f  worst %.3f"):format(m[1],
            spec, cases, 100 * within / cases, sum / cases, worst))
         all_cases, all_within = all_cases + cases, all_within + within
      end
   end
   return 100 * all_within / all_cases
end

-- No set can do better: the ideal network, and what must leave a router by its cables, some router
-- having at least so many nodes of the set.
local function bound(topo, count)
   local hosts, r = 0, nil
   for i = 0, topo.routers - 1 do
      if #topo:on_router(i) > 0 then
         hosts, r = hosts + 1, r or i
      end
   end
   local links = #topo:links_of(r)
   local m = math.ceil(count / hosts)
   local out = m * (count - m) / (links * topo.capacity[topo.first_link])
   return math.max(1, out / ((count - 1) / topo.capacity[topo.tx[1]]))
end

local function gaps()
   print("\nhalf of the machine busy at random; the best found over a lower bound (the ideal " ..
      "network, a\nrouter's cables)")
   local machines = {
      { "torus 8x8x8", build { kind = "torus", dims = { 8, 8, 8 }, nodes_per_router = 2,
         nodes = "n[0-1023]" } },
      { "dragonfly 9x16x8", build { kind = "dragonfly", groups = 9, routers = 16,
         nodes_per_router = 8, global_links = 16, nodes = "n[0-1151]" } },
      { "tree 2:1", build { kind = "fattree", nodes_per_leaf = 16,
         levels = { { down = 64, up = 8 } }, nodes = "n[0-1023]" } },
   }
   for _, m in ipairs(machines) do
      for _, count in ipairs { 64, 256 } do
         local P, sum, runs = assert(pattern.make("all-to-all", count)), 0, quick and 2 or 10
         for _ = 1, runs do
            local free = {}
            for n = 1, #m[2].nodes do
               free[n] = math.random() < 0.5 or nil
            end
            sum = sum + assert(rank.best(m[2], free, count, P, {}))[1].score.ratio
         end
         local gap = sum / runs / bound(m[2], count)
         print(("%-20s %4d nodes  %.2f"):format(m[1], count, gap))
         figure(("gap_%s_%d"):format(m[1]:match "^%a+", count), gap, "ratio")
      end
   end
end

print(("%d busy states of each machine, a quarter to three quarters free, in every other state " ..
   "one to three slow\nlinks; the advisor's best set against all sets\n"):format(STATES))
local share_small = compare(small, quick and 9 or 12, 20, { "all-to-all", "ring" }, STATES)
print ""
local share_64 = compare(larger, 26, 4, { "all-to-all" }, STATES)
gaps()
print ""
figure("optimality_20_nodes", share_small, "%", ">=", 95)
figure("optimality_64_nodes", share_64, "%", ">=", 95)
