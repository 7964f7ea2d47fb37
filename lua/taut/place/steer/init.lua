-- SPDX-License-Identifier: GPL-2.0-or-later
--- Steering: jobs that gave --comm are kept from slow links, and may be placed.
--
-- After each answer of Slurm the advice file for etc/job_submit.lua is rewritten. Excludes without
-- a reason and placements that did not start are taken back. If configured, the job at the head of
-- the queue is placed.  Off by default; switching it off takes everything back.  What was done to a
-- job stands in its AdminComment (slurm/mark.lua).
local tables = require "taut.base.tables"
local ask = require "taut.place.steer.ask"
local cells = require "taut.place.steer.cells"
local file = require "taut.place.steer.file"
local json = require "taut.json"
local ledger = require "taut.place.steer.ledger"
local loop = require "taut.loop"
local mark = require "taut.slurm.mark"
local pattern = require "taut.place.pattern"
local picture = require "taut.place.steer.picture"
local placing = require "taut.place.steer.placing"
local sys = require "taut.sys"
local withdraw = require "taut.place.steer.withdraw"

local PREDICTED = 4 -- jobs that a prediction is made for at one look

local steer = {}
local Steer = {}
Steer.__index = Steer

--- Is steering on?  `taut steer on|off` wins over the configuration; `taut off` stops it too.
function Steer:is_on()
   local switches = self.switches
   return switches:are_checks_on() and (switches:steering() or self.s.mode) == "on"
end

local function say_once(self, text)
   if text and text ~= self.said then
      sys.log("err", "steer: " .. text)
   elseif not text and self.said then
      sys.log("notice", "steer: works again")
   end
   self.said = text
end

---------------------------------------------------------------- the file

-- Slurm's tree lets a job wait a while for few leaf switches; other plugins know no switches.
local function switches_of_slurm(self)
   local s = self.s
   local plugin = tables.or_empty(self.cluster.config).topology_plugin or ""
   if not s.switches or not plugin:find("tree", 1, true) then
      return nil
   end
   local nodes = s.switch_nodes
   if not nodes then
      nodes = 0
      for _, switch in ipairs(self.advice:switches() or {}) do
         if switch.level == 0 then
            nodes = math.max(nodes, #switch.nodes)
         end
      end
   end
   if nodes <= 0 then
      return nil
   end
   return { nodes = nodes, wait_s = s.switch_wait_s }
end

local function write_file(self, partitions)
   local p = self.picture:take(partitions, self.s)
   self.serial = math.max(self.serial + 1, math.floor(loop.time() * 1000))
   p.serial, p.patterns = self.serial, pattern.names
   p.switches, p.prefer = switches_of_slurm(self), self.cells:prefer(self.s.prefer_nodes)
   self.written = p
   local ok, err = sys.write_whole(self.s.file, file.text(p))
   if ok then
      say_once(self, nil)
   else
      say_once(self, ("cannot write the advice file: %s"):format(err))
   end
end

local function remove_file(self)
   if self.written or not self.looked then
      os.remove(self.s.file)
      self.looked = true
   end
   self.written = nil
end

---------------------------------------------------------------- pending jobs

local function record_change(self, change, result)
   self.journal:add("action", { time = loop.time(), node = "job " .. change.job,
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
      if reply and reply.done then
         record_change(self, change, err or "done")
      else
         record_change(self, change, err or reply.why)
      end
      if reply and reply.done and change.ratio then
         self.ledger:of(change.job).predicted = { got = change.ratio,
            without = change.slurm_ratio }
      end
   end)
end

local function take_back(self)
   local s, exposed, wait_s = self.s, {}, nil
   if self:is_on() then
      exposed = tables.or_empty(self.written).exposed or exposed
      wait_s = s.place and s.place_wait_s or nil
   end
   return withdraw.decide(self.cluster, exposed, loop.time(), wait_s)
end

-- The best free nodes for a job that waits, what is predicted there and on Slurm's choice; nil
-- where there is nothing to choose, or where Slurm's choice is as good for all.
local function best_for(self, job, entry)
   local best = self.advice:pick { count = job.num_nodes, pattern = entry.comm,
      partition = job.partition, exclude = job.excluded, start = "now" }
   if best then
      return best.nodes, best.score, best.slurm
   end
end

local function look_at_jobs(self)
   for _, change in ipairs(take_back(self)) do
      carry_out(self, change)
   end
   if self:is_on() and self.s.place then
      for _, change in ipairs(placing.decide(self.cluster, math.floor(loop.time()),
         self.s.place_gain, function(job, entry) return best_for(self, job, entry) end)) do
         carry_out(self, change)
      end
   end
end

-- Prediction for the jobs that have just started, some at a time.
local function look_at_running(self)
   local left = PREDICTED
   for id, job in pairs(self.cluster.seen_running) do
      local m = left > 0 and mark.parse(job.comment)
      local entry = m and self.ledger:of(id)
      if entry and not entry.predicted and not entry.tried then
         entry.tried, left = true, left - 1
         entry.predicted = self.advice:predict(job, m.comm)
      end
   end
end

---------------------------------------------------------------- what the daemon calls

-- Once nothing of ours is in the queue, an off tautd has nothing to look at.
local function look_at_queue(self)
   self.ledger:look(self.cluster, loop.time())
   look_at_jobs(self)
   look_at_running(self)
end

--- Slurm has answered.
function Steer:refreshed()
   if not self.cluster.nodes_at or self.cluster.error or self.stopped then
      return
   elseif not self:is_on() then
      remove_file(self)
      self.cells:clear()
      look_at_queue(self)
      return
   end
   self.slurm:ask({ op = "partitions" }, function(reply)
      if reply and self:is_on() and not self.stopped then
         write_file(self, reply.partitions)
         self.cells:keep(self.s.prefer_nodes)
         look_at_queue(self)
      end
   end)
end

--- The job is over: its steering, as text for the store; nil when it was not.
-- @param job of taut-slurm
function Steer:over(job)
   local m = mark.parse(job.comment)
   if not m then
      self.ledger:take(job.id)
      return nil
   end
   local entry = self.ledger:take(job.id)
   m.added_s = entry.added
   m.predicted = entry.predicted
   if not entry.predicted and not entry.tried then
      m.predicted = self.advice:predict(job, m.comm)
   end
   return json.encode(m)
end

--- For `taut steer`.
function Steer:status()
   local p = self.written
   local avoided, pending = json.array {}, json.array {}
   for _, l in ipairs(tables.or_empty(p).levels or {}) do
      local gain
      if l.gain and l.gain < math.huge then
         gain = l.gain
      end
      avoided[#avoided + 1] = { component = self.topo.components[l.c], left = l.left,
         nodes = l.nodes, gain = gain }
   end
   for _, job in ipairs(self.cluster.pending) do
      local m = mark.parse(job.comment)
      if m then
         pending[#pending + 1] = { id = job.id, user = sys.user_name(job.user_id),
            name = job.name, nodes = job.num_nodes, comm = m.comm, done = mark.words(m),
            reason = job.reason, uid = job.user_id }
      end
   end
   return { on = self:is_on(), file = self.s.file, written = p and p.serial / 1000,
      place = self.s.place, avoided = avoided, pending = pending, error = self.said,
      switches = p and p.switches, prefer = p and p.prefer }
end

--- Placing wants to know sooner than others that nodes are free.
-- @param refresh_s how often Slurm is asked anyway
function Steer:start(refresh_s)
   if self.s.look_s < refresh_s then
      loop.every(math.floor(self.s.look_s * 1000), function()
         if self.s.place and self:is_on() and self:has_pending() then
            self.cluster:refresh()
         end
      end)
   end
end

--- Does any pending job carry our mark?
function Steer:has_pending()
   return tables.any(self.cluster.pending, function(job) return mark.parse(job.comment) end)
end

--- tautd ends: no file is better than one that grows old.
function Steer:stop()
   self.stopped = true
   if self.written then
      os.remove(self.s.file)
   end
end

--- Answer `taut steer` (ask.lua).
Steer.answer = ask.give

--- The configuration was read again.
-- @param options { topology, settings }
function Steer:reload(options)
   self.topo, self.s = options.topology, options.settings
   self.picture:reload(options.topology)
   self.cells:reload(options.topology)
end

--- @param options { settings = the `steer` section, topology, cluster, diagnosis, journal, advice,
--   slurm = helper (taut-slurm), switches = whether tautd checks at all, and was told to steer }
function steer.new(options)
   return setmetatable({ s = options.settings, topo = options.topology, cluster = options.cluster,
      journal = options.journal, advice = options.advice, slurm = options.slurm,
         switches = options.switches,
      picture = picture.new(options), cells = cells.new(options), ledger = ledger.new(), serial = 0,
      busy = {} }, Steer)
end

return steer
