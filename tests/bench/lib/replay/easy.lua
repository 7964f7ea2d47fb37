-- SPDX-License-Identifier: GPL-2.0-or-later
--- A batch scheduler in model: first come, first served, with EASY backfilling.
--
-- Nodes are given whole.  The first job that does not fit has a reservation: the earliest time at
-- which, by the limits of the running ones, enough nodes will be free.  A later job may start now
-- if it ends before that time (by its own limit), or takes only nodes that the reservation leaves
-- (D. Lifka, "The ANL/IBM SP scheduling system", 1995).  No job runs over its limit: who does in
-- the trace has been cut there.  Which nodes a job gets is asked of `place` at its start; as any
-- nodes will do, the answer does not change when jobs start, unless it changes how long they run.
local easy = {}

--- @param nodes how many there are, numbered from 1
-- @param hooks table: place(job, free) → array of job.nodes node numbers, all in the set `free`;
--   optional: started(job, now), ended(job, now), run(job) → seconds it takes, at most job.limit
-- @return scheduler
function easy.new(nodes, hooks)
   local free = {}
   for n = 1, nodes do
      free[n] = true
   end
   return setmetatable({ size = nodes, free = free, idle = nodes, hooks = hooks, queue = {},
      running = {}, now = 0, shadow = nil }, { __index = easy })
end

-- By when they must have ended; equal times by number, so that a run can be repeated.
local function by_deadline(a, b)
   return a.deadline ~= b.deadline and a.deadline < b.deadline or a.deadline == b.deadline and
      a.order < b.order
end

local function insert(list, job)
   local low, high = 1, #list + 1
   while low < high do
      local middle = (low + high) // 2
      if by_deadline(job, list[middle]) then
         high = middle
      else
         low = middle + 1
      end
   end
   table.insert(list, low, job)
end

local function take(self, job, chosen)
   if #chosen ~= job.nodes then
      error(("job %d: %d nodes placed, %d asked for"):format(job.id, #chosen, job.nodes))
   end
   for _, n in ipairs(chosen) do
      if not self.free[n] then
         error(("job %d: node %s is not free"):format(job.id, n))
      end
      self.free[n] = nil
   end
   self.idle = self.idle - job.nodes
end

local function start(self, job)
   job.start, job.deadline = self.now, self.now + job.limit
   local chosen = self.hooks.place(job, self.free)
   take(self, job, chosen)
   job.on = chosen
   local run = self.hooks.run and self.hooks.run(job) or job.run
   if run > job.limit then
      error(("job %d: runs for %s s, its limit is %s"):format(job.id, run, job.limit))
   end
   job.stop = self.now + run
   insert(self.running, job)
   if self.hooks.started then
      self.hooks.started(job, self.now)
   end
end

-- When the first of the queue can start at the latest, and how many nodes are left then.
local function reservation(self, job)
   local idle = self.idle
   for _, r in ipairs(self.running) do
      idle = idle + r.nodes
      if idle >= job.nodes then
         return r.deadline, idle - job.nodes
      end
   end
   error(("job %d: %d nodes, the machine has %d"):format(job.id, job.nodes, self.size))
end

local function backfill(self)
   local shadow, spare = reservation(self, self.queue[1])
   self.shadow = { job = self.queue[1], time = shadow }
   local kept = { self.queue[1] }
   for i = 2, #self.queue do
      local job = self.queue[i]
      local ends = self.now + job.limit <= shadow
      if job.nodes <= self.idle and (ends or job.nodes <= spare) then
         spare = ends and spare or spare - job.nodes
         start(self, job)
      else
         kept[#kept + 1] = job
      end
   end
   self.queue = kept
end

local function schedule(self)
   local begun = 0
   while self.queue[begun + 1] and self.queue[begun + 1].nodes <= self.idle do
      begun = begun + 1
      start(self, self.queue[begun])
   end
   if begun > 0 then
      self.queue = table.move(self.queue, begun + 1, #self.queue, 1, {})
   end
   self.shadow = nil
   if self.queue[1] and self.idle > 0 then
      backfill(self)
   end
end

local function finish(self)
   local kept = {}
   for _, job in ipairs(self.running) do
      if job.stop > self.now then
         kept[#kept + 1] = job
      else
         for _, n in ipairs(job.on) do
            self.free[n] = true
         end
         self.idle = self.idle + job.nodes
         if self.hooks.ended then
            self.hooks.ended(job, self.now)
         end
      end
   end
   self.running = kept
end

local function next_stop(self)
   local first = math.huge
   for _, job in ipairs(self.running) do
      first = math.min(first, job.stop)
   end
   return first
end

--- Run a trace to its end.
-- @param jobs array of { id, submit, run, nodes, limit }, by submit time; each gets start, stop, on
-- @param ticks optional: { every = seconds, from = time, fn = function(scheduler, time) }, called
--   between the jobs' starts and ends
-- @return time of the last end
function easy:play(jobs, ticks)
   local k, tick = 1, ticks and ticks.from or math.huge
   for i, job in ipairs(jobs) do
      job.order = i
   end
   while jobs[k] or #self.running > 0 do
      local now = math.min(jobs[k] and jobs[k].submit or math.huge, next_stop(self))
      while tick < now do
         ticks.fn(self, tick)
         tick = tick + ticks.every
      end
      self.now = now
      finish(self)
      while jobs[k] and jobs[k].submit <= now do
         self.queue[#self.queue + 1] = jobs[k]
         k = k + 1
      end
      schedule(self)
   end
   return self.now
end

return easy
