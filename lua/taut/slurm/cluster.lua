-- SPDX-License-Identifier: GPL-2.0-or-later
--- What Slurm says: nodes, jobs, settings; and which jobs run where as the checks heard it.
--
-- taut-slurm is asked at intervals; between two answers the HELLOs of prologs and epilogs keep
-- the picture of running jobs.
local claims = require "taut.slurm.claims"
local hostlist = require "taut.hostlist"
local loop = require "taut.loop"
local sys = require "taut.sys"

local cluster = {}
local Cluster = {}
Cluster.__index = Cluster

local CONFIG_EVERY = 12 -- refreshes between two looks at slurm.conf
local GAP_MS = 1000      -- between two times that Slurm is asked because somebody asks tautd
local NAMES_MAX = 1 << 20

local function set_of(list)
   local set = {}
   for _, v in ipairs(list or {}) do
      set[tostring(v):lower()] = true
   end
   return set
end

---------------------------------------------------------------- jobs

local function put_on(self, job, name)
   local on = self.on_node[name]
   if not on then
      on = {}
      self.on_node[name] = on
   end
   on[job.id] = true
   self.touched[name] = true
end

local function take_off(self, id, name)
   local on = self.on_node[name]
   self.touched[name] = true
   if on then
      on[id] = nil
      if next(on) == nil then
         self.on_node[name] = nil
      end
   end
end

local function new_job(self, id)
   local job = { id = id, names = {}, heard = {}, said_at = {}, gone = {}, left = 0,
      added = loop.time() }
   self.jobs[id] = job
   return job
end

-- Slurm, or a front end's ticket, has a job on these nodes.  That takes the place of what nodes
-- said of themselves.
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

-- A node says that it has this job, which nobody else vouches for: that holds for itself alone.
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

-- ALPS gives a node to one job at a time: those that had these before are over, and nobody says so.
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
function Cluster:prolog(id, names, node, is_sure)
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

--- A node said HELLO.
-- @param purpose what for, or nil
-- @param behind_s how far its clock is behind ours, as far as MUNGE's whole seconds tell; or nil
function Cluster:heard(node, purpose, behind_s)
   local now = loop.time()
   self.last_heard[node] = now
   if purpose then
      self.last_heard_for[purpose == "idle" and "idle" or "job"][node] = now
   end
   self.behind_s[node] = behind_s or self.behind_s[node]
   self.refused_for_clock[node] = nil
end

--- A node's message was refused, since MUNGE found its clock too far off: it is neither silent nor
-- heard.
function Cluster:clock_refused(node, behind_s)
   self.behind_s[node], self.refused_for_clock[node] = behind_s, loop.time()
end

--- Nodes whose last message was refused for their clocks: node → when.
function Cluster:refused_clocks()
   return self.refused_for_clock
end

--- Which probe it was.
-- @param release of it, text
-- @param protocol that it speaks, a number
-- @param refused true where nothing of it is understood
function Cluster:speaks(node, release, protocol, refused)
   local p = self.probe_of[node]
   if not p or p.release ~= release or p.protocol ~= protocol or p.refused ~= refused then
      self.probe_of[node] = { release = release, protocol = protocol, refused = refused }
   end
end

--- From which port on may users of that node call, where root has not all below 1024 for itself?
-- @param first port, or nil
function Cluster:users_call_from(node, first)
   self.user_port_of[node] = first
end

--- Node → the first port that its users may call from, for those where it is below 1024.
function Cluster:user_ports()
   return self.user_port_of
end

--- Node → { release, protocol } of its probe, for those heard since tautd started.
function Cluster:probes()
   return self.probe_of
end

--- An epilog's HELLO: the job has left this node.
function Cluster:epilog(id, node)
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
   if job.left >= (job.text and #job.names or job.heard[node] or 1) then
      remove_job(self, id)
      if self.on_job_over then
         self.on_job_over(id)
      end
   end
end

--- Names of nodes whose jobs changed since this was asked last: a set.
function Cluster:take_touched()
   local set = self.touched
   self.touched = {}
   return set
end

--- Slurm was told to give nodes this feature: as it will have it at the next look.
function Cluster:note_feature(names, feature)
   for _, name in ipairs(names) do
      if self.nodes[name] then
         self.nodes[name].features = feature
      end
   end
end

--- Is a job on this node, by Slurm's word or by the node's own?
function Cluster:has_job(name)
   return self.on_node[name] ~= nil
end

-- Another job on this node; and whether only the node itself says so.
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
function Cluster:is_shared(id, names)
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
function Cluster:nodes_of(id, restart)
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

local function start_job(self, j)
   local known = self.jobs[j.id]
   local text = j.nodes or ""
   local job = known and known.text == text and known
      or take_list(self, j.id, hostlist.expand(text, NAMES_MAX) or {}, text)
   if not job.started_counted and (j.start or 0) >= self.started + loop.ahead() then
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

-- Jobs that Slurm no longer knows are gone, though their epilogs may be lost; running ones nobody
-- said hello for are silent.  `asked` is when Slurm was asked: it knows a job before its prolog.
local function take_jobs(self, jobs, asked)
   local running, over = {}, {}
   self.pending, self.knows_queue = {}, true
   for _, j in ipairs(jobs) do
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
   table.sort(self.pending, function(a, b)
      return (a.priority or 0) > (b.priority or 0)
   end)
end

--- Nodes of running jobs that began since our start and never spoke.
function Cluster:silent()
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

---------------------------------------------------------------- nodes

-- A reservation for maintenance counts from the moment it begins: slurmctld marks its nodes a
-- while later.
local function mark_maintenance(self, lists)
   for _, text in ipairs(lists or {}) do
      for _, name in ipairs(hostlist.expand(text, NAMES_MAX) or {}) do
         if self.nodes[name] then
            self.nodes[name].maint = true
         end
      end
   end
end

local function take_nodes(self, nodes, maintenance)
   self.nodes, self.partitions, self.order = {}, {}, {}
   for i, n in ipairs(nodes) do
      self.nodes[n.name], self.order[i] = n, n.name -- it answers in the order of its table
      for _, p in ipairs(n.partitions or {}) do
         self.partitions[p] = self.partitions[p] or {}
         table.insert(self.partitions[p], n.name)
      end
   end
   mark_maintenance(self, maintenance)
   self.nodes_at = loop.time()
   if self.addresses then
      self.addresses:take(nodes)
   end
end

--- Can a job start on this node now?
function Cluster:is_free(name)
   local n = self.nodes[name]
   return n ~= nil and n.state == "idle" and not n.drain and not n.down and not n.maint
      and not self:has_job(name)
end

--- Could a job ever start there as things are (not down, not drained)?
function Cluster:is_usable(name)
   local n = self.nodes[name]
   return n ~= nil and not n.drain and not n.down and not n.fail
end

--- Does slurm.conf give every node of a job its prolog (PrologFlags=Alloc)?  Unknown counts as
-- yes: then peers that do not come cost 250 ms, not a check.
function Cluster:has_alloc()
   return not self.config or self.config.flags.alloc == true
end

--- Over ALPS: "slurm", or "alps" where no Slurm is; else nil.
function Cluster:alps()
   local kind = self.config and self.config.select_type
   return kind == "select/alps" and "slurm" or kind == "alps" and "alps" or nil
end

--- Does PrivateData keep that from users?  Until Slurm has said so, it does.
function Cluster:is_private(what)
   return self.config == nil or self.config.private[what] == true
end

function Cluster:is_admin(uid)
   return uid == 0 or uid == sys.uid() or uid == (self.config and self.config.slurm_uid)
end

local function hint(flags)
   if not flags.alloc then
      return "PrologFlags lacks Alloc: only a job's first node runs the prolog, so no links are " ..
         "checked; set PrologFlags=Alloc,DeferBatch in slurm.conf"
   elseif not flags.deferbatch then
      return "PrologFlags lacks DeferBatch: a batch script starts while other nodes still " ..
         "check; set PrologFlags=Alloc,DeferBatch in slurm.conf"
   end
   return nil
end

-- Over ALPS the front end starts the check, for all nodes, before the job's script.
local ALPS_HINT = "over ALPS jobs of sbatch are checked; those of salloc and of srun without a " ..
   "script are not"

local function take_config(self, c)
   c.flags, c.private = set_of(c.prolog_flags), set_of(c.private_data)
   self.config = c
   local is_alps = self:alps() == "slurm"
   c.flags.alloc = c.flags.alloc or is_alps
   c.slurm_uid = sys.user_id(c.slurm_user or "")
   local text = is_alps and ALPS_HINT or hint(c.flags)
   if text and text ~= self.hint then
      sys.log("warning", text)
   end
   self.hint = text
end

-- Is this host one of slurmctld's, and not the one that is in control?  A tautd beside a standby
-- leaves acting to the one beside the active slurmctld; a tautd elsewhere has nobody to leave it
-- to.
local function standby_of(reply, host)
   local function is_here(name)
      return name == host or name:match "^[^.]+" == host:match "^[^.]+"
   end
   local here
   for i, c in ipairs(reply.controllers) do
      here = here or (is_here(c.host) and i or nil)
   end
   local active = reply.controllers[(reply.active or -1) + 1]
   if not here or #reply.controllers < 2 or active and here == reply.active + 1 then
      return nil
   elseif not active then
      return "no slurmctld answers"
   end
   return "the active slurmctld is on " .. active.host
end
cluster.standby_of = standby_of

local function take_controllers(self, reply)
   local text = standby_of(reply, sys.hostname())
   local active = reply.controllers[(reply.active or -1) + 1]
   self.controllers, self.active_host = #reply.controllers, active and active.host
   if self.tell_controllers then
      return self.tell_controllers()
   elseif text ~= self.standby then
      sys.log("notice", text and "standing by: " .. text or "acting: slurmctld is active here")
   end
   self.standby = text
end

---------------------------------------------------------------- asking

local function note_error(self, err)
   if err and not self.error then
      sys.log("err", ("cannot ask Slurm: %s"):format(err))
   elseif not err and self.error then
      sys.log("notice", "Slurm answers again")
   end
   self.error = err
end

-- Where there are several, one may take over at any time.
local function ask_controllers(self)
   self.helper:ask({ op = "controllers" }, function(reply)
      if reply then
         take_controllers(self, reply)
      end
   end)
end

--- Ask for nodes and jobs now; fn() afterwards, whether it went well or not.
function Cluster:refresh(fn)
   local asked, asked_ns = loop.time(), loop.now_ns()
   self.asked_ns = asked_ns
   if (self.controllers or 0) > 1 then
      ask_controllers(self)
   end
   self.helper:ask({ op = "nodes" }, function(reply, err)
      note_error(self, err)
      if reply then
         take_nodes(self, reply.nodes, reply.maintenance)
         self.nodes_asked = asked
      end
   end)
   self.helper:ask({ op = "reservations" }, function(reply)
      self.reservations = reply and reply.reservations or self.reservations
   end)
   self.helper:ask({ op = "jobs" }, function(reply)
      if reply then
         take_jobs(self, reply.jobs, asked)
      end
      self.fresh_ns = asked_ns
      if self.on_refresh then
         self.on_refresh(reply ~= nil and self.nodes_asked == asked)
      end
      if fn then
         fn()
      end
   end)
end

local function ask_for_all(self)
   local waiting = self.want_fresh
   self.want_fresh = nil
   self:refresh(function()
      for _, fn in ipairs(waiting) do
         fn()
      end
   end)
end

--- What Slurm says, at most `seconds` old: fn() when it is there.  Slurm is asked once a second at
-- most, for all who wait: users cannot make slurmctld answer again and again.
function Cluster:fresh(seconds, fn)
   local now = loop.now_ns()
   if self.fresh_ns and now - self.fresh_ns <= seconds * 1e9 then
      return fn()
   elseif self.want_fresh then
      table.insert(self.want_fresh, fn)
      return
   end
   self.want_fresh = { fn }
   local left_ms = self.asked_ns and GAP_MS - (now - self.asked_ns) / 1e6 or 0
   if left_ms > 0 then
      loop.timer(left_ms, function() ask_for_all(self) end)
   else
      ask_for_all(self)
   end
end

local function ask_config(self)
   self.helper:ask({ op = "config" }, function(reply)
      if reply then
         take_config(self, reply)
      end
   end)
   self.helper:ask({ op = "topology" }, function(reply)
      self.switches = reply and reply.switches or self.switches
   end)
end

--- @param h helper (taut-slurm)
-- @param addresses of addresses.lua, which hears of nodes; or nil
function cluster.new(h, addresses)
   return setmetatable({ helper = h, addresses = addresses, jobs = {}, on_node = {}, nodes = {},
      partitions = {}, claims = claims.new(),
      touched = {}, -- names of nodes whose jobs changed since take_touched()
      pending = {}, knows_queue = false, seen_running = {}, last_heard = {},
      last_heard_for = { idle = {}, job = {} },
      behind_s = {}, refused_for_clock = {}, probe_of = {}, user_port_of = {},
      hellos = 0, jobs_heard = 0, jobs_started = 0, started = loop.time() }, Cluster)
end

--- Tell somebody of what happens.
-- @param o { refreshed = function() after each look at nodes and jobs, job_over = function(id)
--   after a job's last epilog }
function Cluster:tell(o)
   self.on_refresh, self.on_job_over = o.refreshed, o.job_over
end

--- A lease says whether this tautd acts, not which slurmctld is beside it: fn() each time when it
-- is known which one is active (`active_host`).
function Cluster:on_controllers(fn)
   self.tell_controllers = fn
end

--- Begin to ask.
-- @param refresh_s seconds between two looks at nodes and jobs
function Cluster:start(refresh_s)
   local turn = 0
   local function tick()
      if turn % CONFIG_EVERY == 0 then
         ask_config(self)
         ask_controllers(self)
      end
      turn = turn + 1
      self:refresh()
   end
   tick()
   loop.every(math.floor(refresh_s * 1000), tick)
end

return cluster
