-- SPDX-License-Identifier: GPL-2.0-or-later
--- Which jobs run where: as Slurm says, and between two of its answers as HELLOs of prologs and
-- epilogs do.  Methods of cluster/init.lua.
local hostlist = require "taut.hostlist"
local loop = require "taut.loop"

local jobs = {}

local NAMES_MAX = 1 << 20

local function put_on(self, job, name)
   local on = self.on_node[name]
   if not on then
      on = {}
      self.on_node[name] = on
   end
   on[job.id] = true
   self.without_job[name] = nil
   self.touched[name] = true
end

local function take_off(self, id, name)
   local on = self.on_node[name]
   self.touched[name] = true
   if on then
      on[id] = nil
      if next(on) == nil then
         self.on_node[name] = nil
         self.without_job[name] = self.nodes[name]
      end
   end
end

local function new_job(self, id)
   local job = { id = id, names = {}, heard = {}, said_at = {}, gone = {}, left = 0,
      added = loop.time() }
   self.jobs[id] = job
   return job
end

-- Slurm, or a front end's ticket, has a job on these nodes.  That replaces the nodes' own claims.
-- @param text the nodes as Slurm writes them, or the list itself; the same again changes nothing
local function take_list(self, id, names, text)
   local job = self.jobs[id] or new_job(self, id)
   if job.text == text then
      return job
   end
   local is_in, left = {}, 0
   for _, name in ipairs(names) do
      is_in[name] = true
      if job.gone[name] then
         left = left + 1
      else
         put_on(self, job, name)
      end
   end
   for _, name in ipairs(job.names) do
      if not is_in[name] then
         take_off(self, id, name)
         job.heard[name], job.said_at[name] = nil, nil
      end
   end
   job.names, job.text, job.has, job.left = names, text, is_in, left
   return job
end

-- A node claims this job, without other proof: that holds for the node alone.
local function take_word(self, id, name)
   if not self.claims:add(name, id) then
      return nil
   end
   local job = self.jobs[id] or new_job(self, id)
   if not job.text and not job.heard[name] then
      job.names[#job.names + 1] = name
   end
   put_on(self, job, name)
   return job
end

local function remove_job(self, id)
   local job = self.jobs[id]
   self.jobs[id] = nil
   for _, name in ipairs(job.names) do
      take_off(self, id, name)
   end
   for name in pairs(job.heard) do -- who said so and is not in Slurm's list
      take_off(self, id, name)
   end
end

-- ALPS gives a node to one job at a time: earlier jobs of these nodes have ended, without a report.
local function end_others(self, id, names)
   for _, name in ipairs(names) do
      for other in pairs(self.on_node[name] or {}) do
         self.jobs[other].ended = self.jobs[other].ended or other ~= id
      end
   end
end

--- A prolog's HELLO.  Of a job that Slurm's list does not have yet it says something about its own
-- node only.
-- @param id job
-- @param names its nodes, as the node has them
-- @param node the one that spoke
-- @param is_sure true where a ticket vouches for the list
function jobs:prolog(id, names, node, is_sure)
   local known = self.jobs[id]
   local job
   if is_sure then
      job = take_list(self, id, names, names)
   elseif known and known.text and known.has[node] then
      job = known
   else
      job = take_word(self, id, node)
   end
   if not job then
      return
   end
   if job.heard[node] then
      job.ended = nil -- it was requeued
   end
   if next(job.heard) == nil then
      self.jobs_heard = self.jobs_heard + 1
      if self:alps() then
         end_others(self, id, names)
      end
   end
   if not job.heard[node] then
      self.hellos = self.hellos + 1
   end
   if job.gone[node] then
      job.gone[node], job.left = nil, job.left - 1
      put_on(self, job, node)
   end
   job.heard[node], job.said_at[node] = #names, loop.time()
   if not self.seen_running[id] and job.started_counted == nil then
      job.started_counted = true
      self.jobs_started = self.jobs_started + 1
   end
end

--- An epilog's HELLO: the job has left this node.
function jobs:epilog(id, node)
   local job = self.jobs[id]
   if not job then
      return
   end
   self.touched[node] = true
   if not (self.on_node[node] or {})[id] then
      return -- it said so before, or never had the job
   end
   take_off(self, id, node)
   if job.text and not job.has[node] then
      return -- Slurm has it elsewhere
   end
   job.ended = job.text ~= nil
   job.gone[node], job.left = true, job.left + 1
   -- of one that Slurm has not listed yet, as many as the node itself was told
   local all = job.heard[node] or 1
   if job.text then
      all = #job.names
   end
   if job.left >= all then
      remove_job(self, id)
      if self.on_job_over then
         self.on_job_over(id)
      end
   end
end

--- Names of nodes whose jobs changed since this was asked last: a set.
function jobs:take_touched()
   local set = self.touched
   self.touched = {}
   return set
end

--- Is a job on this node, by Slurm's word or by the node's own?
function jobs:has_job(name)
   return self.on_node[name] ~= nil
end

-- Another job on this node; and whether only the node itself claims it.
local function other_job(self, id, name)
   local said
   for other in pairs(self.on_node[name] or {}) do
      if other ~= id and not self.jobs[other].ended then
         if self.jobs[other].text and self.jobs[other].has[name] then
            return other, false
         end
         said = other
      end
   end
   return said, said ~= nil
end

--- Is a node of this job shared with another one?  A job whose first epilog was heard is over,
-- should the epilogs of its other nodes be lost.
-- @return name and the other job, by Slurm's word; or nil, nil and a set of nodes (nil: none) that
--   themselves say so: name → the other job
function jobs:is_shared(id, names)
   local said
   for _, name in ipairs(names) do
      local other, is_word = other_job(self, id, name)
      if other and not is_word then
         return name, other
      elseif other then
         said = said or {}
         said[name] = other
      end
   end
   return nil, nil, said
end

--- The nodes of a job as Slurm's last list has them.
-- @param id job
-- @param restart how often it was requeued, or nil
-- @return array of names, shared with others; nil where Slurm has not listed it so
function jobs:nodes_of(id, restart)
   local seen, job = self.seen_running[id], self.jobs[id]
   if not seen or not job or not job.text or (seen.restart or restart or 0) ~= (restart or 0) then
      return nil
   end
   return job.names
end

-- A node said it had a job before Slurm was asked, and Slurm did not know of it then.
local function forget_words(self, job, asked)
   local kept = {}
   for _, name in ipairs(job.names) do
      if job.said_at[name] and job.said_at[name] >= asked then
         kept[#kept + 1] = name
      else
         take_off(self, job.id, name)
         job.heard[name], job.said_at[name] = nil, nil
      end
   end
   job.names = kept
   if #kept == 0 then
      self.jobs[job.id] = nil
   end
end

local function start_job(self, listed)
   local job, text = self.jobs[listed.id], listed.nodes or ""
   if not job or job.text ~= text then
      job = take_list(self, listed.id, hostlist.expand(text, NAMES_MAX) or {}, text)
   end
   if not job.started_counted and (listed.start or 0) >= self.started + loop.ahead() then
      job.started_counted = true
      self.jobs_started = self.jobs_started + 1
   end
end

-- Who named jobs that Slurm does not have there, nor had a short while ago?
-- @param over id → job that ended a short while ago
local function settle_claims(self, over, asked)
   local lists = {}
   local function is_over(id, node)
      if over[id] and not lists[id] then
         lists[id] = {}
         for _, name in ipairs(hostlist.expand(over[id].nodes or "", NAMES_MAX) or {}) do
            lists[id][name] = true
         end
      end
      return over[id] ~= nil and lists[id][node] == true
   end
   self.claims:settle(asked, function(id, node)
      local seen, job = self.seen_running[id], self.jobs[id]
      if seen and job and job.text then
         return job.has[node] == true
      end
      return seen ~= nil or is_over(id, node) -- one that ends leaves its list node by node
   end, function(id, node)
      local job = self.jobs[id]
      if job and job.text then -- its words of other jobs are forgotten with these
         take_off(self, id, node)
         job.heard[node], job.said_at[node] = nil, nil
      end
   end)
end

--- Jobs that Slurm no longer knows are gone, though their epilogs may be lost; running ones without
-- a HELLO are silent. `asked` is when Slurm was asked: it knows a job before its prolog.
function jobs:take_jobs(list, asked)
   local running, over = {}, {}
   self.pending, self.knows_queue = {}, true
   for _, j in ipairs(list) do
      if j.state == "running" or j.state == "suspended" or j.state == "completing" then
         running[j.id] = j
      elseif j.state == "pending" then
         self.pending[#self.pending + 1] = j
      else
         over[j.id] = j
      end
   end
   for id, job in pairs(self.jobs) do
      if not running[id] and not job.text then
         forget_words(self, job, asked)
      elseif not running[id] and job.added < asked then
         remove_job(self, id)
      end
   end
   self.seen_running = running
   for _, j in pairs(running) do
      if j.state ~= "completing" then
         start_job(self, j)
      end
   end
   settle_claims(self, over, asked)
   table.sort(self.pending, function(one, other)
      return (one.priority or 0) > (other.priority or 0)
   end)
end

--- Nodes of running jobs that began since our start and never spoke.
function jobs:silent()
   local list, ahead = {}, loop.ahead() -- jobs have times of Slurm's wall clock
   local now = loop.time() + ahead
   for id, j in pairs(self.seen_running) do
      local job = self.jobs[id]
      if job and j.state == "running" and (j.start or 0) >= self.started + ahead
         and now - j.start > 10 then
         for _, name in ipairs(job.names) do
            if not job.heard[name] and not self.refused_for_clock[name] then
               list[#list + 1] = name
            end
         end
      end
   end
   return list
end

return jobs
