-- SPDX-License-Identifier: GPL-2.0-or-later
-- Links that lose: named, not cleared by good rates, taken back, kept over a restart.
local diagnose = require "taut.diagnose"
local json = require "taut.json"
local judge = require "taut.diagnose.judge"
local loss = require "taut.diagnose.loss"
local lu = require "luaunit"
local measure = require "taut.tests".measure
local memory = require "taut.diagnose.memory"
local sim = require "lib.sim"
local tables = require "taut.base.tables"

local tests = {}

---------------------------------------------------------------- what both ends say

-- What came of a test of which both ends reported this: segments, those of them that were lost.
local function losses(send, recv)
   local t = { dur_ms = 25 }
   measure(t, 24e6, send, recv, {})
   return t.segments, t.lost, t.segment_bytes
end

local function ends(send, recv)
   local s, r = { segments = 20000, resent = 200, spurious = 0 },
      { segments = 19800, disordered = 200, pruned = 0 }
   for k, v in pairs(send or {}) do s[k] = v end
   for k, v in pairs(recv or {}) do r[k] = v end
   return s, r
end

function tests.test_two_counts_of_the_same_losses()
   lu.assertEquals({ losses(ends()) }, { 20000, 200 })
   -- what was sent again in vain was not lost
   lu.assertEquals({ losses(ends({ resent = 300, spurious = 100 })) }, { 20000, 200 })
   -- the reset that ends a stream overtook its last segments
   lu.assertEquals({ losses(ends({ resent = 0 }, { segments = 19998, disordered = 0 })) },
      { 20000, 0 })
   lu.assertEquals({ losses(ends({ resent = 8 }, { segments = 19990, disordered = 9 })) },
      { 20000, 8 })
   -- so many were under way
   lu.assertEquals({ losses(ends({ resent = 0, unacked = 45 }, { segments = 19955,
      disordered = 0 })) }, { 19957, 0 })
   lu.assertEquals({ losses(ends({ resent = 0, unacked = 44 }, { segments = 19955,
      disordered = 0 })) }, {})
   -- what neither arrived nor was sent again was not sent
   lu.assertEquals({ losses(ends({ segments = 1e12, resent = 0, unacked = 1e12 },
      { segments = 20000, disordered = 0 })) }, { 20002, 0 })
   -- one was sent again, and arrived, and was acknowledged behind the first
   lu.assertEquals({ losses(ends({ resent = 2 }, { segments = 19999, disordered = 1 })) },
      { 20000, 1 })
   lu.assertEquals({ losses(ends({ resent = 0 }, { segments = 20000, disordered = 0 })) },
      { 20000, 0 })
end

function tests.test_one_end_alone_accuses_nobody()
   local none = { segments = 20000, disordered = 0 }
   lu.assertEquals({ losses(ends({}, none)) }, {})                -- a sender
   lu.assertEquals({ losses(ends({ resent = 0 })) }, {})          -- a receiver
   lu.assertEquals({ losses(ends({ resent = 50 })) }, {})
   lu.assertEquals({ losses(ends({}, { disordered = 0 })) }, {})  -- no gap was seen
   lu.assertEquals({ losses(ends({}, { pruned = 3 })) }, {})      -- it had no memory
   lu.assertEquals({ losses(ends({ segments = 0 })) }, {})
   local s, r = ends()
   lu.assertEquals({ losses(nil, r) }, {})
   lu.assertEquals({ losses(s, nil) }, {})
   r.segments = nil
   lu.assertEquals({ losses(s, r) }, {})
   s.segments = "many"
   lu.assertEquals({ losses(s, r) }, {})
end

function tests.test_adapters_of_both_ends_agree()
   lu.assertEquals({ losses({ port_lost = 12 }, { port_lost = 9, port_packets = 1000 }) },
      { 1000, 9 })
   lu.assertEquals({ losses({ port_lost = 0 }, { port_lost = 9, port_packets = 1000 }) },
      { 1000, 0 })
   lu.assertEquals({ losses({}, { port_lost = 9, port_packets = 1000 }) }, {})
   lu.assertEquals({ losses({ port_lost = 9 }, { port_lost = 9 }) }, {})
   lu.assertEquals({ losses({ port_lost = 99 }, { port_lost = 99, port_packets = 10 }) }, {})
end

-- A test that got a share of 24 MB/s over 20 ms.
local function judged(share, o)
   local topo, s = sim.torus({ 4, 2, 2 }, 2), tables.copy(sim.quick)
   s.lossless = o.lossless or false
   local send, recv = ends(o.send, o.recv)
   send.bytes, send.window_ns = math.floor(24e6 * 0.02 * share), 20000000
   recv.bytes, recv.window_ns = send.bytes, send.window_ns
   send.min_rtt_ns = o.rtt
   return judge.test({ src = 1, dst = 3, route = topo:route(1, 3), dur_ms = 25,
      streams = o.streams or 1 }, send, recv, topo, s)
end

function tests.test_what_its_losses_explain()
   local t = judged(0.4, { rtt = 2000000 })
   lu.assertEquals({ t.class, t.by_loss, t.segments, t.lost }, { "low", true, 20000, 200 })
   -- with the round trip at rest such losses cost it nothing: something else does
   t = judged(0.4, { rtt = 20000 })
   lu.assertEquals({ t.class, t.by_loss }, { "low" })
   -- nobody measured the round trip
   lu.assertNil(judged(0.05, {}).by_loss)
   -- several streams lose by themselves, but not where queues drop nothing
   lu.assertNil(judged(0.4, { rtt = 2000000, streams = 16 }).by_loss)
   lu.assertTrue(judged(0.4, { rtt = 20000, streams = 16, lossless = true }).by_loss)
   lu.assertNil(judged(0.4, { rtt = 2000000, send = { resent = 0 },
      recv = { segments = 20000, disordered = 0 } }).by_loss)
   -- a good one needs no explanation, and is counted all the same
   t = judged(1, { rtt = 2000000 })
   lu.assertEquals({ t.class, t.by_loss, t.segments, t.lost }, { "good", nil, 20000, 200 })
end

-- Of a test whose ends were late the rate says nothing, and what it lost does.
function tests.test_which_void_tests_keep_their_losses()
   local function counts(share, o)
      local t = judged(share, o)
      return t.class, t.lost
   end
   lu.assertEquals({ counts(0.4, { recv = { looks = 1, sub_bytes = { 1, 0, 0, 0 } } }) },
      { "void", 200 }) -- the receiver was asleep
   lu.assertEquals({ counts(0.4, { send = { delay_ns = 30000000 } }) }, { "void", 200 })
   -- others sent beside it, and their queue may have dropped it
   lu.assertEquals({ counts(0.4, { send = { foreign_bytes = 400000 } }) }, { "void" })
   lu.assertEquals({ counts(0.4, { recv = { foreign_bytes = 400000, looks = 1,
      sub_bytes = { 1, 0, 0, 0 } } }) }, { "void" })
   lu.assertEquals({ counts(0.4, { recv = { strangers = 1 } }) }, { "void" })
   -- it met a queue for a while, whatever part of the time it was sending
   for _, busy_ns in ipairs { 0, 20000000 } do -- 0: nobody says
      lu.assertEquals({ counts(0.4, { send = { busy_ns = busy_ns > 0 and busy_ns or nil },
         recv = { sub_bytes = { 60000, 60000, 60000, 60000, 1, 1, 1, 1 }, looks = 8 } }) },
         { "void" })
   end
   -- it never left the host
   lu.assertEquals({ counts(9, {}) }, { "void" })
end

-- What shares a port with others fills its queue with them, however good the figure is.
function tests.test_losses_beside_others_count_where_queues_drop_nothing_only()
   for _, name in ipairs { "send", "recv" } do
      local t = judged(0.9, { [name] = { foreign_bytes = 400000 } })
      lu.assertEquals({ t.class, t.segments, t.lost }, { "good" })
      t = judged(0.9, { [name] = { foreign_bytes = 400000 }, lossless = true })
      lu.assertEquals({ t.class, t.segments, t.lost }, { "good", 20000, 200 })
   end
   local t = judged(0.9, { send = { foreign_bytes = 1000 } })
   lu.assertEquals({ t.class, t.segments, t.lost }, { "good", 20000, 200 })
end

-- Tests behind a full queue have one rate, whatever they lost.
function tests.test_one_rate_with_many_shares_is_a_queue()
   local function find(at, others, settings)
      local run = {}
      for i, list in ipairs { others, at } do
         for _, rate in ipairs(list) do
            run[#run + 1] = { time = 10, rate = rate, is_at = i == 2 }
         end
      end
      return loss.find_queue(run, { first = 10 }, settings or sim.quick)
   end
   local third = { 0.33, 0.335, 0.33, 0.325, 0.34, 0.33 }
   lu.assertEquals(find(third, { 0.33, 0.334 }), { what = "queue", has = 2, needs = 6 })
   lu.assertNil(find(third, { 0.33 }))       -- one may have met another cause
   lu.assertNil(find(third, { 0.2, 0.5, 1 })) -- other losses, other rates
   lu.assertNil(find({ 0.33, 0.335, 0.33, 0.325, 0.34 }, { 0.33, 0.334 })) -- too few
   lu.assertNil(find({ 0.2, 0.3, 0.4, 0.5, 0.6, 0.7 }, { 0.2, 0.3 }))
   lu.assertNil(find({ 1, 1, 1, 1, 1, 1 }, { 1, 1, 1 })) -- good ones tell nothing
   lu.assertNil(find({ -1, -1, -1, -1, -1, -1 }, { -1, -1 })) -- nor do void ones
   -- a load that was there for a while
   local later = table.move(third, 1, 6, 1, {})
   for i = 1, 7 do
      later[6 + i] = 0.9
   end
   lu.assertNil(find(later, { 0.33, 0.334 }))
   local lossless = tables.copy(sim.quick)
   lossless.lossless = true
   lu.assertNil(find(third, { 0.33, 0.334 }, lossless))
   -- from before the case began
   local run = {}
   for i = 1, 9 do
      run[i] = { time = i, rate = 0.33, is_at = i > 3 }
   end
   lu.assertNil(loss.find_queue(run, { first = 4 }, sim.quick))
end

---------------------------------------------------------------- on a machine

local LINK = "r1.0.0/X+"

local function world(o)
   o.counts_losses = true
   return sim.new(o)
end

local function play(w, n)
   for _ = 1, n do
      w:random_job()
   end
end

local function play_until(w, name, state, most)
   for i = 1, most do
      w:random_job()
      if w:state(name) == state then
         return i
      end
   end
   error(("%s is %s after %d jobs, no %s"):format(name, w:state(name), most, state), 2)
end

local function nothing_else(w, lossy)
   lu.assertEquals(w:all "lossy", lossy)
   lu.assertEquals(w:all "slow", {})
   lu.assertEquals(w:all "failed", {})
end

function tests.test_nothing_is_lost()
   local w = world { seed = 5 }
   play(w, 200)
   nothing_else(w, {})
   lu.assertEquals(w:all "suspect", {})
end

-- Rates are good all the time, and each job has tests of several streams, which lose 3 % anyhow.
function tests.test_what_loses_is_named_though_all_rates_are_good()
   for i, name in ipairs { LINK, "r0.0.0/Z+", "n5/tx", "n9/rx" } do
      local w = world { seed = 60 + i }
      w.losing[w:c(name)] = { share = 0.01 }
      play_until(w, name, "lossy", 400)
      play(w, 40)
      nothing_else(w, { name })
      local k = w.diagnosis:component(w:c(name))
      lu.assertAlmostEquals(k.loss.share, 0.01, 0.002)
      lu.assertTrue(k.left > 0.95)
      lu.assertStrContains(w.diagnosis:remark(w:c(name), w.now), "of a stream's rate is gone")
      lu.assertStrContains(w.diagnosis:reasoning(w:c(name))[1].text, "of their packets")
   end
end

-- Several streams win back what one loses: a suspect of losses alone is tested by single ones.
function tests.test_what_loses_is_tested_by_single_streams()
   local w = world { seed = 3 }
   local c = w:c(LINK)
   w.losing[c] = { share = 0.01 }
   play_until(w, LINK, "suspect", 40)
   local entry
   for _, e in ipairs(w.diagnosis:wanted()) do
      entry = e.component == c and e or entry
   end
   lu.assertEquals(entry.streams, 1)
   w = world { seed = 3 }
   w.left[c] = 0.25
   play_until(w, LINK, "suspect", 40)
   lu.assertEquals(w.diagnosis:wanted()[1].component, c)
   lu.assertNil(w.diagnosis:wanted()[1].streams)
end

-- One stream keeps 40 % of its rate, sixteen get all: the rule for what is busy does not clear it.
function tests.test_what_loses_is_not_busy()
   local w = world { seed = 71 }
   w.losing[w:c(LINK)] = { share = 0.01, kept = 0.4 }
   play_until(w, LINK, "lossy", 400)
   play(w, 40)
   nothing_else(w, { LINK })
   local k = w.diagnosis:component(w:c(LINK))
   lu.assertEquals(k.busy, 0)
   lu.assertAlmostEquals(k.left, 0.4, 0.05)
   lu.assertStrContains(w.diagnosis:remark(w:c(LINK), w.now), "60 % of a stream's rate is gone")
end

function tests.test_two_that_lose_are_both_named()
   local w = world { seed = 73 }
   w.losing[w:c(LINK)], w.losing[w:c "n20/rx"] = { share = 0.01 }, { share = 0.03 }
   play_until(w, LINK, "lossy", 600)
   play_until(w, "n20/rx", "lossy", 600)
   play(w, 60)
   nothing_else(w, { "n20/rx", LINK })
end

-- A queue loses some of the time, and each time another share.
function tests.test_a_busy_network_loses_too()
   local w = world { seed = 77 }
   for _ = 1, 400 do
      w.losing = {}
      for _ = 1, 2 do
         local a, b = math.random(1, 32), math.random(1, 32)
         for _, c in ipairs(a ~= b and w.topo:route(a, b) or {}) do
            w.losing[c] = { share = 10 ^ -(1 + 3 * math.random()) / 3 }
         end
      end
      play(w, 1)
   end
   nothing_else(w, {})
end

---------------------------------------------------------------- liars

local LIAR = 9

-- What one end claims alone.
local LIES = {
   sender = function(t, send)
      if t.src == LIAR then
         send.resent = 400
      end
   end,
   receiver = function(t, _, recv)
      if t.dst == LIAR then
         recv.segments, recv.disordered = 19600, 400
      end
   end,
   both = function(t, send, recv)
      if t.src == LIAR then
         send.resent = math.random(0, 2000)
      elseif t.dst == LIAR then
         recv.segments, recv.disordered = 20000 - math.random(0, 2000), 1
      end
   end,
}

function tests.test_losses_that_one_node_claims_are_nobodys()
   for name, lie in pairs(LIES) do
      local w = world { seed = 81 }
      w.lie = lie
      play(w, 250)
      nothing_else(w, {})
      lu.assertEquals(w:all "suspect", {}, name)
   end
end

-- A node that reports no losses hides no link that others see.
function tests.test_one_that_denies_losses_hides_nothing()
   local w = world { seed = 83 }
   w.losing[w:c(LINK)] = { share = 0.02 }
   w.lie = function(t, send, recv)
      if t.src == LIAR then
         send.resent = 0
      elseif t.dst == LIAR then
         recv.segments, recv.disordered = 20000, 0
      end
   end
   play_until(w, LINK, "lossy", 500)
   play(w, 40)
   nothing_else(w, { LINK })
end

---------------------------------------------------------------- what becomes of a verdict

local function named(seed, loses)
   local w = world { seed = seed }
   w.losing[w:c(LINK)] = loses or { share = 0.01 }
   play_until(w, LINK, "lossy", 400)
   return w, w:c(LINK)
end

function tests.test_clean_tests_take_it_back()
   local w, c = named(91)
   w.losing = {}
   play_until(w, LINK, "ok", 60)
   lu.assertNil(w.diagnosis:component(c).loss)
   lu.assertNil(w.diagnosis:component(c).left)
   lu.assertEquals(w.diagnosis:remark(c, w.now), "")
   local before = #w.changes
   play(w, 60)
   nothing_else(w, {})
   for i = before + 1, #w.changes do -- it does not come and go
      lu.assertNotEquals(w.changes[i].component, c)
   end
end

-- Few segments clear no run, but they may take a verdict back.
function tests.test_what_was_taken_back_is_not_named_again()
   local w = world { seed = 92 }
   w.segments = 700
   w.losing[w:c(LINK)] = { share = 0.023 }
   play_until(w, LINK, "lossy", 600)
   w.losing = {}
   play_until(w, LINK, "ok", 60)
   local before = #w.changes
   play(w, 60)
   for i = before + 1, #w.changes do
      lu.assertNotEquals(w.changes[i].to, "lossy")
   end
end

function tests.test_a_repair_forgets_it()
   local w, c = named(93)
   w.diagnosis:forget(c, w.now, 3600)
   lu.assertEquals(w:state(LINK), "unknown")
   lu.assertNil(w.diagnosis.evidence:loss_case(c))
   lu.assertEquals(w.diagnosis:remark(c, w.now), "on probation")
   play_until(w, LINK, "lossy", 400)
end

function tests.test_hard_evidence_stands_besides()
   local w, c = named(95)
   w.diagnosis:hard(c, 0.5, { why = "2 of 4 lanes", since = w.now }, w.now)
   lu.assertEquals(w:state(LINK), "lossy")
   lu.assertStrContains(w.diagnosis:remark(c, w.now), "50% left: 2 of 4 lanes")
   w.diagnosis:hard(c, 1, nil, w.now)
   lu.assertEquals(w:state(LINK), "lossy")
   play(w, 10)
   lu.assertEquals(w:state(LINK), "lossy")
end

function tests.test_what_loses_may_fail()
   local w, c = named(97)
   w.left[c] = 0
   w.losing = {}
   play_until(w, LINK, "failed", 400)
   lu.assertNil(w.diagnosis:component(c).loss)
   nothing_else({ all = function(_, state)
      return state == "failed" and {} or w:all(state)
   end }, {})
   lu.assertEquals(w:all "failed", { LINK })
end

---------------------------------------------------------------- restart

local function restored(w, map)
   local new, seen = diagnose.new(w.topo, sim.quick), {}
   for c = 1, #w.topo.components do
      local text = memory.pack(w.diagnosis, c)
      new:restore(c, assert(memory.unpack(map and map(text) or text, w.topo, seen)))
   end
   new:restored()
   return new
end

-- Low tests whose losses were counted stay such tests.
function tests.test_a_restart_knows_which_low_tests_were_counted()
   local w = world { seed = 3 }
   local c = w:c(LINK)
   w.left[c] = 0.25
   play_until(w, LINK, "suspect", 40)
   local new, seen = diagnose.new(w.topo, w.diagnosis.s), {}
   for i = 1, #w.topo.components do
      new:restore(i, assert(memory.unpack(memory.pack(w.diagnosis, i), w.topo, seen)))
   end
   new:restored()
   local was, is = w.diagnosis.evidence:run(c), new.evidence:run(c)
   lu.assertTrue(#was > 0 and was[1].is_counted)
   lu.assertEquals(#is, #was)
   for i, t in ipairs(is) do
      lu.assertEquals(t.is_counted, was[i].is_counted)
   end
end

function tests.test_a_restart_keeps_runs_of_losses()
   local w = world { seed = 101 }
   w.losing[w:c(LINK)] = { share = 0.01 }
   while #w.diagnosis.evidence:loss_run(w:c(LINK)) < 2 do
      play(w, 1)
   end
   local new, some = restored(w), 0
   for c, name in ipairs(w.topo.components) do
      local a, b = w.diagnosis.evidence:loss_case(c), new.evidence:loss_case(c)
      lu.assertEquals(b and b.tests, a and a.tests, name)
      lu.assertEquals(b and b.share, a and a.share, name)
      some = some + (a and 1 or 0)
   end
   lu.assertTrue(some > 0)
   w.diagnosis = new
   play_until(w, LINK, "lossy", 400)
   nothing_else(w, { LINK })
end

function tests.test_a_restart_keeps_the_verdict()
   local w, c = named(103)
   local old = w.diagnosis:component(c)
   w.diagnosis = restored(w)
   local k = w.diagnosis:component(c)
   lu.assertEquals(k.state, "lossy")
   lu.assertEquals({ k.loss.share, k.loss.rate, k.left, #k.loss.tests },
      { old.loss.share, old.loss.rate, old.left, #old.loss.tests })
   lu.assertTrue(#w.diagnosis:against(c) > 0)
   lu.assertStrContains(w.diagnosis:reasoning(c)[1].text, "of their packets")
   play(w, 40) -- it explains what crosses it
   nothing_else(w, { LINK })
   w.losing = {}
   play_until(w, LINK, "ok", 60)
end

function tests.test_another_configuration_keeps_it()
   local w, c = named(105)
   w.diagnosis:reload(sim.torus({ 4, 2, 2 }, 2), sim.quick)
   w.topo = w.diagnosis.topo
   lu.assertEquals(w:state(LINK), "lossy")
   lu.assertNotNil(w.diagnosis.evidence:loss_case(c))
   play(w, 20)
   nothing_else(w, { LINK })
end

-- Each component has the next one's number.
function tests.test_onto_other_numbers()
   local w, c = named(107)
   local text, map = memory.pack(w.diagnosis, c), {}
   for i = 1, #w.topo.components do
      map[i] = i < #w.topo.components and i + 1 or nil
   end
   local k = assert(memory.unpack(text, w.topo, {}, { map = map }))
   local old = w.diagnosis.evidence:loss_run(c)
   lu.assertTrue(#k.loss_run > 0)
   for i, t in ipairs(k.loss_run) do
      lu.assertEquals(t.on[1], old[#old - #k.loss_run + i].on[1] + 1)
   end
   map[c] = nil -- it is no more: nor are tests over it
   k = assert(memory.unpack(text, w.topo, {}, { map = map }))
   lu.assertEquals(k.loss_run, {})
   -- nor are those of nodes that there are none of any more
   k = assert(memory.unpack(text, w.topo, {}, { node = function() return "gone" end }))
   lu.assertEquals(k.loss_run, {})
   lu.assertEquals(k.loss.tests, {})
end

local DAMAGE = {
   function(k) k.loss = nil end,
   function(k) k.state = "ok" end,
   function(k) k.loss.share = 7 end,
   function(k) k.loss.share = "much" end,
   function(k) k.loss = true end,
   function(k) k.loss_run[1].segments = 0 end,
   function(k) k.loss_run[1].lost = -1 end,
   function(k) k.loss_run[1].lost = 1e9 end,
   function(k) k.loss_run[1].rate = "fast" end,
   function(k) k.loss_run[1].rail = 9 end,
   function(k) k.loss_run[1].event = 1.5 end,
   function(k) k.loss_run[1].links = -1 end,
   function(k) k.loss_run[1] = 5 end,
   function(k) k.bouts_tested = 1.5 end,
   function(k) k.bouts = { { time = 1, share = 0.4, tested = -1 } } end,
   function(k)
      k.recurs = { share = 0.4, bouts = 1.5, spells = 3, first = 1, last = 2, score = 3 }
   end,
}

function tests.test_what_is_damaged_is_left_out()
   local w, c = named(109)
   local text = memory.pack(w.diagnosis, c)
   for i, damage in ipairs(DAMAGE) do
      local k = json.decode(text)
      damage(k)
      local made, err = memory.unpack(json.encode(k), w.topo, {})
      lu.assertNil(made, i)
      lu.assertStrContains(err, "damaged", false, i)
   end
   for _, fields in ipairs { { loss_run = 7 }, { bouts = "x" }, { loss_run = {} } } do
      local k = tables.copy(json.decode(text))
      for name, v in pairs(fields) do k[name] = v end
      local new = diagnose.new(w.topo, sim.quick)
      new:restore(c, assert(memory.unpack(json.encode(k), w.topo, {})))
      new:restored()
      lu.assertEquals(new:state(c), "lossy")
   end
end

return tests
