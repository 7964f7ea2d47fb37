-- SPDX-License-Identifier: GPL-2.0-or-later
-- What comes and goes: named by the ceiling it comes back to, and taken back when it stays away.
local config = require "taut.config"
local diagnose = require "taut.diagnose"
local lu = require "luaunit"
local memory = require "taut.diagnose.memory"
local recurring_fault = require "taut.diagnose.recurring_fault"
local sim = require "lib.sim"

local tests = {}

local LINK = "r1.0.0/X+"
local HOURS = 3600

-- Checks of all nodes, some an hour; the link is slow in some hours only.
local function world(seed)
   local s = assert(config.diagnosis {})
   local w = sim.new { seed = seed, settings = s }
   w.now = 1000 * HOURS
   return w
end

local function play_hour(w, left)
   w.left[w:c(LINK)] = left
   local began = w.now
   for _ = 1, 12 do
      w:check(sim.run_of(1, 32), { budget_ms = 600 })
   end
   w.now = began + HOURS
end

-- The hours in which it is slow: every n-th.
local function play(w, hours, every, left)
   for i = 1, hours do
      play_hour(w, i % every == 0 and left or nil)
   end
end

local function named(seed)
   local w = world(seed)
   for _ = 1, 30 do
      play(w, 3, 3, 0.41)
      if w:state(LINK) == "slow" then
         return w, w:c(LINK)
      end
   end
   error("not named: " .. w:state(LINK))
end

function tests.test_what_flaps_is_named_with_its_hours()
   local w, c = named(3)
   local k = w.diagnosis:component(c)
   lu.assertNotNil(k.recurs)
   lu.assertAlmostEquals(k.left, 0.41, 0.03)
   local words = recurring_fault.words(k.recurs, 3600)
   lu.assertStrMatches(words, "in %d+ of %d+ h")
   lu.assertStrContains(w.diagnosis:remark(c, w.now), words)
   lu.assertEquals(w:all "slow", { LINK })
   lu.assertEquals(w:all "failed", {})
   -- it does well for an hour, and that takes nothing back
   play_hour(w, nil)
   lu.assertEquals(w:state(LINK), "slow")
   local text = {}
   for i, r in ipairs(w.diagnosis:reasoning(c)) do
      text[i] = r.text
   end
   lu.assertStrContains(table.concat(text, "\n"), "it came back to")
end

-- Others that send over it now and then leave it half, a third or a quarter, and yield to several
-- streams.
function tests.test_what_is_busy_now_and_then_is_not_named()
   local w = world(5)
   for i = 1, 60 do
      w.load[w:c(LINK)] = i % 3 == 0 and math.random(1, 3) or nil
      play_hour(w, nil)
   end
   lu.assertEquals(w:all "slow", {})
end

function tests.test_what_stays_away_is_well_again()
   local w, c = named(7)
   for _ = 1, 80 do
      play_hour(w, nil)
   end
   lu.assertEquals(w:state(LINK), "ok")
   lu.assertNil(w.diagnosis:component(c).recurs)
   lu.assertNil(w.diagnosis:component(c).left)
   lu.assertEquals(w.diagnosis:remark(c, w.now), "")
end

function tests.test_a_restart_keeps_bouts_and_verdict()
   local w, c = named(9)
   local new, seen = diagnose.new(w.topo, w.diagnosis.s), {}
   for i = 1, #w.topo.components do
      new:restore(i, assert(memory.unpack(memory.pack(w.diagnosis, i), w.topo, seen)))
   end
   new:restored()
   local old, is = w.diagnosis.evidence:bouts(c), new.evidence:bouts(c)
   lu.assertEquals(is, old)
   lu.assertEquals(new:component(c).recurs, w.diagnosis:component(c).recurs)
   lu.assertEquals(new:remark(c, w.now), w.diagnosis:remark(c, w.now))
   w.diagnosis = new
   play(w, 6, 3, 0.41)
   lu.assertEquals(w:all "slow", { LINK })
   -- a bout between nodes that there are none of any more is left out
   local k = assert(memory.unpack(memory.pack(new, c), w.topo, {}, { node = function(name)
      return name ~= old[1].src and name ~= w.topo.nodes[old[1].src] and name or "gone"
   end }))
   lu.assertTrue(#k.bouts < #old + 1)
end

-- Over RDMA without counts of losses: at any level, and never whole.
function tests.test_what_scatters_and_is_never_whole_is_named()
   local w = world(13)
   play(w, 6, 99, nil)
   for i = 1, 200 do
      w.left[w:c(LINK)] = 1 / (1 + 0.55 * (1 / 3 + 4 / 3 * math.random()))
      local began = w.now
      w:check(sim.run_of(1, 32), { budget_ms = 600 })
      w.now = began + HOURS
      if w:state(LINK) == "slow" then
         break
      elseif i == 12 then
         local new, seen = diagnose.new(w.topo, w.diagnosis.s), {}
         for c = 1, #w.topo.components do
            new:restore(c, assert(memory.unpack(memory.pack(w.diagnosis, c), w.topo, seen)))
         end
         new:restored()
         w.diagnosis = new
      end
   end
   lu.assertEquals(w:all "slow", { LINK })
   local c, text = w:c(LINK), {}
   for i, r in ipairs(w.diagnosis:reasoning(c)) do
      text[i] = r.text
   end
   lu.assertStrContains(table.concat(text, "\n"), "never got all of it")
   w.left[c] = nil
   for _ = 1, 12 do
      play_hour(w, nil)
   end
   lu.assertEquals(w:state(LINK), "ok")
end

function tests.test_a_repair_forgets_the_bouts()
   local w, c = named(11)
   w.diagnosis:forget(c, w.now, 0)
   lu.assertEquals(w:state(LINK), "unknown")
   lu.assertNil(w.diagnosis.evidence:bouts(c))
   play(w, 6, 99, nil)
   lu.assertEquals(w:state(LINK), "ok")
end

function tests.test_hours_and_periods()
   lu.assertEquals(recurring_fault.words({ bouts = 7, spells = 31 }, 3600), "in 7 of 31 h")
   lu.assertEquals(recurring_fault.words({ bouts = 7, spells = 31 }, 60), "in 7 of 31 periods")
end

function tests.test_when_it_is_over()
   local function over(bouts, spells, since)
      return recurring_fault.is_over { bouts = bouts, spells = spells, since = since }
   end
   lu.assertTrue(recurring_fault.is_over(nil))
   lu.assertFalse(over(7, 21, 0))
   lu.assertFalse(over(7, 31, 10))
   lu.assertTrue(over(7, 61, 40))
   lu.assertFalse(over(2, 200, 100)) -- what comes rarely may stay away for long
end

return tests
