-- SPDX-License-Identifier: GPL-2.0-or-later
--- Halo exchange of a four-dimensional lattice (lattice QCD): a message to each of 8 neighbours.
local halo = require "taut.place.pattern.halo"

return {
   summary = "halo exchange of a 4-dimensional lattice, 8 neighbours",
   messages = 8,
   takes = { "bytes", "grid", "periodic" },
   steps = halo.steps_of(4),
}
