-- SPDX-License-Identifier: GPL-2.0-or-later
--- Makes tautd's parts, each with what it needs by name, in the order in which they need each
-- other.
local tables = require "taut.base.tables"
local acks = require "taut.policy.acks"
local acting = require "taut.core.acting"
local act = require "taut.policy.act"
local addresses = require "taut.slurm.addresses"
local advice = require "taut.place.advice"
local agenda = require "taut.core.agenda"
local answers = require "taut.core.answers"
local case = require "taut.core.case"
local check = require "taut.core.check"
local cluster = require "taut.slurm.cluster"
local coverage = require "taut.plan.coverage"
local decision = require "taut.core.decision"
local diagnose = require "taut.diagnose"
local doors = require "taut.core.doors"
local events = require "taut.events"
local fenced = require "taut.core.acting.fenced"
local findings = require "taut.core.findings"
local followers = require "taut.core.followers"
local housekeeping = require "taut.store.housekeeping"
local ids = require "taut.core.ids"
local intake = require "taut.core.intake"
local job_over = require "taut.core.job_over"
local judgement = require "taut.core.judgement"
local latency = require "taut.core.metrics.latency"
local loop = require "taut.loop"
local lost_rails = require "taut.slurm.lost_rails"
local metrics = require "taut.core.metrics"
local munged = require "taut.base.munged"
local networks = require "taut.slurm.networks"
local news = require "taut.core.news"
local no_results = require "taut.slurm.no_results"
local node_lists = require "taut.wire.node_lists"
local observations = require "taut.events.observations"
local on_event = require "taut.core.on_event"
local others = require "taut.core.others"
local presence = require "taut.slurm.presence"
local profiles = require "taut.events.profiles"
local query = require "taut.core.query"
local records = require "taut.core.records"
local refusals = require "taut.core.refusals"
local reload = require "taut.core.reload"
local remote = require "taut.core.remote"
local rendezvous = require "taut.core.rendezvous"
local running = require "taut.events.jobs"
local site = require "taut.core.site"
local snapshot = require "taut.store.snapshot"
local steer = require "taut.place.steer"
local survey = require "taut.survey"
local switches = require "taut.core.switches"
local sys = require "taut.sys"
local turns = require "taut.base.turns"
local verify = require "taut.plan.verify"
local vouch = require "taut.core.vouch"
local why = require "taut.why"

local pick = tables.pick
local JOBS_S = 600 -- jobs that began so long ago have had their check

-- What stands below everything: settings, Slurm, what is known of the machine.
local function make_ground(parts, conf)
   parts.site, parts.ids, parts.refusals = site.new(conf), ids.new(), refusals.new()
   parts.munged = munged.new()
   parts.switches = switches.new(pick(parts, "site journal"))
   parts.teller = on_event.new(conf.policy, function()
      return (parts.cluster.config or {}).cluster
   end)
   parts.addresses = addresses.new { resolver = parts.resolver, setting = conf.node_addresses,
      ports = conf.node_ports }
   parts.networks = networks.new { addresses = parts.addresses, refusals = parts.refusals,
      topology = function() return parts.site.topo end, list = conf.rail_networks }
   parts.cluster = cluster.new(parts.slurm, parts.addresses)
   parts.cluster:administrators(conf.admin_group)
   parts.lists = node_lists.new(function()
      return math.max(#parts.site.topo.nodes, #(parts.cluster.order or {}))
   end)
   parts.coverage = coverage.new(conf.checks.link_time, #conf.topology.components)
   parts.diagnosis = diagnose.new(conf.topology, conf.diagnosis)
   parts.diagnosis:tell(parts.coverage)
   parts.diagnosis:ask_jobs(function(...)
      return running.over(parts.cluster, parts.site.topo, ...)
   end)
   parts.marks, parts.acks = verify.new(), acks.new()
end

-- The way of a result: findings.lua.
local function make_result_way(parts)
   local topo = parts.site.topo
   parts.profiles = profiles.new { topology = topo, cluster = parts.cluster,
      journal = parts.journal }
   parts.case = case.new(pick(parts, "site diagnosis"))
   parts.act = act.new(pick(parts, "slurm cluster journal switches teller case acks acting"))
   parts.others = others.new(pick(parts, "site diagnosis cluster profiles"))
   parts.decision = decision.new(pick(parts, "site diagnosis cluster others acting"))
   parts.news = news.new(pick(parts, "site diagnosis decision case act teller acks"))
   parts.snapshot = snapshot.new { site = parts.site, journal = parts.journal,
      diagnosis = parts.diagnosis, coverage = parts.coverage, cluster = parts.cluster,
      is_busy = function() return next(parts.rendezvous.sessions) ~= nil end }
   parts.records = records.new(pick(parts, "site journal diagnosis case others snapshot"))
   parts.events = events.new { topology = topo, cluster = parts.cluster,
      diagnosis = parts.diagnosis, journal = parts.journal, names = parts.site.conf.fabric.names,
      hear = function(changes, touched) parts.findings:follow(changes, touched) end }
   parts.diagnosis:listen(function(component, since)
      return parts.events:accuses(component, since)
   end)
   parts.followers = followers.new(pick(parts, "site events journal"))
   parts.others.followers = parts.followers
   parts.judgement = judgement.new(pick(parts, "site coverage followers profiles"))
   parts.findings = findings.new(pick(parts,
      "site ids judgement coverage diagnosis others decision act news records snapshot marks"))
   parts.snapshot.findings = parts.findings
end

-- Where results come from: checks of jobs and idle cycles, surveys.
local function make_sources(parts)
   local conf, topo = parts.site.conf, parts.site.topo
   parts.agenda = agenda.new(pick(parts, "site diagnosis coverage cluster marks started_at"))
   parts.check = check.new { topology = topo, checks = conf.checks, coverage = parts.coverage,
      cluster = parts.cluster, switches = parts.switches, agenda = parts.agenda,
      diagnosis = parts.diagnosis, ids = parts.ids, journal = parts.journal }
   parts.vouch = vouch.new(pick(parts, "site cluster lists slurm findings refusals"))
   parts.no_results, parts.lost_rails = no_results.new(), lost_rails.new()
   parts.rendezvous = rendezvous.new { topology = topo, checks = conf.checks,
      limits = conf.diagnosis, cluster = parts.cluster, check = parts.check, findings = parts.vouch,
      networks = parts.networks, no_results = parts.no_results,
      lost_rails = parts.lost_rails }
   parts.surveys = survey.new { topology = topo, cluster = parts.cluster, coverage = parts.coverage,
      lists = parts.lists, networks = parts.networks,
      settings = conf.survey, checks = conf.checks, diagnosis = conf.diagnosis,
      checks_on = function() return parts.switches:are_checks_on() end,
      next_test = function() return parts.ids:test() end,
      keep = function(session, tests) parts.findings:survey(session, tests) end,
      history = function(name, fn)
         parts.journal:query(name, {}, function(rows) fn(rows or {}) end)
      end,
      refuse = function(from, reason) parts.refusals:note(from, reason) end }
end

-- Where jobs are placed.
local function make_placing(parts)
   local conf, topo = parts.site.conf, parts.site.topo
   parts.advice = advice.new { topology = topo, cluster = parts.cluster,
      diagnosis = parts.diagnosis, slurm = parts.slurm, profiles = parts.profiles }
   parts.steer = steer.new { settings = conf.steer, topology = topo, cluster = parts.cluster,
      diagnosis = parts.diagnosis, journal = parts.journal, advice = parts.advice,
      slurm = parts.slurm, switches = parts.switches }
   parts.why = why.new(pick(parts, "site cluster diagnosis journal advice profiles"))
   parts.job_over = job_over.new { slurm = parts.slurm, journal = parts.journal,
      profiles = parts.profiles, steer = parts.steer, why = parts.why,
      comment = conf.events.job_comment }
end

-- Clients: the `taut` command, a monitoring system.
local function make_answering(parts)
   parts.observations = observations.new { topology = parts.site.topo, cluster = parts.cluster,
      journal = parts.journal }
   parts.housekeeping = housekeeping.new { site = parts.site, journal = parts.journal,
      teller = parts.teller, argv = { sys.paths.program, "--db", parts.site.conf.store
      or parts.site.conf.database } }
   parts.latency = latency.start()
   parts.metrics = metrics.new(pick(parts,
      "site switches diagnosis decision coverage cluster act " ..
      "acks teller journal events judgement check refusals rendezvous latency " ..
      "housekeeping acting started_at why"))
   parts.reload = function()
      return reload(pick(parts,
         "site cluster followers metrics teller diagnosis check rendezvous " ..
         "events profiles surveys advice steer job_over coverage act review addresses findings " ..
         "records networks"))
   end
   parts.query = query.new { cluster = parts.cluster, commands = answers(parts),
      acting = parts.acting }
   parts.remote = remote.new(pick(parts, "site cluster addresses refusals query"))
   parts.intake = intake.new(pick(parts,
      "site cluster events journal surveys rendezvous refusals lists addresses remote acting " ..
      "munged"))
   parts.addresses:expect(parts.site.conf.remote.admins)
   parts.doors = doors.new(pick(parts, "site cluster intake refusals query"))
end

-- Nodes that come and go.
local function follow_nodes(parts)
   parts.presence = presence.new { site = parts.site, cluster = parts.cluster,
      on_other = function(node_number, node)
         local topo = parts.site.topo
         parts.findings:left(topo:ports(node_number))
         parts.act:left(topo.nodes[node_number], node)
      end }
end

-- With each news from Slurm.
local function follow_refreshes(parts)
   parts.review = function()
      parts.switches:save()
      parts.presence:look()
      parts.act:reconcile()
      parts.events:review()
      parts.findings:review()
      parts.munged:look()
      parts.check:forget(loop.time() - JOBS_S)
   end
   parts.cluster:tell { refreshed = function(answered)
         parts.review()
         parts.vouch:refreshed(answered)
         turns.add(turns.own, function()
            parts.advice:refreshed()
            turns.add(turns.own, function() parts.steer:refreshed() end)
            turns.add(turns.own, function() parts.why:refreshed() end)
         end)
      end,
      job_over = function(id) parts.job_over:take(id) end }
   parts.act:tell(function(name, drain)
      parts.findings:given_back(name, drain)
      parts.acks:over({ drain and drain.component }, parts.journal)
   end, function(name) return parts.presence:comes_and_goes(name) end)
   parts.journal:tell(function(list) parts.events:stored(list) end)
end

--- @param conf configuration
-- @param journal of store/journal.lua
-- @param slurm helper (taut-slurm)
-- @param resolver helper (base/resolve.lua)
-- @param who of core/acting: does this tautd act?  nil: always
-- @return the parts by name, for those who start, remember and stop them
return function(conf, journal, slurm, resolver, who)
   local parts = { journal = journal, slurm = slurm, resolver = resolver, started_at = loop.time(),
      acting = who or acting.new { is_ready = true } }
   if parts.acting:is_shared() then
      parts.slurm = fenced.new(slurm, parts.acting)
   end
   make_ground(parts, conf)
   make_result_way(parts)
   make_sources(parts)
   make_placing(parts)
   make_answering(parts)
   follow_nodes(parts)
   follow_refreshes(parts)
   return parts
end
