-- SPDX-License-Identifier: GPL-2.0-or-later
-- A tree with hashed routes whose traces lie: a switch that answers as another one, root of a node
-- who says that his tests went elsewhere, somebody on a node who forges what its probe is answered.
-- What is well is not called slow for it, and what is slow is found where enough others tell the
-- truth.
local coverage = require "taut.plan.coverage"
local diagnose = require "taut.diagnose"
local judge = require "taut.diagnose.judge"
local lu = require "luaunit"
local plan = require "taut.plan"
local sim = require "lib.sim"
local topology = require "taut.topology"
local traces = require "taut.topology.seen.traces"
local ways = require "taut.topology.ways"

local tests = {}

local LEAVES, SPINES, PER = 8, 6, 4
local JOBS = 150

local function up_name(leaf, spine) return ("leaf%d/%d"):format(leaf, PER + 1 + spine) end
local function down_name(spine, leaf) return ("spine%d/%d"):format(spine, leaf + 1) end
local function up_address(leaf, spine) return ("10.1.%d.%d"):format(leaf, spine) end
local function down_address(spine, leaf) return ("10.2.%d.%d"):format(spine, leaf) end

local function build()
   local addresses = {}
   for s = 0, SPINES - 1 do
      for l = 0, LEAVES - 1 do
         addresses[up_name(l, s)], addresses[down_name(s, l)] = up_address(l, s), down_address(s, l)
      end
   end
   return assert(topology.build { kind = "fattree", nodes_per_leaf = PER,
      levels = { { down = LEAVES, up = SPINES } }, nodes = ("n[0-%d]"):format(LEAVES * PER - 1),
      capacity = 24e6, routing = "ecmp", addresses = addresses })
end

local World = {}
World.__index = World

-- @param o { left = name of a component → share, answers = function(t, list, spine): the three
--   answers, changed; goes = function(t, Bps, spine) → Bps, as root of an end would have it }
local function world(seed, o)
   math.randomseed(seed)
   local topo = build()
   local left = {}
   for name, share in pairs(o.left or {}) do
      left[topo.component_id[name]] = share
   end
   return setmetatable({ topo = topo, coverage = coverage.new(false, #topo.components), now = 1000,
      diagnosis = diagnose.new(topo, sim.quick), left = left, answers = o.answers, goes = o.goes,
      traces = traces.new(), id = 0, event = 0 }, World)
end

local function leaf_of(n) return (n - 1) // PER end

-- The links of the way over a spine.
local function links(self, t, spine)
   local id = self.topo.component_id
   return id[up_name(leaf_of(t.src), spine)], id[down_name(spine, leaf_of(t.dst))]
end

-- By which spine its first stream goes: ports are tried until one is by the link it is aimed at,
-- which of 6 spines one of 16 is in 19 of 20.
local function choose(self, t)
   if t.aim and math.random() < 0.95 then
      for spine = 0, SPINES - 1 do
         local up, down = links(self, t, spine)
         if t.aim.link == up or t.aim.link == down then
            return spine, t.streams
         end
      end
   end
   return math.random(0, SPINES - 1), 0
end

local function measure(self, t)
   local spine, aimed = choose(self, t)
   local Bps, list = 24e6, nil
   if leaf_of(t.src) ~= leaf_of(t.dst) then
      local up, down = links(self, t, spine)
      Bps = Bps * math.min(self.left[up] or 1, self.left[down] or 1)
      -- routers tell the port that a request came in by
      list = { "", down_address(spine, leaf_of(t.src)), up_address(leaf_of(t.dst), spine) }
      if self.answers then
         self.answers(t, list, spine)
      end
   end
   Bps = Bps * (1 + 0.01 * (math.random() - 0.5))
   Bps = self.goes and self.goes(t, Bps, spine) or Bps
   local recv = { bytes = math.floor(Bps * 20e-3), window_ns = 20000000, sub_bytes = {} }
   for i = 1, 8 do
      recv.sub_bytes[i] = recv.bytes / 8
   end
   if t.asked then
      local answers = t.trace and list or nil
      self.traces:take(self.topo, t.asked, answers)
      ways.take(self.topo, t, ways.shown(self.topo, t.asked, answers), aimed)
   end
   return { bytes = recv.bytes, window_ns = recv.window_ns }, recv
end

function World:check(nodes)
   self.event, self.now = self.event + 1, self.now + 10
   local o = { topology = self.topo, nodes = nodes, coverage = self.coverage, checks = sim.checks,
      now = self.now, budget_ms = 220, wanted = self.diagnosis:wanted(),
      watched = self.diagnosis:watched() }
   local list = plan.schedule(plan.make(o), o, function()
      self.id = self.id + 1
      return self.id
   end)
   local told = {}
   for _, t in ipairs(list) do
      t.event, t.time, t.job = self.event, self.now, self.event
      told[t] = { measure(self, t) }
   end
   ways.share(list)
   for _, t in ipairs(list) do
      judge.test(t, told[t][1], told[t][2], self.topo, self.diagnosis.s)
   end
   self.diagnosis:observe(list, self.now)
end

function World:play(jobs)
   for _ = 1, jobs or JOBS do
      local nodes, taken = {}, {}
      for _ = 1, math.random(4, 16) do
         local n = math.random(1, #self.topo.nodes)
         nodes[#nodes + 1], taken[n] = not taken[n] and n or nil, true
      end
      table.sort(nodes)
      self:check(nodes)
   end
   return self
end

-- Names that have a verdict.
local function named(w)
   local list = {}
   for _, v in ipairs(w.diagnosis:verdicts()) do
      list[#list + 1] = w.topo.components[v.component]
   end
   table.sort(list)
   return list
end

-- Those named first, within 600 jobs.
local function first_named(w)
   for _ = 1, 60 do
      if named(w:play(10))[1] then
         return named(w)
      end
   end
   return {}
end

-- Spine 2 says that it is spine 3.
local function switch_lies(t, list, spine)
   if spine == 2 then
      list[2] = down_address(3, leaf_of(t.src))
   end
end

-- … and so do all leaves of what came from there: a fabric whose addresses were mixed up.
local function all_lie(t, list, spine)
   if spine == 2 then
      list[2], list[3] = down_address(3, leaf_of(t.src)), up_address(leaf_of(t.dst), 3)
   end
end

-- On n12 somebody with raw sockets, or its root, answers all that its probe asks.
local LIAR = 13
local function node_lies(t, list)
   if t.src == LIAR then
      list[2], list[3] = down_address(3, leaf_of(t.src)), up_address(leaf_of(t.dst), 3)
   end
end

-- … with whatever comes to his mind
local function node_raves(t, list)
   if t.src == LIAR then
      list[2] = ("10.%d.%d.%d"):format(math.random(1, 3), math.random(0, 8), math.random(0, 8))
      list[3] = math.random() < 0.5 and "" or up_address(math.random(0, 7), math.random(0, 5))
   end
end

local LIES = { switch = switch_lies, all = all_lie, node = node_lies, raving = node_raves }

function tests.test_with_true_answers_a_slow_link_is_found()
   for seed = 1, 3 do
      lu.assertEquals(first_named(world(seed, { left = { [up_name(3, 2)] = 0.4 } })),
         { up_name(3, 2) })
   end
end

function tests.test_lies_alone_call_nothing_slow()
   for name, answers in pairs(LIES) do
      for seed = 1, 2 do
         lu.assertEquals(named(world(seed, { answers = answers }):play()), {}, name)
      end
   end
end

-- A slow link without false reports.
function tests.test_a_slow_link_is_found_among_lies()
   for name, answers in pairs(LIES) do
      for seed = 1, 2 do
         lu.assertEquals(first_named(world(seed, { left = { [up_name(5, 4)] = 0.4 },
            answers = answers })), { up_name(5, 4) }, name)
      end
   end
end

-- The slow link is the lying switch's own: others' word is against it, and nobody else is named.
function tests.test_a_switch_that_lies_hides_its_own_links_at_most()
   for name, answers in pairs { switch = switch_lies, all = all_lie } do
      for seed = 1, 4 do
         local w = world(seed, { left = { [up_name(3, 2)] = 0.4 }, answers = answers }):play(300)
         for _, c in ipairs(named(w)) do
            lu.assertEquals(c, up_name(3, 2), name)
         end
      end
   end
end

-- Root of a node slows his own tests down, and says by which link they went: at most his own node
-- is named.
function tests.test_a_node_that_lies_about_rates_and_ways_accuses_itself_at_most()
   for seed = 1, 4 do
      local w = world(seed, { answers = node_lies, goes = function(t, Bps)
         return (t.src == LIAR or t.dst == LIAR) and 0.4 * Bps or Bps
      end }):play(300)
      for _, c in ipairs(named(w)) do
         lu.assertStrContains(c, w.topo.nodes[LIAR] .. "/")
      end
   end
end

-- … slow on one link only, as that link would be.
function tests.test_a_node_that_plays_a_slow_link_accuses_nobody_else()
   for seed = 1, 4 do
      local w = world(seed, { answers = node_lies, goes = function(t, Bps)
         return t.src == LIAR and t.streams > 1 and 0.4 * Bps or Bps
      end }):play(300)
      for _, c in ipairs(named(w)) do
         lu.assertStrContains(c, w.topo.nodes[LIAR] .. "/")
      end
   end
end

-- Addresses of nowhere, and of routers that are on no such way, are counted for `taut doctor`.
function tests.test_what_does_not_fit_the_wiring_is_told()
   local w = world(1, { answers = node_raves }):play(40)
   lu.assertTrue(w.traces.unknown > 0)
   lu.assertTrue(w.traces.elsewhere > 0)
   lu.assertTrue(world(1, { answers = switch_lies }):play(40).traces.torn > 0)
   lu.assertEquals(world(1, {}):play(40).traces.odd, {})
end

return tests
