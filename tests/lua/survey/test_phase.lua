-- SPDX-License-Identifier: GPL-2.0-or-later
-- Which tests may run at once.
local lu = require "luaunit"
local phase = require "taut.survey.phase"

local tests = {}

local function test_of(src, dst, route, back)
   return { src = src, dst = dst, route = route, back = back or {} }
end

function tests.test_no_node_takes_part_twice()
   local open = phase.new()
   open:put(test_of(1, 2, { 1, 4 }))
   lu.assertFalse(open:fits(test_of(3, 1, { 5, 2 })))
   lu.assertFalse(open:fits(test_of(2, 3, { 3, 6 })))
   lu.assertTrue(open:fits(test_of(3, 4, { 5, 8 })))
end

function tests.test_data_meets_neither_data_nor_acknowledgements()
   local open = phase.new()
   open:put(test_of(1, 2, { 1, 20, 4 }, { 3, 21, 2 }))
   lu.assertFalse(open:fits(test_of(3, 4, { 5, 20, 8 })))
   lu.assertFalse(open:fits(test_of(3, 4, { 5, 21, 8 })))
   lu.assertFalse(open:fits(test_of(3, 4, { 5, 22, 8 }, { 7, 20, 6 })))
   lu.assertTrue(open:fits(test_of(3, 4, { 5, 22, 8 }, { 7, 21, 6 })))
end

function tests.test_all_members_of_a_set_are_met()
   local open = phase.new()
   open:put(test_of(1, 2, { 1, { 20, 21 }, 4 }))
   lu.assertFalse(open:fits(test_of(3, 4, { 5, { 22, 21 }, 8 })))
   lu.assertFalse(open:fits(test_of(3, 4, { 5, 20, 8 })))
   lu.assertTrue(open:fits(test_of(3, 4, { 5, { 22, 23 }, 8 })))
end

-- Where tests name their routers, none sends and receives at once.
function tests.test_a_router_has_one_role()
   local open = phase.new()
   local first, second = test_of(1, 2, { 1, 4 }), test_of(3, 4, { 5, 8 })
   first.from_router, first.to_router = 1, 2
   second.from_router, second.to_router = 2, 3
   open:put(first)
   lu.assertFalse(open:fits(second))
   second.from_router, second.to_router = 1, 3
   lu.assertTrue(open:fits(second))
   second.from_router, second.to_router = 2, 2 -- it stays below that router
   lu.assertTrue(open:fits(second))
end

return tests
