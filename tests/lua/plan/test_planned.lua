-- SPDX-License-Identifier: GPL-2.0-or-later
-- Tests of a plan, which C keeps (taut.tests): they are read and written as tables are, and what C
-- does with them quickly is what Lua does with tables.
local config = require "taut.config"
local coverage = require "taut.plan.coverage"
local diagnose = require "taut.diagnose"
local expectation = require "taut.topology.model.expectation"
local health = require "taut.topology.health"
local judge = require "taut.diagnose.judge"
local lu = require "luaunit"
local plan = require "taut.plan"
local planned = require "taut.tests"
local sim = require "lib.sim"
local tables = require "taut.base.tables"
local topology = require "taut.topology"

local tests = {}

local function build(conf)
   return assert(topology.build(conf))
end

local function machines()
   return {
      torus = sim.torus({ 4, 4, 2 }, 2),
      wide = build { kind = "torus", dims = { 4, 4, 2 }, nodes_per_router = 2, nodes = "n[0-63]",
         capacity = { tx = 24e6, rx = 24e6, X = 40e6, Y = 48e6, Z = 24e6 } }, -- several may send
      tree = build { kind = "fattree", nodes_per_leaf = 4, levels = { { down = 8, up = 4 } },
         nodes = "n[0-31]", capacity = 12.5e9, routing = "ecmp" },
      static_tree = build { kind = "fattree", nodes_per_leaf = 4,
         levels = { { down = 8, up = 4 } }, nodes = "n[0-31]", capacity = 12.5e9 },
      rails = build { kind = "fattree", nodes_per_leaf = 4, levels = { { down = 8, up = 4 } },
         nodes = "n[0-31]", capacity = 12.5e9, rails = 2 },
      learned = build { kind = "torus", dims = { 4, 4, 2 }, nodes_per_router = 2,
         nodes = "n[0-63]" },
   }
end

local function all(topo)
   return tables.fill(1, #topo.nodes, function(n) return n end)
end

-- The tests of a plan for all nodes of a machine.
local function tests_of(topo, o)
   o = o or {}
   local checks = setmetatable({ senders = 2, duplex = true }, { __index = sim.checks })
   local opt = { topology = topo, nodes = all(topo), coverage = o.coverage or coverage.new(false),
      checks = checks, now = 1000, budget_ms = 400, wanted = o.wanted }
   local id = o.id or 0
   return plan.schedule(plan.make(opt), opt, function()
      id = id + 1
      return id
   end)
end

-- Of all machines, each test once.
local function each(fn)
   for name, topo in pairs(machines()) do
      local list = tests_of(topo)
      lu.assertTrue(#list > 0, name)
      fn(topo, list)
   end
end

function tests.test_fields_are_those_of_a_table()
   each(function(topo, list)
      for _, t in ipairs(list) do
         lu.assertEquals({ t.src_name, t.dst_name }, { topo.nodes[t.src], topo.nodes[t.dst] })
         lu.assertEquals(t.route, topo:route(t.src, t.dst, nil, t.rail))
         lu.assertEquals(t.rail ~= nil, (topo.rails or 1) > 1)
         lu.assertEquals({ t.class, t.bw_Bps, t.time, t.event, t.why, t.group and t.senders or 0 },
            { nil, nil, nil, nil, nil, t.group and t.senders or 0 })
         local copy = planned.fields(t)
         lu.assertEquals({ copy.src, copy.dst, copy.kind, copy.id, copy.dur_ms, copy.route },
            { t.src, t.dst, t.kind, t.id, 25, t.route })
         lu.assertNil(copy.why)
      end
   end)
end

function tests.test_what_several_senders_have_of_links_follows_from_the_way()
   local groups = 0
   each(function(_, list)
      for _, t in ipairs(list) do
         local shares = t.group and {} or nil
         for i = 2, shares and #t.route - 1 or 0 do
            if type(t.route[i]) == "number" then
               shares[t.route[i]] = t.senders
            end
         end
         lu.assertEquals(t.shares, shares)
         lu.assertEquals(t.through, shares)
         groups = groups + (shares and 1 or 0)
         t.shares = { [7] = 3 }
         lu.assertEquals({ t.shares, t.through }, { { [7] = 3 }, shares })
      end
   end)
   lu.assertTrue(groups > 10, tostring(groups))
end

function tests.test_what_is_written_is_read()
   local t = tests_of(sim.torus({ 4, 2, 2 }, 2))[1]
   local values = { class = "low", bw_Bps = 1.5, ratio = 0.25, figure = true, rtt_ns = 17,
      delay_ns = 0.5, id = 1 << 60, event = 0, job = -1, time = 1e9, expected_Bps = math.huge,
      streams = 16, confirms = 3, token = ("ab"):rep(16), why = "a word", way = { 1, false, 2 },
      stalls = 0, stalled_at = "n1", start_ms = 12 }
   for name, value in pairs(values) do
      t[name] = value
   end
   for name, value in pairs(values) do
      lu.assertEquals(t[name], value, name)
      lu.assertEquals(math.type(t[name]), name == "time" and "float" or math.type(value), name)
      lu.assertEquals(planned.fields(t)[name], value, name)
   end
   for name in pairs(values) do
      t[name] = nil
      lu.assertNil(t[name], name)
   end
   t.route = { 1, { 2, 3 }, 4 }
   lu.assertEquals(t.route, { 1, { 2, 3 }, 4 })
end

function tests.test_what_makes_no_sense_is_an_error()
   local t = tests_of(sim.torus({ 4, 2, 2 }, 2))[1]
   for name, value in pairs { class = "fair", streams = -1, confirms = 0, bw_Bps = {}, id = 1.5,
      token = ("a"):rep(33), src = 2, rail = 1, kind = "reach", route = 7, phase = 70000,
      src_name = "n0" } do
      lu.assertFalse((pcall(function() t[name] = value end)), name)
   end
   lu.assertFalse((pcall(function() t.token = "a\0b" end)))
   lu.assertErrorMsgContains("taut.test", planned.touch, {}, coverage.new(false).times)
   lu.assertErrorMsgContains("taut.test", planned.stamp, { {} }, 1, 2, 3)
   lu.assertErrorMsgContains("taut.test", planned.schedule, { { {} } }, coverage.new(false).times,
      function() return 1 end, 1, 2, 3, 4)
   lu.assertErrorMsgContains("taut.test", planned.give_back, { {} }, {}, 1)
   lu.assertFalse(planned.is_plainly_good({}, {}, {}, {}))
end

-- What ends a test early is a share of what it is held against; one during which others send over
-- its way, one of several streams or about a suspect goes on to its end.
function tests.test_what_is_enough()
   local sure, groups = 0, 0
   each(function(topo, list)
      for _, t in ipairs(list) do
         local expected, open = expectation.of_test(t, topo)
         if t.group then
            lu.assertNil(planned.enough(t, 0.5))
            groups = groups + 1
         elseif not open then
            lu.assertEquals(planned.enough(t, 0.5), math.ceil(0.5 * expected))
            sure = sure + 1
         end
         local odd = { streams = 2, confirms = 1, mode = "latency", planned_Bps = 7 }
         for name, value in pairs(odd) do
            local before = t[name]
            t[name] = value
            lu.assertNil(planned.enough(t, 0.5), name)
            t[name] = before
         end
      end
   end)
   lu.assertTrue(sure > 100 and groups > 10, sure .. " " .. groups)
   lu.assertErrorMsgContains("taut.test", planned.enough, {}, 1)
end

-- One spine is of an older make, and it is known only after a test whether it went over that one:
-- what is enough for its links is not enough for those of the others.
function tests.test_what_is_enough_over_one_way_may_not_be_over_another()
   local topo = machines().tree
   local slower = 0
   for id, name in ipairs(topo.components) do
      if name:find "^spine0/" or name:find "^leaf%d+/5$" then
         topo.capacity[id] = 5e9
         topo.graph:set_capacity(id, 5e9)
         slower = slower + 1
      end
   end
   topo.graph:update()
   lu.assertEquals(slower, 16)
   local within, across = 0, 0
   for _, t in ipairs(tests_of(topo)) do
      if t.streams == 1 and not t.group then
         local is_across = (t.src - 1) // 4 ~= (t.dst - 1) // 4
         lu.assertEquals(planned.enough(t, 0.5), not is_across and 6.25e9 // 1 | 0 or nil)
         within, across = within + (is_across and 0 or 1), across + (is_across and 1 or 0)
      end
   end
   lu.assertTrue(within > 0 and across > 0, within .. " " .. across)
end

---------------------------------------------------------------- judging

-- What the two ends may report of a test that ought to reach so much.
local function reports(random, expected)
   local share = random() < 0.7 and 0.7 + 0.4 * random() or random()
   local bw = share * expected
   local function report()
      local r = { bytes = math.floor(bw * 20e-3 * (random() < 0.9 and 1 or random())),
         window_ns = random() < 0.02 and 0 or 20000000, delay_ns = random() < 0.5
         and math.floor(random() * 1e7) or nil, foreign_bytes = random() < 0.3
         and random() * 1e6 or nil, rtt_ns = random() < 0.5 and 12345 or nil,
         error = random() < 0.02 and "was not reached" or nil }
      if random() < 0.5 then
         r.segments, r.resent, r.disordered = 200, random(0, 3), 1
      end
      if random() < 0.3 then
         r.port_ns, r.port_data_bytes = random(2, 25) * 1000000, r.bytes
         r.port_with_bytes = random() < 0.5 and random(0, 100000) or 0
         r.port_back_bytes = random() < 0.5 and random(0, 100000) or nil
      end
      if random() < 0.8 then
         r.sub_bytes = {}
         for i = 1, random() < 0.3 and 3 or 8 do -- some end early
            r.sub_bytes[i] = math.floor(bw * 20e-3 / 8 * (0.9 + 0.2 * random()))
         end
         r.looks = random() < 0.8 and math.floor(random() * 9) or nil
      end
      return r
   end
   return random() < 0.97 and report() or nil, random() < 0.97 and report() or nil
end

local SETTINGS = { sim.quick, assert(config.diagnosis {}) }

function tests.test_the_quick_judgement_is_the_slow_one()
   local good, others = 0, 0
   math.randomseed(3)
   each(function(topo, list)
      for i, t in ipairs(list) do
         local s = SETTINGS[i % 2 + 1]
         t.planned_Bps = math.random() < 0.05 and 1e6 or nil
         t.enough_Bps = math.random() < 0.5 and 1 or nil
         local same = planned.fields(t)
         local expected = expectation.of_test(t, topo)
         local send, recv = reports(math.random, expected < math.huge and expected or 24e6)
         judge.test(t, send, recv, topo, s)
         judge.test(same, send, recv, topo, s)
         lu.assertEquals(planned.fields(t), same)
         good, others = good + (t.class == "good" and 1 or 0),
            others + (t.class ~= "good" and 1 or 0)
      end
   end)
   lu.assertTrue(good > 100 and others > 100, good .. " " .. others)
end

function tests.test_components_are_touched_as_by_their_numbers()
   each(function(topo, list)
      local one, other = coverage.new(false, #topo.components),
         coverage.new(false, #topo.components)
      planned.stamp(list, 1, 500, 7)
      for i, t in ipairs(list) do
         t.class = i % 3 == 0 and "void" or "good"
         t.route = i % 5 == 0 and tables.copy(t.route) or t.route
         lu.assertEquals(planned.touch(t, one.times), #t.route)
         for _, stage in ipairs(i % 3 > 0 and t.route or {}) do
            if type(stage) == "number" then
               other:touch(stage, 500)
            end
         end
      end
      for c = 1, #topo.components do
         lu.assertEquals(one:tested(c), other:tested(c))
      end
   end)
end

function tests.test_what_they_may_cross_is_reserved()
   each(function(topo)
      local reserved = coverage.new(0.01, #topo.components)
      local set = {}
      for _, t in ipairs(tests_of(topo, { coverage = reserved })) do
         for _, stage in ipairs(t.route) do
            for _, c in ipairs(type(stage) == "table" and stage or { stage }) do
               set[c] = math.max(set[c] or 0, 1000 + (t.start_ms + t.dur_ms) / 1000)
            end
         end
      end
      for c = 1, #topo.components do
         lu.assertEquals(reserved:busy_until(c), set[c] or 0)
      end
   end)
end

---------------------------------------------------------------- evidence

local function facts_of(d, topo)
   local list = {}
   for c = 1, #topo.components do
      list[c] = { d:seen(c), d:run(c), d:state(c) }
   end
   return list
end

-- What the diagnosis makes of events whose tests are those of plans, or tables of the same.
local function diagnosed(topo, as)
   local d, cover = diagnose.new(topo, sim.quick), coverage.new(false)
   local slow = topo.first_link + 3
   math.randomseed(5)
   for event = 1, 12 do
      local list = tests_of(topo, { coverage = cover, id = event * 1000,
         wanted = { { component = slow, tests = 2 } } })
      local now = 1000 + 10 * event
      planned.stamp(list, event, now, event)
      for _, t in ipairs(list) do
         local is_slow = tables.has(t.route, slow)
         local bytes = math.floor(20e-3 * (is_slow and 0.3 or 0.98) * expectation.of_test(t, topo))
         local r = { bytes = bytes, window_ns = 20000000 }
         judge.test(t, r, r, topo, sim.quick)
         t.class = event % 4 == 0 and t.id % 7 == 0 and "void" or t.class
      end
      d:observe(tables.filter(tables.map(list, as), judge.is_evidence), now)
   end
   return facts_of(d, topo)
end

function tests.test_they_say_the_same_as_tables()
   for _, name in ipairs { "torus", "wide", "tree", "static_tree", "rails" } do
      local topo = machines()[name]
      local facts = diagnosed(topo, function(t) return t end)
      lu.assertEquals(facts, diagnosed(topo, planned.fields))
      local has_run = tables.find(facts, function(f) return #f[2] > 0 end) ~= nil
      lu.assertEquals(has_run, name ~= "tree", name) -- which has sets only
   end
end

function tests.test_those_of_another_machine_or_epoch_say_nothing()
   local topo = sim.torus({ 4, 4, 2 }, 2)
   local function seen_by(where, list)
      local d = diagnose.new(where, sim.quick)
      planned.stamp(list, 1, 1000, 1)
      for _, t in ipairs(list) do
         t.class, t.bw_Bps, t.ratio, t.expected_Bps = "good", 24e6, 1, 24e6
      end
      d:observe(list, 1000)
      return d:seen(list[1].route[1]).tests, d.refused
   end
   lu.assertTrue(seen_by(topo, tests_of(topo)) > 0)
   local n, refused = seen_by(sim.torus({ 4, 4, 2 }, 2), tests_of(topo))
   lu.assertEquals(n, 0)
   lu.assertTrue(refused["of unknown nodes"] > 0)
   local old = tests_of(topo)
   health.set(topo, { [topo.first_link] = 0 }, { report = false })
   n, refused = seen_by(topo, old)
   lu.assertEquals(n, 0)
   lu.assertTrue(refused["of another epoch"] > 0)
   lu.assertTrue(seen_by(topo, tests_of(topo)) > 0)
end

function tests.test_those_given_back_hold_no_machine_and_have_no_fields()
   local weak = setmetatable({}, { __mode = "v" })
   local list
   do
      local topo = sim.torus({ 4, 2, 2 }, 2)
      weak[1], list = topo.graph, tests_of(topo)
      for _, t in ipairs(list) do
         t.class, t.streams, t.confirms = "good", 1, nil
      end
   end
   local first = list[1]
   plan.give_back(list)
   lu.assertErrorMsgContains("given back", function() return first.src end)
   lu.assertErrorMsgContains("given back", function() first.class = "low" end)
   lu.assertErrorMsgContains("given back", planned.fields, first)
   lu.assertErrorMsgContains("given back", planned.touch, first, coverage.new(false).times)
   lu.assertFalse(planned.is_plainly_good(first, {}, {}, {}))
   collectgarbage()
   collectgarbage()
   lu.assertNil(weak[1])
end

function tests.test_garbage_goes_in_any_order()
   local list = tests_of(sim.torus({ 4, 2, 2 }, 2))
   local t = list[1]
   list = nil -- luacheck: ignore
   collectgarbage()
   collectgarbage()
   lu.assertEquals(#t.route, #topology.build { kind = "torus", dims = { 4, 2, 2 },
      nodes_per_router = 2, nodes = "n[0-31]", capacity = 24e6 }:route(t.src, t.dst))
   lu.assertEquals(type(t.src_name), "string")
end

return tests
