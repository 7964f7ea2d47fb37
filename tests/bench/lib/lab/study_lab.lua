-- SPDX-License-Identifier: GPL-2.0-or-later
-- What the bench study_lab decides and prints:
--   choose TAUT_LUA CELL   links that are taken out, one a line, by seed
--   slow TAUT_LUA CELL     "LINK PERCENT", one a line
--   report TAUT_LUA <RUNS  the table and the figures
local calibrate = require "taut.study.calibrate"
local config = require "taut.config"
local figure = require "figure"
local jobs = require "taut.study.jobs"
local load = require "taut.study.load"
local machine = require "taut.study.machine"
local pattern = require "taut.place.pattern"
local stats = require "stats" -- seeds math.random
local tables = require "taut.base.tables"
local time = require "taut.study.time"

local SLOW = { half = 50, quarter = 25 }

local function open(path)
   return assert(machine.new(assert(config.load(path, { rundir = "", statedir = "" })).topology))
end

---------------------------------------------------------------- what is wrong in a cell

-- Has every router one port for each node, and leads it there?
local function is_plain(m)
   local topo, hop = m.topo, {}
   for a = 1, #topo.nodes do
      for b = 1, #topo.nodes do
         local route = a ~= b and topo:route(a, b)
         if route == nil then
            return false
         end
         for i = 2, route and #route - 1 or 0 do
            local key = topo:from(route[i]) * #topo.nodes + b
            if (hop[key] or route[i]) ~= route[i] then
               return false
            end
            hop[key] = route[i]
         end
      end
   end
   return true
end

-- One after the other by seed; what would leave ways that no kernel can follow stays in.
local function choose(path, cell)
   local m = open(path)
   local topo, left, cables = m.topo, {}, {}
   for _, c in ipairs(assert(m:links())) do
      cables[#cables + 1] = c < topo:opposite(c) and c or nil
   end
   local wanted = math.floor(#cables * tonumber(cell:match "^out(%d+)$" or 0) / 100 + 0.5)
   while wanted > 0 and #cables > 0 do
      local c = table.remove(cables, math.random(#cables))
      left[c], left[topo:opposite(c)] = 0, 0
      m:overlay(left)
      if is_plain(m) then
         print(topo.components[c])
         wanted = wanted - 1
      else
         left[c], left[topo:opposite(c)] = nil, nil
      end
   end
end

-- The X links of a torus, all links between routers of a tree.
local function slow_links(m)
   return assert(m:links(m.topo.kind_name == "torus" and { "X" } or nil))
end

local function slow(path, cell)
   local m = open(path)
   for _, c in ipairs(SLOW[cell] and slow_links(m) or {}) do
      print(m.topo.components[c], SLOW[cell])
   end
end

---------------------------------------------------------------- runs against predictions

local function pattern_of(program, rest)
   return program == "halo" and ("halo3d:grid=%s,bytes=%s"):format(rest:match "^(%S+) (%d+)") or
      ("exchange:bytes=%s"):format(rest:match "^%d+")
end

-- { cells = { name → links out }, order, runs = { cell → { pattern → seconds … } } }
local function read()
   local r = { cells = {}, order = {}, runs = {}, patterns = {} }
   for line in io.lines() do
      local what, name, rest = line:match "^(%S+) (%S+) ?(.*)$"
      if what == "fabric" then
         r.fabric = name
      elseif what == "cell" then
         r.cells[name], r.order[#r.order + 1], r.runs[name] = {}, name, {}
         for link in rest:gmatch "%S+" do
            table.insert(r.cells[name], link)
         end
      elseif what == "run" then
         local p = pattern_of(rest:match "^(%S+) (.*)$")
         local list = r.runs[name][p] or {}
         r.runs[name][p] = list
         list[#list + 1] = tonumber(rest:match "(%S+)$")
      end
   end
   return r
end

-- Seconds of a pattern on all nodes, with what a cell has of the links.
local function predict(m, text, cell, out, c)
   local left, nodes = {}, {}
   for _, name in ipairs(out) do
      local id = m.topo.component_id[name]
      left[id], left[m.topo:opposite(id)] = 0, 0
   end
   for _, id in ipairs(SLOW[cell] and slow_links(m) or {}) do
      left[id] = SLOW[cell] / 100
   end
   for n = 1, #m.topo.nodes do
      nodes[n] = n
   end
   local phases = assert(load.of(m, assert(pattern.motif(text)), { jobs.on(m, nodes) }, 1))
   local solved = assert(load.solve(m, phases, m:overlay(left)))
   return (time.of(m, phases, solved, c))
end

local function constants(m, r)
   local points = {}
   for text, times in pairs(r.runs.healthy) do
      if not r.runs.half[text] then
         points[#points + 1] = { pattern = text, ranks = #m.topo.nodes,
            time_s = stats.median(times) }
      end
   end
   local c = assert(calibrate.fit(m, points, time.usual))
   m.waits = c.waits
   print(("%s: fitted to %d points of the healthy lab: %.2f ms a message, b = %.3f, ranks " ..
      "wait for the %s; mean error %.1f %%"):format(r.fabric, c.points, c.message_s * 1e3, c.b,
      c.waits and "slowest way" or "mean of their messages", c.error * 100))
   return c
end

local function report(path)
   local m, r = open(path), read()
   local c, errors = constants(m, r), {}
   print(("%-8s %4s  %-34s %9s %17s %9s %6s"):format("cell", "out", "program", "measured",
      "(least to most)", "predicted", "off"))
   for _, cell in ipairs(r.order) do
      for _, text in ipairs(tables.keys(r.runs.quarter)) do
         local times = r.runs[cell][text]
         local measured = stats.median(times)
         local predicted = predict(m, text, cell, r.cells[cell], c)
         local off = predicted / measured - 1
         errors[#errors + 1] = cell ~= "healthy" and math.abs(off) or nil
         print(("%-8s %4d  %-34s %7.3f s (%5.3f to %6.3f) %7.3f s %+5.0f%%"):format(cell,
            #r.cells[cell], text, measured, math.min(table.unpack(times)),
            math.max(table.unpack(times)), predicted, off * 100))
      end
   end
   figure(r.fabric .. "_error", stats.mean(errors) * 100, "%", "<=", 15)
end

local parts = { choose = choose, slow = slow, report = report }
parts[arg[1]](table.unpack(arg, 2))
