-- SPDX-License-Identifier: GPL-2.0-or-later
-- /metrics: the text is what the format says, whatever names a site has.
local acting = require "taut.core.acting"
local acks = require "taut.policy.acks"
local act = require "taut.policy.act"
local config = require "taut.config"
local coverage = require "taut.plan.coverage"
local diagnose = require "taut.diagnose"
local exposition = require "taut.core.metrics.exposition"
local lu = require "luaunit"
local metrics = require "taut.core.metrics"
local policy = require "taut.policy"
local promparse = require "lib.promparse"
local sim = require "lib.sim"
local site_of = require "taut.core.site"
local switches = require "taut.core.switches"
local topology = require "taut.topology"

local tests = {}

-- What carries out the policy: it drained, said something and holds one node back.
local function acted()
   local a = act.new { switches = { mode = function() return "enable" end },
      journal = { add = function() end }, teller = { tell = function() end } }
   a:restore({}, {}, nil)
   a:record { action = "drain", node = "n5" }
   a:record { action = "drain", node = "n6" }
   a.held.n7, a.said = {}, 6
   return a
end

-- Metrics of a tautd that has seen something.
local function made(topo)
   topo = topo or sim.torus({ 4, 2, 2 }, 2)
   local cl = policy.cluster(topo)
   cl.jobs_started, cl.jobs_heard, cl.hellos, cl.nodes_at = 9, 8, 70, os.time() - 3
   function cl.silent()
      return { "n1", "n2" }
   end
   function cl.refused_clocks()
      return { n5 = 1 }
   end
   function cl.probes()
      return { n1 = { release = "0.2.0", protocol = 3 }, n2 = { release = "0.1", protocol = 2 },
         n3 = { release = "0.2.0", protocol = 3 } }
   end
   local site = site_of.new { mode = "enable", policy = config.policy { cap_nodes = 3 },
      metrics = { components = false },
      checks = { coverage_h = 24 }, topology = topo }
   return metrics.new { site = site, acting = acting.new { is_ready = true }, cluster = cl,
      switches = switches.new { site = site },
      rendezvous = { prolog_times = require("taut.core.metrics.prolog_times").new() },
      refusals = { count = 3, clocks = 2 }, judgement = { refused_streams = 1, link_seconds = 12.75,
         classes = { good = 100, low = 3, void = 2 } },
      check = { counts = { checked = 5, single = 2 } }, started_at = 1700000000.25,
      events = { taken = 4 }, diagnosis = diagnose.new(topo, sim.quick),
      coverage = coverage.new(false, #topo.components),
      decision = { measures = {} }, act = acted(), acks = acks.new(),
      latency = { longest = function() return 0.125 end },
      journal = { state = function() return { waiting = 2, lost = 0, lag = 0.25 } end },
      housekeeping = { state = function() return { checked_at = 1700000001, damage = "x" } end },
      why = { lost_by_cause = function() return { component = 80.5 } end },
      teller = { state = function()
         return { done = 1, failed = 2, dropped = 3, waiting = 4 }
      end } }
end

function tests.test_the_reader_is_strict()
   for _, text in ipairs { "", "a 1\n", "# HELP a x\na 1\n", "# HELP a x\n# TYPE a gauge\na 1",
      "# HELP a x\n# TYPE a gauge\nb 1\n", "# HELP a x\n# TYPE a gauge\na one\n",
      "# HELP a x\n# TYPE a gauge\na 1\na 2\n", "# HELP a x\n# TYPE a gauge\na{b=\"c} 2\n",
      "# HELP a x\n# TYPE a gauge\na{b=\"\\x\"} 2\n", "# HELP a x\n# TYPE a gauge\na{b=\"c\",} 2\n",
      "# HELP a x\n# TYPE a counter\na 1\n", "# HELP a x\n# TYPE a speed\na 1\n", "\n",
      "# HELP a x\n# TYPE a gauge\na 0x10\n", "# HELP a x\n# TYPE a gauge\na  1\n" } do
      lu.assertFalse((pcall(promparse.read, text)) and text ~= "", text)
   end
end

function tests.test_values_and_labels()
   local text = exposition.family("a_b", "gauge", 'a \\ in\ntwo "lines"', { { 1 / 3 }, { 0 / 0,
      labels = { x = "nan" } }, { math.huge, labels = { x = "inf" } },
      { -math.huge, labels = { x = "minus" } }, { 2 ^ 60, labels = { x = "big" } },
      { 3, labels = { x = 'a "b" \\ c\nd', y = "\xff\xfe", z = "é" } } })
   local families, v = promparse.read(text)
   lu.assertEquals(families.a_b.help, 'a \\\\ in\\ntwo "lines"')
   lu.assertAlmostEquals(v["a_b{}"], 1 / 3, 1e-12)
   lu.assertNotEquals(v["a_b{x=nan}"], v["a_b{x=nan}"])
   lu.assertEquals(v["a_b{x=inf}"], math.huge)
   lu.assertEquals(v["a_b{x=minus}"], -math.huge)
   lu.assertAlmostEquals(v["a_b{x=big}"], 2 ^ 60, 2 ^ 20)
   lu.assertEquals(v['a_b{x=a "b" \\ c\nd,y=??,z=é}'], 3)
end

function tests.test_a_family_is_bounded()
   local samples = {}
   for i = 1, 1000 do
      samples[i] = { i, labels = { x = i } }
   end
   local text, left_out = exposition.family("a", "gauge", "x", samples)
   lu.assertEquals(#promparse.read(text).a.samples, 256)
   lu.assertEquals(left_out, 744)
end

function tests.test_of_several_fabrics_each_has_its_label()
   local function tree(nodes, routing)
      return { kind = "fattree", nodes_per_leaf = 2, levels = { { down = 2, up = 2 } },
         nodes = nodes, capacity = 1e9, routing = routing }
   end
   local topo = assert(topology.build { kind = "fabrics",
      fabrics = { ib = tree("n[1-4]", "dmodk"), eth = tree("n[3-6]", "ecmp") } })
   local m = made(topo)
   m.site.conf.metrics = { components = 4, leaves = 4 }
   sim.tell(m.diagnosis, topo.component_id["ib:leaf0/3"], { state = "slow", left = 0.5 })
   m.coverage:touch(topo.component_id["n1:2/tx"], os.time())
   local families, v = promparse.read(m:text())
   for key, value in pairs { ["taut_components{fabric=ib,kind=uplink,state=slow}"] = 1,
      ["taut_components{fabric=ib,kind=uplink,state=unknown}"] = 3,
      ["taut_components{fabric=eth,kind=uplink,state=unknown}"] = 4,
      -- of the fabric that it is not in a node has no tx
      ["taut_components{fabric=eth,kind=tx,state=unknown}"] = 4,
      ["taut_component_left_ratio{action=watch,component=ib:leaf0/3,fabric=ib,kind=uplink," ..
         "state=slow}"] = 0.5,
      ["taut_leaf_left_ratio{fabric=ib,leaf=ib:leaf0}"] = 0.5,
      ["taut_sets{fabric=eth,state=unknown}"] = 4, ["taut_sets{fabric=ib,state=unknown}"] = 0,
      ["taut_links_in_sets{fabric=eth}"] = 8, ["taut_links_in_sets{fabric=ib}"] = 0,
      ["taut_coverage_ratio{fabric=eth}"] = 0, ["taut_coverage_ratio{fabric=ib}"] = 1 / 16 } do
      lu.assertAlmostEquals(v[key] or -1, value, 1e-9, key)
   end
   lu.assertEquals(#families.taut_coverage_ratio.samples, 2)
end

function tests.test_what_tautd_says()
   local m = made()
   local now = os.time()
   policy.note(m.act:past(), { action = "drain", node = "n5", component = "n5/tx" }, now)
   policy.note(m.act:past(), { action = "stop", why = "x" }, now)
   policy.note(m.act:past(), { action = "capped", cap = "hour" }, now)
   local c = m.site.topo.component_id["r1.0.0/X+"]
   sim.tell(m.diagnosis, c, { state = "slow" })
   m.diagnosis:observe({ { src = 1, dst = 99999, class = "low", ratio = 0.5 } }, os.time())
   local families, v = promparse.read(m:text())
   for key, value in pairs { ["taut_components{kind=X+,state=slow}"] = 1,
      ["taut_components{kind=X+,state=unknown}"] = 15,
      ["taut_components{kind=tx,state=unknown}"] = 32,
      ["taut_tests_total{class=low}"] = 3,
      ["taut_tests_left_out_total{why=of unknown nodes}"] = 1,
      ["taut_checks_total{result=single}"] = 2,
      ["taut_policy_enabled{}"] = 1, ["taut_policy_stopped{}"] = 1,
      ["taut_policy_caps_reached{}"] = 1, ["taut_nodes_drained{}"] = 1, ["taut_nodes_held{}"] = 1,
      ["taut_partition_cap{partition=all}"] = 3, ["taut_partition_drained{partition=all}"] = 1,
      ["taut_drains_last_hour{}"] = 1, ["taut_actions_total{action=drain}"] = 2,
      ["taut_prologs_total{}"] = 70, ["taut_probe_link_seconds_total{}"] = 12.75,
      ["taut_refused_messages_total{}"] = 3, ["taut_refused_clock_total{}"] = 2,
      ["taut_refused_clock_nodes{}"] = 1, ["taut_clock_ahead_seconds{}"] = 0,
      ["taut_store_lag_seconds{}"] = 0.25,
      ["taut_store_damaged{}"] = 1, ["taut_store_checked_seconds{}"] = 1700000001,
      ["taut_store_up{}"] = 1, ["taut_events_total{}"] = 4, ["taut_start_time_seconds{}"] =
      1700000000.25, ["taut_on_event_runs_total{result=failed}"] = 2,
      ["taut_acting{}"] = 1, ["taut_lease_token{}"] = 0,
      ["taut_loop_longest_seconds{}"] = 0.125, ["taut_metrics_left_out{}"] = 0 } do
      lu.assertEquals(v[key], value, key)
   end
   for name in pairs(families) do
      lu.assertStrContains(name, "taut_")
   end
end

-- increase() needs a sample of 0 before the first drain, or it misses that one.
function tests.test_counters_are_there_before_anything_happened()
   local m = made()
   m.act = act.new {}
   function m.act.standing() return {} end
   m.check.counts = require("taut.core.check").new { }.counts
   local _, v = promparse.read(m:text())
   for _, key in ipairs { "actions_total{action=drain}", "actions_total{action=stop}",
      "actions_total{action=drain failed}", "tests_left_out_total{why=too old}",
      "checks_total{result=checked}", "checks_total{result=nothing due}", "alerts_total{}" } do
      lu.assertEquals(v["taut_" .. key], 0, key)
   end
end

-- Whatever the sources record as an action has its counter from the start.
function tests.test_every_action_is_counted_from_the_start()
   local counts = act.new({}):counted()
   for file in io.popen("grep -rl 'record *{' " .. os.getenv "TAUT_SRCDIR" ..
      "/lua/taut/policy /dev/null " .. os.getenv "TAUT_SRCDIR" .. "/lua/taut/core"):lines() do
      for word in io.open(file):read "a":gmatch 'action = "([a-z ]+)",' do
         lu.assertEquals(counts[word], 0, file .. ": " .. word)
      end
   end
end

function tests.test_names_of_slow_components_where_the_site_wants_them()
   local m = made()
   local topo = m.site.topo
   for i, name in ipairs { "r0.0.0/X+", "r1.0.0/X+", "n5/tx" } do
      sim.tell(m.diagnosis, topo.component_id[name], { state = i == 3 and "failed" or "slow",
         left = i == 3 and 0 or i / 4 })
   end
   m.decision.measures[topo.component_id["r1.0.0/X+"]] = "avoid"
   local families = promparse.read(m:text())
   lu.assertEquals(#families.taut_component_left_ratio.samples, 0)
   local v
   m.site.conf.metrics.components = 2
   families, v = promparse.read(m:text())
   lu.assertEquals(#families.taut_component_left_ratio.samples, 2)
   local left = "taut_component_left_ratio{action=%s,component=%s,kind=%s,state=%s}"
   lu.assertEquals(v[left:format("watch", "n5/tx", "tx", "failed")], 0)
   lu.assertEquals(v["taut_component_names_left_out{}"], 1)
   m.site.conf.metrics.components = 3
   v = select(2, promparse.read(m:text()))
   lu.assertEquals(v[left:format("avoid", "r1.0.0/X+", "X+", "slow")], 0.5)
end

function tests.test_what_is_lost_by_name()
   local m = made()
   local topo = m.site.topo
   local function name(component, state, share)
      sim.tell(m.diagnosis, topo.component_id[component], { state = state, left = 0.2,
         loss = share and { share = share, tests = {} } })
   end
   name("r0.0.0/X+", "lossy", 0.012)
   name("n5/tx", "slow")
   local families, v = promparse.read(m:text())
   lu.assertEquals(#families.taut_component_loss_ratio.samples, 0)
   lu.assertEquals(v["taut_components{kind=X+,state=lossy}"], 1)
   m.site.conf.metrics.components = 5
   families, v = promparse.read(m:text())
   lu.assertEquals(#families.taut_component_loss_ratio.samples, 1)
   lu.assertEquals(v["taut_component_loss_ratio{component=r0.0.0/X+,kind=X+}"], 0.012)
   lu.assertEquals(v["taut_component_left_ratio{action=watch,component=r0.0.0/X+,kind=X+," ..
      "state=lossy}"], 0.2)
end

-- A row for each leaf of a dashboard: what is not well there, the worst leaf first.
function tests.test_by_switch_where_the_site_wants_it()
   local topo = assert(require("taut.topology").build { kind = "fattree", nodes_per_leaf = 4,
      levels = { { down = 4, up = 4 } }, nodes = "n[0-15]", capacity = 1e9 })
   local m = made(topo)
   local function name(component, state, left)
      sim.tell(m.diagnosis, assert(topo.component_id[component], component), { state = state,
         left = left })
   end
   name("n5/tx", "slow", 0.5)
   name("leaf1/5", "suspect")
   name("spine0/3", "failed", 0) -- down to the third leaf
   name("leaf3/6", "slow", 0.25)
   name("n12/rx", "slow", 0.9)
   local families = promparse.read(m:text())
   lu.assertEquals(#families.taut_leaf_components.samples, 0)
   m.site.conf.metrics.leaves = 2
   local v
   families, v = promparse.read(m:text())
   lu.assertEquals(v["taut_leaf_components{leaf=leaf2,state=failed}"], 1)
   lu.assertEquals(v["taut_leaf_components{leaf=leaf3,state=slow}"], 2)
   lu.assertEquals(v["taut_leaf_left_ratio{leaf=leaf3}"], 0.25)
   lu.assertEquals({ #families.taut_leaf_components.samples, v["taut_leaf_names_left_out{}"] },
      { 2, 1 })
   m.site.conf.metrics.leaves = 60
   function m.diagnosis.set_verdicts()
      return { { members = { topo.component_id["leaf1/6"], topo.component_id["leaf1/5"] },
         left = 0.1 } }
   end
   families, v = promparse.read(m:text())
   lu.assertEquals({ v["taut_leaf_components{leaf=leaf1,state=slow}"],
      v["taut_leaf_components{leaf=leaf1,state=suspect}"], v["taut_leaf_sets{leaf=leaf1}"],
      v["taut_leaf_left_ratio{leaf=leaf1}"] }, { 1, 1, 1, 0.1 })
   lu.assertEquals(#families.taut_leaf_sets.samples, 1)
end

-- One Prometheus may watch several machines.
function tests.test_every_sample_has_the_clusters_name_once_slurm_told_it()
   local m = made()
   local before = promparse.read(m:text())
   m.cluster.config = { cluster = 'al"pha' }
   local after = promparse.read(m:text())
   for name, family in pairs(after) do
      lu.assertEquals(#family.samples, #before[name].samples, name)
      for _, sample in ipairs(family.samples) do
         lu.assertEquals(sample.labels.cluster, 'al"pha', name)
      end
   end
   lu.assertNil(before.taut_info.samples[1].labels.cluster)
end

-- Alerts went on for what `taut ack` had been told of.
function tests.test_what_is_known_is_counted_apart()
   local m = made()
   for _, name in ipairs { "r0.0.0/X+", "n7/tx" } do
      sim.tell(m.diagnosis, m.site.topo.component_id[name], { state = "slow", left = 0.5 })
      m.acks:add(name, { ticket = "T", ["until"] = os.time() + 3600, who = "root" }, os.time())
   end
   m.acks:add("n1/tx", { ticket = "T", ["until"] = os.time() + 3600, who = "root" }, os.time())
   m.act.held.n7 = { component = "n7/tx" }
   m.act.held.n8 = { component = "n8/tx" }
   m.site.conf.metrics.components = 5
   local _, v = promparse.read(m:text())
   lu.assertEquals({ v["taut_components_known{}"], v["taut_nodes_held_known{}"],
      v["taut_nodes_held{}"] }, { 2, 1, 2 })
   lu.assertEquals(v["taut_component_left_ratio{action=watch,component=n7/tx,kind=tx,known=yes," ..
      "state=slow}"], 0.5)
end

function tests.test_releases_of_probes()
   local m = made()
   local _, v = promparse.read(m:text())
   lu.assertEquals(v["taut_probes{protocol=3,release=0.2.0}"], 2)
   lu.assertEquals(v["taut_probes{protocol=2,release=0.1}"], 1)
   function m.cluster.probes()
      local all = {}
      for i = 1, 100 do
         all["n" .. i] = { release = "x" .. i, protocol = 3 }
      end
      return all
   end
   local families
   families, v = promparse.read(m:text())
   lu.assertEquals(#families.taut_probes.samples, 17)
   lu.assertEquals(v["taut_probes{protocol=other,release=other}"], 84)
end

-- Names of nodes, jobs and users are nobody's business here; labels do not grow with the machine.
function tests.test_labels_are_few_and_private()
   local m = made(sim.torus({ 8, 8, 4 }, 2))
   m.cluster.partitions = {}
   for i = 1, 500 do
      m.cluster.partitions["p" .. i .. '"\n'] = { "n1" }
   end
   for i = 1, 500 do
      m.act.counts["a" .. i] = 1
   end
   local text = m:text()
   local families = promparse.read(text)
   local n = 0
   for _, f in pairs(families) do
      n = n + #f.samples
   end
   lu.assertTrue(n < 400, n)
   lu.assertNil(text:find '"n%d+')
   lu.assertEquals(families.taut_actions_total.samples[33].labels.action, "other")
end

return tests
