-- SPDX-License-Identifier: GPL-2.0-or-later
-- counters/init.lua and counters/growth.lua: what a counter's growth is, and what it means.
local counters = require "taut.events.counters"
local growth = require "taut.events.counters.growth"
local lu = require "luaunit"

local tests = {}

local CLASSES = { fatal = true, degrading = true, congestion = true, traffic = true,
   harmless = true }
local FULL = { saturates = true, wraps = true }
local SIDES = { receive = true, send = true, both = true }

-- What taut-ib names, in its order.
local TOLD = { "symbol_error", "link_error_recovery", "link_downed", "port_rcv_errors",
   "port_rcv_remote_physical_errors", "port_rcv_switch_relay_errors", "port_xmit_discards",
   "port_xmit_constraint_errors", "port_rcv_constraint_errors", "local_link_integrity_errors",
   "excessive_buffer_overrun_errors", "VL15_dropped", "port_xmit_wait", "port_xmit_data",
   "port_rcv_data", "port_xmit_packets", "port_rcv_packets", "unicast_xmit_packets",
   "unicast_rcv_packets", "multicast_xmit_packets", "multicast_rcv_packets" }

function tests.test_the_catalogue_knows_every_counter_of_a_sweep()
   for _, name in ipairs(TOLD) do
      lu.assertNotNil(counters.entry("ib_port", name), name)
   end
end

-- A state has one way to be held against something.
local function check_state(source, e, what)
   local ways = 0
   for _, way in ipairs { "best", "whole", "good", "limits", "before" } do
      ways = ways + (e[way] and 1 or 0)
   end
   lu.assertEquals(ways, 1, what)
   lu.assertNil(e.full, what)
   lu.assertNil(e.width, what)
   lu.assertTrue(e.best == nil or source.list[e.best] ~= nil, what)
   lu.assertIsString(e.source, what)
end

function tests.test_every_entry_is_whole_and_every_limit_has_its_reason_and_source()
   for source, s in pairs(counters.sources) do
      for name, e in pairs(s.list) do
         local what = source .. " " .. name
         lu.assertTrue(CLASSES[e.class], what)
         lu.assertTrue(SIDES[e.side], what)
         if e.state then
            check_state(s, e, what)
         else
            lu.assertTrue(FULL[e.full], what)
            lu.assertTrue(math.type(e.width) == "integer" and e.width >= 1 and e.width <= 64, what)
         end
         lu.assertIsString(e.means, what)
         lu.assertIsString(e.unit, what)
         local before
         for _, limit in ipairs(e.limits or {}) do
            lu.assertTrue(CLASSES[limit.class], what)
            lu.assertIsNumber(limit.above, what)
            lu.assertIsString(limit.why, what)
            lu.assertIsString(limit.source, what)
            lu.assertFalse(before ~= nil and counters.worse(limit.class, before), what)
            before = limit.class
         end
         if not e.state and e.class == "harmless" or e.class == "congestion" and not e.limits then
            lu.assertIsString(e.misleads, what)
            lu.assertIsString(e.source, what)
         end
      end
   end
end

function tests.test_what_a_node_tells_is_found_by_source_and_name()
   local _, where = counters.of("ib", "symbol_error")
   lu.assertEquals(where, "ib_port")
   _, where = counters.of("ib", "local_ack_timeout_err")
   lu.assertEquals(where, "ib_hw")
   _, where = counters.of("ib", "sq_num_to")
   lu.assertEquals(where, "ib_mlx4")
   _, where = counters.of("ib", "DcTxReplay")
   lu.assertEquals(where, "ib_hfi1")
   _, where = counters.of("ib", "seq_err_naks_rcvd")
   lu.assertEquals(where, "ib_others")
   _, where = counters.of("ib", "Nak_Sequence_Error")
   lu.assertEquals(where, "ib_others")
   _, where = counters.of("gpcdr", "traffic:X+")
   lu.assertEquals(where, "gpcdr_gemini")
   _, where = counters.of("gpcdr", "traffic:047")
   lu.assertEquals(where, "gpcdr_aries")
   lu.assertNil(counters.of("netdev", "lanes"))
   lu.assertNil(counters.of("nobody", "rx_bytes"))
end

-- Past fault: what a sender learned of its peer's answers was laid to its receiving side.
function tests.test_on_which_side_others_drivers_count()
   for name, side in pairs { Nak_Sequence_Error = "send", Rcvd_Out_of_order_packets = "receive",
      RTO = "send", seq_err_naks_rcvd = "send", rnr_naks_rcvd = "send", missing_resp = "send",
      oos_drop_count = "receive", requester_oos_nak = "send", responder_oos = "receive",
      rcvd_seq_err = "send", out_of_seq_request = "receive", tx_roce_errors = "send" } do
      lu.assertEquals(counters.entry("ib_others", name).side, side, name)
   end
end

-- Past fault: irdma has counters with blanks in their names, which no node can tell; all else that
-- the catalogue has of nodes, it can.
function tests.test_each_name_can_be_told()
   for source, s in pairs(counters.sources) do
      for name in pairs(s.list) do
         lu.assertNotNil(name:find "^[%w_:+-]+$", source .. " " .. name)
      end
   end
end

-- What is wrong with a reading, as "name class have/best left".
local function faults(reading)
   local words = {}
   for _, f in ipairs(counters.faults(reading)) do
      words[#words + 1] = ("%s %s %s/%s %s"):format(f.what, f.class, f.have, f.best,
         f.left and ("%.3f"):format(f.left) or "-")
   end
   return table.concat(words, "; ")
end

function tests.test_a_state_is_held_against_what_it_should_be()
   lu.assertEquals(faults { source = "pcie", lanes = 8, max_lanes = 16, speed_MTps = 16000,
      max_speed_MTps = 16000 }, "lanes degrading 8/16 0.500")
   lu.assertEquals(faults { source = "pcie", lanes = 8 }, "")
   lu.assertEquals(faults { source = "gpcdr", ["sendlinkstatus:Y+"] = 11,
      ["recvlinkstatus:X-"] = 24, ["recvlinkstatus:Z+"] = 0 },
      "sendlinkstatus:Y+ degrading 11/12 0.917")
   lu.assertEquals(faults { source = "gpcdr", ["recvlinkstatus:037"] = 2 },
      "recvlinkstatus:037 degrading 2/3 0.667")
   lu.assertEquals(faults { source = "ib", state = "INIT", phys_state = "LinkUp", width = "1X" },
      "state fatal INIT/ACTIVE 0.000")
   lu.assertEquals(faults { source = "netdev", state = "unknown", duplex = "half",
      rx_errors = 1 << 40 }, "duplex degrading half/full 0.500")
   lu.assertEquals(faults { source = "cxi", state = "up", link_restarts_1h = 4,
      link_restarts_10h = 10 }, "link_restarts_10h degrading 10/more than 9 -")
   lu.assertEquals(faults { source = "elsewhere", lanes = 8, max_lanes = 16 }, "")
end

function tests.test_a_limit_is_a_rate()
   local symbol = counters.entry("ib_port", "symbol_error")
   local cases = {
      -- amount, seconds, class
      { 0, 3600, "harmless" }, { 120, 3600, "harmless" }, { 121, 3600, "fatal" },
      { 11, 300, "fatal" }, { 9, 10, "harmless" }, { 60000, 1, "fatal" },
      { 60000, nil, "harmless" },
   }
   for _, c in ipairs(cases) do
      lu.assertEquals(counters.judge(symbol, c[1], c[2]), c[3], c[1] .. " in " .. tostring(c[2]))
   end
   local down = counters.entry("ib_port", "link_downed")
   lu.assertEquals(counters.judge(down, 1, nil), "fatal")
   lu.assertEquals(counters.judge(counters.entry("ib_port", "port_xmit_wait"), 1e9, 1),
      "congestion")
   lu.assertEquals(counters.judge(counters.entry("ib_port", "port_rcv_switch_relay_errors"), 1000,
      1), "harmless")
end

function tests.test_words_of_a_limit()
   lu.assertEquals(counters.words { above = 0 }, "any")
   lu.assertEquals(counters.words { above = 5, per = 60 }, "more than 5 a minute")
   lu.assertEquals(counters.words { above = 5, per = 7 }, "more than 5 in 7 s")
end

---------------------------------------------------------------- growth

local SAT16 = { width = 16, full = "saturates", wide = { width = 64, full = "saturates" } }
local WRAP32 = { width = 32, full = "wraps" }

function tests.test_growth_resets_saturation_and_wraps()
   local cases = {
      { SAT16, 5, 5, { amount = 0 } },
      { SAT16, 5, 9, { amount = 4 } },
      { SAT16, 9, 2, { amount = 2, at_least = true, reset = true } },
      { SAT16, 9, 0, { amount = 0, at_least = true, reset = true } },
      { SAT16, 65000, 65535, { amount = 535, at_least = true, saturated = true } },
      { SAT16, 65535, 65535, { saturated = true } },
      { SAT16, 65535, 3, { amount = 3, at_least = true, reset = true } },
      { WRAP32, 4294967290, 5, { amount = 11 } },
      { WRAP32, 4294967295, 4294967295, { amount = 0 } },
      { WRAP32, 100, 5, { amount = 5, at_least = true, reset = true } },
      { WRAP32, 4294967290, 4000000000, { amount = 4000000000, at_least = true, reset = true } },
   }
   for i, c in ipairs(cases) do
      lu.assertEquals(growth.of(c[1], c[2], c[3], false), c[4], "case " .. i)
   end
   lu.assertEquals(growth.of(SAT16, 65535, 70000, true), { amount = 4465 })
end

function tests.test_a_port_is_compared_form_by_form()
   local function port(narrow, wide)
      return { narrow = narrow, wide = wide }
   end
   local g = growth.port("ib_port", port { symbol_error = 3 }, port { symbol_error = 4,
      link_downed = 1, no_such_counter = 9 })
   lu.assertEquals(g, { symbol_error = { amount = 1 }, link_downed = { amount = 1 } })
   -- the agent learned the wider form in between: nothing can be said of that counter
   g = growth.port("ib_port", port { symbol_error = 65535 }, port({}, { symbol_error = 9 }))
   lu.assertEquals(g, {})
   g = growth.port("ib_port", port({}, { symbol_error = 9 }), port({}, { symbol_error = 12 }))
   lu.assertEquals(g, { symbol_error = { amount = 3 } })
end

function tests.test_a_window_is_as_long_as_the_monotonic_clock_says()
   local function at(time, mono, boot)
      return { time = time, mono = mono, boot = boot or "b1" }
   end
   lu.assertNil(growth.window(nil, at(1000, 10)))
   lu.assertEquals(growth.window(at(1000, 10), at(1300, 310)),
      { from = 1000, to = 1300, seconds = 300 })
   -- set forward by an hour, set back by an hour
   lu.assertEquals(growth.window(at(1000, 10), at(4900, 310)),
      { from = 4600, to = 4900, seconds = 300, jump = 3600 })
   lu.assertEquals(growth.window(at(9000, 10), at(5700, 310)),
      { from = 5400, to = 5700, seconds = 300, jump = -3600 })
   -- after a reboot the wall clock dates, but no rate is built on it
   lu.assertEquals(growth.window(at(1000, 9000), at(1300, 20, "b2")),
      { from = 1000, to = 1300, booted = true })
   lu.assertEquals(growth.window(at(1000, 9000), at(900, 20, "b2")),
      { from = 900, to = 900, booted = true })
end

return tests
