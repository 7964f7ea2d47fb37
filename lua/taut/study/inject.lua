-- SPDX-License-Identifier: GPL-2.0-or-later
--- How much of its speed each node should inject with: full speed may congest, less starves.
--
-- What is assumed.  A pattern needs F seconds to be injected at full speed, and L seconds of the
-- hottest link of its ways (mean over messages).  At a share s of the injection it takes at least
-- F / s; what arrives at that link meanwhile is s * L / F times what it carries.  Below 1 nothing
-- queues.  Above, queues reach back over the routers before it and block what does not even want
-- that link, so the link serves less the more is offered beyond what it carries:
--    T(s) = max(F / s, L * (1 + K * max(0, s * L / F - 1)))
-- K is the one constant. 0.25 means that a link with twice its capacity offered delivers four
-- fifths. It is an assumption until it is fitted to own runs (`taut study run`).  The best s is F /
-- L where the network is the bottleneck, and 1 where the node is: nothing is gained for a pair
-- alone.
local load = require "taut.study.load"

local inject = {}

inject.congestion = 0.25 -- K

--- Shares that are looked at.
inject.shares = {}
for percent = 5, 100, 5 do
   inject.shares[#inject.shares + 1] = percent / 100
end

--- Seconds of all phases at a share of the injection.
-- @param phases array of { inject_bytes, stages, flops, messages }
-- @param solved array of { load_s }
-- @param constants of time.of; congestion = K
function inject.time(machine, phases, solved, share, constants)
   local sum = 0
   for i, p in ipairs(phases) do
      local F, L = p.inject_bytes / machine.inject_Bps, solved[i].load_s
      local offered = 0
      if F > 0 then
         offered = share * L / F
      end
      local K = constants.congestion or inject.congestion
      local congested = L * (1 + K * math.max(0, offered - 1))
      sum = sum + p.stages * (p.flops / constants.flops + p.messages * constants.message_s +
         constants.b * math.max(F / share, congested))
   end
   return sum
end

--- The curve, and its best share.
-- @param list of jobs, motif of pattern.motif
-- @param options { per_node, known = map component → share left }
-- @return { curve = { { share, time_s, ratio = to full injection }, … }, best = share, gain = of
--   the time at full injection, inject_s = F, load_s = L }, or nil and what is wrong
function inject.study(machine, motif, list, options, constants)
   local phases, err = load.of(machine, motif, list, options.per_node)
   local solved, lost, names
   if phases then
      solved, lost, names = load.solve(machine, phases, machine:overlay(options.known))
      err = lost
   end
   if not solved then
      return nil, err
   elseif lost > 0 then
      return nil, ("%d pairs without a way, such as %s"):format(lost, names[1])
   end
   local out = { curve = {}, inject_s = 0, load_s = 0 }
   local full = inject.time(machine, phases, solved, 1, constants)
   for i, share in ipairs(inject.shares) do
      local t = inject.time(machine, phases, solved, share, constants)
      out.curve[i] = { share = share, time_s = t, ratio = 1 }
      if full > 0 then
         out.curve[i].ratio = t / full
      end
      if not out.best or t <= out.best_s * (1 + 1e-9) then
         out.best, out.best_s = share, t
      end
   end
   out.gain = 0
   if full > 0 then
      out.gain = 1 - out.best_s / full
   end
   for i, p in ipairs(phases) do
      out.inject_s = out.inject_s + p.stages * p.inject_bytes / machine.inject_Bps
      out.load_s = out.load_s + p.stages * solved[i].load_s
   end
   return out
end

--- The variables that libraries read.  Only Gemini's takes a share; the others limit what a rank
-- has under way, in proportion to their defaults here: values to try first (`taut study run`).
-- Sources: MPICH, src/mpi/coll (MPIR_CVAR_ALLTOALL_THROTTLE, 32); libfabric, fi_verbs(7)
-- (FI_VERBS_TX_SIZE, 384).
-- @return array of { name, value, what }
function inject.variables(share)
   local function share_of(most)
      return ("%d"):format(math.max(1, math.floor(share * most + 0.5)))
   end
   return {
      { name = "APRUN_BALANCED_INJECTION", value = share_of(100), what = "Cray's aprun on Gemini" },
      { name = "MPIR_CVAR_ALLTOALL_THROTTLE", value = share_of(32), what = "MPICH's all-to-all" },
      { name = "FI_VERBS_TX_SIZE", value = share_of(384), what = "libfabric over verbs" },
   }
end

return inject
