-- SPDX-License-Identifier: GPL-2.0-or-later
-- Hard evidence (lanes, widths, speeds) in the diagnosis: suspect at once, sooner a verdict, never
-- a drain by itself.
local config = require "taut.config"
local diagnose = require "taut.diagnose"
local events = require "taut.events"
local hard = require "taut.events.hard"
local json = require "taut.json"
local lu = require "luaunit"
local memory = require "taut.diagnose.memory"
local reason = require "taut.policy.reason"
local readings = require "taut.events.readings"
local sim = require "lib.sim"
local topology = require "taut.topology"

local tests = {}

local FACT = { why = "lanes of hsn0 (pcie) is 8, it should be 16", head = "PCIe x8 of x16",
   since = 1000 }

local function rules(more)
   local r = { suspect_low = 4, suspect_events = 4, suspect_score = 4, slow_low = 6, slow_far = 3,
      slow_score = 16, slow_spells = 4, spell_s = 5, confirm_span_h = 0, busy_h = 0.01,
      reporters = 2, void_delay = 0.15 }
   for k, v in pairs(more or {}) do
      r[k] = v
   end
   return assert(config.diagnosis(r))
end

local function machine(seed, more)
   return sim.new { seed = seed, settings = rules(more) }
end

local function found(w, name, left, fact)
   return w.diagnosis:hard(w:c(name), left, fact or FACT, w.now)
end

local function jobs(w, n)
   for _ = 1, n do
      w:random_job()
   end
end

---------------------------------------------------------------- diagnosis

function tests.test_what_was_found_makes_a_suspect_at_once_and_goes()
   local w = machine(1)
   local changes = found(w, "n5/tx", 0.5)
   lu.assertEquals({ #changes, changes[1].from, changes[1].to }, { 1, "unknown", "suspect" })
   lu.assertEquals(w:state "n5/tx", "suspect")
   lu.assertEquals(found(w, "n5/tx", 0.5), {}) -- said twice
   local list = w.diagnosis:reasoning(w:c "n5/tx")
   lu.assertEquals(list[1].text, FACT.why .. ": 50% of its capacity is left")
   lu.assertStrContains(list[2].text, "no test was low yet")
   lu.assertEquals(w.diagnosis:wanted()[1].component, w:c "n5/tx")
   changes = found(w, "n5/tx", 1)
   lu.assertEquals({ changes[1].from, changes[1].to }, { "suspect", "unknown" })
   lu.assertEquals({ w:state "n5/tx", w.diagnosis.suspects }, { "unknown", {} })
   lu.assertEquals(w.diagnosis:reasoning(w:c "n5/tx"), {})
end

function tests.test_what_leaves_enough_is_only_shown()
   local w = machine(1)
   lu.assertEquals(found(w, "n5/tx", 23 / 24), {})
   lu.assertEquals(w:state "n5/tx", "unknown")
   lu.assertStrContains(w.diagnosis:remark(w:c "n5/tx", w.now), "96% left")
   -- it gets worse
   lu.assertEquals(#found(w, "n5/tx", 0.5), 1)
   lu.assertEquals(w:state "n5/tx", "suspect")
   lu.assertEquals(#found(w, "n5/tx", 0.9), 1)
   lu.assertEquals(w:state "n5/tx", "unknown")
end

function tests.test_clean_tests_contradict_it_and_nothing_is_named()
   local w = machine(2)
   found(w, "n5/tx", 0.5)
   jobs(w, 100)
   lu.assertEquals({ w:state "n5/tx", w:all "slow" }, { "suspect", {} })
   local list = w.diagnosis:reasoning(w:c "n5/tx")
   lu.assertStrContains(list[2].text, "a test since cleared it")
   lu.assertNotNil(w.diagnosis:wanted()[1].after)
   found(w, "n5/tx", 1)
   lu.assertEquals(w:state "n5/tx", "ok")
end

-- How many jobs until it is named.
local function until_slow(seed, name, is_found, more)
   local w = machine(seed, more)
   jobs(w, 30)
   w.left[w:c(name)] = 0.5
   if is_found then
      found(w, name, 0.5)
   end
   for i = 1, 400 do
      w:random_job()
      if w:state(name) == "slow" then
         lu.assertEquals(w:all "slow", { name })
         return i, w
      end
   end
   error "not found"
end

function tests.test_with_it_a_verdict_wants_fewer_tests()
   local with, without, all = 0, 0, 0
   for seed = 1, 4 do
      for _, name in ipairs { "n5/tx", "n9/rx", "r2.0.0/X+" } do
         with = with + until_slow(seed, name, true)
         without = without + until_slow(seed, name, false)
         all = all + until_slow(seed, name, true, { hard_share = 1 })
      end
   end
   lu.assertTrue(with < 0.8 * without, with .. " " .. without)
   lu.assertTrue(with < all, with .. " " .. all)
end

function tests.test_the_hard_fact_is_the_first_sentence_of_a_verdict()
   local _, w = until_slow(3, "n5/tx", true)
   local list = w.diagnosis:reasoning(w:c "n5/tx")
   lu.assertStrContains(list[1].text, "it should be 16: 50% of its capacity is left")
   lu.assertStrContains(list[2].text, "were low")
end

function tests.test_a_verdict_of_tests_stays_until_tests_take_it_back()
   local _, w = until_slow(3, "n5/tx", true)
   found(w, "n5/tx", 1)
   lu.assertEquals(w:state "n5/tx", "slow")
   w.left = {}
   jobs(w, 60)
   lu.assertEquals(w:state "n5/tx", "ok")
end

function tests.test_when_tests_are_well_again_and_the_fact_stands_it_is_suspect()
   local _, w = until_slow(3, "n5/tx", true)
   w.left = {}
   jobs(w, 60)
   lu.assertEquals(w:state "n5/tx", "suspect")
end

function tests.test_a_site_may_want_it_to_be_enough()
   local w = machine(4, { hard_alone = true })
   local changes = found(w, "n5/tx", 0.5)
   lu.assertEquals({ changes[#changes].to, w:state "n5/tx" }, { "slow", "slow" })
   lu.assertEquals(w.diagnosis:component(w:c "n5/tx").left, 0.5)
   jobs(w, 60)
   lu.assertEquals(w:all "slow", { "n5/tx" })
   lu.assertStrContains(w.diagnosis:reasoning(w:c "n5/tx")[2].text, "hard_alone")
   changes = found(w, "n5/tx", 1)
   lu.assertEquals({ changes[1].from, changes[1].to, w:state "n5/tx" }, { "slow", "ok", "ok" })
   lu.assertEquals(found(w, "n5/rx", 0)[2].to, "failed")
end

function tests.test_released_with_the_cause_standing_is_suspect_again()
   local _, w = until_slow(3, "n5/tx", true)
   local changes = {}
   w.left = {}
   w.diagnosis:forget(w:c "n5/tx", w.now, 3600, changes)
   lu.assertEquals({ changes[1].to, changes[2].to }, { "unknown", "suspect" })
end

function tests.test_a_restart_keeps_what_it_led_to()
   local w = machine(4, { hard_alone = true })
   found(w, "n5/tx", 0.5)
   local c = w:c "n5/tx"
   local k = assert(memory.unpack(memory.pack(w.diagnosis, c), w.topo, {}))
   local d = diagnose.new(w.topo, rules { hard_alone = true })
   d:restore(c, k)
   d:restored()
   lu.assertEquals(d:hard(c, 0.5, FACT, w.now), {})
   lu.assertEquals(d:state(c), "slow")
   d:hard(c, 1, nil, w.now)
   lu.assertEquals(d:state(c), "ok")
end

---------------------------------------------------------------- the reason

function tests.test_heads_fit_into_what_sinfo_shows()
   for _, case in ipairs {
      { { via = "pcie", what = "lanes", have = 8, best = 16 }, "PCIe x8 of x16" },
      { { via = "pcie", what = "speed_MTps", have = 8000, best = 16000 }, "PCIe 8/16 GT" },
      { { via = "pcie", what = "speed_MTps", have = 2500, best = 32000 }, "PCIe 2.5/32 GT" },
      { { via = "netdev", what = "speed_Mbps", have = 1000, best = 200000 }, "1 of 200Gb/s" },
      { { via = "ib", what = "rate_Mbps", have = 100000, best = 200000 }, "100 of 200Gb/s" },
      { { via = "pcie", what = "width", have = "8.0 GT/s PCIe x8", best = "8.0 GT/s PCIe x16" },
         "PCIe x8 of x16" },
      { { source = "fabric", what = "width", have = "1X QDR", best = "4X QDR" }, "IB 1X of 4X" },
      { { source = "fabric", what = "speed", have = "4X SDR", best = "4X QDR" },
         "IB SDR of QDR" },
      { { source = "fabric", what = "silent" }, "IB silent" },
      { { source = "netwatch", what = "lanes" } },
      -- what comes from outside may be anything
      { { via = "pcie", what = "lanes", have = ("x"):rep(20), best = 16 } },
      { { via = "pcie", what = "lanes", have = "\n", best = 16 } },
      { { via = "pcie", what = "speed_MTps", have = "8", best = {} } },
      { { source = "fabric", what = "width" } },
      { { source = "fabric", what = "width", have = "", best = "" } },
   } do
      local head = hard.head(case[1])
      lu.assertEquals(head, case[2])
      lu.assertTrue(not head or #reason.PREFIX + #head <= reason.SHOWN, head)
   end
end

function tests.test_the_reason_names_it_first()
   local test = { src_name = "n5", dst_name = "n7", bw_Bps = 6e9, expected_Bps = 12e9 }
   local v = { kind = "tx", state = "slow", left = 0.5, test = test, low = 6, tests = 60, job = 7,
      hard = "PCIe x8 of x16" }
   lu.assertEquals(reason.format(v),
      "taut: PCIe x8 of x16; sends at 50%, n5 -> n7, 6/12 GB/s, 6 of 60 tests, last job 7")
   v.repeated = 3
   lu.assertEquals(reason.format(v), "taut: again, tx;     PCIe x8 of x16, drained 3 times, " ..
      "for good, sends at 50%, n5 -> n7, 6/12 GB/s, 6 of 60 tests, last job 7")
   v.repeated, v.test, v.low, v.job = nil, nil, 0, nil
   lu.assertEquals(reason.format(v), "taut: PCIe x8 of x16; sends at 50%, 0 of 60 tests")
end

function tests.test_the_noun_is_what_is_slow()
   local function head(v)
      v.left, v.low, v.tests = v.state == "failed" and 0 or 0.25, 1, 1
      return reason.format(v):match "^[^;]+"
   end
   lu.assertEquals(head { kind = "tx", part = "node", state = "slow" }, "taut: node at 25%")
   lu.assertEquals(head { kind = "tx", part = "node", state = "failed" }, "taut: nothing passes")
   lu.assertEquals(head { kind = "X+", part = "router", state = "slow" }, "taut: router at 25%")
   lu.assertEquals(head { kind = "X+", part = "router", state = "failed" }, "taut: router at 0%")
   lu.assertEquals(head { kind = "X+", part = "cable", state = "slow" }, "taut: X+ link at 25%")
end

---------------------------------------------------------------- events

-- As much of a daemon as events need.
local function daemon(topo)
   local d = { topo = topo, rows = {}, changes = {},
      cluster = { on_node = {}, jobs = {}, last_heard = {} } }
   d.journal = { add = function(_, name, row) table.insert(d.rows, { name, row }) end }
   d.diagnosis = diagnose.new(topo, rules())
   d.events = events.new { topology = topo, cluster = d.cluster, diagnosis = d.diagnosis,
      journal = d.journal, hear = function(changes)
         table.move(changes, 1, #changes, #d.changes + 1, d.changes)
      end }
   return d
end

-- A reading of a node whose card has so many lanes, as the store makes observations of it.
local function pcie(d, node, lanes, was)
   local function reading(at, n)
      local told = ("pcie hsn0 lanes=%d max_lanes=16 speed_MTps=16000 max_speed_MTps=16000")
         :format(n)
      return { node = node, time = os.time() + at, mono = at, host_boot = "h", boot = "b",
         purpose = "idle", jobs = {}, rails = { hsn0 = 1 }, rail_count = 1,
         told = told, ports = readings.ports(told) }
   end
   local state, out = readings.take(nil, reading(0, was or lanes))
   if was then
      state, out = readings.take(readings.unpack(json.decode(json.encode(
         readings.pack(state)))), reading(60, lanes))
   end
   for i, o in ipairs(out) do
      o.id = i
   end
   d.cluster.last_heard[node] = os.time()
   d.events:stored(out)
   return state
end

local function torus(capacity)
   return assert(topology.build { kind = "torus", dims = { 4, 2, 2 }, nodes_per_router = 2,
      nodes = "n[0-31]", capacity = capacity or 25e9 })
end

function tests.test_a_narrow_card_makes_its_node_suspect_where_others_are_not()
   local d = daemon(torus())
   pcie(d, "n1", 16)
   pcie(d, "n2", 16)
   pcie(d, "n3", 8)
   local tx, rx = d.topo.component_id["n3/tx"], d.topo.component_id["n3/rx"]
   lu.assertEquals({ d.diagnosis:state(tx), d.diagnosis:state(rx) }, { "suspect", "suspect" })
   lu.assertEquals(#d.changes, 2)
   local k = d.diagnosis:component(tx)
   lu.assertEquals(k.hard.head, "PCIe x8 of x16")
   lu.assertAlmostEquals(k.hard.left, 8 * 16e9 / 8 * 128 / 130 / 25e9, 1e-6)
   -- it is as it should be again
   pcie(d, "n3", 16, 8)
   lu.assertEquals({ d.diagnosis:state(tx), k.hard }, { "unknown" })
end

function tests.test_what_most_peers_have_is_how_they_are_built()
   local d = daemon(torus())
   for n = 1, 6 do
      pcie(d, "n" .. n, 8)
   end
   pcie(d, "n7", 16)
   lu.assertEquals(#d.events:evidence(), 12) -- it is shown all the same
   d.events:review()
   lu.assertEquals(d.diagnosis.suspects, {})
   -- a narrower one among them
   pcie(d, "n8", 4)
   lu.assertEquals(d.diagnosis:state(d.topo.component_id["n8/tx"]), "suspect")
   lu.assertEquals(d.diagnosis:state(d.topo.component_id["n1/tx"]), "unknown")
end

function tests.test_the_only_node_that_was_heard_has_no_peers()
   local d = daemon(torus())
   pcie(d, "n1", 8)
   lu.assertEquals(d.diagnosis.suspects, {})
   d.cluster.last_heard.n2 = os.time()
   d.events:review() -- as with each news from Slurm
   lu.assertEquals(d.diagnosis:state(d.topo.component_id["n1/tx"]), "suspect")
end

function tests.test_a_card_that_still_carries_what_the_network_does_is_no_fault()
   local d = daemon(torus(12.5e9))
   d.cluster.last_heard.n2 = os.time()
   pcie(d, "n1", 8)
   lu.assertEquals(d.diagnosis.suspects, {})
end

local function fabric_event(o)
   o.source, o.to, o.class, o.text = "fabric", os.time(), "degrading", "t"
   return o
end

function tests.test_a_slow_port_of_a_host_is_of_its_node_and_one_of_a_switch_of_that_link()
   local d = daemon(torus())
   local link = d.topo.component_id["r0.0.0/X+"]
   d.events:take({ fabric_event { what = "width", left = 0.25, have = "1X QDR", best = "4X QDR",
      components = { "n3/tx", "n3/rx" }, port = "n3/1" },
      fabric_event { what = "speed", left = 0.5, have = "4X DDR", best = "4X QDR",
      components = { "r0.0.0/X+" }, port = "r0.0.0/X+" } }, true)
   lu.assertEquals(d.diagnosis:state(d.topo.component_id["n3/rx"]), "suspect")
   lu.assertEquals(d.diagnosis:state(link), "suspect")
   lu.assertEquals(d.diagnosis:component(link).hard.head, "IB DDR of QDR")
   lu.assertEquals(d.diagnosis:state(d.topo:opposite(link)), "unknown")
   -- the next sweep finds it well
   d.events:take({ fabric_event { what = "speed", left = 1, components = { "r0.0.0/X+" },
      port = "r0.0.0/X+" } }, true)
   lu.assertEquals(d.diagnosis:state(link), "unknown")
end

function tests.test_one_of_several_cables_leaves_the_others()
   local w = { routers = { { name = "r0", coord = { 0 } }, { name = "r1", coord = { 1 } } },
      nodes = { { name = "n1", rails = { { router = 1, Bps = 1e9 } } },
         { name = "n2", rails = { { router = 2, Bps = 1e9 } } } }, cables = {} }
   for i = 1, 4 do
      w.cables[i] = { a = 1, a_port = tostring(i), b = 2, b_port = tostring(i), Bps = 1e9 }
   end
   local topo = assert(topology.build { kind = "hyperx", wiring = w })
   local d = daemon(topo)
   lu.assertEquals(topo.cables[topo.component_id["r0/1"]], 4)
   d.events:take({ fabric_event { what = "width", left = 0.25, components = { "r0/1" },
      port = "r0/1" } }, true)
   lu.assertAlmostEquals(d.events:left(topo.component_id["r0/1"]), 1 - 0.75 / 4, 1e-9)
   lu.assertEquals(d.diagnosis.suspects, {})
end

function tests.test_what_a_kernel_told_ends_with_its_boot()
   local d = daemon(torus(25e9))
   d.cluster.last_heard.n2 = 1
   local function log(at)
      d.events:take({ { source = "kernel", source_kind = "pcie", what = "width", left = 0.5,
         have = "8.0 GT/s PCIe x8", best = "8.0 GT/s PCIe x16", to = at, class = "degrading",
         text = "t", at = { host = "n1", pci = "0000:01:00.0" } } }, true)
   end
   local function boot(from, to)
      d.events:stored { { id = 1, source = "node", what = "boot", node = "n1", class = "harmless",
         from = from, to = to, text = "n1 booted", components = {} } }
   end
   local tx = d.topo.component_id["n1/tx"]
   log(1000)
   lu.assertEquals(d.diagnosis:component(tx).hard.head, "PCIe x8 of x16")
   boot(900, 1100) -- it may have told so after that boot
   lu.assertEquals(d.diagnosis:state(tx), "suspect")
   boot(1200, 1300)
   lu.assertEquals({ d.diagnosis:state(tx), d.events:evidence() }, { "unknown", {} })
end

function tests.test_it_comes_back_from_the_store()
   local d = daemon(torus())
   d.events:take({ fabric_event { what = "width", left = 0.25, have = "1X QDR", best = "4X QDR",
      components = { "n3/tx" }, port = "n3/1" } }, true)
   local kept = {}
   for _, r in ipairs(d.rows) do
      kept[#kept + 1] = r[1] == "evidence" and r[2] or nil
   end
   local other = daemon(torus())
   kept[2] = { component = "n4/tx", origin = "x", data = '{"left":0.1}' }
   kept[3] = { component = "n5/tx", origin = "x", data = '{"left":0.1,"text":7,"what":{}}' }
   other.events:restore(kept, {})
   local k = other.diagnosis:component(other.topo.component_id["n3/tx"])
   lu.assertEquals({ k.state, k.hard.head }, { "suspect", "IB 1X of 4X" })
   lu.assertEquals(other.diagnosis:state(other.topo.component_id["n5/tx"]), "suspect")
end

return tests
