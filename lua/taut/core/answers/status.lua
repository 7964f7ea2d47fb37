-- SPDX-License-Identifier: GPL-2.0-or-later
--- `taut status`: everything that somebody who looks in once a day should see.
local attackers = require "taut.core.answers.attackers"
local clock = require "taut.base.clock"
local json = require "taut.json"
local loop = require "taut.loop"
local slow_whole = require "taut.report.slow_whole"
local sys = require "taut.sys"
local tables = require "taut.base.tables"
local throttled_groups = require "taut.diagnose.throttled_groups"

local function list_by_node(map, row)
   local list = json.array {}
   for key, v in pairs(map) do
      list[#list + 1] = row(key, v)
   end
   table.sort(list, function(first, second) return first.node < second.node end)
   return list
end

-- Component → why it is not acted on as others are, where that needs saying.
local function name_remarks(self)
   local out = {}
   for c, why in pairs(self.decision.remarks) do
      out[self.site.topo.components[c]] = why
   end
   return out
end

local function list_throttled(self, now)
   return throttled_groups.find { topology = self.site.topo, diagnosis = self.diagnosis,
      events = self.events, now = now }
end

-- Components that are not well, worst first.
local function list_verdicts(self, now)
   local rank = { failed = 1, lossy = 2, slow = 3, suspect = 4 }
   local list = json.array {}
   for c, k in self.diagnosis:each() do
      if rank[k.state] then
         local low, of = self.diagnosis:tally(c)
         list[#list + 1] = { component = self.site.topo.components[c], state = k.state,
            left = k.left, loss = k.loss and k.loss.share, since = k.since, low = low, low_of = of,
            tests = self.diagnosis:seen(c).tests,
            action = self.decision.measures[c]
               or k.state == "suspect" and k.hard and "alert" or nil,
            known = self.acks:get(self.site.topo.components[c], now),
            remark = self.diagnosis:remark(c, now), cable = self.site.topo:cable(c) }
      end
   end
   table.sort(list, function(first, second)
      if rank[first.state] ~= rank[second.state] then
         return rank[first.state] < rank[second.state]
      end
      return first.component < second.component
   end)
   return list
end

-- Sets of links of which one is slow, and it is not known which.
local function list_sets(self)
   local list = json.array {}
   for i, v in ipairs(self.diagnosis:set_verdicts()) do
      list[i] = { text = (self.diagnosis:set_words(v)), since = v.since, left = v.left,
         adaptive = self.site.topo:adapts(v.members[1]) or nil }
   end
   return list
end

-- Sets in place of links, by state; how many such links.
local function count_sets(self)
   local n = { all = 0, ok = 0, suspect = 0, slow = 0, failed = 0, unknown = 0 }
   local rows, _, links = self.diagnosis:sets_in_place_of_links()
   for _, row in ipairs(rows) do
      n.all, n[row.state] = n.all + 1, n[row.state] + 1
   end
   return n, links
end

-- Each of several fabrics; nil where there is one.
local function list_fabrics(self, coverage_s, now)
   local list = self.site.topo.fabrics
   return list and tables.map(list, function(fabric)
      local share, of = self.diagnosis:covered_of(fabric, self.coverage, coverage_s, now)
      return { name = fabric.name, nodes = #fabric.topo.nodes - fabric.topo.away_count,
         coverage = share, components = of }
   end)
end

local function describe_status(self)
   local coverage_h = self.site.conf.checks.coverage_h
   local now, cl, wide = loop.time(), self.cluster, self.diagnosis:wide()
   local stopped, capped = self.act:stops()
   local set_states, links_in_sets = count_sets(self)
   return {
      version = sys.version, cluster = cl.config and cl.config.cluster,
      mode = self.act:mode(), switch = self.switches:checks(),
      since = self.started_at, now = now, nodes = #self.site.topo.nodes - self.site.topo.away_count,
      away = self.site.topo.away_count > 0 and self.site.topo.away_count or nil,
      components = #self.site.topo.components - self.site.topo:absent()
         - self.diagnosis:out_of_reach(),
      jobs_started = cl.jobs_started, jobs_heard = cl.jobs_heard, hellos = cl.hellos,
      silent = json.array(cl:silent()), states = self.diagnosis:count_states(),
      tests = self.judgement.classes,
      coverage = self.diagnosis:covered(self.coverage, coverage_h * 3600, now),
      fabrics = list_fabrics(self, coverage_h * 3600, now),
      set_states = set_states, links_in_sets = links_in_sets,
      unknown_in_sets = self.diagnosis:unknown_in_sets(),
      coverage_h = coverage_h, skipped = self.check.counts, refused = self.refusals.count,
      floods = attackers.floods(self), claims = attackers.claims(self),
      endpoints = attackers.endpoints(self), no_results = attackers.mute(self),
      open_ports = attackers.open_ports(self),
      refused_streams = self.judgement.refused_streams, nothing_due = self.rendezvous.nothing_due,
      prologs = self.rendezvous.prolog_times:state(),
      store = self.journal:state(), database = self.housekeeping:state(),
      slurm_error = cl.error, hint = cl.hint, munge_error = self.munged:error(),
      fabric = self.followers.fabric and self.followers.fabric:status(),
      logs = self.followers.logs and self.followers.logs:status(),
      events = self.events.taken, evidence = self.events:evidence(),
      throttled = list_throttled(self, now),
      brakes = self.switches:trouble() or not self.acting:is_blank()
         and self.act:forgotten() or nil,
      clock = clock.trouble(), clocks_refused = list_by_node(cl:refused_clocks(), function(name, at)
         return { node = name, behind_s = cl.behind_s[name], time = at }
      end),
      config_error = self.site.error, metrics_error = self.metrics.error,
      stopped = stopped, capped = capped, standby = cl.standby, acting = self.acting:state(),
      on_event = self.teller:state(), measure_remarks = name_remarks(self),
      alerts = json.array((self.act:alerted_of_late())),
      verdicts = list_verdicts(self, now), sets = list_sets(self),
      learned = self.diagnosis:learned_rows(),
      machine_wide = wide and (slow_whole.text(wide)),
      drained = list_by_node(self.act:standing(), function(name, value)
         return { node = name, reason = value.reason, time = value.time,
            component = value.component, known = self.acks:get(value.component or "", now) }
      end),
      held = list_by_node(self.act:held_back(), function(name, value)
         return { node = name, reason = value.reason, why = value.why, component = value.component,
            known = self.acks:get(value.component or "", now) }
      end),
   }
end

--- @param parts { site, switches, diagnosis, decision, coverage, cluster, act, teller, journal,
--   events, followers, judgement, check, refusals, rendezvous, metrics, acks, housekeeping, acting,
--   addresses, networks, no_results, started_at }
-- @return name → { admin only, fn(args, who, uid, reply) }
return function(parts)
   return { status = { false, function(_, _, _, reply) reply(describe_status(parts)) end } }
end
