-- SPDX-License-Identifier: GPL-2.0-or-later
--- What a monitoring system may know of tautd: GET /metrics.
--
-- Counts only, no name of a user, a job or a node: whoever reaches the port may read it.  Labels
-- have few values: verdicts, kinds of components, partitions (PARTITIONS_MAX of them).  Names of
-- components and switches only where `metrics.components` and `metrics.leaves` say how many.
local exposition = require "taut.core.metrics.exposition"
local leaves = require "taut.core.metrics.leaves"
local limits = require "taut.policy.limits"
local loop = require "taut.loop"
local named = require "taut.core.metrics.named"
local report = require "taut.report"
local sys = require "taut.sys"
local tables = require "taut.base.tables"

local metrics = {}
local Metrics = {}
Metrics.__index = Metrics

local KINDS_MAX = 24
local PARTITIONS_MAX = 64
local FRESH_S = 1 -- an answer this young is given again, …
local SHARE = 50  -- … and one of which the making took a fiftieth of its age

local STATES = { "ok", "suspect", "slow", "lossy", "failed", "unknown" }

-- Map → samples with one label, in the order of its keys, at most `most`; the rest is "other".
local function label_samples(map, label, most)
   local keys, out, rest = {}, {}, nil
   for key in pairs(map) do
      keys[#keys + 1] = key
   end
   table.sort(keys)
   for i, key in ipairs(keys) do
      if i <= (most or 32) then
         out[#out + 1] = { map[key], labels = { [label] = key } }
      else
         rest = (rest or 0) + map[key]
      end
   end
   out[#out + 1] = rest and { rest, labels = { [label] = "other" } }
   return out
end

-- Counts by what people read for a word.
local function count_in_words(counts)
   local out = {}
   for word, n in pairs(counts) do
      out[report.word(word)] = n
   end
   return out
end

-- Kinds of components in the order in which they are met; many kinds are "other".
local function limit_kinds(self, kinds)
   return function(component)
      local kind = self.site.topo:kind(component)
      if not kinds[kind] then
         kinds.n = kinds.n + 1
         kinds[kind] = kinds.n <= KINDS_MAX and kind or "other"
      end
      return kinds[kind]
   end
end

local function count_components(self)
   local topo, count, order, kind = self.site.topo, {}, {}, limit_kinds(self, { n = 0 })
   for c = 1, #topo.components do
      local k, fabric = kind(c), named.fabric(topo, c)
      local key = fabric and fabric .. " " .. k or k
      if not count[key] then
         count[key] = { kind = k, fabric = fabric }
         order[#order + 1] = count[key]
      end
      local state = self.diagnosis:state(c)
      if not fabric or topo:is_there(c) then
         count[key][state] = (count[key][state] or 0) + 1
      end
   end
   local samples = {}
   for _, k in ipairs(order) do
      for _, state in ipairs(STATES) do
         samples[#samples + 1] = { k[state] or 0, labels = { fabric = k.fabric, kind = k.kind,
            state = state } }
      end
   end
   return samples
end

local function add_component_families(self, add_family)
   local names, left_out = named.components(self, self.site.conf.metrics.components)
   local known, held = named.known(self)
   add_family("taut_components", "gauge", "Components by kind and verdict.", count_components(self))
   add_family("taut_components_known", "gauge",
      "Slow and failed components that are known and followed up (taut ack).", known)
   add_family("taut_nodes_held_known", "gauge", "Nodes of taut_nodes_held that are so for such.",
      held)
   add_family("taut_component_left_ratio", "gauge",
      "What is left of the capacity of a slow or failed component, of a stream's rate of a lossy"
         .. " one (metrics.components).", names)
   add_family("taut_component_loss_ratio", "gauge",
      "Share of the packets that a lossy component loses (metrics.components).",
      named.losses(self, self.site.conf.metrics.components))
   add_family("taut_component_names_left_out", "gauge",
      "Slow and failed components for whose names metrics.components has no room.", left_out)
end

-- Sets in place of links that no test can tell apart; of several fabrics for each.
local function add_set_families(self, add_family)
   local topo = self.site.topo
   local rows, hidden, links = self.diagnosis:sets_in_place_of_links()
   local count, of_links = {}, {}
   for _, f in ipairs(topo.fabrics or { {} }) do
      count[f.name or ""] = { ok = 0, suspect = 0, slow = 0, failed = 0, unknown = 0 }
      of_links[f.name or ""] = 0
   end
   for _, row in ipairs(rows) do
      local of = count[named.fabric(topo, row.members[1]) or ""]
      of[row.state] = of[row.state] + 1
   end
   for c in pairs(topo.fabrics and hidden or {}) do
      of_links[named.fabric(topo, c)] = of_links[named.fabric(topo, c)] + 1
   end
   local samples, links_of = {}, {}
   for _, f in ipairs(topo.fabrics or { {} }) do
      for _, s in ipairs(label_samples(count[f.name or ""], "state")) do
         s.labels.fabric = f.name
         samples[#samples + 1] = s
      end
      if f.name then
         links_of[#links_of + 1] = { of_links[f.name], labels = { fabric = f.name } }
      end
   end
   add_family("taut_sets", "gauge", "Sets of links, tested in place of their links, by verdict.",
      samples)
   add_family("taut_links_in_sets", "gauge", "Links that are tested as part of a set only.",
      topo.fabrics and links_of or links)
end

-- Share that was tested; of several fabrics for each.
local function measure_coverage(self, now)
   local seconds, list = self.site.conf.checks.coverage_h * 3600, self.site.topo.fabrics
   return list and tables.map(list, function(fabric)
      return { self.diagnosis:covered_of(fabric, self.coverage, seconds, now),
         labels = { fabric = fabric.name } }
   end) or self.diagnosis:covered(self.coverage, seconds, now)
end

local function add_leaf_families(self, add_family)
   local components_of, sets, left, left_out = leaves.samples(self.diagnosis, self.site.topo,
      self.site.conf.metrics.leaves)
   add_family("taut_leaf_components", "gauge",
      "Components that are not well, by their switch (metrics.leaves).", components_of)
   add_family("taut_leaf_sets", "gauge",
      "Sets of links of which one is slow, by their switch (metrics.leaves).", sets)
   add_family("taut_leaf_left_ratio", "gauge",
      "The least that is left of a component of a switch (metrics.leaves).", left)
   add_family("taut_leaf_names_left_out", "gauge",
      "Switches with components that are not well, for which metrics.leaves has no room.", left_out)
end

local function count_partitions(self)
   local names, drained, caps = {}, {}, {}
   for name in pairs(self.cluster.partitions) do
      names[#names + 1] = name
   end
   table.sort(names)
   for i = 1, math.min(#names, PARTITIONS_MAX) do
      local p = names[i]
      drained[i] = { limits.count_in(self.cluster, p, self.act:standing()),
         labels = { partition = p } }
      caps[i] = { limits.cap_of(self.site.conf.policy, p, #self.cluster.partitions[p]),
         labels = { partition = p } }
   end
   return drained, caps
end

local function add_policy_families(self, add_family)
   local mode, stopped, capped = self.act:mode(), self.act:stops()
   local drained, caps = count_partitions(self)
   add_family("taut_policy_enabled", "gauge", "1: slow nodes are drained; 0: they are only listed.",
      tables.one_if(mode == "enable"))
   add_family("taut_checks_on", "gauge", "1: jobs are checked; 0: checks are off.",
      tables.one_if(self.switches:are_checks_on()))
   add_family("taut_brakes_lost", "gauge",
      "1: neither brakes file nor database can be read: checks off, mode observe.",
      tables.one_if(self.switches.lost))
   add_family("taut_policy_stopped", "gauge", "1: the circuit breaker has stopped all drains.",
      tables.one_if(stopped))
   add_family("taut_policy_caps_reached", "gauge", "Caps that wait for `taut policy continue`.",
      tables.size(capped))
   add_family("taut_policy_standby", "gauge",
      "1: the active slurmctld is elsewhere: only watching.", tables.one_if(self.cluster.standby))
   add_family("taut_nodes_drained", "gauge", "Nodes that are drained by Taut.",
      tables.size(self.act:standing()))
   add_family("taut_nodes_held", "gauge", "Nodes that would be drained if nothing held that back.",
      tables.size(self.act:held_back()))
   add_family("taut_drains_last_hour", "gauge", "Nodes drained within the last hour.",
      self.act:last_hour())
   add_family("taut_partition_drained", "gauge", "Nodes of a partition that are drained by Taut.",
      drained)
   add_family("taut_partition_cap", "gauge", "How many of them there may be.", caps)
   add_family("taut_actions_total", "counter", "Actions in the log of actions since tautd started.",
      label_samples(count_in_words(self.act:counted()), "action"))
   add_family("taut_alerts_total", "counter", "Alerts since tautd started.",
      (select(2, self.act:alerted_of_late())))
end

local function add_acting_families(self, add_family)
   local s = self.acting:state()
   add_family("taut_acting", "gauge",
      "1: this tautd is active; 0: it is on standby, or does not know.",
      tables.one_if(self.acting:may()))
   add_family("taut_lease_token", "gauge",
      "Number of the lease of the active tautd, as seen last; 0: there is only one tautd.",
      s and s.token or 0)
   add_family("taut_lease_waiting", "gauge",
      "1: another tautd is on standby, as the active one sees it.",
      tables.one_if(s and s.waiting))
end

local function add_check_families(self, add_family)
   local cl = self.cluster
   add_family("taut_jobs_started_total", "counter", "Jobs that started since tautd did.",
      cl.jobs_started)
   add_family("taut_jobs_heard_total", "counter", "Jobs of which a node said hello.", cl.jobs_heard)
   add_family("taut_prologs_total", "counter", "Nodes whose prolog said hello.", cl.hellos)
   add_family("taut_prolog_seconds", "histogram",
      "From a node's HELLO until nothing was due, or until its RESULT, as tautd sees it.",
      self.rendezvous.prolog_times:samples())
   add_family("taut_prologs_silent", "gauge", "Nodes of running jobs whose prolog was never heard.",
      #cl:silent())
   add_family("taut_checks_total", "counter", "Jobs by what became of their check.",
      label_samples(self.check.counts, "result"))
   add_family("taut_tests_total", "counter", "Tests by what they showed.",
      label_samples(count_in_words(self.judgement.classes), "class"))
   add_family("taut_tests_left_out_total", "counter", "Tests that are no evidence, by why.",
      label_samples(self.diagnosis:refusals(), "why"))
   add_family("taut_probe_link_seconds_total", "counter",
      "Time for which tests used components: for each test its length times those on its route.",
      self.judgement.link_seconds)
   add_family("taut_refused_messages_total", "counter", "Messages of nodes that were refused.",
      self.refusals.count)
   add_family("taut_refused_clock_total", "counter",
      "Messages that MUNGE refused since two hosts' clocks differ.", self.refusals.clocks)
   add_family("taut_refused_clock_nodes", "gauge",
      "Nodes whose last message was refused for their clock.",
      tables.size(self.cluster:refused_clocks()))
   add_family("taut_clock_ahead_seconds", "gauge",
      "By how much the wall clock is ahead of Taut's time, by which it decides.", loop.ahead())
   add_family("taut_refused_streams_total", "counter", "Streams without a token of the plan.",
      self.judgement.refused_streams)
end

local CAUSES = { "component", "placement", "neighbours", "congestion", "node", "elsewhere" }

local function add_job_families(self, add_family)
   local lost, samples = self.why:lost_by_cause(), {}
   for i, cause in ipairs(CAUSES) do
      samples[i] = { lost[cause] or 0, labels = { cause = cause } }
   end
   add_family("taut_job_lost_node_seconds_total", "counter",
      "Node-seconds that jobs which ended since " ..
      "tautd started took longer, by what explains it best (taut why).", samples)
end

local function add_store_families(self, add_family, now)
   local s, cl = self.journal:state(), self.cluster
   add_family("taut_store_rows_waiting", "gauge", "Rows on their way to the database.", s.waiting)
   add_family("taut_store_rows_lost_total", "counter", "Rows that found no room to wait.", s.lost)
   add_family("taut_store_lag_seconds", "gauge", "Age of the oldest row that is not stored.",
      s.lag or 0)
   add_family("taut_store_up", "gauge", "1: the database can be written.",
      tables.one_if(not s.error and not s.away))
   local h = self.housekeeping:state()
   add_family("taut_store_damaged", "gauge",
      "1: the database is not whole, as seen when it was looked through last.",
      tables.one_if(h.damage))
   add_family("taut_store_checked_seconds", "gauge", "When that was, seconds since 1970; 0: never.",
      h.checked_at or 0)
   local q = s.queued or { rows = 0, bytes = 0, refused = 0, left_out = 0 }
   add_family("taut_store_queue_rows", "gauge", "Rows that wait on disk for a database server.",
      q.rows)
   add_family("taut_store_queue_bytes", "gauge", "Bytes of them.", q.bytes)
   add_family("taut_store_rows_refused_total", "counter",
      "Rows that a database server refused; they are in queue/refused.rows.",
      q.refused + q.left_out)
   add_family("taut_loop_longest_seconds", "gauge",
      "Longest time within the last 5 to 10 minutes for which tautd did one thing and no other.",
      self.latency:longest())
   add_family("taut_slurm_up", "gauge", "1: slurmctld answered when it was asked last.",
      tables.one_if(not cl.error))
   add_family("taut_slurm_age_seconds", "gauge", "Age of what is known of Slurm's nodes.",
      cl.nodes_at and now - cl.nodes_at or math.huge)
   add_family("taut_events_total", "counter", "Events of counters, sweeps and logs.",
      self.events.taken)
   local e = self.teller:state()
   add_family("taut_on_event_runs_total", "counter", "Runs of the site's on_event program.", {
      { e.done, labels = { result = "done" } }, { e.failed, labels = { result = "failed" } },
      { e.dropped, labels = { result = "dropped" } } })
   add_family("taut_on_event_waiting", "gauge", "Events that wait for the on_event program.",
      e.waiting)
end

--- The whole text.
function Metrics:text()
   local parts, left_out, now = {}, 0, loop.time()
   -- Slurm's ClusterName in every sample, so that one Prometheus may watch several machines
   local everywhere = { cluster = (self.cluster.config or {}).cluster }
   local function add_family(name, kind, help, samples)
      local text, more = exposition.family(name, kind, help, samples, everywhere)
      parts[#parts + 1], left_out = text, left_out + more
   end
   add_family("taut_info", "gauge", "Version of tautd.",
      { { 1, labels = { version = sys.version } } })
   add_family("taut_start_time_seconds", "gauge", "When tautd started, seconds since 1970.",
      self.started_at)
   add_acting_families(self, add_family)
   if self.acting:is_blank() then
      return table.concat(parts) -- it knows nothing of its own
   end
   add_family("taut_nodes", "gauge", "Nodes of the topology.", #self.site.topo.nodes)
   add_component_families(self, add_family)
   add_set_families(self, add_family)
   add_leaf_families(self, add_family)
   add_family("taut_probes", "gauge",
      "Nodes by release and protocol of the probe that was heard last.", named.probes(self))
   add_family("taut_coverage_ratio", "gauge",
      "Share of the components that tests can reach, and of " ..
      "sets in place of links, tested within coverage_h.", measure_coverage(self, now))
   add_check_families(self, add_family)
   add_policy_families(self, add_family)
   add_job_families(self, add_family)
   add_store_families(self, add_family, now)
   add_family("taut_metrics_left_out", "gauge", "Samples left out: too many for one metric.",
      left_out)
   return table.concat(parts)
end

---------------------------------------------------------------- serving

-- An answer costs a walk over all components: whoever asks often gets the same one.
local function make_answerer(self)
   local made_at, took, text = 0, 0, nil
   return function(path)
      if path ~= "/metrics" then
         return 404, "text/plain; charset=utf-8", "There is only /metrics.\n"
      end
      local now = loop.now_ns()
      if not text or now - made_at > math.max(FRESH_S * 1e9, SHARE * took) then
         text = self:text()
         made_at, took = now, loop.now_ns() - now
      end
      return 200, exposition.TYPE, text
   end
end

--- Listen as the settings say, or as the new settings say; what fails is logged, and shown by
-- `taut status`.
function Metrics:start()
   if self.server then
      self.server:close()
   end
   self.server, self.error = nil, nil
   local listen = self.site.conf.metrics.listen
   if not listen then
      return
   end
   local host, port = listen:match "^%[?(.-)%]?:(%d+)$"
   local err
   self.server, err = loop.http { host = host, port = math.tointeger(tonumber(port)),
      on_get = make_answerer(self) }
   if not self.server then
      self.error = ("cannot serve metrics on %s: %s"):format(listen, err)
      sys.log("err", self.error)
   end
end

--- @param options { site, switches, diagnosis, decision, coverage, cluster, act, teller, journal,
--   events, judgement, check, refusals, rendezvous, latency, housekeeping, acting, started_at,
--   why }
function metrics.new(options)
   return setmetatable(options, Metrics)
end

return metrics
