-- SPDX-License-Identifier: GPL-2.0-or-later
local lu = require "luaunit"
local advice = require "taut.place.advice"
local cluster = require "taut.slurm.cluster"
local diagnose = require "taut.diagnose"
local hostlist = require "taut.hostlist"
local loop = require "taut.loop"
local sim = require "lib.sim"
local topology = require "taut.topology"

local tests = {}

local function torus(dims, npr)
   local n = npr
   for _, d in ipairs(dims) do
      n = n * d
   end
   return assert(topology.build { kind = "torus", dims = dims, nodes_per_router = npr,
      nodes = ("n[0-%d]"):format(n - 1), capacity = 1e9 })
end

-- Advice with what taut-slurm said of its nodes, and verdicts; `load` is what jobs send.
local function advice_on(topo, load)
   local cl = cluster.new()
   cl.order, cl.partitions, cl.nodes_at = {}, { all = {}, some = {} }, loop.time()
   for i, name in ipairs(topo.nodes) do
      cl.nodes[name] = { name = name, state = "idle",
         features = i % 2 == 0 and "even,x" or "x" }
      cl.order[i] = name
      table.insert(cl.partitions.all, name)
      if i <= 8 then
         table.insert(cl.partitions.some, name)
      end
   end
   return advice.new { topology = topo, cluster = cl, diagnosis = diagnose.new(topo, sim.quick),
      profiles = { background = function() return load or {}, 0 end } }
end

local function busy(a, list)
   for _, name in ipairs(assert(hostlist.expand(list))) do
      a.cluster.nodes[name].state = "allocated"
   end
end

local function names(list)
   local set, n = {}, 0
   for _, name in ipairs(assert(hostlist.expand(list))) do
      set[name], n = true, n + 1
   end
   return set, n
end

---------------------------------------------------------------- bad requests

local refused = {
   { {}, "-N: expected a number of nodes or a range such as 32-64, got nil" },
   { { count = 0 }, "-N: expected a number of nodes or a range such as 32-64, got 0" },
   { { min = 8, max = 4 }, "-N: expected a number of nodes or a range such as 32-64, got 8-4" },
   { { count = 33 },
      "-N: expected a number of nodes from 1 to 32, which is all there are, got 33" },
   { { count = "4" }, "-N: expected a number of nodes or a range such as 32-64, got 4" },
   { { count = 4, top = 0 }, "--top: expected a number from 1 to 100, got 0" },
   { { count = 4, start = "never" }, "--start: expected now or soon, got never" },
   { { count = 4, within = 5 }, "--within: only together with --start soon" },
   { { count = 4, per_router = 1, exclusive = true }, "contradict each other" },
   { { count = 4, partition = "nowhere" }, "partition 'nowhere' is not known" },
   { { count = 9, partition = "some" },
      "9 nodes asked for, 8 are left: partition 'some'" },
   { { count = 8, partition = "some", exclude = "n0" },
      "8 nodes asked for, 7 are left: partition 'some', not excluded" },
   { { count = 4, exclude = "n99" }, "--exclude: node 'n99' is not in the topology" },
   { { count = 4, exclude = "n[" }, "--exclude: " },
   { { count = 4, partition = 7 }, "partition: expected a text" },
   { { count = 4, partition = ("far,"):rep(150000) }, "partition 'far' is not known" },
   { { count = 4, partition = ("x"):rep(5000) },
      "partition: expected a text of at most 4096 characters, got 5000" },
   { { count = 4, partition = "a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q" },
      "--partition: expected at most 16 partitions" },
   { { count = 4, exclude = "n[0-999999]" }, "--exclude: host list, column 1: more than 32 names" },
   { { compare = "n[0-999999]" }, "--compare: host list, column 1: more than 32 names" },
   { { count = 4, features = ("x|"):rep(1000) }, "features: expected a text of at most 1024" },
   { { count = 4, features = "gpu" }, "--constraint: no node has the feature 'gpu'" },
   { { count = 4, features = "[x*4]" }, "--constraint: expected feature names with & and |" },
   { { count = 4, features = "x&&even" }, "--constraint: a name is missing" },
   { { count = 17, features = "even" }, "17 nodes asked for, 16 are left: feature 'even'" },
   { { count = 4, reservation = "r9" }, "reservation 'r9' is not known" },
   { { count = 2, reservation = "later" }, "reservation 'later' begins in" },
   { { count = 4, pattern = "gossip" }, "pattern 'gossip' is not known" },
   { { count = 4, pattern = "halo3d:compute=2" }, "halo3d" },
   { { count = 4, pattern = 7 }, "pattern" },
   { { count = 4, compare = "n[0-2]" }, "--compare: 4 nodes asked for, the list has 3" },
   { { count = 4, compare = "x" }, "--compare: node 'x' is not in the topology" },
   { { count = 4, job = 7 }, "give either it or -N" },
   { { job = 7 }, "Slurm has no pending job 7" },
   { { job = 8 }, "job 8 runs already" },
   { { job = 9 }, "job 9 names its nodes itself: n[0-1]" },
}

function tests.test_what_is_wrong_with_a_request_is_said()
   local a = advice_on(torus({ 4, 2, 2 }, 2))
   a.cluster.reservations = { { name = "later", nodes = "n[0-3]", start = loop.time() + 3600 } }
   a.cluster.seen_running = { [8] = { id = 8 } }
   a.cluster.pending = { { id = 9, num_nodes = 2, required = "n[0-1]" } }
   for _, case in ipairs(refused) do
      local out, err = a:give(case[1])
      lu.assertNil(out, case[2])
      lu.assertStrContains(err, case[2])
   end
end

function tests.test_fewer_free_than_asked_for()
   local a = advice_on(torus({ 4, 2, 2 }, 2))
   busy(a, "n[0-29]")
   local _, err = a:give { count = 3 }
   lu.assertEquals(err, "3 nodes asked for, 2 are free and healthy")
   _, err = a:give { count = 3, partition = "all" }
   lu.assertEquals(err, "3 nodes asked for, 2 are left: partition 'all', free")
end

function tests.test_no_answer_of_slurm_yet()
   local a = advice_on(torus({ 4, 2, 2 }, 2))
   a.cluster.nodes_at = nil
   local _, err = a:give { count = 3 }
   lu.assertEquals(err, "Slurm has not answered yet: which nodes are free is not known")
end

---------------------------------------------------------------- constraints

function tests.test_constraints_hold()
   local a = advice_on(torus({ 4, 2, 2 }, 2))
   busy(a, "n[4-5]")
   local out = assert(a:give { count = 4, partition = "some", exclude = "n0" })
   for _, c in ipairs(out.candidates) do
      local set, n = names(c.nodelist)
      lu.assertEquals(n, 4)
      lu.assertNil(set.n0 or set.n4 or set.n5 or set.n8)
   end
   out = assert(a:give { count = 5, features = "even" })
   for name in pairs((names(out.candidates[1].nodelist))) do
      lu.assertEquals(tonumber(name:sub(2)) % 2, 1)
   end
end

function tests.test_reserved_nodes_only_for_their_reservation()
   local a = advice_on(torus({ 4, 2, 2 }, 2))
   a.cluster.reservations = { { name = "r", nodes = "n[0-3]", start = 0 } }
   for i = 0, 3 do
      a.cluster.nodes["n" .. i].reserved = true
   end
   local out = assert(a:give { count = 28 })
   local set = names(out.candidates[1].nodelist)
   lu.assertNil(set.n0 or set.n3)
   out = assert(a:give { count = 4, reservation = "r" })
   lu.assertEquals(out.candidates[1].nodelist, "n[0-3]")
end

function tests.test_soon_takes_nodes_whose_jobs_end()
   local a = advice_on(torus({ 4, 2, 2 }, 2))
   busy(a, "n[0-31]")
   a.cluster.seen_running = {
      [1] = { id = 1, nodes = "n[0-7]", ["end"] = loop.time() + 600 },
      [2] = { id = 2, nodes = "n[8-31]", ["end"] = loop.time() + 7200 } }
   lu.assertNil(a:give { count = 4 })
   local out = assert(a:give { count = 4, start = "soon" })
   lu.assertNotNil(out.candidates[1].start)
   lu.assertNil(a:give { count = 9, start = "soon" })
   lu.assertNotNil(a:give { count = 9, start = "soon", within = 180 })
end

function tests.test_prologs_between_two_looks_at_slurm_count()
   local a = advice_on(torus({ 2, 2 }, 1))
   assert(a:give { count = 4 })
   a.cluster:prolog(5, { "n1" }, "n1")
   lu.assertNil(a:give { count = 4 })
   a.cluster:epilog(5, "n1")
   lu.assertNotNil(a:give { count = 4 })
end

function tests.test_a_pending_job_as_it_was_submitted()
   local a = advice_on(torus({ 4, 2, 2 }, 2))
   a.cluster.pending = { { id = 5, num_nodes = 6, max_nodes = 6, partition = "some",
      excluded = "n7" } }
   local out = assert(a:give { job = 5 })
   local set, n = names(out.candidates[1].nodelist)
   lu.assertEquals(n, 6)
   lu.assertNil(set.n7 or set.n8)
end

-- It starts in one of them: where it would do best.
-- 150,000 times the same one made tautd deaf for 67 s.
function tests.test_a_partition_named_again_is_looked_at_once()
   local a = advice_on(torus({ 4, 2, 2 }, 2))
   local looked, update = 0, a.patterns.make
   function a.patterns.make(...)
      looked = looked + 1
      return update(...)
   end
   assert(a:give { count = 4, partition = "some,none" })
   local once = looked
   looked = 0
   assert(a:give { count = 4, partition = ("some,none,"):rep(400) })
   lu.assertEquals(looked, once)
end

function tests.test_a_pending_job_of_several_partitions()
   local a = advice_on(torus({ 4, 2, 2 }, 2))
   a.cluster.partitions.far = { "n0", "n6", "n9", "n15", "n18", "n24", "n27", "n31" }
   local function ratio(partition)
      local out = assert(a:give { count = 6, partition = partition })
      return out.candidates[1].score
   end
   local best = ratio "some" < ratio "far" and "some" or "far"
   lu.assertTrue(ratio "some" ~= ratio "far")
   for _, list in ipairs { "far,some", "some,far" } do
      a.cluster.pending = { { id = 5, num_nodes = 6, max_nodes = 6, partition = list } }
      local out = assert(a:give { job = 5 })
      lu.assertEquals(out.partition, best)
      lu.assertEquals(out.candidates[1].score, ratio(best))
   end
   busy(a, "n[1-5]")
   lu.assertEquals(assert(a:give { job = 5 }).partition, "far")
   lu.assertEquals(assert(a:give { count = 4, partition = "none,far" }).partition, "far")
   local out, err = a:give { count = 9, partition = "far,some" }
   lu.assertNil(out)
   lu.assertStrContains(err, "partition 'some'")
end

function tests.test_a_pending_job_is_asked_for_as_it_says_it_communicates()
   local a = advice_on(torus({ 4, 2, 2 }, 2))
   a.cluster.pending = { { id = 5, num_nodes = 6, comment = "taut: comm=halo3d:bytes=1M" },
      { id = 6, num_nodes = 6, comment = "theirs" },
      { id = 7, num_nodes = 6, comment = "taut: comm=matrix:/etc/passwd" } }
   lu.assertEquals(assert(a:give { job = 5 }).pattern, "halo3d")
   lu.assertEquals(assert(a:give { job = 5, pattern = "ring" }).pattern, "ring")
   lu.assertEquals(assert(a:give { job = 6 }).pattern, "all-to-all")
   local out, err = a:give { job = 7 }
   lu.assertNil(out)
   lu.assertStrContains(err, "job 7 said --comm=matrix:/etc/passwd, a file that only its user")
end

function tests.test_of_a_range_as_many_as_are_free()
   local a = advice_on(torus({ 4, 2, 2 }, 2))
   busy(a, "n[0-11]")
   lu.assertEquals(assert(a:give { min = 4, max = 40, pattern = "ring" }).count, 20)
   lu.assertNil(a:give { min = 21, max = 40 })
end

---------------------------------------------------------------- answers

function tests.test_slurms_choice_stands_beside_and_says_why()
   local topo = torus({ 8, 4, 4 }, 1)
   local a = advice_on(topo)
   -- free by number: the far end of X first, and a box in the middle
   busy(a, "n[0-127]")
   for _, name in ipairs(assert(hostlist.expand "n[0-3,52-55,64-67,68-71,80-87]")) do
      a.cluster.nodes[name].state = "idle"
   end
   local out = assert(a:give { count = 8 })
   local best = out.candidates[1]
   lu.assertTrue(best.score <= out.slurm.score)
   lu.assertEquals(select(2, names(out.slurm.nodelist)), 8)
   lu.assertStrContains(table.concat(out.slurm.reasons, "; "), "x ideal time")
   lu.assertIsString(out.sentence)
   -- beside a candidate only where it differs
   local slurms = ("%.2fx"):format(out.slurm.score)
   for _, c in ipairs(out.candidates) do
      local is_said = table.concat(c.reasons, "; "):find("Slurm's choice " .. slurms, 1, true)
      lu.assertEquals(is_said ~= nil, ("%.2fx"):format(c.score) ~= slurms)
   end
   for i = 2, #out.candidates do
      lu.assertTrue(out.candidates[i].score >= best.score * 0.98 - 1e-9)
   end
end

function tests.test_what_is_slow_is_avoided_or_named()
   local a = advice_on(torus({ 4, 2, 2 }, 2))
   local c = a.topo.component_id["r0.0.0/X+"]
   sim.tell(a.diagnosis, c, { state = "slow", left = 0.25 })
   local out = assert(a:give { count = 4 })
   lu.assertEquals(#out.candidates[1].crosses, 0)
   out = assert(a:give { count = 32 })
   local best = out.candidates[1]
   lu.assertEquals(best.crosses, { "r0.0.0/X+" })
   lu.assertStrContains(table.concat(best.reasons, "; "), "X+ link r0.0.0/X+ at 25% crossed")
end

function tests.test_suspicion_and_hard_evidence_count_too()
   local a = advice_on(torus({ 4, 2, 2 }, 2))
   local x, z = a.topo.component_id["r0.0.0/X+"], a.topo.component_id["r1.0.0/Z+"]
   local topo = a.topo
   sim.tell(a.diagnosis, x, { state = "suspect", run = { { id = 1, event = 1, time = 1, streams = 1,
      src = topo.node_id.n0, dst = topo.node_id.n8, bw_Bps = 0.5 * topo.capacity[x],
      expected_Bps = topo.capacity[x], ratio = 0.5, share = 0.5 } } })
   a.diagnosis:hard(z, 0.9, { why = "one of ten lanes", since = 1 }, 1)
   lu.assertEquals(a:left(), { [x] = 0.5, [z] = 0.9 })
end

function tests.test_a_job_that_computes_is_not_worth_waiting_for()
   local a = advice_on(torus({ 8, 2, 2 }, 2))
   busy(a, "n[0,2,4,6-20,22,30-40]")
   local out = assert(a:give { count = 8, pattern = "all-to-all:compute=0.999" })
   lu.assertFalse(out.worth)
   lu.assertEquals(#out.candidates, 5)
   lu.assertStrContains(out.sentence, "not worth waiting for")
   lu.assertEquals(out.candidates[1].nodelist, out.slurm.nodelist)
end

function tests.test_a_given_set_is_looked_at()
   local a = advice_on(torus({ 4, 2, 2 }, 2))
   local out = assert(a:give { compare = "n[0,31]" })
   lu.assertEquals(out.count, 2)
   lu.assertEquals(out.compare.nodelist, "n[0,31]")
   lu.assertTrue(out.compare.score >= 1)
end

function tests.test_fair_rates_where_they_are_asked_for()
   local a = advice_on(torus({ 8, 2, 2 }, 2))
   local out = assert(a:give { count = 16, fair = true, compare = "n[0-15]" })
   for _, c in ipairs { out.candidates[1], out.slurm, out.compare } do
      lu.assertAlmostEquals(c.fair.ratio, c.score, 1e-6) -- one size: the last arrives then
      lu.assertTrue(c.fair.mean > 0 and c.fair.mean <= 1)
      lu.assertStrContains(c.reasons[2], "at max-min fair rates")
   end
   lu.assertNil(assert(a:give { count = 16 }).candidates[1].fair)
   out = assert(advice_on(torus({ 8, 8, 8 }, 1)):give { count = 300, fair = true })
   lu.assertNil(out.candidates[1].fair)
   lu.assertEquals(out.candidates[1].fair_error, "too many messages for fair rates")
end

function tests.test_running_jobs_load_links()
   local topo = torus({ 8 }, 1)
   local a = advice_on(topo, { [topo.component_id["r1/X+"]] = 0.9e9 })
   busy(a, "n4")
   local out = assert(a:give { count = 3, pattern = "ring" })
   for _, row in ipairs(out.candidates) do
      if row.score == out.candidates[1].score then
         lu.assertEquals(row.shared_links, 0)
      end
   end
   lu.assertTrue(assert(a:give { count = 7 }).candidates[1].shared_links > 0)
end

-- Free are a run of four across the slow link, one beside it, and the ends of a long one.
function tests.test_for_steering_the_same_gain_where_less_is_broken_up()
   local a = advice_on(torus({ 16 }, 2))
   busy(a, "n[0-31]")
   for _, name in ipairs(assert(hostlist.expand "n[2-5,10-13,18-31]")) do
      a.cluster.nodes[name].state = "idle"
   end
   sim.tell(a.diagnosis, a.topo.component_id["r1/X+"], { state = "slow", left = 0.1 })
   local best = assert(a:pick { count = 4, pattern = "ring" })
   lu.assertEquals(best.nodes, "n[10-13]")
   lu.assertTrue(best.score < best.slurm)
   local none, err = a:pick { count = 22, pattern = "ring" }
   lu.assertNil(none)
   lu.assertStrContains(err, "Slurm's choice is as good")
   none, err = a:pick { count = 23 }
   lu.assertNil(none)
   lu.assertStrContains(err, "23 nodes asked for, 22 are")
   a.cluster.nodes_at = nil
   none, err = a:pick { count = 4 }
   lu.assertNil(none)
   lu.assertStrContains(err, "Slurm has not answered yet")
end

---------------------------------------------------------------- several fabrics

-- n0 to n7 on ib, n4 to n11 on eth.
local function two_fabrics()
   local function tree(nodes, capacity)
      return { kind = "fattree", nodes_per_leaf = 2, levels = { { down = 4, up = 2 } },
         nodes = nodes, capacity = capacity }
   end
   local ib = tree("n[0-7]", 9e9)
   ib.partitions = { "fast" }
   return assert(topology.build { kind = "fabrics",
      fabrics = { eth = tree("n[4-11]", 1e9), ib = ib } })
end

-- Are all nodes of all candidates among these?
local function is_within(out, first, last)
   for _, c in ipairs(out.candidates) do
      for name in pairs((names(c.nodelist))) do
         local n = tonumber(name:sub(2))
         lu.assertTrue(n >= first and n <= last, c.nodelist)
      end
   end
end

function tests.test_advice_is_on_one_fabric_and_says_which()
   local a = advice_on(two_fabrics())
   a.cluster.partitions.fast = a.cluster.partitions.all
   local out = assert(a:give { count = 4 })
   lu.assertEquals(out.fabric, "ib") -- as many nodes, and faster
   is_within(out, 0, 7)
   out = assert(a:give { count = 4, fabric = "eth" })
   lu.assertEquals(out.fabric, "eth")
   is_within(out, 4, 11)
   lu.assertEquals(assert(a:give { count = 4, partition = "fast" }).fabric, "ib")
   lu.assertEquals(assert(a:give { compare = "n[8-11]" }).fabric, "eth")
   -- where the first has not enough, the next
   a = advice_on(two_fabrics())
   busy(a, "n[0-5]")
   out = assert(a:give { count = 4 })
   lu.assertEquals(out.fabric, "eth")
   is_within(out, 6, 11)
   out = assert(a:give { count = 2, exclude = "n[8-11],n0" })
   lu.assertEquals(out.candidates[1].nodelist, "n[6-7]")
   local none, err = a:give { count = 4, fabric = "opa" }
   lu.assertNil(none)
   lu.assertEquals(err, "--fabric: expected one of eth, ib, got 'opa'")
   none, err = a:give { count = 9 }
   lu.assertNil(none)
   lu.assertStrContains(err, "1 to 8, which is all there are on fabric")
   none, err = a:give { compare = "n0,n11" }
   lu.assertNil(none)
   lu.assertStrContains(err, "no fabric has all of these nodes, and no route leads")
   none, err = a:give { compare = "n0,n5", fabric = "eth" }
   lu.assertNil(none)
   lu.assertEquals(err, "--compare: 'n0' is not on fabric eth")
   none, err = advice_on(torus({ 4, 2, 2 }, 2)):give { count = 4, fabric = "eth" }
   lu.assertNil(none)
   lu.assertEquals(err, "--fabric: this machine has one topology, and no 'fabrics'")
end

function tests.test_a_slow_link_counts_on_its_own_fabric()
   local topo = two_fabrics()
   local a = advice_on(topo)
   for _, r in ipairs { "leaf2", "leaf3" } do
      for _, c in ipairs(topo:links_of(topo.router_id["ib:" .. r])) do
         sim.tell(a.diagnosis, c, { state = "slow", left = 0.1 })
      end
   end
   local out = assert(a:give { count = 4, fabric = "ib" })
   lu.assertEquals(out.candidates[1].nodelist, "n[0-3]")
   lu.assertAlmostEquals(out.candidates[1].score, 1, 0.01)
   lu.assertTrue(out.slurm.score > 1.5, tostring(out.slurm.score)) -- n[4-7]
   for _, c in ipairs(assert(a:give { count = 4, fabric = "eth" }).candidates) do
      lu.assertAlmostEquals(c.score, 1, 0.01)
   end
   local best = assert(a:pick { count = 4, partition = "all" })
   lu.assertEquals(best.nodes, "n[0-3]")
end

function tests.test_what_is_heard_between_is_taken_in_by_each_fabric()
   local a = advice_on(two_fabrics())
   assert(a:give { count = 8, fabric = "ib" })
   for _, name in ipairs { "n4", "n5" } do
      a.cluster.nodes[name].state = "allocated"
      a.cluster.touched[name] = true
   end
   for _, name in ipairs { "eth", "ib" } do
      local none, err = a:give { count = 7, fabric = name }
      lu.assertNil(none)
      lu.assertStrContains(err, "7 nodes asked for, 6 are free and healthy")
   end
end

local function nonsense(topo)
   local a = advice_on(topo)
   local values = { -1, 0, 1, 4, 99, 2.5, "x", "", "n[0-3]", "all", true, false, {}, 1e300 }
   local keys = { "count", "min", "max", "pattern", "partition", "exclude", "features",
      "reservation", "exclusive", "per_router", "off", "start", "within", "top", "job", "compare",
      "fabric" }
   math.randomseed(7)
   for _ = 1, 3000 do
      local args = { count = math.random() < 0.7 and 4 or nil }
      for _ = 1, math.random(3) do
         args[keys[math.random(#keys)]] = values[math.random(#values)]
      end
      local out, err = a:give(args)
      lu.assertTrue(out ~= nil or type(err) == "string")
      args.job, args.compare = nil, nil
      out, err = a:pick(args)
      lu.assertTrue(out ~= nil or type(err) == "string")
   end
end

function tests.test_nonsense_never_raises()
   nonsense(torus({ 4, 2, 2 }, 2))
   nonsense(two_fabrics())
end

return tests
