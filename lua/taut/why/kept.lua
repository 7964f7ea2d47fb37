-- SPDX-License-Identifier: GPL-2.0-or-later
--- What is kept of each job: its place, held beside what is free when it starts (predict.lua), and
-- one row of the table `job` when its last epilog was heard, its verdict among that.
--
-- `w` is that of init.lua.
local case = require "taut.why.case"
local facts = require "taut.why.facts"
local loop = require "taut.loop"
local predict = require "taut.why.predict"
local sys = require "taut.sys"
local task = require "taut.base.task"
local verdict = require "taut.why.verdict"

local kept = {}

local NEW_S = 120        -- a job that began longer ago is not looked at as one that starts
local LOST_S = 3600      -- for so long the last epilog of a job that Slurm forgot is waited for
local STARTS = 8         -- of one look at Slurm
local LITTLE = 0.01      -- of the run, or of what nodes can inject: its place does not matter
local WAITING = 64       -- jobs whose end waits for its turn; of more nothing is predicted

---------------------------------------------------------------- a job begins

-- Its place, until it ends.
local function look_at_start(w, job)
   local nodes = case.numbers_of(w.site.topo, job.nodes, predict.MOST)
   if not nodes or #nodes < 2 or w.site.topo.fabrics then
      return
   end
   local known = w.profiles:profile(sys.user_name(job.user_id), job.name or "")
   if known and known.share < LITTLE then
      return
   end
   w.advice.view:update()
   local list = predict.patterns(w.patterns, case.comm_of(job), #nodes)
   local place = list[1] and predict.place(w.advice, nodes, list[1], job.partition, "start")
   if place then
      w.started[job.id] = { restart = job.restart or 0, place = place }
   end
end

-- One after the other, as each takes its time.
local function next_start(w)
   local job = table.remove(w.starting, 1)
   if not job then
      w.is_looking = false
      return
   end
   w.is_looking = true
   task.start(function()
      look_at_start(w, job)
      next_start(w)
   end, function(err)
      sys.log("err", "why: " .. err)
      next_start(w)
   end)
end

--- Slurm has answered: jobs that have begun are looked at.
function kept.refreshed(w)
   local now, running = loop.time() + loop.ahead(), w.cluster.seen_running
   local left = STARTS
   for id, job in pairs(running) do
      if not w.known[id] and job.state == "running" then
         if left > 0 and (job.num_nodes or 0) > 1 and now - (job.start or 0) < NEW_S
            and #w.starting < WAITING then
            w.starting[#w.starting + 1], left = job, left - 1
         end
         w.known[id] = true
      end
   end
   for id in pairs(w.known) do
      w.known[id] = running[id] and true or nil
   end
   for id, start in pairs(w.started) do -- its epilogs may be lost
      start.gone = not running[id] and (start.gone or now) or nil
      if start.gone and now - start.gone > LOST_S then
         w.started[id] = nil
      end
   end
   if not w.is_looking then
      next_start(w)
   end
end

---------------------------------------------------------------- a job is over

local COUNTED = { component = true, placement = true, neighbours = true, congestion = true,
   node = true, elsewhere = true }

-- Node-seconds by cause, for the metric.
local function count(w, row)
   if COUNTED[row.cause or ""] and (row.lost_s or 0) > 0 then
      w.lost[row.cause] = (w.lost[row.cause] or 0) + row.lost_s
   end
end

local function finish(w, job, row, usage, rows, place)
   local f = facts.of { job = job, usage = usage, events = rows.events, tests = rows.tests,
      bad = (case.bad_now(w, job.nodes)), place = place }
   local c = case.of(w, row, f, nil, rows)
   local v = case.judge(c)
   local t = c.times and c.times[1]
   f.model = t and { name = t.name, healthy = t.healthy, bad = t.bad, others = t.others,
      all = t.all } or nil
   row.facts, row.cause = facts.text(f), v.cause
   row.lost_s = v.cause and v.lost_s and v.lost_s * c.nodes or nil
   count(w, row)
   return verdict.line(c, v)
end

-- What the row is without all that: no job is forgotten since something went wrong here.
local function write(w, row, fn, line)
   w.journal:add("job", row)
   fn(line)
end

-- Does it matter where a job is?
local function moved_little(w, nodes, usage, run_s)
   local most = 0
   for _, n in ipairs(usage.nodes) do
      most = math.max(most, n.sent, n.received)
   end
   local ideal_s = predict.ideal_s(w.site.topo, nodes, most)
   return not ideal_s or ideal_s < LITTLE * run_s
end

local function place_of(w, job, usage, run_s)
   local at_start = w.started[job.id]
   w.started[job.id] = nil
   if at_start and at_start.restart == (job.restart or 0) then
      return at_start.place
   end
   local is_looked_at = #w.ending < WAITING and not w.site.topo.fabrics
   local nodes = is_looked_at and case.numbers_of(w.site.topo, job.nodes, predict.MOST)
   if nodes and #nodes > 1 and not moved_little(w, nodes, usage, run_s) then
      w.advice.view:update()
      local list = predict.patterns(w.patterns, case.comm_of(job), #nodes)
      return list[1] and predict.place(w.advice, nodes, list[1], job.partition, "end")
   end
   return nil
end

local function next_end(w)
   local e = w.ending[1]
   if not e then
      return
   end
   local function done(line)
      table.remove(w.ending, 1)
      write(w, e.row, e.fn, line)
      next_end(w)
   end
   w.journal:flush()
   case.ask(w, case.questions(e.row, true), function(rows)
      if not rows then
         return done(nil)
      end
      task.start(function()
         local line = finish(w, e.job, e.row, e.usage, rows, place_of(w, e.job, e.usage,
            e.row.run_s or 0))
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
function kept.over(w, job, usage, row, fn)
   row.begin = (job.start or 0) > 0 and job.start - loop.ahead() or nil
   row.label, row.result = facts.label(job), job.result
   local s = usage.summary
   row.run_s = s and s.seconds > 0 and s.seconds or row.seconds
   w.ending[#w.ending + 1] = { job = job, usage = usage, row = row, fn = fn }
   if #w.ending == 1 then
      next_end(w)
   end
end

return kept
