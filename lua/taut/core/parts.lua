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
local function ground(p, conf)
   p.site, p.ids, p.refusals = site.new(conf), ids.new(), refusals.new()
   p.munged = munged.new()
   p.switches = switches.new(pick(p, "site journal"))
   p.teller = on_event.new(conf.policy, function() return (p.cluster.config or {}).cluster end)
   p.addresses = addresses.new { resolver = p.resolver, setting = conf.node_addresses,
      ports = conf.node_ports }
   p.networks = networks.new { addresses = p.addresses, refusals = p.refusals,
      topology = function() return p.site.topo end, list = conf.rail_networks }
   p.cluster = cluster.new(p.slurm, p.addresses)
   p.cluster:administrators(conf.admin_group)
   p.lists = node_lists.new(function()
      return math.max(#p.site.topo.nodes, #(p.cluster.order or {}))
   end)
   p.coverage = coverage.new(conf.checks.link_time, #conf.topology.components)
   p.diagnosis = diagnose.new(conf.topology, conf.diagnosis)
   p.diagnosis:tell(p.coverage)
   p.diagnosis:ask_jobs(function(...) return running.over(p.cluster, p.site.topo, ...) end)
   p.marks, p.acks = verify.new(), acks.new()
end

-- The way of a result: findings.lua.
local function way(p)
   local topo = p.site.topo
   p.profiles = profiles.new { topology = topo, cluster = p.cluster, journal = p.journal }
   p.case = case.new(pick(p, "site diagnosis"))
   p.act = act.new(pick(p, "slurm cluster journal switches teller case acks acting"))
   p.others = others.new(pick(p, "site diagnosis cluster profiles"))
   p.decision = decision.new(pick(p, "site diagnosis cluster others acting"))
   p.news = news.new(pick(p, "site diagnosis decision case act teller acks"))
   p.snapshot = snapshot.new { site = p.site, journal = p.journal, diagnosis = p.diagnosis,
      coverage = p.coverage, cluster = p.cluster,
      is_busy = function() return next(p.rendezvous.sessions) ~= nil end }
   p.records = records.new(pick(p, "site journal diagnosis case others snapshot"))
   p.events = events.new { topology = topo, cluster = p.cluster, diagnosis = p.diagnosis,
      journal = p.journal, names = p.site.conf.fabric.names,
      hear = function(changes, touched) p.findings:follow(changes, touched) end }
   p.diagnosis:listen(function(c, since) return p.events:accuses(c, since) end)
   p.followers = followers.new(pick(p, "site events journal"))
   p.others.followers = p.followers
   p.judgement = judgement.new(pick(p, "site coverage followers profiles"))
   p.findings = findings.new(pick(p,
      "site ids judgement coverage diagnosis others decision act news records snapshot marks"))
   p.snapshot.findings = p.findings
end

-- Where results come from: checks of jobs and idle cycles, surveys.
local function sources(p)
   local conf, topo = p.site.conf, p.site.topo
   p.agenda = agenda.new(pick(p, "site diagnosis coverage cluster marks started_at"))
   p.check = check.new { topology = topo, checks = conf.checks, coverage = p.coverage,
      cluster = p.cluster, switches = p.switches, agenda = p.agenda, diagnosis = p.diagnosis,
      ids = p.ids, journal = p.journal }
   p.vouch = vouch.new(pick(p, "site cluster lists slurm findings refusals"))
   p.no_results, p.lost_rails = no_results.new(), lost_rails.new()
   p.rendezvous = rendezvous.new { topology = topo, checks = conf.checks,
      limits = conf.diagnosis, cluster = p.cluster, check = p.check, findings = p.vouch,
      networks = p.networks, no_results = p.no_results,
      lost_rails = p.lost_rails }
   p.surveys = survey.new { topology = topo, cluster = p.cluster, coverage = p.coverage,
      lists = p.lists, networks = p.networks,
      settings = conf.survey, checks = conf.checks, diagnosis = conf.diagnosis,
      checks_on = function() return p.switches:are_checks_on() end,
      next_test = function() return p.ids:test() end,
      keep = function(s, tests) p.findings:survey(s, tests) end,
      history = function(name, fn)
         p.journal:query(name, {}, function(rows) fn(rows or {}) end)
      end,
      refuse = function(from, reason) p.refusals:note(from, reason) end }
end

-- Where jobs are placed.
local function placing(p)
   local conf, topo = p.site.conf, p.site.topo
   p.advice = advice.new { topology = topo, cluster = p.cluster, diagnosis = p.diagnosis,
      slurm = p.slurm, profiles = p.profiles }
   p.steer = steer.new { settings = conf.steer, topology = topo, cluster = p.cluster,
      diagnosis = p.diagnosis, journal = p.journal, advice = p.advice, slurm = p.slurm,
      switches = p.switches }
   p.why = why.new(pick(p, "site cluster diagnosis journal advice profiles"))
   p.job_over = job_over.new { slurm = p.slurm, journal = p.journal, profiles = p.profiles,
      steer = p.steer, why = p.why, comment = conf.events.job_comment }
end

-- Who asks: the `taut` command, a monitoring system.
local function asked(p)
   p.observations = observations.new { topology = p.site.topo, cluster = p.cluster,
      journal = p.journal }
   p.housekeeping = housekeeping.new { site = p.site, journal = p.journal, teller = p.teller,
      argv = { sys.paths.program, "--db", p.site.conf.store or p.site.conf.database } }
   p.latency = latency.start()
   p.metrics = metrics.new(pick(p, "site switches diagnosis decision coverage cluster act " ..
      "acks teller journal events judgement check refusals rendezvous latency " ..
      "housekeeping acting started_at why"))
   p.reload = function()
      return reload(pick(p, "site cluster followers metrics teller diagnosis check rendezvous " ..
         "events profiles surveys advice steer job_over coverage act review addresses findings " ..
         "records networks"))
   end
   p.query = query.new { cluster = p.cluster, commands = answers(p), acting = p.acting }
   p.remote = remote.new(pick(p, "site cluster addresses refusals query"))
   p.intake = intake.new(pick(p,
      "site cluster events journal surveys rendezvous refusals lists addresses remote acting " ..
      "munged"))
   p.addresses:expect(p.site.conf.remote.admins)
   p.doors = doors.new(pick(p, "site cluster intake refusals query"))
end

-- Nodes that come and go.
local function follow_nodes(p)
   p.presence = presence.new { site = p.site, cluster = p.cluster, on_other = function(n, node)
      local topo = p.site.topo
      p.findings:left(topo:ports(n))
      p.act:left(topo.nodes[n], node)
   end }
end

-- With each news from Slurm.
local function on_refresh(p)
   p.review = function()
      p.switches:save()
      p.presence:look()
      p.act:reconcile()
      p.events:review()
      p.findings:review()
      p.munged:look()
      p.check:forget(loop.time() - JOBS_S)
   end
   p.cluster:tell { refreshed = function(answered)
         p.review()
         p.vouch:refreshed(answered)
         turns.add(turns.own, function()
            p.advice:refreshed()
            turns.add(turns.own, function() p.steer:refreshed() end)
            turns.add(turns.own, function() p.why:refreshed() end)
         end)
      end,
      job_over = function(id) p.job_over:take(id) end }
   p.act:tell(function(name, drain)
      p.findings:given_back(name, drain)
      p.acks:over({ drain and drain.component }, p.journal)
   end, function(name) return p.presence:comes_and_goes(name) end)
   p.journal:tell(function(list) p.events:stored(list) end)
end

--- @param conf configuration
-- @param journal of store/journal.lua
-- @param slurm helper (taut-slurm)
-- @param resolver helper (base/resolve.lua)
-- @param who of core/acting: does this tautd act?  nil: always
-- @return the parts by name, for those who start, remember and stop them
return function(conf, journal, slurm, resolver, who)
   local p = { journal = journal, slurm = slurm, resolver = resolver, started_at = loop.time(),
      acting = who or acting.new { is_ready = true } }
   if p.acting:is_shared() then
      p.slurm = fenced.new(slurm, p.acting)
   end
   ground(p, conf)
   way(p)
   sources(p)
   placing(p)
   asked(p)
   follow_nodes(p)
   on_refresh(p)
   return p
end
