-- SPDX-License-Identifier: GPL-2.0-or-later
--- Whether a job gains enough from good nodes to wait for them.
local worth = {}

local WORTH = 1.15   -- a job that takes less longer than this elsewhere need not wait

--- Are these the same nodes in the same order?
function worth.same(nodes, others)
   for i, n in ipairs(nodes) do
      if others[i] ~= n then
         return false
      end
   end
   return #nodes == #others
end

--- Is it worth waiting for the best set?
-- @param result { found = candidates, slurm = Slurm's choice or nil, s = { P = pattern } }
-- @return boolean, and a sentence about it
function worth.of(result)
   local best, own, P = result.found[1], result.slurm, result.s.P
   local who = "its communication takes"
   if P.compute > 0 then
      who = ("with %d %% of its time in computation the job takes"):format(
         math.floor(P.compute * 100 + 0.5))
   end
   if not own then
      return true, "Slurm would not start it now"
   end
   local gain = own.score.job_ratio / best.score.job_ratio
   if gain ~= gain then -- neither has routes between all of its nodes
      return false, "not worth waiting for: no set has routes between all of its nodes"
   elseif gain == math.huge then
      return true, "what Slurm would take has no routes between all of its nodes"
   elseif gain < WORTH then
      local much = "no longer"
      if gain > 1.001 then
         much = ("only %.1f %% longer"):format((gain - 1) * 100)
      end
      return false, ("not worth waiting for: %s %s on what Slurm would take"):format(who, much)
   end
   return true, ("%s %.2f times as long on what Slurm would take"):format(who, gain)
end

--- A job that hardly communicates gets what Slurm would take: nothing is to be gained.
-- @param result as for worth.of; s.top = how many candidates at most
function worth.settle(result)
   local own = result.slurm
   if own and own.score.job_ratio <= 1.01 and result.s.P.compute > 0 then
      for i, c in ipairs(result.found) do
         if c == own or worth.same(c.nodes, own.nodes) then
            table.remove(result.found, i)
            break
         end
      end
      table.insert(result.found, 1, own)
      result.found[(result.s.top or #result.found) + 1] = nil
   end
end

return worth
