-- SPDX-License-Identifier: GPL-2.0-or-later
--- The schedule of `taut matrix`: every node to every other.
--
-- By default no two tests that run at once share a component, nor does one's data meet another's
-- acknowledgements: each figure is what that pair can do, and "slow" needs no guess about who
-- shared with whom. `steps` gives the classic all-pairs run instead:  N-1 steps (N for odd N) of
-- disjoint pairs, one direction and then the other, whatever their routes share.  A pair is then
-- compared with the capacity divided by the streams on the most loaded stage of its route.
-- Afterwards what was slow or void is measured again with nothing else in the fabric.
local report = require "taut.report"
local tables = require "taut.base.tables"
local again = require "taut.survey.matrix.again"
local data = require "taut.survey.matrix.data"
local expectation = require "taut.topology.model.expectation"
local findings = require "taut.survey.matrix.findings"
local islands = require "taut.topology.islands"
local json = require "taut.json"
local layout = require "taut.survey.matrix.layout"
local packing = require "taut.survey.matrix.packing"
local rails = require "taut.survey.matrix.rails"
local steps = require "taut.survey.matrix.steps"
local wire = require "taut.wire"

local matrix = {}
local Job = {}
Job.__index = Job

local WINDOW = 64        -- phases that are open at once while pairs are packed
local BATCH = 32         -- phases handed out at once
local AGAIN_LONGER = 2   -- tests of the second look
local LOOKS = 3          -- at a pair alone, while it stays void
local CELLS = 2000       -- pairs of a finding that its owner is told, for the picture,
local CELLS_OF = 24      -- of so many findings
local LATENCY_TIMES = 2  -- a latency is slow from so many times the usual one

---------------------------------------------------------------- the job

local function test_of(self, row, column)
   return { src = self.nodes[row], dst = self.nodes[column], i = row, j = column, kind = "matrix",
      mode = self.mode, dur_ms = self.dur_ms, rail = self.rail,
      -- streams of a step share links, evenly or not: a smaller part is no one's fault
      shown_only = self.steps or nil }
end

-- Routes of a test, or nil: then its pair is void.
local function route_test(self, test)
   local topo = self.topo
   local route, why = topo:route(test.src, test.dst)
   test.route, test.back = route, route and topo:route(test.dst, test.src)
   if test.back then
      if self.mode == "latency" then
         test.hops = topo:hops(test.src, test.dst)
      end
      return test
   end
   self.unroutable[#self.unroutable + 1] = { i = test.i, j = test.j, why = why or "no route back" }
   return nil
end

-- Without those of which no link joins the two: they are not part of the matrix.
local function drop_unjoined(self, pairs_of)
   if self.layout.apart == 0 then
      return pairs_of
   end
   return tables.filter(pairs_of, function(pair)
      return self.part[pair[1]] == self.part[pair[2]]
   end)
end

local function step_phases(self, pairs_of, ready)
   local there, back = {}, {}
   for _, p in ipairs(drop_unjoined(self, pairs_of)) do
      there[#there + 1] = route_test(self, test_of(self, p[1], p[2]))
      back[#back + 1] = route_test(self, test_of(self, p[2], p[1]))
   end
   for _, phase in ipairs { there, back } do
      expectation.of_phase(phase, self.topo)
      if #phase > 0 then
         ready[#ready + 1] = phase
      end
   end
end

local function pack_phases(self, pairs_of)
   for turn = 1, 2 do
      for _, p in ipairs(drop_unjoined(self, pairs_of)) do
         local t = route_test(self, test_of(self, p[turn], p[3 - turn]))
         if t then
            self.packing:add(t)
            self.breathe()
         end
      end
   end
end

-- The next batch of the first look at all pairs; empty when there is none.
local function first_look(self)
   local n, ready = #self.nodes, self.ready
   self.ready = {}
   while #ready < BATCH and self.step < steps.count(n) do
      self.step = self.step + 1
      local pairs_of = steps.step(n, self.step)
      if self.steps then
         step_phases(self, pairs_of, ready)
      else
         pack_phases(self, pairs_of)
      end
      if self.step == steps.count(n) then
         self.packing:finish()
      end
      self.packing:move(ready)
      self.breathe()
   end
   return ready
end

---------------------------------------------------------------- the second look

local function explain_low(self)
   if self.mode == "latency" then
      self.m:judge_latency(LATENCY_TIMES)
   end
   return findings.find(self.m, self.topo, self.nodes,
      { clear_most = self.clear_most, pause = self.breathe })
end

-- One pair at a time, with nothing else in the fabric.
local function test_alone(self, keys)
   local phases = {}
   for _, k in ipairs(keys) do
      local t = route_test(self, test_of(self, self.m:at(k)))
      if t then
         t.again, t.dur_ms = true, math.min(2000, AGAIN_LONGER * self.dur_ms)
         phases[#phases + 1] = { t }
      end
   end
   return phases
end

-- Of the pairs that were looked at again, those that are void still: a busy machine may well have
-- time for them a second later.
local function still_void(self, present)
   local keys = {}
   for _, k in ipairs(self.asked) do
      local i, j = self.m:at(k)
      if self.m.class[k] == "void" and present[self.nodes[i]] and present[self.nodes[j]] then
         keys[#keys + 1] = k
      end
   end
   return keys
end

-- The second look: what was slow or void; then a few times more what stays void.
local function second_look(self, present)
   self.looks = (self.looks or 0) + 1
   if not self.findings then
      self.findings, self.unnamed = explain_low(self)
      self.asked = {}
      if self.look_again then
         self.asked = again.keys(self.m, self.findings)
      end
   elseif self.looks <= LOOKS then
      self.asked = still_void(self, present)
   else
      self.asked = {}
   end
   return test_alone(self, self.asked)
end

--- The next phases, or nil: the matrix is complete.
-- @param present set of nodes that still take part
function Job:next(present)
   local phases = {}
   if not self.findings then
      phases = first_look(self)
   end
   if #phases == 0 then
      phases = second_look(self, present)
   end
   return tables.unless_empty(phases)
end

---------------------------------------------------------------- results

local function row_of(self, row, column, result)
   self.m:set(row, column, result)
   return { from = self.m.names[row], to = self.m.names[column], class = result.class,
      why = result.why,
      bw_Bps = result.bw_Bps, expected_Bps = result.expected_Bps, again = result.again,
         lat_ns = result.lat_ns,
      hops = result.hops, rail = self.rail }
end

--- Tests of a round, judged.  Returns rows for the owner.
function Job:take(tests)
   local rows = tables.map(self.unroutable, function(unjoined)
      return row_of(self, unjoined.i, unjoined.j, { class = "void", why = unjoined.why })
   end)
   self.unroutable = {}
   for _, t in ipairs(tests) do
      if self.mode == "latency" and t.class ~= "void" and not t.lat_ns then
         t.class, t.why = "void", "no latency was reported"
      end
      if not t.again or t.class ~= "void" then -- a void second look leaves the first one
         self.m.loads[self.m:key(t.i, t.j)] = t.through
         rows[#rows + 1] = row_of(self, t.i, t.j, { class = t.class, why = t.why,
            bw_Bps = t.bw_Bps, expected_Bps = t.expected_Bps, again = t.again,
            lat_ns = t.lat_ns, hops = t.hops })
      end
   end
   return rows
end

-- The pairs of a finding, for the owner's picture: evenly some of them where they are many.
local function cells_of(finding, nodes)
   local cells = {}
   local count = 0
   if nodes <= CELLS_OF then
      count = math.min(#finding.pairs, CELLS)
   end
   for at = 1, count do
      cells[at] = finding.pairs[1 + (at - 1) * #finding.pairs // count]
   end
   return json.array(cells)
end

-- Without what only this side understands.
local function plain_findings(list)
   return tables.map(list, function(finding, index)
      return { kind = finding.kind, name = finding.name, node = finding.node, cable = finding.cable,
         from = finding.from,
         to = finding.to, tied = finding.tied, parts = finding.parts, low = finding.low,
            clear = finding.clear, left = finding.left,
         bw_Bps = finding.bw_Bps, again = finding.again, confirmed = finding.confirmed,
            cells = cells_of(finding, index) }
   end)
end

--- Also of a run that was stopped: what was measured until then is explained.
-- @return { findings, unnamed = how many slow pairs are not named }
function Job:finish()
   if not self.findings then
      self.findings, self.unnamed = explain_low(self)
   elseif next(self.m.again) then
      local now
      now, self.unnamed = explain_low(self)
      again.merge(self.m, self.findings, now)
      again.confirm(self.m, self.findings)
   end
   return { findings = plain_findings(self.findings), unnamed = self.unnamed }
end

---------------------------------------------------------------- beginning

local function is_wrong(options)
   local ms = options.ms
   if ms ~= nil and (math.type(ms) ~= "integer" or ms < wire.TEST_MIN_MS
      or ms > wire.TEST_MAX_MS) then
      return ("ms: expected a whole number from %d to %d"):format(wire.TEST_MIN_MS,
         wire.TEST_MAX_MS)
   end
   return nil
end

-- Which part of the machine each node is in, as links join them; and how many pairs are in two.
local function parts_of(topo, nodes, rail)
   local by, part, count, apart = islands.of(topo).by_links, {}, {}, 0
   for i, n in ipairs(nodes) do
      part[i] = by[topo:router(n, rail)]
      count[part[i]] = (count[part[i]] or 0) + 1
   end
   for _, some in pairs(count) do
      apart = apart + some * (#nodes - some)
   end
   return part, apart
end

-- The matrix of one rail; its number is said where there are several.
local function begin_rail(options, nodes, rail)
   local topo, of_rail, mode = options.topology, nil, nil
   if (options.topology.rails or 1) ~= 1 then
      topo, of_rail = rails.view(options.topology, rail), rail
   end
   local names = tables.map(nodes, function(node) return topo.nodes[node] end)
   if options.options.latency then
      mode = "latency"
   end
   local self = setmetatable({ topo = topo, nodes = nodes, mode = mode,
      steps = options.options.steps == true and not mode,
         look_again = options.options.again ~= false,
      dur_ms = options.options.ms or options.settings.matrix_ms,
         clear_most = options.diagnosis.clear_most,
      m = data.new(names, { good = options.diagnosis.good, mode = mode or "stream" }), step = 0,
      ready = {}, unroutable = {}, rail = of_rail }, Job)
   self.packing = packing.new(WINDOW)
   self.breathe = options.breathe or function() end
   self.m.loads = {}
   local apart
   self.part, apart = parts_of(options.topology, nodes, rail)
   self.m.apart = apart
   self.layout = { names = names, levels = layout.levels(topo, nodes), good = self.m.good,
      latency_times = LATENCY_TIMES, steps = self.steps, ms = self.dur_ms, rail = self.rail,
      apart = apart }
   return self
end

--- @param options { topology, nodes = numbers, settings, diagnosis, options = { steps, latency, ms,
--   again = false, rail = one of several, single = there must be but one }, breathe = called
--   often, so that tautd's loop does not wait }
-- @return job (see survey/init.lua), of several rails as in rails.lua; or nil and why not
function matrix.begin(options)
   local wrong, chosen = is_wrong(options.options), nil
   if not wrong then
      chosen, wrong = rails.chosen(options.topology, options.options)
   end
   if wrong then
      return nil, wrong
   end
   local jobs, most = {}, 0
   for _, rail in ipairs(chosen) do
      local nodes = rails.nodes(options.topology, options.nodes, rail)
      most = math.max(most, #nodes)
      if #nodes >= 2 then
         jobs[#jobs + 1] = begin_rail(options, nodes, rail)
      end
   end
   if #jobs == 0 then
      return nil, ("a matrix wants at least 2 nodes that the topology knows%s, here is %s"):format(
         report.text_if(options.options.rail, " on this rail"),
         report.text_if(most == 1, "one", "none"))
   elseif #jobs == 1 then
      return jobs[1]
   end
   return rails.join(jobs)
end

return matrix
