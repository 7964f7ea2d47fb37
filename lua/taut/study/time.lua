-- SPDX-License-Identifier: GPL-2.0-or-later
--- How long an iteration takes: T = compute + A + b * max(F, L), summed over its phases.
--
-- compute is flops over what a rank computes; A what its messages cost without bandwidth; F what a
-- node needs to send what it has to; L the mean over messages of the hottest link of their ways,
-- both in seconds at full speed.  b says how much longer real traffic takes than bytes over
-- capacity.  L is never fitted to the failures that are to be predicted.
local time = {}

--- Defaults without measurements: 10 Gflop/s a rank, 1 us a message, traffic that takes as long as
-- its bytes.
time.usual = { flops = 1e10, message_s = 1e-6, b = 1 }

--- Seconds of an iteration.
-- @param machine of taut.study.machine, for what a node injects
-- @param phases of load.of
-- @param solved of load.solve
-- @param constants { flops = a second and rank, message_s, b, inject = share of the full injection
--   (1), compute = share of the time without failures that is computation, in place of flops }
-- @return seconds, { compute_s, message_s, network_s, inject_s = F, load_s = L }
function time.of(machine, phases, solved, constants)
   local p = { compute_s = 0, message_s = 0, network_s = 0, inject_s = 0, load_s = 0 }
   for i, phase in ipairs(phases) do
      local n = phase.stages
      local inject = phase.inject_bytes / (machine.inject_Bps * (constants.inject or 1))
      local L = solved[i].load_s
      p.compute_s = p.compute_s + n * phase.flops / constants.flops
      p.message_s = p.message_s + n * phase.messages * constants.message_s
      p.network_s = p.network_s + n * constants.b * math.max(inject, L)
      p.inject_s, p.load_s = p.inject_s + n * inject, p.load_s + n * L
   end
   p.compute_s = constants.compute_s or p.compute_s
   return p.compute_s + p.message_s + p.network_s, p
end

return time
