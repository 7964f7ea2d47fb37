-- SPDX-License-Identifier: GPL-2.0-or-later
--- All-reduce round a ring: n - 1 rounds of reduce-scatter and as many of all-gather, in each of
-- which everybody sends an n-th of the vector to the next.
--
-- Source: P. Patarasuk, X. Yuan, "Bandwidth optimal all-reduce algorithms for clusters of
-- workstations", J. Parallel Distrib. Comput. 69 (2009).
local shift = require "taut.place.pattern.shift"

local all_reduce_ring = { takes = { "bytes" } }

--- @param ranks ranks
-- @param options { bytes = of the whole vector }
function all_reduce_ring.steps(ranks, options)
   local steps = shift.steps(ranks, { bytes = options.bytes / ranks, by = 1 })
   steps[1].times = math.max(1, 2 * (ranks - 1))
   return steps
end

return all_reduce_ring
