-- SPDX-License-Identifier: GPL-2.0-or-later
local lu = require "luaunit"
local result = require "taut.wire.result"

local tests = {}

local function with(test)
   return { v = 1, refused = 0, tests = { test } }
end

function tests.test_what_is_wrong_is_refused_whole()
   local cases = {
      { nil, "expected v = 1" },
      { { v = 9, tests = {} }, "expected v = 1" },
      { { v = 1 }, "expected v = 1" },
      { with(7), "without an id" },
      { with { id = -1, role = "send" }, "without an id" },
      { with { id = 1, role = "both", bytes = 1, window_ns = 1 }, "role" },
      { with { id = 1, role = "send", bytes = 1.5, window_ns = 1 }, "bytes: expected" },
      { with { id = 1, role = "send", bytes = -1, window_ns = 1 }, "bytes: expected" },
      { with { id = 1, role = "send", window_ns = 1 }, "missing" },
      { with { id = 1, role = "recv", bytes = 1, window_ns = 1, sub_bytes = { "x" } },
         "sub_bytes" },
      { with { id = 1, role = "recv", error = 7 }, "error" },
      -- also of a test that failed: such a number became infinite, and went to the store
      { with { id = 1, role = "recv", error = "x", delay_ns = "1e999" }, "delay_ns: expected" },
      { with { id = 1, role = "send", error = "x", way = 5 }, "way: expected" },
      { with { id = 1, role = "recv", bytes = 1, window_ns = 1, looks = -1 }, "looks" },
      { with { id = 1, role = "send", bytes = 1, window_ns = 1, lat_ns = 5 }, "lat_ns" },
      { with { id = 1, role = "send", bytes = 1, window_ns = 1, lat_ns = { n = -1 } }, "lat_ns" },
      { with { id = 1, role = "send", bytes = 1, window_ns = 1, lat_ns = { n = 1, median = 2 } },
         "lat_ns: p99" },
      { with { id = 1, role = "send", bytes = 1, window_ns = 1, way = {} }, "way" },
      { with { id = 1, role = "send", bytes = 1, window_ns = 1, resent = -1 }, "resent: expected" },
      { with { id = 1, role = "send", bytes = 1, window_ns = 1, spurious = 0.5 },
         "spurious: expected" },
      { with { id = 1, role = "recv", bytes = 1, window_ns = 1, disordered = "1" },
         "disordered: expected" },
      { with { id = 1, role = "recv", bytes = 1, window_ns = 1, port_lost = {} },
         "port_lost: expected" },
      { with { id = 1, role = "send", bytes = 1, window_ns = 1, congestion = 7 }, "congestion" },
      { with { id = 1, role = "send", bytes = 1, window_ns = 1, congestion = "" }, "congestion" },
      { with { id = 1, role = "send", bytes = 1, window_ns = 1, congestion = ("b"):rep(16) },
         "congestion" },
      { with { id = 1, role = "send", bytes = 1, window_ns = 1, congestion = "cu\nbic" },
         "congestion" },
      { with { id = 1, role = "send", bytes = 1, window_ns = 1, way = { "n5" } }, "way" },
   }
   for i, c in ipairs(cases) do
      local by, err = result.read(c[1])
      lu.assertNil(by, i)
      lu.assertStrContains(err, c[2])
   end
   local many = {}
   for i = 1, 65 do
      many[i] = { id = i, role = "send", bytes = 1, window_ns = 1 }
   end
   lu.assertNil((result.read { v = 1, tests = many }))
end

function tests.test_tests_are_found_by_role_and_id()
   local by, refused = result.read { v = 1, refused = 3, tests = {
      { id = 4, role = "send", bytes = 1, window_ns = 2 },
      { id = 4, role = "recv", error = "bad\nline" } } }
   lu.assertEquals(by["send:4"].bytes, 1)
   lu.assertEquals(by["recv:4"].error, "bad line")
   lu.assertEquals(refused, 3)
end

function tests.test_latency_without_round_trips_has_no_times()
   local by = assert(result.read { v = 1, tests = {
      { id = 4, role = "send", bytes = 0, window_ns = 2, lat_ns = { n = 0 } } } })
   lu.assertEquals(by["send:4"].lat_ns.n, 0)
end

function tests.test_a_way_may_have_silent_routers()
   local by = assert(result.read { v = 1, tests = {
      { id = 4, role = "send", bytes = 0, window_ns = 2, way = { "10.65.0.1", "", "fd00::9" } } } })
   lu.assertEquals(#by["send:4"].way, 3)
end

function tests.test_the_account_of_losses_is_taken_as_it_is()
   local sent = { id = 4, role = "send", bytes = 0, window_ns = 2, mean_rtt_ns = 83000,
      segments = 900, resent = 9, resent_bytes = 13032, spurious = 1, reordered = 2, marked = 3,
      unacked = 4, min_rtt_ns = 59000, congestion = "cubic", port_lost = 1, port_discards = 2,
      port_packets = 3 }
   local came = { id = 4, role = "recv", bytes = 0, window_ns = 2, segments = 891, disordered = 30,
      pruned = 0 }
   local by = assert(result.read { v = 1, tests = { sent, came } })
   lu.assertEquals(by["send:4"], sent)
   lu.assertEquals(by["recv:4"], came)
end

return tests
