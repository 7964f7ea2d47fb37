-- SPDX-License-Identifier: GPL-2.0-or-later
--- taut-slurm behind the lease: whoever does not act changes nothing in Slurm, and what comes to
-- its turn too late is not done either.
local fenced = {}
local Fenced = {}
Fenced.__index = Fenced

local CHANGES = { drain = true, resume = true, comment = true, steer = true, feature = true }

function Fenced:ask(request, fn, timeout_ms)
   if CHANGES[request.op] then
      local until_ns = self.acting:until_ns()
      if not until_ns then
         return fn(nil, "not done: " .. (self.acting:why_not() or "another tautd is active"))
      end
      request.until_ns = until_ns
   end
   self.helper:ask(request, fn, timeout_ms)
end

function Fenced:stop()
   self.helper:stop()
end

--- @param helper (taut-slurm)
-- @param acting of core/acting
function fenced.new(helper, acting)
   return setmetatable({ helper = helper, acting = acting }, Fenced)
end

return fenced
