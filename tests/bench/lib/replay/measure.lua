-- SPDX-License-Identifier: GPL-2.0-or-later
--- One replay: a window on a machine under a policy, and what came of it.
local comm = require "replay.comm"
local easy = require "replay.easy"
local policies = require "replay.policies"
local stats = require "stats"

local measure = {}

local EVERY = 6 * 3600 -- seconds between looks at what runs

-- Node seconds in use during the window.
local function used(jobs, from, to)
   local sum = 0
   for _, j in ipairs(jobs) do
      sum = sum + j.nodes * math.max(0, math.min(j.stop, to) - math.max(j.start, from))
   end
   return sum
end

-- How long a job takes: as in the trace where nothing else is asked; otherwise the trace's time is
-- taken for that on Slurm's choice here and now, and longer or shorter by what is predicted.
local function run_time(world, job)
   if not world.follow or not job.pattern then
      return job.run
   end
   return math.min(job.limit, math.max(1, math.floor(job.run * (job.speed or 1) + 0.5)))
end

local function look(world, scheduler)
   for _, job in ipairs(scheduler.running) do
      if job.load and job.counted then
         local ratio = world.comm:now(job)
         job.sum, job.looks = (job.sum or 0) + ratio, (job.looks or 0) + 1
         world.held[#world.held + 1] = ratio / job.alone - 1
      end
   end
end

local function hooks(world, policy)
   return {
      place = policies[policy](world),
      run = function(job) return run_time(world, job) end,
      started = function(job)
         if job.pattern and job.nodes > 1 then
            job.first = world.comm:evaluate(job, job.on).ratio
            world.comm:begin(job, job.on)
         end
      end,
      ended = function(job)
         if job.load then
            world.comm:finish(job)
         end
      end }
end

local function summary(world, jobs, window)
   local first, all, alone, wait = {}, {}, {}, {}
   for _, j in ipairs(jobs) do
      if j.counted then
         wait[#wait + 1] = j.start - j.submit
         if j.first then
            first[#first + 1], alone[#alone + 1] = j.first, j.alone
            all[#all + 1] = j.looks and (j.first + j.sum) / (1 + j.looks) or j.first
         end
      end
   end
   return { jobs = #wait, heavy = #first, mean = stats.mean(all), p95 = stats.quantile(all, 0.95),
      alone = stats.mean(alone), contention = stats.mean(world.held), wait = stats.mean(wait),
      utilisation = used(jobs, window.from, window.to) /
         ((window.to - window.from) * #world.topo.nodes), ratios = all }
end

--- @param topo topology
-- @param window as workload.window gives it (its jobs are copied)
-- @param policy "slurm" or "ours"
-- @param o table: left (map component → capacity left), follow (runtimes follow the prediction)
-- @return table: jobs, heavy (counted ones), mean and p95 (of the jobs' ratios to an ideal network,
--   while they run), alone (mean without other jobs), contention (mean share by which others make
--   a running job's communication longer), wait (mean, seconds), utilisation (0 … 1)
function measure.replay(topo, window, policy, o)
   local world = { topo = topo, left = o.left, follow = o.follow, held = {},
      comm = comm.new(topo, o.left) }
   local jobs = {}
   for i, j in ipairs(window.jobs) do
      jobs[i] = {}
      for k, v in pairs(j) do
         jobs[i][k] = v
      end
   end
   local scheduler = easy.new(#topo.nodes, hooks(world, policy))
   scheduler:play(jobs, { from = window.from, every = EVERY, fn = function(s)
      look(world, s)
   end })
   return summary(world, jobs, window)
end

return measure
