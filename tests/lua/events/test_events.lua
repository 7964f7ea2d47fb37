-- SPDX-License-Identifier: GPL-2.0-or-later
-- events/: what two readings of a node say, what that leaves of components, and what is told of it.
local config = require "taut.config"
local diagnose = require "taut.diagnose"
local events = require "taut.events"
local hard = require "taut.events.hard"
local jobs = require "taut.events.jobs"
local background = require "taut.events.background"
local json = require "taut.json"
local judge = require "taut.diagnose.judge"
local lu = require "luaunit"
local names = require "taut.events.names"
local readings = require "taut.events.readings"
local samples = require "taut.events.samples"
local sim = require "lib.sim"
local stalls = require "taut.events.stalls"
local summary = require "taut.events.summary"
local throttled_groups = require "taut.diagnose.throttled_groups"
local told = require "lib.told"
local topology = require "taut.topology"
local wire = require "taut.wire"

local tests = {}

local HOUR = 3600

-- A reading of node n5, `at` seconds after the first.
local function reading(at, counters, more)
   local text = told.text(counters)
   local r = { node = "n5", time = 1e9 + at, mono = 100 + at, host_boot = "h", boot = "b",
      purpose = "prolog", job = 7, jobs = {}, told = text, rails = { hsn0 = 1 }, rail_count = 1 }
   for k, v in pairs(more or {}) do
      r[k] = v
   end
   return r
end

local function ib(values)
   values["if"], values.source = values["if"] or "hsn0", "ib"
   return values
end

-- All readings one after the other, as the store takes them: what the last one says, by `what`.
local function play(list)
   local state, out
   for _, r in ipairs(list) do
      state, out = readings.take(state and readings.unpack(json.decode(json.encode(
         readings.pack(state)))), json.decode(json.encode(r)))
   end
   local by = {}
   for _, o in ipairs(out) do
      lu.assertTrue(not by[o.what] or o.what == "gone", o.what)
      by[o.what] = o
   end
   return by, state
end

---------------------------------------------------------------- deltas

function tests.test_growth_of_a_job_and_of_the_idle_time_are_told_apart()
   local first, before = reading(0, { ib { symbol_error = 5 } }), { jobs = { 7 } }
   before.purpose = "epilog"
   local epilog = reading(HOUR, { ib { symbol_error = 500 } }, before)
   local by = play { first, epilog }
   lu.assertEquals({ by.symbol_error.amount, by.symbol_error.class, by.symbol_error.during,
      by.symbol_error.jobs, by.symbol_error.seconds }, { 495, "fatal", "job", { 7 }, HOUR })
   lu.assertEquals(by.symbol_error.components, { "n5/rx" })
   by = play { first, epilog, reading(2 * HOUR, { ib { symbol_error = 1000 } },
      { job = 8 }) }
   lu.assertEquals({ by.symbol_error.amount, by.symbol_error.during, by.symbol_error.jobs },
      { 500, "idle", {} })
end

function tests.test_growth_within_the_check_itself_is_no_jobs()
   local by = play { reading(0, { ib { link_downed = 1 } }),
      reading(1, { ib { link_downed = 2 } }, { checked = true }) }
   lu.assertEquals({ by.link_downed.during, by.link_downed.class }, { "check", "fatal" })
end

function tests.test_a_job_whose_epilog_was_lost_is_still_named()
   local by = play { reading(0, { ib { link_downed = 0 } }),
      reading(60, { ib { link_downed = 1 } }, { job = 8 }) }
   lu.assertEquals({ by.link_downed.during, by.link_downed.jobs }, { "job", { 7 } })
end

-- What is allowed per hour or day is not lost because jobs are short.
function tests.test_short_jobs_add_up_to_a_limit_per_hour()
   local list = {}
   for i = 0, 3 do
      list[#list + 1] = reading(60 * i, { ib { symbol_error = 4 * i } })
   end
   local by = play { list[1], list[2] }
   lu.assertNil(by.symbol_error) -- 4 are too few to say anything
   by = play { list[1], list[2], list[3] }
   lu.assertNil(by.symbol_error)
   by = play(list)
   lu.assertEquals({ by.symbol_error.amount, by.symbol_error.seconds }, { 12, 180 })
end

function tests.test_what_is_below_the_rate_never_adds_up()
   local list = {}
   for i = 0, 40 do
      list[#list + 1] = reading(HOUR * i, { ib { symbol_error = 100 * i } })
   end
   lu.assertEquals(play(list), {})
end

function tests.test_wraps_count_and_full_counters_do_not()
   local by = play { reading(0, { { ["if"] = "hsn0", carrier_changes = 0xfffffff8 } }),
      reading(HOUR, { { ["if"] = "hsn0", carrier_changes = 8 } }) }
   lu.assertEquals(by.carrier_changes.amount, 16)
   by = play { reading(0, { ib { symbol_error = 65535 } }),
      reading(HOUR, { ib { symbol_error = 65535 } }) }
   lu.assertEquals(by, {})
end

function tests.test_a_driver_that_was_loaded_again_and_a_reset_are_no_errors()
   local before = { tx_bytes = 1000, rx_bytes = 900, rx_errors = 5, rx_crc_errors = 70000 }
   before["if"] = "hsn0"
   local by = play { reading(0, { before }), reading(HOUR, { { ["if"] = "hsn0", tx_bytes = 10,
      rx_bytes = 9, rx_errors = 3, rx_crc_errors = 60000 } }) }
   lu.assertEquals({ by.reload.class, by.rx_errors, by.rx_crc_errors }, { "harmless" })
   -- somebody reset the error counters alone
   by = play { reading(0, { ib { port_xmit_data = 500, symbol_error = 60000, link_downed = 2 } }),
      reading(HOUR, { ib { port_xmit_data = 600, symbol_error = 1000, link_downed = 3 } }) }
   lu.assertEquals({ by.reset.class, by.symbol_error, by.link_downed.amount },
      { "harmless", nil, 1 })
end

function tests.test_a_reboot_of_the_node_is_told_and_nothing_else()
   local by = play { reading(0, { ib { symbol_error = 5 } }),
      reading(HOUR, { ib { symbol_error = 60000 } }, { boot = "c" }) }
   lu.assertEquals(by.boot.class, "harmless")
   lu.assertNil(by.symbol_error)
end

-- A wall clock set by a day made rates that were none.
function tests.test_a_clock_that_jumps_changes_dates_and_no_rates()
   local by = play { reading(0, { ib { symbol_error = 0 } }),
      reading(60, { ib { symbol_error = 50 } }, { time = 1e9 + 60 + 86400 }) }
   lu.assertEquals({ by.symbol_error.seconds, by.symbol_error.jump, by.symbol_error.to
      - by.symbol_error.from }, { 60, 86400, 60 })
   by = play { reading(0, { ib { symbol_error = 0 } }),
      reading(60, { ib { symbol_error = 50 } }, { time = 1e9 - 86400 }) }
   lu.assertEquals({ by.symbol_error.seconds, by.symbol_error.to - by.symbol_error.from },
      { 60, 60 })
end

function tests.test_after_a_reboot_of_tautds_host_there_are_no_rates()
   local by = play { reading(0, { ib { symbol_error = 0, link_downed = 0 } }),
      reading(60, { ib { symbol_error = 500, link_downed = 1 } }, { host_boot = "i", mono = 3 }) }
   lu.assertNil(by.symbol_error)
   lu.assertEquals(by.link_downed.class, "fatal")
end

function tests.test_counters_missing_on_one_side_are_passed_over()
   local by, state = play { reading(0, { ib { link_downed = 1, symbol_error = 0 } }),
      reading(60, { ib { symbol_error = 0, local_link_integrity_errors = 9 } }) }
   lu.assertEquals(by, {})
   lu.assertEquals(state.ports["ib hsn0"].values.local_link_integrity_errors, 9)
end

function tests.test_a_port_that_vanishes_is_said_once_and_so_is_its_return()
   local both = { ib { link_downed = 1 }, ib { ["if"] = "hsn1", link_downed = 4 } }
   local one = { ib { link_downed = 1 } }
   local list = { reading(0, both), reading(60, one) }
   local by = play(list)
   lu.assertEquals({ by.gone.class, by.gone.port }, { "degrading", "n5/hsn1" })
   list[3] = reading(120, one)
   lu.assertEquals(play(list), {})
   -- and what grew meanwhile is not lost
   list[4] = reading(180, { both[1], ib { ["if"] = "hsn1", link_downed = 5 } })
   by = play(list)
   lu.assertEquals({ by.gone.class, by.link_downed.amount }, { "harmless", 1 })
end

-- A source that took too long takes its ports with it: that is not loss of them.
function tests.test_a_source_that_gave_up_is_no_lost_port()
   local net = { ["if"] = "hsn0", tx_bytes = 1 }
   local list = { reading(0, { net, ib { link_downed = 1 } }), reading(60, { net }) }
   local by = play(list)
   lu.assertEquals({ by.unread.class, by.gone }, { "harmless" })
   list[3] = reading(120, { net, ib { link_downed = 2 } })
   by = play(list)
   lu.assertEquals({ by.link_downed.amount, by.gone, by.unread }, { 1 })
   list[4] = reading(180, { net })
   lu.assertEquals(play(list), {}) -- it was said
   by = play { reading(0, { net, ib { link_downed = 1 } }), reading(60, {}) }
   lu.assertEquals(by, {})
end

function tests.test_a_stored_reading_that_is_damaged_is_none()
   for _, damaged in ipairs { 7, "x", {}, { ports = 3, told = "" }, { ports = {}, told = 7 } } do
      lu.assertNil(readings.unpack(damaged))
   end
   lu.assertEquals(readings.unpack { ports = {}, told = "damaged" }.ports, {})
end

function tests.test_ports_that_come_and_go_do_not_pile_up()
   local state
   for i = 1, 1000 do
      state = readings.take(state, reading(i, { { ["if"] = "p" .. i, tx_bytes = i } }))
   end
   local n = 0
   for _ in pairs(state.ports) do
      n = n + 1
   end
   lu.assertTrue(n <= wire.READINGS_MAX, tostring(n))
end

function tests.test_the_rail_of_a_port_names_its_components()
   local two = { rail_count = 2, rails = { hsn0 = 1, hsn1 = 2 } }
   local by = play { reading(0, { ib { ["if"] = "hsn1", link_downed = 0 } }, two),
      reading(60, { ib { ["if"] = "hsn1", link_downed = 1 } }, two) }
   lu.assertEquals(by.link_downed.components, { "n5:2/tx", "n5:2/rx" })
   by = play { reading(0, { { ["if"] = "eth9", state = "up" } }),
      reading(60, { { ["if"] = "eth9", state = "down" } }) }
   lu.assertEquals(by.state.components, {}) -- not the interface under test
end

---------------------------------------------------------------- hard evidence

local function pcie(lanes, speed)
   return { ["if"] = "hsn0", source = "pcie", lanes = lanes, max_lanes = 16, speed_MTps = speed,
      max_speed_MTps = 16000 }
end

function tests.test_a_narrow_pcie_link_stands_until_it_is_mended()
   local by = play { reading(0, { pcie(8, 16000) }) }
   lu.assertEquals({ by.lanes.left, by.lanes.have, by.lanes.best }, { 0.5, 8, 16 })
   lu.assertAlmostEquals(by.lanes.have_Bps, 15.75e9, 0.01e9)
   by = play { reading(0, { pcie(8, 16000) }), reading(60, { pcie(8, 16000) }) }
   lu.assertEquals(by, {})
   by = play { reading(0, { pcie(8, 16000) }), reading(60, { pcie(16, 16000) }) }
   lu.assertEquals({ by.lanes.left, by.lanes.class }, { 1, "harmless" })
   -- what could not be read is not mended
   by = play { reading(0, { pcie(8, 16000) }), reading(60, {}), reading(120, { pcie(8, 16000) }) }
   lu.assertEquals(by.lanes, nil)
end

function tests.test_a_speed_is_held_against_the_best_that_was_seen()
   local function net(speed)
      return { { ["if"] = "hsn0", tx_bytes = 1, speed_Mbps = speed } }
   end
   local by = play { reading(0, net(25000)) }
   lu.assertEquals(by, {})
   by = play { reading(0, net(100000)), reading(60, net(25000)) }
   lu.assertEquals({ by.speed_Mbps.left, by.speed_Mbps.class, by.speed_Mbps.components },
      { 0.25, "degrading", { "n5/tx", "n5/rx" } })
   by = play { reading(0, net(100000)), reading(60, net(25000)), reading(90, net(100000)) }
   lu.assertEquals(by.speed_Mbps.class, "harmless")
end

function tests.test_a_link_that_was_never_there_is_no_loss()
   local function status(n)
      return { { ["if"] = "gni", source = "gpcdr", ["recvlinkstatus:X+"] = n } }
   end
   lu.assertEquals(play { reading(0, status(0)), reading(60, status(0)) }, {})
   local by = play { reading(0, status(24)), reading(60, status(0)) }
   lu.assertEquals(by["recvlinkstatus:X+"].left, 0)
   by = play { reading(0, status(24)), reading(60, status(0)), reading(90, status(0)) }
   lu.assertEquals(by, {})
   by = play { reading(0, status(24)), reading(60, status(23)) }
   lu.assertEquals({ by["recvlinkstatus:X+"].left, by["recvlinkstatus:X+"].direction },
      { 23 / 24, "X+" })
   lu.assertEquals(hard.changed({}, {}, error), nil)
end

---------------------------------------------------------------- tautd's side

local function machine(conf)
   return assert(topology.build(conf or { kind = "torus", dims = { 4, 2, 2 }, nodes_per_router = 2,
      nodes = "n[0-31]", capacity = 24e6 }))
end

-- As much of a daemon as events need.
local function daemon(topo)
   local d = { topo = topo, rows = {}, cluster = { on_node = {}, jobs = {} } }
   d.journal = { add = function(_, name, row) table.insert(d.rows, { name, row }) end }
   d.diagnosis = diagnose.new(topo, config.diagnosis {})
   d.events = events.new { topology = topo, cluster = d.cluster, diagnosis = d.diagnosis,
      journal = d.journal, hear = function() end }
   return d
end

local NOW = os.time()

local function observation(o)
   for k, v in pairs { source = "fabric", to = NOW, class = "degrading", what = "width",
      text = "t" } do
      o[k] = o[k] or v
   end
   return o
end

-- Two cables of four planes each are one link: a sweep that sees one port of these down tells of an
-- eighth of it.
function tests.test_a_sweep_s_word_is_of_one_plane_of_one_cable()
   local w = { routers = { { name = "a", coord = { 0 } }, { name = "b", coord = { 1 } } },
      cables = {}, nodes = {
      { name = "n1", rails = { { router = 1, port = "9", Bps = 1e9, planes = 2,
         left = 0.5 } } }, { name = "n2", rails = { { router = 2, port = "9", Bps = 1e9 } } } } }
   for k = 1, 2 do
      w.cables[k] = { a = 1, a_port = "" .. k, b = 2, b_port = "" .. k, Bps = 4e9, planes = 4 }
   end
   local topo = assert(topology.build { kind = "hyperx", wiring = w })
   local c = topo.first_link
   lu.assertEquals({ topo.planes[c], topo.cables[c] }, { 4, 2 })
   lu.assertEquals({ topo.planes[1], topo.planes_up[1], topo.degraded[1] }, { 2, 1, 0.5 })
   local d = daemon(topo)
   d.events:take({ observation { components = { topo.components[c] }, port = "a/1", left = 0 } },
      true)
   lu.assertEquals(d.events:left(c), 0.875)
end

function tests.test_evidence_sets_what_is_left_and_ends()
   local d = daemon(machine())
   local c = d.topo.component_id["n3/tx"]
   d.events:take({ observation { components = { "n3/tx", "n3/rx", "sw9/3" }, port = "sw9/3",
      left = 0.25 } }, true)
   lu.assertEquals(d.events:left(c), 0.25)
   lu.assertEquals(d.diagnosis:record(c).hard, { left = 0.25, why = "t", since = NOW })
   lu.assertEquals(d.diagnosis:state(c), "suspect") -- evidence alone makes no verdict
   lu.assertStrContains(d.diagnosis:remark(c, NOW), "25% left: t")
   lu.assertEquals(#d.events:evidence(), 2)
   lu.assertFalse(d.events:is_clean(c, NOW, 60))
   -- another origin does not end it, an older word neither
   d.events:take({ observation { components = { "n3/tx" }, port = "other", left = 1,
      class = "harmless" } }, true)
   d.events:take({ observation { components = { "n3/tx" }, port = "sw9/3", left = 1, to = NOW - 9,
      class = "harmless" } }, true)
   lu.assertEquals(d.events:left(c), 0.25)
   d.events:take({ observation { components = { "n3/tx", "n3/rx" }, port = "sw9/3", left = 1,
      class = "harmless" } }, true)
   lu.assertEquals({ d.events:left(c), d.diagnosis:record(c).hard }, { 1 })
   lu.assertEquals(d.rows[#d.rows][1], "observation")
end

function tests.test_evidence_comes_back_from_the_store()
   local d = daemon(machine())
   d.events:take({ observation { components = { "n3/tx" }, left = 0.5 } }, true)
   local kept = {}
   for _, r in ipairs(d.rows) do
      if r[1] == "evidence" then
         kept[#kept + 1] = r[2]
      end
   end
   local other = daemon(machine())
   kept[2] = { component = "n3/rx", origin = "x", data = "nonsense" }
   other.events:restore(kept, { { place = "n4/tx", time = NOW } })
   lu.assertEquals(other.events:left(other.topo.component_id["n3/tx"]), 0.5)
   lu.assertFalse(other.events:is_clean(other.topo.component_id["n4/tx"], NOW + 10, 60))
end

function tests.test_a_pcie_link_takes_only_what_the_network_has_more_of()
   local topo = machine { kind = "torus", dims = { 4, 2, 2 }, nodes_per_router = 2,
      nodes = "n[0-31]", capacity = 10e9 }
   local d = daemon(topo)
   local c = topo.component_id["n3/tx"]
   local o = observation { source = "node", node = "n3", interface = "hsn0",
      components = { "n3/tx" }, left = 0.5, have_Bps = 15.75e9, id = 1 }
   d.events:stored { o }
   lu.assertEquals(d.events:left(c), 1)
   o.have_Bps = 7.9e9
   d.events:stored { o }
   lu.assertAlmostEquals(d.events:left(c), 0.79, 1e-9)
end

local GEMINI = { kind = "torus", dims = { 2, 4, 24 }, nodes_per_router = 2, layout = "gemini",
   nodes = "nid[00000-00383]" }

function tests.test_lost_lanes_of_a_gemini_add_up()
   local d = daemon(machine(GEMINI))
   local function lanes(tile, left)
      return { source = "netwatch", to = NOW, class = "degrading", what = "lanes", scope = "link",
         left = left, origin = "c0-0c0s1g0" .. tile, port = "c0-0c0s1g0" .. tile, text = tile,
         at = { gemini = "c0-0c0s1g0", direction = "Z-" } }
   end
   d.events:take({ lanes("l17", 23 / 24), lanes("l06", 22 / 24) }, true)
   local list = d.events:evidence()
   lu.assertEquals(#list, 2)
   local c = d.topo.component_id[list[1].component]
   lu.assertStrContains(list[1].component, "/Z-")
   lu.assertEquals(d.topo.layout.cname(d.topo:from(c)), "c0-0c0s1g0")
   lu.assertAlmostEquals(d.events:left(c), 21 / 24, 1e-9)
   -- a cabinet that the machine does not have
   local o = lanes("l17", 0.5)
   o.at.gemini = "c9-9c0s1g0"
   d.events:take({ o }, true)
   lu.assertEquals(#d.events:evidence(), 2)
end

function tests.test_a_counter_of_a_direction_is_the_routers_link()
   local topo = machine(GEMINI)
   local o = { node = "nid00000", direction = "Z+", side = "receive", what = "recvlinkstatus:Z+",
      components = {} }
   names.resolve(o, topo)
   local c = topo.component_id[o.components[1]]
   lu.assertEquals(topo:to(c), topo:router(1))
   lu.assertEquals({ o.scope, o.direction }, { "link" })
   o = { node = "nid00000", direction = "Z+", side = "send", what = "x", components = {} }
   names.resolve(o, topo)
   lu.assertEquals(topo:from(topo.component_id[o.components[1]]), topo:router(1))
end

function tests.test_places_of_logs_by_host_name_and_guid()
   local topo = machine()
   local o = { at = { host = "n3.cluster.example", interface = "ib0" } }
   names.resolve(o, topo)
   lu.assertEquals({ o.node, o.components }, { "n3", { "n3/tx", "n3/rx" } })
   o = { at = { guid = "0x0000000000000007", name = "n4 HCA-1" } }
   names.resolve(o, topo)
   lu.assertEquals({ o.scope, o.node, o.components }, { "node", "n4", { "n4/tx", "n4/rx" } })
   o = { at = { guid = "0x0000000000000007", port = 3 } }
   names.resolve(o, topo, { ["0x0000000000000007"] = "r1.0.0" })
   lu.assertEquals({ o.scope, o.port, o.components }, { "link", "r1.0.0/3", {} })
   o = { at = { guid = "0x0000000000000007", name = "; rm -rf 'x'\"" } }
   names.resolve(o, topo)
   lu.assertEquals(o.components, {})
end

-- An administrative interface that went down took all of the node's capacity.
function tests.test_a_log_is_evidence_for_the_interfaces_under_test_only()
   local topo, rails = machine(), { n3 = { hsn0 = 1 }, n4 = {} }
   local both = { "n3/tx", "n3/rx" }
   local function components(at, left, other)
      local o = { at = at, left = left or 0 }
      at.host = at.host or "n3"
      names.resolve(o, other or topo, nil, rails)
      lu.assertEquals(o.node, at.host)
      return o.components
   end
   lu.assertEquals(components { interface = "hsn0" }, both)
   lu.assertEquals(components { interface = "eth0" }, {})
   lu.assertEquals(components { pci = "0000:01:00.0" }, {})
   lu.assertEquals(components {}, both) -- an Omni-Path device
   -- evidence from before the node told
   lu.assertEquals(components({ interface = "eth0" }, 1), both)
   lu.assertEquals(components { host = "n5", interface = "eth0" }, { "n5/tx", "n5/rx" })
   local two = machine { kind = "fattree", nodes_per_leaf = 2, levels = { { down = 6, up = 3 } },
      nodes = "n[0-11]", capacity = 24e6, rails = 2 }
   rails.n3.hsn1 = 2
   lu.assertEquals(components({ interface = "hsn1" }, 0, two), { "n3:2/tx", "n3:2/rx" })
   lu.assertEquals(components({ interface = "eth0" }, 1, two), {})
end

function tests.test_what_a_node_tests_is_kept_from_its_hellos()
   local d = daemon(machine())
   lu.assertNil(samples.rails {})
   lu.assertNil(samples.rails { endpoints = { 1, { tcp = "x" } } })
   local h = { endpoints = { { ["if"] = "hsn0:1", tcp = "x" }, { ["if"] = "hsn1" } } }
   lu.assertEquals(samples.rails(h), { ["hsn0:1"] = 1, hsn0 = 1, hsn1 = 2 })
   d.events:heard("n3", samples.rails(h))
   d.events:heard("n3", nil)
   d.events:heard("nobody", samples.rails(h))
   lu.assertEquals(d.events.rails, { n3 = samples.rails(h) })
   d.events:take({ { source = "kernel", to = NOW, class = "fatal", what = "link", left = 0,
      text = "t", at = { host = "n3", interface = "eth0" } } }, true)
   lu.assertEquals(#d.events:evidence(), 0)
end

function tests.test_jobs_of_a_link_are_those_whose_routes_cross_it()
   local topo = machine()
   local cluster = { on_node = { n0 = { [5] = true } }, jobs = {
      [5] = { names = { "n0", "n8" } }, [6] = { names = { "n4", "n5" } },
      [7] = { names = { "n1" } } } }
   local route = topo:route(topo.node_id.n0, topo.node_id.n8)
   lu.assertEquals(jobs.on_link(cluster, topo, route[2]), { 5 })
   lu.assertEquals(jobs.of({ to = NOW, node = "n0", components = {} }, cluster, topo, NOW), { 5 })
   lu.assertEquals(jobs.of({ to = NOW - 9000, node = "n0", components = {} }, cluster, topo, NOW),
      {})
end

function tests.test_what_anybody_may_have_written_is_an_event_and_no_evidence()
   local d = daemon(machine())
   local function down(untrusted)
      d.events:take({ { source = "kernel", to = NOW, class = "fatal", what = "link", left = 0,
         untrusted = untrusted, text = "t", at = { host = "n3", interface = "hsn0" } } }, true)
      return #d.events:evidence()
   end
   lu.assertEquals(down(true), 0)
   lu.assertTrue(d.events:is_clean(d.events.topo.component_id["n3/tx"], NOW, 60))
   lu.assertEquals(down(nil), 2)
end

function tests.test_events_that_are_handed_in_are_checked()
   local d = daemon(machine())
   local function record(o)
      for k, v in pairs { source = "kernel", to = 5, class = "fatal", what = "link", text = "t" } do
         if o[k] == nil then
            o[k] = v
         end
      end
      return d.events:record { o }
   end
   lu.assertEquals(record { at = { host = "n3" }, left = 0 }, 1)
   for _, bad in ipairs { { source = "fabric" }, { class = "bad" }, { left = 2 }, { text = {} },
      { to = "now" }, { at = { host = {} } }, { untrusted = 1 }, { jobs = { 1 } },
      { components = { "n3/tx" } }, { port = ("x"):rep(2000) } } do
      local n, err = record(bad)
      lu.assertNil(n)
      lu.assertStrContains(err, "event 1: ")
   end
   lu.assertNil((d.events:record { "x" }))
end

---------------------------------------------------------------- summary, stalls, throttling

function tests.test_a_job_in_one_line()
   local s = summary.of {
      { node = "n1", interface = "hsn0", source = "netdev", seconds = 10, counters = {
         tx_bytes = 5e9, rx_bytes = 4e9, rx_errors = 0 } },
      { node = "n1", interface = "hsn0", source = "ib", seconds = 10, counters = {
         port_xmit_data = 2.5e9, port_rcv_data = 1e9, symbol_error = 3, port_xmit_wait = 77 } },
      { node = "n2", interface = "hsn0", source = "netdev", seconds = 12, counters = {
         tx_bytes = 1e9, rx_bytes = 1e9, rx_crc_errors = 9, rx_errors = 9 } },
      { node = "n3", interface = "hsn0", source = "netdev", seconds = 3, counters = {},
        note = "reload" },
   }
   -- n1's 10 GB of InfiniBand are not added to what its netdev shows of the same interface
   lu.assertEquals({ s.nodes, s.seconds, s.sent, s.received, s.errors }, { 3, 12, 11e9, 5e9, 12 })
   lu.assertEquals({ s.worst.node, s.worst.name, s.worst.amount }, { "n2", "rx_crc_errors", 9 })
   lu.assertEquals(summary.line(s), "taut: 3 nodes, sent 11 GB, received 5 GB, 12 errors, worst n2 "
      .. "(rx_crc_errors +9), stalls port_xmit_wait +77, 1 nodes with gaps")
   lu.assertNil(summary.of {})
end

function tests.test_a_line_is_fit_for_slurm_whatever_counters_are_called()
   local counters = {}
   for i = 1, 50 do
      counters[("err\n|'\"\0%d"):format(i) .. ("x"):rep(100)] = i
      counters["stall\200" .. i] = i
   end
   local line = summary.line(summary.of { { node = "n'1\"", interface = "i", source = "s",
      counters = counters } })
   lu.assertTrue(#line <= 255)
   lu.assertNil(line:find "[^\32-\126]")
   lu.assertNil(line:find("|", 1, true))
   lu.assertEquals(line:sub(1, 6), "taut: ")
end

function tests.test_stalls_go_with_the_tests_of_both_ends()
   local function peer(name, a, b)
      return { name = name, hello_readings = told.text { ib { port_xmit_wait = a } },
         readings = told.text { ib { port_xmit_wait = b } } }
   end
   local map = stalls.of { [1] = peer("n1", 5, 9), [2] = peer("n2", 0, 70),
      [3] = { name = "n3", readings = "" } }
   local t = { src = 1, dst = 2 }
   stalls.add(t, map)
   lu.assertEquals({ t.stalls, t.stalled_at }, { 70, "n2/hsn0 port_xmit_wait" })
   t = { src = 1, dst = 3 }
   stalls.add(t, map)
   lu.assertEquals(t.stalls, 4)
   t = { src = 3, dst = 3 }
   stalls.add(t, map)
   lu.assertNil(t.stalls)
end

---------------------------------------------------------------- others on RDMA ports

-- A session in which node 1 sent 1 MB (a test of 25 ms), received 1 MB, and its port counted so
-- many words besides within `seconds`.  Returns foreign_bytes of both.
local function others(o)
   local endpoint = { { ["if"] = "hsn0", tcp = "n1:1", ofi = o.ofi and "a" or nil } }
   local function port(words)
      local p = { ["if"] = o.interface or "hsn0", source = o.source or "ib",
         link_layer = o.link_layer or "InfiniBand" }
      if p.source == "cxi" then
         p.link_layer, p.hni_sts_tx_ok_octets, p.hni_sts_rx_ok_octets = nil, 4 * words, 4 * words
      else
         p.port_xmit_data, p.port_rcv_data = words, words
      end
      return { p }
   end
   local own = (o.own or 1000000) // 4
   local before, after = port(100), port(100 + own + (o.words or 0))
   before[1].t, after[1].t = o.from, o.till
   if o.first_reset then
      before[1].port_xmit_data = 1 << 40
   end
   local session = { tests = { { id = 1, src = 1, dst = 2, dur_ms = 25 },
         { id = 2, src = 2, dst = 1, dur_ms = 25 } },
      peers = { { hello_readings = told.text(before), readings = told.text(after),
            endpoints = endpoint }, { endpoints = endpoint } },
      results = { { ["send:1"] = { bytes = 8e5, total_bytes = 1e6, foreign_bytes = o.seen },
         ["recv:2"] = not o.lost and { bytes = 8e5, total_bytes = 1e6, error = o.error }
            or nil } } }
   background.add(session, 1, o.seconds or 0.5)
   local r = session.results[1]
   return r["send:1"].foreign_bytes, (r["recv:2"] or {}).foreign_bytes
end

function tests.test_bytes_of_others_on_an_rdma_port_are_shared_out_by_time()
   lu.assertEquals({ others {} }, { 0, 0 })
   -- 10 MB each way in 0.5 s: 1 MB in the 25 ms of a test, less what headers may be
   local sent, received = others { words = 2500000 }
   lu.assertEquals(sent, received)
   lu.assertTrue(sent > 980000 and sent <= 1000000, tostring(sent))
   lu.assertEquals({ others { words = 2500000, source = "cxi" } }, { sent, received })
   lu.assertEquals({ others { words = 2500000, seen = 5000000 } }, { 5000000, received })
   -- a source that stamps what it counts
   lu.assertEquals({ others { words = 2500000, source = "cxi", from = 1e9, till = 1e9 + 1 } },
      { sent // 2, received // 2 })
   lu.assertNil((others { words = 2500000, source = "cxi", from = 1e9, till = 1e9 }))
   -- not more than there were
   lu.assertEquals({ others { words = 2500000, seconds = 0.001 } }, { sent * 20, received * 20 })
end

function tests.test_what_is_not_known_of_an_rdma_port_excuses_nothing()
   for what, o in pairs {
      ["an error"] = { error = "no way" }, ["a test not told of"] = { lost = true },
      ["a reset"] = { first_reset = true }, ["another interface"] = { interface = "ib7" },
      ["no time"] = { seconds = 0 },
   } do
      o.words = 2500000
      lu.assertNil((others(o)), what)
   end
end

function tests.test_tcp_over_roce_is_not_counted_by_its_rdma_port()
   lu.assertEquals({ others { own = 0, link_layer = "Ethernet" } }, { 0, 0 })
   lu.assertTrue((others { own = 0, link_layer = "Ethernet", words = 250000 }) > 99000)
   -- libfabric's is
   lu.assertTrue((others { link_layer = "Ethernet" }) > 90000)
   lu.assertEquals({ others { link_layer = "Ethernet", ofi = true } }, { 0, 0 })
end

function tests.test_a_low_test_on_a_busy_rdma_port_means_nothing()
   local topo = machine(GEMINI)
   local t = { src = 1, dst = 2, dur_ms = 25, streams = 1, route = { topo.tx[1], topo.rx[2] } }
   local seconds, capacity = 0.5, topo.capacity[topo.tx[1]]
   local bytes = math.floor(capacity * 0.025)
   local function result(share)
      return { bytes = math.floor(bytes * share), window_ns = 25000000 }
   end
   local function class_of(busy)
      local s = { tests = { t }, results = { { ["send:1"] = result(0.4) } }, peers = { {}, {} } }
      t.id = 1
      for i = 1, 2 do
         s.peers[i].endpoints = { { ["if"] = "hsn0", tcp = "x" } }
      end
      s.peers[1].hello_readings = told.text { ib { port_xmit_data = 0, port_rcv_data = 0 } }
      local words = math.floor(capacity * seconds * busy + bytes) // 4
      s.peers[1].readings = told.text { ib { port_xmit_data = words, port_rcv_data = 0 } }
      background.add(s, 1, seconds)
      judge.test(t, s.results[1]["send:1"], result(0.4), topo, sim.quick)
      return t.class, t.why or ""
   end
   lu.assertEquals((class_of(0)), "low")
   lu.assertEquals((class_of(0.05)), "low")
   local class, why = class_of(0.6)
   lu.assertEquals(class, "void")
   lu.assertStrMatches(why, "port of .* carried .* kB of other traffic")
end

---------------------------------------------------------------- throttled

-- Tests of a machine of two cabinets and more; those of the nodes of `slow` are low.
local function low_tests(d, is_slow)
   for event, step in ipairs { 1, 3 } do
      local list = {}
      for n in ipairs(d.topo.nodes) do
         local to = (n + step - 1) % #d.topo.nodes + 1
         local low = is_slow(n)
         list[n] = { src = n, dst = low == is_slow(to) and to or n, phase = 1, streams = 1,
            id = 10000 * event + n,
            event = event, time = NOW + event, class = low and "low" or "good",
            ratio = low and 0.31 or 1, bw_Bps = (low and 0.31 or 1) * d.topo.capacity[1],
            expected_Bps = d.topo.capacity[1] }
      end
      d.diagnosis:observe(list, NOW + event)
   end
end

local function throttled(d)
   return throttled_groups.find { topology = d.topo, diagnosis = d.diagnosis, events = d.events,
      now = NOW }
end

function tests.test_a_cabinet_slow_as_a_whole_with_clean_links_is_throttled()
   local d = daemon(machine(GEMINI))
   local function in_first(n)
      local p = d.topo.layout.place(d.topo:router(n))
      return p.column == 0 and p.row == 0
   end
   lu.assertEquals(#throttled(d), 0)
   low_tests(d, in_first)
   local list = throttled(d)
   lu.assertEquals({ #list, list[1].group, list[1].nodes, list[1].low },
      { 1, "cabinet c0-0", 96, 96 })
   lu.assertAlmostEquals(list[1].best, 0.31, 1e-6)
   -- a link that lost lanes is another explanation
   d.events:take({ { source = "netwatch", to = NOW, class = "degrading", what = "lanes", left = 0.9,
      text = "t", at = { gemini = "c0-0c0s1g0", direction = "Z+" } } }, true)
   lu.assertEquals(#throttled(d), 0)
end

function tests.test_some_slow_nodes_or_a_whole_slow_machine_are_not_throttled()
   local d = daemon(machine(GEMINI))
   low_tests(d, function(n) return n <= 40 end)
   lu.assertEquals(#throttled(d), 0)
   d = daemon(machine(GEMINI))
   low_tests(d, function() return true end)
   lu.assertEquals(#throttled(d), 0)
end

return tests
