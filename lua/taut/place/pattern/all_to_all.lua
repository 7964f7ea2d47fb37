-- SPDX-License-Identifier: GPL-2.0-or-later
--- Everybody sends one message to everybody else (MPI_Alltoall): transposes, FFTs.
local all_to_all = { takes = { "bytes" } }

--- @param n ranks
-- @param options { bytes = of one message }
function all_to_all.steps(_, options)
   return { { kind = "all-to-all", bytes = options.bytes, times = 1 } }
end

return all_to_all
