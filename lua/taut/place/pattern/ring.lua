-- SPDX-License-Identifier: GPL-2.0-or-later
--- Everybody sends one message to the next rank, the last to the first.
local shift = require "taut.place.pattern.shift"

local ring = { takes = { "bytes" } }

--- @param ranks ranks
-- @param options { bytes = }
function ring.steps(ranks, options)
   return shift.steps(ranks, { bytes = options.bytes, by = 1 })
end

return ring
