-- SPDX-License-Identifier: GPL-2.0-or-later
--- What nodes reported counts when somebody else bears it out: each of them spoke from its own
-- address, and Slurm knows of the job and has them all in it.
--
-- Nobody waits for that but the evidence: the job has long gone on.  Slurm's list of running jobs
-- is looked at first; a job that is not in it yet, or no more, is asked for by its number, one
-- after the other.  Of one that was requeued and runs elsewhere, or nowhere, Slurm does not say any
-- more where it ran: it counts for nothing.  Without an answer the session waits for Slurm's next
-- one.  What one node of it reported falls alone.  Over ALPS the front end, which starts the job,
-- gives each node a ticket for it: ALPS forgets a job with its reservation, so it is not asked.
local loop = require "taut.loop"
local tables = require "taut.base.tables"
local turns = require "taut.base.turns"

local vouch = {}
local Vouch = {}
Vouch.__index = Vouch

local WAITING_MAX, WAIT_S = 1000, 600
local PIECE_NS = 4000000 -- while Slurm's list came hundreds of checks ended: one piece of them

---------------------------------------------------------------- what does not count

-- What these nodes of a session reported counts for nothing.
local function leave_out_nodes(self, session, nodes, why)
   local is_out, kept, names = tables.set(nodes), {}, {}
   for _, t in ipairs(session.tests or {}) do
      if not is_out[t.src] and not is_out[t.dst] then
         kept[#kept + 1] = t
      end
   end
   for i, n in ipairs(nodes) do
      names[i], session.peers[n] = self.site.topo.nodes[n], nil
      if session.results then
         session.results[n] = nil
      end
   end
   self.refusals:note(table.concat(names, " ", 1, math.min(#names, 4)), why ..
      ("; %d of %d tests count for nothing"):format(#(session.tests or {}) - #kept,
      #(session.tests or {})))
   session.tests = session.tests and kept
   self.refused = self.refused + 1
end

local function refuse_session(self, session, why)
   leave_out_nodes(self, session, tables.keys(session.peers), why)
end

---------------------------------------------------------------- addresses

-- The nodes of a session that spoke from elsewhere are left out.
-- @return array of those of which it is not known yet where they are; whether all of the others
--   brought what vouches for the job, too
local function leave_out_strangers(self, session)
   local unknown, is_job_sure = {}, true
   for _, n in ipairs(tables.keys(session.peers)) do
      local ok, why, has_ticket = session.peers[n].is_vouched()
      if ok == false then
         leave_out_nodes(self, session, { n }, why)
      end
      is_job_sure = is_job_sure and (has_ticket or ok == false)
      if ok == nil then
         unknown[#unknown + 1] = n
      end
   end
   return unknown, is_job_sure
end

---------------------------------------------------------------- the job

-- Array of the nodes of the session's tests that are not in Slurm's job.
local function list_outside(self, session, job)
   local list = job.state ~= "pending" and self.lists:list(job.nodes or "")
   local names, others = self.site.topo.nodes, {}
   for _, t in ipairs(session.tests) do
      for _, n in ipairs { t.src, t.dst } do
         others[n] = not (list and list.has[names[n]]) or nil
      end
   end
   return tables.keys(others)
end

---------------------------------------------------------------- what becomes of a session

local function settle_session(self, session, job)
   local others = list_outside(self, session, job)
   if #others > 0 then
      leave_out_nodes(self, session, others, ("Slurm has job %d not there%s"):format(session.job,
         (job.restart or 0) > (session.restart or 0) and " any more, it was requeued" or ""))
   end
   self.findings:session(session)
end

local ask_next

-- One question at a time.
local function receive_job(self, session, reply, err)
   self.asking = false
   if reply and reply.job then
      settle_session(self, session, reply.job)
   elseif reply or (err or ""):lower():find "invalid job id" then
      refuse_session(self, session, ("Slurm knows of no job %d"):format(session.job))
   else
      self:wait(session) -- Slurm does not answer
      return
   end
   ask_next(self)
end

-- The rest in a turn of its own.
local function go_on_next_turn(self)
   self.asking = true
   turns.add(turns.own, function()
      self.asking = false
      ask_next(self)
   end)
end

function ask_next(self)
   local began_ns = loop.now_ns()
   while not self.asking and #self.to_ask > 0 do
      if loop.now_ns() - began_ns > PIECE_NS then
         return go_on_next_turn(self)
      end
      local s = table.remove(self.to_ask, 1)
      local job = self.cluster.seen_running[s.job]
      if job and #list_outside(self, s, job) == 0 then
         self.findings:session(s)
      else
         self.asking = true
         self.slurm:ask({ op = "job", job = s.job }, function(reply, err)
            receive_job(self, s, reply, err)
         end)
      end
   end
end

--- Keep a session until Slurm's next answer.
function Vouch:wait(session)
   if #self.waiting + #self.to_ask >= WAITING_MAX then
      return refuse_session(self, session,
         "too much waits for Slurm to say where nodes and jobs are")
   end
   self.waiting[#self.waiting + 1] = session
end

-- Slurm has answered for long enough and did not say where they are.
local function has_waited_enough(session)
   return session.asked_since ~= nil and loop.time() - session.asked_since > WAIT_S
end

--- A check or an idle cycle is over; findings:session follows with what counts of it.
function Vouch:session(session)
   local unknown, is_job_sure = leave_out_strangers(self, session)
   if #unknown > 0 and not has_waited_enough(session) then
      return self:wait(session)
   elseif #unknown > 0 then
      leave_out_nodes(self, session, unknown, "its address could not be looked up")
   end
   if session.purpose == "idle" or is_job_sure or #(session.tests or {}) == 0 then
      self.findings:session(session)
   elseif has_waited_enough(session) then
      refuse_session(self, session, ("Slurm did not say where job %d is"):format(session.job))
   elseif #self.waiting + #self.to_ask >= WAITING_MAX then
      self:wait(session)
   else
      self.to_ask[#self.to_ask + 1] = session
      ask_next(self)
   end
end

--- Slurm was asked for nodes and jobs.
-- @param answered did it say so?  While it is away what waits goes on waiting.
function Vouch:refreshed(answered)
   if not answered then
      return
   end
   local list = self.waiting
   self.waiting = {}
   for _, s in ipairs(list) do
      s.asked_since = s.asked_since or loop.time()
      self:session(s)
   end
end

--- @param options { site, cluster, lists, slurm (helper), findings, refusals }
function vouch.new(options)
   options.waiting, options.to_ask, options.asking, options.refused = {}, {}, false, 0
   return setmetatable(options, Vouch)
end

return vouch
