-- SPDX-License-Identifier: GPL-2.0-or-later
--- Answers to `taut steer`; others' jobs are hidden by slurm.conf's PrivateData.
local json = require "taut.json"
local privacy = require "taut.slurm.privacy"
local rights = require "taut.base.rights"
local effect = require "taut.place.steer.effect"
local sys = require "taut.sys"

local ask = {}

local function switch_steering(self, args, uid, reply)
   if not self.cluster:is_admin(uid) then
      return reply(nil, ("only %s may do this, you are %s"):format(
         self.cluster:who_administers(), sys.user_name(rights.user(uid))))
   end
   self.switches:set_steering(args.set)
   sys.log("notice", ("steering is %s (%s)"):format(args.set, sys.user_name(uid)))
   self.cluster:refresh(function() reply(self:status()) end)
end

local function give_report(self, args, uid, reply)
   local since = tonumber(args.since) or 0
   self.journal:flush()
   self.journal:query("steered_jobs", { since = since }, function(steered, err)
      if not steered then
         return reply(nil, err)
      end
      self.journal:query("unsteered_like", { since = since }, function(others)
         reply(effect.of(privacy.visible(self.cluster, uid, steered),
            privacy.visible(self.cluster, uid, others or {})))
      end)
   end)
end

--- `taut steer`.
-- @param self steer
-- @param args { set = "on"|"off" } or { report = true, since = seconds } or neither
-- @param uid of the caller
function ask.give(self, args, uid, reply)
   if args.set == "on" or args.set == "off" then
      return switch_steering(self, args, uid, reply)
   elseif args.set ~= nil then
      return reply(nil, "steer: expected on or off")
   elseif args.report then
      return give_report(self, args, uid, reply)
   end
   local s = self:status()
   local pending = json.array {}
   for _, job in ipairs(s.pending) do
      if not privacy.is_hidden(self.cluster, uid, job.uid) then
         pending[#pending + 1] = job
      end
   end
   s.pending = pending
   reply(s)
end

return ask
