-- SPDX-License-Identifier: GPL-2.0-or-later
-- The way of a result through the real parts, and what is known again after a restart.
local lu = require "luaunit"
local looptest = require "lib.looptest"
local memory = require "taut.core.memory"
local parts = require "lib.parts"

local tests = {}

-- A component with a verdict, as the store had it.
local function slow(p, name)
   local c = assert(p.site.topo.component_id[name])
   p.diagnosis:restore(c, { state = "slow", left = 0.25, since = 1, busy = 0, confirmed = {},
      tests = 9, good = 0, run = {}, evidence = {} })
   p.diagnosis:restored()
   p.decision:note(c)
   return c
end

local function rows(p, name)
   local list = {}
   for _, r in ipairs(p.journal.rows) do
      list[#list + 1] = r[1] == name and r[2] or nil
   end
   return list
end

local function settings(p)
   local map = {}
   for _, row in ipairs(rows(p, "setting")) do
      map[row.name] = row.value
   end
   return map
end

function tests.test_a_verdict_drains_where_that_is_allowed()
   local p = parts.new { dims = { 4, 2, 2 }, npr = 2 }
   slow(p, "n5/tx")
   looptest.quietly(function()
      p.findings:review()
      lu.assertEquals(p.slurm.asked, {})
      lu.assertStrContains(p.act:held_back().n5.reason, "taut: sends at 25%")
      p.switches:set_mode "enable"
      p.findings:review()
   end)
   lu.assertEquals({ p.slurm.asked[1].op, p.slurm.asked[1].node }, { "drain", "n5" })
   lu.assertEquals(p.decision.measures[p.site.topo.component_id["n5/tx"]], "drain")
   local list = rows(p, "action")
   lu.assertEquals({ list[1].action, list[2].action }, { "would drain", "drain" })
   lu.assertStrContains(list[2].evidence, '"reasoning"')
end

-- The warm-up and the window that its receiver told; never more than was planned.
function tests.test_how_long_tests_used_their_ways()
   local function used(window_ns)
      local p = parts.new { dims = { 4, 2, 2 }, npr = 2 }
      local s = { purpose = "prolog", job = 1, restart = 0, uid = 0, wanted = { 1, 3 }, peers = {},
         results = {}, began = 1000 }
      for _, n in ipairs(s.wanted) do
         s.peers[n], s.results[n] = { name = p.site.topo.nodes[n], boot = "b" }, {}
      end
      p.check:plan(s, s.wanted, 3000)
      local planned = 0
      for _, t in ipairs(s.tests) do
         local account = { bytes = math.floor(24e6 * window_ns / 1e9), window_ns = window_ns }
         s.results[t.src]["send:" .. t.id], s.results[t.dst]["recv:" .. t.id] = account, account
         planned = planned + #t.route * t.dur_ms / 1000
      end
      p.judgement:session(s, 1)
      return p.judgement.link_seconds / planned
   end
   lu.assertAlmostEquals(used(20000000), 1, 1e-9) -- of 25 ms
   lu.assertAlmostEquals(used(7500000), 0.5, 1e-9)
   lu.assertAlmostEquals(used(2000000000), 1, 1e-9)
end

-- Slurm, asked again before the verdict was forgotten, would have had the node drained once more.
function tests.test_what_was_drained_for_is_forgotten_before_slurm_is_asked_again()
   local p = parts.new { dims = { 4, 2, 2 }, npr = 2 }
   local c, state = slow(p, "n5/tx"), nil
   looptest.quietly(function()
      p.switches:set_mode "enable"
      p.findings:review()
      function p.cluster.refresh(_, fn)
         state = state or p.diagnosis:state(c)
         p.findings:review()
         if fn then
            fn()
         end
      end
      local ok
      p.act:release("n5", "root", function(done) ok = done end)
      lu.assertTrue(ok)
   end)
   lu.assertEquals(state, "unknown")
   lu.assertEquals(#p.slurm.asked, 2) -- one drain, one resume
   local row = rows(p, "verdict")[1]
   lu.assertEquals({ row.was, row.state }, { "slow", "unknown" })
end

function tests.test_a_restart_knows_what_was_said_and_found()
   local p = parts.new { dims = { 4, 2, 2 }, npr = 2 }
   local c = slow(p, "n5/tx")
   p.switches:set_mode "enable"
   p.switches:set_checks "off"
   p.records:components { [c] = true }
   p.records:wiring()
   local stored = { settings = {}, components = rows(p, "component"),
      last_ids = { { event = 41, test = 999 } } }
   for name, value in pairs(settings(p)) do
      table.insert(stored.settings, { name = name, value = value })
   end
   local after = parts.new { dims = { 4, 2, 2 }, npr = 2 }
   after.journal.stored = stored
   local done
   looptest.quietly(function() memory.load(after, function() done = true end) end)
   lu.assertTrue(done)
   lu.assertEquals({ after.switches:mode(), after.switches:checks() }, { "enable", "off" })
   lu.assertEquals({ after.ids:event(), after.ids:test() }, { 42, 1000 })
   lu.assertEquals(after.diagnosis:state(c), "slow")
   lu.assertTrue(after.decision.standing[c])
   -- another wiring: nothing speaks against anybody
   local other = parts.new { dims = { 4, 4, 1 }, npr = 2 }
   other.journal.stored = stored
   looptest.quietly(function() memory.load(other, function() end) end)
   lu.assertEquals(other.diagnosis:verdicts(), {})
   lu.assertEquals(other.switches:mode(), "enable")
end

-- Without the list of drains that stand no cap holds, so nothing is done.
function tests.test_without_its_memory_it_observes()
   local p = parts.new {}
   p.switches:set_mode "enable"
   p.act.remembers = nil
   lu.assertEquals(p.act:mode(), "observe")
end

return tests
