-- SPDX-License-Identifier: GPL-2.0-or-later
-- Learned capacities of components, and classes of nodes.
local config = require "taut.config"
local diagnose = require "taut.diagnose"
local expectation = require "taut.topology.model.expectation"
local json = require "taut.json"
local judge = require "taut.diagnose.judge"
local lu = require "luaunit"
local sim = require "lib.sim"
local topology = require "taut.topology"
local slow_whole = require "taut.report.slow_whole"

local tests = {}

local RULES = { suspect_low = 3, suspect_events = 2, suspect_score = 3, slow_low = 3, slow_far = 2,
   slow_score = 8, slow_spells = 2, spell_s = 5, confirm_span_h = 0, busy_h = 0.01, reporters = 2,
   void_delay = 0.15 }

local function rules(more)
   local r = {}
   for _, list in ipairs { RULES, more or {} } do
      for k, v in pairs(list) do
         r[k] = v
      end
   end
   return assert(config.diagnosis(r))
end

-- A machine of which the file says no more than this; in truth all of it carries 24 MB/s.
local function torus(more)
   local conf = { kind = "torus", dims = { 4, 2, 2 }, nodes_per_router = 2, nodes = "n[0-31]" }
   for k, v in pairs(more or {}) do
      conf[k] = v
   end
   return topology.build(conf)
end

-- A simulated machine whose capacities the simulation knows and Taut does not.
local function machine(o)
   o = o or {}
   local w = sim.new { seed = o.seed or 1, settings = rules(o.rules) }
   w.truth = {}
   for c = 1, #w.topo.components do
      w.truth[c] = 24e6
   end
   w.topo = assert(torus(o.topology))
   w.diagnosis = diagnose.new(w.topo, rules(o.rules))
   return w
end

local function about(w, name)
   return w.diagnosis.learned:about(w:c(name))
end

local function jobs(w, n)
   for _ = 1, n do
      w:random_job()
   end
end

---------------------------------------------------------------- files

function tests.test_a_machine_without_capacities_is_one_to_be_learned()
   local topo = assert(torus {})
   lu.assertEquals(topo.learns[topo.tx[1]], 1)
   lu.assertTrue(topo.open[topo.component_id["r0.0.0/X+"]])
   topo = assert(torus { capacity = { tx = 10e9, rx = 10e9 } })
   lu.assertNil(topo.learns[topo.tx[1]])
   lu.assertNotNil(topo.learns[topo.component_id["r0.0.0/X+"]])
   topo = assert(torus { capacity = 1e9 })
   lu.assertNil(topo.learns)
   lu.assertNil(topo.open)
end

function tests.test_what_is_no_capacity_is_still_refused()
   for _, case in ipairs {
      { { capacity = "fast" }, "expected bytes per second for 'X%+', got fast" },
      { { capacity = { tx = -1 } }, "'tx', got %-1" },
      { { capacity = { tx = 1e9, lnik = 2e9 } }, "'lnik' names no component of this machine" },
      { { node_classes = 7 }, "expected a table { NAME" },
      { { node_classes = { gpu = 7 } }, "gpu: expected a table" },
      { { node_classes = { gpu = {} } }, "gpu: nodes: expected a host list" },
      { { node_classes = { gpu = { nodes = "x1" } } }, "node 'x1' is not in the topology" },
      { { node_classes = { gpu = { nodes = "n1", tx = 0 } } }, "gpu: tx: expected bytes" },
      { { node_classes = { gpu = { nodes = "n1", up = 1 } } }, "'up' is not a setting" },
      { { node_classes = { ["g p"] = { nodes = "n1" } } }, "expected names of letters" },
      { { node_classes = { [1] = { nodes = "n1" } } }, "expected names of letters" },
      { { node_classes = { a = { nodes = "n[1-2]" }, b = { nodes = "n2" } } },
         "'n2' is in class 'a' already" },
   } do
      local topo, err = torus(case[1])
      lu.assertNil(topo)
      lu.assertStrMatches(err, "topology%..*" .. case[2] .. ".*")
   end
end

function tests.test_every_kind_of_machine_can_be_learned()
   for _, conf in ipairs {
      { kind = "fattree", nodes_per_leaf = 4, levels = { { down = 4, up = 2 } },
         nodes = "n[0-15]" },
      { kind = "dragonfly", groups = 3, routers = 4, nodes_per_router = 2,
         nodes = "n[0-23]" },
      { kind = "hyperx", dims = { 3, 3 }, nodes_per_router = 2, nodes = "n[0-17]" },
      { kind = "mesh", dims = { 3, 3 }, nodes_per_router = 1, nodes = "n[0-8]" },
      { kind = "graph", wiring = { routers = { { name = "a" }, { name = "b" } },
         nodes = { { name = "n1", rails = { { router = 1 } } },
            { name = "n2", rails = { { router = 2 } } } },
         cables = { { a = 1, a_port = "1", b = 2, b_port = "1" },
            { a = 1, a_port = "2", b = 2, b_port = "2", Bps = 1e9 } } } },
   } do
      local topo, err = topology.build(conf)
      lu.assertNotNil(topo, err)
      lu.assertNotNil(topo.learns[topo.tx[1]], conf.kind)
      lu.assertEquals(topo.capacity[topo.tx[1]] > 0, true)
   end
end

function tests.test_node_classes_have_capacities_of_their_own()
   local topo = assert(torus { capacity = 24e6, node_classes = {
      gpu = { nodes = "n[0-3]", tx = 48e6, rx = 40e6 }, new = { nodes = "n[30-31]" } } })
   lu.assertEquals({ topo.capacity[topo.tx[1]], topo.capacity[topo.rx[4]],
      topo.capacity[topo.tx[5]] }, { 48e6, 40e6, 24e6 })
   lu.assertEquals({ topo:class(topo.tx[1]), topo:class(topo.rx[31]), topo:class(topo.tx[5]) },
      { "gpu tx", "new rx", "tx" })
   lu.assertNil(topo.learns[topo.tx[1]])
   lu.assertNotNil(topo.learns[topo.tx[31]])
   lu.assertEquals(topo:kind(topo.tx[1]), "tx")
   -- a test is held against the narrower end
   lu.assertEquals(expectation.of_test({ route = topo:route(1, 5) }, topo), 24e6)
   lu.assertEquals(expectation.of_test({ route = topo:route(1, 3) }, topo), 24e6)
end

function tests.test_a_class_may_be_configured_where_the_rest_is_learned()
   local topo = assert(torus { node_classes = { gpu = { nodes = "n[0-3]", tx = 48e6, rx = 4e6 } } })
   lu.assertNil(topo.learns[topo.tx[1]])
   lu.assertNil(topo.open[topo.rx[1]])
   lu.assertNotNil(topo.learns[topo.tx[5]])
end

---------------------------------------------------------------- learning

function tests.test_a_healthy_machine_is_learned_and_well()
   local w = machine {}
   lu.assertEquals(w:state "n5/tx", "unknown")
   jobs(w, 60)
   local tx = about(w, "n5/tx")
   lu.assertAlmostEquals(tx.Bps, 24e6, 0.5e6)
   lu.assertEquals({ tx.class, tx.of, tx.settled }, { "tx", 32, true })
   lu.assertTrue(tx.peers >= 16)
   lu.assertAlmostEquals(about(w, "r1.0.0/X+").Bps, 24e6, 0.5e6)
   lu.assertEquals({ w:state "n5/tx", w:state "r1.0.0/X+" }, { "ok", "ok" })
   lu.assertEquals({ w:all "slow", w:all "suspect" }, { {}, {} })
end

function tests.test_a_fault_is_named_although_nothing_was_configured()
   for _, name in ipairs { "n5/tx", "n9/rx", "r2.0.0/X+" } do
      local w = machine { seed = 7 }
      jobs(w, 60)
      w.left[w:c(name)] = 0.25
      jobs(w, 200)
      lu.assertEquals(w:all "slow", { name })
   end
end

function tests.test_slow_from_the_first_day()
   local w = machine { seed = 8 }
   w.left[w:c "n5/tx"] = 0.25
   jobs(w, 250)
   lu.assertEquals(w:all "slow", { "n5/tx" })
   lu.assertAlmostEquals(about(w, "n5/tx").Bps, 24e6, 0.5e6)
end

function tests.test_below_the_least_number_of_peers_nothing_is_known_or_slow()
   local w = machine { seed = 2, topology = { capacity = 24e6, node_classes = {
      new = { nodes = "n[26-31]" } } } }
   for n = 27, 32 do
      w.left[w.topo.tx[n]], w.left[w.topo.rx[n]] = 0.4, 0.4
   end
   jobs(w, 150)
   lu.assertEquals({ w:all "slow", w:all "suspect" }, { {}, {} })
   lu.assertEquals({ w:state "n28/tx", w:state "n3/tx" }, { "unknown", "ok" })
   local k = about(w, "n28/tx")
   lu.assertEquals({ k.Bps, k.peers, k.of, k.least, k.class }, { nil, 6, 6, 8, "new tx" })
end

function tests.test_a_class_of_slower_nodes_is_learned_for_itself()
   local w = machine { seed = 2, rules = { learn_peers = 4 }, topology = { capacity = 24e6,
      node_classes = { new = { nodes = "n[26-31]" } } } }
   for n = 27, 32 do
      w.left[w.topo.tx[n]], w.left[w.topo.rx[n]] = 0.4, 0.4
   end
   jobs(w, 200)
   lu.assertAlmostEquals(about(w, "n28/tx").Bps, 0.4 * 24e6, 0.3e6)
   lu.assertEquals({ w:state "n28/tx", w:all "slow" }, { "ok", {} })
end

function tests.test_a_minority_of_slow_ones_does_not_lower_it()
   local w = machine { seed = 5 }
   for n = 1, 12 do
      w.left[w.topo.tx[n]] = 0.2 + 0.05 * n
   end
   jobs(w, 100)
   lu.assertAlmostEquals(about(w, "n5/tx").Bps, 24e6, 1e6)
end

function tests.test_what_becomes_slow_later_changes_nothing()
   local w = machine { seed = 5 }
   jobs(w, 80)
   local was = about(w, "n5/tx").Bps
   for n = 1, 32 do
      w.left[w.topo.tx[n]] = 0.6
   end
   jobs(w, 100)
   lu.assertEquals(about(w, "n5/tx").Bps, was)
   lu.assertStrContains((slow_whole.text(w.diagnosis.machine_wide)), "changed everywhere")
end

function tests.test_one_liar_changes_nothing()
   for _, factor in ipairs { 0, 0.1, 50 } do
      local w = machine { seed = 6 }
      w.lie = function(t, send, recv)
         if t.src == 5 then
            send.bytes = math.floor(send.bytes * factor)
         elseif t.dst == 5 then
            recv.bytes = math.floor(recv.bytes * factor)
         end
      end
      jobs(w, 80)
      lu.assertAlmostEquals(about(w, "n9/tx").Bps, 24e6, 0.5e6)
      lu.assertEquals(w:all "slow", {})
   end
end

function tests.test_peers_that_differ_too_much_are_no_measure()
   local w = machine { seed = 9 }
   for n = 1, 32 do
      w.left[w.topo.tx[n]] = 0.1 + 0.9 * ((n * 7) % 32) / 32
   end
   jobs(w, 100)
   lu.assertTrue(about(w, "n5/tx").too_different)
   lu.assertEquals({ w:state "n5/tx", w:all "slow" }, { "unknown", {} })
end

function tests.test_a_settled_value_moves_only_when_somebody_says_so()
   local w = machine { seed = 10 }
   jobs(w, 80)
   for n = 1, 32 do
      w.left[w.topo.tx[n]] = 2 -- a better driver
      w.left[w.topo.rx[n]] = 2
   end
   for c = w.topo.first_link, #w.topo.components do
      w.left[c] = 2
   end
   jobs(w, 80)
   local k = about(w, "n5/tx")
   lu.assertAlmostEquals(k.Bps, 24e6, 0.5e6)
   lu.assertAlmostEquals(k.shows, 48e6, 1e6)
   local changes, set, n = w.diagnosis:relearn("tx", w.now)
   lu.assertEquals({ changes, next(set), n }, { {}, nil, 32 })
   lu.assertEquals(w:state "n5/tx", "unknown")
   jobs(w, 80)
   lu.assertAlmostEquals(about(w, "n5/tx").Bps, 48e6, 1e6)
   lu.assertEquals(w:state "n5/tx", "ok")
end

function tests.test_after_a_change_for_the_worse_relearning_takes_the_suspicion_away()
   local w = machine { seed = 11 }
   jobs(w, 80)
   for n = 1, 32 do
      w.left[w.topo.tx[n]] = 0.6
   end
   jobs(w, 80)
   lu.assertNotNil(w.diagnosis.machine_wide)
   local changes = w.diagnosis:relearn(nil, w.now)
   lu.assertTrue(#changes > 0)
   jobs(w, 80)
   lu.assertNil(w.diagnosis.machine_wide)
   lu.assertAlmostEquals(about(w, "n5/tx").Bps, 0.6 * 24e6, 0.5e6)
   lu.assertEquals({ w:all "slow", w:all "suspect" }, { {}, {} })
end

function tests.test_relearning_what_is_not_learned_is_refused()
   local w = machine { topology = { capacity = { tx = 24e6, rx = 24e6 } } }
   local ok, err = w.diagnosis:relearn("tx", 1)
   lu.assertNil(ok)
   lu.assertEquals(err, "'tx' is not learned; learned are: X, Y, Z")
   w = sim.new {}
   ok, err = w.diagnosis:relearn(nil, 1)
   lu.assertNil(ok)
   lu.assertEquals(err, "nothing is learned: every capacity is configured")
end

---------------------------------------------------------------- restart, reload

function tests.test_it_survives_a_restart()
   local w = machine { seed = 12 }
   jobs(w, 80)
   local kept = json.decode(json.encode(json.array(w.diagnosis.learned:kept())))
   local topo = assert(torus {})
   local d = diagnose.new(topo, rules())
   d.learned:restore(kept)
   lu.assertEquals(d.learned:about(topo.tx[6]), about(w, "n5/tx"))
   lu.assertEquals(topo.capacity[topo.tx[6]], w.topo.capacity[w.topo.tx[6]])
   lu.assertNil(topo.open[topo.tx[6]])
end

function tests.test_what_was_kept_may_be_damaged()
   local topo = assert(torus {})
   local d = diagnose.new(topo, rules())
   for _, kept in ipairs { false, 7, "x", { 7 }, { { class = "tx" } }, { { class = 7, Bps = 1 } },
      { { class = "tx", Bps = -1, n = 8 } }, { { class = "tx", Bps = 1e9, n = 33 } },
      { { class = "tx", Bps = 0 / 0, n = 8 } }, { { class = "tx", Bps = "1", n = 8 } },
      { { class = "uplink", Bps = 1e9, n = 8 } } } do
      d.learned:restore(kept)
      lu.assertNil(d.learned:about(topo.tx[1]).Bps)
   end
   d.learned:restore { { class = "tx", Bps = 1e9, n = 8, settled = 1, since = "x", spread = {} } }
   lu.assertEquals(d.learned:about(topo.tx[1]).Bps, 1e9)
end

function tests.test_a_configured_capacity_wins()
   local w = machine { seed = 13 }
   jobs(w, 80)
   local topo = assert(torus { capacity = { tx = 20e6, rx = 20e6 } })
   w.diagnosis:reload(topo, rules())
   lu.assertNil(w.diagnosis.learned:about(topo.tx[1]))
   lu.assertEquals(topo.capacity[topo.tx[1]], 20e6)
   lu.assertAlmostEquals(topo.capacity[topo.component_id["r0.0.0/X+"]], 24e6, 0.5e6)
   lu.assertNil(topo.open[topo.component_id["r0.0.0/X+"]])
end

---------------------------------------------------------------- single tests

local function judged(topo, bw, sender)
   local t = { src = 1, dst = 3, route = topo:route(1, 3), dur_ms = 20, id = 1 }
   local recv = { bytes = bw * 0.02, window_ns = 20000000 }
   local send = { bytes = (sender or bw) * 0.02, window_ns = 20000000 }
   return judge.test(t, send, recv, topo, rules())
end

function tests.test_a_test_over_what_nobody_knows_accuses_nobody()
   local topo = assert(torus { capacity = { tx = 24e6, rx = 24e6 } })
   local t = judged(topo, 10e6)
   lu.assertEquals({ t.class, t.why, t.figure, t.expected_Bps }, { "void",
      "it is not known yet what r0.0.0/Z+ carries", true, 24e6 })
   t = judged(topo, 23e6)
   lu.assertEquals({ t.class, t.why }, { "good", nil })
   -- nothing at all is known
   t = judged(assert(torus {}), 23e6)
   lu.assertEquals({ t.class, t.expected_Bps, t.figure }, { "void", 23e6, true })
   t = judged(assert(torus {}), 0)
   lu.assertEquals({ t.class, t.figure }, { "void", true })
   lu.assertNotNil(json.encode { t.expected_Bps, t.ratio })
end

function tests.test_two_ends_that_disagree_are_no_figure()
   local t = judged(assert(torus {}), 23e6, 46e6)
   lu.assertEquals({ t.class, t.figure }, { "void", nil })
   lu.assertStrContains(t.why, "sent 46.0 MB/s")
end

return tests
