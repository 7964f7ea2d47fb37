-- SPDX-License-Identifier: GPL-2.0-or-later
-- What topology_scale measures in one process:
--   build FILE                     seconds to build that machine, MB the process holds at most
--   median NAME FIGURE LIMIT <RUNS the lines of several `build`
--   titan FILE                     routes and loads of a large torus
local config = require "taut.config"
local figure = require "figure"
local stats = require "stats"
local sys = require "taut.sys"
local units = require "kernel.units"

local RUNS = (os.getenv "BENCH_QUICK" or "") ~= "" and 1 or 5
local ROUTES_C, ROUTES_LUA, PAIRS = 10000000, 1000000, 1 << 16
local FAILED = 50

local function load_machine(path)
   return assert(config.load(path, { rundir = "", statedir = "" })).topology
end

-- Seconds, and seconds of processor time (of all threads).
local function timed(fn)
   local began, clock = sys.now(), os.clock()
   fn()
   return sys.now() - began, os.clock() - clock
end

-- Medians of RUNS times.
local function median(fn)
   local list, cpu = {}, {}
   for i = 1, RUNS do
      list[i], cpu[i] = timed(fn)
   end
   return stats.median(list), stats.median(cpu)
end

local function peak_MB()
   for line in io.lines "/proc/self/status" do
      local kB = line:match "^VmHWM:%s+(%d+)"
      if kB then
         return tonumber(kB) / 1000
      end
   end
end

---------------------------------------------------------------- building

local function build(path)
   local topo
   local seconds, cpu = timed(function() topo = load_machine(path) end)
   print(("%.6f %.6f %.1f %d %d %d"):format(seconds, cpu, peak_MB(), #topo.nodes, topo.routers,
      #topo.components - topo.first_link + 1))
end

local function report_build(name, label, limit)
   local seconds, cpu, size, shape = {}, {}, {}, "cannot be built"
   for line in io.lines() do
      local s, p, mb, nodes, routers, links = line:match(("(%S+) "):rep(5) .. "(%S+)")
      seconds[#seconds + 1], cpu[#cpu + 1], size[#size + 1] = tonumber(s), tonumber(p),
         tonumber(mb)
      shape = ("%s nodes, %s routers, %s links"):format(nodes, routers, links)
   end
   print(("%-12s %s: %.3f s, %.3f s of them on a processor, %.0f MB"):format(name, shape,
      stats.median(seconds) or 0, stats.median(cpu) or 0, stats.median(size) or 0))
   units.figure(label, stats.median(seconds), "s", "<=", tonumber(limit))
   if name == "titan" then
      figure("titan_memory", stats.median(size), "MB", "<=", 200)
   end
end

---------------------------------------------------------------- routes

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

local function report_routes(topo)
   local links
   local in_c, c_cpu = median(function() links = topo.graph:walk_random(ROUTES_C, 1) end)
   local in_lua, lua_cpu = routes_in_lua(topo)
   print(("routes       %.1f links on average; each %.0f ns in C (%.0f on a processor), %.0f ns " ..
      "in Lua (%.0f)"):format(links / ROUTES_C, in_c / ROUTES_C * 1e9, c_cpu / ROUTES_C * 1e9,
      in_lua / ROUTES_LUA * 1e9, lua_cpu / ROUTES_LUA * 1e9))
   figure("routes_c", ROUTES_C / in_c, "routes/s", ">=", 1e7)
   figure("routes_lua", ROUTES_LUA / in_lua, "routes/s", ">=", 1e6)
end

---------------------------------------------------------------- loads

local function ones(n)
   local list = {}
   for i = 1, n do
      list[i] = 1
   end
   return list
end

-- All-to-all between routers: seconds, and the same by a walk; they must agree.
local function loads(topo, what, before)
   local weights, quick, lost = ones(topo.routers), nil, nil
   local seconds, cpu = median(function()
      before()
      quick, lost = topo.graph:all_to_all(weights, { routers = true })
   end)
   local walked, lost_too
   local walk, walk_cpu = timed(function()
      walked, lost_too = topo.graph:all_to_all(weights, { routers = true, walk = true })
   end)
   for l, v in ipairs(quick) do
      if v ~= walked[l] then
         error(("%s: %s carries %s or %s routes"):format(what,
            topo.components[topo.first_link + l - 1], v, walked[l]))
      end
   end
   assert(lost == lost_too, "pairs without a route differ")
   print(("all-to-all   %s: %.1f ms (%.1f on a processor), walked %.2f s (%.2f on processors), " ..
      "%d pairs without a route"):format(what, seconds * 1e3, cpu * 1e3, walk, walk_cpu, lost))
   return seconds, walk
end

-- Both directions of FAILED cables, two of them in one Z ring.
local function failures(topo)
   local left, n = {}, 0
   local function fail(c)
      n = n + (left[c] and 0 or 1)
      left[c], left[topo:opposite(c)] = 0, 0
   end
   fail(topo.component_id["r3.4.5/Z+"])
   fail(topo.component_id["r3.4.15/Z+"])
   while n < FAILED do
      fail(math.random(topo.first_link, #topo.components))
   end
   return left
end

local function report_loads(topo)
   local seconds, walk = loads(topo, "healthy", function() end)
   units.figure("load_healthy", seconds * 1e3, "ms", "<=", 50)
   units.figure("load_healthy_walk", walk, "s")
   local left = failures(topo)
   seconds, walk = loads(topo, FAILED .. " failed", function()
      for c, share in pairs(left) do
         topo.graph:set_left(c, share)
      end
      assert(topo.graph:update())
   end)
   units.figure("load_failed", seconds, "s", "<=", 3)
   units.figure("load_failed_walk", walk, "s")
end

---------------------------------------------------------------- what is asked

local what = arg[1]
if what == "build" then
   build(arg[2])
elseif what == "median" then
   report_build(arg[2], arg[3], arg[4])
else
   local topo = load_machine(arg[2])
   report_routes(topo)
   report_loads(topo)
end
