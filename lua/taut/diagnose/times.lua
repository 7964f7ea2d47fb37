-- SPDX-License-Identifier: GPL-2.0-or-later
--- Slow at times: whenever it is well again the run ends, but it comes back at the same ceiling.
-- What is busy comes back at another one, or yields to several streams.  It is said, nothing more.
local tables = require "taut.base.tables"

local times = {}

local KEPT = 16

--- A component is well again: remember what its run was worth, if it was a suspect.
-- @param k its record: `last` is the case as it was weighed last, `past` those before that
function times.remember(self, k, now)
   local last, n = k.last, k.last and math.max(#k.confirmed, k.last.confirmed) or 0
   if k.state == "suspect" and last and 2 * k.busy <= n then
      k.past = tables.filter(k.past or {}, function(p)
         return now - p.at <= self.s.forget_days * 86400
      end)
      table.insert(k.past, { best = last.best, score = last.score, confirmed = n, at = now })
      if #k.past > KEPT then
         table.remove(k.past, 1)
      end
   end
   k.last = nil
end

--- Is it slow at times?
-- @param case of taut.evidence, of the run that is open
-- @return { kind = "times", of = its name, n = how often at this ceiling, total }, or nil
function times.look(self, c, k, case)
   local same = tables.filter(k.past or {}, function(p)
      return math.abs(p.best / case.best - 1) <= self.s.ceiling
   end)
   local n, total = #same + 1, #(k.past or {}) + 1
   local score = case.score + tables.sum(same, function(p) return p.score end)
   local confirmed = math.max(#k.confirmed, case.confirmed)
      + tables.sum(same, function(p) return p.confirmed end)
   return n > self.s.slow_spells and 2 * n > total and score >= self.s.slow_score
      and confirmed >= self.s.slow_low
      and { kind = "times", of = self.topo.components[c], n = n, total = total } or nil
end

return times
