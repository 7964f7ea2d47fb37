-- SPDX-License-Identifier: GPL-2.0-or-later
-- A fabric for tests, as taut-ib would tell of it.
local model = require "taut.fabric.model"

local sim = {}

local UP, DOWN, OFF = "4 5 2 3 31 4 7 7 0 0 0", "1 2 2 3 31 1 7 7 0 0 0", "1 3 2 3 31 1 7 7 0 0 0"

sim.info = {
   up = UP, down = DOWN, disabled = OFF,
   x1 = "4 5 1 3 31 4 7 7 0 0 0", -- 1X where 4X is enabled
   x1_set = "4 5 1 1 31 4 7 7 0 0 0",
   ddr = "4 5 2 3 31 2 7 7 0 0 0", -- DDR where QDR is enabled
   ddr_set = "4 5 2 3 31 2 3 7 0 0 0",
   ddr_only = "4 5 2 3 31 2 3 3 0 0 0", -- supports no more
   init = "2 5 2 3 31 4 7 7 0 0 0",
   edr = "4 5 2 3 31 4 7 7 2 3 3",
   xdr = "4 5 2 3 31 4 7 7 32 47 47",
   xdr_ndr = "4 5 2 3 31 4 7 7 8 47 47", -- NDR where XDR is enabled
   xdr_plane = "4 5 1 1 31 4 7 7 32 47 47", -- one of the planes of a port
}

local function guid(n)
   return ("0x%016x"):format(n)
end

-- Two leaves with two hosts each, two cables between them.
function sim.parts()
   local parts = {}
   local function node(type, n, desc, count)
      local t = { type = type, guid = guid(n), desc = desc, num_ports = count, lid = n & 0xff,
         ports = {} }
      for i = 1, count do
         t.ports[i] = { port = i, info = DOWN, read = 32,
            guid = type == "ca" and guid(n + i) or nil }
      end
      parts[#parts + 1], parts[desc] = t, t
      return t
   end
   local function cable(a, pa, b, pb)
      local p, q = a.ports[pa], b.ports[pb]
      p.far, p.far_port, q.far, q.far_port = b.guid, pb, a.guid, pa
      p.info, q.info = UP, UP
   end
   local leaf1, leaf2 = node("switch", 0x100, "leaf1", 6), node("switch", 0x200, "leaf2", 6)
   for i = 1, 4 do
      cable(i <= 2 and leaf1 or leaf2, (i - 1) % 2 + 1, node("ca", 0x1000 * i, "n" .. i ..
         " mlx5_0", 1), 1)
   end
   cable(leaf1, 5, leaf2, 5)
   cable(leaf1, 6, leaf2, 6)
   return parts
end

-- Both ends of the cable at a port.
function sim.ends(parts, desc, number)
   local p = parts[desc].ports[number]
   for _, node in ipairs(parts) do
      if node.guid == p.far then
         return p, node.ports[p.far_port], node
      end
   end
   return p
end

function sim.cut(parts, desc, number)
   local p, q = sim.ends(parts, desc, number)
   for _, e in ipairs { p, q } do
      e.far, e.far_port, e.info = nil, nil, DOWN
   end
end

local clock = 1000

--- Parts as a fabric, swept `seconds` after the one before.
function sim.fabric(parts, seconds, o)
   clock = clock + (seconds or 300)
   local s = { nodes = {}, begin = clock, counted = clock, counted_mono = clock, finish = clock + 1,
      boot = "b", clashes = {}, origin = { guid = guid(0x1000), port = 1 } }
   for k, v in pairs(o or {}) do
      s[k] = v
   end
   -- each sweep tells all of it anew
   for i, node in ipairs(parts) do
      local copy = {}
      for k, v in pairs(node) do
         copy[k] = v
      end
      copy.ports = {}
      for j, p in ipairs(node.ports) do
         copy.ports[j] = {}
         for k, v in pairs(p) do
            copy.ports[j][k] = v
         end
      end
      s.nodes[i] = copy
   end
   return model.build(s, o and o.names, 4)
end

function sim.state()
   return { units = {}, standing = {}, recent = {} }
end

return sim
