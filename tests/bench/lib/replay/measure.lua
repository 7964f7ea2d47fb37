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

-- The trace's node seconds that are done by the end of the window, whatever they took here.  From
-- the very beginning: of the window alone, who had done more before it would seem to do less.
local function done(jobs, to)
   local sum = 0
   for _, j in ipairs(jobs) do
      sum = sum + j.nodes * j.run * math.max(0, math.min(j.stop, to) - j.start) / (j.stop - j.start)
   end
   return sum
end

-- How long a job takes: as in the trace where nothing else is asked; otherwise the trace's time is
-- taken for that on Slurm's choice here and now, and longer or shorter by what is predicted.
local function run_time(world, job)
   if not world.follow or not job.speed then
      return job.run
   end
   return math.min(job.limit, math.max(1, math.floor(job.run * job.speed + 0.5)))
end

local function look(world, scheduler)
   for _, job in ipairs(scheduler.running) do
      if job.load and job.counted then
         local ratio = world.comm:now(job)
         job.sum, job.looks = (job.sum or 0) + ratio, (job.looks or 0) + 1
         world.held[#world.held + 1] = ratio - job.alone
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

local function tally(world, jobs, window)
   local r = { ratios = {}, alone = {}, waits = {}, held = world.held, took = world.took,
      played = jobs }
   for _, j in ipairs(jobs) do
      if j.counted then
         table.insert(r.waits, j.start - j.submit)
         if j.first then
            table.insert(r.alone, j.alone)
            table.insert(r.ratios, j.looks and (j.first + j.sum) / (1 + j.looks) or j.first)
         end
      end
   end
   local size, from, to = #world.topo.nodes, window.from, window.to
   r.used, r.room = used(jobs, from, to), (to - from) * size
   r.done, r.ever = done(jobs, to), (to - jobs[1].submit) * size
   return r
end

--- @param topo topology
-- @param window as workload.window gives it (its jobs are copied)
-- @param policy "slurm" or "ours"
-- @param o table: left (map component → capacity left), follow (runtimes follow the prediction)
-- @return table, of the counted jobs: ratios (of each heavy one's communication to an ideal
--   network, mean while it runs), alone (the same without other jobs), held (what others add to a
--   running job's ratio, at every look), waits (seconds); used and room (node seconds busy in the
--   window, and all of it), done and ever (the trace's node seconds done from the first job to the
--   end of the window, and all that the machine had); took (seconds of each choice, where there was
--   one), played (all jobs, as they ran)
function measure.replay(topo, window, policy, o)
   local world = { topo = topo, left = o.left, follow = o.follow, held = {},
      took = {}, comm = comm.new(topo, o.left) }
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
   return tally(world, jobs, window)
end

-- One list of those of several.
local function joined(list, key)
   local all = {}
   for _, r in ipairs(list) do
      table.move(r[key], 1, #r[key], #all + 1, all)
   end
   return all
end

local function total(list, key)
   local sum = 0
   for _, r in ipairs(list) do
      sum = sum + r[key]
   end
   return sum
end

--- One or several replays in figures: each job counts once, each node second once.
-- @param list array of what measure.replay gives
-- @return table: ratios (all); mean and p95 of them, alone (mean), contention (mean of held), wait
--   (mean, seconds), utilisation and work (0 … 1), took (all)
function measure.summary(list)
   local ratios = joined(list, "ratios")
   return { ratios = ratios, mean = stats.mean(ratios), p95 = stats.quantile(ratios, 0.95),
      alone = stats.mean(joined(list, "alone")), contention = stats.mean(joined(list, "held")),
      wait = stats.mean(joined(list, "waits")), took = joined(list, "took"),
      utilisation = total(list, "used") / total(list, "room"),
      work = total(list, "done") / total(list, "ever") }
end

return measure
