-- SPDX-License-Identifier: GPL-2.0-or-later
-- What topology_scale measures of machines that are no torus, in one process:
--   NAME FILE    routes a second in C and in Lua, the load of all-to-all
local config = require "taut.config"
local figure = require "figure"
local stats = require "stats"
local sys = require "taut.sys"

local RUNS = (os.getenv "BENCH_QUICK" or "") ~= "" and 1 or 5
local ROUTES_C, ROUTES_LUA, PAIRS = 1000000, 200000, 1 << 16

-- Median of RUNS times, in seconds.
local function median(fn)
   local list = {}
   for i = 1, RUNS do
      local began = sys.now()
      fn()
      list[i] = sys.now() - began
   end
   return stats.median(list)
end

local function routes_in_lua(topo)
   local from, to, t = {}, {}, {}
   for i = 1, PAIRS do
      from[i], to[i] = math.random(#topo.nodes), math.random(#topo.nodes)
   end
   return median(function()
      for i = 1, ROUTES_LUA do
         local k = i % PAIRS + 1
         topo:route(from[k], to[k], t)
      end
   end)
end

local name, path = arg[1], arg[2]
local topo = assert(config.load(path, { rundir = "", statedir = "" })).topology
local in_c = median(function() topo.graph:walk_random(ROUTES_C, 1) end)
local in_lua = routes_in_lua(topo)
local lost
local load = median(function() lost = select(2, topo.graph:all_to_all()) end)
print(("%-12s %s: %.2f million routes/s in C, %.2f in Lua; all-to-all of its nodes %.0f ms, "
   .. "%d pairs without a route"):format(name, topo.wiring:match "^(.-) %[", ROUTES_C / in_c / 1e6,
   ROUTES_LUA / in_lua / 1e6, load * 1e3, lost))
figure(name .. "_routes_c", ROUTES_C / in_c, "routes/s")
figure(name .. "_routes_lua", ROUTES_LUA / in_lua, "routes/s")
figure(name .. "_load", load * 1e3, "ms")
