-- SPDX-License-Identifier: GPL-2.0-or-later
-- What is slow as a whole, and which verdicts belong together.
local config = require "taut.config"
local diagnose = require "taut.diagnose"
local lu = require "luaunit"
local sim = require "lib.sim"
local tables = require "taut.base.tables"
local topology = require "taut.topology"
local slow_whole = require "taut.report.slow_whole"

local tests = {}

function tests.test_a_machine_wide_change_accuses_nobody()
   local w = sim.new { seed = 3 }
   for _ = 1, 60 do
      w:random_job()
   end
   for n in ipairs(w.topo.nodes) do
      w.left[w.topo.tx[n]] = 0.6 -- a new driver
   end
   for _ = 1, 80 do
      w:random_job()
   end
   lu.assertEquals(w:all "slow", {})
   lu.assertStrContains((slow_whole.text(w.diagnosis.machine_wide)), "changed everywhere: ")
   -- it is mended
   w.left = {}
   w.now = w.now + 1000
   for _ = 1, 40 do
      w:random_job()
   end
   lu.assertNil(w.diagnosis.machine_wide)
end

-- With the settings of a real machine: a job every three minutes.  Every fabric test crosses what
-- has changed; neither routers' links nor nodes are called slow for it, soon or late.
local function changed_everywhere(seed, first, step, share)
   local w = sim.new { seed = seed, dims = { 4, 4, 4 }, settings = assert(config.diagnosis {}) }
   local function jobs(n)
      for _ = 1, n do
         w.now = w.now + 170
         w:random_job(32)
      end
   end
   jobs(150)
   lu.assertNil(w.diagnosis.machine_wide)
   local last = first and w.topo.first_link - 1 or #w.topo.components
   for c = first or w.topo.first_link, last, step do
      w.left[c] = share
   end
   jobs(200)
   lu.assertEquals(w:all "slow", {})
   lu.assertStrContains((slow_whole.text(w.diagnosis.machine_wide)), "changed everywhere: ")
   return w, jobs
end

function tests.test_what_changed_everywhere_is_held_against_nothing_else()
   changed_everywhere(1, 1, 2, 0.6) -- every tx
   changed_everywhere(2, 1, 2, 0.2)
   local w, jobs = changed_everywhere(1, nil, 1, 0.6) -- every link
      w.left = { [w:c "n40/tx"] = 0.3 }
   jobs(250)
   lu.assertNil(w.diagnosis.machine_wide)
   lu.assertEquals(w:all "slow", { "n40/tx" }) -- it is over, and a fault is a fault again
end

function tests.test_nodes_of_an_unknown_kind_are_not_slow()
   local w = sim.new { seed = 5 }
   for n = 9, 14 do
      w.left[w.topo.tx[n]], w.left[w.topo.rx[n]] = 0.5, 0.5 -- since they are there
   end
   for _ = 1, 80 do
      w:random_job()
   end
   lu.assertEquals(w:all "slow", {})
   lu.assertStrContains(w.diagnosis:remark(w.topo.tx[10], w.now), "never did better")
end

local function tree()
   local topo = assert(topology.build { kind = "fattree", nodes_per_leaf = 8,
      levels = { { down = 4, up = 8 } }, nodes = "n[0-31]", capacity = 24e6, routing = "ecmp" })
   local w = sim.new { seed = 5 }
   w.topo = topo
   w.diagnosis = diagnose.new(topo, assert(config.diagnosis { spell_s = 5, confirm_span_h = 0,
      busy_h = 0.01, slow_score = 8 }))
   return w
end

-- Two nodes of each of a leaf's pairs, one after the other, as anchors do.
local function rounds(w, n, least)
   for i = 1, n do
      local list = {}
      w.event, w.now = w.event + 1, w.now + 10
      for a = 1, 32 do
         local leaf = (a - 1) // 8
         local b = leaf * 8 + (a - 1 + 1 + i % 7) % 8 + 1
         w.id = w.id + 1
         local share = math.min(least(a, "tx"), least(b, "rx"))
         list[#list + 1] = { src = a, dst = b, id = w.id, event = w.event, time = w.now, phase = 1,
            streams = 1, class = share < 0.75 and "low" or "good", ratio = share,
            bw_Bps = share * 24e6, expected_Bps = 24e6 }
      end
      w.diagnosis:observe(list, w.now)
   end
end

function tests.test_a_leaf_slow_as_a_whole_is_not_its_nodes_fault()
   local w = tree()
   rounds(w, 20, function() return 1 end)
   rounds(w, 40, function(n) return (n - 1) // 8 == 1 and 0.4 or 1 end)
   lu.assertEquals(w:all "slow", {})
   lu.assertStrContains(w.diagnosis:remark(w.topo.tx[12], w.now), "slow as a whole: 8 of 8 nodes")
   -- it is over: nothing is left of that to read
   rounds(w, 40, function() return 1 end)
   lu.assertEquals(w.diagnosis:remark(w.topo.tx[12], w.now), "")
end

function tests.test_one_node_of_a_leaf_is()
   local w = tree()
   rounds(w, 20, function() return 1 end)
   rounds(w, 40, function(n, side) return n == 12 and side == "tx" and 0.4 or 1 end)
   lu.assertEquals(w:all "slow", { "n11/tx" })
   lu.assertEquals(w.diagnosis:remark(w.topo.tx[12], w.now), "")
end

function tests.test_both_directions_are_the_node()
   local w = tree()
   rounds(w, 20, function() return 1 end)
   rounds(w, 40, function(n) return n == 12 and 0.4 or 1 end)
   lu.assertEquals(w:all "slow", { "n11/rx", "n11/tx" })
   lu.assertEquals(w.diagnosis:remark(w.topo.tx[12], w.now), "all of the node")
end

function tests.test_a_cable_and_a_router_are_recognised()
   local w = sim.new { seed = 6 }
   local x = w:c "r1.0.0/X+"
   w.left[x], w.left[w.topo:opposite(x)] = 0.25, 0.25
   for _ = 1, 150 do
      w:random_job()
   end
   lu.assertEquals(w:all "slow", { "r1.0.0/X+", "r2.0.0/X-" })
   lu.assertEquals(w.diagnosis:remark(x, w.now), "all of the cable")
   for _, c in ipairs(w.topo:links_of(1 * 4)) do
      w.left[c], w.left[w.topo:opposite(c)] = 0.25, 0.25
   end
   for _ = 1, 400 do
      w:random_job()
   end
   lu.assertEquals(w.diagnosis:remark(x, w.now), "all of router r1.0.0")
   local list = w.diagnosis:reasoning(x)
   lu.assertStrContains(list[#list].text, "all of router r1.0.0 is slow")
end

function tests.test_the_reasoning_names_tests_and_alternatives()
   local w = sim.new { seed = 5 }
   local c = w:c "n5/tx"
   lu.assertEquals(w.diagnosis:reasoning(c), {})
   w.left[c] = 0.25
   for _ = 1, 100 do
      w:random_job()
   end
   lu.assertEquals(w:state "n5/tx", "slow")
   local list = w.diagnosis:reasoning(c)
   lu.assertStrContains(list[1].text, "tests since it last did well were low")
   lu.assertTrue(#list[1].tests >= 3)
   lu.assertStrContains(list[2].text, "none of them showed more than 25")
   local out = 0
   for _, r in ipairs(list) do
      out = out + (r.ruled_out and 1 or 0)
      lu.assertNil(r.rival)
   end
   lu.assertTrue(out > 0)
end

-- A static tree, and hours in which the nodes of leaf 0 send to all others, with one stream and
-- then 16, and another leaf's, too; `left` says what is left of an uplink of leaf 0 by its spine.
local function static_tree(hours, left, jobs, cables)
   local topo = assert(topology.build { kind = "fattree", nodes_per_leaf = 6,
      levels = { { down = 4, up = 6 // (cables or 1), parallel = cables } }, nodes = "n[0-23]",
      capacity = 24e6, routing = "dmodk" })
   local w, id = sim.new { seed = 5 }, 0
   w.topo, w.diagnosis = topo, diagnose.new(topo, assert(config.diagnosis {}))
   w.diagnosis:ask_jobs(function(_, from, to)
      return tables.filter(jobs and jobs() or {}, function(job)
         return job.since >= from and job.since <= to
      end)
   end)
   local function test(src, dst, hour, ratio, streams)
      id = id + 1
      local route = topo:route(src, dst)
      return { src = src, dst = dst, id = id, event = hour, time = hour * 3600, phase = id,
         streams = streams, confirms = ratio < 0.75 and route[2] or nil, route = route,
         ratio = ratio, class = ratio < 0.75 and "low" or "good", bw_Bps = ratio * 24e6,
         expected_Bps = 24e6 }
   end
   for hour = 1, hours do
      local list = {}
      for dst = 7, 24 do
         local src, other = 1 + (dst + hour) % 6, 7 + (dst + 6 * (hour % 2)) % 18
         local spine = topo.router_name[topo:to(topo:route(src, dst)[2])]:match "%d+"
         local ratio = left(tonumber(spine), hour)
         list[#list + 1] = test(src, dst, hour, ratio, 1)
         list[#list + 1] = test(src, dst, hour, ratio, 16)
         list[#list + 1] = other ~= dst and test(other, dst, hour, 1, 1) or nil
      end
      w.diagnosis:observe(list, hour * 3600)
   end
   return w
end

function tests.test_one_uplink_of_a_static_tree_is_named()
   local w = static_tree(12, function(spine) return spine == 2 and 0.41 or 1 end)
   lu.assertEquals(#w:all "slow", 1)
   local c = w.topo.component_id[w:all "slow"[1]]
   lu.assertEquals({ w.topo.router_name[w.topo:from(c)], w.topo.router_name[w.topo:to(c)] },
      { "leaf0", "spine2" })
end

-- Once the uplinks of a busy leaf were called slow one after another.
function tests.test_uplinks_at_one_ceiling_have_one_cause()
   local w = static_tree(30, function(spine) return spine < 3 and 0.41 or 1 end)
   lu.assertEquals(w:all "slow", {})
   local c = w.topo.component_id[w:all "suspect"[1]]
   lu.assertStrContains(w.diagnosis:remark(c, 30 * 3600),
      "links out of leaf0 are as low as each other: 3 of 6")
   w = static_tree(30, function(spine) return spine < 5 and 0.41 or 1 end)
   lu.assertEquals(w:all "slow", {})
   c = w.topo.component_id[w:all "suspect"[1]]
   lu.assertStrContains(w.diagnosis:remark(c, 30 * 3600),
      "what leads out of leaf0 is slow as a whole: 5 of 6 links")
end

function tests.test_three_cables_between_two_switches_are_a_bundle()
   local w = static_tree(30, function(spine) return spine == 1 and 0.41 or 1 end, nil, 3)
   lu.assertEquals(w:all "slow", {})
   local c = w.topo.component_id[w:all "suspect"[1]]
   lu.assertStrContains(w.diagnosis:remark(c, 30 * 3600),
      "the bundle from leaf0 to spine1 is slow: 3 of 3 cables are as low as each other")
end

-- The load ends, the broken one stays.
function tests.test_a_broken_uplink_among_busy_ones_is_named_when_these_are_well()
   local w = static_tree(40, function(spine, hour)
      return spine == 2 and 0.41 or spine < 3 and hour <= 20 and 0.41 or 1
   end)
   lu.assertEquals(#w:all "slow", 1)
end

-- Hours 6 to 20 one uplink shows 41 % and yields to no number of streams; `over` tells of a job.
local function loaded(hours, over)
   local w = static_tree(hours, function(spine, hour)
      return spine == 2 and hour > 5 and hour <= 20 and 0.41 or 1
   end, over)
   local c = w.topo.component_id[w:all "suspect"[1] or w:all "slow"[1]]
   return w, c and w.diagnosis:remark(c, hours * 3600), c
end

local function job(hour)
   return function() return { { id = 7, since = hour * 3600 } } end
end

function tests.test_a_job_that_fills_a_link_for_as_long_as_it_runs_is_what_is_busy()
   local w, remark, c = loaded(20, job(5.5))
   lu.assertEquals(w:all "slow", {})
   lu.assertEquals(remark, "busy?")
   local list = w.diagnosis:reasoning(c)
   lu.assertStrContains(list[#list].text, "job 7 came before it")
   -- it ended, and the link is well
   w = loaded(24, job(5.5))
   lu.assertEquals({ w:all "slow", w:all "suspect" }, { {}, {} })
end

function tests.test_a_job_that_ran_while_the_link_was_well_excuses_nothing()
   lu.assertEquals(#loaded(20, job(3)):all "slow", 1)
   -- nor one that came after it was low
   lu.assertEquals(#loaded(20, job(7.5)):all "slow", 1)
end

-- The job ends, and the ceiling stays: it was not the job's.
function tests.test_what_outlasts_the_job_is_named()
   local asked = 0
   local w = loaded(20, function()
      asked = asked + 1
      return asked < 6 and { { id = 7, since = 5.5 * 3600 } } or {}
   end)
   lu.assertTrue(asked >= 6)
   lu.assertEquals(#w:all "slow", 1)
end

-- Each time it is well again its run ends; the ceiling that comes back tells.
function tests.test_an_uplink_that_is_slow_in_some_hours_is_said_to_be()
   local function now_and_then(level)
      return static_tree(30, function(spine, hour)
         return spine == 2 and hour > 4 and hour % 4 < 2 and level(hour) or 1
      end)
   end
   local w = now_and_then(function() return 0.41 end)
   local c = w.topo.component_id["leaf0/9"] -- ports 1 to 6 are nodes'
   lu.assertEquals(w:all "slow", { "leaf0/9" })
   lu.assertStrMatches(w.diagnosis:remark(c, 30 * 3600), "in %d+ of %d+ h")
   -- others come at other levels
   w = now_and_then(function(hour) return 0.3 + 0.05 * (hour // 4) end)
   lu.assertEquals(w.diagnosis:remark(c, 30 * 3600), "")
   w = now_and_then(function() return 0.41 end)
   w.diagnosis:forget(c, 30 * 3600)
   lu.assertEquals(w.diagnosis:remark(c, 30 * 3600), "")
end

return tests
