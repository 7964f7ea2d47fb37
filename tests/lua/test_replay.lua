-- SPDX-License-Identifier: GPL-2.0-or-later
-- The model behind the bench `replay`: reading a trace, the scheduler, what is drawn.
local src = os.getenv "TAUT_SRCDIR" or "."
package.path = src .. "/tests/bench/lib/?.lua;" .. package.path

local easy = require "replay.easy"
local lu = require "luaunit"
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
   local sim = require "sim"
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

return tests
