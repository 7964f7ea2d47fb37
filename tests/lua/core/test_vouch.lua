-- SPDX-License-Identifier: GPL-2.0-or-later
-- What counts: reports of nodes that spoke for themselves, of jobs that Slurm knows.
local looptest = require "lib.looptest"
local lu = require "luaunit"
local node_lists = require "taut.wire.node_lists"
local loop = require "taut.loop"
local tables = require "taut.base.tables"
local vouch = require "taut.core.vouch"

local tests = {}

-- `jobs`: what Slurm answers by number; false: it does not answer.
local function court(jobs, running)
   local c = { counted = {}, refused = {}, asked = {}, jobs = jobs }
   c.vouch = vouch.new { site = { topo = { nodes = { "n0", "n1", "n2", "n3" } } },
      cluster = { seen_running = running or {} },
      lists = node_lists.new(function() return 4 end),
      slurm = { ask = function(_, r, fn)
         table.insert(c.asked, r.job)
         local job = c.jobs[r.job]
         if job == false then
            fn(nil, "Unable to contact slurm controller")
         elseif job then
            fn { job = job }
         else
            fn(nil, "Invalid job id specified")
         end
      end },
      findings = { session = function(_, s)
         c.peers = tables.keys(s.peers)
         table.insert(c.counted, #s.tests > 0 and s.job or nil)
      end },
      refusals = { note = function(_, _, why) table.insert(c.refused, why) end } }
   return c
end

local function session(job, says, o)
   local s = { job = job, purpose = "prolog", tests = { { src = 1, dst = 2 } }, peers = {} }
   for n = 1, 2 do
      s.peers[n] = { is_vouched = function() return says[n], "n1 speaks from elsewhere" end }
   end
   for k, v in pairs(o or {}) do
      s[k] = v
   end
   return s
end

local BOTH = { true, true }

function tests.test_a_job_that_slurm_has_running_counts_at_once()
   local c = court({}, { [7] = { state = "running", nodes = "n[0-1]" } })
   c.vouch:session(session(7, BOTH))
   lu.assertEquals(c.counted, { 7 })
   lu.assertEquals(c.asked, {})
end

function tests.test_a_job_that_slurm_did_not_tell_of_yet_is_asked_for()
   local c = court { [7] = { state = "over", nodes = "n[0-3]" } }
   c.vouch:session(session(7, BOTH))
   lu.assertEquals(c.counted, { 7 })
   lu.assertEquals(c.asked, { 7 })
end

function tests.test_an_invented_job_counts_for_nothing()
   local c = court {}
   c.vouch:session(session(4711, BOTH))
   lu.assertEquals(c.counted, {})
   lu.assertStrContains(c.refused[1], "Slurm knows of no job 4711; 1 of 1 tests count for nothing")
end

-- Over ALPS a job of a second is gone before anybody can be asked.
function tests.test_a_job_of_tickets_is_not_asked_for()
   local c = court {}
   local s = session(7, BOTH)
   s.peers[1].is_vouched = function() return true, nil, true end
   c.vouch:session(s)
   lu.assertEquals({ c.counted, c.asked }, { {}, { 7 } })
   s = session(7, BOTH)
   for _, peer in pairs(s.peers) do
      peer.is_vouched = function() return true, nil, true end
   end
   c.vouch:session(s)
   lu.assertEquals({ c.counted, c.asked }, { { 7 }, { 7 } })
end

function tests.test_nodes_that_are_not_the_jobs_count_for_nothing()
   for _, job in ipairs { { state = "running", nodes = "n0" }, { state = "pending" },
      { state = "running", nodes = "n[2-3]" } } do
      local c = court({ [7] = job }, { [7] = job })
      c.vouch:session(session(7, BOTH))
      lu.assertEquals(c.counted, {})
      lu.assertStrContains(c.refused[1], "Slurm has job 7 not there")
   end
end

function tests.test_one_end_from_elsewhere_is_enough()
   local c = court({}, { [7] = { state = "running", nodes = "n[0-3]" } })
   c.vouch:session(session(7, { true, false }))
   lu.assertEquals(c.counted, {})
   lu.assertStrContains(c.refused[1], "n1 speaks from elsewhere")
end

function tests.test_what_one_node_says_falls_alone()
   for _, says in ipairs { { true, true, false }, { true, true, true } } do
      local c = court { [7] = { state = "running", nodes = "n[0-1]" } }
      local s = session(7, says, { results = { {}, {}, {} },
         tests = { { src = 1, dst = 2 }, { src = 2, dst = 3 }, { src = 3, dst = 1 } } })
      s.peers[3] = { is_vouched = function() return says[3], "n2 speaks from elsewhere" end }
      c.vouch:session(s)
      lu.assertEquals(c.counted, { 7 })
      lu.assertEquals({ #s.tests, s.results[3], c.peers }, { 1, nil, { 1, 2 } })
      lu.assertStrContains(c.refused[1], "; 2 of 3 tests count for nothing")
   end
end

-- Nobody but the nodes says that it ran there before.
function tests.test_a_job_that_was_put_back_counts_where_slurm_saw_it()
   for _, job in ipairs { { state = "pending", restart = 1 },
      { state = "running", nodes = "n[2-3]", restart = 3 } } do
      local c = court { [7] = job }
      c.vouch:session(session(7, BOTH))
      lu.assertEquals(c.counted, {})
      lu.assertStrContains(c.refused[1], "Slurm has job 7 not there any more, it was requeued;")
      c = court({ [7] = job }, { [7] = { state = "running", nodes = "n[0-1]" } })
      c.vouch:session(session(7, BOTH))
      lu.assertEquals({ c.counted, c.asked }, { { 7 }, {} })
   end
   local c = court { [7] = { state = "running", nodes = "n[0-3]", restart = 1 } }
   c.vouch:session(session(7, BOTH))
   lu.assertEquals(c.counted, { 7 })
end

function tests.test_what_waits_outlasts_slurmctld()
   local time, now = loop.time, 0
   loop.time = function() return now end
   local says = { true, nil }
   local c = court({}, { [7] = { state = "running", nodes = "n[0-3]" } })
   c.vouch:session(session(7, says))
   for _ = 1, 3 do
      now = now + 3600
      c.vouch:refreshed(false)
   end
   lu.assertEquals(#c.vouch.waiting, 1)
   c.vouch:refreshed(true)
   now = now + 601 -- long enough: Slurm answers, and nobody knows the name
   c.vouch:refreshed(true)
   loop.time = time
   lu.assertEquals({ #c.vouch.waiting, c.counted, c.peers }, { 0, {}, { 1 } })
   lu.assertStrContains(c.refused[1], "its address could not be looked up")
end

function tests.test_what_is_not_known_yet_waits_for_slurms_next_answer()
   local says = { true, nil }
   local c = court({}, { [7] = { state = "running", nodes = "n[0-3]" } })
   c.vouch:session(session(7, says))
   c.vouch:refreshed(true)
   lu.assertEquals(c.counted, {})
   says[2] = true
   c.vouch:refreshed(true)
   lu.assertEquals(c.counted, { 7 })
   c.vouch:refreshed(true)
   lu.assertEquals(c.counted, { 7 })
end

function tests.test_without_an_answer_of_slurm_it_waits_and_what_waits_is_bounded()
   local c = court { [7] = false }
   for _ = 1, 1100 do
      c.vouch:session(session(7, BOTH))
   end
   lu.assertEquals(#c.vouch.waiting, 1000)
   lu.assertEquals(#c.refused, 100)
   lu.assertStrContains(c.refused[1], "too much waits for Slurm")
   c.jobs = { [7] = { state = "over", nodes = "n[0-3]" } }
   c.vouch:refreshed(true)
   lu.assertEquals(#c.counted, 1000)
end

function tests.test_idle_cycles_have_no_job()
   local c = court {}
   c.vouch:session(session(0, BOTH, { purpose = "idle" }))
   lu.assertEquals(c.counted, { 0 })
   c.vouch:session(session(0, { false, true }, { purpose = "idle" }))
   lu.assertEquals(c.counted, { 0 })
end

-- While Slurm's list of a large machine comes, hundreds of checks end: what they showed was taken
-- in in one piece, for which nodes and administrators waited.
function tests.test_many_checks_at_once_are_taken_in_in_pieces()
   local c, running, ids = court { [0] = { state = "running", nodes = "n[0-1]" } }, {}, {}
   for id = 1, 20 do
      running[id], ids[id] = { state = "running", nodes = "n[0-1]" }, id
   end
   c.vouch.cluster.seen_running = running
   c.vouch.findings.session = function(_, s)
      local until_ns = loop.now_ns() + 2000000
      while loop.now_ns() < until_ns do end -- as much as 50 tests
      c.counted[#c.counted + 1] = s.job
   end
   local answer
   c.vouch.slurm.ask = function(_, r, fn)
      answer = function() fn { job = c.jobs[r.job] } end
   end
   c.vouch:session(session(0, BOTH)) -- Slurm takes its time
   for id = 1, 20 do
      c.vouch:session(session(id, BOTH))
   end
   lu.assertEquals(c.counted, {})
   answer()
   local within = #c.counted
   lu.assertTrue(within >= 1 and within < 10, within)
   c.vouch:session(session(1, BOTH)) -- those that come meanwhile wait their turn
   lu.assertEquals(#c.counted, within)
   looptest.until_true(function() return #c.counted == 22 end)
   table.insert(ids, 1, 0)
   ids[#ids + 1] = 1
   lu.assertEquals(c.counted, ids)
end

return tests
