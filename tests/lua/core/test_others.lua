-- SPDX-License-Identifier: GPL-2.0-or-later
-- Traffic that may have filled a link that was found slow.
local lu = require "luaunit"
local others = require "taut.core.others"
local sim = require "lib.sim"

local tests = {}
local NOW = 1000

-- A machine on which one link was just found slow at 25 %.
-- @param o { jobs = map id → { names, since }, known = map id → bytes per second by its profile,
--   loads, counts_all, hard, last = seconds ago of the last low test, tests = of now }
local function scene(o)
   local topo = sim.torus({ 4, 2, 2 }, 2)
   local d = { topo = topo, c = topo.component_id["r1.0.0/X+"], decided = true }
   local seen, jobs = {}, {}
   for id, j in pairs(o.jobs or {}) do
      jobs[id], seen[id] = { names = j[1], added = j[2] }, { start = j[2] }
   end
   d.others = others.new { site = { topo = topo, conf = { diagnosis = { good = 0.9 } } },
      cluster = { jobs = jobs, seen_running = seen },
      followers = { fabric = o.loads and { LEAST = 0.1, loads = function() return o.loads end,
         counts_all = function() return o.counts_all ~= false end } },
      profiles = { knows = function(_, id) return o.known and o.known[id] ~= nil end,
         background = function(_, but)
            local sum = 0
            for id, Bps in pairs(o.known or {}) do
               sum = sum + (id ~= but and jobs[id] and Bps or 0)
            end
            return { [d.c] = sum }
         end },
      diagnosis = { is_decided = function(_, c) return d.decided and (c == d.c or c == o.also) end,
         against = function() return { { time = NOW - 60, job = 5 } } end,
         component = function() return { left = 0.25, hard = o.hard } end,
         run = function()
            return { { time = NOW - 60, job = 5 }, { time = NOW - (o.last or 1), job = 9 } }
         end } }
   function d.may_fill()
      d.others:look(o.tests and {} or { [d.c] = true }, NOW, o.tests and o.tests(d.c, topo))
      return d.others:may_fill(d.c)
   end
   return d
end

local ACROSS = { "n8", "n16" } -- r1.0.0 and r2.0.0
local ASIDE = { "n0", "n8" }

function tests.test_with_nobody_about_it_is_the_link()
   lu.assertFalse(scene({}).may_fill())
   lu.assertFalse(scene({ jobs = { [7] = { ASIDE, NOW - 300 } } }).may_fill())
   -- the job whose check it was has not begun
   lu.assertFalse(scene({ jobs = { [9] = { ACROSS, NOW - 2 } } }).may_fill())
end

function tests.test_a_job_across_that_nobody_knows_may_be_it()
   lu.assertTrue(scene({ jobs = { [7] = { ACROSS, NOW - 20 } } }).may_fill())
end

function tests.test_a_job_with_a_profile_that_leaves_room_is_not()
   local jobs = { [7] = { ACROSS, NOW - 20 } }
   lu.assertFalse(scene({ jobs = jobs, known = { [7] = 1e6 } }).may_fill())
   lu.assertTrue(scene({ jobs = jobs, known = { [7] = 20e6 } }).may_fill())
end

-- A profile is of earlier jobs: a user may have run quiet ones.
function tests.test_a_job_that_was_there_all_the_time_may_be_it_whatever_its_profile_says()
   lu.assertTrue(scene({ jobs = { [7] = { ACROSS, NOW - 300 } }, known = { [7] = 0 } }).may_fill())
end

function tests.test_what_ports_counted_decides()
   local jobs = { [7] = { ACROSS, NOW - 300 } }
   lu.assertFalse(scene({ jobs = jobs, loads = {} }).may_fill())
   lu.assertTrue(scene({ jobs = jobs, loads = {}, counts_all = false }).may_fill())
   lu.assertTrue(scene({ loads = { { component = "r1.0.0/X+", Bps = 18e6 } } }).may_fill())
end

function tests.test_hard_evidence_decides()
   local jobs = { [7] = { ACROSS, NOW - 300 } }
   lu.assertFalse(scene({ jobs = jobs, hard = { left = 0.5 } }).may_fill())
end

function tests.test_what_was_long_ago_says_nothing_and_a_verdict_that_went_is_forgotten()
   lu.assertTrue(scene({ last = 60 }).may_fill())
   local d = scene {}
   lu.assertFalse(d.may_fill())
   d.decided = false
   lu.assertTrue(d.may_fill())
end

-- A test over it now that got this share of its capacity.
local function got(share, class)
   return function(c, topo)
      return { { class = class or "low", time = NOW, job = 9, bw_Bps = share * topo.capacity[c],
         route = { c + 1, c, c + 2 } } }
   end
end

-- Tests after the verdict are as expected, and in no run.
function tests.test_a_ceiling_that_is_there_again_with_nobody_about_is_the_links_own()
   lu.assertFalse(scene({ tests = got(0.25) }).may_fill())
   lu.assertFalse(scene({ tests = got(0.29) }).may_fill())
   local d = scene { tests = got(0.25), jobs = { [7] = { ACROSS, NOW - 20 } } }
   lu.assertTrue(d.may_fill())
   d.others.cluster.jobs = {}
   lu.assertFalse(d.may_fill())
end

function tests.test_a_test_that_something_else_held_back_says_nothing()
   lu.assertTrue(scene({ tests = got(0.1) }).may_fill())
   lu.assertTrue(scene({ tests = got(0.5) }).may_fill())
   lu.assertTrue(scene({ tests = got(0.25, "good") }).may_fill())
   local d = scene { tests = got(0.25) }
   lu.assertFalse(d.may_fill())
   lu.assertTrue(scene({ tests = got(0.25), also = d.c + 1 }).may_fill())
end

return tests
