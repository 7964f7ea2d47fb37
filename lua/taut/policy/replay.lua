-- SPDX-License-Identifier: GPL-2.0-or-later
--- A dry run on history: what these settings would have done with the verdicts that are stored.
--
-- Pure: rows in, list and sums out.  History knows verdicts and what was done with nodes then; it
-- does not know jobs that waited, nodes that were down or somebody else's, or reservations, so
-- that capability_hold and MAINT hold nothing back here.  A machine-wide change was an alert then
-- and no row.  A drained node counts as clean when its verdict was taken back.
local policy = require "taut.policy"
local report = require "taut.report"
local tables = require "taut.base.tables"
local verdicts = require "taut.report.verdicts"

local replay = {}

local TICK_S = 600 -- how often it is decided anew without news: tautd does so with each refresh

local function decoded_row(row, decode)
   return tables.or_empty(row.evidence and decode(row.evidence))
end

-- A verdict row as policy.decide wants it; nil when it is not one that stands.
local function verdict_of(options, row)
   local c = options.topology.component_id[row.component]
   if not c or not verdicts.is_verdict(row.state) then
      return nil, c
   end
   local e = decoded_row(row, options.decode)
   local verdict = { c = c, state = row.state, left = 0.5, since = row.time }
   if type(e.left) == "number" then
      verdict.left = e.left
   elseif row.state == "failed" then
      verdict.left = 0
   end
   if type(e.whole) == "string" then
      verdict.whole = e.whole
   end
   return verdict, c
end

-- All rows in order of time; verdicts before what was done at the same moment.
local function merge_rows(options)
   local rows = {}
   for _, r in ipairs(options.verdicts) do
      rows[#rows + 1] = { time = r.time, order = 2 * #rows, verdict = r }
   end
   for _, r in ipairs(options.actions) do
      rows[#rows + 1] = { time = r.time, order = 2 * #rows + 1, action = r }
   end
   table.sort(rows, function(one, other)
      return one.time < other.time or one.time == other.time and one.order < other.order
   end)
   return rows
end

local function add_event(run, time, what, node, component, why)
   run.list[#run.list + 1] = { time = time, what = what, node = node, component = component,
      why = why }
end

local function node_is_back(run, node, time)
   local d = run.h.drained[node]
   if d then
      run.sums.node_hours = run.sums.node_hours + (time - d.time) / 3600
      run.h.drained[node] = nil
      return true
   end
   return false
end

local function what_of(verdict)
   if verdict.state == "failed" then
      return "failed"
   end
   return "slow at " .. report.percent(verdict.left)
end

local function carry_out(run, action, now)
   local s = run.sums
   if action.action == "drain" then
      policy.note(run.h, action, now)
      s.drains, run.nodes[action.node] = s.drains + 1, true
      s.flaps = s.flaps + tables.one_if(action.forever)
      add_event(run, now, report.text_if(action.forever, "drain for good", "drain"), action.node,
         action.component, what_of(action.verdict) .. report.text_with(", time ",
         action.times > 1 and action.times))
   elseif action.action == "release" then
      node_is_back(run, action.node, now)
      s.releases = s.releases + 1
      add_event(run, now, "release", action.node, action.component, "clean again")
   else
      policy.note(run.h, action, now)
      s.stops = s.stops + 1
      add_event(run, now, report.text_if(action.action == "stop", "stop draining",
         "at a cap: stop"), nil, nil, action.why)
   end
end

local function note_held(run, held, now)
   for name, e in pairs(held) do
      local rule = e.rule or "other"
      if run.held[name] ~= rule then
         run.held[name] = rule
         run.sums.held[rule] = (run.sums.held[rule] or 0) + 1
         add_event(run, now, "held back", name, e.component, e.why)
      end
   end
   for name in pairs(run.held) do
      if not held[name] then
         run.held[name] = nil
      end
   end
end

local function decide_now(run, now)
   local standing, o = {}, run.o
   for _, v in pairs(run.standing) do
      standing[#standing + 1] = v
   end
   local d = policy.decide { topology = o.topology, settings = o.settings, cluster = o.cluster,
      history = run.h, now = now, mode = "enable", verdicts = standing,
      clean = function() return math.maxinteger end }
   for _, a in ipairs(d.actions) do
      carry_out(run, a, now)
   end
   note_held(run, d.held, now)
   for c, what in pairs(d.measures) do
      run.measures[c] = what
   end
   run.sums.at_once = math.max(run.sums.at_once, tables.size(run.h.drained))
end

-- What administrators did then, they would have done: only that it must have happened to a node
-- that is drained here, too.
local function take_action(run, row)
   local s, forget = run.sums, false
   s.really[row.action] = (s.really[row.action] or 0) + 1
   if row.action == "release" or row.action == "resumed" or row.action == "taken over" then
      if node_is_back(run, row.node, row.time) then
         add_event(run, row.time, row.action, row.node, row.component, "as it was then, by " ..
            (row.who or "?"))
      end
   elseif row.action == "repaired" then
      forget = true
   elseif row.action == "resume" and policy.resume(run.h) then
      add_event(run, row.time, "continue", nil, nil, "as it was then, by " .. (row.who or "?"))
   end
   if forget then
      policy.forget(run.h, { row.node })
   end
end

-- Decisions between two rows: an hourly cap has room again without any news.
local function pass_time(run, from, to)
   if next(run.standing) == nil then
      return
   end
   for now = from + TICK_S, to - 1, TICK_S do
      if next(run.held) then
         decide_now(run, now)
      end
   end
end

local function take_verdict(run, row)
   local v, c = verdict_of(run.o, row)
   if not c then
      run.sums.unknown = run.sums.unknown + 1
      return
   end
   if v then
      run.sums.verdicts = run.sums.verdicts + 1
   end
   run.standing[c] = v
   decide_now(run, row.time)
end

--- Play history again.
-- @param options table: topology, settings (the `policy` section), cluster (policy.cluster's, with
--   the site's partitions), since, till (seconds), before (the last verdict row of each component
--   before since), verdicts, actions (rows since then, in order), decode (JSON → table)
-- @return list of { time, what, node, component, why }; sums: verdicts, drains, nodes, at_once,
--   node_hours, releases, flaps, stops, held (rule → nodes), measures (word → components), really
--   (action → how often, as stored), unknown (rows of components the topology has not)
function replay.run(options)
   local run = { o = options, h = policy.history(), standing = {}, held = {}, nodes = {},
      measures = {},
      list = {}, sums = { verdicts = 0, drains = 0, at_once = 0, node_hours = 0, releases = 0,
         flaps = 0, stops = 0, held = {}, measures = {}, really = {}, unknown = 0 } }
   for _, r in ipairs(options.before) do
      local v, c = verdict_of(options, r)
      if c then
         run.standing[c] = v
      end
   end
   local last = options.since
   decide_now(run, last)
   for _, r in ipairs(merge_rows(options)) do
      pass_time(run, last, r.time)
      last = r.time
      if r.verdict then
         take_verdict(run, r.verdict)
      else
         take_action(run, r.action)
      end
   end
   pass_time(run, last, options.till)
   for node in pairs(run.h.drained) do
      run.sums.node_hours = run.sums.node_hours + (options.till - run.h.drained[node].time) / 3600
   end
   for _, what in pairs(run.measures) do
      run.sums.measures[what] = (run.sums.measures[what] or 0) + 1
   end
   run.sums.nodes = tables.size(run.nodes)
   return run.list, run.sums
end

return replay
