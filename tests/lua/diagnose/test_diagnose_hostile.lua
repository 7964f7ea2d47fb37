-- SPDX-License-Identifier: GPL-2.0-or-later
-- The diagnosis among liars and nonsense: no healthy node is called slow by one liar.
local lu = require "luaunit"
local sim = require "lib.sim"

local tests = {}

local LIAR = 9

local function says(r, share)
   r.bytes = math.floor(share * 24e6 * 20e-3)
   for i = 1, r.sub_bytes and 8 or 0 do
      r.sub_bytes[i] = r.bytes / 8
   end
end

-- What a liar makes of its own two ends of a test; it can say nothing for others.
local LIES = {
   zero = function(t, send, recv)
      if t.dst == LIAR then
         says(recv, 0)
      elseif t.src == LIAR then
         says(send, 0)
      end
   end,
   maximum = function(t, send, recv)
      if t.dst == LIAR then
         says(recv, 1)
      elseif t.src == LIAR then
         says(send, 1)
      end
   end,
   one_peer = function(t, send, recv)
      if t.dst == LIAR and t.src == 11 then
         says(recv, 0.3)
      elseif t.src == LIAR and t.dst == 11 then
         says(send, 0.3)
      end
   end,
   random = function(t, send, recv)
      if t.dst == LIAR then
         says(recv, math.random())
      elseif t.src == LIAR then
         says(send, math.random())
      end
   end,
}

local function decided(w)
   local list = w:all "slow"
   table.move(w:all "failed", 1, 99, #list + 1, list)
   return list
end

function tests.test_no_liar_gets_anybody_drained()
   for name, lie in pairs(LIES) do
      local w = sim.new { seed = 7 }
      w.lie = lie
      for _ = 1, 150 do
         w:random_job()
      end
      lu.assertEquals(decided(w), {}, name)
   end
end

function tests.test_a_real_fault_is_found_among_liars()
   for name, lie in pairs(LIES) do
      local w = sim.new { seed = 8 }
      w.lie = lie
      w.left[w:c "n5/tx"] = 0.25
      for _ = 1, 150 do
         w:random_job()
      end
      lu.assertEquals(decided(w), { "n5/tx" }, name)
   end
end

-- A node that takes little, and says that its port carried little more in all: whether from all or
-- from one peer only, it accuses nobody but itself.
function tests.test_what_a_node_says_of_its_port_accuses_nobody_else()
   for seed = 1, 6 do
      for _, peer in ipairs { false, 11 } do
         local w = sim.new { seed = seed }
         w.lie = function(t, send, recv)
            local own = t.dst == LIAR and recv or t.src == LIAR and send
            if own and (not peer or t.dst == peer or t.src == peer) then
               says(send, 0.05)
               says(recv, 0.05)
               own.foreign_bytes = math.floor(0.2 * 24e6 * 25e-3)
               own.port_ns, own.port_back_bytes = own.window_ns, 0
               own.port_with_bytes = math.floor(0.2 * 24e6 * 20e-3)
               own.port_data_bytes = math.floor(0.25 * 24e6 * 20e-3)
            end
         end
         for _ = 1, 150 do
            w:random_job()
         end
         for _, name in ipairs(decided(w)) do
            lu.assertStrContains(name, w.topo.nodes[LIAR] .. "/", seed)
         end
      end
   end
end

-- A node that really takes little from one peer: both accounts agree, and its other partners and
-- the peer's are well.
function tests.test_a_node_that_slows_one_peer_down_accuses_nobody()
   local w = sim.new { seed = 9 }
   w.lie = function(t, send, recv)
      if t.dst == LIAR and t.src == 11 then
         says(recv, 0.3)
         says(send, 0.3)
      end
   end
   for _ = 1, 200 do
      w:random_job()
   end
   lu.assertEquals(decided(w), {})
end

-- Even where the two meet nobody else, three different far ends are wanted.
function tests.test_two_nodes_alone_cannot_settle_it()
   local w = sim.new { seed = 10, settings = require "taut.config".diagnosis { spell_s = 5,
      confirm_span_h = 0 } }
   w.left[w:c "n5/tx"] = 0.25
   for _ = 1, 100 do
      w:check { 6, 9 }
   end
   lu.assertEquals(decided(w), {})
end

---------------------------------------------------------------- nonsense

local function low(w, o)
   w.id = w.id + 1
   local t = { src = 1, dst = 3, id = w.id, event = w.id, time = w.now, streams = 1, phase = 1,
      class = "low", ratio = 0.3, bw_Bps = 0.3 * 24e6, expected_Bps = 24e6 }
   for k, v in pairs(o or {}) do
      t[k] = v
   end
   return t
end

local function observed(w, list)
   local tx = w.topo.tx[1]
   w.diagnosis:observe(list, w.now)
   return w.diagnosis.evidence:low(tx)
end

function tests.test_what_is_not_of_here_and_now_is_left_out()
   local w = sim.new {}
   local nodes = #w.topo.nodes
   for _, o in ipairs { { src = 0 }, { src = nodes + 1 }, { dst = 1.5 }, { dst = 1 }, { src = "1" },
      { time = w.now + 3600 }, { time = w.now - 20 * 86400 }, { bw_Bps = -1 },
      { bw_Bps = math.huge }, { bw_Bps = 0 / 0 }, { class = "odd" }, { rail = 2, src = 40 } } do
      local t = low(w, o)
      lu.assertEquals(observed(w, { t }), 0, require "taut.json".encode(o) or "?")
   end
   local refused = w.diagnosis.refused
   lu.assertEquals(refused["from the future"], 1)
   lu.assertEquals(refused["too old"], 1)
   lu.assertEquals(refused["of unknown nodes"], 6)
   lu.assertEquals(observed(w, { low(w) }), 1)
end

function tests.test_a_test_counts_once()
   local w = sim.new {}
   local t = low(w)
   for _ = 1, 5 do
      w.diagnosis:observe({ t }, w.now)
      t.event = t.event + 1
   end
   lu.assertEquals(w.diagnosis.evidence:low(w.topo.tx[1]), 1)
   lu.assertEquals(w.diagnosis.refused.twice, 4)
end

function tests.test_tests_that_contradict_each_other_speak_for_the_component()
   local w = sim.new {}
   local good = low(w, { class = "good", bw_Bps = 24e6, ratio = 1 })
   lu.assertEquals(observed(w, { low(w), good, low(w) }), 0)
   w.now = w.now + 1
   lu.assertEquals(observed(w, { low(w) }), 1)
end

function tests.test_another_epoch_voids_what_depended_on_it()
   local w = sim.new {}
   local route = w.topo:route(1, 5)
   local link = route[2]
   local t = low(w, { dst = 5, route = route })
   lu.assertEquals(observed(w, { t }), 1)
   lu.assertEquals(w.diagnosis.evidence:low(link), 1)
   local late = low(w, { dst = 5, route = route })
   w.topo:set_health { [link] = 0 }
   observed(w, { late })
   lu.assertEquals(w.diagnosis.refused["of another epoch"], 1)
   lu.assertEquals(w.diagnosis.evidence:low(link), 0)
   lu.assertEquals(w.diagnosis.evidence:low(w.topo.tx[1]), 1) -- its own way is as it was
   w.topo:set_health {}
end

function tests.test_whatever_is_handed_in_nothing_breaks()
   local w = sim.new { seed = 77 }
   local odd = { 0, -1, 1, 3, 33, 1e9, 0.5, "x", true, 2 ^ 53, math.huge, -math.huge, 0 / 0 }
   local names = { "src", "dst", "id", "event", "time", "streams", "phase", "class", "ratio",
      "bw_Bps", "expected_Bps", "through", "confirms", "rail" }
   for _ = 1, 3000 do
      local t = low(w)
      for _ = 1, math.random(3) do
         local name = names[math.random(#names)]
         t[name] = odd[math.random(#odd)]
         if name == "time" and type(t.time) ~= "number" or name == "event" then
            t[name] = 1
         end
      end
      local ok, err = pcall(w.diagnosis.observe, w.diagnosis, { t }, w.now)
      if not ok then
         lu.assertStrContains(err, "expected") -- says what it wants, and takes nothing
      end
      w.now = w.now + 1
   end
   for c = 1, #w.topo.components do
      lu.assertTrue(w.diagnosis.evidence:score(c) < 1e6)
   end
end

return tests
