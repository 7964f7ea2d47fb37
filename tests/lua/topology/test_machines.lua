-- SPDX-License-Identifier: GPL-2.0-or-later
-- The machine files that are installed: counts as their comments say, and nothing to find in them.
local check = require "taut.topology.check"
local config = require "taut.config"
local golden = require "lib.golden"
local lu = require "luaunit"

local MACHINES = {
   titan = { kind = "torus", nodes = 18688, routers = 9600, links = 57600 },
   theta = { kind = "dragonfly", nodes = 4392, routers = 1152 },
   dragonfly65 = { kind = "dragonfly", nodes = 33280, routers = 2080 },
   hyperx12 = { kind = "hyperx", nodes = 34560, routers = 1728, links = 1728 * 33 },
   atlas = { kind = "fattree", nodes = 1152, routers = 100, links = 2 * 96 * 12 },
}

-- Through a file of our own: those of the tree may be writable by a group.
local function machine(name)
   local path = ("%s/etc/machines/%s.lua"):format(os.getenv "TAUT_SRCDIR" or ".", name)
   local f = assert(io.open(path))
   local text = f:read "a"
   f:close()
   return assert(config.machine(golden.file(name .. ".lua", text)))
end

local tests = {}

function tests.tearDown()
   golden.clean()
end

for name, m in pairs(MACHINES) do
   tests["test_machine_file_" .. name] = function()
      local topo = machine(name)
      lu.assertEquals(topo.kind_name, m.kind)
      lu.assertEquals(#topo.nodes, m.nodes)
      lu.assertEquals(topo.routers, m.routers)
      local links = 0
      for c = 1, #topo.components do
         links = links + (topo:is_link(c) and 1 or 0)
      end
      lu.assertEquals(m.links or links, links)
      lu.assertEquals(check.all(topo, {}), {})
   end
end

-- Its cards could do DDR, and ran at SDR: 10 Gb/s, 8 of them data.
function tests.test_atlas_ran_at_sdr()
   local topo = machine "atlas"
   for c = 1, #topo.components do
      lu.assertEquals(topo.capacity[c], 4 * 2.5e9 * 8 / 10 / 8)
   end
end

function tests.test_service_nodes_of_titan_are_whole_modules()
   local topo = machine "titan"
   local empty, by_place = 0, {}
   for r = 0, topo.routers - 1 do
      if #topo:on_router(r) == 0 then
         empty = empty + 1
         local place = topo.layout.cname(r):match "^(.*)g%d$"
         by_place[place] = (by_place[place] or 0) + 1
      end
   end
   lu.assertEquals(empty, 256)
   for place, n in pairs(by_place) do
      lu.assertEquals(n, 2)
      lu.assertStrContains(place, "c0s0")
   end
end

return tests
