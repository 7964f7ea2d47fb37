-- SPDX-License-Identifier: GPL-2.0-or-later
--- What jobs' traffic looks like: profiles of users' jobs by name, of which heavy ones are a
-- background on the network.
--
-- At a job's last epilog its bytes per node become one row (table `job` of the database, written by
-- why/init.lua); rows of one user and job name make a profile.
local choice = require "taut.topology.fabrics.choice"
local load_rails = require "taut.topology.load_rails"
local loop = require "taut.loop"
local mark = require "taut.slurm.mark"
local privacy = require "taut.slurm.privacy"
local profile = require "taut.events.profile"
local sys = require "taut.sys"
local tables = require "taut.base.tables"

local profiles = {}
local Profiles = {}
Profiles.__index = Profiles

local NEWEST = 0.3    -- weight of the newest job in a profile
local ASSUMED = 0.25  -- share of a job that says --comm and has never been measured
local MOST_JOBS = 100000 -- of one answer

local function profile_key(user, name)
   return user .. "\0" .. name
end

local function merge_row(self, row)
   local k = profile_key(row.user, row.name)
   local p = self.known[k]
   if not p then
      self.known[k] = { user = row.user, name = row.name, jobs = 1, share = row.share,
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
function Profiles:restore(rows)
   for _, row in ipairs(rows) do
      local k = profile_key(row.user, row.name)
      self.known[k] = self.known[k] or { user = row.user, name = row.name, jobs = row.jobs,
         share = row.share, sent_Bps = row.sent_Bps, uneven = row.uneven, comm = row.comm }
   end
end

--- What is known of a user's jobs of a name.
-- @return { user, name, jobs, share, sent_Bps, uneven, comm }, or nil
function Profiles:profile(user, name)
   return self.known[profile_key(user, name)]
end

---------------------------------------------------------------- a job is over

local function make_job_row(job, measured, steered)
   local known = mark.parse(job.comment)
   local begun = math.max(job.eligible or 0, job.submitted or 0)
   return { id = job.id, restart = job.restart or 0, time = loop.time(),
      user = sys.user_name(job.user_id), name = job.name, partition = job.partition,
      nodes = job.num_nodes, seconds = math.max(0, (job["end"] or 0) - (job.start or 0)),
      wait_s = begun > 0 and math.max(0, (job.start or 0) - begun) or nil,
      sent_Bps = measured and measured.sent_Bps, received_Bps = measured and measured.received_Bps,
      share = measured and measured.share, uneven = measured and measured.uneven,
      comm = known and known.comm, steered = steered }
end

--- A job's last epilog was heard and its growth is known.
-- @param job of taut-slurm
-- @param nodes what summary.of says of each
-- @param steered what was done to it, as text, or nil
-- @return a row of the table `job`
function Profiles:take(job, nodes, steered)
   local m = profile.measure(self.topo, nodes)
   local row = make_job_row(job, m, steered)
   if m and row.nodes > 1 then
      merge_row(self, row)
   end
   return row
end

---------------------------------------------------------------- background

-- Bytes per second that a node of a running job sends, as its profile says.
local function find_sent_Bps(self, topo, job, node)
   local p = self:profile(sys.user_name(job.user_id), job.name or "")
   local named = mark.parse(job.comment)
   if p then
      if p.share < profile.HEAVY then
         return 0
      end
      return p.sent_Bps or 0
   end
   if named then
      return ASSUMED * topo.capacity[topo:ports(node)[1] or topo.tx[node]]
   end
   return 0
end

--- Is it known what a running job sends?
function Profiles:knows(id)
   local job = self.cluster.seen_running[id]
   return job ~= nil and self:profile(sys.user_name(job.user_id), job.name or "") ~= nil
end

-- Bytes per second on the components, of jobs that share the network; of several fabrics each job
-- is on the one that its partition and nodes need.
-- @param list array of { nodes, rate, partition }
local function sum_traffic(topo, list)
   local map, of = {}, {}
   for _, job in ipairs(list) do
      local f = topo.fabrics and choice.of(topo, { nodes = job.nodes, partition = job.partition })
      local own, nodes = topo, job.nodes
      if f then
         own = f.topo
         nodes = tables.map(tables.filter(nodes, function(node) return f.number[node] ~= nil end),
            function(node) return f.number[node] end)
      end
      of[own] = of[own] or {}
      if #nodes > 1 then
         profile.spread(of[own], nodes, job.rate)
      end
   end
   for own, pairs_list in pairs(of) do
      for c, Bps in ipairs(tables.or_empty(#pairs_list > 0
         and load_rails.pairs(own, pairs_list))) do
         if Bps > 0 and own.fabric then
            map[topo:of_part(own.fabric, c) or c] = Bps
         elseif Bps > 0 then
            map[c] = Bps
         end
      end
   end
   return map
end

--- What running jobs that communicate heavily put on the network.
-- @param excepted_job one that is left out, or nil
-- @return map component → bytes per second, and how many jobs are in it.  The map belongs to us
--   and stays as it is until Slurm was asked again.
function Profiles:background(excepted_job)
   local cluster, topo, memo = self.cluster, self.topo, self.memo
   if not excepted_job or not cluster.seen_running[excepted_job] then
      excepted_job = nil
   end
   if memo and memo.at == cluster.nodes_at and memo.topo == topo and memo.but == excepted_job then
      return memo.map, memo.jobs
   end
   local list, jobs = {}, 0
   for id, job in pairs(cluster.seen_running) do
      local nodes = {}
      for _, name in ipairs(tables.or_empty(cluster.jobs[id]).names or {}) do
         nodes[#nodes + 1] = topo.node_id[name]
      end
      local rate = 0
      if id ~= excepted_job and #nodes > 1 then
         rate = find_sent_Bps(self, topo, job, nodes[1]) or 0
      end
      if rate > 0 then
         jobs = jobs + 1
         list[jobs] = { nodes = nodes, rate = rate, partition = job.partition }
      end
   end
   local map = sum_traffic(topo, list)
   self.memo = { at = cluster.nodes_at, topo = topo, but = excepted_job, map = map, jobs = jobs }
   return map, jobs
end

---------------------------------------------------------------- `taut profile`

local function add_classes(rows)
   for _, p in ipairs(rows) do
      p.nodes_max = p.nodes_max or p.nodes
      p.class, p.suggest = profile.class(p)
   end
   return rows
end

--- Answer `taut profile`.
-- @param args { user = } or { job = id } or neither
-- @param uid of the caller
function Profiles:answer(args, uid, reply)
   self.journal:flush()
   if args.job ~= nil and math.type(args.job) ~= "integer" then
      return reply(nil, "profile: job: expected a number")
   end
   local since = type(args.since) == "number" and args.since or nil
   local user = type(args.user) == "string" and args.user or nil
   self.journal:query((args.job or since) and "jobs_of_profile" or "profiles",
      { id = args.job, since = since, limit = since and MOST_JOBS or nil,
      user = not args.job and user or nil }, function(rows, err)
         rows = rows and add_classes(privacy.visible(self.cluster, uid, rows))
         if not rows then
            reply(nil, err)
         elseif args.job or since then
            reply { jobs = rows }
         else
            reply { profiles = rows, heavy = profile.HEAVY }
         end
      end)
end

--- The configuration was read again.
function Profiles:reload(topo)
   self.topo = topo
end

--- @param options { topology, cluster, journal }
function profiles.new(options)
   return setmetatable({ topo = options.topology, cluster = options.cluster,
      journal = options.journal, known = {} }, Profiles)
end

return profiles
