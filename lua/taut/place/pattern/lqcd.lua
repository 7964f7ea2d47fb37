-- SPDX-License-Identifier: GPL-2.0-or-later
--- Lattice quantum chromodynamics: one iteration of a conjugate gradient with staggered fermions on
-- a four-dimensional lattice, as the code MILC has it.
--
-- The lattice is cut where its pieces are longest, by the prime factors of the number of ranks.
-- For each site of a face a vector of 48 bytes goes to the neighbour, and two more from the planes
-- behind it (the Naik term); even and odd sites take turns.  1,370 operations a site and iteration.
-- Source: G. Bauer, S. Gottlieb, T. Hoefler, "Performance modeling and comparative analysis of the
-- MILC lattice QCD application su3_rmd", CCGrid 2012; SST's manual of Ember motifs.
local motif = require "taut.place.pattern.motif"

local LATTICE = { 144, 144, 144, 192 }
local VECTOR, PLANES, FLOPS = 48, 3, 1370
local MOST_FACTOR = 1 << 20

local function prime_factors(number)
   local list, f = {}, 2
   while number > 1 and f <= MOST_FACTOR do
      while number % f == 0 do
         table.insert(list, 1, f)
         number = number // f
      end
      if f * f > number then
         f = number -- which is prime
      else
         f = f + 1
      end
   end
   return list -- the largest first
end

-- Ranks along each dimension: each factor cuts the longest piece, of equal ones the last.
local function cut_lattice(count, lattice)
   local ranks, piece = { 1, 1, 1, 1 }, { table.unpack(lattice) }
   for _, f in ipairs(prime_factors(count)) do
      local longest = 4
      for d = 3, 1, -1 do
         if piece[d] > piece[longest] then
            longest = d
         end
      end
      ranks[longest], piece[longest] = ranks[longest] * f, piece[longest] / f
   end
   return ranks, piece
end

return motif.of { summary = "4-dimensional lattice: an iteration of a solver with 8 neighbours",
   messages = 8, takes = { "lattice", "grid" }, shape = "halvings", dims = 4,
   -- @param options { lattice = sites along each dimension, { 144, 144, 144, 192 }; grid = of ranks
   --   }
   phases = function(count, options)
      local lattice = options.lattice or LATTICE
      if #lattice ~= 4 then
         return nil, ("expected a lattice of 4 lengths, got %d"):format(#lattice)
      end
      local ranks, piece = cut_lattice(count, lattice)
      if options.grid then
         ranks = options.grid
         local places = 1
         for d = 1, 4 do
            places, piece[d] = places * (ranks[d] or 0), lattice[d] / (ranks[d] or 1)
         end
         if #ranks ~= 4 or places ~= count then
            return nil, ("grid %s does not have %d places in 4 dimensions"):format(
               table.concat(ranks, "x"), count)
         end
      end
      local sites, offsets, bytes = piece[1] * piece[2] * piece[3] * piece[4], {}, {}
      for d = 1, 4 do
         for _, step in ipairs { 1, -1 } do
            local offset = { 0, 0, 0, 0 }
            offset[d] = step
            offsets[#offsets + 1], bytes[#bytes + 1] = offset,
               VECTOR * PLANES * sites / piece[d] / 2
         end
      end
      return { { grid = ranks, offsets = offsets, bytes = bytes, periodic = false, times = 2,
         flops = FLOPS * sites / 2 } }, ranks
   end }
