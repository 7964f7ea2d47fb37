-- SPDX-License-Identifier: GPL-2.0-or-later
--- Steering: jobs that gave --comm are kept from slow links, and may be placed.
--
-- After each answer of Slurm: the advice file for etc/job_submit.lua is written anew, excludes that
-- nothing calls for any more and placements that did not start are taken back, and, where the
-- configuration says so, the job at the head of the queue is placed.  Off by default; switching it
-- off takes everything back.  What was done to a job stands in its AdminComment (steer/mark.lua).
local advice = require "taut.place.advice"
local cells = require "taut.place.steer.cells"
local file = require "taut.place.steer.file"
local json = require "taut.json"
local ledger = require "taut.place.steer.ledger"
local loop = require "taut.loop"
local mark = require "taut.place.steer.mark"
local pattern = require "taut.place.pattern"
local picture = require "taut.place.steer.picture"
local placing = require "taut.place.steer.placing"
local predict = require "taut.place.steer.predict"
local sys = require "taut.sys"
local withdraw = require "taut.place.steer.withdraw"

local PREDICTED = 4 -- jobs that a prediction is made for at one look

local steer = {}
local Steer = {}
Steer.__index = Steer

--- Is steering on?  `taut steer on|off` wins over the configuration; `taut off` stops it too.
function Steer:is_on()
   local d = self.d
   return d.switch ~= "off" and (d.steering or d.conf.steer.mode) == "on"
end

local function say_once(self, text)
   if text and text ~= self.said then
      sys.log("err", "steer: " .. text)
   elseif not text and self.said then
      sys.log("notice", "steer: well again")
   end
   self.said = text
end

---------------------------------------------------------------- the file

-- Slurm's tree lets a job wait a while for few leaf switches; other plugins know no switches.
local function switches(self)
   local d, s = self.d, self.d.conf.steer
   local plugin = d.cluster.config and d.cluster.config.topology_plugin or ""
   if not s.switches or not plugin:find("tree", 1, true) then
      return nil
   end
   local nodes = s.switch_nodes or 0
   for _, switch in ipairs(s.switch_nodes and {} or advice.view(d):switches() or {}) do
      nodes = math.max(nodes, switch.level == 0 and #switch.nodes or 0)
   end
   return nodes > 0 and { nodes = nodes, wait_s = s.switch_wait_s } or nil
end

local function write(self, partitions)
   local p = picture.of(self.d, partitions, self.d.conf.steer, self.picture)
   self.serial = math.max(self.serial + 1, math.floor(loop.time() * 1000))
   p.serial, p.patterns = self.serial, pattern.names
   p.switches, p.prefer = switches(self), cells.prefer(self.d)
   self.picture = p
   local ok, err = file.put(self.d.conf.steer.file, file.text(p))
   say_once(self, not ok and ("cannot write the advice file: %s"):format(err) or nil)
end

local function remove_file(self)
   if self.picture or not self.looked then
      file.remove(self.d.conf.steer.file)
      self.looked = true
   end
   self.picture = nil
end

---------------------------------------------------------------- pending jobs

local function record(self, change, result)
   self.d.journal:add("action", { time = loop.time(), node = "job " .. change.job,
      action = "steer", who = "taut", reason = change.why, result = result })
   sys.log("info", ("steer: job %d: %s: %s"):format(change.job, change.why, result))
end

local function carry_out(self, change)
   if self.busy[change.job] then
      return
   end
   self.busy[change.job] = true
   self.slurm:ask(change.request, function(reply, err)
      self.busy[change.job] = nil
      record(self, change, err or reply.done and "done" or reply.why)
      if reply and reply.done and change.ratio then
         self.ledger:of(change.job).predicted = { got = change.ratio,
            without = change.slurm_ratio }
      end
   end)
end

local function take_back(self)
   local d, s = self.d, self.d.conf.steer
   local on = self:is_on()
   return withdraw.decide(d, on and self.picture and self.picture.exposed or {}, loop.time(),
      on and s.place and s.place_wait_s or nil)
end

local function look_at_jobs(self)
   local d = self.d
   for _, change in ipairs(take_back(self)) do
      carry_out(self, change)
   end
   if self:is_on() and d.conf.steer.place then
      for _, change in ipairs(placing.decide(d, math.floor(loop.time()), d.conf.steer.place_gain,
         function(job, m) return predict.best(d, job, m.comm) end)) do
         carry_out(self, change)
      end
   end
end

-- Prediction for the jobs that have just started, some at a time.
local function look_at_running(self)
   local left = PREDICTED
   for id, job in pairs(self.d.cluster.seen_running) do
      local m = left > 0 and mark.parse(job.comment)
      local entry = m and self.ledger:of(id)
      if entry and not entry.predicted and not entry.tried then
         entry.tried, left = true, left - 1
         entry.predicted = predict.of(self.d, job, m.comm)
      end
   end
end

---------------------------------------------------------------- what the daemon calls

-- Once nothing of ours is in the queue, an off tautd has nothing to look at.
local function look(self)
   self.ledger:look(self.d, loop.time())
   look_at_jobs(self)
   look_at_running(self)
end

--- Slurm has answered.
function Steer:refreshed()
   local d = self.d
   if not d.cluster.nodes_at or d.cluster.error or d.stopping then
      return
   elseif not self:is_on() then
      remove_file(self)
      cells.clear(self)
      look(self)
      return
   end
   self.slurm:ask({ op = "partitions" }, function(reply)
      if reply and self:is_on() and not d.stopping then
         write(self, reply.partitions)
         cells.keep(self)
         look(self)
      end
   end)
end

--- The job is over: what there is to remember of how it was steered, as text; nil when it was not.
-- @param job of taut-slurm
function Steer:over(job)
   local m = mark.parse(job.comment)
   if not m then
      self.ledger:take(job.id)
      return nil
   end
   local entry = self.ledger:take(job.id)
   m.added_s = entry.added
   m.predicted = entry.predicted or not entry.tried and predict.of(self.d, job, m.comm) or nil
   return json.encode(m)
end

--- For `taut steer`.
function Steer:status()
   local d, p = self.d, self.picture
   local avoided, pending = json.array {}, json.array {}
   for _, l in ipairs(p and p.levels or {}) do
      avoided[#avoided + 1] = { component = d.topo.components[l.c], left = l.left,
         nodes = l.nodes, gain = l.gain and l.gain < math.huge and l.gain or nil }
   end
   for _, job in ipairs(d.cluster.pending) do
      local m = mark.parse(job.comment)
      if m then
         pending[#pending + 1] = { id = job.id, user = sys.user_name(job.user_id),
            name = job.name, nodes = job.num_nodes, comm = m.comm, done = mark.words(m),
            reason = job.reason, uid = job.user_id }
      end
   end
   return { on = self:is_on(), file = d.conf.steer.file, written = p and p.serial / 1000,
      place = d.conf.steer.place, avoided = avoided, pending = pending, error = self.said,
      switches = p and p.switches, prefer = p and p.prefer }
end

--- Placing wants to know sooner than others that nodes are free.
function Steer:start()
   local s = self.d.conf.steer
   if s.look_s < self.d.conf.refresh_s then
      loop.every(math.floor(s.look_s * 1000), function()
         if self.d.conf.steer.place and self:is_on() and self:has_pending() then
            self.d.cluster:refresh()
         end
      end)
   end
end

--- Does any pending job carry our mark?
function Steer:has_pending()
   for _, job in ipairs(self.d.cluster.pending) do
      if mark.parse(job.comment) then
         return true
      end
   end
   return false
end

--- tautd ends: no file is better than one that grows old.
function Steer:stop()
   if self.picture then
      file.remove(self.d.conf.steer.file)
   end
end

--- @param d daemon: conf, topo, cluster, diagnosis, journal
-- @param slurm helper (taut-slurm)
function steer.new(d, slurm)
   return setmetatable({ d = d, slurm = slurm, serial = 0, busy = {}, ledger = ledger.new() },
      Steer)
end

return steer
