-- SPDX-License-Identifier: GPL-2.0-or-later
--- tautd: puts the parts together.
local act = require "taut.policy.act"
local advice = require "taut.place.advice"
local agenda = require "taut.core.agenda"
local cluster = require "taut.slurm.cluster"
local config = require "taut.config"
local coverage = require "taut.plan.coverage"
local diagnose = require "taut.diagnose"
local events = require "taut.events"
local expected = require "taut.diagnose.expected"
local fabric = require "taut.fabric"
local findings = require "taut.core.findings"
local helper = require "taut.base.helper"
local ingest_keeper = require "taut.events.ingest.keeper"
local intake = require "taut.core.intake"
local job_over = require "taut.core.job_over"
local journal = require "taut.store.journal"
local json = require "taut.json"
local loop = require "taut.loop"
local memory = require "taut.diagnose.memory"
local metrics = require "taut.core.metrics"
local munge = require "taut.munge"
local observations = require "taut.events.observations"
local on_event = require "taut.core.on_event"
local profiles = require "taut.events.profiles"
local query = require "taut.core.query"
local rendezvous = require "taut.core.rendezvous"
local steer = require "taut.place.steer"
local survey = require "taut.survey"
local sys = require "taut.sys"
local verify = require "taut.plan.verify"
local wholes = require "taut.diagnose.wholes"

local daemon = {}

local HELLO_MAX = 2 << 20
local MEMORY_MS = 2000 -- how long the store may take to say what it kept

local USAGE = [[
usage: tautd [-c FILE] [--check]     run in the foreground (systemd: Type=notify)
       tautd --store FILE            the store process; tautd starts it itself
       tautd --fabric                the process that sweeps an InfiniBand fabric, likewise
       tautd --ingest                the process that follows logs, likewise
  -c FILE    configuration (default %s/taut.lua)
  --check    check the configuration and end
]]

---------------------------------------------------------------- starting

-- Each job leaves an event, checked or not.  `why` is one of a few words, `detail` says more.
local function on_job(d, h, count, why, detail)
   d.skipped[why or "checked"] = (d.skipped[why or "checked"] or 0) + 1
   if not why then
      return
   end
   d.last_event = d.last_event + 1
   d.journal:add("event", { id = d.last_event, time = loop.time(), purpose = h.purpose,
      job = h.job, restart = h.restart or 0, uid = h.uid, nodes = h.nodes, expected = count,
      tests = 0, note = "not checked: " .. (detail or why) })
   if why ~= "single" and why ~= "off" and why ~= "nothing due" then
      sys.log("info", ("job %d on %d nodes: not checked: %s"):format(h.job, count,
         detail or why))
   end
end

local function set_setting(d, name, value)
   d[name] = value
   d.journal:add("setting", { name = name, value = tostring(value) })
end

local function build(d)
   local conf = d.conf
   d.topo = conf.topology
   d.coverage = coverage.new(conf.checks.link_time, #d.topo.components)
   d.diagnosis = diagnose.new(d.topo, conf.diagnosis)
   d.diagnosis:tell(d.coverage)
   d.measures, d.standing, d.boots = {}, {}, {}
   d.marks = verify.new()
   d.events = events.new { topology = d.topo, cluster = d.cluster, diagnosis = d.diagnosis,
      journal = d.journal, names = conf.fabric.names,
      hear = function(changes, touched) findings.follow(d, changes, touched) end }
   d.observations = observations.new { topology = d.topo, cluster = d.cluster,
      journal = d.journal }
   d.journal.on_observations = function(list) d.events:stored(list) end
   d.next_test = function()
      d.last_test = d.last_test + 1
      return d.last_test
   end
   d.surveys = survey.new { topology = d.topo, cluster = d.cluster, coverage = d.coverage,
      settings = conf.survey, checks = conf.checks, diagnosis = conf.diagnosis,
      checks_on = function() return d.switch ~= "off" end, next_test = d.next_test,
      keep = function(s, tests) findings.take_survey(d, s, tests) end,
      history = function(name, fn)
         d.journal:query(name, {}, function(rows) fn(rows or {}) end)
      end,
      refuse = function(from, why) intake.refuse(d, from, why) end }
   d.meet = rendezvous.new {
      topology = d.topo, checks = conf.checks, coverage = d.coverage, cluster = d.cluster,
      enabled = function() return d.switch ~= "off" and d.conf.checks.enabled end,
      wanted = function(purpose) return agenda.wanted(d, purpose) end,
      watched = function() return d.diagnosis:watched() end,
      idle_nodes = function() return agenda.idle_nodes(d) end,
      next_test = d.next_test,
      on_job = function(...) on_job(d, ...) end,
      on_done = function(s) findings.take(d, s) end,
   }
end

-- What was learnt about a machine that was wired otherwise speaks against nobody now: a changed
-- topology begins a new epoch.
local function same_wiring(d, settings)
   for _, row in ipairs(settings) do
      if row.name == "topology" and row.value ~= d.topo.wiring then
         sys.log("warning", ("the topology was '%s' and is '%s': what was known of components " ..
            "is forgotten"):format(row.value, d.topo.wiring))
         return false
      end
   end
   return true
end

-- Where the database could be read late only, what was seen meanwhile is newer, but no verdict of
-- before is lost by it.
local function is_news(d, c, k)
   local decided = k.state == "slow" or k.state == "failed"
   return not d.diagnosis:is_known(c) or decided and not d.diagnosis:is_decided(c)
end

local function take_component(d, row, seen)
   local c = d.topo.component_id[row.name]
   local k, err = memory.unpack(row.data, d.topo, seen)
   if c and k and not is_news(d, c, k) then
      return
   elseif c and k then
      d.diagnosis:restore(c, k)
      findings.note_state(d, c)
      d.coverage:touch(c, k.last or 0)
   elseif c then
      sys.log("warning", ("database: component %s: %s"):format(row.name, err))
   end
end

local function take_memory(d, kept)
   for _, row in ipairs(kept.settings) do
      if row.name == "mode" or row.name == "switch" then
         d[row.name] = d[row.name] or row.value
      elseif row.name == "steering" then
         d.steer:restore(row.value)
      end
   end
   local seen, same = {}, same_wiring(d, kept.settings)
   if same then
      expected.restore(d, kept.settings)
      for _, row in ipairs(kept.components) do
         take_component(d, row, seen)
      end
      d.diagnosis:restored()
      for _, row in ipairs(kept.settings) do
         if row.name == "sets" then
            wholes.restore_sets(d, row.value)
         end
      end
   end
   local stops
   for _, row in ipairs(kept.settings) do
      stops = row.name == "policy_stops" and row.value or stops
   end
   d.act:restore(kept.drained, kept.drains, stops, json.decode)
   d.events:restore(same and kept.evidence or {}, kept.blamed)
   d.profiles:restore(kept.profiles)
   for _, row in ipairs(kept.log_positions) do
      d.log_positions[row.path] = json.decode(row.data)
   end
   local ids = kept.last_ids[1] or { event = 0, test = 0 }
   d.last_event = math.max(d.last_event, ids.event)
   d.last_test = math.max(d.last_test, ids.test)
   d:set("topology", d.topo.wiring)
   d.remembers = true
end

-- Take what the store kept; fn() when all of it is there.
local function load_memory(d, fn)
   local names = { "components", "drained", "settings", "last_ids", "drains", "evidence",
      "blamed", "log_positions", "profiles" }
   local days = math.max(1, d.conf.policy.flapping_days)
   local args = { limit = 1000, since = loop.time() - days * 86400 }
   local left, kept = #names, {}
   for _, name in ipairs(names) do
      d.journal:query(name, args, function(rows, err)
         if err then
            sys.log("err", ("cannot read %s from the database: %s"):format(name, err))
         end
         kept[name] = rows or {}
         left = left - 1
         if left == 0 then
            take_memory(d, kept)
            fn()
         end
      end)
   end
end

local function listen(d)
   local host, port = d.conf.listen:match("^%[?(.-)%]?:(%d+)$")
   local listener, err = loop.listen {
      host = host, port = math.tointeger(tonumber(port)), max_frame = HELLO_MAX,
      timeout_ms = 15000, max_conns = d.conf.checks.max_conns,
      on_frame = function(conn, kind, payload) intake.frame(d, conn, kind, payload) end,
      on_close = function(conn)
         d.greeted[conn] = nil
         d.meet:gone(conn)
         d.surveys:gone(conn)
      end,
      on_refused = function(why) intake.refuse(d, "the network", why) end,
   }
   if not listener then
      return nil, ("cannot listen on %s: %s"):format(d.conf.listen, err)
   end
   d.listener = listener
   return true
end

local function serve(d)
   sys.mkdir(d.conf.socket:match("^(.*)/[^/]*$"), 493) -- 0755
   local server, err = loop.serve { path = d.conf.socket, mode = 438, max_line = 1 << 20,
      on_line = function(client, line, uid) query.answer(d, client, line, uid) end }
   if not server then
      return nil, ("cannot serve %s: %s"):format(d.conf.socket, err)
   end
   return true
end

-- Take connections: as soon as the past is known, or known to be out of reach.  Ids of events and
-- tests then begin above all that may be stored: nobody makes a thousand a second for long.
local function open_doors(d)
   if d.listener then
      return
   elseif not d.remembers then
      local high = math.floor(loop.time()) * 1000
      d.last_event, d.last_test = high, high
   end
   local ok, err = listen(d)
   if ok then
      ok, err = serve(d)
   end
   if not ok then
      sys.log("err", err)
      d.status = 1
      loop.stop()
      return
   end
   sys.notify("READY=1")
   sys.log("notice", ("tautd %s: %d nodes, %d components"):format(sys.version, #d.topo.nodes,
      #d.topo.components))
end

-- Settings that cannot change under a running tautd: name → value of a configuration.
local FIXED = {
   listen = function(c) return c.listen end,
   socket = function(c) return c.socket end,
   database = function(c) return c.database end,
   munge_socket = function(c) return c.munge_socket end,
   refresh_s = function(c) return c.refresh_s end,
   ["steer.file"] = function(c) return c.steer.file end,
   ["checks.max_conns"] = function(c) return c.checks.max_conns end,
   topology = function(c) return c.topology.wiring end,
}

local function start_fabric(d)
   if d.fabric then
      d.fabric:stop()
      d.fabric = nil
   end
   if d.conf.fabric.sweep_s then
      d.fabric = fabric.start(d.conf.fabric, function(list) d.events:take(list, true) end)
   end
end

-- Logs are followed from where an earlier tautd was, so the store is asked first.
local function start_ingest(d)
   if d.ingest then
      d.log_positions = d.ingest.positions
      d.ingest:stop()
      d.ingest = nil
   end
   if #d.conf.events.follow > 0 and not d.stopping then
      d.ingest = ingest_keeper.start(d.conf.events, d.journal, d.log_positions, function(list)
         d.events:take(list)
      end)
   end
end

--- Read the configuration again; a bad one is said, and the old one stays.
local function reload(d)
   local conf, err = config.load(d.conf.path, sys.paths)
   for name, value in pairs(conf and FIXED or {}) do
      if value(conf) ~= value(d.conf) then
         err = ("%s: '%s' changes only with a restart of tautd"):format(conf.path, name)
      end
   end
   d.config_error = err
   if err then
      sys.log("err", ("configuration not taken: %s"):format(err))
      return nil, err
   end
   local other = json.encode(conf.fabric) ~= json.encode(d.conf.fabric)
   local other_metrics = conf.metrics.listen ~= d.conf.metrics.listen
   local other_logs = json.encode(conf.events) ~= json.encode(d.conf.events)
   d.conf, d.topo = conf, conf.topology
   if other then
      start_fabric(d)
   end
   if other_logs then
      start_ingest(d)
   end
   if other_metrics then
      metrics.start(d)
   end
   d.teller:configure(conf.policy)
   d.diagnosis:reload(conf.topology, conf.diagnosis)
   d.meet.topo, d.meet.checks = conf.topology, conf.checks
   d.events:reload { topology = conf.topology, names = conf.fabric.names }
   d.profiles:reload(conf.topology)
   d.surveys:reload { topology = conf.topology, checks = conf.checks, settings = conf.survey,
      diagnosis = conf.diagnosis }
   d.advice:reload(conf.topology)
   d.steer:reload { topology = conf.topology, settings = conf.steer }
   d.job_over.comment = conf.events.job_comment
   d.coverage:limit(conf.checks.link_time)
   d.act:set_policy(conf.policy)
   findings.review(d)
   sys.log("notice", "configuration taken: " .. conf.path)
   return true
end

local function stop(d)
   sys.notify("STOPPING=1")
   if d.stopping then
      return
   end
   d.stopping = true
   d.steer:stop()
   d.cluster.helper:stop()
   if d.fabric then
      d.fabric:stop()
   end
   if d.ingest then
      d.ingest:stop()
   end
   d.journal:stop(function() loop.stop() end)
end

local function options(arg)
   local o, i = { config = sys.paths.confdir .. "/taut.lua" }, 1
   while i <= #arg do
      local a = arg[i]
      if a == "-c" or a == "--config" then
         i = i + 1
         o.config = arg[i]
      elseif a == "--check" then
         o.check = true
      elseif a == "--fabric" then
         o.fabric = true
      elseif a == "--ingest" then
         o.ingest = true
      elseif a == "--store" then
         i = i + 1
         o.store = arg[i]
      else
         return nil
      end
      i = i + 1
   end
   return (o.config and (not o.store or o.store ~= "")) and o or nil
end

local function start_slurm(d)
   local slurm = helper.start { name = "taut-slurm",
      argv = { sys.paths.libexecdir .. "/taut-slurm" } }
   d.act = act.new { slurm = slurm, journal = d.journal, policy = d.conf.policy,
      -- without the list of drains that stand no cap holds
      mode = function() return d.remembers and (d.mode or d.conf.mode) or "observe" end,
      encode = json.encode, tell = d.tell,
      reason_of = function(v, a) return findings.reason(d, v, a) end,
      evidence = function(v) return findings.evidence(d, v) end,
      on_released = function(name, drain) findings.released(d, name, drain) end }
   d.cluster = cluster.new(slurm, function()
      findings.review(d)
      d.advice:refreshed()
      d.steer:refreshed()
   end)
   d.act.cluster = d.cluster
   d.cluster.on_job_over = function(id) d.job_over:take(id) end
   return slurm
end

local function start_placing(d, slurm)
   local conf, topo = d.conf, d.topo
   d.profiles = profiles.new { topology = topo, cluster = d.cluster, journal = d.journal }
   d.advice = advice.new { topology = topo, cluster = d.cluster, diagnosis = d.diagnosis,
      slurm = slurm, profiles = d.profiles }
   d.steer = steer.new { settings = conf.steer, topology = topo, cluster = d.cluster,
      diagnosis = d.diagnosis, journal = d.journal, advice = d.advice, slurm = slurm,
      checks_on = function() return d.switch ~= "off" end }
   d.job_over = job_over.new { slurm = slurm, journal = d.journal, profiles = d.profiles,
      steer = d.steer, comment = conf.events.job_comment }
end

local function run(conf)
   collectgarbage("incremental", 120, 200) -- a small heap is worth a little time
   local d = { conf = conf, refused = 0, refused_streams = 0, greeted = {}, last_event = 0,
      last_test = 0, started_at = loop.time(), classes = { good = 0, low = 0, void = 0 },
      skipped = {}, log_positions = {}, link_seconds = 0 }
   d.teller = on_event.new(conf.policy)
   d.tell = function(event) d.teller:tell(event) end
   d.set, d.reload = set_setting, reload
   if conf.munge_socket then
      munge.socket(conf.munge_socket)
   end
   local opened = false
   d.journal = journal.start({ sys.paths.program, "--store", conf.database }, function()
      if not opened then
         opened = true
         load_memory(d, function()
            sys.log("notice", ("mode is %s"):format(d.mode or d.conf.mode))
            open_doors(d)
            start_ingest(d)
            findings.review(d)
         end)
      end
   end)
   local slurm = start_slurm(d)
   build(d)
   start_placing(d, slurm)
   d.cluster:start(conf.refresh_s)
   d.steer:start(conf.refresh_s)
   start_fabric(d)
   metrics.start(d)
   loop.timer(MEMORY_MS, function() open_doors(d) end)
   loop.signal("HUP", function() reload(d) end)
   loop.signal("TERM", function() stop(d) end)
   loop.signal("INT", function() stop(d) end)
   loop.every(3600 * 1000, function()
      d.journal:prune(loop.time() - d.conf.keep_days * 86400)
   end)
   loop.run()
   return d.status or 0
end

--- @param arg command line
-- @return exit status
function daemon.main(arg)
   local o = options(arg)
   if not o then
      io.stderr:write(USAGE:format(sys.paths.confdir))
      return 2
   elseif o.store then
      return require("taut.store").main(o.store)
   elseif o.fabric then
      return require("taut.fabric.process").main()
   elseif o.ingest then
      return require("taut.events.ingest.process").main()
   end
   local conf, err = config.load(o.config, sys.paths)
   if not conf then
      io.stderr:write("tautd: ", err, "\n")
      return 1
   elseif o.check then
      print(o.config .. ": good")
      return 0
   end
   return run(conf)
end

return daemon
