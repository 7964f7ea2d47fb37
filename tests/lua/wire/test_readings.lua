-- SPDX-License-Identifier: GPL-2.0-or-later
-- readings.lua: what nodes tell of their interfaces is taken or refused, and never an error.
local counters = require "taut.events.counters"
local hello = require "taut.wire.hello"
local lu = require "luaunit"
local readings = require "taut.wire.readings"
local result = require "taut.wire.result"
local told = require "taut.readings"

local tests = {}

---------------------------------------------------------------- the text

local GOOD = "netdev hsn0 rx_bytes=1 state='up' speed_Mbps=200000 odd=7\n" ..
   "ib hsn0:1 port_xmit_data=9223372036854775807 state='ACTIVE' t=1700000000.125\n" ..
   "gpcdr hsn0 traffic:X+=1"

function tests.test_a_text_becomes_ports()
   lu.assertTrue(told.check(GOOD, counters.kinds))
   local ports = told.ports(GOOD, counters.kinds)
   lu.assertEquals(ports, {
      ["netdev hsn0"] = { source = "netdev", name = "hsn0",
         values = { rx_bytes = 1, odd = 7 }, state = { state = "up", speed_Mbps = 200000 } },
      ["ib hsn0:1"] = { source = "ib", name = "hsn0:1",
         values = { port_xmit_data = math.maxinteger },
         state = { state = "ACTIVE", t = 1700000000.125 } },
      ["gpcdr hsn0"] = { source = "gpcdr", name = "hsn0", values = { ["traffic:X+"] = 1 },
         state = {} },
   })
   lu.assertEquals(told.ports("", counters.kinds), {})
   lu.assertEquals(told.ports("netdev lo", counters.kinds)["netdev lo"].values, {})
end

local TOP = (1 << 32) - 1

function tests.test_two_texts_of_which_only_traffic_grew()
   local was = "netdev hsn0 rx_bytes=10 tx_bytes=5 rx_errors=3 rx_nohandler=1 odd=7 state='up'\n" ..
      "ib hsn0 port_xmit_data=1 t=1.5\npcie hsn0 lanes=16"
   local now = "netdev hsn0 rx_bytes=30 tx_bytes=5 rx_errors=3 rx_nohandler=2 odd=9 state='up'\n" ..
      "ib hsn0 port_xmit_data=4 t=7\npcie hsn0 lanes=16"
   lu.assertTrue(told.only_traffic(was, now, counters.kinds))
   lu.assertTrue(told.only_traffic("", "", counters.kinds))
   lu.assertEquals(told.only_traffic("", "", counters.kinds, true), {})
   lu.assertEquals(told.only_traffic(was, now, counters.kinds, true), {
      { source = "netdev", interface = "hsn0",
         counters = '{"rx_bytes":20,"tx_bytes":0,"rx_nohandler":1,"odd":2}' },
      { source = "ib", interface = "hsn0", counters = '{"port_xmit_data":3}' },
   })
end

function tests.test_anything_else_is_more_than_traffic()
   local cases = {
      { "netdev a rx_errors=1", "netdev a rx_errors=2" },
      { "netdev a rx_bytes=2", "netdev a rx_bytes=1" },
      { "netdev a rx_nohandler=2", "netdev a rx_nohandler=1" },
      { "netdev a odd=2", "netdev a odd=1" }, { "netdev a odd=2", "netdev a odd='x'" },
      { "netdev a state='up'", "netdev a state='down'" },
      { "netdev a speed_Mbps=2", "netdev a speed_Mbps=3" },
      { "netdev a rx_bytes=1", "netdev a tx_bytes=1" }, { "netdev a rx_bytes=1", "netdev a" },
      { "netdev a", "netdev a rx_bytes=1" }, { "netdev a", "netdev b" }, { "netdev a", "ib a" },
      { "netdev a", "" }, { "", "netdev a" }, { "netdev a", "netdev a\nnetdev b" },
      { "netdev a\nnetdev b", "netdev b\nnetdev a" }, { "damaged", "damaged" },
      { "netdev a x=", "netdev a x=" }, { "elsewhere a", "elsewhere a" },
      { "netdev a rx_bytes='1'", "netdev a rx_bytes='1'" },
   }
   for _, case in ipairs(cases) do
      for _, rows in ipairs { false, true } do
         lu.assertEquals(told.only_traffic(case[1], case[2], counters.kinds, rows), false, case[1])
      end
   end
   lu.assertTrue(told.only_traffic("ib a port_xmit_wait=1", "ib a port_xmit_wait=9",
      counters.kinds))
end

-- What stands at its top may have grown; that it did not is not said then.
function tests.test_traffic_at_its_top()
   local function rows(name, was, now)
      return told.only_traffic(name .. was, name .. now, counters.kinds, true)
   end
   for name, at_top in pairs { ["ib a port_xmit_data="] = true, ["netdev a rx_bytes="] = false } do
      lu.assertEquals(rows(name, TOP - 1, TOP)[1].counters:match "%d+", "1")
      lu.assertEquals(rows(name, TOP - 1, TOP - 1)[1].counters:match "%d+", "0")
      lu.assertEquals(#rows(name, TOP, TOP), at_top and 0 or 1)
      lu.assertEquals(#rows(name, TOP + 5, TOP + 5), at_top and 0 or 1)
   end
end

-- Of two values of one name the last counts, which is left to Lua.
function tests.test_what_is_told_twice()
   local name, line = "netdev a odd=1 odd=1", "netdev a odd=1\nnetdev a odd=1"
   for _, text in ipairs { name, line } do
      lu.assertTrue(told.only_traffic(text, text, counters.kinds))
      lu.assertEquals(told.only_traffic(text, text, counters.kinds, true), false)
   end
   lu.assertEquals(#told.only_traffic("netdev a odd=1\nnetdev b odd=1",
      "netdev a odd=2\nnetdev b odd=3", counters.kinds, true), 2)
end

function tests.test_what_is_no_such_text_is_refused()
   local cases = {
      { "\n", "line 1: expected a source" }, { "netdev", "line 1: expected a source" },
      { " netdev hsn0", "expected a source" }, { "netdev  x=1", "expected an interface" },
      { "netdev hsn0\n\nib hsn0", "line 2: expected a source" },
      { "netdev a/b", "a: invalid counter name" },
      { "netdev " .. ("x"):rep(16), "expected an interface" },
      { "elsewhere hsn0 a=1", "hsn0: no source 'elsewhere'" },
      { "netdev hsn0 ", "hsn0: invalid counter name" },
      { "netdev hsn0  a=1", "hsn0: invalid counter name" },
      { "netdev hsn0 a", "hsn0: invalid counter name" },
      { "netdev hsn0 =1", "hsn0: invalid counter name" },
      { "netdev hsn0 " .. ("n"):rep(40) .. "=1", "hsn0: invalid counter name" },
      { "netdev hsn0 a=", "hsn0: a: expected a whole number" },
      { "netdev hsn0 a=-1", "a: expected a whole number" },
      { "netdev hsn0 a=1.5", "hsn0: invalid counter name" },
      { "netdev hsn0 a=0x1", "hsn0: invalid counter name" },
      { "netdev hsn0 a=9223372036854775808", "a: expected a whole number" },
      { "netdev hsn0 a=" .. ("0"):rep(20), "a: expected a whole number" },
      { "netdev hsn0" .. (" a='x'"):rep(7), "no more texts" },
      { "netdev hsn0 a=''", "a: expected a text of 1 to 23 bytes" },
      { "netdev hsn0 a='x", "a: expected a text" },
      { "netdev hsn0 a='x'b=1", "hsn0: invalid counter name" },
      { "netdev hsn0 a='" .. ("x"):rep(24) .. "'", "a: expected a text" },
      { "netdev hsn0 a='\27'", "a: expected a text" }, { "netdev hsn0 a='\xc3'", "a: expected" },
      { "netdev hsn0 t=", "t: expected seconds" }, { "netdev hsn0 t=1.", "t: expected seconds" },
      { "netdev hsn0 t='x'", "t: expected seconds" },
      { "netdev hsn0 t=1.0000000001", "t: expected seconds" },
      { "netdev hsn0 t=10000000000", "t: expected seconds" },
      { ("netdev h\n"):rep(321):sub(1, -2), "at most 320 readings" },
      { "netdev hsn0" .. (" a=1"):rep(200), "hsn0: more than 199 fields" },
      { (("netdev h" .. (" a=1"):rep(192) .. "\n"):rep(43)):sub(1, -2), "there are 8192" },
   }
   for i, c in ipairs(cases) do
      for _, read in ipairs { told.check, told.ports } do
         local ok, why = read(c[1], counters.kinds)
         lu.assertNil(ok, i)
         lu.assertStrContains(why, c[2])
      end
      lu.assertNil((readings.of { readings = c[1] }))
   end
   lu.assertTrue(told.check(("netdev h" .. (" a=1"):rep(192) .. "\n"):rep(10), counters.kinds))
   -- of a kind that the catalogue does not have: refused, and passed over in what was stored
   for text, why in pairs { ["state=4"] = "state: expected a text",
      ["rx_bytes='4'"] = "rx_bytes: expected a number",
      ["speed_Mbps='4'"] = "speed_Mbps: expected a number" } do
      text = "netdev hsn0 tx_bytes=1 " .. text
      lu.assertStrContains(select(2, told.check(text, counters.kinds)), why)
      lu.assertEquals(told.ports(text, counters.kinds)["netdev hsn0"], { source = "netdev",
         name = "hsn0", values = { tx_bytes = 1 }, state = {} })
   end
end

function tests.test_odd_fields_are_found()
   local wire = require "taut.wire"
   local names = { a = true, b = true, c = true, d = true, e = true }
   lu.assertEquals({ wire.odd({ a = 0, b = math.maxinteger }, names) }, { nil, 2 })
   lu.assertEquals({ wire.odd({}, names) }, { nil, 0 })
   local list, fields = wire.odd({ a = -1, b = 1.0, c = "1", d = 7, e = false, f = 1, 5 }, names)
   table.sort(list, function(x, y) return tostring(x) < tostring(y) end)
   lu.assertEquals(list, { 1, "a", "b", "c", "e", "f" })
   lu.assertEquals(fields, 7)
   lu.assertErrorMsgContains("table expected", wire.odd, {}, nil)
   lu.assertErrorMsgContains("table expected", wire.odd, 7, {})
end

---------------------------------------------------------------- in messages

function tests.test_hello_refuses_and_result_does_without()
   local function hello_of(more)
      local h = { v = 1, purpose = "prolog", job = 5, node = "n1", nodes = "n1", endpoint = "",
         budget_ms = 900, key = ("a"):rep(64) }
      for k, v in pairs(more) do
         h[k] = v
      end
      return h
   end
   local bad = "ib hsn0 symbol_error=-1"
   lu.assertEquals({ hello.check(hello_of { readings = bad }) },
      { nil, "HELLO: readings: hsn0: symbol_error: expected a whole number" })
   lu.assertEquals({ hello.check(hello_of { readings = 7 }) },
      { nil, "HELLO: readings: expected a text" })
   for _, odd in ipairs { bad, 7 } do
      lu.assertEquals({ result.read { v = 1, tests = {}, readings = odd } }, { {}, 0 })
   end
   lu.assertEquals({ result.read { v = 1, tests = {}, readings = GOOD } }, { {}, 0, GOOD })
   lu.assertEquals({ readings.of {} }, {})
end

local WORDS = { "netdev", "ib", "cxi", "gpcdr", "pcie", "elsewhere", "hsn0", "lo", "../x", "a=1",
   "symbol_error=0", "symbol_error=-1", "t=1.5", "t=x", "state='up'", "state=''", "state='\27'",
   "lanes=8", "max_lanes=16", "sendlinkstatus:Y+=1", "=", "'", "\0", ("n"):rep(50) .. "=1" }

function tests.test_whatever_comes_is_taken_or_refused()
   math.randomseed(3)
   local taken = 0
   for _ = 1, 20000 do
      local words = {}
      for i = 1, math.random(0, 8) do
         words[i] = WORDS[math.random(i % 4 == 1 and 5 or i % 4 == 2 and 8 or #WORDS)] ..
            (i % 4 == 0 and "\n" or " ")
      end
      local text, why = readings.of { readings = table.concat(words):sub(1, -2) }
      if text then
         taken = taken + 1
         for _, p in pairs(told.ports(text, counters.kinds)) do
            p.state.source = p.source
            for _, f in ipairs(counters.faults(p.state)) do
               lu.assertIsString(f.what)
               lu.assertTrue(f.left == nil or f.left >= 0 and f.left < 1)
            end
         end
      else
         lu.assertIsString(why)
      end
   end
   lu.assertTrue(taken > 1000, taken)
end

return tests
