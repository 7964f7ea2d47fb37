-- SPDX-License-Identifier: GPL-2.0-or-later
-- Reads what prolog_cost's runs printed; prints the table and the figures.
-- usage: prolog_cost.lua TAUT_LUA NODES <RUNS
local config = require "taut.config"
local figure = require "figure"
local hostlist = require "taut.hostlist"
local json = require "taut.json"
local stats = require "stats"
local units = require "kernel.units"

local topo = assert(config.load(arg[1], { rundir = "", statedir = "" })).topology
local names = assert(hostlist.expand(arg[2]))

-- part → kind → round → { wall, cpu }; part → array of what tautd said of its jobs
local runs, checks, tautd, holdoff, failed = {}, {}, {}, {}, {}

local function take_run(line)
   local part, round, kind, wall, cpu = line:match("^run (%S+) (%d+) (%S+) (%d+) (%d+)$")
   if part then
      runs[part] = runs[part] or {}
      runs[part][kind] = runs[part][kind] or {}
      runs[part][kind][math.tointeger(tonumber(round))] = { wall = wall / 1e6, cpu = cpu / 1e6 }
   end
   return part
end

local function take_check(line)
   local part, text = line:match("^check (%S+) (.*)$")
   if part then
      checks[part] = checks[part] or {}
      table.insert(checks[part], (json.decode(text)))
   end
   return part
end

local function take_other(line)
   local when, process, us, kB = line:match("^tautd (%S+) (%S+) (%d+) (%d+)$")
   if when then
      tautd[process] = tautd[process] or {}
      tautd[process][when] = { s = us / 1e6, kB = tonumber(kB) }
      return
   end
   local time, file, step = line:match("^(%S+) holdoff (%S+) (%d+)$")
   if time then
      holdoff[time] = holdoff[time] or {}
      holdoff[time][file] = tonumber(step)
   elseif line:match("^failed") then
      failed[#failed + 1] = line
   end
end

for line in io.lines() do
   if not take_run(line) and not take_check(line) then
      take_other(line)
   end
end

---------------------------------------------------------------- checks

-- Components that a full check of those nodes has to cross.
local function wanted()
   local set, count, at = {}, { links = 0, ports = 0 }, {}
   for _, name in ipairs(names) do
      local n = topo.node_id[name]
      set[topo.components[topo.tx[n]]], set[topo.components[topo.rx[n]]] = true, true
      count.ports = count.ports + 2
      at[topo:router(n)] = true
   end
   for c, name in ipairs(topo.components) do
      if topo:is_link(c) and at[topo:from(c)] and at[topo:to(c)] then
         set[name] = true
         count.links = count.links + 1
      end
   end
   return set, count
end

local function is_full(check, set)
   local seen = {}
   for _, t in ipairs(check.tests) do
      for name in t.route:gmatch("%S+") do
         seen[name] = true
      end
   end
   for name in pairs(set) do
      if not seen[name] then
         return false
      end
   end
   return true
end

local function is_nothing_due(check)
   local note = check.events[1] and check.events[1].note
   return type(note) == "string" and note:find("nothing due", 1, true) and #check.tests == 0
end

-- Rounds whose check was what the part is about; the jobs are in order of their rounds.
local function valid_rounds(part, is_right)
   local ok, left_out = {}, 0
   for round, check in ipairs(checks[part] or {}) do
      ok[round] = is_right(check) and true or nil
      left_out = left_out + (ok[round] and 0 or 1)
   end
   return ok, left_out
end

---------------------------------------------------------------- the table

local function differences(part, kind, base, what, valid)
   local list = {}
   for round, run in pairs(runs[part] and runs[part][kind] or {}) do
      local other = runs[part][base] and runs[part][base][round]
      if other and (not valid or valid[round]) then
         list[#list + 1] = run[what] - other[what]
      end
   end
   table.sort(list)
   return list
end

local function walls(part, kind)
   local list = {}
   for _, run in pairs(runs[part][kind]) do
      list[#list + 1] = run.wall
   end
   return list
end

-- "fastest tenth": the difference of the 10 % quantiles, which other work on the machine hardly
-- touches; CPU: of prolog and epilog together.
print("part      run         rounds   median s   added s  95 % interval     fastest tenth, added" ..
   "   CPU s per node, added")

-- Processor time of a node's prolog and epilog, with all that they start, beyond a job without.
local function node_ms(part, kind, valid)
   local d = differences(part, kind, "without", "cpu", valid)
   return #d > 0 and 1e3 * stats.mean(d) / 8 or nil
end

local function row(part, kind, base, valid)
   if not (runs[part] and runs[part][kind]) then
      return nil
   end
   local w = walls(part, kind)
   local line = ("%-9s %-10s  %6d   %8.3f"):format(part, kind, #w, stats.median(w))
   local d = base and differences(part, kind, base, "wall", valid) or {}
   if #d == 0 then
      print(line)
      return nil
   end
   local low, high = stats.interval(d)
   -- the processor time is that of the first 8 nodes
   local cpu = kind ~= "script" and kind ~= "nhc" and kind ~= "others"
      and ("%.4f"):format(stats.mean(differences(part, kind, base, "cpu", valid)) / 8) or "-"
   local calm = stats.quantile(w, 0.1) - stats.quantile(walls(part, base), 0.1)
   print(("%s  %+8.3f  %+.3f … %+.3f    %+8.3f               %s"):format(line, stats.median(d),
      low, high, calm, cpu))
   return stats.median(d)
end

local set, count = wanted()
local is_whole, not_whole = valid_rounds("full", function(c) return is_full(c, set) end)
local is_idle, not_idle = valid_rounds("nothing", is_nothing_due)

row("full", "without")
local empty = row("full", "empty", "without")
local full = row("full", "full", "without", is_whole)
row("nothing", "without")
local nothing = row("nothing", "nothing", "without", is_idle)
row("down", "without")
local empty2 = row("down", "empty", "without")
local down = row("down", "down", "without")
row("others", "without")
row("others", "others", "without")
row("script", "without")
local script = row("script", "script", "without")
row("nhc", "without")
local nhc = row("nhc", "nhc", "without")
print()

---------------------------------------------------------------- what the checks did

local function check_lines()
   local tests, phases, classes, links = {}, {}, { good = 0, low = 0, void = 0 }, {}
   local kinds = {}
   for round, check in ipairs(checks.full or {}) do
      if is_whole[round] then
         local last, on = 0, {}
         for _, t in ipairs(check.tests) do
            last = math.max(last, t.phase)
            classes[t.class] = classes[t.class] + 1
            kinds[t.kind] = (kinds[t.kind] or 0) + 1
            for name in t.route:gmatch("%f[%S]r%S+") do
               on[name] = true
            end
         end
         local n = 0
         for _ in pairs(on) do
            n = n + 1
         end
         tests[#tests + 1], phases[#phases + 1], links[#links + 1] = #check.tests, last, n
      end
   end
   if #tests == 0 then
      return
   end
   local all = classes.good + classes.low + classes.void
   print(("full: wanted %d links and %d tx and rx; each check: %g to %g tests in %g to %g phases")
      :format(count.links, count.ports, stats.quantile(tests, 0), stats.quantile(tests, 1),
         stats.quantile(phases, 0), stats.quantile(phases, 1)))
   print(("      over %g to %g links; %d rounds without the whole left out"):format(
      stats.quantile(links, 0), stats.quantile(links, 1), not_whole))
   print(("      tests: %.1f %% good, %.1f %% low, %.1f %% discarded, %d confirming"):format(
      100 * classes.good / all, 100 * classes.low / all, 100 * classes.void / all,
      kinds.confirm or 0))
   for process, t in pairs(tautd) do
      if t.before and t.after then
         print(("      %s: %.1f ms of CPU per job, %.2f ms per test, %.1f MB"):format(process,
            1e3 * (t.after.s - t.before.s) / #checks.full, 1e3 * (t.after.s - t.before.s) / all,
            t.after.kB / 1e3))
      end
   end
end

check_lines()
if checks.nothing then
   print(("nothing: %d of %d jobs have the event \"nothing due\" and no test; others left out")
      :format(#checks.nothing - not_idle, #checks.nothing))
end
if holdoff.after then
   local again = 0
   for file, step in pairs(holdoff.after) do
      again = again + ((holdoff.before or {})[file] ~= step and 1 or 0)
   end
   print(("down: the hold-off ended and began anew on %d of 8 nodes meanwhile; those runs are in")
      :format(again))
end
for _, line in ipairs(failed) do
   print(line)
end
print()

if runs.full then
   figure("prolog_cost.full", full, "s", "<=", 0.09)
   units.figure("price_node_ms", node_ms("full", "full", is_whole), "ms", "<=", 6)
end
local trace_ms = {}
for _, check in ipairs(checks.full or {}) do
   local e = check.events[1]
   trace_ms[#trace_ms + 1] = e and e.trace_ns and e.trace_ns / 1e6
end
if #trace_ms > 0 then
   print(("full: ways asked for in %.1f ms, at most %.1f ms"):format(stats.median(trace_ms),
      math.max(table.unpack(trace_ms))))
   figure("prolog_cost.trace_ms", stats.median(trace_ms), "ms", "<=", 5)
end
if runs.nothing then
   figure("prolog_cost.nothing_due", nothing, "s", "<=", 0.01)
   units.figure("price_node_ms.nothing_due", node_ms("nothing", "nothing", is_idle), "ms")
end
if runs.down then
   figure("prolog_cost.down", down, "s", "<=", 0.01)
end
if runs.script then
   figure("prolog_cost.script", script, "s")
end
if runs.nhc then
   figure("prolog_cost.nhc", nhc, "s")
end
if runs.full or runs.down then
   figure("prolog_cost.empty_plugstack", empty2 or empty, "s")
end
