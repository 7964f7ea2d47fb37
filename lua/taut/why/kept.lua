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
local LITTLE = 0.01      -- of the run, or of the nodes' injection: its place does not matter
local WAITING = 64       -- jobs whose end waits for its turn; of more nothing is predicted

---------------------------------------------------------------- a job begins

-- Its place, until it ends.
local function look_at_start(parts, job)
   local nodes = case.numbers_of(parts.site.topo, job.nodes, predict.MOST)
   if not nodes or #nodes < 2 or parts.site.topo.fabrics then
      return
   end
   local known = parts.profiles:profile(sys.user_name(job.user_id), job.name or "")
   if known and known.share < LITTLE then
      return
   end
   parts.advice.view:update()
   local list = predict.patterns(parts.patterns, case.comm_of(job), #nodes)
   local place = list[1] and predict.place(parts.advice, nodes, list[1], job.partition, "start")
   if place then
      parts.started[job.id] = { restart = job.restart or 0, place = place }
   end
end

-- One after the other, as each takes its time.
local function next_start(parts)
   local job = table.remove(parts.starting, 1)
   if not job then
      parts.is_looking = false
      return
   end
   parts.is_looking = true
   task.start(function()
      look_at_start(parts, job)
      next_start(parts)
   end, function(err)
      sys.log("err", "why: " .. err)
      next_start(parts)
   end)
end

--- Slurm has answered: jobs that have begun are looked at.
function kept.refreshed(parts)
   local now, running = loop.time() + loop.ahead(), parts.cluster.seen_running
   local left = STARTS
   for id, job in pairs(running) do
      if not parts.known[id] and job.state == "running" then
         if left > 0 and (job.num_nodes or 0) > 1 and now - (job.start or 0) < NEW_S
            and #parts.starting < WAITING then
            parts.starting[#parts.starting + 1], left = job, left - 1
         end
         parts.known[id] = true
      end
   end
   for id in pairs(parts.known) do
      if not running[id] then
         parts.known[id] = nil
      end
   end
   for id, start in pairs(parts.started) do -- its epilogs may be lost
      start.gone = start.gone or now
      if running[id] then
         start.gone = nil
      end
      if start.gone and now - start.gone > LOST_S then
         parts.started[id] = nil
      end
   end
   if not parts.is_looking then
      next_start(parts)
   end
end

---------------------------------------------------------------- a job is over

local COUNTED = { component = true, placement = true, neighbours = true, congestion = true,
   node = true, elsewhere = true }

-- Node-seconds by cause, for the metric.
local function count_lost(parts, row)
   if COUNTED[row.cause or ""] and (row.lost_s or 0) > 0 then
      parts.lost[row.cause] = (parts.lost[row.cause] or 0) + row.lost_s
   end
end

local function finish_row(parts, job, row, usage, rows, place)
   local f = facts.of { job = job, usage = usage, events = rows.events, tests = rows.tests,
      bad = (case.bad_now(parts, job.nodes)), place = place }
   local c = case.of(parts, row, f, nil, rows)
   local v = case.judge(c)
   local t = c.times and c.times[1]
   if t then
      f.model = { name = t.name, healthy = t.healthy, bad = t.bad, others = t.others, all = t.all }
   end
   row.facts, row.cause = facts.text(f), v.cause
   row.lost_s = v.cause and v.lost_s and v.lost_s * c.nodes
   count_lost(parts, row)
   return verdict.line(c, v)
end

-- What the row is without all that: no job is forgotten since something went wrong here.
local function write_row(parts, row, fn, line)
   parts.journal:add("job", row)
   fn(line)
end

-- Does it matter where a job is?
local function moved_little(parts, nodes, usage, run_s)
   local most = 0
   for _, n in ipairs(usage.nodes) do
      most = math.max(most, n.sent, n.received)
   end
   local ideal_s = predict.ideal_s(parts.site.topo, nodes, most)
   return not ideal_s or ideal_s < LITTLE * run_s
end

local function place_of(parts, job, usage, run_s)
   local at_start = parts.started[job.id]
   parts.started[job.id] = nil
   if at_start and at_start.restart == (job.restart or 0) then
      return at_start.place
   end
   local is_looked_at = #parts.ending < WAITING and not parts.site.topo.fabrics
   local nodes = is_looked_at and case.numbers_of(parts.site.topo, job.nodes, predict.MOST)
   if nodes and #nodes > 1 and not moved_little(parts, nodes, usage, run_s) then
      parts.advice.view:update()
      local list = predict.patterns(parts.patterns, case.comm_of(job), #nodes)
      return list[1] and predict.place(parts.advice, nodes, list[1], job.partition, "end")
   end
   return nil
end

local function next_end(parts)
   local e = parts.ending[1]
   if not e then
      return
   end
   local function row_done(line)
      table.remove(parts.ending, 1)
      write_row(parts, e.row, e.fn, line)
      next_end(parts)
   end
   parts.journal:flush()
   case.ask(parts, case.questions(e.row, true), function(rows)
      if not rows then
         return row_done(nil)
      end
      task.start(function()
         local line = finish_row(parts, e.job, e.row, e.usage, rows, place_of(parts, e.job, e.usage,
            e.row.run_s or 0))
         row_done(line)
      end, function(err)
         sys.log("err", "why: " .. err)
         row_done(nil)
      end)
   end)
end

--- A job's last epilog was heard.
-- @param job of taut-slurm
-- @param usage of the store's `usage_of_job`
-- @param row of profiles.lua, which is completed and written
-- @param fn fn(line for its AdminComment, or nil)
function kept.over(parts, job, usage, row, fn)
   row.begin = facts.begin_of(job)
   row.label, row.result = facts.label(job), job.result
   local s = usage.summary
   row.run_s = row.seconds
   if s and s.seconds > 0 then
      row.run_s = s.seconds
   end
   parts.ending[#parts.ending + 1] = { job = job, usage = usage, row = row, fn = fn }
   if #parts.ending == 1 then
      next_end(parts)
   end
end

return kept
