-- SPDX-License-Identifier: GPL-2.0-or-later
-- The list of suspects is mended, not made anew: it must be what it would be if it were.
local lu = require "luaunit"
local sim = require "lib.sim"
local wanted_tests = require "taut.diagnose.wanted_tests"

local tests = {}

-- Suspects in the order in which they are asked about, from their records alone.
local function in_order(d)
   local list = {}
   for c in pairs(d.suspects) do
      list[#list + 1] = c
   end
   local function on_probation(c)
      return d.records[c].probation_until or 0
   end
   table.sort(list, function(a, b)
      if on_probation(a) ~= on_probation(b) then
         return on_probation(a) > on_probation(b)
      end
      local x, y = d.records[a].suspect_at or 0, d.records[b].suspect_at or 0
      return x < y or x == y and a < b
   end)
   return list
end

local function assert_current(d)
   local list, order = wanted_tests.wanted(d), in_order(d)
   for i, c in ipairs(order) do
      local w, k = list[i], d.records[c]
      lu.assertEquals(w.component, c)
      lu.assertEquals(w.tests, math.max(1, d.s.slow_low - #k.confirmed))
      lu.assertEquals(#w.rivals, #(k.tied or {}))
   end
   lu.assertEquals(#list, #order)
   return #order
end

function tests.test_suspects_keep_their_order_whatever_changes()
   local names = { "n5/tx", "r2.0.0/X+", "r0.1.0/Y+", "r3.1.1/X-", "n9/rx", "r1.0.1/Z+" }
   local most = 0
   for seed = 1, 4 do
      local w = sim.new { seed = seed, settings = setmetatable({ slow_score = 1e3 },
         { __index = sim.quick }) } -- nobody is convicted
      local d = w.diagnosis
      for job = 1, 240 do
         if job % 20 == 1 then -- half of them are slow, each time others
            for i, name in ipairs(names) do
               w.left[w:c(name)] = (i + job // 20) % 2 == 0 and 0.2 + 0.1 * (i % 5) or 1
            end
         end
         w:random_job()
         local c = wanted_tests.wanted(d)[1] and next(d.suspects)
         if c and job % 7 == 0 then -- it goes and comes again before anybody asks
            d.records[c].suspect_at = w.now
            wanted_tests.changed(d, c)
         end
         most = math.max(most, assert_current(d))
      end
   end
   lu.assertTrue(most > 3, ("%d suspects at once"):format(most))
end

return tests
