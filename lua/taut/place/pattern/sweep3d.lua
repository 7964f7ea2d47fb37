-- SPDX-License-Identifier: GPL-2.0-or-later
--- Wavefront sweeps of discrete ordinates as the code Sweep3D has them: columns of nx * ny * nz
-- cells a rank in a two-dimensional grid, planes in blocks of kba, each block passed on to two
-- neighbours, from each corner twice.
--
-- A sweep has a stage for each block, and for each rank on the longest way before the last block
-- reaches the far corner; in one stage the ranks of some diagonals compute, the others wait.
-- Source: as sweep.lua; eight fields of 8 bytes and 275 operations for each cell and field, SST's
-- manual of Ember motifs.
local grid = require "taut.place.pattern.grid"
local motif = require "taut.place.pattern.motif"

local FIELDS, WIDTH, FLOPS = 8, 8, 275
local OCTANTS = 8

return motif.of { summary = "wavefront sweeps in blocks of planes over a 2-dimensional grid",
   messages = 2, takes = { "nx", "ny", "nz", "kba", "grid" }, shape = "square", dims = 2,
   -- @param options { nx, ny = cells a rank (8), nz = planes (100), kba = planes in a block (10) }
   phases = function(ranks, options)
      local lengths, err = grid.take(ranks, 2, options.grid)
      if not lengths then
         return nil, err
      end
      local nx, ny, nz, kba = options.nx or 8, options.ny or 8, options.nz or 100, options.kba or 10
      if nz % kba ~= 0 then
         return nil, ("expected nz as a multiple of kba, got %d and %d"):format(nz, kba)
      end
      local blocks, phases = OCTANTS // 4 * (nz // kba), {}
      for corner = 0, 3 do
         local x, y = corner // 2 * 2 - 1, corner % 2 * 2 - 1
         phases[#phases + 1] = { grid = lengths, offsets = { { x, 0 }, { 0, y } },
            bytes = { ny * kba * FIELDS * WIDTH, nx * kba * FIELDS * WIDTH }, periodic = false,
            times = blocks, stages = blocks + OCTANTS // 4 * (lengths[1] + lengths[2] - 2),
            flops = nx * ny * kba * FIELDS * FLOPS }
      end
      return phases, lengths
   end }
