-- SPDX-License-Identifier: GPL-2.0-or-later
local config = require "taut.config"
local diagnose = require "taut.diagnose"
local judge = require "taut.diagnose.judge"
local lu = require "luaunit"
local memory = require "taut.diagnose.memory"
local sim = require "lib.sim"
local topology = require "taut.topology"
local verdict = require "taut.diagnose.verdict"
local reasoning = require "taut.diagnose.reasoning"

local tests = {}

-- Random jobs until a component is decided; the number of jobs, or nil.
local function jobs_until(w, name, most)
   for i = 1, most do
      w:random_job()
      local state = w:state(name)
      if state == "slow" or state == "failed" then
         return i
      end
   end
   return nil
end

function tests.test_a_healthy_machine_has_no_suspects()
   local w = sim.new { seed = 3 }
   for _ = 1, 200 do
      w:random_job()
   end
   lu.assertEquals(w:all "suspect", {})
   lu.assertEquals(w:all "slow", {})
end

function tests.test_every_single_fault_is_named_and_nothing_else()
   local w0 = sim.new {}
   for c, name in ipairs(w0.topo.components) do
      local w = sim.new { seed = c }
      w.left[c] = 0.25
      lu.assertNotNil(jobs_until(w, name, 400), name .. " was not found")
      for _ = 1, 20 do
         w:random_job()
      end
      lu.assertEquals(w:all "slow", { name })
      lu.assertEquals(w:all "failed", {})
   end
end

function tests.test_latencies_and_what_is_only_shown_touch_nothing()
   local w = sim.new {}
   local route = w.topo:route(1, 3)
   local c = route[2]
   local function observe(t)
      t.src, t.dst, t.route, t.streams, t.kind, t.phase = 1, 3, route, 1, "partner", 1
      t.src_name, t.dst_name, t.expected_Bps, t.bw_Bps = "n0", "n2", 1e9, (t.ratio or 1) * 1e9
      t.id, t.event, t.time = w.id + 1, 1, w.now
      return w.diagnosis:observe(judge.is_evidence(t) and { t } or {}, w.now)
   end
   for _, t in ipairs { { class = "good", mode = "latency" }, { class = "good" },
      { class = "low", ratio = 0.1, shown_only = true } } do
      local changes, touched = observe(t)
      lu.assertEquals(changes, {})
      lu.assertNil(next(touched))
      lu.assertEquals(w.diagnosis:seen(c).tests, 0)
   end
   observe { class = "low", ratio = 0.1 }
   lu.assertEquals(w.diagnosis:seen(c).tests, 1)
end

-- A backplane wider than a node: what one sender reaches on it clears nothing, but shows how much
-- of it there is.  When it breaks after that, only what came later tells its ceiling.
function tests.test_what_a_link_showed_before_it_broke_is_not_its_ceiling()
   local topo = assert(topology.build { kind = "torus", dims = { 4, 2, 2 }, nodes_per_router = 2,
      nodes = "n[0-31]", capacity = { link = 9.75e9, tx = 6.7e9, rx = 6.7e9 } })
   local d = diagnose.new(topo, assert(config.diagnosis {}))
   local c, event = topo.component_id["r0.0.0/X+"], 0
   local function event_at(hours, shares, senders)
      local list, expected = {}, math.min(9.75e9 / senders, 6.7e9)
      event = event + 1
      for i = 1, senders do
         local t = { src = i, dst = 8 + i, streams = 1, through = { [c] = senders }, event = event,
            time = hours * 3600, bw_Bps = shares[i] * 9.75e9 / senders, expected_Bps = expected }
         t.ratio = t.bw_Bps / expected
         t.class = t.ratio < 0.75 and "low" or "good"
         list[i] = t
      end
      d:observe(list, hours * 3600)
   end
   event_at(1, { 0.5, 0.5 }, 2) -- busy, by chance at the level that it will have left
   event_at(2, { 0.34, 0.34 }, 2)
   event_at(3, { 0.687 }, 1) -- well, as far as one sender can tell
   lu.assertAlmostEquals(d.evidence:seen(c).most, 0.687, 1e-3)
   for h = 4, 12 do
      event_at(h, { 0.5, 0.5 }, 2)
   end
   local case = d.evidence:case(c)
   lu.assertAlmostEquals(case.best, 0.5, 1e-3)
   lu.assertEquals(case.spells, 9) -- since the third hour
   lu.assertEquals(case.at, 18)
end

-- Of a spell a run keeps some tests only; what people read tells all, until a component does well.
function tests.test_low_tests_are_counted_since_it_last_did_well()
   local topo = sim.new({}).topo
   local d, c = diagnose.new(topo, assert(config.diagnosis {})), topo.component_id["r0.0.0/X+"]
   local time = 0
   local function test(share, n)
      for _ = 1, n do
         time = time + 1
         local t = { src = 1, dst = 9, streams = 1, through = { [c] = 1 }, event = time,
            time = time, bw_Bps = share * topo.capacity[c], expected_Bps = topo.capacity[c],
            ratio = share, class = share < 0.75 and "low" or "good" }
         d:observe({ t }, time)
      end
   end
   local function tally(of)
      return { of:tally(c) }
   end
   test(1, 500)
   lu.assertEquals(tally(d), { 0, 500 })
   test(0.3, 40)
   lu.assertTrue(#d:run(c) < 40)
   lu.assertEquals(tally(d), { 40, 40 })
   -- over a restart
   local new = diagnose.new(topo, assert(config.diagnosis {}))
   new:restore(c, assert(memory.unpack(memory.pack(d, c), topo, {})))
   new:restored()
   lu.assertEquals(tally(new), { 40, 40 })
   lu.assertEquals(#new:run(c), #d:run(c))
   test(1, 1)
   lu.assertEquals(tally(d), { 0, 541 })
   test(0.3, 2)
   lu.assertEquals(tally(d), { 2, 2 })
   -- one that is taken late clears what came before it
   test(0.3, 1)
   time = time - 2
   test(1, 1)
   lu.assertEquals(tally(d), { #d:run(c), #d:run(c) })
   lu.assertEquals(#d:run(c), 1)
end

function tests.test_a_confirming_test_that_comes_to_nothing_uses_its_partner_up()
   local w = sim.new {}
   local c = w:c "n5/rx"
   w.left[c] = 0.2
   while w:state "n5/rx" ~= "suspect" do
      w:random_job()
   end
   local function seen(node)
      for _, s in ipairs(w.diagnosis:wanted()) do
         if s.component == c then
            return s.seen()[node] or 0
         end
      end
   end
   local before = seen(9)
   w.diagnosis:observe({ { src = 9, dst = w.topo.node_id.n5, route = w.topo:route(9,
      w.topo.node_id.n5), streams = 1, class = "void", phase = 1, kind = "confirm", confirms = c,
      id = w.id + 1, event = w.event + 1, time = w.now } }, w.now)
   lu.assertEquals(seen(9), before + 1)
   w.diagnosis:forget(c, w.now, 0)
   lu.assertNil(w.diagnosis:component(c).spent)
end

-- A link with six tenths left that others use, too: one stream gets half of that, several more.
-- When one has once had all of it, those answers say nothing of a busy link any more.
function tests.test_what_several_streams_took_is_held_against_the_best_of_one()
   local w = sim.new {}
   local c, dst = w:c "n5/rx", w.topo.node_id.n5
   local function event(src, ...)
      local list = {}
      w.event, w.now = w.event + 1, w.now + 3600
      for i, ratio in ipairs { ... } do
         w.id = w.id + 1
         list[i] = { src = src, dst = dst, route = w.topo:route(src, dst), class = "low",
            ratio = ratio, phase = i, id = w.id, event = w.event, time = w.now,
            kind = select("#", ...) > 1 and "confirm" or "routine", streams = i == 1 and 1 or 4,
            confirms = select("#", ...) > 1 and c or nil, expected_Bps = 24e6,
            bw_Bps = ratio * 24e6 }
      end
      w.diagnosis:observe(list, w.now)
   end
   for src = 9, 14 do
      event(src, 0.3)
   end
   lu.assertEquals(w:state "n5/rx", "suspect")
   event(2, 0.3, 0.58)
   event(3, 0.3, 0.6)
   event(4, 0.3, 0.7)
   lu.assertEquals(w.diagnosis:component(c).busy, 3)
   local kept = assert(memory.pack(w.diagnosis, c))
   local back = assert(memory.unpack(kept, w.topo, {}))
   lu.assertEquals(back.took, { 0.58, 0.6, 0.7 })
   for src = 16, 24 do
      event(src, 0.5)
   end
   local k = w.diagnosis:component(c)
   lu.assertEquals({ k.busy, k.took }, { 1, { 0.7 } })
   for src = 16, 24 do
      event(src, 0.6)
   end
   lu.assertEquals(w.diagnosis:component(c).busy, 0)
   w.diagnosis:forget(c, w.now, 0)
   lu.assertNil(w.diagnosis:component(c).took)
end

-- Two links were called slow at 0.62 and 0.67 on which a steady load ran: by 7 and 9 low tests,
-- while some hundred were void as uneven, whose best quarters got far more.
function tests.test_uneven_tests_speak_against_a_ceiling_and_are_kept()
   local w = sim.new {}
   local c, dst = w:c "n5/rx", w.topo.node_id.n5
   local function event(src, t)
      w.now, w.event, w.id = w.now + 3600, w.event + 1, w.id + 1
      t.src, t.dst, t.route, t.phase, t.id = src, dst, w.topo:route(src, dst), 1, w.id
      t.event, t.time, t.kind, t.streams, t.expected_Bps = w.event, w.now, "routine", 1, 24e6
      w.diagnosis:observe({ t }, w.now)
   end
   for src = 9, 14 do
      event(src, { class = "low", ratio = 0.3, bw_Bps = 0.3 * 24e6 })
   end
   local before = w.diagnosis.evidence:score(c)
   event(9, { class = "void", bw_Bps = 0.3 * 24e6, part_Bps = 0.8 * 24e6 })
   lu.assertAlmostEquals(w.diagnosis.evidence:score(c), before - 1, 1e-6)
   local list = w.diagnosis.evidence:glimpses(c, "part")
   lu.assertAlmostEquals(list[1], 0.8, 1e-6)
   lu.assertEquals(list[2], w.now)
   local back = assert(memory.unpack(assert(memory.pack(w.diagnosis, c)), w.topo, {}))
   lu.assertEquals(back.glimpses, { part = list })
end

-- Three streams arrive there all the time, so that a test gets a quarter of what is left.
function tests.test_a_loaded_port_is_told_from_a_slow_one_by_all_it_carries()
   for seed = 1, 4 do
      for _, fault in ipairs { "n5/rx", "n5/tx", "none", "r2.0.0/X-" } do
         local w = sim.new { seed = seed }
         w.counted = true
         for _, name in ipairs { "n5/rx", "n5/tx" } do
            w.load[w:c(name)] = 3
         end
         if fault ~= "none" then
            w.left[w:c(fault)] = 0.2
         end
         for _ = 1, 150 do
            w:random_job()
         end
         lu.assertEquals(w:all "slow", fault ~= "none" and { fault } or {}, seed)
         lu.assertEquals(w:all "failed", {})
      end
   end
end

-- All that came over one link may have been held up there.
function tests.test_a_loaded_port_is_not_told_from_the_only_link_to_it()
   local w = sim.new { seed = 1 }
   local topo, rx = w.topo, w:c "n5/rx"
   local dst = topo.node_id.n5
   local function last(src)
      local route = topo:route(src, dst)
      return #route > 2 and route[#route - 1] or nil
   end
   local by = {}
   for src in ipairs(topo.nodes) do
      local link = src ~= dst and last(src)
      if link then
         by[link] = by[link] or {}
         table.insert(by[link], src)
      end
   end
   local first, second
   for _, list in pairs(by) do
      if #list >= 4 then
         first, second = first or list, first and list or nil
      end
   end
   local function event(src)
      w.event, w.now, w.id = w.event + 1, w.now + 10, w.id + 1
      w.diagnosis:observe({ { src = src, dst = dst, route = topo:route(src, dst), streams = 1,
         class = "void", ratio = 0.05, bw_Bps = 1.2e6, expected_Bps = 24e6, phase = 1,
         kind = "routine", id = w.id, event = w.event, time = w.now,
         port = { component = rx, Bps = 0.2 * 24e6, is_low = true } } }, w.now)
   end
   for i = 1, 12 do
      event(first[i % #first + 1])
   end
   lu.assertEquals(w:state "n5/rx", "suspect")
   lu.assertEquals(w:all "slow", {})
   local tied = {}
   for _, r in ipairs(w.diagnosis:component(rx).tied) do
      tied[r.component] = true
   end
   lu.assertTrue(tied[last(first[1])])
   lu.assertEquals(w.diagnosis.evidence:low(last(first[1])), 0)
   -- so after a restart
   local d, seen = diagnose.new(topo, sim.quick), {}
   for c in w.diagnosis:each() do
      d:restore(c, assert(memory.unpack(memory.pack(w.diagnosis, c), topo, seen)))
   end
   d:restored()
   w.diagnosis = d
   event(first[1])
   lu.assertEquals(w:all "slow", {})
   for i = 1, 6 do
      event(second[i % #second + 1])
   end
   local k = w.diagnosis:component(rx)
   lu.assertNil(k.tied)
   lu.assertEquals(reasoning.missing(k.missing), "confirmed by 0 of 3 tests")
end

function tests.test_two_faults_at_once()
   local w = sim.new { seed = 5 }
   w.left[w:c "n5/tx"], w.left[w:c "r2.0.0/X+"] = 0.25, 0.25
   lu.assertNotNil(jobs_until(w, "n5/tx", 300))
   lu.assertNotNil(jobs_until(w, "r2.0.0/X+", 300))
   lu.assertEquals(w:all "slow", { "n5/tx", "r2.0.0/X+" })
end

function tests.test_a_failed_link_is_found_as_failed()
   for _, name in ipairs { "r1.0.0/X+", "r0.1.0/Z+", "r3.1.1/X-" } do
      local w = sim.new { seed = 11 }
      w.left[w:c(name)] = 0
      lu.assertNotNil(jobs_until(w, name, 400), name)
      lu.assertEquals(w:all "slow", {})
      lu.assertEquals(w:all "failed", { name })
   end
end

function tests.test_a_dead_node_connection_is_found_though_tx_and_rx_fall_together()
   local w = sim.new { seed = 12 }
   w.left[w:c "n9/tx"] = 0
   lu.assertNotNil(jobs_until(w, "n9/tx", 300))
   for _, name in ipairs(w:all "failed") do
      lu.assertStrMatches(name, "n9/[tr]x")
   end
   lu.assertEquals(w:all "slow", {})
end

function tests.test_steady_load_is_never_called_slow()
   for _, streams in ipairs { 1, 3 } do
      local w = sim.new { seed = 20 + streams }
      for _, c in ipairs(w.topo:route(1, 15)) do
         w.load[c] = streams
      end
      for _ = 1, 300 do
         w:random_job()
      end
      lu.assertEquals(w:all "slow", {})
      lu.assertEquals(w:all "failed", {})
   end
end

function tests.test_scattered_contention_makes_no_verdict()
   local w = sim.new { seed = 31 }
   for _ = 1, 1000 do
      w.load = {}
      for _ = 1, 3 do
         local a, b = math.random(1, 32), math.random(1, 32)
         for _, c in ipairs(a ~= b and w.topo:route(a, b) or {}) do
            w.load[c] = math.random(1, 3)
         end
      end
      w:random_job()
   end
   lu.assertEquals(w:all "slow", {})
end

function tests.test_one_clearing_test_ends_the_run_and_healing_is_seen()
   local w = sim.new { seed = 41 }
   local c = w:c "n5/tx"
   w.left[c] = 0.25
   jobs_until(w, "n5/tx", 200)
   lu.assertEquals(w:state "n5/tx", "slow")
   w.left[c] = nil
   for _ = 1, 100 do
      w:random_job()
   end
   lu.assertEquals(w:state "n5/tx", "ok")
end

function tests.test_release_forgets_and_puts_on_probation()
   local w = sim.new { seed = 43 }
   local c = w:c "n5/tx"
   w.left[c] = 0.25
   jobs_until(w, "n5/tx", 200)
   w.diagnosis:forget(c, w.now, 3600)
   lu.assertEquals(w:state "n5/tx", "unknown") -- until a test
   lu.assertEquals(w.diagnosis:remark(c, w.now), "on probation")
   -- still broken: half of the evidence is enough
   w:check(sim.run_of(1, 8))
   w:check(sim.run_of(1, 8))
   lu.assertNotEquals(w:state "n5/tx", "ok")
end

-- A repaired link that was busy within the day was called slow at half of the score.
function tests.test_on_probation_half_as_many_tests_are_enough_at_the_same_score()
   local w = sim.new { seed = 43 }
   local d, c = w.diagnosis, w:c "n5/tx"
   local s = d.s
   local k = { confirmed = {}, busy = 0, probation_until = w.now + 60 }
   local case = { score = s.slow_score - 0.5, spells = math.ceil(s.slow_spells / 2), first = 0,
      last = s.confirm_span_h * 1800, far = 0, confirmed = 0 }
   local missing = verdict.missing(d, c, k, case, w.now)
   lu.assertEquals({ missing.what, missing.needs }, { "score", s.slow_score })
   case.score = s.slow_score
   lu.assertEquals(verdict.missing(d, c, k, case, w.now).what, "far")
   lu.assertEquals(verdict.missing(d, c, k, case, w.now + 60).what, "spells")
end

function tests.test_a_boot_drops_what_is_no_verdict()
   local w = sim.new { seed = 43 }
   local c = w:c "n5/tx"
   w.left[c] = 0.25
   for _ = 1, 200 do
      if w:state "n5/tx" == "suspect" then
         break
      end
      w:random_job()
   end
   local changes, set = w.diagnosis:began_anew({ c, w.topo:opposite(c) }, w.now)
   lu.assertEquals({ changes[1].from, changes[1].to, #changes }, { "suspect", "ok", 1 })
   lu.assertEquals(set, { [c] = true })
   lu.assertEquals(w.diagnosis:run(c), {})
   jobs_until(w, "n5/tx", 200)
   lu.assertEquals(w:state "n5/tx", "slow")
   lu.assertEquals(w.diagnosis:began_anew({ c }, w.now), {})
   lu.assertEquals(w:state "n5/tx", "slow")
end

-- A node that always reports nothing for what it receives contradicts its senders: void.
function tests.test_one_liar_gets_no_healthy_node_drained()
   local w = sim.new { seed = 51 }
   local t = { src = 1, dst = 3, route = w.topo:route(1, 3), dur_ms = 25 }
   judge.test(t, { bytes = 480000, window_ns = 20000000 }, { bytes = 0, window_ns = 20000000 },
      w.topo, sim.quick)
   lu.assertEquals(t.class, "void")
   lu.assertStrContains(t.why, "n2 received 0.0 MB/s, n0 sent 24.0 MB/s")
end

-- Of two links in line the second is broken, and the first was as busy once as that one is slow.
function tests.test_one_spell_alone_may_be_chance()
   local w = sim.new { seed = 5 }
   local d, topo, id = w.diagnosis, w.topo, 0
   local function on(router)
      return topo:on_router(topo.router_id[router])
   end
   local function test(src, dst, hour, ratio)
      id = id + 1
      return { src = src, dst = dst, id = id, event = hour, time = hour * 3600,
         route = topo:route(src, dst), class = ratio < 0.75 and "low" or "good", ratio = ratio,
         bw_Bps = ratio * 24e6, expected_Bps = 24e6, streams = 1, phase = 1 }
   end
   local away = { on "r0.1.0", on "r1.1.0", on "r2.1.0" }
   local function hour(h, from, to)
      local list = {}
      for i = 1, 2 do -- the nodes themselves are well
         local src, dst = on(("r%d.0.0"):format(from))[i], on(("r%d.0.0"):format(to))[i]
         list[#list + 1] = test(src, dst, h, 0.4)
         list[#list + 1] = test(src, away[from + 1][i], h, 1)
         list[#list + 1] = test(away[to + 1][i], dst, h, 1)
      end
      d:observe(list, h * 3600)
   end
   for h = 1, 6 do
      hour(h, 0, 2)
   end
   hour(7, 1, 2)
   hour(8, 0, 1)
   local x, y = w:c "r0.0.0/X+", w:c "r1.0.0/X+"
   lu.assertEquals(w:all "slow", {})
   lu.assertEquals(d:component(x).tied[1].component, y)
   lu.assertTrue(d:component(x).tied[1].chance)
   local texts = {}
   for i, r in ipairs(reasoning.of(d, x)) do
      texts[i] = r.text
   end
   lu.assertStrContains(table.concat(texts, "\n"),
      "r1.0.0/X+ explains 85.7% of these tests as well; the others are of one period only")
   local k = assert(memory.unpack(memory.pack(d, x), topo, {}))
   lu.assertTrue(k.tied[1].chance)
   for h = 9, 12 do -- the second link goes on alone, and is the one
      hour(h, 1, 2)
   end
   lu.assertEquals(w:all "slow", { "r1.0.0/X+" })
end

-- A node throttles what it takes over one link, and both ends of each such test see it.
function tests.test_a_choosy_receiver_gets_no_link_named()
   local w = sim.new { seed = 5 }
   local d, topo, id = w.diagnosis, w.topo, 0
   local c = w:c "r2.0.0/X+"
   local from, elsewhere = topo:on_router(topo:from(c)), topo:on_router(topo.router_id["r2.1.0"])
   local function test(src, dst, hour, ratio)
      id = id + 1
      return { src = src, dst = dst, id = id, event = hour, time = hour * 3600,
         route = topo:route(src, dst), class = ratio < 0.75 and "low" or "good", ratio = ratio,
         bw_Bps = ratio * 24e6, expected_Bps = 24e6, streams = 1, phase = 1 }
   end
   local function hours(first, last, receivers)
      for h = first, last do
         local src, dst = from[1 + h % 2], receivers[1 + h % #receivers]
         d:observe({ test(src, dst, h, 0.4), test(elsewhere[1], dst, h, 1),
            test(src, elsewhere[2], h, 1) }, h * 3600)
      end
   end
   local liar, other = table.unpack(topo:on_router(topo:to(c)))
   hours(1, 60, { liar })
   lu.assertEquals(w:all "slow", {})
   lu.assertEquals(reasoning.missing(d:component(c).missing), "seen with 1 of 2 receivers")
   hours(61, 80, { liar, other })
   lu.assertEquals(w:all "slow", { "r2.0.0/X+" })
end

function tests.test_what_is_known_survives_packing()
   local w = sim.new { seed = 61 }
   w.left[w:c "n5/tx"] = 0.25
   jobs_until(w, "n5/tx", 200)
   local c = w:c "n5/tx"
   local k, run = w.diagnosis:component(c), w.diagnosis:run(c)
   local back = assert(memory.unpack(memory.pack(w.diagnosis, c), w.topo, {}))
   lu.assertEquals(back.state, "slow")
   lu.assertEquals(#back.run, #run)
   lu.assertEquals(#back.confirmed, #k.confirmed)
   lu.assertAlmostEquals(back.left, k.left, 1e-9)
   lu.assertEquals(back.run[1].src, run[1].src)
   lu.assertNil((memory.unpack("{broken", w.topo, {})))
end

function tests.test_questions_about_a_run_agree_with_it()
   local w = sim.new { seed = 63 }
   w.left[w:c "n5/tx"] = 0.25
   for _ = 1, 6 do
      w:random_job()
   end
   local e, most, all = w.diagnosis.evidence, 0, 0
   for _, c in ipairs(e:open()) do
      local run, best = e:run(c), 0
      for _, t in ipairs(run) do
         best = t.streams == 1 and math.max(best, t.ratio) or best
      end
      lu.assertEquals({ e:newest(c) }, { run[#run].src, run[#run].dst })
      lu.assertEquals(e:best(c), best)
      most, all = math.max(most, best), all + e:low(c)
   end
   lu.assertTrue(most > 0)
   lu.assertEquals(e:low(table.unpack(e:open())), all)
   lu.assertEquals({ e:newest(w:c "n9/tx") }, {})
   lu.assertEquals(e:best(w:c "n9/tx"), 0)
end

-- All that an event touched is stored, and a new tautd goes on where the old one was.
function tests.test_a_restart_loses_nothing()
   local w, store = sim.new { seed = 62 }, {}
   w.left[w:c "n5/tx"], w.left[w:c "r2.0.0/X+"] = 0.25, 0.3
   for _ = 1, 4 do
      local _, touched = w:random_job()
      for c in pairs(touched) do
         store[c] = memory.pack(w.diagnosis, c)
      end
   end
   local old, new, seen = w.diagnosis, diagnose.new(w.topo, sim.quick), {}
   for c, text in pairs(store) do
      new:restore(c, assert(memory.unpack(text, w.topo, seen)))
   end
   new:restored()
   local runs = 0
   for c = 1, #w.topo.components do
      lu.assertEquals(new.evidence:low(c), old.evidence:low(c), w.topo.components[c])
      lu.assertAlmostEquals(new.evidence:score(c), old.evidence:score(c), 0.01)
      runs = runs + new.evidence:low(c)
   end
   lu.assertTrue(runs > 0)
   w.diagnosis = new
   for _ = 1, 60 do
      w:random_job()
   end
   lu.assertEquals(w:all "slow", { "n5/tx", "r2.0.0/X+" })
end

return tests
