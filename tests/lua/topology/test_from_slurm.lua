-- SPDX-License-Identifier: GPL-2.0-or-later
-- Coordinates out of Slurm over ALPS, and what they are held against.
local from_slurm = require "taut.topology.import.slurm.coordinates"
local lu = require "luaunit"
local topology = require "taut.topology"

local tests = {}

local DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"

local function digit(n)
   return DIGITS:sub(n + 1, n + 1)
end

-- As taut-slurm tells of a torus of 3 x 2 x 12 with two nodes a router, but for one service node.
local function slurm()
   local list = {}
   for i = 0, 3 * 2 * 12 * 2 - 1 do
      local r = i // 2
      list[#list + 1] = i ~= 5 and { name = ("nid%05d"):format(i),
         coord = digit(r // 24) .. digit(r // 12 % 2) .. digit(r % 12) } or nil
   end
   return list
end

local function conf(more)
   local c = { kind = "torus", from = "slurm", capacity = 1e9 }
   for k, v in pairs(more or {}) do
      c[k] = v
   end
   return c
end

function tests.test_everything_comes_from_slurm()
   local topo = assert(topology.build(assert(from_slurm.fill(conf(), slurm()))))
   lu.assertEquals(topo.dims, { 3, 2, 12 })
   lu.assertEquals(#topo.nodes, 143)
   local n = topo.node_id.nid00023
   lu.assertEquals(topo:coordinates(topo:router(n)), { 0, 0, 11 })
   lu.assertNil(topo.node_id.nid00005)
end

function tests.test_other_coordinates_are_another_wiring()
   local a = assert(topology.build(assert(from_slurm.fill(conf(), slurm()))))
   local list = slurm()
   list[1].coord, list[3].coord = list[3].coord, list[1].coord
   local b = assert(topology.build(assert(from_slurm.fill(conf(), list))))
   lu.assertNotEquals(a.wiring, b.wiring)
end

function tests.test_a_machine_file_is_held_against_it()
   local machine = { dims = { 3, 2, 12 }, nodes_per_router = 2, nodes = "nid[00000-00143]",
      service = "nid00005" }
   local topo = assert(topology.build(assert(from_slurm.fill(conf(machine), slurm()))))
   lu.assertEquals(#topo.nodes, 143)
   local list = slurm()
   list[1].coord = "111"
   local _, why = topology.build(assert(from_slurm.fill(conf(machine), list)))
   lu.assertEquals(why, "topology.from: Slurm has nid00000 at 1,1,1, topology.nodes at 0,0,0")
   machine.dims = { 2, 2, 12 }
   _, why = from_slurm.fill(conf(machine), slurm())
   lu.assertStrContains(why, "topology.dims: { 2, 2, 12 }, but Slurm has coordinates up to")
end

function tests.test_a_slurm_without_coordinates_is_refused()
   for _, coord in ipairs { "", "n5", "0a1", "01", "0123", "172.30.1.1" } do
      local _, why = from_slurm.fill(conf(), { { name = "n5", coord = coord } })
      lu.assertStrContains(why, "topology.from: Slurm has no coordinates of n5")
   end
   local _, why = from_slurm.fill(conf(), {})
   lu.assertStrContains(why, "no nodes")
   _, why = topology.build(conf { from = "sdb" })
   lu.assertEquals(why, 'topology.from: expected "slurm", got sdb')
end

return tests
