-- SPDX-License-Identifier: GPL-2.0-or-later
--- Halo exchange of a three-dimensional grid of ranks: a message to each of 6 neighbours.
local halo = require "taut.place.pattern.halo"

return {
   messages = 6,
   takes = { "bytes", "grid", "periodic" },
   steps = halo.steps_of(3),
}
