-- SPDX-License-Identifier: GPL-2.0-or-later
--- Asks tautd all that a page shows.
local ask = require "taut.base.ask"
local layout = require "taut.cli.page.layout"
local mend = require "taut.cli.page.mend"
local public = require "taut.cli.page.public"
local scene = require "taut.cli.topology.scene"
local tables = require "taut.base.tables"

local gather = {}

local TIMEOUT_MS = 60000
local LOG_MAX = 500 -- actions

-- One request; an error ends the gathering.
local function request_answer(request, cmd, params)
   local data, err, unanswered = ask.request(request, cmd, params, request.timeout_ms or TIMEOUT_MS)
   if data == nil then
      if unanswered then
         err = ask.unanswered(request, err)
      end
      error({ why = err }, 0)
   end
   return data
end

-- All pages of a part of the past.
local function request_pages(request, what, since)
   local key, out, after = "id", {}, 0
   if what == "before" then
      key, after = "component", ""
   end
   while true do
      local d = request_answer(request, "history", { what = what, since = since, after = after })
      table.move(d.rows, 1, #d.rows, #out + 1, out)
      local last = d.rows[#d.rows]
      if not d.more or not last then
         return out
      end
      after = last[key]
   end
end

-- When a day ends: when the next begins; the last one goes on.
local function end_of_day(days, index, now)
   if days[index + 1] then
      return days[index + 1].from
   end
   return now + 1
end

-- How many components stood in each state when each day ended, and the verdicts of the day.
local function add_verdicts(days, before, verdicts, now)
   local state, count = {}, { suspect = 0, slow = 0, lossy = 0, failed = 0 }
   local function set_state(component, to)
      local was = state[component]
      count[was or 0] = count[was or 0] and count[was] - 1
      count[to] = count[to] and count[to] + 1
      state[component] = to
   end
   for _, v in ipairs(before) do
      set_state(v.component, v.state)
   end
   local i = 1
   for k, day in ipairs(days) do
      local to = end_of_day(days, k, now)
      while verdicts[i] and verdicts[i].time < to do
         set_state(verdicts[i].component, verdicts[i].state)
         i = i + 1
      end
      day.suspect, day.slow, day.lossy, day.failed = count.suspect, count.slow, count.lossy,
         count.failed
   end
end

local function add_actions(days, actions, now)
   for k, day in ipairs(days) do
      local to = end_of_day(days, k, now)
      local done = tables.filter(actions, function(action)
         return action.time >= day.from and action.time < to
            and (action.result or "done") == "done"
      end)
      day.drains = tables.count(done, function(action) return action.action == "drain" end)
      day.resumes = tables.count(done, function(action) return action.action == "release" end)
   end
end

local function gather_trend(request, since)
   local d = request_answer(request, "days", { since = since })
   local first = since
   if d.days[1] then
      first = d.days[1].from
   end
   add_verdicts(d.days, request_pages(request, "before", first),
      request_pages(request, "verdicts", first), d.now)
   add_actions(d.days, request_pages(request, "actions", first), d.now)
   return d.days
end

local function only_public(data)
   public.nodes(data.nodes)
   public.actions(data.actions)
   public.cases(data.cases)
   public.status(data.status)
end

local function gather_all(request)
   local d = { at = os.time(), since = request.since, private = request.private or false,
      status = request_answer(request, "status"), links = request_answer(request, "links").links,
      nodes = request_answer(request, "nodes").nodes,
      actions = request_answer(request, "log", { since = request.since, limit = LOG_MAX }).actions }
   local cases = request_answer(request, "cases")
   d.cases, d.cases_all = cases.components, cases.all
   d.days = gather_trend(request, request.since)
   if not request.private then
      only_public(d)
   end
   local found, err = scene.open(ask.at(request))
   if found then
      d.machine, err = layout.of(found, d.links, d.nodes)
   end
   if not d.machine then
      error({ why = err }, 0)
   end
   d.topo, d.note = found.topo, found.note
   d.repairs, d.repairs_note = mend.order(found.topo, d.cases, d.status.drained)
   return d
end

--- All that a page shows, without jobs.
-- @param request { socket, server (of ask.choose), since = seconds since 1970, private = with what
--   somebody typed into Slurm and what names jobs, or nil }
-- @return table of plain data (taut.report.page says what of); or nil and what is wrong
function gather.all(request)
   local ok, d = xpcall(gather_all, function(err)
      if type(err) == "table" then
         return err
      end
      return { why = debug.traceback(err) }
   end, request)
   if ok then
      return d
   end
   return nil, d.why
end

--- The running jobs that a user may see, and, for administrators, those that lost time.
-- @param request as of all; and as = the user's id, or nil: whoever asks
-- @return { jobs, hidden, lost = array (Why:slow), or nil: not for this user }; or nil and what is
--   wrong
function gather.jobs(request)
   local ok, d = pcall(request_answer, request, "running")
   if not ok then
      return nil, d.why or d
   end
   local _, lost = pcall(request_answer, request, "jobs_that_lost", { since = request.since })
   d.lost = tables.or_empty(lost).jobs
   return d
end

--- Counts of links and nodes by state.
function gather.count(d)
   local n = { nodes = 0,
      link = { ok = 0, suspect = 0, slow = 0, lossy = 0, failed = 0, unknown = 0 } }
   for _, l in ipairs(d.links) do
      n.link[l.state] = n.link[l.state] + 1
   end
   n.nodes = #tables.filter(d.nodes, function(node)
      local function is_bad(component)
         return component.state ~= "ok" and component.state ~= "unknown"
      end
      return is_bad(node.tx) or is_bad(node.rx)
   end)
   return n
end

return gather
