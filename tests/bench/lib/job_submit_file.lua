-- SPDX-License-Identifier: GPL-2.0-or-later
-- Prints the advice file of a machine: job_submit_file.lua MACHINE.
local config = require "taut.config"
local diagnose = require "taut.diagnose"
local file = require "taut.place.steer.file"
local hostlist = require "taut.hostlist"
local pattern = require "taut.place.pattern"
local picture = require "taut.place.steer.picture"

local PARTITIONS, SLOW = 20, 8

local topo = assert(config.machine(arg[1]))
local d = { topology = topo, diagnosis = diagnose.new(topo, config.diagnosis {}),
   cluster = { nodes = {}, partitions = {},
   nodes_at = os.time(), is_usable = function() return true end } }
math.randomseed(math.tointeger(tonumber(os.getenv "BENCH_SEED")) or 1)
for _, name in ipairs(topo.nodes) do
   d.cluster.nodes[name] = { name = name, cpus = 16, memory_MB = 32768, disk_MB = 0, gres = "gpu:1",
      features = "" }
end
local links = #topo.nodes * 2 * topo.rails
for i = 1, SLOW do
   local c = i % 2 == 0 and math.random(1, links) or math.random(links + 1, #topo.components)
   d.diagnosis:restore(c, { state = "slow", left = 0.2 + 0.05 * i, run = {}, tests = 0, good = 0 })
end
local partitions = {}
for p = 1, PARTITIONS do
   local names, share = {}, p == 1 and #topo.nodes or #topo.nodes // PARTITIONS * p
   table.move(topo.nodes, 1, share, 1, names)
   local name = p == 1 and "batch" or "part" .. p
   d.cluster.partitions[name] = names
   partitions[p] = { name = name, nodes = hostlist.compress(names), up = true }
end
local a = picture.new(d):take(partitions, { exclude = true, most_excluded = 0.5 })
a.serial, a.patterns = math.floor(os.time() * 1000), pattern.names
a.switches = { nodes = 24, wait_s = 120 }
io.write(file.text(a))
