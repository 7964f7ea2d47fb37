-- SPDX-License-Identifier: GPL-2.0-or-later
--- "My job was slow: was it the network?"  What is kept of each job for that, and the answers.
--
-- When a job starts, its place is held beside what is free (predict.lua); when its last epilog was
-- heard, one row of the table `job` gets all that is known of it (facts.lua), its verdict among
-- that.  An answer is made anew out of the row: of components that were found to be bad since, of
-- neighbours that ended since, and of the machine as it is described now.
local earlier = require "taut.why.earlier"
local facts = require "taut.why.facts"
local causes = require "taut.why.causes"
local hostlist = require "taut.hostlist"
local json = require "taut.json"
local loop = require "taut.loop"
local mark = require "taut.slurm.mark"
local predict = require "taut.why.predict"
local privacy = require "taut.slurm.privacy"
local rights = require "taut.base.rights"
local sys = require "taut.sys"
local tables = require "taut.base.tables"
local task = require "taut.base.task"
local verdict = require "taut.why.verdict"
local ways = require "taut.why.ways"

local why = {}
local Why = {}
Why.__index = Why

local NEW_S = 120        -- a job that began longer ago is not looked at as one that starts
local STARTS = 8         -- of one look at Slurm
local EARLIER = 50       -- runs
local NEIGHBOURS, SENT = 32, 0.01 -- jobs, and the share of what they can inject that counts
local SECOND = 1         -- to which Slurm's times are known
local LONG_S = 7 * 86400 -- jobs that ended so much later are not looked for
local TESTS = 10000
local WAITING = 64       -- jobs whose end waits for its turn; of more nothing is predicted
local SLOW = 50          -- jobs of `taut why --slow`

-- Node numbers of a host list; nil where one is none of the topology's.
local function numbers_of(topo, text, most)
   local names = hostlist.expand(text or "", most or 1 << 20)
   if not names or #names == 0 then
      return nil
   end
   local list = {}
   for i, name in ipairs(names) do
      list[i] = topo.node_id[name]
      if not list[i] then
         return nil
      end
   end
   return list
end

local function comm_of(job)
   local m = mark.parse(job.comment)
   return m and m.comm
end

-- Several questions to the store, one after the other: fn(results by name), or fn(nil, why).
local function ask_all(self, wanted, fn, i, out)
   i, out = i or 1, out or {}
   local w = wanted[i]
   if not w then
      return fn(out)
   end
   self.journal:query(w[2], w[3], function(rows, err)
      if not rows then
         return fn(nil, err)
      end
      out[w[1]] = rows
      ask_all(self, wanted, fn, i + 1, out)
   end)
end

---------------------------------------------------------------- a job begins

-- Its place; what it is to be kept of it stands in the database at once, as tautd may end first.
local function look_at_start(self, job)
   local nodes = numbers_of(self.site.topo, job.nodes, predict.MOST)
   if not nodes or #nodes < 2 then
      return
   end
   self.advice.view:update()
   local list = predict.patterns(self.patterns, comm_of(job), #nodes)
   local place = list[1] and predict.place(self.advice, nodes, list[1], job.partition, "start")
   if place then
      self.started[job.id] = { restart = job.restart or 0, place = place }
   end
end

-- One after the other, as each takes its time.
local function next_start(self)
   local job = table.remove(self.starting, 1)
   if not job then
      self.is_looking = false
      return
   end
   self.is_looking = true
   task.start(function()
      look_at_start(self, job)
      next_start(self)
   end, function(err)
      sys.log("err", "why: " .. err)
      next_start(self)
   end)
end

--- Slurm has answered: jobs that have begun are looked at.
function Why:refreshed()
   local now, running = loop.time() + loop.ahead(), self.cluster.seen_running
   local left = STARTS
   for id, job in pairs(running) do
      if not self.known[id] and job.state == "running" then
         if left > 0 and (job.num_nodes or 0) > 1 and now - (job.start or 0) < NEW_S
            and #self.starting < WAITING then
            self.starting[#self.starting + 1], left = job, left - 1
         end
         self.known[id] = true
      end
   end
   for id in pairs(self.known) do
      self.known[id] = running[id] and true or nil
   end
   if not self.is_looking then
      next_start(self)
   end
end

---------------------------------------------------------------- a case

-- Jobs that ran at the same time: those that ended, by what they counted; those that run still, by
-- their earlier runs.
local function neighbours(self, c, rows, uid)
   local list, from, to = {}, c.from, c.to
   local length = math.max(1, to - from)
   local at_own = tables.set(numbers_of(self.site.topo, c.f.nodes) or {})
   local own = uid and sys.user_name(rights.user(uid))
   local function add(o, nodes_text, begun, ended)
      local nodes = numbers_of(self.site.topo, nodes_text, predict.MOST * 4)
      local meanwhile = math.min(to, ended) - math.max(from, begun) - SECOND
      if nodes and #nodes > 1 and o.Bps > 0 and meanwhile > 0
         and not tables.any(nodes, function(n) return at_own[n] end) then
         o.nodes, o.share = nodes, math.min(1, (meanwhile + SECOND) / length)
         list[#list + 1] = o
      end
   end
   local seen = {}
   for _, r in ipairs(rows) do
      seen[r.id] = true
      add({ id = r.id, user = r.user, name = r.name, Bps = r.sent_Bps or 0, is_hidden = uid ~= nil
         and privacy.is_hidden(self.cluster, uid, r.user == own and rights.user(uid) or nil) },
         facts.read(r.facts).nodes, r.begin, r.time)
   end
   for id, job in pairs(self.cluster.seen_running) do
      local begun = (job.start or 0) - loop.ahead()
      local user = sys.user_name(job.user_id)
      local p = id ~= c.job.id and not seen[id] and begun < to and self.profiles:profile(user,
         job.name or "")
      if p and p.share >= SENT then
         add({ id = id, user = user, name = job.name, Bps = p.sent_Bps or 0, is_estimate = true,
            is_hidden = uid ~= nil and privacy.is_hidden(self.cluster, uid, job.user_id) },
            job.nodes, begun, loop.time())
      elseif id ~= c.job.id and not seen[id] and begun < to and (job.num_nodes or 0) > 1 then
         c.others_running = true
      end
   end
   return list
end

-- What the model says of it.
local function add_model(self, c)
   local topo, t = self.site.topo, c.f.traffic
   local nodes = numbers_of(topo, c.f.nodes, predict.MOST)
   if not nodes or #nodes ~= c.nodes then
      c.not_predicted = c.nodes > predict.MOST
         and ("it has more than %d nodes"):format(predict.MOST)
         or "its nodes are not all of the machine as it is described now"
   elseif c.nodes > 1 then
      local list, is_said = predict.patterns(self.patterns, c.comm, c.nodes)
      c.is_said = is_said
      c.times = predict.times(topo, nodes, list, c.bad, c.others)
      c.ideal_s = t and predict.ideal_s(topo, nodes, t.busiest)
      c.not_predicted = not t and "its nodes' counters were not read"
         or not c.ideal_s and "what its nodes can inject is not known"
         or #c.times == 0 and "there are no routes between all of its nodes" or nil
   end
end

-- What is wrong on its ways now.
local function bad_now(self, text)
   local nodes = numbers_of(self.site.topo, text)
   return nodes and #nodes > 1 and ways.bad(self.site.topo, self.diagnosis, nodes) or {}
end

-- All that is known of a job that ended.
-- @param row of the table `job`; f = its facts
-- @param uid whose rights count, or nil: nobody reads it
-- @param rows { earlier, others } of the store
local function case_of(self, row, f, uid, rows)
   local c = { job = row, nodes = row.nodes or 0, run_s = row.run_s, f = f, comm = row.comm,
      from = row.begin or row.time - (row.seconds or 0), to = row.time, now = loop.time(),
      no_place = f.no_place, name_of = function(i) return self.site.topo.components[i] end }
   c.bad = ways.during(f.bad or (f.nodes and {}), bad_now(self, f.nodes), c.to)
   c.others = neighbours(self, c, rows.others, uid)
   add_model(self, c)
   c.e = earlier.compare(rows.earlier, c.run_s, f)
   return c
end

local function questions(row)
   local from = row.begin or row.time - (row.seconds or 0)
   return { { "earlier", "earlier_runs", { user = row.user, name = row.name, nodes = row.nodes,
         before = row.time, id = row.id, restart = row.restart, limit = EARLIER } },
      { "others", "at_the_same_time", { from = from, to = row.time, till = row.time + LONG_S,
         share = SENT, id = row.id, limit = NEIGHBOURS } } }
end

local function judge(c)
   local list = causes.of(c)
   return verdict.of(c, list), list
end

---------------------------------------------------------------- a job is over

local COUNTED = { component = true, placement = true, neighbours = true, congestion = true,
   node = true, elsewhere = true }

-- Node-seconds by cause, for the metric.
local function count(self, row)
   if COUNTED[row.cause or ""] and (row.lost_s or 0) > 0 then
      self.lost[row.cause] = (self.lost[row.cause] or 0) + row.lost_s
   end
end

local function finish(self, job, row, usage, rows, place)
   local f = facts.of { job = job, usage = usage, events = rows.events, tests = rows.tests,
      bad = bad_now(self, job.nodes), place = place }
   local c = case_of(self, row, f, nil, rows)
   local v = judge(c)
   local t = c.times and c.times[1]
   f.model = t and { name = t.name, healthy = t.healthy, bad = t.bad, others = t.others,
      all = t.all } or nil
   row.facts, row.cause = facts.text(f), v.cause
   row.lost_s = v.cause and v.lost_s and v.lost_s * c.nodes or nil
   count(self, row)
   return verdict.line(c, v)
end

-- What the row is without all that: no job is forgotten since something went wrong here.
local function write(self, row, fn, line)
   self.journal:add("job", row)
   fn(line)
end

local function place_of(self, job)
   local at_start = self.started[job.id]
   self.started[job.id] = nil
   if at_start and at_start.restart == (job.restart or 0) then
      return at_start.place
   end
   local nodes = #self.ending < WAITING and numbers_of(self.site.topo, job.nodes, predict.MOST)
   if nodes and #nodes > 1 then
      self.advice.view:update()
      local list = predict.patterns(self.patterns, comm_of(job), #nodes)
      return list[1] and predict.place(self.advice, nodes, list[1], job.partition, "end")
   end
   return nil
end

local function next_end(self)
   local e = self.ending[1]
   if not e then
      return
   end
   local function done(line)
      table.remove(self.ending, 1)
      write(self, e.row, e.fn, line)
      next_end(self)
   end
   local wanted = questions(e.row)
   wanted[3] = { "events", "events_of_job", { job = e.job.id } }
   wanted[4] = { "tests", "tests_of_job", { job = e.job.id, limit = TESTS } }
   self.journal:flush()
   ask_all(self, wanted, function(rows)
      if not rows then
         return done(nil)
      end
      task.start(function()
         local line = finish(self, e.job, e.row, e.usage, rows, place_of(self, e.job))
         done(line)
      end, function(err)
         sys.log("err", "why: " .. err)
         done(nil)
      end)
   end)
end

--- A job's last epilog was heard.
-- @param job of taut-slurm
-- @param usage of the store's `usage_of_job`
-- @param row of profiles.lua, which is completed and written
-- @param fn fn(line for its AdminComment, or nil)
function Why:over(job, usage, row, fn)
   row.begin = (job.start or 0) > 0 and job.start - loop.ahead() or nil
   row.label, row.result = facts.label(job), job.result
   local s = usage.summary
   row.run_s = s and s.seconds > 0 and s.seconds or row.seconds
   self.ending[#self.ending + 1] = { job = job, usage = usage, row = row, fn = fn }
   if #self.ending == 1 then
      next_end(self)
   end
end

---------------------------------------------------------------- `taut why`

-- What goes to the asker.
local function answer(c, v, list)
   local out = { job = { id = c.job.id, label = c.job.label, name = c.job.name, user = c.job.user,
         nodes = c.nodes, nodelist = c.f.nodes, state = c.state or "ended", result = c.job.result,
         begin = c.from, ended = not c.state and c.to or nil, run_s = c.run_s,
         comm = c.comm, restart = c.job.restart }, verdict = v, findings = json.array {},
      earlier = { runs = c.e.runs, alike = c.e.alike, median_s = c.e.median_s,
         least_s = c.e.least_s, most_s = c.e.most_s, slower_than = c.e.slower_than,
         bytes = c.e.bytes }, now = c.now }
   local t = c.f.traffic
   out.job.sent, out.job.received = t and t.sent, t and t.received
   for i, f in ipairs(list) do
      f.order = nil
      out.findings[i] = f
   end
   return out
end

local function of_row(self, row, uid, reply)
   ask_all(self, questions(row), function(rows, err)
      if not rows then
         return reply(nil, err)
      end
      local f = facts.read(row.facts)
      local c = case_of(self, row, f, uid, rows)
      local v, list = judge(c)
      reply(answer(c, v, list))
   end)
end

-- One that runs or waits: nothing of it was counted yet.
local function of_live(self, job, uid, reply)
   local row = { id = job.id, restart = job.restart or 0, label = facts.label(job), name = job.name,
      user = sys.user_name(job.user_id), nodes = job.num_nodes, reason = job.reason,
      time = loop.time(), begin = (job.start or 0) > 0 and job.start - loop.ahead() or nil }
   local wanted = questions(row)
   wanted[3] = { "events", "events_of_job", { job = job.id } }
   wanted[4] = { "tests", "tests_of_job", { job = job.id, limit = TESTS } }
   ask_all(self, wanted, function(rows, err)
      if not rows then
         return reply(nil, err)
      end
      local is_pending = job.state == "pending"
      local at_start = self.started[job.id]
      local bad = is_pending and {} or bad_now(self, job.nodes)
      local f = facts.of { job = { nodes = not is_pending and job.nodes or nil },
         usage = { nodes = {} }, events = rows.events, tests = rows.tests, bad = bad,
         place = at_start and at_start.place }
      row.comm = comm_of(job)
      local c = case_of(self, row, f, uid, rows)
      c.state, c.bad = is_pending and "pending" or "running", bad
      c.no_place = c.nodes > 1 and "it began before tautd, or is looked at next"
         or "it has one node"
      local list = is_pending and {} or causes.of(c)
      reply(answer(c, verdict.of(c, list), list))
   end)
end

-- Jobs that Slurm has now, by number or as squeue writes them; of a user that which began last.
local function live(self, is_it)
   local best
   for _, job in pairs(self.cluster.seen_running) do
      if job.state ~= "completing" and is_it(job) and (not best or (job.start
         or 0) > best.start) then
         best = job
      end
   end
   for _, job in ipairs(not best and self.cluster.pending or {}) do
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

local function stored(self, what, args, uid, reply)
   self.journal:flush()
   self.journal:query("job_row", args, function(rows, err)
      local row = rows and rows[1]
      if not rows then
         reply(nil, err)
      elseif not row then
         reply(nil, args.user and "you have no job that was heard of"
            or ("nothing is stored of %s: none of its nodes was heard from, or it is older than " ..
            "what is kept"):format(what))
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
      stored(self, ("job %d"):format(id), { id = id }, uid, reply)
   end)
end

local function one(self, args, uid, reply)
   local id, label = args.job, args.label
   local user = rights.user(uid)
   local found = live(self, function(job)
      if id then
         return job.id == id
      elseif label then
         return facts.label(job) == label
      end
      return job.user_id == user
   end)
   local what = id and ("job %d"):format(id) or label and "job " .. label or "your last job"
   if found and not (not id and not label and found.state == "pending") then
      if found.user_id ~= user and not self.cluster:is_admin(uid) then
         return reply(nil, WHO:format(what, self.cluster:who_administers()))
      end
      return of_live(self, found, uid, reply)
   elseif id then
      return of_array(self, id, uid, reply)
   elseif label then
      return stored(self, what, { label = label }, uid, reply)
   end
   stored(self, what, { user = sys.user_name(user) }, uid, function(data, err)
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
   self.cluster:fresh(2, function() one(self, { job = id, label = label }, uid, reply) end)
end

--- Answer `taut why --slow`: the jobs that lost most.
-- @param args { since = seconds since 1970 }
function Why:slow(args, reply)
   local since = type(args.since) == "number" and args.since == args.since and args.since or 0
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
         list[i] = { id = r.id, label = r.label, user = r.user, name = r.name, nodes = r.nodes,
            ended = r.time, run_s = r.run_s, cause = r.cause, lost_node_s = r.lost_s,
            component = b and b.name or nil, node = cpu and cpu[1] or nil,
            is_link = b and self.site.topo:is_link(self.site.topo.component_id[b.name] or 0)
               or nil }
      end
      reply { jobs = list, since = since, now = loop.time() }
   end)
end

--- Node-seconds that jobs lost since tautd began: map cause → seconds.
function Why:lost_by_cause()
   return self.lost
end

--- @param o { site, cluster, diagnosis, journal, advice, profiles }
function why.new(o)
   return setmetatable({ site = o.site, cluster = o.cluster, diagnosis = o.diagnosis,
      journal = o.journal, advice = o.advice, profiles = o.profiles, patterns = predict.cache(),
      started = {}, known = {}, starting = {}, ending = {}, lost = {} }, Why)
end

return why
