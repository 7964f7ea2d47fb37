-- SPDX-License-Identifier: GPL-2.0-or-later
-- Plans on every kind of machine: what must hold for each of them, whatever the allocation.
local coverage = require "taut.plan.coverage"
local lu = require "luaunit"
local overlay = require "taut.config.overlay"
local plan = require "taut.plan"
local planned = require "taut.tests"
local settings = require "taut.config.settings"
local stages = require "taut.topology.stages"
local tables = require "taut.base.tables"
local topology = require "taut.topology"

local tests = {}

local function build(conf)
   local topo, err = topology.build(conf)
   return assert(topo, err)
end


-- name → topology; nodes n0 … in all of them
local machines = {
   torus = build { kind = "torus", dims = { 5, 4, 6 }, nodes_per_router = 2, nodes = "n[0-239]",
      capacity = 24e6 },
   wide = build { kind = "torus", layout = "gemini", dims = { 3, 4, 24 }, nodes_per_router = 2,
      nodes = "n[0-575]" },
   mesh = build { kind = "mesh", dims = { 4, 5 }, nodes_per_router = 3, nodes = "n[0-59]",
      capacity = 24e6 },
   tree = build { kind = "fattree", nodes_per_leaf = 8, levels = { { down = 12, up = 6 } },
      nodes = "n[0-95]", capacity = 12.5e9, routing = "ecmp" },
   static_tree = build { kind = "fattree", nodes_per_leaf = 8, levels = { { down = 12, up = 6 } },
      nodes = "n[0-95]", capacity = 12.5e9 },
   dragonfly = build { kind = "dragonfly", groups = 9, routers = 4, nodes_per_router = 4,
      global_links = 1, nodes = "n[0-143]", capacity = 12.5e9, routing = "minimal" },
   hyperx = build { kind = "hyperx", dims = { 4, 4 }, nodes_per_router = 4, nodes = "n[0-63]",
      capacity = 12.5e9 },
}

local function random_nodes(topo, share, random)
   local list = {}
   for n = 1, #topo.nodes do
      list[#list + 1] = random() < share and n or nil
   end
   return list
end

-- A generator of its own, so that tests do not depend on each other.
local function generator(seed)
   local s = seed
   return function()
      s = (s * 6364136223846793005 + 1442695040888963407) & 0x7fffffffffffffff
      return (s >> 20) / (1 << 43)
   end
end

-- Makes plans with the shipped numbers.
-- @param more { wanted =, checks = } or nil
local function planner(topo, more)
   local p = { coverage = coverage.new(false, #topo.components) }
   local checks = overlay.defaults(settings.all.checks)
   checks.duplex = true
   for k, v in pairs(more and more.checks or {}) do
      checks[k] = v
   end
   function p.plan(_, ask)
      local list = {}
      for _, phase in ipairs(plan.make { topology = topo, nodes = ask.nodes, checks = checks,
         coverage = p.coverage, now = ask.time, seed = ask.job, wanted = more and more.wanted,
         routine = ask.purpose ~= "idle", budget_ms = 10 + 29 * ask.phases }) do
         table.move(phase, 1, #phase, #list + 1, list)
      end
      return list
   end
   function p.touch(_, list, now)
      for _, t in ipairs(list) do
         for _, c in ipairs(stages.sure(t.route)) do
            p.coverage:touch(c, now)
         end
      end
   end
   return p
end

-- What a phase may not do.
local function assert_phase(topo, phase, senders)
   local sends, receives, users = {}, {}, {}
   for _, t in ipairs(phase) do
      lu.assertNotEquals(t.src, t.dst)
      lu.assertEquals(t.route, topo:route(t.src, t.dst))
      lu.assertNil(sends[t.src])
      lu.assertNil(receives[t.dst])
      sends[t.src], receives[t.dst] = true, true
      for _, c in ipairs(stages.all(topo:route(t.src, t.dst))) do
         users[c] = (users[c] or 0) + 1
         lu.assertTrue(users[c] <= (t.senders or 1), topo.components[c])
         lu.assertTrue(users[c] <= senders)
      end
   end
end

local function by_phase(list)
   local phases = {}
   for _, t in ipairs(list) do
      phases[t.phase] = phases[t.phase] or {}
      table.insert(phases[t.phase], t)
   end
   return phases
end

local function random_wants(topo, random)
   local list = {}
   for i = 1, 6 do
      list[i] = { component = 1 + math.floor(random() * #topo.components),
         rivals = { 1 + math.floor(random() * #topo.components) } }
   end
   return list
end

local function sorted_names()
   local names = {}
   for name in pairs(machines) do
      names[#names + 1] = name
   end
   table.sort(names)
   return names
end

function tests.test_limits_of_phases_and_users_are_kept_on_every_machine()
   for i, name in ipairs(sorted_names()) do
      local topo, random = machines[name], generator(i)
      for round = 1, 40 do
         local wants = random_wants(topo, random)
         local p = planner(topo, { wanted = wants })
         local nodes = random_nodes(topo, random(), random)
         local here = {}
         for _, n in ipairs(nodes) do
            here[n] = true
         end
         local most = round % 9
         local list = p:plan { nodes = nodes, phases = most, purpose = "job", time = 1e6,
            job = round }
         local phases = by_phase(list)
         lu.assertTrue(#phases <= most, name)
         for _, phase in ipairs(phases) do
            assert_phase(topo, phase, 2)
         end
         for _, t in ipairs(list) do
            lu.assertTrue(here[t.src] and here[t.dst], name)
            lu.assertNotNil(phases[t.phase])
         end
      end
   end
end

function tests.test_the_same_question_has_the_same_answer()
   for i, name in ipairs(sorted_names()) do
      local topo, plans = machines[name], {}
      local nodes = random_nodes(topo, 0.5, generator(i))
      for k = 1, 2 do
         plans[k] = planner(topo):plan { nodes = nodes, phases = 8, purpose = "job", time = 5e5,
            job = 12 }
      end
      lu.assertTrue(#plans[1] > 0, name)
      lu.assertEquals(tables.map(plans[1], planned.fields), tables.map(plans[2], planned.fields))
   end
end

function tests.test_nothing_is_tested_again_that_was_seen_well()
   for _, name in ipairs(sorted_names()) do
      local topo = machines[name]
      local p, nodes, total = planner(topo), random_nodes(topo, 1, generator(1)), 0
      for k = 1, 60 do
         local list = p:plan { nodes = nodes, phases = 8, purpose = "job", time = 1e6 + k, job = k }
         p:touch(list, 1e6 + k)
         total = total + #list
         if #list == 0 then
            break
         end
      end
      local quiet = p:plan { nodes = nodes, phases = 8, purpose = "job", time = 1e6 + 100 }
      -- members of a set are met by chance, so that some may be left
      lu.assertTrue(#quiet <= total / 50, ("%s: %d of %d"):format(name, #quiet, total))
      for c = 1, #topo.components do
         lu.assertTrue(name == "tree" or p.coverage:last(c) > 0, name .. topo.components[c])
      end
   end
end

function tests.test_what_was_low_is_tried_again_after_an_hour_and_not_before()
   local topo = machines.torus
   local p, nodes = planner(topo), random_nodes(topo, 1, generator(1))
   local counts = {}
   for k = 0, 240 do -- nothing is ever seen well
      local n = #p:plan { nodes = nodes, phases = 8, purpose = "job", time = 1e6 + 60 * k, job = k }
      local hour = k // 60
      counts[hour] = (counts[hour] or 0) + n
   end
   lu.assertTrue(counts[0] >= 720 and counts[0] < 900, counts[0]) -- links, and the ends with them
   lu.assertTrue(counts[1] >= 900, counts[1]) -- that was not well: 240 anchors besides
   lu.assertTrue(counts[2] > 0.8 * counts[1] and counts[2] < 1.3 * counts[1],
      ("%d %d %d"):format(counts[0], counts[1], counts[2]))
end

---------------------------------------------------------------- ties and suspects

local function surely(topo, t)
   local set = {}
   for _, c in ipairs(stages.sure(topo:route(t.src, t.dst))) do
      set[c] = true
   end
   return set
end

-- Two links that follow each other on a line, and a test for one that leaves the other out.
function tests.test_a_tie_is_told_apart_by_the_plan()
   for _, name in ipairs { "torus", "wide", "mesh", "hyperx", "static_tree", "dragonfly" } do
      local topo, random = machines[name], generator(3)
      local tried = 0
      for _ = 1, 200 do
         local a = 1 + math.floor(random() * #topo.nodes)
         local b = 1 + math.floor(random() * #topo.nodes)
         local route = a ~= b and stages.sure(topo:route(a, b)) or {}
         if #route >= 4 then
            local c, rival = route[2], route[3]
            local wants = { { component = c, rivals = { rival } },
               { component = rival, rivals = { c } } }
            local list = planner(topo, { wanted = wants }):plan {
               nodes = random_nodes(topo, 1, random), phases = 8, purpose = "job", time = 1e6 }
            local apart = { [c] = 0, [rival] = 0 }
            for _, t in ipairs(list) do
               local on = surely(topo, t)
               if t.confirms and on[t.confirms] and not (on[c] and on[rival]) then
                  apart[t.confirms] = apart[t.confirms] + 1
               end
            end
            tried = tried + 1
            lu.assertTrue(apart[c] > 0 or apart[rival] > 0, ("%s: %s and %s"):format(name,
               topo.components[c], topo.components[rival]))
         end
      end
      lu.assertTrue(tried > 20, name)
   end
end

function tests.test_deciding_tests_cross_the_suspect_with_several_streams_and_far_ends()
   local topo = machines.torus
   local c = topo.component_id["r2.1.3/Y+"]
   local seen = { [topo:on_router(topo:from(c))[1]] = 5 }
   local wants = { { component = c, tests = 3, seen = function() return seen end } }
   local list = planner(topo, { wanted = wants }):plan {
      nodes = random_nodes(topo, 1, generator(1)), phases = 8, purpose = "job", time = 1e6 }
   local sources, around, anchors, one = {}, {}, 0, {}
   for _, t in ipairs(list) do
      if t.confirms then
         local pair = t.src .. ">" .. t.dst
         lu.assertTrue(surely(topo, t)[c])
         lu.assertEquals(t.flows, 1)
         one[pair] = (one[pair] or 0) + (t.streams == 16 and -1 or 1)
         lu.assertTrue(one[pair] >= 0, pair) -- one stream, then several
         lu.assertEquals(#topo:route(t.src, t.dst), 3) -- the neighbours take part
         sources[t.src] = true
      elseif t.kind == "surround" then
         around[t.src] = true
         lu.assertFalse(surely(topo, t)[c] or false)
      elseif t.kind == "anchor" then
         anchors = anchors + 1
      end
   end
   local on = topo:on_router(topo:from(c))
   lu.assertTrue(sources[on[2]])
   lu.assertTrue(around[on[1]] or around[on[2]])
   lu.assertTrue(anchors > 0)
end

function tests.test_two_nodes_send_at_once_over_a_link_wider_than_one()
   local topo = machines.wide
   local c = topo.component_id["r1.2.3/Z+"] -- a backplane: 9.75 GB/s, a node has 6.7
   local wants = { { component = c } }
   local list = planner(topo, { wanted = wants }):plan {
      nodes = random_nodes(topo, 1, generator(1)), phases = 4, purpose = "idle", time = 1e6 }
   local pairs_of = {}
   for _, t in ipairs(list) do
      if t.confirms == c then
         lu.assertEquals(t.senders, 2)
         lu.assertEquals(t.shares, { [c] = 2 })
         pairs_of[t.phase] = (pairs_of[t.phase] or 0) + 1
      end
   end
   lu.assertNotNil(next(pairs_of))
   for _, n in pairs(pairs_of) do
      lu.assertEquals(n, 2)
   end
end

function tests.test_after_says_when_something_new_could_be_learnt()
   local topo = machines.torus
   local c = topo.component_id["r2.1.3/Y+"]
   local wants = { { component = c, after = 1e6 + 10 } }
   local p = planner(topo, { wanted = wants, checks = { quiet_ms = 0 } })
   local ask = { nodes = random_nodes(topo, 1, generator(1)), phases = 8, purpose = "job",
      time = 1e6 }
   lu.assertEquals(p:plan(ask), {})
   ask.time = 1e6 + 10
   lu.assertTrue(#p:plan(ask) > 0)
end

function tests.test_helpers_are_those_near_a_component()
   local topo = machines.torus
   local o = { topology = topo, coverage = coverage.new(false), nodes = random_nodes(topo, 1,
      generator(1)) }
   local c = topo.component_id["r2.1.3/Y+"]
   local set = plan.helpers(o, { c, topo.tx[7] }, 6)
   local n = 0
   for _ in pairs(set) do
      n = n + 1
   end
   lu.assertTrue(set[7] and n <= 12 and n > 4)
   lu.assertTrue(set[topo:on_router(topo:from(c))[1]] and set[topo:on_router(topo:to(c))[1]])
   o.nodes = { 1, 2 }
   lu.assertEquals(plan.helpers(o, { c }, 6), {})
end

---------------------------------------------------------------- bad arguments

function tests.test_boards_refuse_what_makes_no_sense()
   local boards = require "taut.board"
   local topo, times = machines.mesh, coverage.new(false, 10)
   lu.assertErrorMsgContains("times of another machine", boards.new, topo.graph, times.times)
   times:fit(#topo.components)
   local b = boards.new(topo.graph, times.times)
   for _, bad in ipairs { { { 2, 1 }, "ascending" }, { { 1, 1 }, "ascending" }, { { 61 },
      "node 61 is not within 1 to 60" }, { { 0 }, "node 0" }, { { "x" }, "number" } } do
      lu.assertErrorMsgContains(bad[2], b.begin, b, bad[1], { phases = 4 })
   end
   lu.assertErrorMsgContains("phases", b.begin, b, { 1, 2 }, { phases = 65 })
   lu.assertErrorMsgContains("senders", b.begin, b, { 1, 2 }, { phases = 4, senders = 9 })
   b:begin({ 1, 2, 9 }, { phases = 4, good = 0.75 })
   lu.assertErrorMsgContains("component 99999 is not", b.confirm, b, 99999)
   lu.assertErrorMsgContains("out of range", b.confirm, b, 1, 65)
   lu.assertErrorMsgContains("invalid option", b.confirm, b, 1, 1, 1, 1, 0, "guess")
   lu.assertErrorMsgContains("component", b.suspects, b, { 0 })
   lu.assertEquals(b:finish(), {})
   lu.assertEquals(b:finish(), {})
end

return tests
