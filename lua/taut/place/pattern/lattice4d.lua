-- SPDX-License-Identifier: GPL-2.0-or-later
--- Halo exchange of a four-dimensional lattice (lattice QCD): a message to each of 8 neighbours.
local halo = require "taut.place.pattern.halo"

return {
   messages = 8,
   takes = { "bytes", "grid", "periodic" },
   steps = halo.steps_of(4),
}
