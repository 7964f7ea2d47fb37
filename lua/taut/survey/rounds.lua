-- SPDX-License-Identifier: GPL-2.0-or-later
--- Rounds: as many phases as fit into one plan, and their tests as they go over the wire.
local endpoints = require "taut.wire.endpoints"
local json = require "taut.json"
local seal = require "taut.seal"
local stages = require "taut.topology.stages"
local tables = require "taut.base.tables"
local wire = require "taut.wire"

local rounds = {}

local TESTS_MAX = wire.TESTS_MAX - 4      -- of one node in one plan
local LAST_MS = wire.START_MAX_MS - 500   -- the last test begins so long after its plan came
local SEND_MS = 0.2                       -- building and sending one plan takes about this long

--- Call fn(component) for each component of a route; a stage may be a set of them.
function rounds.each(route, fn)
   for _, stage in ipairs(route) do
      for _, c in ipairs(stages.members(stage)) do
         fn(c)
      end
   end
end

--- Like ipairs, for long lists: breathes (task.lua) now and then.
function rounds.breathing(breathe)
   return function(list)
      local i = 0
      return function()
         i = i + 1
         if i % 64 == 0 then
            breathe()
         end
         if list[i] ~= nil then
            return i, list[i]
         end
      end
   end
end

-- Longest test of a phase, ms.
local function length_of(phase, settings)
   local most = 0
   for _, t in ipairs(phase) do
      t.dur_ms = t.dur_ms or settings.test_ms
      most = math.max(most, t.dur_ms)
   end
   return most
end

-- The most tests that one node has in a round after this phase.
local function most_of_a_node(count, phase)
   local most = 0
   for _, t in ipairs(phase) do
      for _, n in ipairs { t.src, t.dst } do
         count[n] = (count[n] or 0) + 1
         most = math.max(most, count[n])
      end
   end
   return most
end

-- What a node names as its endpoints is looked at once all are there.
local function confine_peer(peer)
   if peer.networks then
      peer.odd, peer.networks = peer.networks:confine(peer), nil
   end
   return peer.odd
end

-- Why a test cannot run now, or nil.
local function why_not(session, test)
   local a, b, names = session.present[test.src], session.present[test.dst],
      session.site.topology.nodes
   if not a then
      return names[test.src] .. " takes no part any more"
   elseif not b then
      return names[test.dst] .. " takes no part any more"
   elseif confine_peer(a) or confine_peer(b) then
      return a.odd or b.odd
   elseif endpoints.are_one_host(a.endpoints, b.endpoints) then
      return ("%s and %s are one host"):format(names[test.src], names[test.dst])
   elseif not endpoints.common(a.endpoints, b.endpoints, test.rail or 1) then
      return "no transport that both speak"
   end
   return nil
end

local function add_test(session, round, test, start_ms)
   round.all[#round.all + 1] = test
   test.skipped = why_not(session, test)
   if test.skipped then
      test.src_name, test.dst_name = session.site.topology.nodes[test.src],
         session.site.topology.nodes[test.dst]
      test.class, test.why = "void", test.skipped
      return
   end
   test.id, test.start_ms, test.streams = session.site.next_test(), start_ms, test.streams or 1
   test.token = seal.hex(seal.random(wire.TOKEN_BYTES))
   round.tests[#round.tests + 1] = test
   for _, n in ipairs { test.src, test.dst } do
      round.plans[n], round.peers[n] = round.plans[n] or {}, session.present[n]
      table.insert(round.plans[n], test)
   end
   rounds.each(test.route, function(component) round.components[component] = true end)
end

-- A phase whose tests share components: where not all of them can run, the others have more.
local function add_phase(session, round, phase, number, start_ms)
   local left = {}
   for _, t in ipairs(phase) do
      t.phase = number
      add_test(session, round, t, start_ms)
      if not t.skipped then
         left[#left + 1] = t
      end
   end
   if phase.expect then
      if #left < #phase then
         phase.expect(left)
      end
      round.shared[#round.shared + 1] = { tests = left, expect = phase.expect }
   end
end

--- Cut the next round off a list of phases.
-- @param session session (site, present)
-- @param phases, at where it begins
-- @return the round { tests, all, plans = node → tests, components, last_ms, phases, shared =
--   phases { tests, expect } whose tests share components }, and where
--   the next one begins
function rounds.cut(session, phases, at)
   local settings, first = session.site.settings, at
   local round = { tests = {}, all = {}, plans = {}, peers = {}, components = {}, last_ms = 0,
      shared = {} }
   local nodes, counts = 0, {}
   for _ in pairs(session.present) do
      nodes = nodes + 1
   end
   local ofi_ms = 0
   if session.done_phases == 0 then
      ofi_ms = endpoints.ofi_lead_ms(session.present, session.site.checks.ofi_lead_ms) or 0
   end
   local lead_ms = math.min(5000, settings.lead_ms + ofi_ms + math.ceil(nodes * SEND_MS))
   local start_ms = lead_ms
   while at <= #phases do
      local dur_ms = length_of(phases[at], settings)
      if at > first and (start_ms + dur_ms - lead_ms > settings.round_ms or
         start_ms > LAST_MS or most_of_a_node(counts, phases[at]) > TESTS_MAX) then
         break
      elseif at == first then
         most_of_a_node(counts, phases[at])
      end
      add_phase(session, round, phases[at], session.done_phases + at - first + 1, start_ms)
      round.last_ms = start_ms + dur_ms
      start_ms, at = start_ms + dur_ms + settings.gap_ms, at + 1
   end
   round.phases = at - first
   return round, at
end

--- The plan of one node.
-- @param late_ms how much later it is sent than the first one
function rounds.plan_text(session, round, node, late_ms)
   local list = json.array {}
   for i, t in ipairs(round.plans[node]) do
      local part = endpoints.wire(t, node, round.peers, session.site.topology)
      part.start_ms = math.max(0, t.start_ms - late_ms)
      list[i] = part
   end
   return json.encode { v = round.peers[node].version, note = "", tests = list }
end

-- What tests of a phase could have reached had the void ones not run at all.  Returns what was
-- expected before: test → { planned_Bps, through }.
local function without_void(phase)
   local valid, was, void = {}, {}, nil
   for _, t in ipairs(phase.tests) do
      if t.class == "void" then
         void = void or t
      else
         valid[#valid + 1] = t
         was[t] = { planned_Bps = t.planned_Bps, through = t.through }
      end
   end
   if void then
      phase.expect(valid)
   end
   return void, was
end

--- Tests that shared components with one that came out void: it is not known whether that one ran.
-- What is good even without it is good; what is low in spite of it is low, unless it was to share a
-- link with just that one; the rest means nothing.
-- @param phases of rounds.cut, `shared`, judged
-- @param settings the `diagnosis` section
function rounds.doubt(phases, settings)
   for _, phase in ipairs(phases) do
      local void, was = without_void(phase)
      for t, before in pairs(tables.or_empty(void and was)) do
         if t.bw_Bps >= settings.good * t.planned_Bps then
            t.expected_Bps, t.ratio = t.planned_Bps, t.bw_Bps / t.planned_Bps
            t.class = "good"
         elseif t.planned_Bps > before.planned_Bps * (1 + 1e-9) then
            t.planned_Bps, t.through = before.planned_Bps, before.through
            if t.class == "good" or t.group then
               t.class = "void"
               t.why = ("what it shared with %s to %s is not known: %s"):format(void.src_name,
                  void.dst_name, void.why or "no reason given")
            end
         end
      end
   end
end

--- Tests that shared a component on purpose (`group`): when together they reached what they
-- should, a low one among them only had the smaller part: it gets `part`, and is void.
-- @param tests judged
-- @param settings the `diagnosis` section
function rounds.share(tests, settings)
   local sums = {}
   for _, t in ipairs(tests) do
      if t.group then
         local g = sums[t.group] or { got = 0, planned = 0 }
         g.got, g.planned = g.got + (t.bw_Bps or 0), g.planned + (t.expected_Bps or 0)
         sums[t.group] = g
      end
   end
   for _, t in ipairs(tests) do
      local g = t.group and sums[t.group]
      if g and t.class == "low" and g.planned > 0 and g.got >= settings.good * g.planned then
         t.class, t.part = "void", true
         t.why = ("its partner had the larger part: together %d%% of what is expected"):format(
            math.floor(100 * g.got / g.planned + 0.5))
      end
   end
end

return rounds
