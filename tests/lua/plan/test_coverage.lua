-- SPDX-License-Identifier: GPL-2.0-or-later
local coverage = require "taut.plan.coverage"
local lu = require "luaunit"

local tests = {}

function tests.test_without_a_limit_everything_is_allowed()
   local c = coverage.new(false)
   for i = 1, 100 do
      lu.assertTrue(c:allows(1, 10, i, false))
      c:reserve(1, 10, i, i)
   end
end

function tests.test_time_is_saved_up_at_the_given_rate()
   local c = coverage.new(0.001)
   lu.assertAlmostEquals(c:left(1, 0), 0.5, 1e-9)
   c:reserve(1, 0.3, 0, 0.1)
   lu.assertAlmostEquals(c:left(1, 0), 0.2, 1e-9)
   lu.assertAlmostEquals(c:left(1, 100), 0.3, 1e-9)
   lu.assertAlmostEquals(c:left(1, 1e6), 0.5, 1e-9)
   lu.assertAlmostEquals(c:left(2, 0), 0.5, 1e-9)
end

function tests.test_routine_leaves_half_to_suspects()
   local c = coverage.new(0.001)
   c:reserve(1, 0.26, 0, 0)
   lu.assertFalse(c:allows(1, 0.025, 0, false))
   lu.assertTrue(c:allows(1, 0.025, 0, true))
   c:reserve(1, 0.23, 0, 0)
   lu.assertFalse(c:allows(1, 0.025, 0, true))
end

function tests.test_a_reservation_ends()
   local c = coverage.new(false)
   c:reserve(1, 0.025, 10, 10.2)
   lu.assertTrue(c:is_busy(1, 10.1))
   lu.assertFalse(c:is_busy(1, 10.2))
   lu.assertFalse(c:is_busy(2, 10.1))
end

function tests.test_a_clock_that_was_set_back_keeps_nobody_waiting()
   local c = coverage.new(0.001)
   c:reserve(1, 0.5, 7200, 7201)
   lu.assertTrue(c:is_busy(1, 7200))
   lu.assertFalse(c:allows(1, 0.025, 7200, true))
   lu.assertFalse(c:is_busy(1, 10))
   lu.assertTrue(c:allows(1, 0.025, 10, false))
end

function tests.test_share_counts_what_was_tested()
   local c = coverage.new(false)
   c:touch(1, 100)
   c:touch(2, 10)
   lu.assertEquals(c:share(4, 50, 110), 0.25)
end

return tests
