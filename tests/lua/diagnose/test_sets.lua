-- SPDX-License-Identifier: GPL-2.0-or-later
-- One slow link of a set: which set it is, and when it is not known.
local config = require "taut.config"
local diagnose = require "taut.diagnose"
local events = require "taut.events"
local fabricsim = require "lib.fabricsim"
local json = require "taut.json"
local low_share = require "taut.diagnose.sets.low_share"
local lu = require "luaunit"
local memory = require "taut.diagnose.memory"
local tables = require "taut.base.tables"
local topology = require "taut.topology"
local watch = require "taut.fabric.watch"
local weigh = require "taut.diagnose.sets.weigh"

local tests = {}

---------------------------------------------------------------- the odds

local S = assert(config.diagnosis {})

local function model(window, part, seen)
   return low_share.model({ kind = {}, part = {} }, window, part, seen or 0, S)
end

function tests.test_a_level_lies_well_inside_of_a_window()
   for _, ratio in ipairs { 0.03, 0.1, 0.25, 0.42, 0.7, 0.749 } do
      local step = low_share.step(ratio, S)
      local low = 0.02 * (1 + S.set_near) ^ step
      lu.assertTrue(low <= ratio and ratio <= low * (1 + S.set_near) * 1.000001)
   end
   lu.assertEquals(low_share.step(0, S), 0)
   lu.assertEquals(low_share.step(0.02, S), 0)
end

function tests.test_what_the_odds_say()
   local m = model(low_share.step(0.42, S), 1 / 18)
   local rows = {
      -- k, n, least, most
      { 0, 1, -0.2, 0 },      -- one good flow says little
      { 1, 1, 0.5, 3 },
      { 1, 18, 1, 4 },        -- the share of one of 18
      { 0, 18, -1.7, -0.5 },
      { 9, 18, -0.5, 0.5 },   -- half of all flows: a busy network
      { 18, 18, -0.5, 0.5 },
   }
   for _, r in ipairs(rows) do
      local v = low_share.odds(r[1], r[2], m)
      lu.assertTrue(v >= r[3] and v <= r[4], ("%d of %d: %g"):format(r[1], r[2], v))
   end
   -- a half and a third are what busy links show all the time
   lu.assertTrue(low_share.odds(1, 18, model(low_share.step(0.5, S), 1 / 18))
      < low_share.odds(1, 18, m) - 0.5)
   -- and so is what others of its class show
   lu.assertTrue(low_share.odds(1, 18, model(low_share.step(0.42, S), 1 / 18, 0.05))
      < low_share.odds(1, 18, m) - 0.5)
end

---------------------------------------------------------------- a tree with hashed uplinks

local LEAVES, SPINES, PER = 8, 6, 4 -- unless a test says otherwise
local FLOWS = 48                    -- between leaves, of an event

local World = {}
World.__index = World

-- What is remembered of few flows is not what many say: 1 of 44 and 0 of 300 were one.
function tests.test_many_flows_are_not_taken_for_few()
   local fresh = model(low_share.step(0.42, S), 1 / 18)
   local used = model(low_share.step(0.42, S), 1 / 18)
   for n = 1, 255 do
      for k = 0, n do
         low_share.odds(k, n, used)
      end
   end
   for n = 256, 600, 43 do
      lu.assertEquals(low_share.odds(0, n, used), low_share.odds(0, n, fresh))
      lu.assertEquals(low_share.odds(3, n, used), low_share.odds(3, n, fresh))
   end
end

local function tree(spines, addresses, routing)
   return assert(topology.build { kind = "fattree", nodes_per_leaf = PER,
      levels = { { down = LEAVES, up = spines or SPINES } },
      nodes = ("n[0-%d]"):format(LEAVES * PER - 1),
      capacity = 10e9, routing = routing or "ecmp", addresses = addresses })
end

local function world(seed, settings, spines, routing)
   math.randomseed(seed)
   local topo = tree(spines, nil, routing)
   return setmetatable({ topo = topo, spines = spines or SPINES,
      left = {}, busy = {}, now = 0, event = 0,
      diagnosis = diagnose.new(topo, settings or S), said = {} }, World)
end

-- A link between a leaf and a spine, up or down.
function World:link(leaf, spine, is_up)
   local l, s = self.topo.router_id["leaf" .. leaf], self.topo.router_id["spine" .. spine]
   return self.topo:links_between(is_up and l or s, is_up and s or l)[1]
end

local function flow(self, a, b)
   local from, to, spine = (a - 1) // PER, (b - 1) // PER, math.random(0, self.spines - 1)
   local least = math.min(self.left[self.topo.tx[a]] or 1, self.left[self.topo.rx[b]] or 1)
   if from ~= to then
      for _, c in ipairs { self:link(from, spine, true), self:link(to, spine, false) } do
         least = math.min(least, self.left[c] or 1, self.busy[c] or 1)
      end
      if math.random() < 0.15 then
         least = math.min(least, math.random() < 0.6 and 1 / math.random(2, 3)
            or 0.3 + 0.65 * math.random())
      end
   end
   return least * 10e9 * (1 + 0.01 * (math.random() - 0.5))
end

-- One event in each quarter of an hour: an anchor for each node, and nodes that send to other
-- leaves.
-- @param pick function() → source, destination
function World:play(hours, pick)
   for _ = 1, hours * 4 do
      local list = {}
      self.event, self.now = self.event + 1, self.now + 900
      for a = 1, #self.topo.nodes do
         local leaf = (a - 1) // PER
         list[a] = { src = a, dst = leaf * PER + a % PER + 1 }
      end
      for _ = 1, FLOWS do
         local a, b = pick()
         list[#list + 1] = { src = a, dst = b }
      end
      for i, t in ipairs(list) do
         t.id, t.event, t.time, t.streams = self.event * 1000 + i, self.event, self.now, 1
         t.bw_Bps, t.expected_Bps = flow(self, t.src, t.dst), 10e9
         t.ratio = t.bw_Bps / 10e9
         t.class = t.ratio < 0.75 and "low" or "good"
      end
      self.diagnosis:observe(list, self.now)
      for _, v in ipairs(self.diagnosis:take_set_changes()) do
         local _, subject = self.diagnosis:set_words(v)
         self.said[#self.said + 1] = (v.over and "over: " or "") .. subject
      end
   end
end

local function anybody()
   local a = math.random(LEAVES * PER)
   local b
   repeat
      b = math.random(LEAVES * PER)
   until (a - 1) // PER ~= (b - 1) // PER
   return a, b
end

function tests.test_an_uplink_is_one_of_its_leafs()
   local w = world(1)
   w.left[w:link(3, 2, true)] = 0.42
   w:play(100, anybody)
   lu.assertEquals(w.said, { "one of 6 uplinks of leaf3 is slow" })
   local v = w.diagnosis.sets:verdicts()[1]
   lu.assertAlmostEquals(v.left, 0.42, 0.01)
   lu.assertAlmostEquals(v.hits / v.flows, 0.9 / SPINES, 0.08)
   -- no node is drained for it, and no component has a verdict
   lu.assertEquals(w.diagnosis:verdicts(), {})
   lu.assertEquals(w.diagnosis:remark(w:link(3, 5, true), w.now),
      "one of 6 uplinks of leaf3 is slow")
   lu.assertStrContains(w.diagnosis:reasoning(w:link(3, 5, true))[1].text, "flows got 42%")
   lu.assertEquals(w.diagnosis:remark(w:link(4, 5, true), w.now), "")
end

function tests.test_a_downlink_is_one_of_those_into_its_leaf()
   local w = world(2)
   w.left[w:link(5, 0, false)] = 0.2
   w:play(100, anybody)
   lu.assertEquals(w.said, { "one of 6 downlinks into leaf5 is slow" })
end

function tests.test_two_faults_are_two_sets()
   local w = world(4)
   w.left[w:link(1, 2, true)] = 0.62
   w.left[w:link(6, 3, false)] = 0.1
   w:play(150, anybody)
   table.sort(w.said)
   lu.assertEquals(w.said, { "one of 6 downlinks into leaf6 is slow",
      "one of 6 uplinks of leaf1 is slow" })
end

function tests.test_a_healthy_tree_has_none()
   local w = world(5)
   w:play(400, anybody)
   lu.assertEquals(w.said, {})
end

function tests.test_a_busy_half_of_the_spines_is_no_slow_link()
   local w = world(6, nil, 18)
   for hour = 1, 200 do
      w.busy = {}
      local level = hour % 3 == 0 and 0.5 or 0.3 + 0.6 * math.random()
      for spine = 0, w.spines // 2 - 1 do -- of one leaf, three hours in six
         w.busy[w:link(2, spine, true)] = hour % 6 < 3 and level or nil
         w.busy[w:link(2, spine, false)] = hour % 6 < 3 and level or nil
      end
      w:play(1, anybody)
   end
   lu.assertEquals(w.said, {})
end

function tests.test_two_leaves_alone_are_a_tie()
   local w = world(7)
   w.left[w:link(0, 2, true)] = 0.42
   w:play(100, function() return math.random(PER), PER + math.random(PER) end)
   lu.assertEquals(w.said, {})
   w:play(100, anybody) -- until others are heard
   lu.assertEquals(w.said, { "one of 6 uplinks of leaf0 is slow" })
end

function tests.test_a_slow_node_is_no_slow_uplink()
   local w = world(8)
   w.left[w.topo.tx[6]] = 0.42
   w:play(100, anybody)
   lu.assertEquals(w.said, {})
   lu.assertEquals(w.diagnosis:state(w.topo.tx[6]), "slow")
end

function tests.test_what_is_mended_is_taken_back()
   local w = world(9)
   local c = w:link(3, 2, true)
   w.left[c] = 0.42
   w:play(60, anybody)
   w.left[c] = nil
   w:play(200, anybody)
   lu.assertEquals(w.said, { "one of 6 uplinks of leaf3 is slow",
      "over: one of 6 uplinks of leaf3 is slow" })
   lu.assertEquals(w.diagnosis.sets:verdicts(), {})
end

function tests.test_a_repair_forgets_it()
   local w = world(9)
   local c = w:link(3, 2, true)
   w.left[c] = 0.42
   w:play(60, anybody)
   lu.assertEquals(#w.diagnosis.sets:verdicts(), 1)
   w.diagnosis:forget(c, w.now)
   lu.assertEquals(w.diagnosis.sets:verdicts(), {})
end

function tests.test_plans_are_asked_to_look_again()
   local w = world(10, assert(config.diagnosis { slow_score = 1000 }))
   w.left[w:link(3, 2, true)] = 0.42
   w:play(60, anybody)
   local list = w.diagnosis:wanted()
   lu.assertTrue(list[1].late)
   lu.assertEquals(w.topo:from(list[1].component), w.topo.router_id.leaf3)
end

---------------------------------------------------------------- from a set to a cable

-- A tree with a slow uplink that was found as one of its set.
local function one_of_six(seed)
   local w = world(seed)
   local c = w:link(3, 2, true)
   w.left[c] = 0.3
   w:play(200, anybody)
   lu.assertEquals(w.said, { "one of 6 uplinks of leaf3 is slow" })
   return w, c
end

-- What logs and sweeps said: map link → when.
local function accused(w, map)
   w.diagnosis:listen(function(c, since) return (map[c] or -math.huge) >= since end)
   w:play(1, anybody)
end

function tests.test_the_one_link_with_errors_is_named()
   local w, c = one_of_six(3)
   accused(w, { [w:link(4, 2, true)] = w.now, [w:link(3, 1, true)] = -86400 * 7 })
   lu.assertEquals(w.diagnosis:verdicts(), {}) -- of another leaf; long ago
   accused(w, { [c] = w.now, [w:link(3, 4, true)] = w.now })
   lu.assertEquals(w.diagnosis:verdicts(), {}) -- which of the two?
   accused(w, { [c] = w.now })
   local v = w.diagnosis:verdicts()
   lu.assertEquals({ #v, v[1].component, v[1].state }, { 1, c, "slow" })
   lu.assertAlmostEquals(v[1].left, 0.3, 0.02)
   lu.assertStrContains(w.diagnosis:reasoning(c)[1].text, "one of 6 uplinks of leaf3 is slow; of "
      .. "these links only this one has errors")
   lu.assertEquals(w.diagnosis.sets:verdicts(), {}) -- it is the cable's now
end

-- A sweep of the tree as taut-ib would tell of it: ports are numbered as the links are named.
local function swept(topo, errors)
   local parts, of = {}, {}
   for r = 0, topo.routers - 1 do
      of[r] = { type = "switch", guid = ("0x%016x"):format(256 + r), desc = topo.router_name[r],
         num_ports = 64, lid = r + 1, ports = {} }
      for i = 1, 64 do
         of[r].ports[i] = { port = i, info = fabricsim.info.down, read = 32 }
      end
      parts[r + 1] = of[r]
   end
   local function port(c)
      return math.tointeger(tonumber(topo.components[c]:match "/(%d+)$"))
   end
   for c = topo.first_link, #topo.components do
      local p, back = of[topo:from(c)].ports[port(c)], topo:opposite(c)
      p.far, p.far_port, p.info = of[topo:to(c)].guid, port(back), fabricsim.info.up
      -- what a link damages, its far end counts
      p.counters = { symbol_error = errors[back] or 0 }
   end
   return fabricsim.fabric(parts, 300)
end

-- End to end: tests over an adaptive fabric name the set, the counters of a sweep the cable.
function tests.test_on_an_adaptive_fabric_a_sweep_s_counters_tell_the_cable()
   local w = world(3, nil, nil, "adaptive")
   local c = w:link(3, 2, true)
   w.left[c] = 0.3
   w:play(200, anybody)
   lu.assertEquals(w.said, { "one of 6 uplinks of leaf3 is slow" })
   local heard = {}
   local e = events.new { topology = w.topo, diagnosis = w.diagnosis,
      cluster = { on_node = {}, jobs = {}, last_heard = {} },
      journal = { add = function() end }, hear = function(changes)
         table.move(changes, 1, #changes, #heard + 1, heard)
      end }
   w.diagnosis:listen(function(link, since) return e:accuses(link, since) end)
   local kept = fabricsim.state()
   lu.assertEquals(watch.take(kept, swept(w.topo, {})), {})
   w:play(1, anybody)
   lu.assertEquals(w.diagnosis:verdicts(), {}) -- no counter has grown
   local seen = watch.take(kept, swept(w.topo, { [c] = 500, [w:link(5, 2, true)] = 500 }))
   lu.assertEquals(#seen, 2)
   for _, o in ipairs(seen) do
      o.from, o.to = w.now - 300, w.now
   end
   e:take(seen, true)
   -- at once: on machines where hardly a test is due the cable waited for the next ones
   local v = w.diagnosis:verdicts()
   lu.assertEquals({ #v, v[1].component, v[1].state }, { 1, c, "slow" })
   lu.assertEquals({ #heard, heard[1].component, heard[1].to }, { 1, c, "slow" })
   lu.assertAlmostEquals(v[1].left, 0.3, 0.02)
   lu.assertEquals(w.diagnosis.sets:verdicts(), {})
   lu.assertEquals(w.diagnosis:state(w:link(5, 2, true)), "unknown") -- errors, and no low test
   -- `taut status` said "-1 unknown": the cable was taken for one of those counted as sets
   lu.assertEquals(w.diagnosis:unknown_in_sets(), 2 * LEAVES * SPINES - 1)
   lu.assertEquals(w.diagnosis:count_states().unknown, w.diagnosis:unknown_in_sets())
end

function tests.test_hard_evidence_tells_which_link_it_is()
   local w, c = one_of_six(3)
   w.diagnosis:hard(c, 0.5, { why = "width 2x, 4x is possible", since = w.now }, w.now)
   w:play(1, anybody)
   lu.assertEquals(w.diagnosis:verdicts()[1].component, c)
   lu.assertAlmostEquals(w.diagnosis:verdicts()[1].left, 0.3, 0.02)
   w.diagnosis:hard(c, 1, nil, w.now) -- the width is back; the set is slow all the same
   lu.assertEquals(w.diagnosis:state(c), "slow")
end

function tests.test_a_cable_named_by_its_set_is_well_when_the_set_is()
   local w, c = one_of_six(3)
   accused(w, { [c] = w.now })
   lu.assertEquals(w.diagnosis:state(c), "slow")
   w.left[c] = nil
   w:play(600, anybody)
   lu.assertEquals(w.said[2], "over: one of 6 uplinks of leaf3 is slow")
   lu.assertEquals(w.diagnosis:verdicts(), {})
   lu.assertNil(w.diagnosis:record(c).hard)
end

-- After a start of tautd the set stood beside its cable, and the cable stood when the set was well.
function tests.test_a_restart_keeps_a_cable_with_its_set()
   local w, c = one_of_six(3)
   accused(w, { [c] = w.now })
   local again = diagnose.new(w.topo, S)
   again:restore(c, assert(memory.unpack(memory.pack(w.diagnosis, c), w.topo, {})))
   again:restored()
   lu.assertTrue(again:restore_sets(json.decode(json.encode(w.diagnosis:pack_sets()))))
   w.diagnosis = again
   lu.assertEquals(again:narrow(w.now), {}) -- nothing new
   lu.assertEquals(again:set_verdicts(), {})
   lu.assertEquals(again:verdicts()[1].component, c)
   w.left[c] = nil
   w:play(600, anybody)
   lu.assertEquals(w.said[2], "over: one of 6 uplinks of leaf3 is slow")
   lu.assertEquals(again:verdicts(), {})
   lu.assertNil(again:record(c).hard)
end

-- Other routes, as when a link fails: what was known of sets is void, and they are named anew.
function tests.test_a_set_that_is_named_anew_has_its_cable_still()
   local w, c = one_of_six(3)
   accused(w, { [c] = w.now })
   w.diagnosis.sets:begin(w.diagnosis)
   w:play(60, anybody)
   lu.assertEquals(#w.said, 2) -- named again
   lu.assertEquals(w.diagnosis:set_verdicts(), {})
   w.left[c] = nil
   w:play(600, anybody)
   lu.assertEquals(w.diagnosis:verdicts(), {})
end

-- Another link of the set was repaired: nobody was told that the set is slow no longer, and the
-- cable stood without it.
function tests.test_a_repair_of_another_link_of_its_set_takes_the_cable_back()
   local w, c = one_of_six(3)
   accused(w, { [c] = w.now })
   local changes = {}
   w.diagnosis:take_set_changes()
   w.diagnosis:forget(w:link(3, 4, true), w.now, 0, changes)
   lu.assertEquals(w.diagnosis:verdicts(), {})
   lu.assertEquals(changes[#changes].component, c)
   local over = w.diagnosis:take_set_changes()
   lu.assertEquals({ #over, over[1].over }, { 1, true })
end

-- What was found before the set was slow speaks for its link, too.
function tests.test_a_link_with_hard_evidence_does_not_hide_its_set()
   local w = world(3)
   local c = w:link(3, 2, true)
   w.left[c] = 0.3
   w.diagnosis:hard(c, 0.5, { why = "width 2x, 4x is possible", since = w.now }, w.now)
   w:play(200, anybody)
   lu.assertEquals(w.diagnosis:verdicts()[1].component, c)
end

function tests.test_links_of_a_slow_set_are_asked_for_in_turn()
   local w, c = one_of_six(3)
   lu.assertEquals(#w.diagnosis:wanted(), 0) -- more tests would tell no more
   w.diagnosis:reload(tree(nil, { spine0 = "10.0.0.1" }), S)
   local asked = {}
   for i = 1, SPINES do
      local of_set = w.diagnosis:wanted()[1].component
      lu.assertEquals(w.topo:from(of_set), w.topo.router_id.leaf3)
      lu.assertNil(asked[of_set])
      asked[of_set] = true
      -- its test asked for its way: a good one clears it, a low one accuses it
      local spine, ratio = w.topo:to(of_set), of_set == c and 0.3 or 1
      w.now = w.now + 900
      w.diagnosis:observe({ { src = 13, dst = 1, id = 1000000 + i, event = 1000000 + i,
         time = w.now, phase = 1, streams = 1, is_traced = true, ratio = ratio,
         class = ratio < 0.75 and "low" or "good", bw_Bps = ratio * 10e9, expected_Bps = 10e9,
         way = { w.topo.tx[13], of_set, w.topo:links_between(spine, w.topo.router_id.leaf0)[1],
            w.topo.rx[1] } } }, w.now)
   end
   lu.assertEquals(w.diagnosis.evidence:low(c), 1)
end

---------------------------------------------------------------- kept

function tests.test_a_restart_forgets_nothing()
   local w = world(11)
   w.left[w:link(3, 2, true)] = 0.42
   w.left[w:link(6, 1, true)] = 0.6
   w:play(60, anybody)
   lu.assertEquals(#w.diagnosis.sets:verdicts(), 2)
   local text = json.encode(w.diagnosis.sets:pack())
   local again = diagnose.new(w.topo, S)
   lu.assertTrue(again.sets:restore(json.decode(text)))
   lu.assertEquals(#again.sets:verdicts(), 2)
   lu.assertEquals(json.encode(again.sets:pack()), text)
   w.diagnosis = again
   w:play(30, anybody)
   lu.assertEquals(#w.said, 2) -- not said again
end

function tests.test_a_restart_still_suspects_a_set()
   local w = world(11)
   local function suspects(d)
      return tables.map(d.sets:in_place_of_links(), function(r)
         return r.state == "suspect" and r.name or nil
      end)
   end
   w.left[w:link(3, 2, true)] = 0.42
   repeat
      w:play(1, anybody)
   until #suspects(w.diagnosis) > 0
   lu.assertEquals(w.said, {})
   local again = diagnose.new(w.topo, S)
   lu.assertTrue(again.sets:restore(json.decode(json.encode(w.diagnosis.sets:pack()))))
   lu.assertEquals(suspects(again), suspects(w.diagnosis))
   lu.assertEquals(#again.sets:wanted(), #w.diagnosis.sets:wanted())
end

-- A healthy tree without addresses was said to be "never tested" after each start of tautd.
function tests.test_a_restart_knows_which_sets_were_tested()
   local w = world(11)
   w:play(2, anybody)
   local function states(d)
      return tables.map(d.sets:in_place_of_links(), function(r)
         return { r.name, r.state, r.last }
      end)
   end
   local then_ = states(w.diagnosis)
   lu.assertEquals(#then_, 2 * LEAVES)
   for _, r in ipairs(then_) do
      lu.assertEquals(r[2], "ok")
      lu.assertEquals(r[3], w.now)
   end
   local text = json.encode(w.diagnosis.sets:pack())
   local again = diagnose.new(w.topo, S)
   lu.assertTrue(again.sets:restore(json.decode(text)))
   lu.assertEquals(states(again), then_)
   lu.assertEquals(json.encode(again.sets:pack()), text)
   -- of a machine whose links have other numbers now
   local n = #w.topo.components
   local moved = tables.map(json.decode(text), function(row)
      row.members = tables.map(row.members, function(c) return n + c end)
      return row
   end)
   local map, nodes = {}, {}
   for c = 1, n do
      map[n + c] = c
   end
   for i = 1, #w.topo.nodes do
      nodes[i] = i
   end
   again = diagnose.new(w.topo, S)
   lu.assertTrue(again.sets:restore(moved, { map = map, nodes = nodes, nodes_then = nodes }))
   lu.assertEquals(states(again), then_)
   -- where nothing was kept there are none, and links with addresses are tested by themselves
   lu.assertTrue(diagnose.new(w.topo, S).sets:restore {})
   w.diagnosis:reload(tree(nil, { spine0 = "10.0.0.1" }), S)
   for _, row in ipairs(w.diagnosis.sets:pack()) do
      lu.assertTrue(#row.runs + #row.named > 0)
   end
end

-- What the database holds may be damaged: nothing of it is taken, and why is said.
function tests.test_damage_is_refused()
   local w = world(11)
   w.left[w:link(3, 2, true)] = 0.42
   w:play(60, anybody)
   local text = json.encode(w.diagnosis.sets:pack())
   local rows = {
      { "x", "is not a list" }, { { 1 }, "a set is not a table" },
      { { {} }, "part is not a number" },
      { { { part = 1, members = { 1 }, runs = {}, named = {} } }, "members are not links" },
      { { { part = 1, members = {}, runs = {}, named = {} } }, "members are missing" },
      { { { part = 1, members = { w:link(1, 1, true) }, runs = {}, named = {}, last = "x" } },
         "last is not a number" },
      { { { part = 1, members = { w:link(1, 1, true) }, runs = 4, named = {} } },
         "runs is not a list" },
   }
   for name, bad in pairs { window = -1, left = "x", state = "well", hits = 0 / 0 } do
      local kept = json.decode(text)
      kept[1].named[1][name] = bad
      rows[#rows + 1] = { kept, "" }
   end
   for i, r in ipairs(rows) do
      local d = diagnose.new(w.topo, S)
      local ok, err = d.sets:restore(r[1])
      lu.assertNil(ok, i)
      lu.assertStrContains(err, r[2])
      lu.assertEquals(d.sets:verdicts(), {})
   end
end

---------------------------------------------------------------- a member that is a suspect

-- Some hours of tests over one local link of a dragonfly, then flows from its router to other
-- groups, of which a part takes it, too, for as many hours; `level` is what those show.
-- @param o { direct = pairs over it in each of the first hours (4), first = how many these are (3),
--   stay = all flows after that to the nodes of one router, alone = nobody tests the other member
--   of its sets }
local function member_world(hours, level, o)
   o = o or {}
   local topo = assert(topology.build { kind = "dragonfly", groups = 5, routers = 4,
      nodes_per_router = 4, global_links = 2, nodes = "n[0-79]", capacity = 10e9,
      routing = "adaptive", misrouted = 0 })
   local d, c, part = diagnose.new(topo, S), topo:route(1, 5)[2], {}
   for dst = 17, 80 do
      local stage = topo:route(1, dst)[2]
      if type(stage) == "table" and tables.has(stage, c) then
         part[#part + 1] = dst
      end
   end
   local event, id = 0, 0
   local function test(src, dst, Bps, streams)
      id = id + 1
      return { src = src, dst = dst, id = id, phase = id, streams = streams or 1,
         confirms = streams and c, route = topo:route(src, dst), class = Bps < 7.5e9 and "low"
         or "good", ratio = Bps / 10e9, bw_Bps = Bps, expected_Bps = 10e9 }
   end
   local function observe(hour, list)
      event = event + 1
      for _, t in ipairs(list) do
         t.event, t.time = event, hour * 3600 + event
      end
      d:observe(list, hour * 3600 + event)
   end
   for hour = 1, o.first or 3 do
      local list = {}
      for i = 1, o.direct or 4 do
         list[#list + 1] = test(i, 4 + i, 4.1e9, 1)
         list[#list + 1] = not o.direct and test(i, 4 + i, 4.1e9, 16) or nil
      end
      observe(hour, list)
   end
   for hour = 4, 3 + hours do
      for i = 1, #part > 0 and 4 or 0 do
         local list = { [4] = not o.alone and test(i, 12 + i, 10e9) or nil }
         for k = 1, 3 do
            local n = hour * 12 + i * 3 + k
            local dst = o.stay and part[1] + n % 4 or part[n % #part + 1]
            list[k] = test(i, dst, k == 1 and level or 10e9)
         end
         observe(hour, list)
      end
   end
   return d, c, #part
end

function tests.test_flows_over_its_sets_speak_about_a_suspect()
   local d, c, n = member_world(0)
   lu.assertTrue(n > 0)
   lu.assertEquals(d:state(c), "suspect")
   d = member_world(8, 4.1e9)
   lu.assertEquals(d:state(c), "slow")
   d = member_world(8, 6e9) -- another level: others took another link, which is busy
   lu.assertEquals(d:state(c), "suspect")
end

function tests.test_flows_over_many_sets_name_what_hardly_a_test_crossed()
   local few = { direct = 1, first = 2 } -- less than half a verdict: its ends are no rivals yet
   local d, c = member_world(0, nil, few)
   lu.assertFalse(d:is_decided(c))
   d = member_world(24, 4.1e9, few)
   lu.assertEquals(d:state(c), "slow")
end

-- It may as well be a global link, or a port of the routers there.
function tests.test_flows_that_another_set_explains_name_no_member()
   local d, c = member_world(24, 4.1e9, { direct = 1, first = 2, stay = true })
   lu.assertFalse(d:is_decided(c))
end

function tests.test_flows_name_no_member_while_another_may_be_it()
   local d, c = member_world(24, 4.1e9, { direct = 1, alone = true })
   lu.assertFalse(d:is_decided(c))
end

-- Hours of a tree in which n13 says that its tests went over an uplink of its leaf that is well,
-- and got 42 %; and flows between other leaves and its own, as `flow` has them.
-- @param o { left = of another uplink of the leaf (1), lies = hours, streams = of the tests of n13,
--   flow = function(i, hour) → sender, Bps, what was expected, of 12 an hour }
-- @return the state that the link comes to
local function accused_by_one(o)
   local w = world(1)
   local topo, c = w.topo, w:link(3, 5, true)
   local down, n = topo:links_between(topo.router_id.spine5, topo.router_id.leaf0)[1], 0
   local leaf2 = w:link(2, 5, true)
   local function test(src, dst, Bps, expected, way, streams)
      n = n + 1
      return { src = src, dst = dst, id = 1000000 + n, phase = n, streams = streams or 1, way = way,
         is_traced = way and true, confirms = way and src == 13 and #o.streams > 1 and c or nil,
         ratio = Bps / expected, class = Bps / expected < 0.75 and "low" or "good", bw_Bps = Bps,
         expected_Bps = expected }
   end
   w.left[w:link(3, 2, true)] = o.left
   w:play(1, anybody)
   for hour = 1, 40 do
      w:play(1, anybody)
      w.event, w.now = w.event + 1, w.now + 100
      local dst = 1 + hour % 3
      local list = { test(13, 14, 10e9, 10e9), test(4, dst, 10e9, 10e9),
         test(9, dst, 10e9, 10e9, { topo.tx[9], leaf2, down, topo.rx[dst] }) }
      for _, streams in ipairs(hour <= o.lies and o.streams or {}) do
         list[#list + 1] = test(13, dst, 4.2e9, 10e9, { topo.tx[13], c, down, topo.rx[dst] },
            streams)
      end
      for i = 1, o.flow and 12 or 0 do
         local src, Bps, expected = o.flow(i, hour)
         list[#list + 1] = test(src, 17 + (hour * 12 + i) % 16, Bps, expected)
      end
      for _, t in ipairs(list) do
         t.event, t.time = w.event, w.now
      end
      w.diagnosis:observe(list, w.now)
      if w.diagnosis:is_decided(c) then
         return w.diagnosis:state(c)
      end
   end
   return w.diagnosis:state(c)
end

---------------------------------------------------------------- counting

function tests.test_each_pair_has_one_cell_however_many_there_are()
   local tally = weigh.tally({}, { n = 0 }, 0)
   for _ = 1, 3 do
      for key = 1, 50 do
         local i = weigh.cell(tally, key, nil)
         tally.cells[i + 1] = tally.cells[i + 1] + 1
      end
   end
   lu.assertEquals(#tally.cells, 4 * 50)
   for key = 1, 50 do
      local i = weigh.cell(tally, key, nil)
      lu.assertEquals({ tally.cells[i], tally.cells[i + 1] }, { key, 3 })
   end
   weigh.clear(tally)
   lu.assertEquals(weigh.cell(tally, 50, nil), 1)
end

---------------------------------------------------------------- a member by itself

-- What is slow is another uplink: the flows over that one say nothing of this one.
function tests.test_a_slow_link_of_the_set_speaks_against_no_other()
   for lies = 2, 4 do
      lu.assertNotEquals(accused_by_one { left = 0.42, lies = lies, streams = { 1 } }, "slow")
   end
end

-- All that n13 sends over it is low, and so are flows of others by chance.
function tests.test_one_node_and_chance_name_no_link()
   lu.assertEquals(accused_by_one { lies = 40, streams = { 1, 16 }, flow = function(i)
      return 13, i <= 2 and 4.2e9 or 10e9, 10e9
   end }, "suspect")
end

-- As much as they can do is at the ceiling by chance.
function tests.test_flows_of_slower_nodes_speak_against_no_link()
   lu.assertNotEquals(accused_by_one { lies = 2, streams = { 1 }, flow = function(i, hour)
      local Bps = i <= 2 and 4.2e9 or 10e9
      return 13 + (hour + i) % 4, Bps, Bps
   end }, "slow")
end

---------------------------------------------------------------- sets in place of links

-- `links` said "0 ok, 48 never tested" and coverage could not rise over what ports are.
function tests.test_sets_stand_in_place_of_links_that_nobody_can_tell_apart()
   local w = world(5)
   local d, covered = w.diagnosis, { share = function() return 2 * LEAVES * PER / #w.topo.components
      end }
   local rows, links, count, unnamed = d:sets_in_place_of_links()
   lu.assertEquals({ #rows, count, tables.size(links), #unnamed }, { 2 * LEAVES,
      2 * LEAVES * SPINES, 2 * LEAVES * SPINES, 0 })
   lu.assertEquals({ rows[1].state, #rows[1].members }, { "unknown", SPINES })
   lu.assertAlmostEquals(d:covered(covered, 3600, 0), 2 * LEAVES * PER / (2 * LEAVES * (PER + 1)),
      1e-9)
   w:play(2, anybody)
   rows = d:sets_in_place_of_links()
   for _, row in ipairs(rows) do
      lu.assertEquals(row.state, "ok", row.name)
   end
   lu.assertEquals(d:covered(covered, 3600, w.now), 1)
end

function tests.test_a_slow_set_is_called_by_its_name()
   local w = world(6)
   w.left[w:link(3, 2, true)] = 0.25
   w:play(100, anybody)
   local slow = tables.filter((w.diagnosis:sets_in_place_of_links()), function(row)
      return row.state == "slow"
   end)
   lu.assertEquals(#slow, 1)
   lu.assertStrContains(slow[1].name, "leaf3")
   lu.assertNotNil(slow[1].verdict)
end

-- With the switches' addresses tests know their way: links are links.
function tests.test_with_addresses_links_stand_for_themselves()
   local topo, addresses = tree(), {}
   for c = topo.first_link, #topo.components do
      addresses[topo.components[c]] = ("10.%d.%d.%d"):format(c // 65536, c // 256 % 256, c % 256)
   end
   local all = diagnose.new(tree(nil, addresses), S)
   local rows, _, count, unnamed = all:sets_in_place_of_links()
   lu.assertEquals({ #rows, count, #unnamed }, { 0, 0, 0 })
   addresses[topo.components[topo.first_link]] = nil
   local one = diagnose.new(tree(nil, addresses), S)
   rows, _, count, unnamed = one:sets_in_place_of_links()
   lu.assertEquals({ #rows, count, #unnamed }, { 0, 0, 1 })
end

function tests.test_static_routes_have_no_sets_in_place_of_links()
   local topo = assert(topology.build { kind = "fattree", nodes_per_leaf = PER, capacity = 1e9,
      levels = { { down = LEAVES, up = SPINES } }, nodes = ("n[0-%d]"):format(LEAVES * PER - 1) })
   local rows, _, count = diagnose.new(topo, S):sets_in_place_of_links()
   lu.assertEquals({ #rows, count }, { 0, 0 })
end

return tests
