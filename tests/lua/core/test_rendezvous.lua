-- SPDX-License-Identifier: GPL-2.0-or-later
-- Nodes that come, come late, come twice, vanish, lie; the connections are fakes that keep what
-- is sent to them, all else is real.
local check = require "taut.core.check"
local claims = require "taut.slurm.claims"
local coverage = require "taut.plan.coverage"
local endpoints = require "taut.wire.endpoints"
local hello = require "taut.wire.hello"
local ids = require "taut.core.ids"
local json = require "taut.json"
local loop = require "taut.loop"
local lost_rails = require "taut.slurm.lost_rails"
local lu = require "luaunit"
local networks = require "taut.slurm.networks"
local no_results = require "taut.slurm.no_results"
local rendezvous = require "taut.core.rendezvous"
local seal = require "taut.seal"
local sim = require "lib.sim"
local tables = require "taut.base.tables"
local topology = require "taut.topology"
local wire = require "taut.wire"

local tests = {}
local KEY = ("k"):rep(32)

local function connection(name)
   local conn = { name = name, sent = {}, closed = false }
   function conn:send(kind, bytes) self.sent[#self.sent + 1] = { kind, bytes } end
   function conn:close() self.closed = true end
   function conn.waited() return 0 end
   function conn:plan()
      local frame = self.sent[1]
      return frame and assert(json.decode(assert(seal.open(KEY, 2, frame[2]))))
   end
   return conn
end

local function address_of(node)
   return ("10.0.0.%d:4000"):format(1 + tonumber(node:match "%d+"))
end

local function meeting(o)
   o = o or {}
   local m = { done = {}, jobs = {}, odd = {} }
   local topo = o.topo or sim.torus({ 4, 2, 2 }, 2)
   local checks = { enabled = true, gather_ms = 50, idle_gather_ms = 50, group = 512,
      budget_ms = 220, idle_budget_ms = 500, ofi_lead_ms = 350 }
   setmetatable(checks, { __index = sim.checks })
   local cluster = { has_job = function() end,
      has_alloc = function() return o.alloc ~= false end,
      nodes_of = function(_, id) return o.slurm and o.slurm[id] end,
      jobs = o.slurm_jobs or {}, claims = claims.new(),
      is_shared = function() if o.shared then return "n1", 99 end return nil, nil, o.said end,
      hint = o.hint }
   function m.slurm_has(id, names)
      o.slurm = { [id] = names }
      cluster.jobs[id] = { has = tables.set(names) }
   end
   m.check = check.new { topology = topo, checks = checks, cluster = cluster,
      coverage = coverage.new(o.link_time or false),
      switches = { are_checks_on = function() return not o.off end },
      agenda = { wanted = function() return o.wanted or {} end,
         idle_nodes = function() return o.idle or {} end },
      diagnosis = { watched = function() return {} end }, ids = ids.new(),
      journal = { add = function(_, _, row) m.jobs[#m.jobs + 1] = row.note end } }
   topo.open = o.open
   m.meet = rendezvous.new { topology = topo, checks = checks, limits = { good = 0.75 },
      cluster = cluster, check = m.check, networks = o.networks or networks.new {
         addresses = { is_of = function() return false end }, list = {},
         refusals = { note = function(_, _, why) m.odd[#m.odd + 1] = why end },
         topology = function() return o.topo or { rails = 1 } end },
      findings = { session = function(_, s) m.done[#m.done + 1] = s end },
      no_results = no_results.new(), lost_rails = lost_rails.new(),
   }
   function m.hello(node, names, more)
      local conn = connection(node)
      local h = { purpose = "prolog", job = 7, node = node, endpoint = address_of(node),
         nodes = table.concat(names, ","), key = seal.hex(KEY), budget_ms = 900,
         version = wire.VERSION }
      for k, v in pairs(more or {}) do
         h[k] = v
      end
      m.meet:hello(conn, h, names, function() return true end)
      return conn
   end
   return m
end

-- Let timers run for some time.
local function pass(ms)
   loop.timer(ms, loop.stop)
   loop.run()
end

local function answer(m, conn, more)
   local list = json.array {}
   for i, t in ipairs(conn:plan().tests) do
      list[i] = { id = t.id, role = t.role, bytes = 240000, window_ns = 20000000 }
   end
   local r = { v = 1, refused = 0, tests = list }
   for k, v in pairs(more or {}) do
      r[k] = v
   end
   return m.meet:result(conn, seal.seal(KEY, wire.RESULT, json.encode(r)))
end

local function plan_size(conn)
   local p = conn:plan()
   return p and #p.tests
end

local OWN = wire.VERSION

-- A conversation of a version that is to come, made up of the newest that is recorded.
local function made_up(said, version)
   for i, h in ipairs(said.hello) do
      h.v, h.oldest = version, version - 1
      for _, kind in ipairs { "plan", "result" } do
         local key, frame = seal.unhex(h.key), wire[kind:upper()]
         local m = json.decode(seal.open(key, frame, seal.unhex(said[kind][i]), 0, OWN))
         m.v = version
         said[kind][i] = seal.hex(seal.seal(key, frame, json.encode(m), 0, version))
      end
   end
   return said
end

local function recorded(version)
   local f = assert(io.open(("%s/tests/data/protocol/protocol-%d.json"):format(
      os.getenv "TAUT_SRCDIR" or ".", math.min(version, OWN))))
   local said = assert(json.decode(f:read "a"))
   f:close()
   return version > OWN and made_up(said, version) or said
end

-- A recorded frame as its receiver opens it, and nobody who takes it for another version's.
local function opened(key, kind, hex, version)
   for v = wire.OLDEST, wire.VERSION do
      lu.assertEquals(seal.open(key, kind, seal.unhex(hex), 0, v) ~= nil, v == version)
   end
   return json.decode(seal.open(key, kind, seal.unhex(hex), 0, version))
end

-- What probes of both versions said, recorded: they work with this tautd, side by side.
local function play(versions)
   -- recorded on the loopback
   local m, conns, results = meeting { networks = { hear = function() end,
      confine = function() end } }, {}, {}
   for i, version in ipairs(versions) do
      local said = recorded(version)
      local h, key = said.hello[i], seal.unhex(said.hello[i].key)
      lu.assertEquals(hello.version(h), version)
      lu.assertTrue(hello.check(h))
      lu.assertEquals(opened(key, wire.PLAN, said.plan[i], version).v, version)
      results[i] = opened(key, wire.RESULT, said.result[i], version)
      h.version, h.endpoint = version, address_of(h.node) -- not of one host
      for _, e in ipairs(h.endpoints or {}) do
         e.tcp = e.tcp and h.endpoint
      end
      conns[i] = m.hello(h.node, { "n1", "n2" }, h)
      conns[i].key = key
   end
   for i, version in ipairs(versions) do
      local sent, r = conns[i].sent[1], results[i]
      local plan = opened(conns[i].key, wire.PLAN, seal.hex(sent[2]), version)
      lu.assertEquals(plan.v, version)
      lu.assertTrue(#plan.tests > 0)
      r.tests[1].id, r.tests[1].role = plan.tests[1].id, plan.tests[1].role
      lu.assertTrue(m.meet:result(conns[i], seal.seal(conns[i].key, wire.RESULT, json.encode(r), 0,
         version)))
   end
   lu.assertEquals(#m.done, 1)
end

function tests.test_probes_of_this_version_and_of_the_one_before()
   for v = wire.OLDEST, wire.VERSION do
      play { v, v }
   end
end

-- As the tautd of the next release will: it speaks one version more.
local function in_the_next_release(run)
   wire.VERSION = OWN + 1
   local ok, err = pcall(run)
   wire.VERSION = OWN
   if not ok then
      error(err, 0)
   end
end

function tests.test_both_versions_in_one_job()
   in_the_next_release(function()
      play { OWN + 1, OWN + 1 }
      play { OWN, OWN }
      play { OWN, OWN + 1 }
      play { OWN + 1, OWN }
   end)
end

function tests.test_a_result_of_another_version_than_the_plan_is_refused()
   local m = meeting()
   local a = m.hello("n1", { "n1", "n2" }, { version = OWN })
   m.hello("n2", { "n1", "n2" })
   local text = json.encode { v = OWN, tests = json.array {} }
   lu.assertNil((m.meet:result(a, seal.seal(KEY, wire.RESULT, text, 0, OWN + 1))))
   text = json.encode { v = OWN + 1, tests = json.array {} }
   lu.assertNil((m.meet:result(a, seal.seal(KEY, wire.RESULT, text, 0, OWN))))
end

function tests.test_all_come_and_the_plans_fit_together()
   local m = meeting()
   local names = { "n0", "n1", "n2", "n3" }
   local conns = {}
   for i, n in ipairs(names) do
      lu.assertEquals(#(conns[i - 1] or { sent = {} }).sent, 0)
      conns[i] = m.hello(n, names)
   end
   local ends = {}
   for _, c in ipairs(conns) do
      lu.assertTrue(plan_size(c) > 0)
      for _, t in ipairs(c:plan().tests) do
         ends[t.id] = ends[t.id] or {}
         ends[t.id][t.role] = t
      end
   end
   for _, e in pairs(ends) do
      lu.assertEquals(e.send.token, e.recv.token)
      lu.assertEquals(e.send.start_ms, e.recv.start_ms)
      lu.assertEquals(#e.send.token, 32)
   end
   for _, c in ipairs(conns) do
      lu.assertTrue(answer(m, c))
   end
   lu.assertEquals(#m.done, 1)
   lu.assertNotNil(m.done[1].results[1]["send:" .. conns[1]:plan().tests[1].id] or
      m.done[1].results[1]["recv:" .. conns[1]:plan().tests[1].id])
end

-- Both ends are told alike what ends a test early, a tenth above what is good; nothing ends one
-- where it is to be learned what a link carries.
function tests.test_what_surely_comes_out_good_may_end_early()
   for _, open in ipairs { false, { [1] = true } } do
      local m, told = meeting { open = open or nil }, {}
      for _, n in ipairs { "n0", "n1", "n2", "n3" } do
         told[#told + 1] = m.hello(n, { "n0", "n1", "n2", "n3" })
      end
      for _, c in ipairs(told) do
         lu.assertTrue(plan_size(c) > 0)
         for _, t in ipairs(c:plan().tests) do
            lu.assertEquals(t.enough_Bps, not open and math.ceil(1.1 * 0.75 * 24e6) or nil)
         end
      end
   end
end

-- What went by RDMA past the node's own eyes is in its ports' counters, before and after the plan.
function tests.test_bytes_of_others_on_rdma_ports_go_with_the_tests()
   local m = meeting()
   local names = { "n0", "n1" }
   local function told(words)
      return ("netdev ib0 tx_bytes=9\nib ib0 port_xmit_data=%d port_rcv_data=5"):format(words)
   end
   local conns = {}
   for i, n in ipairs(names) do
      conns[i] = m.hello(n, names, { readings = told(7),
         endpoints = { { ["if"] = "ib0", tcp = address_of(n) } } })
   end
   lu.assertTrue(answer(m, conns[1], { readings = told(1 << 30) }))
   lu.assertTrue(answer(m, conns[2], { readings = told(8) }))
   local busy, quiet = m.done[1].results[1], m.done[1].results[2]
   for i, r in ipairs { busy, quiet } do
      lu.assertNotNil(next(r))
      for _, t in pairs(r) do
         lu.assertEquals(t.foreign_bytes > 0, i == 1)
      end
   end
end

-- HELLOs of a pair of partners that also open libfabric.
local function two_with(m, a, b)
   local names = { "n0", "n1" }
   return m.hello("n0", names, { endpoints = a }), m.hello("n1", names, { endpoints = b })
end

function tests.test_libfabric_is_used_where_both_have_it_and_waited_for()
   local m = meeting()
   local one, two = two_with(m, { { tcp = "10.0.0.1:4000", ofi = "10.0.0.1:4001" } },
      { { tcp = "10.0.0.2:4000", ofi = "10.0.0.2:4001" } })
   for _, c in ipairs { one, two } do
      lu.assertTrue(plan_size(c) > 0)
      for _, t in ipairs(c:plan().tests) do
         lu.assertEquals(t.transport, "ofi")
         lu.assertNil(t.enough_Bps)
         lu.assertEquals(t.peer, t.node == "n0" and "10.0.0.1:4001" or "10.0.0.2:4001")
         lu.assertTrue(t.start_ms >= sim.checks.lead_ms + 350)
      end
   end
   one, two = two_with(meeting(), { { tcp = "10.0.0.1:4000", ofi = "10.0.0.1:4001" } },
      { { tcp = "10.0.0.2:4000" } })
   lu.assertNil(one:plan().tests[1].transport)
   lu.assertEquals(two:plan().tests[1].peer, "10.0.0.1:4000")
end

-- A time that was too long would never be put right: nobody tests, and nobody learns.
function tests.test_a_libfabric_that_takes_longer_than_the_budget_is_tried_all_the_same()
   local m, names = meeting(), { "n0", "n1" }
   local one = m.hello("n0", names, { ofi_ms = 2000,
      endpoints = { { tcp = "10.0.0.1:4000", ofi = "10.0.0.1:4001" } } })
   m.hello("n1", names, { endpoints = { { tcp = "10.0.0.2:4000", ofi = "10.0.0.2:4001" } } })
   lu.assertTrue(plan_size(one) > 0)
   local last = 0
   for _, t in ipairs(one:plan().tests) do
      last = math.max(last, t.start_ms + t.dur_ms)
      lu.assertTrue(t.start_ms > 600)
   end
   lu.assertTrue(last < 900)
end

function tests.test_without_a_transport_in_common_nothing_is_tested_and_it_is_said()
   local one, two = two_with(meeting(), { { ofi = "10.0.0.1:4001" } },
      { { tcp = "10.0.0.2:4000" } })
   for _, c in ipairs { one, two } do
      lu.assertEquals(plan_size(c), 0)
      lu.assertStrContains(c:plan().note, "no transport in common")
      lu.assertTrue(c.closed)
   end
end

function tests.test_nothing_to_do_is_answered_at_once()
   for _, case in ipairs {
      { { off = true }, { "n0", "n1" }, "off" },
      { { alloc = false }, { "n0", "n1" }, "PrologFlags without Alloc" },
      { {}, { "n0" }, "single" },
      { {}, { "x0", "x1" }, "not in the topology" },
      { { shared = true }, { "n0", "n1" }, "shared" },
      { { link_time = 1e-6 }, { "n0", "n1" }, "nothing due" },
   } do
      local m = meeting(case[1])
      if case[3] == "nothing due" then
         for c = 1, 128 do
            m.check.coverage:reserve(c, 0.4, loop.time(), 0)
         end
      end
      local conn = m.hello(case[2][1], case[2])
      lu.assertEquals(plan_size(conn), 0, case[3])
      lu.assertTrue(conn.closed)
      lu.assertStrContains(m.jobs[#m.jobs], case[3])
   end
end

function tests.test_the_hint_about_prolog_flags_comes_once()
   local m = meeting { alloc = false, hint = "set PrologFlags" }
   lu.assertEquals(m.hello("n0", { "n0", "n1" }):plan().note, "set PrologFlags")
   lu.assertEquals(m.hello("n0", { "n0", "n1" }, { job = 8 }):plan().note, "")
end

function tests.test_a_node_that_never_comes_costs_the_gather_time_only()
   local m = meeting()
   local names = { "n0", "n1", "n2" }
   local a, b = m.hello("n0", names), m.hello("n1", names)
   lu.assertNil(plan_size(a))
   pass(100)
   lu.assertTrue(plan_size(a) > 0)
   lu.assertTrue(plan_size(b) > 0)
   local late = m.hello("n2", names)
   lu.assertEquals(plan_size(late), 0)
   lu.assertStrContains(late:plan().note, "late")
end

function tests.test_alone_there_is_nothing_to_test()
   local m = meeting()
   local a = m.hello("n0", { "n0", "n1" })
   pass(100)
   lu.assertEquals(plan_size(a), 0)
   lu.assertTrue(a.closed)
end

function tests.test_hello_twice()
   local m = meeting()
   local names = { "n0", "n1", "n2" }
   m.hello("n0", names)
   local again = m.hello("n0", names)
   lu.assertEquals(plan_size(again), 0)
   lu.assertStrContains(again:plan().note, "twice")
end

function tests.test_a_requeued_job_is_a_new_check()
   local m = meeting()
   local names = { "n0", "n1" }
   m.hello("n0", names)
   m.hello("n1", names)
   pass(300) -- the components are reserved until its tests would have ended
   local a = m.hello("n0", names, { restart = 1 })
   lu.assertNil(plan_size(a))
end

function tests.test_who_vanishes_before_the_start_is_not_planned_with()
   local m = meeting()
   local names = { "n0", "n1", "n2" }
   local a = m.hello("n0", names)
   local gone = m.hello("n2", names)
   m.hello("n1", names, {})
   -- all three came: the plan was sent; now somebody vanishes in the middle
   m.meet:gone(gone)
   lu.assertTrue(answer(m, a))
   pass(700)
   lu.assertEquals(#m.done, 1)
   lu.assertNil(m.done[1].results[3])

   m = meeting()
   a = m.hello("n0", names)
   gone = m.hello("n2", names)
   m.meet:gone(gone)
   m.hello("n1", names)
   pass(100)
   for _, t in ipairs(a:plan().tests) do
      lu.assertNotEquals(t.node, "n2")
   end
end

function tests.test_who_takes_plans_and_never_answers_is_named()
   local m = meeting()
   local nodes = { "n0", "n1" }
   local function job(id, answers)
      m.check.coverage = coverage.new(false) -- all is due again
      local a = m.hello("n0", nodes, { job = id, nodes = "n[0-1]" })
      local b = m.hello("n1", nodes, { job = id, nodes = "n[0-1]" })
      lu.assertTrue(answer(m, a))
      if answers then
         lu.assertTrue(answer(m, b))
      else
         m.meet:gone(b)
      end
   end
   for id = 1, 5 do
      lu.assertEquals(m.meet.no_results:list { "n0", "n1" }, {})
      job(id, false)
   end
   local row = m.meet.no_results:list({ "n0", "n1" })[1]
   lu.assertEquals(row.node, "n1")
   lu.assertEquals(row.plans, 5)
   lu.assertEquals(m.meet.no_results:list { "n0" }, {}) -- another topology has no such node
   for id = 6, 10 do
      job(id, id == 10)
   end
   lu.assertEquals(m.meet.no_results:list { "n0", "n1" }, {})
end

function tests.test_results_that_are_not_asked_for_or_not_sealed_are_refused()
   local m = meeting()
   local names = { "n0", "n1" }
   local stranger = connection "x"
   lu.assertNil((m.meet:result(stranger, "x")))
   local a = m.hello("n0", names)
   lu.assertNil((m.meet:result(a, "x"))) -- before the plan
   m.hello("n1", names)
   local ok, why = m.meet:result(a, ("x"):rep(100))
   lu.assertNil(ok)
   lu.assertStrContains(why, "RESULT")
   -- sealed as a PLAN, or with another key: not a RESULT
   lu.assertNil((m.meet:result(a, seal.seal(KEY, wire.PLAN, "{}"))))
   lu.assertNil((m.meet:result(a, seal.seal(("j"):rep(32), wire.RESULT, "{}"))))
   lu.assertNil((answer(m, a, { tests = { { id = 1, role = "send", bytes = -1 } } })))
   lu.assertTrue(answer(m, a))
   -- the same once more: it has been taken
   lu.assertNil((answer(m, a)))
end

function tests.test_a_budget_that_is_used_up_leaves_no_time_for_tests()
   local m = meeting()
   local names = { "n0", "n1" }
   m.hello("n0", names, { budget_ms = 130 })
   local b = m.hello("n1", names)
   lu.assertEquals(plan_size(b), 0)
end

function tests.test_idle_cycles_call_only_for_nodes_near_a_suspect()
   local topo = sim.torus({ 4, 2, 2 }, 2)
   local c = topo.component_id["n0/tx"]
   local o = { idle = { 1, 2, 3 }, wanted = { { component = c, tests = 2 } } }
   local m = meeting(o)
   local idle = { purpose = "idle", job = 0 }
   local a, b = m.hello("n0", { "n0" }, idle), m.hello("n1", { "n1" }, idle)
   local far = m.hello("n9", { "n9" }, idle)
   lu.assertEquals(plan_size(far), 0)
   m.hello("n2", { "n2" }, idle)
   lu.assertTrue(plan_size(a) > 0)
   lu.assertTrue(plan_size(b) > 0)
   -- the next cycle begins although the last one has not ended
   local again = m.hello("n0", { "n0" }, idle)
   lu.assertNil(plan_size(again))
end

-- Root on one node named jobs before they began, with nodes of others in their lists: decided once,
-- at the first HELLO, their checks were none.
function tests.test_a_list_that_one_node_made_up_decides_nothing_for_the_others()
   local m = meeting()
   lu.assertNotNil(m.hello("n0", { "n0", "n2", "n4" }))
   pass(100) -- it met nobody
   local a, b = m.hello("n2", { "n2", "n4" }), m.hello("n4", { "n2", "n4" })
   lu.assertTrue(plan_size(a) > 0)
   lu.assertTrue(plan_size(b) > 0)
end

function tests.test_what_slurm_has_takes_the_place_of_what_was_decided_before()
   local m = meeting()
   m.hello("n0", { "n0", "n2", "n4" })
   pass(100)
   m.slurm_has(7, { "n0", "n2" })
   lu.assertEquals(plan_size(m.hello("n4", { "n0", "n2", "n4" })), 0)
   local a, b = m.hello("n0", { "n0", "n2", "n4" }), m.hello("n2", { "n0", "n2" })
   lu.assertTrue(plan_size(a) > 0)
   lu.assertTrue(plan_size(b) > 0)
end

-- It keeps out itself, and no other node.
function tests.test_a_node_that_says_it_has_another_job_is_left_out_alone()
   local m = meeting { said = { n0 = 99 } }
   local list = { "n0", "n2", "n4" }
   lu.assertEquals(plan_size(m.hello("n0", list)), 0)
   local a, b = m.hello("n2", list), m.hello("n4", list)
   lu.assertTrue(plan_size(a) > 0)
   lu.assertTrue(plan_size(b) > 0)
   lu.assertEquals(m.check.cluster.claims.by_node.n0.shared, 1)
end

-- 400 in a second: what they leave behind is bounded.
function tests.test_many_jobs_of_one_node_are_not_all_remembered()
   local m = meeting { shared = true }
   for job = 1, 20000 do
      m.hello("n0", { "n0", "n2" }, { job = job })
   end
   lu.assertTrue(tables.size(m.check.jobs) < 5000)
   lu.assertTrue(#m.jobs < 100)
end

-- Root on one node named 127.0.0.1:7778, or a node of others, as his endpoint, and all that were to
-- test with him sent there.
function tests.test_an_endpoint_that_is_not_the_nodes_is_not_handed_out()
   for _, case in ipairs { { "127.0.0.1:7778", "not an address of a node" },
      { "10.0.0.3:22", "expected a port of 1024" }, { "172.30.0.1:6824", "not where other nodes" },
      { "[::1]:7778", "not an address of a node" }, { "[::ffff:127.0.0.1]:4000", "not an address" },
      { "0.0.0.0:4000", "not an address" }, { "255.255.255.255:4000", "not an address" } } do
      local m = meeting()
      local list = { "n0", "n2", "n4" }
      local a, b, c = m.hello("n0", list, { endpoint = case[1] }), m.hello("n2", list),
         m.hello("n4", list)
      lu.assertEquals(plan_size(a), 0)
      for _, conn in ipairs { b, c } do
         for _, t in ipairs(conn:plan().tests) do
            lu.assertStrContains(t.peer, "10.0.0.")
            lu.assertNotEquals(t.peer, case[1])
         end
      end
      lu.assertStrContains(m.odd[1], case[2])
   end
end

-- By their places n0's first interface, which is on the second leaf, was held for rail 1.
function tests.test_a_node_s_interfaces_are_the_rails_that_their_ports_are()
   local w = { routers = { { name = "leaf1" }, { name = "leaf2" } }, nodes = {}, cables = {} }
   local function guid(n, rail)
      return ("0x00000000000000%d%d"):format(n, rail)
   end
   for n = 0, 3 do
      w.nodes[n + 1] = { name = "n" .. n, rails = {
         { router = 1, port = tostring(n), guid = guid(n, 1), Bps = 1e9 },
         { router = 2, port = tostring(n), guid = guid(n, 2), Bps = 1e9 } } }
   end
   local m = meeting { topo = assert(topology.build { kind = "graph", wiring = w }) }
   local function e(n, rail)
      return { ["if"] = "ib" .. rail - 1, tcp = ("10.%d.0.%d:4000"):format(rail, n + 1),
         guid = guid(n, rail) }
   end
   local names, lists, conns = { "n0", "n1", "n2", "n3" }, {}, {}
   lists[1] = { e(0, 2), e(0, 1) }
   lists[2] = { e(1, 2) } -- its first adapter is down, and not named
   lists[3] = { e(2, 1), e(2, 2) }
   lists[4] = { e(3, 1), e(2, 2) } -- says to have a port of n2
   for i, name in ipairs(names) do
      lu.assertTrue(endpoints.check(lists[i]))
      conns[i] = m.hello(name, names, { endpoint = "", endpoints = lists[i] })
   end
   local count = 0
   for i, conn in ipairs(conns) do
      for _, t in ipairs(conn:plan().tests) do
         count = count + 1
         -- the peer is on the leaf that the node's own interface is on
         local own = lists[i][(t.rail or 0) + 1]
         lu.assertEquals(t.peer:match "^10%.(%d)", own.tcp:match "^10%.(%d)")
         lu.assertFalse(i == 4 and t.rail == 1)
      end
   end
   lu.assertTrue(count > 4)
   lu.assertStrContains(m.meet.networks:odd_ones()[1].why, "which the topology has as rail 2 of n2")
end

return tests
