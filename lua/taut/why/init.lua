-- SPDX-License-Identifier: GPL-2.0-or-later
--- "My job was slow: was it the network?"
--
-- One row of the table `job` has what is kept of each (kept.lua).  An answer is made anew out of
-- it: of components that were found to be bad since, of neighbours that ended since, and of the
-- machine as it is described now.
local case = require "taut.why.case"
local causes = require "taut.why.causes"
local facts = require "taut.why.facts"
local json = require "taut.json"
local kept = require "taut.why.kept"
local loop = require "taut.loop"
local predict = require "taut.why.predict"
local report = require "taut.report"
local rights = require "taut.base.rights"
local sys = require "taut.sys"
local task = require "taut.base.task"
local verdict = require "taut.why.verdict"

local why = {}
local Why = {}
Why.__index = Why

local SLOW = 50 -- jobs of `taut why --slow`

--- Slurm has answered: jobs that have begun are looked at.
Why.refreshed = kept.refreshed

--- A job's last epilog was heard (kept.over).
Why.over = kept.over

---------------------------------------------------------------- `taut why`

-- What goes to the asker.
local function answer_of(known, outcome, list)
   local ended
   if not known.state then
      ended = known.to
   end
   local out = { job = { id = known.job.id, label = known.job.label, name = known.job.name,
      user = known.job.user,
         nodes = known.nodes, nodelist = known.f.nodes, state = known.state or "ended",
            result = known.job.result,
         begin = known.from, ended = ended, run_s = known.run_s,
         comm = known.comm, restart = known.job.restart }, verdict = outcome,
            findings = json.array {},
      earlier = { runs = known.e.runs, alike = known.e.alike, median_s = known.e.median_s,
         least_s = known.e.least_s, most_s = known.e.most_s, slower_than = known.e.slower_than,
         bytes = known.e.bytes }, now = known.now }
   local t = known.f.traffic
   out.job.sent, out.job.received = t and t.sent, t and t.received
   for i, f in ipairs(list) do
      f.order = nil
      out.findings[i] = f
   end
   return out
end

-- In turns: of a large job the model takes its time.
local function in_turns(reply, fn)
   task.start(fn, function(err)
      sys.log("err", "why: " .. err)
      reply(nil, "internal error; tautd's log has it")
   end)
end

local function of_row(self, row, uid, reply)
   case.ask(self, case.questions(row), function(rows, err)
      if not rows then
         return reply(nil, err)
      end
      in_turns(reply, function()
         local c = case.of(self, row, facts.read(row.facts), uid, rows)
         local v, list = case.judge(c)
         reply(answer_of(c, v, list))
      end)
   end)
end

-- One that runs or waits: nothing of it was counted yet.
local function live_case(self, job, row, rows, uid)
   local is_pending = job.state == "pending"
   local at_start = self.started[job.id]
   local bad, nodes, state = {}, nil, "pending"
   if not is_pending then
      bad, nodes, state = case.bad_now(self, job.nodes), job.nodes, "running"
   end
   local f = facts.of { job = { nodes = nodes },
      usage = { nodes = {} }, events = rows.events, tests = rows.tests, bad = bad,
      place = at_start and at_start.place }
   local c = case.of(self, row, f, uid, rows)
   c.state, c.bad = state, bad
   c.no_place = case.of_several(self.site.topo) or report.text_if(c.nodes > 1,
      "it began before tautd, or is looked at next", "it has one node")
   return c
end

local function of_live(self, job, uid, reply)
   local row = { id = job.id, restart = job.restart or 0, label = facts.label(job), name = job.name,
      user = sys.user_name(job.user_id), nodes = job.num_nodes, reason = job.reason,
      comm = case.comm_of(job), time = loop.time(), begin = facts.begin_of(job) }
   case.ask(self, case.questions(row, true), function(rows, err)
      if not rows then
         return reply(nil, err)
      end
      in_turns(reply, function()
         local c = live_case(self, job, row, rows, uid)
         local list = {}
         if c.state ~= "pending" then
            list = causes.of(c)
         end
         reply(answer_of(c, verdict.of(c, list), list))
      end)
   end)
end

-- Jobs that Slurm has now, by number or as squeue writes them; of a user that which began last.
local function live_jobs(self, is_it)
   local best, began = nil, -1
   for _, job in pairs(self.cluster.seen_running) do
      local start = job.start or 0
      if job.state ~= "completing" and is_it(job) and start > began then
         best, began = job, start
      end
   end
   if best then
      return best
   end
   for _, job in ipairs(self.cluster.pending or {}) do
      if is_it(job) and (not best or job.id > best.id) then
         best = job
      end
   end
   return best
end

local WHO = "%s is not yours: only %s see those of others"

local function may_see(self, user, uid)
   return self.cluster:is_admin(uid) or user == sys.user_name(rights.user(uid))
end

local function answer_stored(self, what, args, uid, reply)
   self.journal:flush()
   self.journal:query("job_row", args, function(rows, err)
      local row = rows and rows[1]
      if not rows then
         reply(nil, err)
      elseif not row and args.user then
         reply(nil, "tautd knows no job of yours")
      elseif not row then
         reply(nil, ("nothing is stored of %s: none of its nodes was heard from, or it is older " ..
            "than what is kept"):format(what))
      elseif not may_see(self, row.user, uid) then
         reply(nil, WHO:format(what, self.cluster:who_administers()))
      else
         of_row(self, row, uid, reply)
      end
   end)
end

-- The tasks of an array, where its own number was given.
local function of_array(self, id, uid, reply)
   self.journal:query("tasks_of_array", { array = tostring(id), limit = 1000 }, function(rows)
      local row = rows and rows[1]
      if row and #rows > 1 and may_see(self, row.user, uid) then
         return reply(nil, ("job %d is an array: say which of its %d tasks, such as %s"):format(id,
            #rows, row.label))
      end
      answer_stored(self, ("job %d"):format(id), { id = id }, uid, reply)
   end)
end

local function answer_one(self, args, uid, reply)
   local id, label = args.job, args.label
   local user = rights.user(uid)
   local found = live_jobs(self, function(job)
      if id then
         return job.id == id
      elseif label then
         return facts.label(job) == label
      end
      return job.user_id == user
   end)
   local what = "your last job"
   if id then
      what = ("job %d"):format(id)
   elseif label then
      what = "job " .. label
   end
   if found and not (not id and not label and found.state == "pending") then
      if found.user_id ~= user and not self.cluster:is_admin(uid) then
         return reply(nil, WHO:format(what, self.cluster:who_administers()))
      end
      return of_live(self, found, uid, reply)
   elseif id then
      return of_array(self, id, uid, reply)
   elseif label then
      return answer_stored(self, what, { label = label }, uid, reply)
   end
   answer_stored(self, what, { user = sys.user_name(user) }, uid, function(data, err)
      if not data and found then
         return of_live(self, found, uid, reply)
      end
      reply(data, err)
   end)
end

--- Answer `taut why`.
-- @param args { job = number } or { label = "1234_7" or "1234+1" } or neither: the caller's last
-- @param uid whose rights count
function Why:answer(args, uid, reply)
   local id, label = args.job, args.label
   if id ~= nil and (math.type(id) ~= "integer" or id < 1 or id > 2 ^ 32) then
      return reply(nil, "why: job: expected a number, from 1")
   elseif label ~= nil and not (type(label) == "string" and #label < 32
      and label:find "^%d+[_+]%d+$") then
      return reply(nil, "why: label: expected 1234_7 or 1234+1")
   end
   self.cluster:fresh(2, function() answer_one(self, { job = id, label = label }, uid, reply) end)
end

--- Answer `taut why --slow`: the jobs that lost most.
-- @param args { since = seconds since 1970 }
function Why:slow(args, reply)
   local since = 0
   if type(args.since) == "number" and args.since == args.since then
      since = args.since
   end
   self.journal:flush()
   self.journal:query("jobs_that_lost", { since = since, limit = SLOW }, function(rows, err)
      if not rows then
         return reply(nil, err)
      end
      local list = json.array {}
      for i, r in ipairs(rows) do
         local f = facts.read(r.facts)
         local b = r.cause == "component" and f.bad and f.bad[1]
         local cpu = r.cause == "node" and f.traffic and f.traffic.cpu and f.traffic.cpu.out[1]
         local slow = { id = r.id, label = r.label, user = r.user, name = r.name, nodes = r.nodes,
            ended = r.time, run_s = r.run_s, cause = r.cause, lost_node_s = r.lost_s }
         if b then
            slow.component = b.name
            slow.is_link = self.site.topo:is_link(self.site.topo.component_id[b.name] or 0) or nil
         end
         if cpu then
            slow.node = cpu[1]
         end
         list[i] = slow
      end
      reply { jobs = list, since = since, now = loop.time() }
   end)
end

--- Node-seconds that jobs lost since tautd began: map cause → seconds.
function Why:lost_by_cause()
   return self.lost
end

--- @param options { site, cluster, diagnosis, journal, advice, profiles }
function why.new(options)
   return setmetatable({ site = options.site, cluster = options.cluster,
      diagnosis = options.diagnosis,
      journal = options.journal, advice = options.advice, profiles = options.profiles,
         patterns = predict.cache(),
      started = {}, known = {}, starting = {}, ending = {}, lost = {} }, Why)
end

return why
