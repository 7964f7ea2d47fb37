-- SPDX-License-Identifier: GPL-2.0-or-later
-- What the bench placement_lab decides and prints:
--   busy                    nodes that others hold, by seed
--   state COMPONENT <JSON   its verdict, out of `taut explain --json`
--   link TAUT_LUA LIST      a link between two of these nodes, by seed
--   report TAUT_LUA HALO ALL_TO_ALL <RUNS   the table and the figures; patterns in Taut's words
local config = require "taut.config"
local figure = require "figure"
local hostlist = require "taut.hostlist"
local json = require "taut.json"
local stages = require "taut.topology.stages"
local stats = require "stats" -- seeds math.random

local BUSY, NODES = 16, 64

local function load_machine(path)
   return assert(config.load(path, { rundir = "", statedir = "" })).topology
end

-- Node numbers of a host list, in the order of the machine.
local function numbers(topo, list)
   local found = {}
   for i, name in ipairs(assert(hostlist.expand(list))) do
      found[i] = assert(topo.node_id[name], name)
   end
   table.sort(found)
   return found
end

local function busy()
   local all, chosen = {}, {}
   for i = 1, NODES do
      all[i] = i - 1
   end
   for i = 1, BUSY do
      chosen[i] = ("n%d"):format(table.remove(all, math.random(#all)))
   end
   print(hostlist.compress(chosen))
end

local function state(name)
   for _, c in ipairs(assert(json.decode(io.read "a")).components) do
      if c.component == name then
         print(c.state)
      end
   end
end

local function link(path, list)
   local topo, seen, links = load_machine(path), {}, {}
   local nodes = numbers(topo, list)
   for _, a in ipairs(nodes) do
      for _, b in ipairs(nodes) do
         for _, c in ipairs(a ~= b and stages.all(topo:route(a, b)) or {}) do
            if topo:is_link(c) and not seen[c] then
               seen[c] = true
               links[#links + 1] = c
            end
         end
      end
   end
   table.sort(links)
   print(topo.components[links[math.random(#links)]])
end

---------------------------------------------------------------- the report

local function read_runs()
   local r = { slurm = {}, ours = {}, alone = {} }
   for line in io.lines() do
      local word, rest = line:match "^(%S+) (.*)$"
      if word == "run" then
         local side, pattern, list, steps = rest:match "^(%S+) (%S+) (%S+) (.*)$"
         local s = r[side][pattern] or { lists = {}, times = {} }
         r[side][pattern] = s
         local all = {}
         for v in steps:gmatch "%S+" do
            all[#all + 1] = tonumber(v)
         end
         s.times[#s.times + 1] = stats.median(all)
         s.list, s.lists[list] = list, true
      elseif word == "other" then
         r.other = rest
      elseif word == "link" then
         r.link, r.left = rest:match "^(%S+) (%d+)$"
      elseif word == "found" then
         r.found = rest
      end
   end
   return r
end

local function predictor(topo, r)
   local pattern = require "taut.place.pattern"
   local score = require "taut.place.score"
   local left = { [topo.component_id[r.link]] = r.left / 100 }
   local function evaluate(list, spec, o)
      local nodes = numbers(topo, list)
      return assert(score.evaluate(topo, nodes, assert(pattern.make(spec, #nodes)), o))
   end
   return evaluate, left
end

-- What the other job puts on each component while it sends as fast as it can.
local function background(evaluate, left, r, spec)
   local other, Bps = evaluate(r.other, spec, { left = left, load = true }), {}
   for c, bytes in pairs(other.load) do
      Bps[c] = bytes / other.time_s
   end
   return Bps
end

local function ratio_interval(a, b)
   local list = {}
   for i = 1, 2000 do
      local x, y = {}, {}
      for k = 1, #a do
         x[k] = a[math.random(#a)]
      end
      for k = 1, #b do
         y[k] = b[math.random(#b)]
      end
      list[i] = stats.median(x) / stats.median(y)
   end
   return stats.quantile(list, 0.025), stats.quantile(list, 0.975)
end

local function count(set)
   local n = 0
   for _ in pairs(set) do
      n = n + 1
   end
   return n
end

local function side_line(name, s, predicted)
   print(("   %-6s %-44s %7.3f s  (%.3f .. %.3f)   predicted %.3f s%s"):format(name, s.list,
      stats.median(s.times), stats.quantile(s.times, 0.25), stats.quantile(s.times, 0.75),
      predicted.time_s, count(s.lists) > 1 and ("; %d different choices"):format(count(s.lists)) or
      ""))
end

local function report(path, halo, all_to_all)
   local topo, r = load_machine(path), read_runs()
   local evaluate, left = predictor(topo, r)
   local bps = background(evaluate, left, r, all_to_all)
   print(("link %s at %s %%; %s; the other job on %s\n"):format(r.link, r.left, r.found, r.other))
   for _, p in ipairs { { "halo", halo }, { "all-to-all", all_to_all } } do
      local name, spec = p[1], p[2]
      local alone, slurm, ours = r.alone[name], r.slurm[name], r.ours[name]
      local o = { left = left, background = bps }
      local ideal = evaluate(alone.list, spec, {}).time_s
      local was, is = evaluate(slurm.list, spec, o), evaluate(ours.list, spec, o)
      print(("%s   median step (quartiles)"):format(name))
      side_line("slurm", slurm, was)
      side_line("ours", ours, is)
      local low, high = ratio_interval(slurm.times, ours.times)
      print(("   Slurm's takes %.2f (%.2f .. %.2f) of ours, predicted %.2f\n"):format(
         stats.median(slurm.times) / stats.median(ours.times), low, high, was.time_s / is.time_s))
      name = name:gsub("-", "_")
      figure("lab_" .. name .. "_network", stats.median(alone.times) / ideal,
         "of what the links allow", "<=", 1.25)
      figure("lab_" .. name .. "_measured", stats.median(slurm.times) / stats.median(ours.times),
         "of ours", ">=", 1)
      figure("lab_" .. name .. "_predicted", was.time_s / is.time_s, "of ours")
   end
end

local what = { busy = busy, state = state, link = link, report = report }
what[arg[1]](table.unpack(arg, 2))
