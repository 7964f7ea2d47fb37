-- SPDX-License-Identifier: GPL-2.0-or-later
--- Checks: which nodes of a job are planned together, whether anything is due, what they test; and
-- what became of each job's check: counted, and an event of its own where there was none.
--
-- Nothing here knows of frames, keys and connections: rendezvous.lua brings nodes, and puts what
-- their RESULTs say into a session: `results`, by node { ["send:ID"], ["recv:ID"] = of a test }.
-- Findings:session takes it when it is over.  A machine of another clock and another network
-- (tests/bench/campaign) comes in here.
local loop = require "taut.loop"
local plan = require "taut.plan"
local sys = require "taut.sys"
local tables = require "taut.base.tables"

local check = {}
local Check = {}
Check.__index = Check

-- Decisions for jobs that one node named before Slurm did, all together; what one takes, and for
-- each of its nodes.
local WORDS_MAX_BYTES, WORD_BYTES, WORD_NODE_BYTES = 2 << 20, 512, 64
local RESERVE_MS = 120 -- of a node's budget, for everything but the phases
-- What becomes of a job's check.
local RESULTS = { "PrologFlags without Alloc", "checked", "not in the topology", "nothing due",
   "off", "shared", "single" }
local QUIET = { single = true, off = true, ["nothing due"] = true } -- not worth a line in the log

---------------------------------------------------------------- plans

-- What plan.make needs for these nodes now.
local function plan_options(self, purpose, nodes, budget_ms)
   local c = self.checks
   local most = c.budget_ms
   if purpose == "idle" then
      most = c.idle_budget_ms or most
   end
   return { topology = self.topo, nodes = nodes, coverage = self.coverage, checks = c,
      now = loop.time(), wanted = self.agenda:wanted(purpose), watched = self.diagnosis:watched(),
      budget_ms = math.min(most, budget_ms - RESERVE_MS) }
end

--- Plan for those nodes of a session that are there; its tests are in `tests` then.
-- @param present nodes, ascending
-- @param budget_ms what is left of their budget
-- @param lead_ms how much later than usual the first phase begins, or nil
-- @return milliseconds until the last test ends
function Check:plan(session, present, budget_ms, lead_ms)
   local o = plan_options(self, session.purpose, present, budget_ms)
   if lead_ms then
      -- no later than leaves time for one phase, which then tells how long it really takes
      local c = o.checks
      local most = budget_ms - RESERVE_MS - c.lead_ms - c.test_ms - c.gap_ms
      lead_ms = math.max(0, math.min(lead_ms, math.floor(most)))
      o.checks = setmetatable({ lead_ms = o.checks.lead_ms + lead_ms }, { __index = o.checks })
      o.budget_ms = math.min(o.budget_ms + lead_ms, budget_ms - RESERVE_MS)
   end
   session.heard = #present
   if session.group then
      session.group.heard = #present
   end
   local last_ms
   session.tests, last_ms = plan.schedule(#present > 1 and plan.make(o) or {}, o,
      function() return self.ids:test() end)
   return last_ms
end

---------------------------------------------------------------- sessions

-- One group of nodes that plan together.
local function new_session(purpose, hello, nodes)
   return { purpose = purpose, job = hello.job, restart = hello.restart or 0, uid = hello.uid,
      wanted = nodes, peers = {}, results = {}, began = loop.time() }
end

local function is_enabled(self)
   return self.switches:are_checks_on() and self.checks.enabled
end

-- The nodes of an allocation as numbers, in order; nil and why none can be tested.
local function number_nodes(self, names)
   local list = {}
   for _, name in ipairs(names) do
      list[#list + 1] = self.topo.node_id[name]
   end
   table.sort(list)
   if #list < 2 then
      return nil, #names < 2 and "single" or "not in the topology"
   end
   return list
end

-- The job's nodes without those of which the nodes themselves say that they have another job, too.
-- Nobody vouches for that: it keeps no other node out.
local function leave_out_claimed(self, names, said)
   local left = {}
   for _, name in ipairs(names) do
      if said[name] then
         self.cluster.claims:keeps_out(name)
      else
         left[#left + 1] = name
      end
   end
   return left
end

-- What a job's check is decided to be: nodes, or why there is none.
local function decide_nodes(self, hello, names)
   if not is_enabled(self) then
      return { why = "off" }
   elseif not self.cluster:has_alloc() then
      return { why = "PrologFlags without Alloc" }
   end
   local nodes, why = number_nodes(self, names)
   if not nodes then
      return { why = why }
   end
   local node, other, said = self.cluster:is_shared(hello.job, names)
   if node then
      return { why = "shared", detail = ("%s is shared with job %d"):format(node, other) }
   elseif said then
      nodes = number_nodes(self, leave_out_claimed(self, names, said))
      node = next(said)
      if not nodes then
         return { why = "shared", is_word = true,
            detail = ("%s says that it has job %d, too"):format(node, said[node]) }
      end
   end
   return { nodes = nodes, has = tables.set(nodes) }
end

-- A job began, on `count` nodes.
-- @param why it is not checked: one of a few words; nil where it is
-- @param detail says more than why, or nil
local function count_outcome(self, hello, count, why, detail)
   local result = why or "checked"
   self.counts[result] = (self.counts[result] or 0) + 1
   if not why then
      return
   end
   self.journal:add("event", { id = self.ids:event(), time = loop.time(), purpose = hello.purpose,
      job = hello.job, restart = hello.restart or 0, uid = hello.uid, nodes = hello.nodes,
      expected = count, tests = 0, note = "not checked: " .. (detail or why) })
   if not QUIET[why] then
      sys.log("info", ("job %d on %d nodes: not checked: %s"):format(hello.job, count,
         detail or why))
   end
end

-- Decisions that rest on the word of nodes are small for each node: its oldest ones go.
local function limit_claims(self, node, key, job)
   local own = self.by_word[node] or { bytes = 0 }
   self.by_word[node] = own
   local bytes = WORD_BYTES + #key + WORD_NODE_BYTES * #(job.nodes or {})
   own[#own + 1], own.bytes = { key = key, bytes = bytes }, own.bytes + bytes
   while #own > 1 and own.bytes > WORDS_MAX_BYTES do
      local oldest = table.remove(own, 1)
      own.bytes = own.bytes - oldest.bytes
      self.jobs[oldest.key] = nil
   end
end

-- Is that the list that Slurm has?
local function is_slurms_list(self, id, known, names)
   for _, name in ipairs(names) do
      if not self.cluster.jobs[id].has[name] then
         return false
      end
   end
   return #known == #names
end

-- What nodes decided among themselves before Slurm's list had the job stands, where the list is the
-- same, and nobody's word alone kept them from a test.
local function adopt_claimed(self, key, id)
   local job = self.jobs[key]
   if job and not job.is_word then
      self.jobs[key], self.jobs[id] = nil, job
      return job
   end
   return nil
end

-- May a line of the database be spent on this?
local function may_keep_row(self, job, hello)
   return not job.is_claim or not hello.node or self.cluster.claims:may_keep(hello.node)
end

local function decide_job(self, hello, names)
   local job = decide_nodes(self, hello, names)
   job.at, job.groups = loop.time(), {}
   return job
end

--- The check of a job.  What a job is follows from Slurm's list, or from a ticket; until Slurm has
-- it, those nodes that have the same list of it go together, and decide nothing for others.
-- @param hello { job, restart, uid, node, nodes = as Slurm writes them, purpose } of a HELLO
-- @param names the job's nodes, as the HELLO has them
-- @param is_sure true where a ticket vouches for them
-- @return { nodes = numbers, ascending, nil where there is no check; has = set of these }
function Check:job(hello, names, is_sure)
   local id = ("%d.%d"):format(hello.job, hello.restart or 0)
   local known = not is_sure and self.cluster:nodes_of(hello.job, hello.restart)
   local claimed_key = id .. " " .. (hello.nodes or "")
   local key = claimed_key
   if known or is_sure then
      key = id
   end
   local job = self.jobs[key]
   if not job and known and is_slurms_list(self, hello.job, known, names) then
      job = adopt_claimed(self, claimed_key, id)
   end
   if not job then
      job = decide_job(self, hello, known or names)
      self.jobs[key] = job
      if key ~= id then
         job.is_claim = true
         limit_claims(self, hello.node or "", key, job)
      end
      if may_keep_row(self, job, hello) then
         count_outcome(self, hello, known and #known or #names, job.why, job.detail)
      end
   end
   return job
end

-- The group of neighbours (at most `size` nodes in topology order) that a node belongs to: where
-- it begins and ends.
local function find_group_bounds(nodes, node, size)
   for first = 1, #nodes, size do
      local last = math.min(first + size - 1, #nodes)
      if node <= nodes[last] then
         return first, last
      end
   end
   return nil
end

--- The nodes of a job that plan together with one of them.
-- @param job of Check:job
-- @param node its number
-- @param hello of it, with its budget_ms
-- @return { session = nil where nothing is due }; nil: it is not one of the job's
function Check:group(job, node, hello)
   local first, last = find_group_bounds(job.nodes, node, self.checks.group)
   local group = first and job.groups[first]
   if group and group.over and group.heard < 2 and not group.is_again then
      group = nil -- it met no other node: those that come now are another group, once
   end
   if first and not group then
      local nodes = table.move(job.nodes, first, last, 1, {})
      group = { heard = 0, is_again = job.groups[first] ~= nil }
      job.groups[first] = group
      if plan.is_due(plan_options(self, "prolog", nodes, hello.budget_ms)) then
         group.session = new_session("prolog", hello, nodes)
         group.session.group = group
      elseif may_keep_row(self, job, hello) then
         count_outcome(self, hello, #nodes, "nothing due")
      end
   end
   return group
end

--- A cycle of idle nodes: a session of those that it calls for, or nil.
function Check:idle(hello)
   local nodes = is_enabled(self) and self.agenda:idle_nodes() or {}
   if #nodes > 1 then
      return new_session("idle", hello, nodes)
   end
   return nil
end

--- Jobs decided long ago need not be remembered.
function Check:forget(before)
   for id, job in pairs(self.jobs) do
      if job.at < before then
         self.jobs[id] = nil
      end
   end
   for node, own in pairs(self.by_word) do
      if not self.jobs[own[#own].key] then
         self.by_word[node] = nil
      end
   end
end

--- Other settings from now on.
function Check:reload(topo, checks)
   self.topo, self.checks = topo, checks
end

--- @param options { topology, checks (settings), coverage, cluster, switches, agenda,
--   diagnosis, ids, journal }
function check.new(options)
   return setmetatable({ topo = options.topology, checks = options.checks,
      coverage = options.coverage, cluster = options.cluster, switches = options.switches,
      agenda = options.agenda, diagnosis = options.diagnosis, ids = options.ids,
      journal = options.journal, jobs = {}, by_word = {}, counts = tables.counts(RESULTS) }, Check)
end

return check
