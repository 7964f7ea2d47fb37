-- SPDX-License-Identifier: GPL-2.0-or-later
--- Does MUNGE answer on this host? If it does not, no node can be authenticated, even if all else
-- works: a cluster with auth/slurm has no other need of it.
--
-- What nodes send shows it; while none does, munged is asked about a credential that cannot be
-- good: at the start, and then seldom, since it logs that.
local loop = require "taut.loop"
local munge = require "taut.munge"
local sys = require "taut.sys"

local munged = {}
local Munged = {}
Munged.__index = Munged

local NO_CREDENTIAL = "MUNGE:AA:"
local AGAIN_S, SELDOM_S = 60, 1800 -- while it is away; while it answers and no node speaks

--- A credential was looked at.
-- @param why "" or nil: munged answered; else why it cannot be reached
function Munged:note(why)
   why = why ~= "" and why or nil
   self.asked_at = loop.time()
   if why and not self.away then
      sys.log("err", ("MUNGE does not answer here, so no node can be authenticated: %s; " ..
         "munged has to run on this host and on all nodes, beside auth/slurm, too"):format(why))
   elseif self.away and not why then
      sys.log("notice", "MUNGE answers again")
   end
   self.away = why
end

--- Why munged cannot be reached; nil while it answers.
function Munged:error()
   return self.away
end

--- Ask, if no credential has shown it lately.
function Munged:look()
   local age_s = self.asked_at and loop.time() - self.asked_at or math.huge
   if self.is_asking or age_s < (self.away and AGAIN_S or SELDOM_S) then
      return
   end
   self.is_asking = true
   munge.decode(NO_CREDENTIAL, function(_, err, _, is_away)
      self.is_asking = false
      self:note(is_away and tostring(err) or nil)
   end)
end

function munged.new()
   return setmetatable({}, Munged)
end

return munged
