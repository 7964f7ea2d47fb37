-- SPDX-License-Identifier: GPL-2.0-or-later
--- Answers to the `taut` command: one JSON request line, one JSON reply line.
--
-- Anybody may ask; jobs of others are hidden where slurm.conf's PrivateData says so.  Only root,
-- SlurmUser and tautd's own user may change anything.
local agenda = require "taut.core.agenda"
local expected = require "taut.diagnose.expected"
local explain = require "taut.diagnose.explain"
local fabric_answers = require "taut.fabric.answers"
local hostlist = require "taut.hostlist"
local json = require "taut.json"
local loop = require "taut.loop"
local policy_answers = require "taut.policy.answers"
local sys = require "taut.sys"
local steer_answers = require "taut.place.steer.answers"
local throttle = require "taut.events.throttle"
local words = require "taut.diagnose.words"

local query = {}

-- Whatever goes wrong in fn, the asker gets an answer.
local function guarded(reply, fn, ...)
   local ok, err = xpcall(fn, debug.traceback, ...)
   if not ok then
      sys.log("err", "query: " .. err)
      reply(nil, "internal error; tautd's log has it")
   end
end

-- fn(…) after Slurm was asked.
local function refreshed(d, reply, fn, ...)
   local args = table.pack(...)
   d.cluster:refresh(function() guarded(reply, fn, table.unpack(args, 1, args.n)) end)
end

---------------------------------------------------------------- status

local function count_states(d)
   local n = { ok = 0, suspect = 0, slow = 0, failed = 0, unknown = 0 }
   for c = 1, #d.topo.components do
      local state = d.diagnosis:state(c)
      n[state] = n[state] + 1
   end
   return n
end

local function list_of(map, row)
   local list = json.array {}
   for key, v in pairs(map) do
      list[#list + 1] = row(key, v)
   end
   table.sort(list, function(a, b) return a.node < b.node end)
   return list
end

-- Component → why it is not acted on as others are, where that needs saying.
local function remarks(d)
   local out = {}
   for c, why in pairs(d.measure_remarks or {}) do
      out[d.topo.components[c]] = why
   end
   return out
end

local function throttled(d, now)
   return throttle.find { topology = d.topo, diagnosis = d.diagnosis, events = d.events, now = now }
end

local function status(d)
   local now, cl, wide = loop.time(), d.cluster, d.diagnosis.machine_wide
   return {
      version = sys.version, mode = d.mode or d.conf.mode, switch = d.switch or "on",
      since = d.started_at, now = now, nodes = #d.topo.nodes, components = #d.topo.components,
      jobs_started = cl.jobs_started, jobs_heard = cl.jobs_heard, hellos = cl.hellos,
      silent = json.array(cl:silent()), states = count_states(d), tests = d.classes,
      coverage = d.coverage:share(#d.topo.components, d.conf.checks.coverage_h * 3600, now),
      coverage_h = d.conf.checks.coverage_h, skipped = d.skipped, refused = d.refused,
      refused_streams = d.refused_streams, nothing_due = d.meet.nothing_due,
      store = d.journal:state(), slurm_error = cl.error, hint = cl.hint,
      fabric = d.fabric and d.fabric:status(), logs = d.ingest and d.ingest:status(),
      events = d.events.taken, evidence = d.events:evidence(), throttled = throttled(d, now),
      config_error = d.config_error, metrics_error = d.metrics_error,
      stopped = d.act.history.stopped, capped = d.act.history.capped, standby = cl.standby,
      on_event = d.teller:state(), measure_remarks = remarks(d), alerts = json.array(d.act.alerts),
      verdicts = explain.verdicts(d, now), sets = explain.sets(d),
      learned = d.diagnosis.learned and json.array(d.diagnosis.learned:rows()),
      machine_wide = wide and (words.whole(wide)),
      drained = list_of(d.act.history.drained, function(name, v)
         return { node = name, reason = v.reason, time = v.time, component = v.component }
      end),
      held = list_of(d.act.held, function(name, v)
         return { node = name, reason = v.reason, why = v.why, component = v.component }
      end),
   }
end

---------------------------------------------------------------- links, nodes

local function component_row(d, c, now)
   local k, seen = d.diagnosis:record(c) or {}, d.diagnosis:seen(c)
   return { component = d.topo.components[c], state = d.diagnosis:state(c), left = k.left,
      low = #d.diagnosis:run(c), tests = seen.tests, last = seen.last,
      capacity_Bps = expected.of(d, c), action = d.measures[c], since = k.since,
      remark = d.diagnosis:remark(c, now), cable = d.topo:cable(c) }
end

local function links(d)
   local rows, now = json.array {}, loop.time()
   for c = 1, #d.topo.components do
      if d.topo:is_link(c) then
         rows[#rows + 1] = component_row(d, c, now)
      end
   end
   return { links = rows, now = now }
end

local function nodes(d)
   local rows, now = json.array {}, loop.time()
   for n, name in ipairs(d.topo.nodes) do
      local slurm = d.cluster.nodes[name] or {}
      rows[#rows + 1] = { node = name, router = d.topo.router_name[d.topo:router(n)],
         slurm = slurm.state, drain = slurm.drain or false, reason = slurm.reason,
         ours = d.act.history.drained[name] ~= nil,
         held = d.act.held[name] and d.act.held[name].why,
         heard = d.cluster.last_heard[name], tx = component_row(d, d.topo.tx[n], now),
         rx = component_row(d, d.topo.rx[n], now) }
   end
   return { nodes = rows, now = now }
end

-- The verdicts, what the fabric has routed around, and which topology both are of: `taut topology`
-- knows the rest from the file.
local function topology(d)
   local rows = json.array {}
   for c, name in ipairs(d.topo.components) do
      local state = d.diagnosis:state(c)
      if state ~= "unknown" then
         local k = d.diagnosis:record(c)
         rows[#rows + 1] = { component = name, state = state, left = k and k.left }
      end
   end
   local around = json.array {}
   for c, left in pairs(d.topo.degraded) do
      around[#around + 1] = { component = d.topo.components[c], left = left }
   end
   local learned = d.diagnosis.learned
   return { path = d.conf.path, wiring = d.topo.wiring, verdicts = rows, routed_around = around,
      learned = learned and json.array(learned:rows()) }
end

---------------------------------------------------------------- changes

local function release(d, args, who, reply)
   if not d.topo.node_id[args.node or ""] then
      return reply(nil, ("'%s' is no node of the topology"):format(tostring(args.node)))
   end
   d.act:release(args.node, who, function(ok, err)
      reply(ok and { released = args.node }, err)
   end)
end

local function set_switch(d, value)
   d:set("switch", value)
   sys.log("notice", "checks are " .. value)
   if value == "off" then
      d.surveys:stop({ why = "checks were switched off" }, 0)
   end
   return { switch = value }
end

---------------------------------------------------------------- tests on demand

-- Mark a component for the next idle cycle, or look how far it is.
local function verify(d, args, who, reply)
   local name, now = tostring(args.component), loop.time()
   local c, mark, why = d.topo.component_id[name]
   if not c or not d.topo:is_there(c) then
      return reply(nil, (d.topo.node_id[name] and "'%s' is a node: say %s/tx or %s/rx"
         or "'%s' is no component of the topology"):format(name, name, name))
   end
   if args.look then
      mark, why = d.marks:get(c, now), "it is not marked"
   elseif d.switch == "off" then
      why = "checks are off"
   else
      mark, why = d.marks:add(c, who, now)
   end
   if not mark then
      return reply(nil, ("%s: %s"):format(name, why))
   end
   local names = {}
   for i, n in ipairs(args.now and agenda.verify_nodes(d, c) or {}) do
      names[i] = d.topo.nodes[n]
   end
   reply { component = name, state = d.diagnosis:state(c), marked_at = mark.at,
      marked_by = mark.who, good = mark.good, low = mark.low, void = mark.void,
      best_Bps = mark.best, capacity_Bps = expected.of(d, c), done = mark.done_at ~= nil,
      nodes = #names > 0 and hostlist.compress(names) or "", count = #names,
      slurm_user = d.cluster.config and d.cluster.config.slurm_user }
end

---------------------------------------------------------------- surveys

-- Nodes of the topology on which a survey could start now.
local function idle_nodes(d, args, reply)
   local wanted = args.partition and {} or nil
   if wanted and not d.cluster.partitions[args.partition] then
      return reply(nil, ("there is no partition '%s'"):format(tostring(args.partition)))
   end
   for _, name in ipairs(wanted and d.cluster.partitions[args.partition] or {}) do
      wanted[name] = true
   end
   local list = {}
   for _, name in ipairs(d.topo.nodes) do
      if d.cluster:is_free(name) and (not wanted or wanted[name]) then
         list[#list + 1] = name
      end
   end
   reply { nodes = #list > 0 and hostlist.compress(list) or "", count = #list }
end

---------------------------------------------------------------- fabric

local function fabric(d, args, uid, reply)
   local params = type(args.args) == "table" and args.args or {}
   if not d.fabric then
      return reply(nil, "fabric: tautd does not sweep")
   elseif fabric_answers.is_privileged(args.what, params) and not d.cluster:is_admin(uid) then
      return reply(nil, ("only root and SlurmUser may do this, you are %s"):format(
         sys.user_name(uid)))
   end
   d.fabric:answer(args.what, params, reply)
end

---------------------------------------------------------------- dispatch

-- name → { admin only, fn(d, args, who, uid, reply) }
local commands = {
   status = { false, function(d, _, _, _, reply) reply(status(d)) end },
   links = { false, function(d, _, _, _, reply) reply(links(d)) end },
   nodes = { false, function(d, _, _, _, reply) reply(nodes(d)) end },
   topology = { false, function(d, _, _, _, reply) reply(topology(d)) end },
   advise = { false, function(d, args, _, uid, reply)
      d.advice:ask(args, uid, reply, function(...) guarded(reply, ...) end)
   end },
   explain = { false, function(d, args, _, uid, reply) explain.answer(d, args, uid, reply) end },
   events = { false, function(d, args, _, uid, reply)
      d.observations:list(args, uid, function(job, fn) explain.ask_job(d, job, uid, fn) end, reply)
   end },
   record = { true, function(d, args, _, _, reply)
      local n, err = d.events:record(type(args.events) == "table" and args.events or {})
      reply(n and { taken = n }, err)
   end },
   fabric = { false, function(d, args, _, uid, reply) fabric(d, args, uid, reply) end },
   release = { true, function(d, args, who, _, reply) release(d, args, who, reply) end },
   verify = { true, function(d, args, who, _, reply)
      if args.now then
         return refreshed(d, reply, verify, d, args, who, reply)
      end
      verify(d, args, who, reply)
   end },
   off = { true, function(d, _, _, _, reply) reply(set_switch(d, "off")) end },
   on = { true, function(d, _, _, _, reply) reply(set_switch(d, "on")) end },
   idle_nodes = { false, function(d, args, _, _, reply)
      refreshed(d, reply, idle_nodes, d, args, reply)
   end },
   steer = { false, function(d, args, _, uid, reply) d.steer:answer(args, uid, reply) end },
   profile = { false, function(d, args, _, uid, reply) d.profiles:answer(args, uid, reply) end },
   stop_survey = { false, function(d, args, _, uid, reply)
      reply { stopped = d.surveys:stop({ tag = args.tag, job = args.job }, uid) }
   end },
   reload = { true, function(d, _, _, _, reply)
      local ok, err = d:reload()
      reply(ok and { taken = d.conf.path }, err)
   end },
}

for name, command in pairs(policy_answers) do
   commands[name] = command
end

--- Answer one request.
-- @param d the daemon
-- @param client of loop.serve
-- @param line request: { cmd =, args = }
-- @param uid of the caller, as the kernel says
function query.answer(d, client, line, uid)
   local function reply(data, err)
      client:reply(json.encode(data and { ok = true, data = data } or { ok = false,
         error = err or "no answer" }))
   end
   local request, why = json.decode(line)
   local command = type(request) == "table" and commands[request.cmd]
   if not command then
      return reply(nil, why or "no such command")
   elseif command[1] and not d.cluster:is_admin(uid) then
      return reply(nil, ("only root and SlurmUser may do this, you are %s"):format(
         sys.user_name(uid)))
   end
   local args = request.args
   args = (args == nil or args == json.null) and {} or args
   if type(args) ~= "table" then
      return reply(nil, ("%s: args: expected an object"):format(request.cmd))
   end
   guarded(reply, command[2], d, args, sys.user_name(uid), uid, reply)
end

return query
