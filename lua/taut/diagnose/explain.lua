-- SPDX-License-Identifier: GPL-2.0-or-later
--- Which tests stand behind a verdict, and what a job's check saw.
local expected = require "taut.diagnose.expected"
local json = require "taut.json"
local loop = require "taut.loop"
local summary = require "taut.events.summary"

local explain = {}

local TESTS = 200 -- most tests in one answer
local EVENTS = 100

--- Components that are not well, worst first.
function explain.verdicts(d, now)
   local rank = { failed = 1, slow = 2, suspect = 3 }
   local list = json.array {}
   for c, k in d.diagnosis:each() do
      if rank[k.state] then
         list[#list + 1] = { component = d.topo.components[c], state = k.state, left = k.left,
            since = k.since, low = #d.diagnosis:run(c), tests = d.diagnosis:seen(c).tests,
            action = d.measures[c] or k.state == "suspect" and k.hard and "alert" or nil,
            remark = d.diagnosis:remark(c, now), cable = d.topo:cable(c) }
      end
   end
   table.sort(list, function(a, b)
      if rank[a.state] ~= rank[b.state] then
         return rank[a.state] < rank[b.state]
      end
      return a.component < b.component
   end)
   return list
end

--- Sets of links of which one is slow, and nobody knows which.
function explain.sets(d)
   local list = json.array {}
   for i, v in ipairs(d.diagnosis.sets:verdicts()) do
      list[i] = { text = (d.diagnosis.sets:words(v)), since = v.since, left = v.left }
   end
   return list
end

-- The reasoning of diagnose/words.lua, with names.
local function reasoning(d, c)
   local list, names = json.array {}, d.topo.components
   for i, r in ipairs(d.diagnosis:reasoning(c)) do
      list[i] = { text = r.text, tests = r.tests and json.array(r.tests), by = r.by,
         ruled_out = r.ruled_out and names[r.ruled_out], rival = r.rival and names[r.rival] }
   end
   return list
end

local function one_component(d, c, now)
   local k, seen = d.diagnosis:record(c) or { confirmed = {} }, d.diagnosis:seen(c)
   local far, run = {}, d.diagnosis:run(c)
   for _, t in ipairs(run) do
      far[t.src_name], far[t.dst_name] = true, true
   end
   far[d.topo.nodes[d.topo:node_of(c) or 0] or ""] = nil
   local names = json.array {}
   for name in pairs(far) do
      names[#names + 1] = name
   end
   table.sort(names)
   local s = d.conf.diagnosis
   return { component = d.topo.components[c], state = d.diagnosis:state(c), left = k.left,
      since = k.since, low = #run, tests = seen.tests, last = seen.last,
      cleared_at = seen.cleared_at,
      confirmed = #k.confirmed, busy = k.busy or 0, far_ends = names, action = d.measures[c],
      action_why = (d.measure_remarks or {})[c], reasoning = reasoning(d, c),
      remark = d.diagnosis:remark(c, now), cable = d.topo:cable(c),
      capacity_Bps = expected.of(d, c), evidence = d.events:evidence_of(c),
      learned = d.diagnosis.learned and d.diagnosis.learned:about(c),
      needs = { suspect_low = s.suspect_low, suspect_events = s.suspect_events,
         slow_low = s.slow_low, slow_far = s.slow_far, reporters = s.reporters } }
end

-- Jobs of others are hidden where PrivateData=jobs is set.
local function strip_jobs(d, rows, uid)
   if not d.cluster:is_private "jobs" or d.cluster:is_admin(uid) then
      return rows
   end
   for _, row in ipairs(rows) do
      row.job = nil
   end
   return rows
end

-- Ask the store for several things; fn(results by name) when all are there.
local function ask_all(d, wanted, fn)
   local left, out, failed = #wanted, {}, nil
   for _, w in ipairs(wanted) do
      d.journal:query(w[2], w[3], function(rows, err)
         out[w[1]] = rows or json.array {}
         failed = failed or err
         left = left - 1
         if left == 0 then
            fn(out, failed)
         end
      end)
   end
end

local function component(d, c, uid, reply)
   local name, now = d.topo.components[c], loop.time()
   local first = d.diagnosis:run(c)[1]
   local since = first and first.time - 60 or now - 86400
   d.journal:flush()
   ask_all(d, {
      { "tests", "tests_of_component", { component = name, since = since, limit = TESTS } },
      { "verdicts", "verdicts_of", { component = name, limit = 20 } },
      { "observations", "observations", { link = name, since = math.min(since, now - 86400),
         limit = EVENTS } },
   }, function(out, err)
      if err then
         return reply(nil, err)
      end
      reply { about = name, components = json.array { one_component(d, c, now) },
         tests = strip_jobs(d, out.tests, uid), verdicts = out.verdicts,
         observations = d.observations:unpack(out.observations, uid), now = now }
   end)
end

local function node(d, n, uid, reply)
   local name, now = d.topo.nodes[n], loop.time()
   d.journal:flush()
   ask_all(d, {
      { "tests", "tests_of_node", { node = name, limit = TESTS } },
      { "actions", "actions_of", { node = name, limit = 20 } },
      { "tx", "verdicts_of", { component = name .. "/tx", limit = 10 } },
      { "rx", "verdicts_of", { component = name .. "/rx", limit = 10 } },
      { "observations", "observations", { node = name, limit = EVENTS } },
   }, function(out, err)
      if err then
         return reply(nil, err)
      end
      table.move(out.rx, 1, #out.rx, #out.tx + 1, out.tx)
      local slurm = d.cluster.nodes[name] or {}
      reply { about = name, node = { name = name, slurm = slurm.state, drain = slurm.drain,
            reason = slurm.reason, held = d.act.held[name] and d.act.held[name].why },
         components = json.array { one_component(d, d.topo.tx[n], now),
            one_component(d, d.topo.rx[n], now) },
         tests = strip_jobs(d, out.tests, uid), verdicts = out.tx, actions = out.actions,
         observations = d.observations:unpack(out.observations, uid), now = now }
   end)
end

local function may_see(d, rows, job, uid)
   if not d.cluster:is_private "jobs" or d.cluster:is_admin(uid) then
      return true
   end
   local seen = d.cluster.seen_running[job]
   local owner = rows[1] and rows[1].uid or seen and seen.user_id
   return owner == uid
end

local function job(d, id, uid, reply)
   d.journal:flush()
   ask_all(d, {
      { "events", "events_of_job", { job = id } },
      { "observations", "observations", { job = id, limit = EVENTS } },
      { "tests", "tests_of_job", { job = id, limit = 10000 } },
      { "growth", "growth_of_job", { job = id } },
   }, function(out, err)
      if err then
         return reply(nil, err)
      elseif not may_see(d, out.events, id, uid) then
         return reply(nil, ("job %d is not yours, and PrivateData=jobs is set"):format(id))
      elseif #out.events == 0 and #out.growth == 0 and #out.observations == 0 then
         return reply(nil, ("nothing is stored of job %d"):format(id))
      end
      local all = summary.of_job(out.growth)
      reply { about = "job " .. id, events = out.events, tests = out.tests, growth = out.growth,
         summary = all, observations = d.observations:unpack(out.observations, uid, id),
         now = loop.time() }
   end)
end

--- May this user see a job?  fn(true), or fn(nil, why not).
function explain.ask_job(d, id, uid, fn)
   d.journal:query("events_of_job", { job = id }, function(rows, err)
      if not rows then
         fn(nil, err)
      elseif not may_see(d, rows, id, uid) then
         fn(nil, ("job %d is not yours, and PrivateData=jobs is set"):format(id))
      else
         fn(true)
      end
   end)
end

--- Answer `taut explain`.
-- @param d daemon
-- @param args { what = node or component } or { job = id }
-- @param uid of the caller
-- @param reply function(data) or function(nil, error)
function explain.answer(d, args, uid, reply)
   if math.type(args.job) == "integer" then
      return job(d, args.job, uid, reply)
   end
   local what = tostring(args.what)
   if d.topo.node_id[what] then
      return node(d, d.topo.node_id[what], uid, reply)
   elseif d.topo.component_id[what] then
      return component(d, d.topo.component_id[what], uid, reply)
   end
   reply(nil, ("'%s' is neither a node nor a component (n5, n5/tx, r1.0.0/X+ …)"):format(what))
end

return explain
