-- SPDX-License-Identifier: GPL-2.0-or-later
-- readings.lua: what nodes tell of their interfaces is taken or refused, and never an error.
local counters = require "taut.events.counters"
local hello = require "taut.wire.hello"
local json = require "taut.json"
local lu = require "luaunit"
local readings = require "taut.wire.readings"
local result = require "taut.wire.result"

local tests = {}

local function reading(more)
   local r = { ["if"] = "hsn0", source = "ib", symbol_error = 0, state = "ACTIVE", t = 1.5 }
   for k, v in pairs(more or {}) do
      r[k] = v ~= json.null and v or nil
   end
   return r
end

function tests.test_good_ones_pass()
   lu.assertTrue(readings.check {})
   lu.assertTrue(readings.check { reading(), reading { source = "gpcdr", ["traffic:X+"] = 1 } })
   lu.assertTrue(readings.check { reading { ["if"] = "ib0.8001:1", t = json.null } })
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

function tests.test_without_a_source_it_is_a_network_device()
   local list = { { ["if"] = "lo", rx_bytes = 1 } }
   lu.assertTrue(readings.check(list))
   lu.assertEquals(list[1].source, "netdev")
end

function tests.test_what_is_wrong_is_named()
   local cases = {
      { "many", "at most 80" }, { { 7 }, "objects" }, { { a = 1 }, "array" },
      { { reading { ["if"] = json.null } }, "if: expected" },
      { { reading { ["if"] = "" } }, "if: expected" },
      { { reading { ["if"] = ("x"):rep(16) } }, "if: expected" },
      { { reading { ["if"] = "../x" } }, "if: expected" },
      { { reading { source = "elsewhere" } }, "hsn0: source: expected" },
      { { reading { source = {} } }, "hsn0: source: expected" },
      { { reading { symbol_error = -1 } }, "symbol_error: expected a whole number" },
      { { reading { symbol_error = 1.5 } }, "symbol_error: expected a whole number" },
      { { reading { symbol_error = {} } }, "symbol_error: expected a whole number" },
      { { reading { symbol_error = true } }, "symbol_error: expected a whole number" },
      { { reading { state = ("x"):rep(24) } }, "state: expected a text" },
      { { reading { state = "a\27[31m" } }, "state: expected a text" },
      { { reading { t = -1 } }, "t: expected seconds" }, { { reading { t = "x" } }, "t: expected" },
      { { reading { t = 1e10 } }, "t: expected" }, { { reading { t = 0 / 0 } }, "t: expected" },
      { { reading { state = 4 } }, "state: expected a text" },
      { { reading { symbol_error = "0" } }, "symbol_error: expected a number" },
      { { reading { ["a b"] = 1 } }, "a name that is none" },
      { { reading { [("x"):rep(40)] = 1 } }, "a name that is none" },
   }
   for i, c in ipairs(cases) do
      local ok, why = readings.check(c[1])
      lu.assertNil(ok, i)
      lu.assertStrContains(why, c[2])
   end
   local wide, many = reading(), {}
   for i = 1, 200 do
      wide["c" .. i] = i
   end
   lu.assertStrContains(select(2, readings.check { wide }), "more than")
   for i = 1, 81 do
      many[i] = reading()
   end
   lu.assertStrContains(select(2, readings.check(many)), "at most 80")
end

function tests.test_hello_refuses_and_result_does_without()
   local h = { v = 2, purpose = "prolog", job = 5, node = "n1", nodes = "n1", endpoint = "",
      budget_ms = 900, key = ("a"):rep(64), counters = { reading { symbol_error = -1 } } }
   local ok, why = hello.check(h)
   lu.assertNil(ok)
   lu.assertEquals(why, "HELLO: counters: hsn0: symbol_error: expected a whole number")
   local by, refused, got = result.read { v = 2, tests = {}, counters = h.counters }
   lu.assertEquals({ by, refused, got }, { {}, 0 })
   by, refused, got = result.read { v = 2, tests = {}, counters = { reading() } }
   lu.assertEquals({ by, refused, got }, { {}, 0, { reading() } })
end

local ODD = { -1, 1.5, math.maxinteger, math.mininteger, 0 / 0, 1 / 0, "", ("x"):rep(300), "\0\n|",
   json.null, true, {}, { 1 }, { ["if"] = "x" }, "up", 24, "netdev", "gpcdr" }
local NAMES = { "if", "source", "t", "state", "lanes", "max_lanes", "sendlinkstatus:Y+",
   "link_restarts_1h", "symbol_error", "duplex", "\0", "", ("n"):rep(50), 1, -1 }

function tests.test_whatever_comes_is_taken_or_refused()
   math.randomseed(3)
   local taken, sources = 0, { "netdev", "ib", "cxi", "gpcdr", "pcie" }
   for _ = 1, 20000 do
      local list = {}
      for i = 1, math.random(0, 2) do
         list[i] = reading { source = sources[math.random(#sources)] }
         for _ = 1, math.random(0, 2) do
            list[i][NAMES[math.random(#NAMES)]] = ODD[math.random(#ODD)]
         end
      end
      local ok, why = readings.check(list)
      if ok then
         taken = taken + 1
         for _, c in ipairs(list) do
            for _, f in ipairs(counters.faults(c)) do
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
