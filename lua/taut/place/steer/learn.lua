-- SPDX-License-Identifier: GPL-2.0-or-later
--- Which jobs communicate heavily, learnt from what their counters grew by.
--
-- At a job's last epilog its bytes per node become one row (table `job` of the database); rows of
-- one user and job name make a profile.  Counters say how much a node sends, not to whom.
local load_rails = require "taut.topology.load_rails"
local loop = require "taut.loop"
local mark = require "taut.place.steer.mark"
local summary = require "taut.events.summary"
local sys = require "taut.sys"

local learn = {}

local NEWEST = 0.3    -- weight of the newest job in a profile
local HEAVY = 0.1     -- share of what its nodes can inject from which on a job is heavy
local SOME = 0.01     -- below this it hardly communicates
local UNEVEN = 2      -- the busiest node over the mean from which on few nodes do the talking
local ASSUMED = 0.25  -- share of a job that says --comm and has never been measured
local LEAST_S = 1     -- a shorter job tells nothing
local PARTNERS = 16   -- of each node in the estimate of background traffic

learn.HEAVY, learn.SOME = HEAVY, SOME

---------------------------------------------------------------- one job

-- What a job's nodes could inject, on average.
local function injection_Bps(topo, nodes)
   local sum, count = 0, 0
   for _, node in ipairs(nodes) do
      local n = topo.node_id[node.node]
      if n then
         sum, count = sum + topo.capacity[topo.tx[n]] * topo.rails, count + 1
      end
   end
   return count > 0 and sum / count or nil
end

--- What the growth of a job's counters says.
-- @param topo topology
-- @param rows of the store's `growth_of_job`, with `counters` decoded
-- @return { nodes (that told), seconds, sent_Bps, received_Bps (mean of a node), share (of what
--   the nodes can inject), uneven (busiest node over the mean) }, or nil where they say nothing
function learn.measure(topo, rows)
   local nodes = summary.per_node(rows)
   local capacity = injection_Bps(topo, nodes)
   local m = { nodes = 0, seconds = 0, sent_Bps = 0, received_Bps = 0 }
   local most = 0
   for _, node in ipairs(nodes) do
      if node.seconds >= LEAST_S then
         local bytes = summary.bytes_of(node)
         m.nodes, m.seconds = m.nodes + 1, math.max(m.seconds, node.seconds)
         m.sent_Bps = m.sent_Bps + bytes.sent / node.seconds
         m.received_Bps = m.received_Bps + bytes.received / node.seconds
         most = math.max(most, (bytes.sent + bytes.received) / node.seconds)
      end
   end
   if m.nodes == 0 or not capacity or capacity <= 0 then
      return nil
   end
   local both = (m.sent_Bps + m.received_Bps) / m.nodes
   m.sent_Bps, m.received_Bps = m.sent_Bps / m.nodes, m.received_Bps / m.nodes
   m.share = math.max(m.sent_Bps, m.received_Bps) / capacity
   m.uneven = both > 0 and most / both or 1
   return m
end

--- How a job communicates, as far as its counters tell.
-- @param p { share, uneven, nodes_max, comm }
-- @return class: "one node", "light", "moderate", "heavy"; and the pattern to suggest: that it
--   named, "all-to-all" as the one that asks most of a network, or nil where none matters
function learn.class(p)
   if (p.nodes_max or 0) < 2 then
      return "one node"
   elseif p.share < SOME then
      return "light"
   end
   local class = p.share < HEAVY and "moderate" or "heavy"
   if p.comm then
      return class, (p.comm:match "^[^:]+")
   elseif p.uneven >= UNEVEN then
      return class, nil -- a few nodes serve the others: no pattern of ours
   end
   return class, class == "heavy" and "all-to-all" or nil
end

---------------------------------------------------------------- profiles in memory

local Learn = {}
Learn.__index = Learn

local function key(user, name)
   return user .. "\0" .. name
end

local function note(self, row)
   local k = key(row.user, row.name)
   local p = self.profiles[k]
   if not p then
      self.profiles[k] = { user = row.user, name = row.name, jobs = 1, share = row.share,
         sent_Bps = row.sent_Bps, uneven = row.uneven, comm = row.comm }
      return
   end
   p.jobs = p.jobs + 1
   for _, field in ipairs { "share", "sent_Bps", "uneven" } do
      p[field] = p[field] + NEWEST * (row[field] - p[field])
   end
   p.comm = row.comm or p.comm
end

--- Profiles as the store has them, at the start.
function Learn:restore(rows)
   for _, row in ipairs(rows) do
      local k = key(row.user, row.name)
      self.profiles[k] = self.profiles[k] or { user = row.user, name = row.name, jobs = row.jobs,
         share = row.share, sent_Bps = row.sent_Bps, uneven = row.uneven, comm = row.comm }
   end
end

--- What is known of a user's jobs of a name.
-- @return { user, name, jobs, share, sent_Bps, uneven, comm }, or nil
function Learn:profile(user, name)
   return self.profiles[key(user, name)]
end

---------------------------------------------------------------- a job is over

local function row_of(job, m, steered)
   local known = mark.parse(job.comment)
   local begun = math.max(job.eligible or 0, job.submitted or 0)
   return { id = job.id, restart = job.restart or 0, time = loop.time(),
      user = sys.user_name(job.user_id), name = job.name, partition = job.partition,
      nodes = job.num_nodes, seconds = math.max(0, (job["end"] or 0) - (job.start or 0)),
      wait_s = begun > 0 and math.max(0, (job.start or 0) - begun) or nil,
      sent_Bps = m and m.sent_Bps, received_Bps = m and m.received_Bps, share = m and m.share,
      uneven = m and m.uneven, comm = known and known.comm, steered = steered }
end

--- A job's last epilog was heard and its growth is known.
-- @param id job
-- @param rows growth
function Learn:job_over(id, rows)
   local d = self.d
   local m = learn.measure(d.topo, rows)
   self.slurm:ask({ op = "job", job = id }, function(reply)
      local job = reply and reply.job
      if not job or (job.num_nodes or 0) < 1 then
         return
      end
      local row = row_of(job, m, d.steer and d.steer:over(job))
      if m or row.steered then
         d.journal:add("job", row)
      end
      if m and row.nodes > 1 then
         note(self, row)
      end
   end)
end

---------------------------------------------------------------- background

-- Bytes per second that a node of a running job sends, as its profile says.
local function rate_of(self, topo, job, node)
   local p = self:profile(sys.user_name(job.user_id), job.name or "")
   local named = mark.parse(job.comment)
   if p then
      return p.share >= HEAVY and p.sent_Bps or 0
   end
   return named and ASSUMED * topo.capacity[topo.tx[node]] or 0
end

-- Each node's rate, to partners that are spread evenly over the job.
local function add_pairs(list, nodes, rate)
   local n = #nodes
   local partners = math.min(n - 1, PARTNERS)
   for i = 1, n do
      for k = 1, partners do
         local step = 1 + (k - 1) * (n - 1) // partners
         list[#list + 1] = nodes[i]
         list[#list + 1] = nodes[(i - 1 + step) % n + 1]
         list[#list + 1] = rate / partners
      end
   end
end

--- What running jobs that communicate heavily put on the network.
-- @param but a job that is left out, or nil
-- @return map component → bytes per second, and how many jobs are in it.  The map belongs to us
--   and stays as it is until Slurm was asked again.
function Learn:background(but)
   local d, memo = self.d, self.memo
   but = but and d.cluster.seen_running[but] and but or nil
   if memo and memo.at == d.cluster.nodes_at and memo.topo == d.topo and memo.but == but then
      return memo.map, memo.jobs
   end
   local list, jobs, map = {}, 0, {}
   for id, job in pairs(d.cluster.seen_running) do
      local nodes = {}
      for _, name in ipairs(d.cluster.jobs[id] and d.cluster.jobs[id].names or {}) do
         nodes[#nodes + 1] = d.topo.node_id[name]
      end
      local rate = id ~= but and #nodes > 1 and rate_of(self, d.topo, job, nodes[1]) or 0
      if rate > 0 then
         jobs = jobs + 1
         add_pairs(list, nodes, rate)
      end
   end
   if #list > 0 then
      for c, Bps in ipairs((load_rails.pairs(d.topo, list))) do
         map[c] = Bps > 0 and Bps or nil
      end
   end
   self.memo = { at = d.cluster.nodes_at, topo = d.topo, but = but, map = map, jobs = jobs }
   return map, jobs
end

--- @param d daemon: topo, cluster, journal, steer
-- @param slurm helper (taut-slurm)
function learn.new(d, slurm)
   return setmetatable({ d = d, slurm = slurm, profiles = {} }, Learn)
end

return learn
