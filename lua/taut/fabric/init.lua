-- SPDX-License-Identifier: GPL-2.0-or-later
--- tautd's side of fabric sweeps: starts the process that sweeps, asks it again and again, says
-- what it found.
local helper = require "taut.base.helper"
local load = require "taut.fabric.load"
local loop = require "taut.loop"
local sys = require "taut.sys"

local fabric = {}
local Fabric = { LEAST = load.LEAST }
Fabric.__index = Fabric

local MARGIN_S = 60 -- beyond a sweep's own time: names, comparison, the state file

local function log_level(observation)
   if observation.class == "fatal" then
      return "warning"
   end
   return "notice"
end

-- "2 things went wrong" once, not once per sweep.
local function say_notes(self, reply)
   for _, note in ipairs(reply.notes or {}) do
      if not self.said[note] then
         self.said[note] = true
         sys.log("warning", "fabric: " .. note)
      end
   end
   if reply.incomplete ~= self.incomplete then
      self.incomplete = reply.incomplete
      if reply.incomplete then
         sys.log("warning", "fabric: sweeps are not complete: " .. reply.incomplete)
      else
         sys.log("notice", "fabric: sweeps are complete again")
      end
   end
end

local LINES = 20 -- of observations in the log, per sweep

local function on_swept(self, reply, err)
   self.sweeping = false
   if err then
      if err ~= self.error then
         sys.log("err", "fabric: cannot sweep: " .. err)
      end
      self.error = err
      return
   elseif self.error then
      sys.log("notice", "fabric: sweeps again")
      self.error = nil
   end
   self.swept, self.nodes, self.links = loop.time(), reply.nodes, reply.links
   self.carried, self.all = reply.carried, reply.counted_all and not reply.incomplete
   say_notes(self, reply)
   for i, o in ipairs(reply.observations) do
      if i <= LINES then
         sys.log(log_level(o), "fabric: " .. o.text)
      end
   end
   if #reply.observations > LINES then
      sys.log("notice", ("fabric: and %d more; `taut fabric sweep` has them"):format(
         #reply.observations - LINES))
   end
   if self.on_observations and #reply.observations > 0 then
      self.on_observations(reply.observations)
   end
end

--- Sweep now, unless one is under way.
function Fabric:sweep()
   if self.sweeping or not self.ready then
      return
   end
   self.sweeping = true
   self.helper:ask({ op = "sweep" }, function(reply, err) on_swept(self, reply, err) end,
      (self.conf.time_s + MARGIN_S) * 1000)
end

--- Answer a question of `taut fabric`: fn(data) or fn(nil, why).
function Fabric:answer(what, args, fn)
   self.helper:ask({ op = "answer", what = what, args = args }, function(reply, err)
      fn(reply and reply.data, err)
   end, (2 * self.conf.time_s + MARGIN_S) * 1000)
end

--- What links carried between the last two sweeps, as long as that tells of now.
-- @return array of { component, Bps }
function Fabric:loads()
   local is_old = not self.swept or loop.time() - self.swept > 2 * self.conf.sweep_s
   if is_old then
      return {}
   end
   return self.carried or {}
end

--- Do these links have all that carried LEAST of their bandwidth?
function Fabric:counts_all()
   return self.all and loop.time() - self.swept <= 2 * self.conf.sweep_s
end

--- What `taut status` may want to know.
function Fabric:status()
   return { swept = self.swept, nodes = self.nodes, links = self.links, error = self.error,
      incomplete = self.incomplete }
end

function Fabric:stop()
   if self.timer then
      self.timer:cancel()
   end
   self.helper:stop()
end

--- Begin to sweep.
-- @param conf settings `fabric`, sweep_s being a number
-- @param on_observations called with the array of what a sweep found, where that is anything
function fabric.start(conf, on_observations)
   local self = setmetatable({ conf = conf, said = {}, on_observations = on_observations }, Fabric)
   self.helper = helper.start { name = "fabric", argv = { sys.paths.program, "--fabric" },
      on_ready = function()
         self.helper:ask({ op = "conf", conf = conf }, function(_, err)
            self.ready = not err
            self:sweep()
         end)
      end,
      on_end = function() self.ready = false end }
   self.timer = loop.every(conf.sweep_s * 1000, function() self:sweep() end)
   return self
end

return fabric
