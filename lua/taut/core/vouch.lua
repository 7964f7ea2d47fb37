-- SPDX-License-Identifier: GPL-2.0-or-later
--- What nodes reported counts when somebody else bears it out: each of them spoke from its own
-- address, and Slurm knows of the job and has them all in it.
--
-- Nobody waits for that but the evidence: the job has long gone on.  Slurm's list of running jobs
-- is looked at first; a job that is not in it yet, or no more, is asked for by its number, one
-- after the other.  Without an answer the session waits for Slurm's next one.
local loop = require "taut.loop"
local tables = require "taut.base.tables"

local vouch = {}
local Vouch = {}
Vouch.__index = Vouch

local WAITING_MAX, WAIT_S = 1000, 600

---------------------------------------------------------------- addresses

-- Why it counts for nothing; "" while an address is not known; nil: all spoke from their own.
local function stranger(s)
   local unknown
   for _, peer in pairs(s.peers) do
      local ok, why = peer.is_vouched()
      if ok == false then
         return why
      end
      unknown = unknown or not ok and "" or nil
   end
   return unknown
end

---------------------------------------------------------------- the job

-- nil where all nodes of the tests are in Slurm's job.
local function outside(self, s, job)
   local list = job.state ~= "pending" and self.lists:list(job.nodes or "")
   local names = self.site.topo.nodes
   for _, t in ipairs(s.tests) do
      for _, n in ipairs { t.src, t.dst } do
         if not list or not list.has[names[n]] then
            return ("Slurm has job %d not on %s"):format(s.job, names[n])
         end
      end
   end
   return nil
end

---------------------------------------------------------------- what becomes of a session

local function refuse(self, s, why)
   local names = tables.map(tables.keys(s.peers), function(n) return self.site.topo.nodes[n] end)
   self.refusals:note(table.concat(names, " ", 1, math.min(#names, 4)), why ..
      ("; %d tests count for nothing"):format(#(s.tests or {})))
   self.refused = self.refused + 1
end

local function settle(self, s, job)
   local why = outside(self, s, job)
   if why then
      return refuse(self, s, why)
   end
   self.findings:session(s)
end

local ask_next

-- One question at a time.
local function on_job(self, s, reply, err)
   self.asking = false
   if reply and reply.job then
      settle(self, s, reply.job)
   elseif reply or (err or ""):lower():find "invalid job id" then
      refuse(self, s, ("Slurm knows of no job %d"):format(s.job))
   else
      self:wait(s) -- Slurm does not answer
      return
   end
   ask_next(self)
end

function ask_next(self)
   while not self.asking and #self.to_ask > 0 do
      local s = table.remove(self.to_ask, 1)
      local job = self.cluster.seen_running[s.job]
      if job and not outside(self, s, job) then
         self.findings:session(s)
      else
         self.asking = true
         self.slurm:ask({ op = "job", job = s.job }, function(reply, err)
            on_job(self, s, reply, err)
         end)
      end
   end
end

--- Keep a session until Slurm's next answer.
function Vouch:wait(s)
   s.waits_since = s.waits_since or loop.time()
   if #self.waiting >= WAITING_MAX or loop.time() - s.waits_since > WAIT_S then
      return refuse(self, s, "nobody could say where these nodes and jobs are")
   end
   self.waiting[#self.waiting + 1] = s
end

--- A check or an idle cycle is over; findings:session follows when it counts.
function Vouch:session(s)
   local why = stranger(s)
   if why == "" then
      self:wait(s)
   elseif why then
      refuse(self, s, why)
   elseif s.purpose == "idle" or not s.tests or #s.tests == 0 then
      self.findings:session(s)
   else
      self.to_ask[#self.to_ask + 1] = s
      ask_next(self)
   end
end

--- Slurm has answered.
function Vouch:refreshed()
   local list = self.waiting
   self.waiting = {}
   for _, s in ipairs(list) do
      self:session(s)
   end
end

--- @param o { site, cluster, lists, slurm (helper), findings, refusals }
function vouch.new(o)
   o.waiting, o.to_ask, o.asking, o.refused = {}, {}, false, 0
   return setmetatable(o, Vouch)
end

return vouch
