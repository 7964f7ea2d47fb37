-- SPDX-License-Identifier: GPL-2.0-or-later
--- What is replayed of a trace: a window of it, scaled to a machine, and which of its jobs
-- communicate, and how.  A trace tells neither, so that is drawn for each job by seed and job
-- number: the same for every policy, machine and window.
local workload = {}

local DAY = 86400

--- Patterns of the heavy jobs: share of them, pattern, and the part of a step in which it computes
-- where the network is ideal.  How large messages are then cancels out of all that is predicted.
workload.mix = {
   { 0.20, "all-to-all", 0.5 },
   { 0.25, "halo3d", 0.7 },
   { 0.10, "halo2d", 0.7 },
   { 0.10, "halo27", 0.7 },
   { 0.10, "lattice4d", 0.5 },
   { 0.15, "all-reduce-rd", 0.6 },
   { 0.05, "all-reduce-ring", 0.6 },
   { 0.05, "random-pairs", 0.5 },
}

local MASK = (1 << 64) - 1

-- One well-mixed number of another (splitmix64; S. Vigna's constants).
local function mixed(z)
   z = (z + 0x9e3779b97f4a7c15) & MASK
   z = (z ~ (z >> 30)) * 0xbf58476d1ce4e5b9 & MASK
   z = (z ~ (z >> 27)) * 0x94d049bb133111eb & MASK
   return z ~ (z >> 31)
end

--- A number of [0, 1) that depends on the arguments alone.
function workload.draw(seed, job, what)
   return (mixed(mixed(mixed(seed) + job) + what) >> 11) / (1 << 53)
end

--- What job number `id` communicates.
-- @param heavy share of jobs that do
-- @return pattern as pattern.make takes it, or nil
function workload.pattern(seed, id, heavy)
   if workload.draw(seed, id, 1) >= heavy then
      return nil
   end
   local u = workload.draw(seed, id, 2)
   for i, m in ipairs(workload.mix) do
      u = u - m[1]
      if u < 0 or i == #workload.mix then
         return ("%s:bytes=1M,compute=%g"):format(m[2], m[3])
      end
   end
end

--- A window of a trace on a machine.
-- @param trace as swf.read gives it
-- @param o table: size (nodes of the machine), from (day of the trace, the first is 0), days,
--   warm (days before that are replayed, not counted), heavy (share), seed; whole = no scaling
-- @return jobs (new tables: with pattern, counted), from and to (seconds of the window),
--   cut (share of the node seconds that were cut because jobs ran over their limit);
--   or nil and what is wrong
function workload.window(trace, o)
   local size = trace.size
   for _, j in ipairs(trace.jobs) do
      size = math.max(size or 0, j.nodes)
   end
   local origin = trace.jobs[1].submit
   local from, to = origin + o.from * DAY, origin + (o.from + o.days) * DAY
   local jobs, over, all = {}, 0, 0
   for _, j in ipairs(trace.jobs) do
      if j.submit >= from - o.warm * DAY and j.submit < to then
         local nodes = math.max(1, math.min(o.size, (j.nodes * o.size + size // 2) // size))
         jobs[#jobs + 1] = { id = j.id, submit = j.submit, run = math.min(j.run, j.limit),
            limit = j.limit, nodes = nodes, counted = j.submit >= from,
            pattern = workload.pattern(o.seed, j.id, o.heavy) }
         all, over = all + j.run * nodes, over + (j.run - jobs[#jobs].run) * nodes
      end
   end
   if #jobs == 0 then
      return nil, ("no job was submitted from day %g to day %g of the trace"):format(o.from,
         o.from + o.days)
   end
   return { jobs = jobs, from = from, to = to, cut = over / all, scale = o.size / size }
end

--- Windows that lie evenly over a trace and do not meet; one: as workload.window.
-- @param o table: windows (how many); as for workload.window, where `from` is the first's
-- @return array of what workload.window gives; or nil and what is wrong
function workload.windows(trace, o)
   local first, list = o.from, {}
   local length = (trace.jobs[#trace.jobs].submit - trace.jobs[1].submit) // DAY
   local room = length - o.days - first
   if o.windows > 1 and room < (o.windows - 1) * o.days then
      return nil, ("%d windows of %d days from day %g on: the trace has %d"):format(o.windows,
         o.days, first, length)
   end
   for i = 1, o.windows do
      local from = o.windows > 1 and first + room * (i - 1) // (o.windows - 1) or first
      local window, why = workload.window(trace, setmetatable({ from = from }, { __index = o }))
      if not window then
         return nil, why
      end
      list[i] = window
   end
   return list
end

--- Links that are slow: both directions of a share of the cables, drawn by seed.
-- @param topo topology
-- @param share 0 … 1
-- @return map component → capacity left; number of directed links
function workload.slow_links(topo, share, seed)
   local left, n = {}, 0
   for c = topo.first_link, #topo.components do
      local back = topo:opposite(c)
      if c <= (back or c) and workload.draw(seed, c, 3) < share then
         local rest = ({ 0.25, 0.5, 0.75 })[1 + math.floor(workload.draw(seed, c, 4) * 3)]
         left[c] = rest
         n = n + 1
         if back then
            left[back] = rest
            n = n + (back ~= c and 1 or 0)
         end
      end
   end
   return left, n
end

return workload
