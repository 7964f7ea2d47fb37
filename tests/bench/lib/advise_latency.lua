-- SPDX-License-Identifier: GPL-2.0-or-later
-- How long a running tautd takes for advice; called by ../advise_latency.
--   advise_latency.lua ask SOCKET NAME         over its socket
--   advise_latency.lua search MACHINE STATE NAME   the search alone, in this process
local json = require "taut.json"
local place = require "taut.place"
local sys = require "taut.sys"
local units = require "kernel.units"

local quick = (os.getenv "BENCH_QUICK" or "") ~= ""
local TIMES = quick and 5 or 25

local cases = {
   { "8", { count = 8 }, 10 },
   { "64", { count = 64 }, 10 },
   { "64_halo3d", { count = 64, pattern = "halo3d" }, 10 },
   { "1000", { count = 1000 }, 30 },
   { "1000_halo3d", { count = 1000, pattern = "halo3d" }, 30 },
}

local function spread(list)
   table.sort(list)
   return list[(#list + 1) // 2], list[1], list[math.ceil(#list * 0.9)]
end

local function request(socket, args)
   local t = sys.now()
   local line = assert(sys.request(socket, json.encode { cmd = "advise", args = args }, 30000))
   local ms = (sys.now() - t) * 1e3
   local reply = assert(json.decode(line))
   if not reply.ok then
      error(reply.error)
   end
   return ms, reply.data
end

local function ask(socket, name)
   print(("%-16s %10s %10s %10s   %s"):format(name, "median", "least", "90th", "best, Slurm's"))
   for _, case in ipairs(cases) do
      local list, data = {}, nil
      request(socket, case[2]) -- takes what Slurm says, and what is kept for the next ones
      for i = 1, TIMES do
         list[i], data = request(socket, case[2])
      end
      local median, least, most = spread(list)
      print(("%-16s %7.1f ms %7.1f ms %7.1f ms   %.2f, %.2f"):format("  " .. case[1], median, least,
         most, data.candidates[1].score, data.slurm and data.slurm.score or 0 / 0))
      units.figure(("advise_%s_%s"):format(name, case[1]), median, "ms", "<=", case[3])
   end
end

local function search(machine, path, name)
   local topo = assert(require("taut.cli.topology.scene").machine(machine))
   local free = {}
   for line in io.lines(path) do
      local text = line:match "^nodes (.*)$"
      for _, n in ipairs(text and assert(json.decode("{" .. text .. "}")).nodes or {}) do
         free[topo.node_id[n.name]] = n.state == "idle" or nil
      end
   end
   for _, count in ipairs { 64, 1000 } do
      local list = {}
      place.search(topo, free, count, { version = 1 })
      for i = 1, TIMES do
         local t = sys.now()
         assert(place.search(topo, free, count, { version = i }))
         list[i] = (sys.now() - t) * 1e3
      end
      local median, least, most = spread(list)
      print(("%-16s %7.1f ms %7.1f ms %7.1f ms   search alone"):format("  " .. count, median, least,
         most))
      units.figure(("search_%s_%d"):format(name, count), median, "ms", "<=", 15)
   end
end

if arg[1] == "ask" then
   ask(arg[2], arg[3])
else
   search(arg[2], arg[3], arg[4])
end
