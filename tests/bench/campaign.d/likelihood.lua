-- SPDX-License-Identifier: GPL-2.0-or-later
--- Baseline: the likelihood of counts.
--
-- Flock (V. Harsh et al., CoNEXT 2023): of a flow's segments those that were sent again are bad.
-- If any component of its way has failed each is bad with the chance `bad`, else with `good`.  The
-- set of failed components with the largest likelihood is looked for greedily: the one that adds
-- most first, as long as it adds more than the prior takes.  So a flow (sent, resent) adds
--    resent log(bad / good) + (sent - resent) log((1 - bad) / (1 - good))
-- to each component of its way, once only.  Flock knows each flow's way; what of it cannot be known
-- here is left out.
local likelihood = {}

-- Looked for by `campaign --tune --player likelihood --lossy 1 --seeds 1001 --faults-at-once 30
-- --faults 100 --warm 200 --jobs 4000 --machine tree`.
likelihood.tuned = { good = 0.0003, bad = 0.003, prior = 20, epoch_h = 24 }

likelihood.grid = { good = { 0.00003, 0.0003 }, bad = { 0.001, 0.003 }, prior = { 10, 50 },
   epoch_h = { 6, 24 } }

function likelihood.new(b)
   b.flows, b.ends = {}, 0
end

-- What a flow adds where one of its components has failed.
local function gain_of(b, f)
   local s = b.s
   return f.resent * math.log(s.bad / s.good)
      + (f.sent - f.resent) * math.log((1 - s.bad) / (1 - s.good))
end

-- By component: what all flows over it add, and these flows.
local function add_up(b)
   local gain, by = {}, {}
   for _, f in ipairs(b.flows) do
      f.gain, f.is_explained = gain_of(b, f), false
      for _, c in ipairs(f.route) do
         gain[c] = (gain[c] or 0) + f.gain
         by[c] = by[c] or {}
         table.insert(by[c], f)
      end
   end
   return gain, by
end

local function largest(gain)
   local best, most = nil, -math.huge
   for c, v in pairs(gain) do
      if v > most or v == most and c < best then
         best, most = c, v
      end
   end
   return best, most
end

-- Its flows are explained: they add nothing to other components any more.
local function explain_flows(list, gain)
   for _, f in ipairs(list) do
      if not f.is_explained then
         f.is_explained = true
         for _, c in ipairs(f.route) do
            gain[c] = gain[c] and gain[c] - f.gain
         end
      end
   end
end

local function find_failed(b)
   local gain, by = add_up(b)
   local failed, wanted = {}, {}
   while true do
      local c, most = largest(gain)
      if not c or most <= b.s.prior then
         break
      end
      explain_flows(by[c], gain)
      gain[c], failed[c] = nil, 0.5
   end
   for c, v in pairs(gain) do
      wanted[#wanted + 1] = v > 0 and c or nil
   end
   table.sort(wanted, function(p, q) return gain[p] > gain[q] or gain[p] == gain[q] and p < q end)
   b:wants(wanted)
   return failed
end

function likelihood.take(b, rows, now)
   local failed
   if now >= b.ends then
      failed = find_failed(b)
      b.flows, b.ends = {}, now + b.s.epoch_h * 3600
   end
   for _, r in ipairs(rows) do
      for _, n in ipairs(r.counts or {}) do
         b.flows[#b.flows + 1] = n and { route = r.route, sent = n.sent, resent = n.resent } or nil
      end
   end
   return failed
end

function likelihood.forget() end

return likelihood
