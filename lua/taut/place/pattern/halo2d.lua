-- SPDX-License-Identifier: GPL-2.0-or-later
--- Halo exchange of a two-dimensional grid of ranks: a message to each of 4 neighbours.
local halo = require "taut.place.pattern.halo"

return {
   messages = 4,
   takes = { "bytes", "grid", "periodic" },
   steps = halo.steps_of(2),
}
