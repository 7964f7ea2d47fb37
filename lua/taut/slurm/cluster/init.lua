-- SPDX-License-Identifier: GPL-2.0-or-later
--- What Slurm says: nodes, jobs, settings; and which jobs run where as the checks heard it.
--
-- taut-slurm is asked at intervals; between two answers the HELLOs of prologs and epilogs keep
-- the picture of running jobs.
local administrators = require "taut.slurm.cluster.administrators"
local claims = require "taut.slurm.claims"
local jobs = require "taut.slurm.cluster.jobs"
local loop = require "taut.loop"
local nodes = require "taut.slurm.cluster.nodes"
local probes = require "taut.slurm.cluster.probes"
local room = require "taut.slurm.cluster.room"
local settings = require "taut.slurm.cluster.settings"
local sys = require "taut.sys"
local tables = require "taut.base.tables"

local cluster = { standby_of = settings.standby_of }
local Cluster = {}
Cluster.__index = Cluster

for _, methods in ipairs { administrators, jobs, nodes, probes, room, settings } do
   for name, method in pairs(methods) do
      Cluster[name] = method
   end
end

local CONFIG_EVERY = 12 -- refreshes between two looks at slurm.conf
local GAP_MS = 1000      -- between two times that Slurm is asked because somebody asks tautd

local function note_error(self, err)
   if err and not self.error then
      sys.log("err", ("cannot ask Slurm: %s"):format(err))
   elseif not err and self.error then
      sys.log("notice", "Slurm answers again")
   end
   self.error = err
end

-- Where there are several, one may take over at any time.
local function ask_controllers(self)
   self.helper:ask({ op = "controllers" }, function(reply)
      if reply then
         self:take_controllers(reply)
      end
   end)
end

--- Ask for nodes and jobs now; fn() afterwards, whether it went well or not.
function Cluster:refresh(fn)
   local asked, asked_ns = loop.time(), loop.now_ns()
   self.asked_ns = asked_ns
   if (self.controllers or 0) > 1 then
      ask_controllers(self)
   end
   self.helper:ask({ op = "nodes" }, function(reply, err)
      note_error(self, err)
      if reply then
         self:take_nodes(reply.nodes, reply.maintenance, reply.partitions)
         self.nodes_asked = asked
      end
   end)
   self.helper:ask({ op = "reservations" }, function(reply)
      self.reservations = tables.or_empty(reply).reservations or self.reservations
   end)
   self.helper:ask({ op = "jobs" }, function(reply)
      if reply then
         self:take_jobs(reply.jobs, asked)
      end
      self.fresh_ns = asked_ns
      if self.on_refresh then
         self.on_refresh(reply ~= nil and self.nodes_asked == asked)
      end
      if fn then
         fn()
      end
   end)
end

local function ask_for_all(self)
   local waiting = self.want_fresh
   self.want_fresh = nil
   self:refresh(function()
      for _, fn in ipairs(waiting) do
         fn()
      end
   end)
end

--- What Slurm says, at most `seconds` old: fn() when it is there.  Slurm is asked once a second at
-- most, for all who wait: users cannot make slurmctld answer again and again.
function Cluster:fresh(seconds, fn)
   local now = loop.now_ns()
   if self.fresh_ns and now - self.fresh_ns <= seconds * 1e9 then
      return fn()
   elseif self.want_fresh then
      table.insert(self.want_fresh, fn)
      return
   end
   self.want_fresh = { fn }
   local left_ms = 0
   if self.asked_ns then
      left_ms = GAP_MS - (now - self.asked_ns) / 1e6
   end
   if left_ms > 0 then
      loop.timer(left_ms, function() ask_for_all(self) end)
   else
      ask_for_all(self)
   end
end

local function ask_config(self)
   self.helper:ask({ op = "config" }, function(reply)
      if reply then
         self:take_config(reply)
      end
   end)
   self.helper:ask({ op = "topology" }, function(reply)
      self.switches = tables.or_empty(reply).switches or self.switches
   end)
end

--- @param process helper (taut-slurm)
-- @param addresses of addresses.lua, which hears of nodes; or nil
function cluster.new(process, addresses)
   return setmetatable({ helper = process, addresses = addresses, jobs = {}, on_node = {},
      nodes = {}, partitions = {}, claims = claims.new(),
      without_job = {}, -- of Slurm's nodes those that have none: name → node
      touched = {}, -- names of nodes whose jobs changed since take_touched()
      pending = {}, knows_queue = false, seen_running = {}, last_heard = {},
      last_heard_for = { idle = {}, job = {} },
      behind_s = {}, refused_for_clock = {}, probe_of = {}, user_port_of = {},
      hellos = 0, jobs_heard = 0, jobs_started = 0, started = loop.time() }, Cluster)
end

--- Tell somebody of what happens.
-- @param options { refreshed = function() after each look at nodes and jobs, job_over =
--   function(id) after a job's last epilog }
function Cluster:tell(options)
   self.on_refresh, self.on_job_over = options.refreshed, options.job_over
end

--- A lease says whether this tautd acts, not which slurmctld is beside it: fn() each time when it
-- is known which one is active (`active_host`).
function Cluster:on_controllers(fn)
   self.tell_controllers = fn
end

--- Begin to ask.
-- @param refresh_s seconds between two looks at nodes and jobs
function Cluster:start(refresh_s)
   local turn = 0
   local function tick()
      if turn % CONFIG_EVERY == 0 then
         ask_config(self)
         ask_controllers(self)
      end
      turn = turn + 1
      self:refresh()
   end
   tick()
   loop.every(math.floor(refresh_s * 1000), tick)
end

return cluster
