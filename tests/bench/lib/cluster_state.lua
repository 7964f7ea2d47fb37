-- SPDX-License-Identifier: GPL-2.0-or-later
-- A busy machine, as taut-slurm would tell of it: cluster_state.lua MACHINE random|jobs
--
-- random: each node is busy with a probability of a half.  jobs: the state after 2,000 jobs of a
-- stream have begun, first come first served, smaller ones in front where they fit, each where
-- Slurm would put it: sizes from one node to an eighth of the machine, evenly over their
-- logarithm, times of minutes to a day likewise; then jobs end until a fifth of it is free.
local hostlist = require "taut.hostlist"
local json = require "taut.json"
local slurm = require "taut.place.slurm"

local topo = assert(require("taut.cli.topology.scene").machine(arg[1]))
local JOBS, QUEUE = 2000, 50

math.randomseed(tonumber(os.getenv "BENCH_SEED") or 1)

local function between(a, b)
   return a * math.exp(math.random() * math.log(b / a))
end

local function new_job(id)
   return { id = id, num_nodes = math.floor(between(1, #topo.nodes / 8)),
      time = between(300, 86400) }
end

local function start(job, free, o, now)
   job.at = job.num_nodes <= o.left and slurm.choice(free, job.num_nodes, o) or nil
   if not job.at then
      return false
   end
   o.left, o.memo = o.left - #job.at, {}
   job.start, job["end"] = now, now + job.time
   for _, n in ipairs(job.at) do
      free[n] = nil
   end
   return true
end

local function first_to_end(running)
   local best
   for i, job in ipairs(running) do
      best = (not best or job["end"] < running[best]["end"]) and i or best
   end
   return table.remove(running, best)
end

local function stream()
   local free, order, running, queue, started, last, now = {}, {}, {}, {}, 0, 0, 0
   local o = { order = order, left = #topo.nodes, memo = {} }
   for n = 1, #topo.nodes do
      free[n], order[n] = true, n
   end
   while started < JOBS do
      while #queue < QUEUE do
         last = last + 1
         queue[#queue + 1] = new_job(last)
      end
      local i = 1
      while i <= #queue and started < JOBS do
         if start(queue[i], free, o, now) then
            running[#running + 1] = table.remove(queue, i)
            started = started + 1
         else
            i = i + 1
         end
      end
      if started < JOBS then
         local job = first_to_end(running)
         now, o.left, o.memo = job["end"], o.left + #job.at, {}
         for _, n in ipairs(job.at) do
            free[n] = true
         end
      end
   end
   -- the stream has filled the machine: the first of the jobs end, until a fifth of it is free
   local n = 0
   for _ in pairs(free) do
      n = n + 1
   end
   while n < #topo.nodes / 5 do
      for _, node in ipairs(first_to_end(running).at) do
         free[node], n = true, n + 1
      end
   end
   return free, running
end

local free, running = {}, {}
if arg[2] == "random" then
   for n = 1, #topo.nodes do
      free[n] = math.random() < 0.5 or nil
   end
else
   free, running = stream()
end

local nodes, jobs, idle = json.array {}, json.array {}, 0
for n, name in ipairs(topo.nodes) do
   nodes[n] = { name = name, state = free[n] and "idle" or "allocated", partitions = { "batch" },
      cpus = 16 }
   idle = idle + (free[n] and 1 or 0)
end
for _, job in ipairs(running) do
   local names = {}
   for i, n in ipairs(job.at) do
      names[i] = topo.nodes[n]
   end
   jobs[#jobs + 1] = { id = job.id, user_id = 1000, state = "running", num_nodes = #names,
      nodes = hostlist.compress(names), partition = "batch", start = os.time(),
      ["end"] = os.time() + math.floor(job.time), name = "job", priority = 1, reason = "None" }
end
print("nodes " .. json.encode({ nodes = nodes }):sub(2, -2))
print("jobs " .. json.encode({ jobs = jobs }):sub(2, -2))
io.stderr:write(("%d of %d nodes free, %d jobs\n"):format(idle, #topo.nodes, #jobs))
