-- SPDX-License-Identifier: GPL-2.0-or-later
--- Halo exchange as the simulator SST's motif Halo3D26 has it: each rank holds a cube of points,
-- updates all of them, and sends faces, edges and corners to up to 26 neighbours.
--
-- Source: SST's manual of Ember motifs (sst-simulator.org): one field of 8 bytes and 26 floating
-- point operations a point, a grid that is not periodic.
local grid = require "taut.place.pattern.grid"
local motif = require "taut.place.pattern.motif"

local WIDTH, FLOPS, POINTS = 8, 26, 30

return motif.of { summary = "a cube of points a rank: faces, edges and corners to 26 neighbours",
   messages = 26, takes = { "points", "grid", "periodic" }, shape = "cube", dims = 3,
   -- @param options { points = along an edge of a rank's cube (30), grid =, periodic = (no) }
   phases = function(ranks, options)
      local lengths, err = grid.take(ranks, 3, options.grid)
      if not lengths then
         return nil, err
      end
      local points, list, bytes = options.points or POINTS, grid.around(), {}
      for i, offset in ipairs(list) do
         bytes[i] = WIDTH * points ^ (3 - offset.far)
      end
      return { { grid = lengths, offsets = list, bytes = bytes, periodic = options.periodic == true,
         flops = FLOPS * points ^ 3 } }, lengths
   end }
