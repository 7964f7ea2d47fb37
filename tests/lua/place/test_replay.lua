-- SPDX-License-Identifier: GPL-2.0-or-later
-- The model behind the bench `replay`: reading a trace, the scheduler, what is drawn.
local src = os.getenv "TAUT_SRCDIR" or "."
package.path = src .. "/tests/bench/lib/?.lua;" .. package.path

local easy = require "replay.easy"
local lu = require "luaunit"
local measure = require "replay.measure"
local sim = require "lib.sim"
local stats = require "stats"
local swf = require "replay.swf"
local workload = require "replay.workload"

local tests = {}

local function lines_of(text)
   return (text .. "\n"):gmatch "([^\n]*)\n"
end

---------------------------------------------------------------- traces

local RANGE = (": a number from -1 to %d expected"):format(1 << 40)

function tests.test_trace_of_nonsense_says_where()
   local line = "1 5 0 10 4 -1 -1 4 20"
   for _, case in ipairs {
      { "", "t:1: no jobs" },
      { "; MaxNodes: 3", "t:1: no jobs" },
      { "1 2 3", "t:1: 3 fields, at least 9 expected" },
      { line .. "\n1 x 0 10 4 -1 -1 4 20", "t:2: submit time 'x'" .. RANGE },
      { "1 5 0 1e9 4 -1 -1 4 20", "t:1: run time '1e9'" .. RANGE },
      { "1 5 0 10 0x4 -1 -1 4 20", "t:1: allocated processors '0x4'" .. RANGE },
      { "1 5 0 9999999999999999 4 -1 -1 4 20", "t:1: run time '9999999999999999'" .. RANGE },
      { "1 5 0 10\0 4 -1 -1 4 20", "t:1: run time '10?'" .. RANGE },
      { "; MaxNodes: 3\n" .. line, "t:2: 4 processors, the header has 3" },
      { ("1 "):rep(3000), "t:1: 6000 characters, at most 4096 expected" },
   } do
      local trace, err = swf.read(lines_of(case[1]), "t")
      lu.assertNil(trace)
      lu.assertEquals(err, case[2])
   end
end

function tests.test_trace_fields_order_and_what_is_skipped()
   local trace = swf.read(lines_of [[
; MaxNodes: 100
2 50 0 10 4 -1 -1 4 20 -1 0
1 5 7 10 -1 -1 -1 8 -1
3 60 0 0 4 -1 -1 4 20
4 60 0 10 -1 -1 -1 -1 20

5 50 0 9.9 1 -1 -1 1 20]], "t")
   lu.assertEquals(trace.size, 100)
   lu.assertEquals(trace.skipped, 2)
   local got = {}
   for _, j in ipairs(trace.jobs) do
      got[#got + 1] = { j.id, j.submit, j.run, j.nodes, j.limit }
   end
   lu.assertEquals(got, { { 1, 5, 10, 8, 10 }, { 2, 50, 10, 4, 20 }, { 5, 50, 9, 1, 20 } })
end

function tests.test_changed_traces_never_raise()
   local text = "; MaxNodes: 9\n1 5 0 10 4 -1 -1 4 20 -1 0 -1\n2 9 0 10 4 -1 -1 4 20\n"
   math.randomseed(7)
   for _ = 1, 3000 do
      local b = { text:byte(1, -1) }
      for _ = 1, math.random(4) do
         b[math.random(#b)] = math.random(0, 255)
      end
      local trace, err = swf.read(lines_of(string.char(table.unpack(b))), "t")
      lu.assertTrue(trace ~= nil or err:find "^t:%d+: " ~= nil)
   end
end

function tests.test_the_recorded_trace_of_theta()
   local pipe = assert(io.popen("gzip -dc '" .. src .. "/tests/data/workload/theta_2022.swf.gz'"))
   local trace = swf.read(pipe:lines(), "theta")
   pipe:close()
   lu.assertEquals({ #trace.jobs, trace.skipped, trace.size }, { 23911, 0, 4360 })
   local first, last = trace.jobs[1], trace.jobs[#trace.jobs]
   lu.assertEquals({ first.id, first.run, first.nodes, first.limit }, { 1, 10849, 128, 10800 })
   lu.assertEquals((last.submit - first.submit) // 86400, 363)
end

---------------------------------------------------------------- the scheduler

-- Lowest free numbers.
local function lowest(job, free, size)
   local chosen = {}
   for n = 1, size do
      if free[n] and #chosen < job.nodes then
         chosen[#chosen + 1] = n
      end
   end
   return chosen
end

local function random_jobs(count, size, seed)
   local jobs, t = {}, 0
   for i = 1, count do
      local function u(k) return workload.draw(seed, i, k) end
      t = t + math.floor(u(1) * 40)
      local limit = 1 + math.floor(u(2) * 300)
      jobs[i] = { id = i, submit = t, limit = limit, run = 1 + math.floor(u(3) * limit),
         nodes = 1 + math.floor(u(4) ^ 3 * size) }
   end
   return jobs
end

local function play(jobs, size, hooks)
   hooks = hooks or {}
   hooks.place = hooks.place or function(job, free) return lowest(job, free, size) end
   local scheduler = easy.new(size, hooks)
   return scheduler, scheduler:play(jobs)
end

function tests.test_a_short_job_fills_a_hole_and_a_long_one_does_not()
   local jobs = {
      { id = 1, submit = 0, run = 100, limit = 100, nodes = 6 },
      { id = 2, submit = 1, run = 50, limit = 50, nodes = 8 },  -- waits for 1
      { id = 3, submit = 2, run = 90, limit = 98, nodes = 4 },  -- ends before 100
      { id = 4, submit = 3, run = 10, limit = 200, nodes = 4 }, -- would hold 2 up
   }
   play(jobs, 10)
   local starts = {}
   for i, j in ipairs(jobs) do
      starts[i] = j.start
   end
   lu.assertEquals(starts, { 0, 100, 2, 150 })
end

function tests.test_a_long_job_may_take_what_the_reservation_leaves()
   local jobs = {
      { id = 1, submit = 0, run = 100, limit = 100, nodes = 6 },
      { id = 2, submit = 1, run = 50, limit = 50, nodes = 8 },
      { id = 3, submit = 2, run = 500, limit = 500, nodes = 2 }, -- 10 - 8
      { id = 4, submit = 2, run = 500, limit = 500, nodes = 1 }, -- nothing is left for it
   }
   play(jobs, 10)
   lu.assertEquals({ jobs[2].start, jobs[3].start, jobs[4].start }, { 100, 2, 150 })
end

-- Over many random loads: nobody before his submission, no node twice, every job once and for its
-- time, and nodes neither lost nor made.
function tests.test_nodes_are_conserved()
   for seed = 1, 12 do
      local size, jobs, owner, ended = 64, random_jobs(200, 64, seed), {}, 0
      local scheduler = play(jobs, size, {
         started = function(job)
            for _, n in ipairs(job.on) do
               lu.assertNil(owner[n])
               owner[n] = job
            end
         end,
         ended = function(job, now)
            ended = ended + 1
            lu.assertEquals(now, job.start + job.run)
            for _, n in ipairs(job.on) do
               lu.assertIs(owner[n], job)
               owner[n] = nil
            end
         end })
      lu.assertEquals(ended, #jobs)
      lu.assertNil(next(owner))
      lu.assertEquals(scheduler.idle, size)
      for n = 1, size do
         lu.assertTrue(scheduler.free[n])
      end
      for _, j in ipairs(jobs) do
         lu.assertTrue(j.start >= j.submit)
      end
   end
end

-- What the head of the queue was promised when it came to the head, it gets, though jobs end early
-- and others are filled in.
function tests.test_a_reservation_is_never_put_off()
   for seed = 1, 12 do
      local jobs, promised = random_jobs(200, 64, seed + 100), {}
      local scheduler
      local function note()
         local s = scheduler.shadow
         if s then
            promised[s.job] = math.min(promised[s.job] or math.huge, s.time)
         end
      end
      scheduler = easy.new(64, { place = function(job, free) return lowest(job, free, 64) end,
         started = function() note() end, ended = function() note() end })
      scheduler:play(jobs, { every = 1, from = 0, fn = note })
      local n = 0
      for job, time in pairs(promised) do
         n = n + 1
         lu.assertTrue(job.start <= time)
      end
      lu.assertTrue(n > 20)
   end
end

function tests.test_the_first_of_equal_jobs_starts_first()
   local jobs = random_jobs(100, 16, 5)
   for _, j in ipairs(jobs) do
      j.nodes, j.limit = 16, 300
   end
   play(jobs, 16)
   for i = 2, #jobs do
      lu.assertEquals(jobs[i].start, math.max(jobs[i].submit, jobs[i - 1].stop))
   end
end

function tests.test_which_nodes_does_not_change_when_jobs_start()
   local a, b = random_jobs(300, 64, 9), random_jobs(300, 64, 9)
   play(a, 64)
   play(b, 64, { place = function(job, free)
      local chosen = {}
      for n = 64, 1, -1 do
         if free[n] and #chosen < job.nodes then
            chosen[#chosen + 1] = n
         end
      end
      return chosen
   end })
   for i in ipairs(a) do
      lu.assertEquals(a[i].start, b[i].start)
   end
end

function tests.test_a_wrong_placement_is_an_error()
   local job = { id = 7, submit = 0, run = 1, limit = 1, nodes = 2 }
   lu.assertErrorMsgContains("job 7: 1 nodes placed, 2 asked for", play, { job }, 4,
      { place = function() return { 1 } end })
   lu.assertErrorMsgContains("job 7: node 9 is not free", play, { job }, 4,
      { place = function() return { 1, 9 } end })
   lu.assertErrorMsgContains("job 7: node 1 is not free", play, { job }, 4,
      { place = function() return { 1, 1 } end })
   job.nodes = 5
   lu.assertErrorMsgContains("job 7: 5 nodes, the machine has 4", play, { job }, 4)
end

---------------------------------------------------------------- what is drawn

local function small_trace()
   local jobs = {}
   for i = 1, 4000 do
      jobs[i] = { id = i, submit = i * 100, run = 500, limit = i % 10 == 0 and 400 or 600,
         nodes = 1 + i % 100 }
   end
   return { jobs = jobs, size = 100 }
end

function tests.test_a_window_is_scaled_cut_and_marked()
   local o = { size = 400, from = 1, days = 2, warm = 0.5, heavy = 0.4, seed = 1 }
   local w = workload.window(small_trace(), o)
   local counted, heavy = 0, 0
   for _, j in ipairs(w.jobs) do
      lu.assertEquals(j.nodes, (1 + j.id % 100) * 4)
      lu.assertTrue(j.run <= j.limit)
      lu.assertEquals(j.counted, j.submit >= w.from)
      counted, heavy = counted + (j.counted and 1 or 0), heavy + (j.pattern and 1 or 0)
   end
   lu.assertEquals(counted, 2 * 864)
   lu.assertEquals(#w.jobs, 2.5 * 864)
   lu.assertAlmostEquals(heavy / #w.jobs, 0.4, 0.04)
   lu.assertAlmostEquals(w.cut, 0.02, 0.004)
   local none, err = workload.window(small_trace(), { size = 4, from = 900, days = 1, warm = 0,
      heavy = 0, seed = 1 })
   lu.assertNil(none)
   lu.assertStrContains(err, "no job was submitted from day 900 to day 901")
end

function tests.test_a_draw_depends_on_seed_and_job_alone()
   lu.assertEquals(workload.draw(1, 2, 3), workload.draw(1, 2, 3))
   local seen, sum = {}, 0
   for seed = 0, 9 do
      for job = 1, 100 do
         local u = workload.draw(seed, job, 1)
         lu.assertTrue(u >= 0 and u < 1)
         lu.assertNil(seen[u])
         seen[u], sum = true, sum + u
      end
   end
   lu.assertAlmostEquals(sum / 1000, 0.5, 0.03)
end

function tests.test_shares_of_patterns_add_up()
   local sum = 0
   for _, m in ipairs(workload.mix) do
      sum = sum + m[1]
   end
   lu.assertAlmostEquals(sum, 1, 1e-9)
   lu.assertNil(workload.pattern(1, 1, 0))
   lu.assertStrContains(workload.pattern(1, 1, 1), ":bytes=")
end

function tests.test_slow_links_come_in_both_directions()
   local topo = sim.torus({ 8, 8, 8 }, 1)
   local left, n = workload.slow_links(topo, 0.05, 3)
   local count = 0
   for c, rest in pairs(left) do
      count = count + 1
      lu.assertTrue(topo:is_link(c))
      lu.assertEquals(left[topo:opposite(c)], rest)
   end
   lu.assertEquals(count, n)
   lu.assertAlmostEquals(n / (8 * 8 * 8 * 6), 0.05, 0.015)
   lu.assertEquals(workload.slow_links(topo, 0, 3), {})
end

---------------------------------------------------------------- both together

local function small_window(topo, seed)
   local trace = { jobs = {}, size = #topo.nodes }
   for i, j in ipairs(random_jobs(150, #topo.nodes // 2, seed)) do
      j.submit, j.limit, j.run = j.submit * 400, j.limit * 400, j.run * 400
      trace.jobs[i] = j
   end
   return assert(workload.window(trace, { size = #topo.nodes, from = 0, days = 30, warm = 0,
      heavy = 0.6, seed = seed }))
end

local function starts(played)
   local list = {}
   for i, j in ipairs(played) do
      list[i] = { j.start, j.stop }
   end
   return list
end

function tests.test_our_choice_is_never_worse_where_it_is_made_and_moves_no_start()
   local topo = sim.torus({ 6, 6, 4 }, 1)
   local left = workload.slow_links(topo, 0.05, 2)
   local window = small_window(topo, 3)
   local was = measure.replay(topo, window, "slurm", { left = left })
   local is = measure.replay(topo, window, "ours", { left = left })
   lu.assertEquals(starts(is.played), starts(was.played))
   lu.assertEquals(is.waits, was.waits)
   lu.assertEquals({ is.used, is.room, is.ever }, { was.used, was.room, was.ever })
   lu.assertAlmostEquals(is.done, was.done, 1e-6)
   lu.assertAlmostEquals(is.done, is.used, 1)
   local chosen = 0
   for _, j in ipairs(is.played) do
      if j.speed then
         lu.assertTrue(j.speed <= 1)
         chosen = chosen + (j.speed < 1 and 1 or 0)
      end
   end
   lu.assertTrue(chosen > 10)
   lu.assertTrue(measure.summary { is }.mean < measure.summary { was }.mean)
   lu.assertTrue(#is.ratios > 50 and #is.ratios == #was.ratios)
end

function tests.test_jobs_that_follow_run_shorter_and_the_work_is_the_same()
   local topo = sim.torus({ 6, 6, 4 }, 1)
   local window = small_window(topo, 4)
   local r = measure.replay(topo, window, "ours", { left = workload.slow_links(topo, 0.05, 2),
      follow = true })
   local work = 0
   for i, j in ipairs(r.played) do
      local run = j.stop - j.start
      work = work + j.nodes * j.run
      lu.assertEquals(j.run, window.jobs[i].run)
      lu.assertTrue(run <= j.run)
      if not j.speed then
         lu.assertEquals(run, j.run)
      else
         lu.assertAlmostEquals(run, math.max(1, j.run * j.speed), 0.51)
      end
   end
   lu.assertTrue(r.done / r.ever > r.used / r.room)
   lu.assertAlmostEquals(r.done, work, 1)
end

function tests.test_several_windows_are_summed_up_as_one()
   local a = { ratios = { 1, 3 }, alone = { 1, 2 }, waits = { 0, 10, 20 }, held = { 0.5 },
      took = { 1 }, used = 30, room = 100, done = 20, ever = 200 }
   local b = { ratios = { 5 }, alone = { 3 }, waits = { 30 }, held = {}, took = { 2, 3 }, used = 70,
      room = 100, done = 40, ever = 100 }
   local r = measure.summary { a, b }
   lu.assertEquals({ r.ratios, r.took }, { { 1, 3, 5 }, { 1, 2, 3 } })
   lu.assertEquals({ r.mean, r.alone, r.wait, r.contention }, { 3, 2, 15, 0.5 })
   lu.assertAlmostEquals(r.p95, 4.8, 1e-12)
   lu.assertEquals({ r.utilisation, r.work }, { 0.5, 0.2 })
   lu.assertEquals(measure.summary { a }.mean, 2)
end

function tests.test_windows_lie_evenly_over_the_trace()
   local trace = { size = 8, jobs = {} }
   for d = 0, 99 do
      trace.jobs[d + 1] = { id = d, submit = 1000 + d * 86400, run = 60, limit = 60, nodes = 1 }
   end
   local o = { size = 8, from = 3, days = 7, warm = 3, heavy = 1, seed = 1, windows = 4 }
   local list = assert(workload.windows(trace, o))
   local days = {}
   for i, w in ipairs(list) do
      days[i] = { (w.from - 1000) // 86400, (w.to - 1000) // 86400, #w.jobs }
   end
   lu.assertEquals(days, { { 3, 10, 10 }, { 32, 39, 10 }, { 62, 69, 10 }, { 92, 99, 10 } })
   o.windows = 1
   lu.assertEquals(#workload.windows(trace, o), 1)
   o.from = 200
   local none, why = workload.windows(trace, o)
   lu.assertNil(none)
   lu.assertStrContains(why, "no job was submitted from day 200 to day 207")
   o.windows = 2
   none, why = workload.windows(trace, o)
   lu.assertNil(none)
   lu.assertStrContains(why, "2 windows of 7 days from day 200 on: the trace has 99")
end

function tests.test_an_interval_of_resamples_holds_the_value()
   local list = {}
   for i = 1, 40 do
      list[i] = i
   end
   local low, high = stats.resampled(#list, function(numbers)
      lu.assertEquals(#numbers, #list)
      local sum = 0
      for _, n in ipairs(numbers) do
         sum = sum + list[n]
      end
      return sum / #numbers
   end)
   lu.assertTrue(low > 14 and low < 19 and high > 22 and high < 27)
end

-- All loads that were put on are taken off again: nothing of an ended job stays behind.
function tests.test_the_background_of_others_ends_with_them()
   local comm = require "replay.comm"
   local topo = sim.torus({ 4, 4, 4 }, 1)
   local c = comm.new(topo, {})
   local jobs = {}
   for i = 1, 6 do
      local on = {}
      for k = 1, 8 do
         on[k] = (i - 1) * 8 + k
      end
      jobs[i] = { id = i, nodes = 8, on = on, pattern = workload.pattern(1, i, 1) }
      c:begin(jobs[i], on)
   end
   lu.assertNotNil(next(c.background))
   for _, j in ipairs(jobs) do
      lu.assertTrue(c:now(j) >= j.alone - 1e-9)
   end
   for _, j in ipairs(jobs) do
      c:finish(j)
   end
   lu.assertEquals(c.background, {})
end

-- With everybody else gone a job is as it is alone; beside a job on the same links it is not.
function tests.test_others_on_the_same_links_make_it_longer()
   local comm = require "replay.comm"
   local topo = sim.torus({ 8 }, 2) -- nodes 1 and 2 on the first router, …
   local c = comm.new(topo, {})
   local a = { id = 1, nodes = 4, on = { 1, 3, 5, 7 }, pattern = "all-to-all:compute=0" }
   local b = { id = 2, nodes = 4, on = { 2, 4, 6, 8 }, pattern = "all-to-all:compute=0" }
   c:begin(a, a.on)
   lu.assertAlmostEquals(c:now(a), a.alone, 1e-9)
   c:begin(b, b.on)
   lu.assertAlmostEquals(b.alone, a.alone, 1e-9)
   lu.assertTrue(c:now(a) > 1.5 * a.alone)
   c:finish(b)
   lu.assertAlmostEquals(c:now(a), a.alone, 1e-9)
end

return tests
