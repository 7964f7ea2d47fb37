-- SPDX-License-Identifier: GPL-2.0-or-later
-- Reads what the sides of the bench `matrix` printed; prints the table and the figures.
-- usage: matrix.lua TAUT_LUA [COMPONENT PERCENT]... <RUNS
local config = require "taut.config"
local figure = require "figure"
local json = require "taut.json"
local stats = require "stats"

local topo = assert(config.load(arg[1], { rundir = "", statedir = "" })).topology
local left = {}
for i = 2, #arg, 2 do
   left[assert(topo.component_id[arg[i]], arg[i])] = arg[i + 1] / 100
end

-- What the lab lets a pair have: the least along its route.
local function truth(from, to)
   local least = math.huge
   for _, c in ipairs(topo:route(topo.node_id[from], topo.node_id[to])) do
      least = math.min(least, topo.capacity[c] * (left[c] or 1))
   end
   return least
end

local sides, order, now = {}, {}, nil

local function begin(name, us)
   if not sides[name] then
      sides[name] = { wall = {}, share = {}, errors = {}, none = 0, found = {}, runs = 0 }
      order[#order + 1] = name
   end
   now = sides[name]
   now.runs = now.runs + 1
   now.wall[#now.wall + 1] = us / 1e6
end

local function take_pair(from, to, bps)
   if not bps then
      now.none = now.none + 1
      return
   end
   local share = bps / truth(from, to)
   now.share[#now.share + 1] = share
   now.errors[#now.errors + 1] = math.abs(share - 1)
end

-- Are the faults named, and nothing else?
local function take_findings(list)
   local wanted, count = {}, 0
   for c in pairs(left) do
      wanted[topo.components[c]] = true
      count = count + 1
   end
   for _, f in ipairs(list) do
      if wanted[f.name] and f.confirmed then
         count = count - 1
      elseif f.confirmed ~= false then
         now.wrong = (now.wrong or 0) + 1
      end
   end
   now.all_found = (now.all_found or 0) + (count == 0 and 1 or 0)
end

for line in io.lines() do
   local word, rest = line:match "^(%S+) (.*)$"
   if word == "side" then
      begin(rest:match "^(%S+) (%d+)$")
   elseif word == "pair" then
      local from, to, bps = rest:match "^(%S+) (%S+) ?(%S*)$"
      take_pair(from, to, tonumber(bps))
   elseif word == "json" then
      take_findings(assert(json.decode(rest)).findings)
   end
end

local function percent(x)
   return x and ("%6.1f"):format(100 * x) or "     -"
end

print(("%-23s runs  wall, s   pairs with a   %% of the truth            error, %%"):format "")
print(("%-23s       median    figure, not    least  median  most       median   95 %%  worst")
   :format "")
for _, name in ipairs(order) do
   local s = sides[name]
   print(("%-23s %4d  %7.1f   %6d  %5d   %s  %s  %s     %s  %s %s"):format(name, s.runs,
      stats.median(s.wall), #s.share, s.none, percent(stats.quantile(s.share, 0)),
      percent(stats.median(s.share)), percent(stats.quantile(s.share, 1)),
      percent(stats.median(s.errors)), percent(stats.quantile(s.errors, 0.95)),
      percent(stats.quantile(s.errors, 1))))
end
print ""

local taut = sides.taut
if taut then
   figure("matrix_wall", stats.median(taut.wall), "s")
   figure("matrix_error_median", 100 * stats.median(taut.errors), "%", "<=", 2)
   figure("matrix_error_95", 100 * stats.quantile(taut.errors, 0.95), "%", "<=", 5)
   figure("matrix_error_worst", 100 * stats.quantile(taut.errors, 1), "%")
   figure("matrix_faults_found", (taut.all_found or 0) / taut.runs, "of 1", ">=", 1)
   figure("matrix_wrongly_named", taut.wrong or 0, "findings", "<=", 0)
   for _, name in ipairs { "pairs", "shift" } do
      local mpi = sides[name]
      if mpi then
         figure("matrix_wall_of_mpi_" .. name, stats.median(taut.wall) / stats.median(mpi.wall),
            "of its time", "<=", 1)
         figure("mpi_error_median_" .. name, 100 * stats.median(mpi.errors), "%")
         figure("mpi_error_95_" .. name, 100 * stats.quantile(mpi.errors, 0.95), "%")
      end
   end
end
