-- SPDX-License-Identifier: GPL-2.0-or-later
--- The audit: every link of the machine, as TopoBW does it.
-- Source: Ezell, "Understanding the Impact of Interconnect Failures on System Operation", CUG 2013.
--
-- First all tests of links.plan; then what was low is measured again until it was well once or low
-- often enough, and what was void until it means something.  What it all says is in outcome.lua.
local json = require "taut.json"
local links = require "taut.survey.links"
local outcome = require "taut.survey.outcome"
local report = require "taut.report"
local schedule = require "taut.survey.schedule"
local set_text = require "taut.diagnose.sets.text"
local slow = require "taut.survey.slow"
local tables = require "taut.base.tables"
local wire = require "taut.wire"

local audit = { history = "last_audit" }
local Audit = {}
Audit.__index = Audit

local TRIES = 10  -- how often what meant nothing is tried again
local AT_ONCE = 4 -- tests of a phase, from the second try on, at least

---------------------------------------------------------------- options

local function check_options(options)
   if options.solo ~= nil and type(options.solo) ~= "boolean" then
      return "solo: expected true or false"
   elseif options.test_ms ~= nil and not (math.type(options.test_ms) == "integer"
      and options.test_ms >= wire.TEST_MIN_MS and options.test_ms <= wire.TEST_MAX_MS) then
      return ("test_ms: expected a whole number from %d to %d, got %s"):format(wire.TEST_MIN_MS,
         wire.TEST_MAX_MS, tostring(options.test_ms):sub(1, 40))
   end
   return nil
end

---------------------------------------------------------------- phases

-- What is known of each thing that is measured (slow.key: a link or a pair, alone or shared).
local function note_test(self, test)
   local key = slow.key(test)
   local k = self.known[key]
   if not k then
      k = { test = test, low = {}, again = 0, tries = 0 }
      self.known[key], self.order[#self.order + 1] = k, key
   end
   k.tries = k.tries + tables.one_if(test.again)
   if test.class == "low" then
      k.low[#k.low + 1] = test.ratio
      k.again = k.again + tables.one_if(test.again)
   end
   k.well = k.well or test.class == "good" or test.part
   k.mixed = test.flow and (k.mixed or k.well and #k.low > 0)
end

-- Is it to be measured again?  What was low until it was well once or low again often enough, what
-- was void until it meant something; a shared test only when it was low.
local function is_open(self, kept)
   if kept.well or kept.replaced then
      return false
   elseif #kept.low > 0 then
      local needed = self.settings.confirm
      return kept.tries < needed + TRIES and
         not slow.is_settled(kept.low, kept.again, needed, self.diagnosis.ceiling)
   end
   return kept.test.sending == "E" and kept.tries < TRIES
end

-- At most so many tests of a phase at once: what meant nothing while all nodes were at work may
-- do so while fewer are.
local function split_phases(phases, most)
   local list = {}
   for _, phase in ipairs(phases) do
      for first = 1, #phase, most do
         list[#list + 1] = table.move(phase, first, math.min(first + most - 1, #phase), 1, {})
      end
   end
   return list
end

-- One more look at everything that is open, by another pair where there is one.
local function look_again(self, turn, present)
   local items = {}
   local there = links.there(self.topo, present)
   for _, key in ipairs(self.order) do
      local k = self.known[key]
      local list = is_open(self, k) and links.again(self.topo, there, k.test, turn)
      if k.mixed and turn == 1 then -- one of a set on its way is slow: which set?
         list = links.other_flows(self.topo, there, k.test)
      end
      for _, a in ipairs(list or {}) do
         -- another pair of one router is another thing, and has its own tries
         k.replaced = k.test.same and slow.key(a) ~= key
         items[#items + 1] = a
         self.breathe()
      end
   end
   return schedule.colour(items, self.topo, { ordered = true, breathe = self.breathe })
end

-- Later tries last longer: what comes in lumps evens out.
local function with_length(self, phases)
   local ms = self.options.test_ms or self.settings.test_ms
   local times = ({ 1, 1, 2 })[self.stage] or 4
   for _, phase in ipairs(phases) do
      for _, t in ipairs(phase) do
         t.dur_ms = math.min(wire.TEST_MAX_MS, times * ms)
      end
   end
   return phases
end

--- Phases to run next, or nil at the end.
-- @param present set of nodes that still take part
function Audit:next(present)
   self.stage = self.stage + 1
   if self.stage == 1 then
      return with_length(self, self.plan.phases)
   end
   local phases = look_again(self, self.stage - 1, present)
   if #phases == 0 then
      return nil
   end
   local most = 0
   for _, phase in ipairs(phases) do
      most = math.max(most, #phase)
   end
   if self.stage > 2 then
      -- groups of shared tests must stay together: those phases stay whole
      for _, phase in ipairs(phases) do
         for _, t in ipairs(phase) do
            if t.group then
               most = 0
            end
         end
      end
      if most > 0 then
         phases = split_phases(phases, math.max(AT_ONCE, most // 4))
      end
   end
   return with_length(self, phases)
end

---------------------------------------------------------------- results

-- A link, a set of them, tx or rx in the owner's words.
local function label_of(self, test)
   local topo = self.topo
   local set = not test.link and test.sets and test.sets[1]
   if set then
      return topo:kind(set[1]), links.letter(topo, set[1])
   elseif test.link then
      return topo:kind(test.link), links.letter(topo, test.link)
   end
   return "--", "G"
end

-- What a test is about in plain words, off the tori whose letters are TopoBW's; else nil.
local function what_about(self, test)
   local topo, set = self.topo, not test.link and test.sets and test.sets[1]
   if topo.kind_name == "torus" then
      return nil
   elseif set then
      return set_text.of(topo, set)
   elseif test.link then
      return topo:kind(test.link)
   end
   return "same router"
end

local function row_of(self, test)
   local dir, kind = label_of(self, test)
   local class, of = test.class, nil
   if test.part then
      class = "part"
   end
   if not test.link and test.sets then
      of = #test.sets[1]
   end
   return { src = test.src_name, dst = test.dst_name, about = what_about(self, test),
      from = test.src - 1,
      to = test.dst - 1, dir = dir,
      kind = kind, mode = test.sending, link = test.link and self.topo.components[test.link],
      seconds = (test.window_ns or 0) / 1e9, bw_Bps = test.bw_Bps or 0,
         expected_Bps = test.expected_Bps,
      ratio = test.ratio, class = class, why = test.why, again = test.again, rail = test.rail,
      of = of }
end

--- Tests of a round, judged.
function Audit:take(tests)
   local rows = json.array {}
   for i, t in ipairs(tests) do
      rows[i] = row_of(self, t)
      self.breathe()
      self.results[#self.results + 1] = t
      note_test(self, t)
   end
   return rows
end

--- Rows of the last audit that was stored.
function Audit:recall(rows)
   self.last = rows
end

--- What the audit found: see outcome.lua.
function Audit:finish(why)
   return outcome.of { topo = self.topo, results = self.results, plan = self.plan,
      diagnosis = self.diagnosis, needed = self.settings.confirm, last = self.last, ended = why,
      missing = self.missing, unknown = self.unknown, breathe = self.breathe }
end

--- See survey.init.
function audit.begin(ctx)
   local why = check_options(ctx.options)
   if why then
      return nil, why
   elseif #ctx.nodes < 2 then
      return nil, report.text_if(#ctx.unknown > 0,
         "fewer than two nodes of this step are in the topology",
         "fewer than two nodes have come")
   end
   local self = setmetatable({ topo = ctx.topology, settings = ctx.settings,
      diagnosis = ctx.diagnosis, options = ctx.options, stage = 0, known = {}, order = {},
      breathe = ctx.breathe or function() end, results = {},
      missing = ctx.missing, unknown = ctx.unknown,
      plan = links.plan(ctx.topology, ctx.nodes, ctx.options.solo, ctx.breathe) }, Audit)
   self.phases = #self.plan.phases
   if self.phases == 0 then
      return nil, "no link lies between these nodes"
   end
   return self
end

return audit
