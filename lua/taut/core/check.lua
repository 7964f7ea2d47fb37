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

local RESERVE_MS = 120 -- of a node's budget, for everything but the phases
-- What becomes of a job's check.
local RESULTS = { "PrologFlags without Alloc", "checked", "not in the topology", "nothing due",
   "off", "shared", "single" }
local QUIET = { single = true, off = true, ["nothing due"] = true } -- not worth a line in the log

---------------------------------------------------------------- plans

-- What plan.make needs for these nodes now.
local function options(self, purpose, nodes, budget_ms)
   local c = self.checks
   local most = purpose == "idle" and c.idle_budget_ms or c.budget_ms
   return { topology = self.topo, nodes = nodes, coverage = self.coverage, checks = c,
      now = loop.time(), wanted = self.agenda:wanted(purpose), watched = self.diagnosis:watched(),
      budget_ms = math.min(most, budget_ms - RESERVE_MS) }
end

--- Plan for those nodes of a session that are there; its tests are in `tests` then.
-- @param present nodes, ascending
-- @param budget_ms what is left of their budget
-- @param lead_ms how much later than usual the first phase begins, or nil
-- @return milliseconds until the last test ends
function Check:plan(s, present, budget_ms, lead_ms)
   local o = options(self, s.purpose, present, budget_ms)
   if lead_ms then
      o.checks = setmetatable({ lead_ms = o.checks.lead_ms + lead_ms }, { __index = o.checks })
      o.budget_ms = math.min(o.budget_ms + lead_ms, budget_ms - RESERVE_MS)
   end
   s.heard = #present
   local last_ms
   s.tests, last_ms = plan.schedule(#present > 1 and plan.make(o) or {}, o,
      function() return self.ids:test() end)
   return last_ms
end

---------------------------------------------------------------- sessions

-- One group of nodes that plan together.
local function session(purpose, h, nodes)
   return { purpose = purpose, job = h.job, restart = h.restart or 0, uid = h.uid, wanted = nodes,
      peers = {}, results = {}, began = loop.time() }
end

local function is_enabled(self)
   return self.switches:are_checks_on() and self.checks.enabled
end

-- The nodes of an allocation as numbers, in order; nil and why none can be tested.
local function allocation(self, names)
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

-- What a job's check is decided to be at its first HELLO: nodes, or why there is none.
local function judge_job(self, h, names)
   if not is_enabled(self) then
      return { why = "off" }
   elseif not self.cluster:has_alloc() then
      return { why = "PrologFlags without Alloc" }
   end
   local nodes, why = allocation(self, names)
   if not nodes then
      return { why = why }
   end
   local node, other = self.cluster:is_shared(h.job, names)
   if node then
      return { why = "shared", detail = ("%s is shared with job %d"):format(node, other) }
   end
   return { nodes = nodes }
end

-- A job began, on `count` nodes.
-- @param why it is not checked: one of a few words; nil where it is
-- @param detail says more than why, or nil
local function note(self, h, count, why, detail)
   local result = why or "checked"
   self.counts[result] = (self.counts[result] or 0) + 1
   if not why then
      return
   end
   self.journal:add("event", { id = self.ids:event(), time = loop.time(), purpose = h.purpose,
      job = h.job, restart = h.restart or 0, uid = h.uid, nodes = h.nodes, expected = count,
      tests = 0, note = "not checked: " .. (detail or why) })
   if not QUIET[why] then
      sys.log("info", ("job %d on %d nodes: not checked: %s"):format(h.job, count, detail or why))
   end
end

--- The check of a job, decided when its first node speaks.
-- @param h { job, restart, uid, nodes = as Slurm writes them, purpose } of a HELLO
-- @param names the job's nodes
-- @return { nodes = numbers, ascending; nil where there is no check }
function Check:job(h, names)
   local id = h.job .. "." .. (h.restart or 0)
   local job = self.jobs[id]
   if not job then
      job = judge_job(self, h, names)
      job.at, job.groups = loop.time(), {}
      self.jobs[id] = job
      note(self, h, #names, job.why, job.detail)
   end
   return job
end

-- The group of neighbours (at most `size` nodes in topology order) that node n belongs to: where
-- it begins and ends.
local function group_of(nodes, n, size)
   for first = 1, #nodes, size do
      local last = math.min(first + size - 1, #nodes)
      if n <= nodes[last] then
         return first, last
      end
   end
   return nil
end

--- The nodes of a job that plan together with node n.
-- @param job of Check:job
-- @param h HELLO of n, with its budget_ms
-- @return { session = nil where nothing is due }; nil: n is none of the job's
function Check:group(job, n, h)
   local first, last = group_of(job.nodes, n, self.checks.group)
   local group = first and job.groups[first]
   if first and not group then
      local nodes = table.move(job.nodes, first, last, 1, {})
      group = {}
      job.groups[first] = group
      if plan.is_due(options(self, "prolog", nodes, h.budget_ms)) then
         group.session = session("prolog", h, nodes)
         group.session.group = group
      else
         note(self, h, #nodes, "nothing due")
      end
   end
   return group
end

--- A cycle of idle nodes: a session of those that it calls for, or nil.
function Check:idle(h)
   local nodes = is_enabled(self) and self.agenda:idle_nodes() or {}
   return #nodes > 1 and session("idle", h, nodes) or nil
end

--- Jobs decided long ago need not be remembered.
function Check:forget(before)
   for id, job in pairs(self.jobs) do
      if job.at < before then
         self.jobs[id] = nil
      end
   end
end

--- Other settings from now on.
function Check:reload(topo, checks)
   self.topo, self.checks = topo, checks
end

--- @param o { topology, checks (settings), coverage, cluster, switches, agenda, diagnosis, ids,
--   journal }
function check.new(o)
   return setmetatable({ topo = o.topology, checks = o.checks, coverage = o.coverage,
      cluster = o.cluster, switches = o.switches, agenda = o.agenda, diagnosis = o.diagnosis,
      ids = o.ids, journal = o.journal, jobs = {}, counts = tables.counts(RESULTS) }, Check)
end

return check
