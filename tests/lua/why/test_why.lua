-- SPDX-License-Identifier: GPL-2.0-or-later
-- "Was it the network?": what is kept of a job, and what is answered of it.
local earlier = require "taut.why.earlier"
local facts = require "taut.why.facts"
local json = require "taut.json"
local looptest = require "lib.looptest"
local lu = require "luaunit"
local numbers = require "taut.why.numbers"
local parts = require "lib.parts"
local summary = require "taut.events.summary"
local sys = require "taut.sys"
local topology = require "taut.topology"
local verdict = require "taut.why.verdict"
local ways = require "taut.why.ways"

local tests = {}

local CAPACITY = 24e6

-- As the store's `usage_of_job` answers: what each node sent in so many seconds.
local function usage(sent, seconds, more)
   local rows = {}
   for i, bytes in ipairs(sent) do
      rows[i] = { node = "n" .. i - 1, interface = "hsn0", source = "netdev", seconds = seconds,
         counters = { tx_bytes = bytes, rx_bytes = bytes } }
      for name, v in pairs(more and more[i] or {}) do
         rows[i].counters[name] = v
      end
   end
   local s, nodes = summary.of(rows)
   return { summary = s, nodes = nodes }
end

local function even(count, bytes)
   local list = {}
   for i = 1, count do
      list[i] = bytes
   end
   return list
end

local function job_of(o)
   local now = os.time()
   local job = { id = 7, user_id = 0, name = "halo", num_nodes = 8, nodes = "n[0-7]",
      partition = "all", start = now - 60, ["end"] = now, state = "completing", restart = 0,
      result = "completed" }
   for k, v in pairs(o or {}) do
      job[k] = v
   end
   return job
end

-- Rows of earlier runs.
local function runs(times, bytes)
   local list = {}
   for i, t in ipairs(times) do
      list[i] = { id = i, restart = 0, time = os.time() - 1000 * i, run_s = t, facts = facts.text {
         traffic = { told = 8, seconds = t, sent = bytes, received = bytes,
            busiest = bytes / 8 } } }
   end
   return list
end

-- The row of a job that is over.
local function over(p, job, u, row)
   local got
   row = row or p.profiles:take(job, u.nodes, nil)
   p.why:over(job, u, row, function(line) got = { row = row, line = line } end)
   looptest.until_true(function() return got end)
   return got
end

local function ask(p, args, uid, cmd)
   local got
   local client = { reply = function(_, text) got = json.decode(text) end }
   p.query:answer(client, json.encode { cmd = cmd or "why", args = args or {} }, uid or 0)
   if not got then
      looptest.until_true(function() return got end)
   end
   return got
end

local function answer_of(p, got)
   p.journal.stored.job_row = { got.row }
   return ask(p, { job = got.row.id }).data
end

local function make_slow(p, name, left)
   p.events:record { { component = name, origin = "test", left = left, text = "x4 of x16" } }
   local c = p.site.topo.component_id[name]
   p.diagnosis:hard(c, left, { why = "x4 of x16", head = "x4", since = os.time() - 3000 },
      os.time() - 3000)
   local k = p.diagnosis:component(c)
   k.state, k.left, k.since = "slow", left, os.time() - 3000
   p.diagnosis.decided[c] = true
   return c
end

local function finding(d, cause)
   for _, f in ipairs(d.findings) do
      if f.cause == cause then
         return f
      end
   end
end

---------------------------------------------------------------- several fabrics

local TWO = [[{
   ib = fattree { nodes_per_leaf = 4, levels = { { down = 2, up = 2 } }, nodes = "n[0-7]",
      capacity = 24e6, interfaces = { "hsn0" } },
   eth = fattree { nodes_per_leaf = 4, levels = { { down = 3, up = 2 } }, nodes = "n[2-13]",
      capacity = 24e6, interfaces = { "eth0" } },
}]]

-- The model is of one fabric, and what a node counted is not kept by fabric: nothing is predicted,
-- and the answer says why; what is bad on the job's ways is said.
function tests.test_of_several_fabrics_nothing_is_predicted()
   local p = parts.new { fabrics = TWO }
   local topo = p.site.topo
   make_slow(p, topo.components[topo.tx[topo.node_id.n3]], 0.25)
   local d = answer_of(p, over(p, job_of(), usage(even(8, 600e6), 60)))
   lu.assertStrContains(finding(d, "component").text, "n3")
   lu.assertStrContains(finding(d, "component").text, "several fabrics")
   lu.assertStrContains(finding(d, "placement").text, "several fabrics")
end

---------------------------------------------------------------- small things

function tests.test_medians_and_what_is_far_from_them()
   lu.assertNil(numbers.quantile({}, 0.5))
   lu.assertEquals(numbers.quantile({ 3, 1, 2 }, 0.5), 2)
   lu.assertEquals({ numbers.middle { 10, 11, 12, 13, 90 } }, { 12, 1.4826 })
   local o = numbers.outliers({ { "a", 10 }, { "b", 10 }, { "c", 10 }, { "d", 30 } },
      { share = 0.25, most = 4 })
   lu.assertEquals(o.out, { { "d", 30 } })
   lu.assertEquals(numbers.outliers({ { "a", 10 }, { "d", 30 } }, {}).out, {})
   lu.assertNil(numbers.outliers({}, {}))
end

function tests.test_labels_as_squeue_writes_them()
   lu.assertNil(facts.label { id = 9, array_job = 0, het_job = 0 })
   lu.assertEquals(facts.label { id = 9, array_job = 7, array_task = 3 }, "7_3")
   lu.assertEquals(facts.label { id = 9, het_job = 8, het_offset = 1 }, "8+1")
end

function tests.test_facts_of_another_release_or_damaged_ones_are_none()
   for _, text in ipairs { "", "{", "7", '"x"', '{"traffic":3,"bad":"x","nodes":7}' } do
      local f = facts.read(text)
      lu.assertNil(f.traffic)
      lu.assertNil(f.bad)
      lu.assertNil(f.nodes)
   end
   lu.assertEquals(facts.read(nil), {})
end

function tests.test_facts_do_not_grow_with_the_job()
   local small = #facts.text(facts.of { job = { nodes = "n[0-7]" }, usage = usage(even(8, 1e9), 60),
      events = {}, tests = {}, bad = {} })
   local large = #facts.text(facts.of { job = { nodes = "n[0-2047]" }, events = {}, tests = {},
      usage = usage(even(2048, 1e9), 60), bad = {} })
   lu.assertTrue(large <= small + 40, ("%d, %d"):format(small, large))
   lu.assertTrue(large < 1000)
end

function tests.test_the_share_of_pairs_that_a_component_is_on()
   local topo = assert(topology.build { kind = "torus", dims = { 4, 1, 1 }, nodes_per_router = 1,
      nodes = "n[0-3]", capacity = 1e8 })
   local share, count = ways.share(topo, { 1, 2, 3, 4 }, topo.tx[2])
   lu.assertEquals({ share, count }, { 0.5, 3 })
   lu.assertEquals({ ways.share(topo, { 1, 2 }, topo.tx[3]) }, { 0, 0 })
   lu.assertEquals({ ways.share(topo, { 1 }, topo.tx[1]) }, { 0, 0 })
end

function tests.test_what_is_found_after_a_job_and_what_was_mended_before()
   local later = { name = "a", state = "slow", left = 0.25, since = 50, known = 200 }
   local fresh = { name = "b", state = "slow", left = 0.25, since = 150, known = 200,
      cleared = 120 }
   local unsure = { name = "c", state = "slow", left = 0.25, since = 150, known = 200,
      cleared = 40 }
   local found = ways.during({}, { later, fresh, unsure }, 100)
   lu.assertEquals(#found, 2)
   lu.assertEquals({ found[1].name, found[1].later, found[1].unsure }, { "a", 200, nil })
   lu.assertEquals({ found[2].name, found[2].later, found[2].unsure }, { "c", 200, true })
   lu.assertEquals(ways.during({ { name = "a" } }, { later }, 100), { { name = "a" } })
end

---------------------------------------------------------------- earlier runs

local function facts_of(bytes)
   return { traffic = { told = 8, sent = bytes, received = bytes, busiest = bytes / 8 } }
end

function tests.test_slower_than_earlier_runs_by_more_than_they_differ()
   local e = earlier.compare(runs({ 50, 51, 52, 49, 50 }, 8e8), 70, facts_of(8e8))
   lu.assertEquals({ e.runs, e.alike, e.slower_than, e.is_slower }, { 5, 5, 5, true })
   lu.assertAlmostEquals(e.lost_s, 20)
   e = earlier.compare(runs({ 50, 51, 52, 49, 50 }, 8e8), 54, facts_of(8e8))
   lu.assertFalse(e.is_slower)
   e = earlier.compare(runs({ 30, 60, 45, 80, 50 }, 8e8), 70, facts_of(8e8))
   lu.assertFalse(e.is_slower) -- they differ among themselves
end

function tests.test_another_input_is_no_comparison()
   local e = earlier.compare(runs({ 50, 51, 52 }, 4e8), 70, facts_of(8e8))
   lu.assertTrue(e.is_other_input)
   lu.assertNil(e.median_s)
   lu.assertAlmostEquals(e.times_bytes, 2)
   e = earlier.compare(runs({ 50, 51 }, 8e8), 70, facts_of(8e8))
   lu.assertNil(e.median_s) -- too few
   lu.assertFalse(e.is_other_input)
end

function tests.test_runs_that_lost_time_themselves_are_no_measure_while_there_are_others()
   local rows = runs({ 50, 51, 49, 90, 91, 92, 93 }, 8e8)
   for i = 4, 7 do
      rows[i].cause = "component"
   end
   lu.assertAlmostEquals(earlier.compare(rows, 70, facts_of(8e8)).median_s, 50)
end

---------------------------------------------------------------- whole answers

-- 8 nodes on a line of 16, each sends 2 s worth of traffic as an all-to-all says.
local function machine()
   return parts.new { dims = { 4, 2, 2 }, npr = 1 }
end

function tests.test_a_slow_link_that_explains_the_time()
   local p = machine()
   make_slow(p, "n0/tx", 0.1)
   p.journal.stored.earlier_runs = runs({ 40, 41, 40, 42, 39 }, 8 * 48e6)
   -- 48 MB of a node take 2 s on an ideal network and 20 s through a tenth of it
   local got = over(p, job_of { comment = "taut: comm=all-to-all" }, usage(even(8, 48e6), 58))
   lu.assertEquals(got.row.cause, "component")
   lu.assertTrue(math.abs(got.row.lost_s / 8 - 18) < 1, tostring(got.row.lost_s))
   lu.assertStrContains(got.line, "taut: n0/tx at 10 % on 7 of 28 pairs, +4")
   local d = answer_of(p, got)
   lu.assertEquals(d.verdict.network, "yes")
   lu.assertStrContains(d.verdict.text, "Yes: n0/tx between its nodes was slow and can explain all")
   local f = finding(d, "component")
   lu.assertEquals({ f.how, f.sure }, { "predicted", "high" })
   lu.assertTrue(math.abs(f.hi_s - 18) < 0.5)
   lu.assertEquals(finding(d, "earlier").how, "measured")
   lu.assertEquals(p.why:lost_by_cause().component, got.row.lost_s)
end

function tests.test_a_slow_link_is_not_blamed_for_what_it_cannot_have_cost()
   local p = machine()
   make_slow(p, "n0/tx", 0.5)
   p.journal.stored.earlier_runs = runs({ 40, 41, 40, 42, 39 }, 8 * 48e6)
   p.journal.stored.events_of_job = { { id = 1, purpose = "prolog", expected = 8, heard = 8 } }
   p.journal.stored.tests_of_job = { { event = 1, class = "good" } }
   local got = over(p, job_of { comment = "taut: comm=all-to-all" }, usage(even(8, 48e6), 70))
   local d = answer_of(p, got)
   lu.assertEquals(d.verdict.network, "no") -- 2 s of 30
   lu.assertEquals(d.verdict.cause, "elsewhere")
end

-- Past bug: in tests/bench/why 17 of 72 jobs to whose network nothing was done were told that a
-- component was to blame of which one or two tests had seen nothing while the machine was busy.
function tests.test_a_suspicion_is_said_and_blamed_for_nothing()
   local p = machine()
   local c = make_slow(p, "n0/tx", 0.1)
   local k = p.diagnosis:component(c)
   k.state, k.hard, k.left = "suspect", nil, nil
   p.diagnosis.decided[c], p.diagnosis.suspects[c] = nil, true
   p.journal.stored.earlier_runs = runs({ 40, 41, 40, 42, 39 }, 8 * 48e6)
   p.journal.stored.events_of_job = { { id = 1, purpose = "prolog", expected = 8, heard = 8 } }
   p.journal.stored.tests_of_job = { { event = 1, class = "good" } }
   local got = over(p, job_of { comment = "taut: comm=all-to-all" }, usage(even(8, 48e6), 58))
   lu.assertEquals(got.row.cause, "elsewhere")
   local d = answer_of(p, got)
   lu.assertEquals(d.verdict.network, "no")
   lu.assertStrContains(finding(d, "component").text, "(suspected: n0/tx)")
end

function tests.test_few_bytes_are_no_matter_of_the_network()
   local p = machine()
   make_slow(p, "n0/tx", 0.25)
   local d = answer_of(p, over(p, job_of(), usage(even(8, 1e6), 58)))
   lu.assertEquals(d.verdict.network, "no")
   lu.assertEquals(d.verdict.sure, "high")
   lu.assertStrContains(d.verdict.text, "No: all that it moved takes at most")
end

function tests.test_as_long_as_before_is_a_no_whatever_is_slow()
   local p = machine()
   make_slow(p, "n0/tx", 0.25)
   p.journal.stored.earlier_runs = runs({ 58, 57, 59, 58, 60 }, 8 * 48e6)
   local d = answer_of(p, over(p, job_of(), usage(even(8, 48e6), 58)))
   lu.assertEquals(d.verdict.network, "no")
   lu.assertStrContains(d.verdict.text, "no longer than its earlier runs")
end

function tests.test_no_test_before_and_no_earlier_run_is_not_known()
   local p = machine()
   local got = over(p, job_of(), usage(even(8, 480e6), 58))
   local d = answer_of(p, got)
   lu.assertEquals(d.verdict.network, "not known")
   lu.assertNil(got.line)
   lu.assertStrContains(finding(d, "component").text, "not known because no check was made")
   lu.assertStrContains(finding(d, "earlier").text, "not known because there is no earlier run")
end

function tests.test_low_tests_without_a_verdict_are_said_and_accuse_nothing()
   local p = machine()
   p.journal.stored.earlier_runs = runs({ 40, 41, 40, 42, 39 }, 8 * 480e6)
   p.journal.stored.events_of_job = { { id = 1, purpose = "prolog", expected = 8, heard = 8 } }
   p.journal.stored.tests_of_job = { { event = 1, class = "good" }, { event = 1, class = "low",
      src = "n2", dst = "n5", ratio = 0.3 } }
   local d = answer_of(p, over(p, job_of(), usage(even(8, 480e6), 70)))
   lu.assertEquals(d.verdict.network, "not known")
   lu.assertStrContains(finding(d, "component").text, "from n2 to n5 at 30%")
end

function tests.test_a_neighbour_that_filled_its_links()
   local p = machine()
   local loud = facts.text { nodes = "n[4-7,12-15]", traffic = { told = 8, sent = 1 } }
   p.journal.stored.at_the_same_time = { { id = 9, user = "root", name = "loud", nodes = 8,
      time = os.time() + 5, begin = os.time() - 100, sent_Bps = 8 * CAPACITY, share = 1,
      facts = loud } }
   local d = answer_of(p, over(p, job_of { nodes = "n[0-3,8-11]",
      comment = "taut: comm=all-to-all" }, usage(even(8, 240e6), 58)))
   local f = finding(d, "neighbours")
   lu.assertEquals(f.how, "predicted")
   lu.assertStrContains(f.text, "job 9 (loud of root) put")
   lu.assertTrue(f.hi_s > 0)
end

-- A job that TCP held up, `again` of a million segments.
local function sent_again(again)
   local p = machine()
   local before = runs({ 40, 41, 40, 42, 39 }, 8 * 480e6)
   for _, r in ipairs(before) do
      local f = facts.read(r.facts)
      f.traffic.can_stall, f.traffic.stalls = true, {}
      r.facts = facts.text(f)
   end
   p.journal.stored.earlier_runs = before
   p.journal.stored.events_of_job = { { id = 1, purpose = "prolog", expected = 8, heard = 8 } }
   p.journal.stored.tests_of_job = { { event = 1, class = "good" } }
   local d = answer_of(p, over(p, job_of(), usage(even(8, 480e6), 70, { { tcp_out = 1e6,
      tcp_retransmitted = again } })))
   return d.verdict, finding(d, "congestion").text
end

-- Past bug: eleven segments of a hundred thousand were blamed for what a disk took.
function tests.test_a_few_segments_that_were_sent_again_are_no_cause()
   local v, text = sent_again(1000)
   lu.assertEquals({ v.network, v.cause }, { "yes", "congestion" })
   lu.assertStrContains(text, "mostly tcp_retransmitted")
   v, text = sent_again(90)
   lu.assertEquals({ v.network, v.cause }, { "no", "elsewhere" })
   lu.assertStrContains(text, "too little was sent again to matter")
end

-- A first run has nothing of its own to be held against: other jobs tell what is usual here.
function tests.test_what_is_held_up_is_held_against_other_jobs_as_well()
   local p = machine()
   p.journal.stored.counted_lately = {}
   for i, stalled in ipairs { 1, 2, 3, 4, 50 } do
      p.journal.stored.counted_lately[i] = { facts = facts.text { traffic = { sent = 1e9,
         received = 0, stalls = { tx_wait = stalled } } } }
   end
   local d = answer_of(p, over(p, job_of(), usage(even(8, 480e6), 70, { { tcp_out = 1e6,
      tcp_retransmitted = 9000 } })))
   local f = finding(d, "congestion")
   lu.assertEquals(f.how, "not known")
   lu.assertStrContains(f.text, "other jobs 3 (median of 5, nine in ten below")
end

function tests.test_one_node_that_computes_longer_is_named()
   local p = machine()
   p.journal.stored.earlier_runs = runs({ 40, 41, 40, 42, 39 }, 8 * 1e6)
   local u = usage(even(8, 1e6), 70)
   for i, n in ipairs(u.nodes) do
      n.cpu_s = i == 3 and 65 or 35
   end
   local got = over(p, job_of(), u)
   lu.assertEquals({ got.row.cause, got.line }, { "node",
      "taut: network fine, one node differs: n2" })
   lu.assertStrContains(answer_of(p, got).verdict.text, "The processes on n2 took 65 s")
end

function tests.test_a_job_of_one_node()
   local p = machine()
   local d = answer_of(p, over(p, job_of { num_nodes = 1, nodes = "n0" }, usage({ 1e9 }, 58)))
   lu.assertEquals(d.verdict.network, "no")
end

function tests.test_the_row_is_written_although_something_goes_wrong()
   local p = machine()
   p.journal.stored.tests_of_job = { 7 }
   p.journal.stored.events_of_job = { { id = 1, purpose = "prolog" } }
   local log = sys.log
   sys.log = function() end
   local got = over(p, job_of(), usage(even(8, 1e6), 58))
   sys.log = log
   lu.assertNil(got.line)
   local names = {}
   for _, r in ipairs(p.journal.rows) do
      names[r[1]] = r[2]
   end
   lu.assertEquals(names.job.id, 7)
end

---------------------------------------------------------------- pending, running, whose

function tests.test_pending_and_running_jobs()
   local p = machine()
   p.cluster.pending = { job_of { id = 8, state = "pending", reason = "Resources", nodes = "" } }
   local d = ask(p, { job = 8 }).data
   lu.assertEquals(d.job.state, "pending")
   lu.assertStrContains(d.verdict.text, "It has not started: Slurm says Resources")
   make_slow(p, "n0/tx", 0.25)
   p.cluster.seen_running[9] = job_of { id = 9, state = "running" }
   d = ask(p, { job = 9 }).data
   lu.assertEquals(d.job.state, "running")
   lu.assertStrContains(d.verdict.text, "Perhaps: n0/tx is not well")
   lu.assertEquals(ask(p, {}).data.job.id, 9) -- the caller's last
end

-- Past bug: the second of two jobs without a start ended the question.
function tests.test_a_job_without_a_start_is_the_oldest()
   local p = machine()
   for id = 8, 10 do
      local job = job_of { id = id, state = "running" }
      if id ~= 9 then
         job.start = nil
      end
      p.cluster.seen_running[id] = job
   end
   lu.assertEquals(ask(p, {}).data.job.id, 9)
end

function tests.test_a_user_sees_his_own_jobs_only()
   local p = parts.new { dims = { 4, 2, 2 }, is_admin = false }
   p.cluster.seen_running[9] = job_of { id = 9, state = "running" }
   lu.assertStrContains(ask(p, { job = 9 }, 1000).error, "job 9 is not yours")
   lu.assertTrue(ask(p, { job = 9 }, 0).ok)
   p.journal.stored.job_row = { { id = 5, user = "root", name = "x", nodes = 8, restart = 0,
      time = os.time(), run_s = 5 } }
   lu.assertStrContains(ask(p, { job = 5 }, 1000).error, "job 5 is not yours")
   lu.assertTrue(ask(p, { job = 5 }, 0).ok)
   lu.assertStrContains(ask(p, { label = "5_1" }, 1000).error, "job 5_1 is not yours")
end

function tests.test_neighbours_of_others_have_no_name_where_jobs_are_private()
   local p = parts.new { dims = { 4, 2, 2 }, npr = 1, is_admin = false }
   p.cluster.config.private = { jobs = true }
   p.journal.stored.at_the_same_time = { { id = 9, user = "bob", name = "secret", nodes = 8,
      time = os.time() + 5, begin = os.time() - 100, sent_Bps = CAPACITY, share = 1,
      facts = facts.text { nodes = "n[4-7,12-15]" } } }
   local got = over(p, job_of { nodes = "n[0-3,8-11]", comment = "taut: comm=all-to-all" },
      usage(even(8, 240e6), 58))
   p.journal.stored.job_row = { got.row }
   local reply = json.encode(ask(p, { job = 7 }, 0))
   lu.assertStrContains(reply, "another user's job put")
   lu.assertNotStrContains(reply, "secret")
   lu.assertNotStrContains(reply, "bob")
end

function tests.test_hostile_requests_and_names()
   local p = machine()
   for _, args in ipairs { { job = "x" }, { job = -1 }, { job = 1.5 }, { job = 2 ^ 60 | 0 },
      { label = 7 }, { label = "1_2; drop" }, { label = ("1"):rep(99) .. "_1" } } do
      lu.assertFalse(ask(p, args).ok)
   end
   local name = "%s %d %n \27[31m' OR 1=1 --|\n<script>"
   local got = over(p, job_of { name = name, comment = "taut: comm=%s%s%n" },
      usage(even(8, 480e6), 58))
   lu.assertEquals(answer_of(p, got).job.name, name)
end

---------------------------------------------------------------- those that lost most

function tests.test_jobs_that_lost_most_are_for_administrators()
   local p = parts.new { is_admin = false }
   lu.assertFalse(ask(p, {}, 1000, "jobs_that_lost").ok)
   p = machine()
   p.journal.stored.jobs_that_lost = { { id = 5, user = "root", name = "x", nodes = 8, run_s = 50,
      time = 7, cause = "component", lost_s = 80,
      facts = facts.text { bad = { { name = "n0/tx" } } } } }
   local d = ask(p, { since = 1 }, 0, "jobs_that_lost").data
   lu.assertEquals(d.jobs[1].component, "n0/tx")
   lu.assertEquals(d.jobs[1].lost_node_s, 80)
end

function tests.test_a_line_for_admincomment_is_ascii_and_short()
   local c = { nodes = 8, bad = { { name = ("x\u{e9}|"):rep(200), left = 0.25, pairs = 3 } },
      run_s = 14 }
   local line = verdict.line(c, { network = "yes", component = c.bad[1].name, lost_s = 4 })
   lu.assertTrue(#line <= 255)
   lu.assertNil(line:find "[^\32-\126]")
   lu.assertNil(line:find("|", 1, true))
   lu.assertNil(verdict.line(c, { network = "not known" }))
end

function tests.test_each_finding_says_how_it_is_known()
   local p = machine()
   local d = answer_of(p, over(p, job_of(), usage(even(8, 480e6), 58)))
   for _, f in ipairs(d.findings) do
      lu.assertTrue(f.how == "measured" or f.how == "predicted" or f.how == "not known", f.how)
      lu.assertEquals(f.how == "not known", f.text:find "^not known because " ~= nil)
   end
end

return tests
