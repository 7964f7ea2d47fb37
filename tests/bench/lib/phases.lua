-- SPDX-License-Identifier: GPL-2.0-or-later
-- How many phases a matrix takes in which no two tests share a component: the table of
-- doc/matrix.md.  usage: taut --lua tests/bench/lib/phases.lua
local matrix = require "taut.survey.matrix"
local topology = require "taut.topology"

for _, dims in ipairs { { 2, 2, 2 }, { 4, 2, 2 }, { 4, 4, 4 }, { 8, 4, 4 } } do
   local count = 1
   for _, d in ipairs(dims) do
      count = count * d
   end
   local topo = assert(topology.build { kind = "torus", dims = dims, nodes_per_router = 1,
      nodes = ("n[0-%d]"):format(count - 1), capacity = 1e9 })
   local nodes = {}
   for n = 1, count do
      nodes[n] = n
   end
   local job = assert(matrix.begin { topology = topo, nodes = nodes, options = { again = false },
      settings = { matrix_ms = 50 }, diagnosis = { good = 0.75, clear_most = 0.95 } })
   local phases, tests = 0, 0
   local list = job:next(nodes)
   while list do
      phases = phases + #list
      for _, phase in ipairs(list) do
         tests = tests + #phase
      end
      list = job:next(nodes)
   end
   print(("| %s | %d | %d | %d |"):format(table.concat(dims, "x"), tests, 2 * (count - 1), phases))
end
