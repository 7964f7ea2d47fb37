-- SPDX-License-Identifier: GPL-2.0-or-later
--- Routes with sets of links: plans occupy all of a set, diagnosis judges none of it.
local diagnose = require "taut.diagnose"
local expectation = require "taut.topology.model.expectation"
local lu = require "luaunit"
local sim = require "lib.sim"
local stages = require "taut.topology.stages"
local topology = require "taut.topology"

local tests = {}

function tests.test_what_is_sure_and_what_may_be()
   local set = { 7, 8, 9, 10, w = { 0.25, 0.25, 0.25, 0.25 } }
   local route = { 1, 5, set, 2 }
   local names = { "a/tx", "b/rx", "", "", "s/1", "", "t/1", "t/2", "t/3", "t/4" }
   lu.assertEquals(stages.sure(route), { 1, 5, 2 })
   lu.assertEquals(stages.all(route), { 1, 5, 7, 8, 9, 10, 2 })
   lu.assertEquals(stages.text(route, names), "a/tx s/1 {t/1|t/2|t/3|+1} b/rx")
   local plain = { 1, 5, 2 }
   lu.assertIs(stages.sure(plain), plain)
   lu.assertIs(stages.all(plain), plain)
   lu.assertEquals(stages.all(nil), {})
end

-- Two routers with two nodes each, and two cables of which traffic takes one or the other.
local function hashed()
   local w = sim.new {}
   local topo = assert(topology.build { kind = "fattree", nodes_per_leaf = 2,
      levels = { { down = 2, up = 2 } }, nodes = "n[0-3]", capacity = 24e6, routing = "ecmp" })
   w.topo, w.diagnosis = topo, diagnose.new(topo, sim.quick)
   return w
end

function tests.test_a_test_occupies_the_whole_set()
   local w = hashed()
   local tests_made = w:check { 1, 2, 3, 4 }
   local across = {}
   for _, t in ipairs(tests_made) do
      for _, s in ipairs(t.route) do
         if type(s) == "table" then
            local key = t.phase .. ":" .. s[1]
            lu.assertNil(across[key])
            across[key] = true
            lu.assertTrue(w.coverage:is_busy(s[1], w.now))
            lu.assertTrue(w.coverage:is_busy(s[2], w.now))
         end
      end
   end
   lu.assertTrue(next(across) ~= nil)
end

function tests.test_no_member_of_a_set_is_accused_or_cleared()
   local w = hashed()
   local links = w.topo:links_of(0)
   w.left[links[1]] = 0.25
   for _ = 1, 40 do
      w:check { 1, 2, 3, 4 }
   end
   for _, c in ipairs(links) do
      lu.assertEquals(w.diagnosis:state(c), "unknown")
      lu.assertEquals(w.diagnosis:run(c), {})
      lu.assertNil(w.diagnosis:seen(c).cleared_at)
   end
end

function tests.test_the_slowest_of_a_set_is_what_may_be_expected()
   local topo = { capacity = { 10, 10, 8, 4 } }
   lu.assertEquals(expectation.of_test({ route = { 1, { 3, 4, w = { 0.5, 0.5 } }, 2 } }, topo), 4)
end

return tests
