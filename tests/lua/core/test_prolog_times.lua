-- SPDX-License-Identifier: GPL-2.0-or-later
-- What a prolog takes was in no metric: a site could not see what Taut costs its jobs.
local exposition = require "taut.core.metrics.exposition"
local lu = require "luaunit"
local prolog_times = require "taut.core.metrics.prolog_times"
local promparse = require "lib.promparse"

local tests = {}

function tests.test_half_lie_below_a_bound()
   local t = prolog_times.new()
   lu.assertNil(t:median "tests")
   for _, s in ipairs { 0.08, 0.09, 0.2, 7 } do
      t:add("tests", s)
   end
   lu.assertEquals(t:median "tests", 0.1)
   t:add("nothing_due", -1) -- a clock that was set
   lu.assertEquals(t:state().nothing_due, { count = 1, median_s = 0.005 })
   t = prolog_times.new()
   t:add("tests", 7)
   lu.assertNil(t:median "tests")
end

function tests.test_as_a_histogram()
   local t = prolog_times.new()
   t:add("tests", 0.08)
   t:add("tests", 0.3)
   local text = exposition.family("taut_prolog_seconds", "histogram", "x.", t:samples())
   promparse.read(text)
   lu.assertStrContains(text, 'taut_prolog_seconds_bucket{kind="tests",le="0.1"} 1\n')
   lu.assertStrContains(text, 'taut_prolog_seconds_bucket{kind="tests",le="+Inf"} 2\n')
   lu.assertStrContains(text, 'taut_prolog_seconds_count{kind="tests"} 2\n')
   lu.assertStrContains(text, 'taut_prolog_seconds_sum{kind="tests"} 0.38\n')
end

return tests
