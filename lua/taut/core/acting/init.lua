-- SPDX-License-Identifier: GPL-2.0-or-later
--- Does this tautd act?  One that is alone always does.  Of several with one database the one does
-- that has the lease (store/lease.lua), once it knows what the one before knew.
--
-- Acting is: to answer nodes and other hosts, to change anything in Slurm, to write the database.
-- A tautd that is not active names the active one.
local lease = require "taut.store.lease"

local acting = {}
local Acting = {}
Acting.__index = Acting

--- Does it?
function Acting:may()
   return self.is_ready == true and (not self.controllers or self.lease:until_ns() ~= nil)
end

--- Until when, in nanoseconds of loop.now_ns(); nil: it is alone, or not at all.
function Acting:until_ns()
   if self.is_ready and self.lease then
      return (self.lease:until_ns())
   end
   return nil
end

--- Is it one of several?
function Acting:is_shared()
   return self.controllers ~= nil
end

--- Has it nothing in memory yet?
function Acting:is_blank()
   return self:is_shared() and not self.has_begun
end

--- The token under which it acts, or nil.
function Acting:token()
   return self.lease and self.lease.token
end

--- Why it does not, for people; nil where it does.
function Acting:why_not()
   if self:may() then
      return nil
   elseif not self.lease then
      return "it is starting"
   end
   local s = self.lease:state()
   if s.error then
      return "no tautd is known to be active: " .. s.error
   elseif s.host and self.lease.token then
      return "it is taking over"
   end
   if s.host then
      return ("the tautd on %s is active"):format(s.host)
   end
   return "no tautd is active at the moment"
end

--- @return nil where it is alone; or { here, host = of who acts or nil, token, waiting, error,
--   controllers }
function Acting:state()
   if not self.lease then
      return nil
   end
   local s, here = self.lease:state(), self:may()
   return { here = here, host = here and self.host or not self.lease.token and s.host or nil,
      this = self.host, token = s.token, waiting = s.waiting, error = s.error,
      controllers = self.controllers, blank = self:is_blank() or nil }
end

--- Why no node is drained from here although somebody may be; nil otherwise.  Of several the lease
-- decides, whoever has slurmctld; one that is alone leaves it to the one beside slurmctld.
-- @param standby of slurm/cluster/init.lua
function Acting:standing_by(standby)
   if self.lease then
      return self:why_not()
   end
   return standby
end

--- To whom it should go over: the active slurmctld is on another host, and a tautd there waits.
-- Asked for with each news from Slurm; twice in a row, so that a short absence moves nothing.
-- @param active host of the active slurmctld, or nil
-- @return the host, or nil
function Acting:successor(active)
   local waiting = self:may() and self.lease and self.lease:state().waiting
   local to = waiting and active and lease.is_host(waiting, active)
      and not lease.is_host(self.host, active) and waiting or nil
   local again = to ~= nil and to == self.wanted
   self.wanted = to
   if again then
      return to
   end
   return nil
end

--- @param options { controllers = hosts, host = which of them is this one }; nil: it is alone
function acting.new(options)
   return setmetatable(options or {}, Acting)
end

--- Which of the controllers is this host?
-- @return its name there; or nil and what is wrong
function acting.this(controllers, hostname)
   for _, name in ipairs(controllers) do
      if lease.is_host(name, hostname) then
         return name
      end
   end
   return nil, ("controllers: this host, %s, is not one of them (%s)"):format(hostname,
      table.concat(controllers, ", "))
end

return acting
