-- SPDX-License-Identifier: GPL-2.0-or-later
--- `taut explain`: which tests stand behind a verdict, and what a job's check saw.
local json = require "taut.json"
local loop = require "taut.loop"
local rights = require "taut.base.rights"
local summary = require "taut.events.summary"
local tables = require "taut.base.tables"

local explain = {}

local TESTS = 200 -- most tests in one answer
-- How far back they are looked for: a day of 40,000 node-jobs takes 16 ms (bench store_scale).
local TESTS_S = 5 * 86400
local EVENTS = 100

-- The reasoning of diagnose/reasoning.lua, with names.
local function name_reasoning(self, component)
   local list, names = json.array {}, self.site.topo.components
   for i, r in ipairs(self.diagnosis:reasoning(component)) do
      list[i] = { text = r.text, tests = r.tests and json.array(r.tests), by = r.by,
         ruled_out = r.ruled_out and names[r.ruled_out], rival = r.rival and names[r.rival] }
   end
   return list
end

local function component_row(self, component, now)
   local k, seen = self.diagnosis:record(component) or { confirmed = {} },
      self.diagnosis:seen(component)
   local far, run = {}, self.diagnosis:run(component)
   for _, t in ipairs(run) do
      far[t.src_name], far[t.dst_name] = true, true
   end
   far[self.site.topo.nodes[self.site.topo:node_of(component) or 0] or ""] = nil
   local names = json.array {}
   for name in pairs(far) do
      names[#names + 1] = name
   end
   table.sort(names)
   local s = self.site.conf.diagnosis
   local low, of = self.diagnosis:tally(component)
   return { component = self.site.topo.components[component],
      state = self.diagnosis:state(component), left = k.left, loss = k.loss and k.loss.share,
      since = k.since, low = low, low_of = of, tests = seen.tests, last = seen.last,
      cleared_at = seen.cleared_at,
      confirmed = #k.confirmed, busy = k.busy or 0, far_ends = names,
      action = self.decision.measures[component],
      action_why = self.decision.remarks[component], reasoning = name_reasoning(self, component),
      known = self.acks:get(self.site.topo.components[component], now),
      remark = self.diagnosis:remark(component, now), cable = self.site.topo:cable(component),
      capacity_Bps = self.diagnosis:capacity(component),
      evidence = self.events:evidence_of(component), learned = self.diagnosis:learned_of(component),
      needs = { suspect_low = s.suspect_low, suspect_events = s.suspect_events,
         slow_low = s.slow_low, slow_far = s.slow_far, reporters = s.reporters } }
end

-- Jobs of others are hidden where PrivateData=jobs is set.
local function strip_jobs(self, rows, uid)
   if not self.cluster:is_private "jobs" or self.cluster:is_admin(uid) then
      return rows
   end
   for _, row in ipairs(rows) do
      row.job = nil
   end
   return rows
end

-- Ask the store for several things; fn(results by name) when all are there.
local function ask_all(self, wanted, fn)
   local left, out, failed = #wanted, {}, nil
   for _, w in ipairs(wanted) do
      self.journal:query(w[2], w[3], function(rows, err)
         out[w[1]] = rows or json.array {}
         failed = failed or err
         left = left - 1
         if left == 0 then
            fn(out, failed)
         end
      end)
   end
end

local function explain_component(self, component, uid, reply)
   local name, now = self.site.topo.components[component], loop.time()
   local first = self.diagnosis:run(component)[1]
   local since = now - 86400
   if first then
      since = math.max(first.time - 60, now - TESTS_S)
   end
   self.journal:flush()
   ask_all(self, {
      { "tests", "tests_of_component", { component = name, since = since, limit = TESTS } },
      { "verdicts", "verdicts_of", { component = name, limit = 20 } },
      { "observations", "observations", { link = name, since = math.min(since, now - 86400),
         limit = EVENTS } },
   }, function(out, err)
      if err then
         return reply(nil, err)
      end
      reply { about = name, components = json.array { component_row(self, component, now) },
         tests = strip_jobs(self, out.tests, uid), verdicts = out.verdicts,
         observations = self.observations:unpack(out.observations, uid), now = now }
   end)
end

local function explain_node(self, node_number, uid, reply)
   local topo, now = self.site.topo, loop.time()
   local name, ports, wanted = topo.nodes[node_number], topo:ports(node_number), {}
   if #ports == 0 then
      ports = { topo.tx[node_number], topo.rx[node_number] }
   end
   for i, c in ipairs(ports) do
      wanted[i] = { i, "verdicts_of", { component = topo.components[c], limit = 10 } }
   end
   self.journal:flush()
   table.move({
      { "tests", "tests_of_node", { node = name, limit = TESTS } },
      { "actions", "actions_of", { node = name, limit = 20 } },
      { "observations", "observations", { node = name, limit = EVENTS } },
   }, 1, 3, #wanted + 1, wanted)
   ask_all(self, wanted, function(out, err)
      if err then
         return reply(nil, err)
      end
      local verdicts = json.array {}
      for _, rows in ipairs(out) do
         table.move(rows, 1, #rows, #verdicts + 1, verdicts)
      end
      local slurm = self.cluster.nodes[name] or {}
      reply { about = name, node = { name = name, slurm = slurm.state, drain = slurm.drain,
            reason = slurm.reason, held = self.act:why_held(name) },
         components = json.array(tables.map(ports, function(component)
            return component_row(self, component, now)
         end)),
         tests = strip_jobs(self, out.tests, uid), verdicts = verdicts, actions = out.actions,
         observations = self.observations:unpack(out.observations, uid), now = now }
   end)
end

local function may_see_job(self, rows, job, uid)
   if not self.cluster:is_private "jobs" or self.cluster:is_admin(uid) then
      return true
   end
   local seen = self.cluster.seen_running[job]
   local owner = rows[1] and rows[1].uid or seen and seen.user_id
   return owner == rights.user(uid)
end

local function explain_job(self, id, uid, reply)
   self.journal:flush()
   ask_all(self, {
      { "events", "events_of_job", { job = id } },
      { "observations", "observations", { job = id, limit = EVENTS } },
      { "tests", "tests_of_job", { job = id, limit = 10000 } },
      { "growth", "growth_of_job", { job = id } },
   }, function(out, err)
      if err then
         return reply(nil, err)
      elseif not may_see_job(self, out.events, id, uid) then
         return reply(nil, ("job %d is not yours, and PrivateData=jobs is set"):format(id))
      elseif #out.events == 0 and #out.growth == 0 and #out.observations == 0 then
         return reply(nil, ("nothing is stored of job %d"):format(id))
      end
      local all = summary.of_job(out.growth)
      reply { about = "job " .. id, events = out.events, tests = out.tests, growth = out.growth,
         summary = all, observations = self.observations:unpack(out.observations, uid, id),
         now = loop.time() }
   end)
end

local Explain = {}
Explain.__index = Explain

--- What is known of one component, with the reasoning.
-- @param now seconds since 1970
function Explain:component(component, now)
   return component_row(self, component, now)
end

--- May this user see a job?  fn(true), or fn(nil, why not).
function Explain:ask_job(id, uid, fn)
   self.journal:query("events_of_job", { job = id }, function(rows, err)
      if not rows then
         fn(nil, err)
      elseif not may_see_job(self, rows, id, uid) then
         fn(nil, ("job %d is not yours, and PrivateData=jobs is set"):format(id))
      else
         fn(true)
      end
   end)
end

--- Answer `taut explain`.
-- @param args { what = node or component } or { job = id }
-- @param uid of the caller
-- @param reply function(data) or function(nil, error)
function Explain:answer(args, uid, reply)
   local topo = self.site.topo
   if math.type(args.job) == "integer" then
      return explain_job(self, args.job, uid, reply)
   end
   local what = tostring(args.what)
   if topo.node_id[what] then
      return explain_node(self, topo.node_id[what], uid, reply)
   elseif topo.component_id[what] then
      return explain_component(self, topo.component_id[what], uid, reply)
   end
   reply(nil, ("'%s' is neither a node nor a component (n5, n5/tx, r1.0.0/X+ …)"):format(what))
end

--- @param options { site, diagnosis, decision, journal, cluster, act, acks, events, observations }
function explain.new(options)
   return setmetatable(options, Explain)
end

return explain
