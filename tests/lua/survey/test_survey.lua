-- SPDX-License-Identifier: GPL-2.0-or-later
-- Surveys: who may hold one, who is waited for, rounds, what happens when nodes go, lie or hang.
-- The connections are fakes that keep what is sent to them; all else is real.
local coverage = require "taut.plan.coverage"
local expectation = require "taut.topology.model.expectation"
local hello = require "taut.wire.hello"
local json = require "taut.json"
local looptest = require "lib.looptest"
local lu = require "luaunit"
local node_lists = require "taut.wire.node_lists"
local rounds = require "taut.survey.rounds"
local seal = require "taut.seal"
local sim = require "lib.sim"
local survey = require "taut.survey"
local task = require "taut.base.task"
local wire = require "taut.wire"

-- A busy machine must not part a round into turns that no test waits for.
task.turn_ns = math.huge

local tests = {}
local KEY = ("k"):rep(32)
local PLAN, RESULT, REPORT, STOP = wire.PLAN, wire.RESULT, wire.REPORT, wire.STOP

-- A node's end of a connection.
local function connection(name)
   local conn = { name = name, got = {}, closed = false, opened = 0, sealed = 0 }
   function conn:send(kind, bytes)
      local text = assert(seal.open(KEY, kind, bytes, self.opened))
      self.opened = self.opened + 1
      table.insert(self.got, { kind = kind, data = json.decode(text) })
      return true
   end
   function conn:close() self.closed = true end
   function conn:timeout(ms) self.timeout_ms = ms end
   function conn.peer() return "10.0.0.1:1" end
   function conn:seal(kind, data)
      local bytes = seal.seal(KEY, kind, json.encode(data), self.sealed)
      self.sealed = self.sealed + 1
      return bytes
   end
   function conn:all(kind)
      local list = {}
      for _, f in ipairs(self.got) do
         list[#list + 1] = f.kind == kind and f.data or nil
      end
      return list
   end
   function conn:last(kind)
      local list = self:all(kind)
      return list[#list]
   end
   return conn
end

-- A kind that tests pairs of nodes in as many batches as it is told to.
local kind = { seen = {} }
local Work = {}
Work.__index = Work
function kind.begin(ctx)
   kind.ctx = ctx
   if #ctx.nodes < 2 then
      return nil, "fewer than two nodes"
   end
   return setmetatable({ topo = ctx.topology, options = ctx.options, batch = 0,
      batches = ctx.options.batches or 1, phases = ctx.options.phases or 2, taken = {} }, Work)
end
function Work:next(present)
   local list, phases = {}, {}
   for n in pairs(present) do
      list[#list + 1] = n
   end
   table.sort(list)
   self.batch = self.batch + 1
   if self.batch > self.batches or #list < 2 then
      return nil
   elseif self.options.groups then
      return kind.groups(self.topo, self.options.groups)
   end
   for p = 1, self.phases do
      local t = { src = list[p % 2 + 1], dst = list[(p + 1) % 2 + 1], kind = "fake" }
      t.route = self.topo:route(t.src, t.dst)
      for k, v in pairs(kind.more or {}) do
         t[k] = v
      end
      phases[p] = { t }
   end
   return phases
end
-- Phases of n0 and n1 (one router) to n2 and n3 (the next one) at once.
function kind.groups(topo, count)
   local phases = {}
   for p = 1, count do
      phases[p] = { { src = 1, dst = 3, group = "g" .. p }, { src = 2, dst = 4, group = "g" .. p } }
      for _, t in ipairs(phases[p]) do
         t.route = topo:route(t.src, t.dst)
      end
      expectation.of_phase(phases[p], topo)
   end
   return phases
end
function Work:take(list)
   local rows = json.array {}
   for i, t in ipairs(list) do
      rows[i] = { src = t.src_name, dst = t.dst_name, class = t.class, why = t.why,
         phase = t.phase, expected_Bps = t.expected_Bps }
      self.taken[#self.taken + 1] = rows[i]
   end
   return rows
end
function Work:finish(why)
   return { tests = #self.taken, why = why }
end
survey.kinds.matrix = kind

local function daemon(o)
   o = o or {}
   local d = { topo = sim.torus({ 4, 2, 2 }, 2), refused = 0, kept = {} }
   local id = 0
   d.coverage = coverage.new(false)
   d.cluster = { asked = 0, seen_running = o.jobs or {},
      is_admin = function(_, uid) return uid == 0 end }
   function d.cluster:refresh(fn)
      self.asked = self.asked + 1
      self.seen_running = o.jobs_later or self.seen_running
      fn()
   end
   d.surveys = survey.new { topology = d.topo, cluster = d.cluster, coverage = d.coverage,
      lists = node_lists.new(function() return 16 end),
      settings = setmetatable(o.survey or {}, { __index = { test_ms = 10, gap_ms = 2, lead_ms = 1,
         round_ms = 100, gather_ms = 60, confirm = 1 } }), checks = {}, diagnosis = sim.quick,
      checks_on = function() return o.switch ~= "off" end,
      next_test = function() id = id + 1; return id end,
      keep = function(_, list) table.move(list, 1, #list, #d.kept + 1, d.kept) end,
      refuse = function() d.refused = d.refused + 1 end }
   return d
end

-- Each node is a host of its own, unless somebody says where it is.
local function endpoint_of(node, o)
   return (o and o.address or "10.0.0." .. 1 + (tonumber(node:match "%d+$") or 0)) .. ":4000"
end

local function say_hello(d, node, names, o)
   local conn = o and o.conn or connection(node)
   local procid = o and o.procid or (node == names[1] and 0 or 1)
   local h = { v = 1, purpose = "matrix", job = 7, step = 0, procid = procid, node = node,
      nodes = table.concat(names, ","), endpoint = endpoint_of(node, o), key = seal.hex(KEY),
      budget_ms = 1, options = procid == 0 and (o and o.options or {}) or nil }
   assert(hello.check(h))
   local uid = o and o.uid or 0
   d.surveys:hello(conn, h, uid, function() return not d.is_elsewhere end, uid == 0)
   return conn
end

-- Every node comes; a map of their connections.
local function gather(d, names, options, uid)
   local conns = {}
   for _, n in ipairs(names) do
      conns[n] = say_hello(d, n, names, { options = options, uid = uid })
   end
   return conns
end

-- Answer the plan that came last, as well as can be.
local function answer(d, conn, change)
   local list = json.array {}
   for i, t in ipairs(conn:last(PLAN).tests) do
      list[i] = { id = t.id, role = t.role, bytes = 240000, window_ns = 10000000 }
   end
   local r = { v = 1, refused = 0, tests = list }
   if change then
      change(r)
   end
   return d.surveys:frame(conn, RESULT, conn:seal(RESULT, r))
end

local NAMES = { "n0", "n1" }

function tests.test_rounds_reports_and_the_end()
   local d = daemon()
   local c = gather(d, NAMES, { batches = 3 })
   for round = 1, 3 do
      lu.assertEquals(#c.n0:all(PLAN), round)
      lu.assertEquals(#c.n1:last(PLAN).tests, 2)
      lu.assertTrue(answer(d, c.n0))
      lu.assertTrue(answer(d, c.n1))
   end
   local reports = c.n0:all(REPORT)
   local kinds = {}
   for i, r in ipairs(reports) do
      kinds[i] = r.kind
   end
   lu.assertEquals(table.concat(kinds, " "), "begin round round round end")
   lu.assertEquals(reports[4].done, 6)
   lu.assertEquals(reports[4].results[1].class, "good")
   lu.assertEquals(reports[5].found.tests, 6)
   lu.assertEquals(#c.n1:all(REPORT), 0)
   lu.assertEquals(#c.n1:last(PLAN).tests, 0)
   lu.assertTrue(c.n0.closed and c.n1.closed)
   lu.assertNil(next(d.surveys.open))
   lu.assertNil(next(d.surveys.by_conn))
   lu.assertEquals(#d.kept, 6)
end

-- Two slurmd on one host: what they send each other never leaves it, and an audit called it good.
function tests.test_nodes_of_one_host_are_no_pair_of_a_survey()
   local d, conns = daemon(), {}
   for _, n in ipairs(NAMES) do
      conns[n] = say_hello(d, n, NAMES, { address = "10.0.0.9" })
   end
   local rows = {}
   for _, r in ipairs(conns.n0:all(REPORT)) do
      table.move(r.results or {}, 1, #(r.results or {}), #rows + 1, rows)
   end
   lu.assertTrue(#rows > 0)
   for _, row in ipairs(rows) do
      lu.assertEquals(row.class, "void")
      lu.assertStrMatches(row.why, "n[01] and n[01] are one host")
   end
   lu.assertEquals(#d.kept, 0)
end

-- Root's `taut matrix --steps` once spoke against links that its streams had shared unevenly.
function tests.test_what_is_only_shown_is_not_kept()
   for _, case in ipairs { { {}, 2 }, { { shown_only = true }, 0 }, { { mode = "latency" }, 0 } } do
      local d = daemon()
      kind.more = case[1]
      local c = gather(d, NAMES)
      answer(d, c.n0)
      answer(d, c.n1)
      kind.more = nil
      lu.assertEquals(#d.kept, case[2])
   end
end

-- Once such a turn between two RESULTs and the next round hung a test on a busy machine.
function tests.test_a_survey_in_short_turns_comes_to_the_same()
   task.turn_ns = -1
   local d = daemon()
   local c = gather(d, NAMES, { batches = 3 })
   for round = 1, 3 do
      looptest.until_true(function() return #c.n0:all(PLAN) == round end)
      lu.assertTrue(answer(d, c.n0))
      lu.assertTrue(answer(d, c.n1))
   end
   looptest.until_true(function() return c.n0.closed and c.n1.closed end)
   task.turn_ns = math.huge
   lu.assertEquals(c.n0:last(REPORT).found.tests, 6)
end

function tests.test_a_long_list_of_phases_is_cut_into_rounds()
   local d = daemon()
   local c = gather(d, NAMES, { phases = 20 })
   local sizes = {}
   while not c.n0.closed do
      local plan = c.n0:last(PLAN)
      sizes[#sizes + 1] = #plan.tests
      lu.assertTrue(plan.tests[1].start_ms < 10)
      for i = 2, #plan.tests do
         lu.assertEquals(plan.tests[i].start_ms - plan.tests[i - 1].start_ms, 12)
      end
      answer(d, c.n0)
      answer(d, c.n1)
   end
   lu.assertEquals(sizes, { 8, 8, 4 })
   local last = c.n0:all(REPORT)[4]
   lu.assertEquals({ last.done, last.phases, last.results[4].phase }, { 20, 20, 20 })
end

function tests.test_only_root_slurm_and_the_jobs_own_user_may()
   local job = { [7] = { id = 7, state = "running", user_id = 1000, nodes = "n[0-1]" } }
   for _, case in ipairs {
      { {}, NAMES, 1000, "not running" },
      { { [7] = { id = 7, state = "completing", user_id = 1000, nodes = "n[0-1]" } }, NAMES, 1000,
         "not running" },
      { job, NAMES, 1001, "not yours" },
      { job, { "n0", "n2" }, 1000, "n2 is not a node of job 7" },
   } do
      local d = daemon { jobs = case[1] }
      local conn
      looptest.quietly(function()
         conn = say_hello(d, case[2][1], case[2], { uid = case[3] })
         looptest.until_true(function() return conn.closed end)
      end)
      lu.assertTrue(conn.closed)
      lu.assertStrContains(conn:last(PLAN).note, case[4])
      lu.assertEquals(d.refused, 1)
      lu.assertNil(next(d.surveys.open))
   end
   local d = daemon { jobs = job }
   local c = gather(d, NAMES, {}, 1000)
   lu.assertFalse(c.n0.closed)
   answer(d, c.n0)
   answer(d, c.n1)
   lu.assertTrue(c.n0.closed)
   lu.assertEquals(#d.kept, 0, "a user's measurements enter no verdict")
end

function tests.test_slurm_is_asked_once_for_a_job_that_is_new()
   local d = daemon { jobs_later = { [7] = { id = 7, state = "running", user_id = 1000,
      nodes = "n[0-1]" } } }
   local c = gather(d, NAMES, {}, 1000)
   lu.assertNil(next(c.n0.got))
   looptest.until_true(function() return next(c.n1.got) end)
   lu.assertEquals(d.cluster.asked, 1)
   lu.assertEquals(#c.n1:last(PLAN).tests, 2)
end

function tests.test_a_node_that_goes_while_slurm_is_asked_is_forgotten()
   local d = daemon { jobs_later = { [7] = { id = 7, state = "running", user_id = 1000,
      nodes = "n[0-1]" } } }
   local conn = say_hello(d, "n0", NAMES, { uid = 1000 })
   d.surveys:gone(conn)
   looptest.pass(5)
   lu.assertNil(next(d.surveys.open))
   lu.assertNil(next(d.surveys.pending))
end

function tests.test_missing_unknown_and_second_processes_are_named()
   local d = daemon()
   local names = { "n0", "n1", "n5", "x9" }
   local owner = say_hello(d, "n0", names)
   local second = say_hello(d, "n0", names, { procid = 2 })
   lu.assertStrContains(second:last(PLAN).note, "one process per node")
   lu.assertTrue(second.closed)
   say_hello(d, "n1", names)
   say_hello(d, "x9", names)
   lu.assertNil(next(owner.got))
   looptest.pass(80)
   local begin = owner:all(REPORT)[1]
   lu.assertEquals(begin.missing, json.array { "n5" })
   lu.assertEquals(begin.unknown, json.array { "x9" })
   lu.assertEquals(begin.nodes, 2)
   lu.assertEquals(#owner:last(PLAN).tests, 2)
   local late = say_hello(d, "n5", names)
   lu.assertStrContains(late:last(PLAN).note, "late")
end

function tests.test_the_owner_comes_after_another_process_of_its_node()
   local d = daemon()
   local other = say_hello(d, "n0", NAMES, { procid = 1 })
   local owner = say_hello(d, "n0", NAMES)
   lu.assertTrue(other.closed)
   lu.assertStrContains(other:last(PLAN).note, "one process per node")
   d.surveys:gone(other)
   say_hello(d, "n1", NAMES, { procid = 2 })
   lu.assertEquals(#owner:last(PLAN).tests, 2)
end

-- Second processes of all nodes that came before process 0 did once began without it, and it held
-- a survey of its own then: "fewer than two nodes have come".
function tests.test_process_0_that_comes_last_is_waited_for()
   local d = daemon()
   say_hello(d, "n0", NAMES, { procid = 1 })
   local other = say_hello(d, "n1", NAMES, { procid = 2 })
   lu.assertNil(next(other.got))
   local owner = say_hello(d, "n0", NAMES)
   lu.assertEquals(#owner:last(PLAN).tests, 2)
   lu.assertEquals(#other:last(PLAN).tests, 2)
end

function tests.test_a_late_second_process_begins_nothing()
   local d = daemon()
   local c = gather(d, NAMES)
   local second = say_hello(d, "n1", NAMES, { procid = 3 })
   lu.assertStrContains(second:last(PLAN).note, "one process per node")
   answer(d, c.n0)
   answer(d, c.n1)
   lu.assertTrue(c.n0.closed)
   second = say_hello(d, "n1", NAMES, { procid = 3 })
   lu.assertTrue(second.closed)
   lu.assertStrContains(second:last(PLAN).note, "one process per node")
   lu.assertNil(next(d.surveys.open))
   -- the same processes once more are a second audit of the step
   c.n1 = say_hello(d, "n1", NAMES)
   lu.assertFalse(c.n1.closed)
   c.n0 = say_hello(d, "n0", NAMES)
   lu.assertEquals(#c.n0:last(PLAN).tests, 2)
end

function tests.test_without_its_owner_there_is_no_survey()
   local d = daemon()
   local conn = say_hello(d, "n1", NAMES)
   looptest.pass(80)
   lu.assertStrContains(conn:last(PLAN).note, "process 0 of the step did not come")
   lu.assertTrue(conn.closed)
   local other = say_hello(daemon(), "n1", NAMES, { procid = 1, conn = connection "n1" })
   lu.assertFalse(other.closed)
end

function tests.test_a_kind_that_cannot_begin_says_why()
   local d = daemon()
   local conn = say_hello(d, "n0", { "n0" })
   lu.assertEquals(conn:last(REPORT).why, "fewer than two nodes")
   lu.assertTrue(conn.closed)
   local off = say_hello(daemon { switch = "off" }, "n0", NAMES)
   lu.assertStrContains(off:last(PLAN).note, "checks are off")
end

function tests.test_a_node_that_goes_is_left_out_and_named()
   local d = daemon()
   local names = { "n0", "n1", "n2" }
   local c = gather(d, names, { batches = 3 })
   d.surveys:gone(c.n1)
   answer(d, c.n0)
   local round = c.n0:last(REPORT)
   lu.assertEquals(round.kind, "round")
   lu.assertEquals(round.gone[1].node, "n1")
   lu.assertEquals(round.results[1].class, "void")
   lu.assertStrContains(round.results[1].why, "did not report")
   lu.assertEquals(c.n0:last(PLAN).tests[1].node, "n2")
   answer(d, c.n0)
   answer(d, c.n2)
   lu.assertEquals(c.n0:last(REPORT).results[1].class, "good")
end

function tests.test_tests_of_a_node_that_has_gone_are_not_sent()
   local d = daemon { survey = { round_ms = 100 } }
   local c = gather(d, { "n0", "n1", "n2" }, { phases = 12 })
   d.surveys:gone(c.n1)
   answer(d, c.n0)
   -- the rest of the list is about n0 and n1 only
   looptest.pass(20)
   local list = c.n0:all(REPORT)
   lu.assertEquals(list[3].results[1].why, "n1 takes no part any more")
   lu.assertEquals(list[4].kind, "end")
end

local FOUR = { "n0", "n1", "n2", "n3" }

-- Rows of what n0 sent, of the report that came last.
local function of_n0(conn)
   local list = {}
   for _, r in ipairs(conn:last(REPORT).results or {}) do
      list[#list + 1] = r.src == "n0" and r or nil
   end
   return list
end

-- Half a link is good for one of two, and not for one alone.
function tests.test_who_is_left_of_a_group_is_expected_to_have_the_link_alone()
   local d = daemon()
   local c = gather(d, FOUR, { groups = 20 })
   local function half(r)
      for _, t in ipairs(r.tests) do
         t.bytes = 120000
      end
   end
   for _, n in ipairs(FOUR) do
      answer(d, c[n], half)
   end
   lu.assertEquals({ of_n0(c.n0)[1].class, of_n0(c.n0)[1].expected_Bps }, { "good", 12e6 })
   -- of the second round n1 does nothing that anybody knows of
   d.surveys:gone(c.n1)
   for _, n in ipairs { "n0", "n2", "n3" } do
      answer(d, c[n], half)
   end
   local r = of_n0(c.n0)[1]
   lu.assertEquals(r.class, "void")
   lu.assertStrContains(r.why, "what it shared with n1 to n3 is not known: n1 did not report")
   -- in the third one it has no part
   for _, n in ipairs { "n0", "n2" } do
      answer(d, c[n], half)
   end
   local list = c.n0:all(REPORT)
   for _, row in ipairs(list[#list - 1].results) do
      if row.src == "n0" then
         lu.assertEquals({ row.class, row.expected_Bps }, { "low", 24e6 })
      end
   end
end

function tests.test_what_is_good_without_the_others_stays_good()
   local d = daemon()
   local c = gather(d, FOUR, { groups = 1 })
   d.surveys:gone(c.n1)
   for _, n in ipairs { "n0", "n2", "n3" } do
      answer(d, c[n])
   end
   local row = c.n0:all(REPORT)[2].results[1]
   lu.assertEquals({ row.class, row.expected_Bps }, { "good", 24e6 })
end

-- A step of the matrix: three pairs cross one link at once.
function tests.test_a_step_without_one_pair_expects_more_of_the_others()
   local topo = sim.torus({ 4, 2, 2 }, 3)
   local step = {}
   for i = 1, 3 do
      step[i] = { src = i, dst = i + 3, route = topo:route(i, i + 3) }
   end
   expectation.of_phase(step, topo)
   lu.assertEquals(step[1].planned_Bps, 8e6)
   step.expect { step[1], step[3] }
   lu.assertEquals({ step[1].planned_Bps, step[3].planned_Bps }, { 12e6, 12e6 })
   -- the same after results: what was good for one of three is not for one of two
   expectation.of_phase(step, topo)
   for i, t in ipairs(step) do
      t.class, t.bw_Bps, t.expected_Bps = i == 2 and "void" or "good", 8e6, 8e6
      t.src_name, t.dst_name = "a" .. i, "b" .. i
   end
   rounds.doubt({ { tests = step, expect = step.expect } }, sim.quick)
   lu.assertEquals({ step[1].class, step[3].class }, { "void", "void" })
   step[1].class, step[1].bw_Bps, step[3].class, step[3].bw_Bps = "low", 4e6, "good", 12e6
   rounds.doubt({ { tests = step, expect = step.expect } }, sim.quick)
   lu.assertEquals({ step[1].class, step[3].class, step[3].ratio }, { "low", "good", 1 })
end

function tests.test_a_node_that_hangs_is_left_out_in_time()
   local d = daemon()
   local c = gather(d, { "n0", "n1", "n2" }, { batches = 2 })
   answer(d, c.n0)
   looptest.pass(3600)
   lu.assertTrue(c.n1.closed)
   lu.assertStrContains(c.n1:last(PLAN).note, "did not come in time")
   lu.assertEquals(c.n0:last(PLAN).tests[1].node, "n2")
end

function tests.test_what_does_not_fit_the_survey_is_refused()
   local d = daemon()
   local c = gather(d, NAMES, { batches = 9 })
   lu.assertNil((d.surveys:frame(c.n0, RESULT, seal.seal(KEY, RESULT, "{}", 1))))
   lu.assertNil((d.surveys:frame(c.n0, RESULT, seal.seal(KEY, PLAN, "{}", 0))))
   lu.assertNil((d.surveys:frame(c.n1, STOP, c.n1:seal(STOP, {}))))
   local same = c.n0:seal(RESULT, { v = 1, refused = 0, tests = json.array {} })
   lu.assertTrue(d.surveys:frame(c.n0, RESULT, same))
   lu.assertNil((d.surveys:frame(c.n0, RESULT, same)))
end

function tests.test_a_stop_is_an_object_of_the_owner()
   for _, text in ipairs { "5", "null", "true", '"stop"', "", "{", "\0", ("["):rep(5000) } do
      local d = daemon()
      local c = gather(d, NAMES, { batches = 9 })
      local ok, why = d.surveys:frame(c.n0, STOP, seal.seal(KEY, STOP, text, 0))
      lu.assertNil(ok, text)
      lu.assertStrContains(why, "n0: STOP: ")
      lu.assertTrue(#why < 300, why)
   end
   for _, text in ipairs { "{}", "[]", '{"why":["x"],"tag":{}}', '{"\\u001b[2J":1}' } do
      local d = daemon()
      local c = gather(d, NAMES, { batches = 9 })
      lu.assertTrue(d.surveys:frame(c.n0, STOP, seal.seal(KEY, STOP, text, 0)))
      c.n0.sealed = 1
      answer(d, c.n0)
      answer(d, c.n1)
      lu.assertEquals(c.n0:last(REPORT).why, "stopped by its owner")
   end
end

-- Text of a node is shown on a terminal and stands in the log.
function tests.test_what_a_node_says_reaches_nobody_with_control_characters()
   local d = daemon()
   local c = gather(d, NAMES)
   answer(d, c.n0, function(r)
      for _, t in ipairs(r.tests) do
         t.error = "\27[2J\n" .. ("x"):rep(5000)
      end
   end)
   answer(d, c.n1)
   for _, row in ipairs(c.n0:all(REPORT)[2].results) do
      lu.assertEquals(row.class, "void")
      lu.assertNil(row.why:find "%c")
      lu.assertTrue(#row.why < 300)
   end
end

function tests.test_odd_results_are_refused_with_a_short_line()
   for _, text in ipairs { "5", "null", "[]", '{"v":1}', '{"v":1,"tests":5}',
      '{"v":1,"tests":[5]}', '{"v":1,"tests":[{"id":1,"role":"\\u001b[2J"}]}',
      '{"v":1,"tests":[{"id":-1}]}', '{"v":1,"tests":[{"id":1,"role":"send","bytes":1e9}]}',
      ('{"v":1,"tests":[%s1]}'):format(("1,"):rep(100)), "" } do
      local d = daemon()
      local c = gather(d, NAMES)
      local ok, why = d.surveys:frame(c.n1, RESULT, seal.seal(KEY, RESULT, text, 0))
      lu.assertNil(ok, text)
      lu.assertTrue(#why < 300 and not why:find "%c", why)
      d.surveys:gone(c.n1)
      answer(d, c.n0)
      local gone = c.n0:all(REPORT)[2].gone
      lu.assertEquals(gone[1].node, "n1")
      lu.assertStrContains(gone[1].why, "its result was refused")
   end
end

function tests.test_options_that_make_no_sense_are_refused_in_words()
   local names = { "n0", "n1" }
   for _, options in ipairs { { batches = 1, ["\27"] = {} },
      { tag = { 1 } }, { tag = ("x"):rep(1 << 16) } } do
      local d = daemon()
      local c = gather(d, names, options)
      lu.assertEquals(d.surveys:stop({ tag = "y" }, 0), 0)
      d.surveys:stop({}, 0)
      for _, n in ipairs(names) do
         d.surveys:gone(c[n])
      end
      lu.assertNil(next(d.surveys.by_conn))
   end
end

function tests.test_a_round_cannot_be_answered_with_an_earlier_result()
   local d = daemon()
   local c = gather(d, NAMES, { batches = 9 })
   local first = c.n0:seal(RESULT, { v = 1, refused = 0, tests = json.array {} })
   lu.assertTrue(d.surveys:frame(c.n0, RESULT, first))
   answer(d, c.n1)
   local ok, why = d.surveys:frame(c.n0, RESULT, first)
   lu.assertNil(ok)
   lu.assertStrContains(why, "not sealed")
end

function tests.test_a_sender_that_says_more_than_arrived_is_believed_no_more_than_the_receiver()
   local d = daemon()
   local c = gather(d, NAMES)
   answer(d, c.n0, function(r)
      for _, t in ipairs(r.tests) do
         t.bytes = t.role == "send" and 480000 or t.bytes
      end
   end)
   answer(d, c.n1)
   local rows = c.n0:all(REPORT)[2].results
   local void
   for _, r in ipairs(rows) do
      void = r.src == "n0" and r or void
   end
   lu.assertEquals(void.class, "void")
   lu.assertStrContains(void.why, "n1 received 24.0 MB/s, n0 sent 48.0 MB/s")
end

function tests.test_stop_finishes_what_runs()
   local d = daemon()
   local c = gather(d, NAMES, { batches = 9 })
   lu.assertTrue(d.surveys:frame(c.n0, STOP, c.n0:seal(STOP, {})))
   lu.assertFalse(c.n0.closed)
   answer(d, c.n0)
   answer(d, c.n1)
   lu.assertTrue(c.n0.closed and c.n1.closed)
   local last = c.n0:last(REPORT)
   lu.assertEquals(last.why, "stopped by its owner")
   lu.assertEquals(last.found.tests, 2)
   local early = daemon()
   local owner = say_hello(early, "n0", NAMES)
   early.surveys:frame(owner, STOP, owner:seal(STOP, {}))
   lu.assertTrue(owner.closed)
end

function tests.test_an_owner_that_goes_ends_it()
   local d = daemon()
   local c = gather(d, NAMES, { batches = 9 })
   d.surveys:gone(c.n0)
   answer(d, c.n1)
   lu.assertTrue(c.n1.closed)
   lu.assertNil(next(d.surveys.open))
end

-- Root of a node can ask as any user, but does not know the tag.
function tests.test_an_administrator_can_stop_all_and_a_user_his_own_by_its_tag()
   local jobs = { [7] = { id = 7, state = "running", user_id = 1000, nodes = "n[0-1]" } }
   local d = daemon { jobs = jobs }
   gather(d, NAMES, { batches = 9, tag = "5e" }, 1000)
   lu.assertEquals(d.surveys:stop({ tag = "5e" }, 1001), 0)
   lu.assertEquals(d.surveys:stop({ job = 8, tag = "5e" }, 1000), 0)
   for _, tag in ipairs { "x", json.null, true } do
      lu.assertEquals(d.surveys:stop({ tag = tag }, 1000), 0)
   end
   lu.assertEquals(d.surveys:stop({ job = 7 }, 1000), 0)
   lu.assertEquals(d.surveys:stop({ job = 7, tag = "5e" }, 1000), 1)
   lu.assertEquals(d.surveys:stop({ tag = "x" }, 0), 0)
   lu.assertEquals(d.surveys:stop({}, 0), 1)
end

function tests.test_two_surveys_of_the_same_links_take_turns()
   local d = daemon()
   local a = gather(d, NAMES, { batches = 2 })
   local b = {}
   for i, n in ipairs(NAMES) do
      b[n] = connection(n)
      local h = { purpose = "matrix", job = 8, step = 0, procid = i - 1, node = n,
         nodes = "n0,n1", endpoint = endpoint_of(n), key = seal.hex(KEY),
         options = i == 1 and {} or nil }
      d.surveys:hello(b[n], h, 0, function() return true end, true)
   end
   lu.assertEquals(#a.n0:all(PLAN), 1)
   lu.assertEquals(#b.n0:all(PLAN), 0)
   lu.assertEquals(b.n0:last(REPORT).kind, "wait")
   answer(d, a.n0)
   answer(d, a.n1)
   lu.assertEquals(#a.n0:all(PLAN), 1, "the other one's turn")
   looptest.until_true(function() return #b.n0:all(PLAN) == 1 end, 3000)
   lu.assertEquals(#a.n0:all(PLAN), 1)
   answer(d, b.n0)
   answer(d, b.n1)
   looptest.until_true(function() return #a.n0:all(PLAN) == 2 end, 3000)
end

function tests.test_what_a_round_holds_is_free_when_it_is_over()
   local d = daemon()
   local c = gather(d, NAMES)
   local now = require("taut.loop").time()
   local tx = d.topo.component_id["n0/tx"]
   lu.assertTrue(d.coverage:is_busy(tx, now))
   answer(d, c.n0)
   answer(d, c.n1)
   lu.assertFalse(d.coverage:is_busy(tx, now + 0.5))
end

-- Six HELLOs of a million names each made tautd deaf for 22 s.
function tests.test_a_users_list_is_held_beside_slurms_before_it_is_expanded()
   local d = daemon { jobs = { [7] = { id = 7, state = "running", user_id = 1000,
      nodes = "n[0-1]" }, [8] = { id = 8, state = "running", user_id = 1001, nodes = "n[0-1]" } } }
   local function attack(job, nodes)
      local conn, made = connection "n0", d.surveys.lists.made
      d.surveys:hello(conn, { purpose = "matrix", job = job, step = 0, procid = 0, node = "n0",
         nodes = nodes, endpoint = "", key = seal.hex(KEY), options = {} }, 1000)
      lu.assertTrue(conn.closed)
      return conn:last(PLAN).note, d.surveys.lists.made - made
   end
   local note, made = attack(8, "n[0-999999]")
   lu.assertStrContains(note, "job 8 is not yours")
   lu.assertEquals(made, 0)
   note = attack(7, "n[0-999999]")
   lu.assertStrContains(note, "more than 2 names")
   note = attack(7, "n[0-2]")
   lu.assertStrContains(note, "more than 2 names")
   note = attack(7, "n0,n5")
   lu.assertStrContains(note, "n5 is not a node of job 7")
   note, made = attack(7, "n0,n5")
   lu.assertStrContains(note, "n5 is not a node of job 7")
   lu.assertEquals(made, 0)
end

function tests.test_nobody_opens_surveys_without_end()
   local jobs = {}
   for j = 1, 9 do
      jobs[j] = { id = j, state = "running", user_id = 1000, nodes = "n[0-1]" }
   end
   local d = daemon { jobs = jobs }
   local last
   for j = 1, 5 do
      last = connection "n0"
      d.surveys:hello(last, { purpose = "matrix", job = j, step = 0, procid = 0, node = "n0",
         nodes = "n0,n1", endpoint = "", key = seal.hex(KEY), options = {} }, 1000)
   end
   lu.assertStrContains(last:last(PLAN).note, "4 surveys run already")
   lu.assertTrue(last.closed)
end

return tests
