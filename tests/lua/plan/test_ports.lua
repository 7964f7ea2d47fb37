-- SPDX-License-Identifier: GPL-2.0-or-later
-- Which way a hashed flow took: what a trace tells, and ports that take a link on purpose.
local config = require "taut.config"
local diagnose = require "taut.diagnose"
local lu = require "luaunit"
local ports = require "taut.plan.ports"
local topology = require "taut.topology"
local ways = require "taut.topology.ways"

local tests = {}
local PER, SPINES = 4, 6

local topo = assert(topology.build { kind = "fattree", nodes_per_leaf = PER,
   levels = { { down = 8, up = SPINES } }, nodes = "n[0-31]", capacity = 1e9, routing = "ecmp" })

-- The links of a way over one spine.
local function over(src, dst, spine)
   local way = { topo.tx[src], false, false, topo.rx[dst] }
   local name = "spine" .. spine
   for i, stage in ipairs(topo:route(src, dst)) do
      for _, c in ipairs(type(stage) == "table" and stage or {}) do
         local at = i == 2 and topo:to(c) or topo:from(c)
         way[i] = topo.router_name[at] == name and c or way[i]
      end
   end
   return way
end

-- A fabric that hashes: the spine follows from the flow.
local function fabric(silent)
   local f = { asked = 0 }
   function f.spine(src, dst, port)
      return (src * 31 + dst * 17 + port * 7) % SPINES
   end
   function f.ask(src, dst, port)
      f.asked = f.asked + 1
      local way = over(src, dst, f.spine(src, dst, port))
      for i = 2, 3 do
         way[i] = not (silent or {})[i] and way[i]
      end
      return way
   end
   return f
end

function tests.test_the_wiring_tells_what_a_silent_switch_does_not()
   local route, full = topo:route(1, 9), over(1, 9, 3)
   for _, hidden in ipairs { 2, 3 } do
      local shown = table.move(full, 1, 4, 1, {})
      shown[hidden] = false
      local way, is_whole = ways.known(topo, ways.of(topo, route), shown)
      lu.assertEquals(way, full)
      lu.assertTrue(is_whole)
   end
end

function tests.test_what_nobody_answered_stays_unknown()
   local way, is_whole = ways.known(topo, ways.of(topo, topo:route(1, 9)),
      { topo.tx[1], false, false, topo.rx[9] })
   lu.assertEquals(way, { topo.tx[1], false, false, topo.rx[9] })
   lu.assertFalse(is_whole)
   way, is_whole = ways.known(topo, ways.of(topo, topo:route(1, 9)), nil)
   lu.assertEquals(way[2], false)
   lu.assertFalse(is_whole)
end

-- A trace that shows what is not on the route is no trace of it.
function tests.test_an_answer_from_elsewhere_means_nothing()
   local shown = over(1, 13, 3)
   local way = ways.known(topo, ways.of(topo, topo:route(1, 9)),
      { shown[1], shown[3], shown[3], topo.rx[9] })
   lu.assertEquals(way, { topo.tx[1], false, false, topo.rx[9] })
end

function tests.test_ports_are_tried_until_one_takes_the_link()
   local f, p = fabric(), ports.new(topo)
   for spine = 0, SPINES - 1 do
      local c = over(1, 9, spine)[2]
      local one = { src = 1, dst = 9, phase = 1, confirms = c }
      local many = { src = 1, dst = 9, phase = 2, confirms = c, streams = 16 }
      p:assign({ one, many }, f.ask, SPINES)
      lu.assertEquals(f.spine(1, 9, one.src_port), spine)
      lu.assertEquals(one.src_port, many.src_port) -- one stream and several take the same way
      lu.assertEquals(one.way, over(1, 9, spine))
      lu.assertTrue(one.is_traced)
      lu.assertEquals(one.confirms, c)
   end
end

function tests.test_a_source_asks_no_more_than_it_may()
   local f, p = fabric(), ports.new(topo)
   function f.spine() return 0 end -- none ever takes another
   local list = {}
   for phase = 1, 3 do
      list[phase] = { src = 1, dst = 8 + phase, phase = phase, confirms = over(1, 9, 4)[2] }
   end
   list[4] = { src = 1, dst = 2, phase = 4 } -- nothing to ask about
   p:assign(list, f.ask, 8)
   lu.assertEquals(f.asked, 8)
   lu.assertNil(list[4].src_port)
   for i = 1, 3 do
      lu.assertNil(list[i].confirms) -- it is a test of another link now
      lu.assertEquals(list[i].way[2], over(1, 9, 0)[2])
   end
end

function tests.test_what_a_test_took_is_cleared_and_nothing_else()
   local d = diagnose.new(topo, assert(config.diagnosis {}))
   local way = over(1, 9, 3)
   local function event(n, ratio, known)
      d:observe({ { src = 1, dst = 9, id = n, event = n, time = n * 100, phase = 1, streams = 1,
         route = topo:route(1, 9), way = known, is_traced = known and true, ratio = ratio,
         class = ratio < 0.75 and "low" or "good", bw_Bps = ratio * 1e9, expected_Bps = 1e9 } },
         n * 100)
   end
   event(1, 1, way)
   for spine = 0, SPINES - 1 do
      local up, down = over(1, 9, spine)[2], over(1, 9, spine)[3]
      lu.assertEquals(d.evidence:cleared(up) == 100, spine == 3)
      lu.assertEquals(d.evidence:cleared(down) == 100, spine == 3)
   end
   event(2, 0.4, way)
   event(3, 0.4, nil)
   lu.assertEquals(d.evidence:low(way[2]), 1)
   lu.assertEquals(d.evidence:low(over(1, 9, 2)[2]), 0)
   lu.assertEquals(d.evidence:low(topo.tx[1]), 2)
   -- a way that is not the route's is not believed
   event(4, 0.4, { topo.tx[1], over(5, 9, 3)[2], way[3], topo.rx[9] })
   lu.assertEquals(d.evidence:low(over(5, 9, 3)[2]), 0)
   lu.assertEquals(d.evidence:low(way[3]), 2)
end

return tests
