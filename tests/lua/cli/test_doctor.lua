-- SPDX-License-Identifier: GPL-2.0-or-later
-- What `taut doctor` makes of facts: each that is wrong is a finding with its mend, and what is
-- well is none.
local doctor = require "taut.cli.doctor"
local lu = require "luaunit"
local swept = require "taut.topology.seen.swept"
local topology = require "taut.topology"
local traces = require "taut.topology.seen.traces"

local tests = {}

local NOW = 1000000
local NONE = { count = 0, list = "" }

local function some(n, list)
   return { count = n, list = list }
end

-- Facts of a cluster where all is well, with changes: { ["slurm.version"] = value, … }
local function facts(changes)
   local d = { now = NOW,
      nodes = { all = 8, usable = 8, silent = NONE, never = NONE, no_job = NONE, no_idle = NONE,
         not_in_slurm = NONE, not_in_topology = NONE },
      probes = { protocols = { oldest = 1, newest = 2 }, list = { { release = "0.1.0",
         protocol = 2, nodes = some(8, "n[0-7]") } } },
      clocks = { known = 8, off = {}, count = 0 },
      ports = { trusted = true, here = 1024, nodes = NONE },
      slurm = { known = true, version = "24.11.5", prolog_flags = { "Alloc", "DeferBatch" },
         health_check = { program = "/usr/libexec/taut/taut-healthcheck", interval_s = 300,
            states = { "IDLE" } } },
      database = { path = "/var/lib/taut/taut.db", mode = 416, bytes = 1e6, free = 1e11,
         waiting = 0, lost = 0 },
      daemon = { version = "0.1.0", since = NOW - 86400, mode = "observe", checks = "on",
         config = "/etc/taut/taut.lua", hints = {}, on_event = {} },
      refused = { count = 0, kinds = {} },
      tests = { good = 90, low = 2, void = 8, discarded = {} },
      traces = { asked = false, answers = 0, unknown = 0, elsewhere = 0, odd = {} } }
   for path, value in pairs(changes or {}) do
      local at, last = d, nil
      for name in path:gmatch "[^.]+" do
         at, last = last and at[last] or at, name
      end
      at[last] = value
   end
   return d
end

local HERE = { where = "/run/taut/tautd.sock", version = "0.1.0", asked_at = NOW }

-- The findings that are not "ok".
local function found(changes, here)
   local list = {}
   for _, f in ipairs(doctor.findings(facts(changes), here or HERE)) do
      if f.level ~= "ok" then
         list[#list + 1] = f
      end
   end
   return list
end

-- Exactly one finding, of this level, with these words in its text and in its mend.
local function one(level, text, mend, changes, here)
   local list = found(changes, here)
   lu.assertEquals(#list, 1, text)
   lu.assertEquals(list[1].level, level)
   lu.assertStrContains(list[1].text, text)
   lu.assertStrContains(list[1].mend or "", mend)
end

-- Which probes are behind, which are ahead, and which are not understood.
function tests.test_versions_of_probes()
   local function probe(release, protocol, refused)
      return { ["probes.list"] = { { release = "0.1.0", protocol = 2, nodes = some(6, "n[0-5]") },
         { release = release, protocol = protocol, refused = refused,
            nodes = some(2, "n[6-7]") } } }
   end
   one("look", "2 nodes of release 0.0.9 (protocol 1): n[6-7]", "upgrade these nodes",
      probe("0.0.9", 1))
   one("look", "They are checked", "upgrade tautd", probe("0.3.0", 3))
   one("mend", "speaks protocol 1 to 2: their jobs are not checked", "upgrade tautd",
      probe("9.0", 99, true))
   one("mend", "of release 0.0.1", "upgrade taut-probe", probe("0.0.1", 1, true))
   lu.assertEquals(found { ["probes.list"] = {} }, {})
end

function tests.test_where_all_is_well_nothing_is_found()
   lu.assertEquals(found(), {})
end

function tests.test_slurm()
   one("mend", "does not answer: no route", "scontrol ping", { ["slurm.error"] = "no route" })
   one("mend", "not set: only the first node", "PrologFlags=Alloc,DeferBatch",
      { ["slurm.prolog_flags"] = {} })
   one("mend", "Alloc: a batch script starts", "PrologFlags=Alloc,DeferBatch",
      { ["slurm.prolog_flags"] = { "Alloc" } })
   one("look", "no SPANK prolog", "taut-prolog.sh",
      { ["slurm.prolog_flags"] = { "Alloc", "DeferBatch", "RunInJob" } })
   lu.assertEquals(found { ["slurm.alps"] = "alps", ["slurm.prolog_flags"] = {} }, {})
end

function tests.test_the_health_check_and_a_sites_own()
   one("mend", "not set", "HealthCheckProgram=", { ["slurm.health_check.program"] = "" })
   one("mend", "HealthCheckProgram is /usr/sbin/nhc", "'exec /usr/sbin/nhc \"$@\"' >",
      { ["slurm.health_check.program"] = "/usr/sbin/nhc" })
   one("mend", "HealthCheckInterval is 0", "HealthCheckInterval=300",
      { ["slurm.health_check.interval_s"] = 0 })
   one("mend", "CYCLE spreads", "without CYCLE",
      { ["slurm.health_check.states"] = { "CYCLE", "IDLE" } })
   one("mend", "ALLOC: idle and drained", "with IDLE",
      { ["slurm.health_check.states"] = { "ALLOC" } })
   one("look", "every 2.0 h", "HealthCheckInterval=300",
      { ["slurm.health_check.interval_s"] = 7200 })
end

-- It said `ln -s`, and NHC, which goes by its name, found no configuration and answered 0.
function tests.test_a_sites_check_is_not_switched_off_by_a_link()
   local list = found { ["slurm.health_check.program"] = "/usr/sbin/nhc",
      ["slurm.health_check.states"] = { "ALLOC", "CYCLE", "IDLE", "MIXED", "NONDRAINED_IDLE" } }
   lu.assertNotStrContains(list[1].mend, "ln -s")
   lu.assertStrContains(list[1].mend, "HealthCheckNodeState=ANY in slurm.conf")
end

-- It said IDLE, which takes the site's check from nodes with jobs.
function tests.test_the_same_states_without_cycle()
   one("mend", "IDLE,MIXED,CYCLE: CYCLE spreads", "HealthCheckNodeState=IDLE,MIXED:",
      { ["slurm.health_check.states"] = { "IDLE", "MIXED", "CYCLE" } })
   one("mend", "CYCLE spreads", "HealthCheckNodeState=ANY:",
      { ["slurm.health_check.states"] = { "ANY", "CYCLE" } })
end

-- With hashed routes and no addresses it found nothing to say.
function tests.test_addresses_that_are_missing()
   one("look", "are missing: 32 links are tested in 8 sets only", "addresses",
      { sets = { count = 8, links = 32, first = "4 uplinks of leaf0", unnamed = NONE } })
   one("look", "are missing: leaf0/1", "addresses",
      { sets = { count = 0, links = 0, unnamed = some(1, "leaf0/1") } })
end

-- An adaptive InfiniBand fabric was told to have its addresses written down, which nobody asks.
function tests.test_sets_of_an_adaptive_fabric_have_no_use_for_addresses()
   local sets = { count = 8, links = 32, adaptive = 8, first = "4 links of leaf0", unnamed = NONE }
   one("look", "is adaptive: 32 links are tested in 8 sets only", "a service level with tables",
      { sets = sets })
   sets.adaptive = 2 -- of another fabric
   one("look", "are missing: 32 links", "addresses", { sets = sets })
end

-- Nobody said that an InfiniBand fabric is tested over IPoIB.
function tests.test_the_transport_is_said()
   lu.assertEquals(found { transports = { tcp = 340 } }, {})
   local swept_well = { cables = 4, differ = {}, count = 0, moved = NONE, hosts_unknown = NONE }
   one("look", "340 tests over TCP: on an InfiniBand fabric", "transport=ofi",
      { transports = { tcp = 340 }, sweep = swept_well })
   lu.assertEquals(found { transports = { ofi = 340 }, sweep = swept_well }, {})
end

function tests.test_nodes_that_are_silent()
   one("mend", "no prolog was received from 2 nodes: n[1-2]", "plugstack.conf",
      { ["nodes.silent"] = some(2, "n[1-2]") })
   one("mend", "planned on 2 nodes, but no RESULT arrives: n[3-4]", "slurmd's log",
      { ["nodes.no_results"] = some(2, "n[3-4]") })
   one("look", "not heard since tautd's start 24 h ago: 1 node: n7", "6824",
      { ["nodes.never"] = some(1, "n7") })
   lu.assertEquals(found { ["nodes.never"] = some(1, "n7"), ["daemon.since"] = NOW - 60 }, {})
   one("mend", "no health check of any node was received", "/etc/taut/node.conf",
      { ["nodes.no_idle"] = some(8, "n[0-7]") })
   one("look", "400 nodes: n[0-19] and 380 more", "plugstack",
      { ["nodes.never"] = some(400, "n[0-19]") })
end

function tests.test_clocks()
   one("mend", "2 nodes differ from tautd's host by more than 2 s, n3 most: 40 s behind", "chrony",
      { ["clocks.count"] = 2, ["clocks.off"] = { { node = "n3", behind_s = 40 },
         { node = "n4", behind_s = -3 } } })
   one("mend", "n3 most: 40 s ahead", "chrony", { ["clocks.count"] = 1,
      ["clocks.off"] = { { node = "n3", behind_s = -40 } } })
   lu.assertEquals(found { ["clocks.count"] = 1,
      ["clocks.off"] = { { node = "n3", behind_s = 3 } } }, {})
   one("mend", "this host's clock and tautd's differ by 60 s", "chrony", nil,
      { where = "x", version = "0.1.0", asked_at = NOW - 60 })
end

-- Root is known by its port: where users have it, too, one bad root speaks for that node.
function tests.test_ports_that_users_may_call_from()
   one("mend", "below 1024 on 2 nodes: n[1-2]", "ip_unprivileged_port_start=1024",
      { ["ports.nodes"] = some(2, "n[1-2]") })
   one("mend", "below 1024 on tautd's host, on 1 node: n1", "sysctl",
      { ["ports.nodes"] = some(1, "n1"), ["ports.here"] = 0 })
   local login = { where = "x", version = "0.1.0", asked_at = NOW, server = true, user_port = 80 }
   one("mend", "below 1024 on this host", "sysctl", nil, login)
   lu.assertEquals(found({ ["ports.nodes"] = some(1, "n1"), ["ports.trusted"] = false }, login), {})
end

function tests.test_refused_messages_have_the_mend_of_their_reason()
   for why, mend in pairs { ["HELLO: Invalid credential"] = "munge.key",
      ["HELLO: Expired credential"] = "chrony",
      ["HELLO: n1 speaks from 10.0.0.1, its address is 10.0.0.2"] = "NodeAddr",
      ["HELLO: v: expected protocol 1, got 99"] = "tautd first",
      ["something else"] = "" } do
      one("look", "3 messages, the last 60 s ago from 10.0.0.1:5: " .. why, mend,
         { ["refused.count"] = 3, ["refused.kinds"] = { { count = 3, from = "10.0.0.1:5", why = why,
            at = NOW - 60 } } })
   end
end

function tests.test_tests_that_mean_nothing()
   local rows = {}
   for i = 1, 20 do
      rows[i] = { why = ("connect 10.0.0.%d:4%04d: Connection refused"):format(i, i), count = 2,
         src = "n1", dst = "n2" }
   end
   one("look", "40 tests discarded in 24 h", "firewall", { ["tests.discarded"] = rows })
   rows = { { why = "n1 did not report", count = 1, src = "n1", dst = "n2" } }
   lu.assertEquals(found { ["tests.discarded"] = rows }, {})
end

-- Each node that cannot test for what is its own is named: it would be a line of a log.
function tests.test_nodes_that_may_not_lock_memory_are_named()
   local rows = {}
   for i = 1, 4 do
      rows[i] = { why = ("n%d: libfabric: fi_mr_reg: no memory; 2048 kB of locked memory are " ..
         "allowed (RLIMIT_MEMLOCK), a rail needs up to 32768 kB"):format(i), count = 2,
         src = i % 2 == 0 and "n9" or "n" .. i, dst = i % 2 == 0 and "n" .. i or "n9" }
   end
   one("mend", "n[1-4] cannot test: libfabric: fi_mr_reg: no memory; 2048 kB of locked memory " ..
      "are allowed (RLIMIT_MEMLOCK), a rail needs up to 32768 kB; 8 tests discarded",
      "LimitMEMLOCK=infinity", { ["tests.discarded"] = rows })
   -- once is a node that was rebooted
   lu.assertEquals(found { ["tests.discarded"] = { rows[1] } }, {})
end

-- Past fault: a node without the device's file was sent to its mode, one that lacked libfabric to
-- nothing.
function tests.test_what_a_node_lacks_for_rdma_is_told_apart()
   for why, mend in pairs {
      ["cannot open /dev/infiniband/uverbs0 as uid 65534: Permission denied (rdma-core's"] = "mode",
      ["cannot open /dev/infiniband/rdma_cm as uid 65534: Permission denied (rdma-core's"] = "mode",
      ["no /dev/infiniband/uverbs*: no RDMA device, or the module ib_uverbs is"] = "its driver",
      ["no /dev/infiniband/rdma_cm: the module rdma_ucm is not loaded"] = "modprobe rdma_ucm",
      ["libfabric: verbs: no RDMA device has the address 10.0.0.1: no permission for " ..
         "/dev/infiniband/uverbs0 (a cgroup of"] = "interface=",
      ["libfabric has no provider 'verbs' (endpoints of type RDM: tcp"] = "fi_info -l",
      ["libfabric: cxi does not know addresses of interfaces: domain= has to name a"] = "for each",
      ["libfabric: this adapter has no shared receive queues (SRQ), which connections"] = "ofi,tcp",
      ["transport ofi: /x/taut-ofi.so: cannot open shared object file"] = "not installed",
      ["libfabric: fi_domain: Operation not permitted; a system call that Taut's"] = "run_as",
   } do
      one("mend", "n3 cannot test: " .. why, mend, { ["tests.discarded"] = {
         { why = "n3: " .. why, count = 3, src = "n3", dst = "n4" } } })
   end
end

-- Past fault: no mend was known; and memory that a connection lacks was called a firewall's.
function tests.test_libfabric_that_opens_late_and_connections_without_memory()
   local function rows(why, count)
      return { ["tests.discarded"] = { { why = why, count = count, src = "n3", dst = "n4" } } }
   end
   one("look", "30 tests discarded", "budget_ms", rows("n3: libfabric is not open yet", 30))
   lu.assertEquals(found(rows("n3: libfabric is not open yet", 5)), {}) -- first checks
   one("look", "30 tests discarded", "RLIMIT_MEMLOCK",
      rows("n3: connect 10.0.0.4:7000: Cannot allocate memory", 30))
end

function tests.test_munge_that_is_away_on_tautds_host_is_to_be_mended()
   one("mend", "tautd's host: no socket; no node can be authenticated",
      "auth/slurm does not take its place", { ["daemon.munge_error"] = "no socket" })
end

function tests.test_the_topology_against_slurm_traces_and_sweeps()
   one("look", "has 1 node that Slurm does not have: n9", "taut topology check",
      { ["nodes.not_in_slurm"] = some(1, "n9") })
   one("look", "lacks 2 nodes that Slurm has", "topology",
      { ["nodes.not_in_topology"] = some(2, "x") })
   one("look", "1 node lacked an adapter when the fabric was described: wk02",
      "taut topology check", { ["nodes.lacks_rails"] = some(1, "wk02") })
   one("look", "1 node cannot use its interface hsn1 (rail 2), where nothing is tested: n3",
      "take its rail out", { ["nodes.lost_rails"] = { count = 1, list = "n3", rail = 2,
         interface = "hsn1" } })
   one("look", "2 nodes cannot use an interface, the first ? (rail 1), where nothing is tested: " ..
      "n[3-4]", "ip -br addr", { ["nodes.lost_rails"] = { count = 2, list = "n[3-4]", rail = 1 } })
   local function traced(unknown, elsewhere)
      return { asked = true, answers = 100, unknown = unknown, elsewhere = elsewhere,
         odd = { { text = "leaf1 answered as router 2 of a way that is not by it", count = 1 },
            { text = "10.0.0.1 answered, which topology.addresses does not have", count = 1 } } }
   end
   one("mend", "leaf1 answered as router 2", "import it again", { traces = traced(0, 5) })
   one("look", "10.0.0.1 answered, which", "topology.addresses", { traces = traced(5, 0) })
   lu.assertEquals(found { traces = traced(1, 1) }, {})
   local torn = traced(0, 0)
   torn.torn, torn.odd[1].text = 5, "spine3 and then leaf1 answered, which no link is between"
   one("look", "spine3 and then leaf1 answered", "another router's address", { traces = torn })
   local sweep = { cables = 10, differ = {}, count = 0, moved = NONE, hosts_unknown = NONE }
   lu.assertEquals(found { sweep = sweep }, {})
   sweep.cables = 0
   one("mend", "they have other names", "fabric.names", { sweep = sweep })
   sweep.cables, sweep.count = 9, 1
   sweep.differ = { { text = "a and b", topology = 2, swept = 1 } }
   one("look", "a and b: 2 cables in the topology, 1 swept", "repair the cable", { sweep = sweep })
   one("look", "no sweep yet", "taut fabric check", { sweep = { error = "no sweep yet" } })
end

function tests.test_tautd()
   one("mend", "mode 0644", "chmod 0640", { ["database.mode"] = 420 })
   one("mend", "cannot be written: full; 5 rows wait", "room", { ["database.error"] = "full",
      ["database.waiting"] = 5 })
   one("mend", "7 rows were lost", "file system", { ["database.lost"] = 7 })
   one("mend", "left for", "keep_days", { ["database.free"] = 1e8 })
   one("mend", "not taken: line 3", "taut config check", { ["daemon.config_error"] = "line 3" })
   one("look", "old word", "taut config check", { ["daemon.hints"] = { "old word" } })
   one("look", "are off", "taut on", { ["daemon.checks"] = "off" })
   one("look", "has stopped: too many", "taut policy continue", { ["daemon.stopped"] = "too many" })
   one("mend", "port taken", "metrics.listen", { ["daemon.metrics_error"] = "port taken" })
   one("mend", "no such file", "policy.on_event", { ["daemon.on_event"] = { program = "/x",
      error = "no such file" } })
   one("look", "this taut is 0.2.0", "same release", nil, { where = "x", version = "0.2.0",
      asked_at = NOW })
   one("mend", "munge: no socket", "systemctl restart munge", nil, { where = "x",
      version = "0.1.0", asked_at = NOW, munge_error = "munge: no socket" })
end

---------------------------------------------------------------- what was seen of the fabric

local function tree()
   return assert(topology.build { kind = "fattree", nodes_per_leaf = 4,
      levels = { { down = 2, up = 2 } }, nodes = "n[0-7]", capacity = 1e9 })
end

function tests.test_a_sweep_is_held_against_the_topology()
   local topo, rows = tree(), {}
   local function add(a, b)
      rows[#rows + 1] = { a = { node = a }, b = { node = b } }
   end
   for c = topo.first_link, #topo.components do
      local a, b = topo.router_name[topo:from(c)], topo.router_name[topo:to(c)]
      for _ = 1, a < b and (topo.cables and topo.cables[c] or 1) or 0 do
         add(a, b)
      end
   end
   for n, name in ipairs(topo.nodes) do
      add(name .. " HCA-1", topo.router_name[topo:router(n)])
   end
   local d = swept.compare(topo, rows)
   lu.assertEquals({ #d.differ, #d.moved, #d.hosts_unknown }, { 0, 0, 0 })
   lu.assertTrue(d.cables > 0)
   local first = table.remove(rows, 1)
   d = swept.compare(topo, rows)
   lu.assertEquals(d.differ, { { text = first.a.node .. " and " .. first.b.node, topology = 1,
      swept = 0 } })
   rows[#rows].b.node = topo.router_name[topo:router(1)]
   add("n99 HCA-1", topo.router_name[topo:router(1)])
   d = swept.compare(topo, rows)
   lu.assertEquals(d.moved, { topo.nodes[#topo.nodes] })
   lu.assertEquals(d.hosts_unknown, { "n99" })
end

function tests.test_answers_of_routers_are_held_against_the_way()
   local topo = { router_name = { [0] = "leaf0", "spine0", "leaf1" }, components = {},
      asked_at = { link = { a = 5, b = 6 }, router = { s = 1 } } }
   function topo.to(_, c) return ({ [5] = 1, [6] = 2 })[c] end
   function topo.from(_, c) return ({ [5] = 0, [6] = 1 })[c] end
   local t, asked = traces.new(), { n = 4, 1, 5, { to = { [2] = 6 }, is = {} }, 4 }
   t:take(topo, asked, { "x", "a", "b" })
   lu.assertEquals({ t.answers, t.unknown, t.elsewhere, t.torn }, { 2, 0, 0, 0 })
   t:take(topo, asked, { "x", "s", "" })
   lu.assertEquals({ t.answers, t.unknown, t.elsewhere }, { 3, 0, 0 })
   t:take(topo, asked, { "x", "b", "y" })
   lu.assertEquals({ t.answers, t.unknown, t.elsewhere }, { 5, 1, 1 })
   lu.assertEquals(t.odd[1].text, "leaf1 answered as router 2 of a way that is not by it")
   t:take(topo, asked, nil)
   lu.assertEquals(t.answers, 5)
end

return tests
