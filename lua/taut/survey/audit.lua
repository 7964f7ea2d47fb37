--- The audit: every link of the machine, as TopoBW does it.
-- Source: Ezell, "Understanding the Impact of Interconnect Failures on System Operation", CUG 2013.
--
-- First all tests of links.plan; then what was low is measured again several times, and what
-- was void once or twice; what it means is in outcome.lua.
local json = require "taut.json"
local links = require "taut.survey.links"
local outcome = require "taut.survey.outcome"
local schedule = require "taut.survey.schedule"

local audit = { history = "last_audit" }
local Audit = {}
Audit.__index = Audit

local VOID_TRIES = 2 -- how often a test that meant nothing is tried again

---------------------------------------------------------------- options

local function check_options(o)
   if o.solo ~= nil and type(o.solo) ~= "boolean" then
      return "solo: expected true or false"
   elseif o.test_ms ~= nil and not (math.type(o.test_ms) == "integer" and o.test_ms >= 5
      and o.test_ms <= 2000) then
      return "test_ms: expected a whole number from 5 to 2000, got " ..
         tostring(o.test_ms):sub(1, 40)
   end
   return nil
end

---------------------------------------------------------------- phases

-- Low and void tests again, `times` times, over quiet links: by another pair where there is one.
local function again(self, list, times)
   local phases = {}
   for turn = 1, times do
      local items, seen = {}, {}
      for _, t in ipairs(list) do
         local a = links.again(self.topo, self.plan.by_rail, t, turn)
         local first = a and (a[1] or a)
         local key = a and ("%d>%d %s%s %d"):format(first.src, first.dst, first.sending,
            first.link or "", first.rail or 1)
         if a and not seen[key] then
            seen[key] = true
            items[#items + 1] = a
         end
      end
      for _, phase in ipairs(schedule.colour(items, self.topo, { ordered = true })) do
         phases[#phases + 1] = phase
      end
   end
   return phases
end

local function with_length(self, phases)
   for _, phase in ipairs(phases) do
      for _, t in ipairs(phase) do
         t.dur_ms = self.options.test_ms
      end
   end
   return #phases > 0 and phases or nil
end

--- Phases to run next, or nil at the end.
function Audit:next()
   self.stage = self.stage + 1
   if self.stage == 1 then
      return with_length(self, self.plan.phases)
   elseif self.stage == 2 then
      local low = self.low
      self.low = {}
      local phases = again(self, low, self.settings.confirm)
      return with_length(self, phases) or self:next()
   elseif self.stage <= 2 + VOID_TRIES then
      local void = self.void
      self.void = {}
      return with_length(self, again(self, void, 1)) or self:next()
   end
   return nil
end

---------------------------------------------------------------- results

-- A link, tx or rx in the owner's words.
local function label(self, t)
   local topo = self.topo
   return t.link and topo:kind(t.link) or "--", t.link and links.letter(topo, t.link) or "G"
end

local function row_of(self, t)
   local dir, kind = label(self, t)
   return { src = t.src_name, dst = t.dst_name, from = t.src - 1, to = t.dst - 1, dir = dir,
      kind = kind, mode = t.sending, link = t.link and self.topo.components[t.link],
      seconds = (t.window_ns or 0) / 1e9, bw_Bps = t.bw_Bps or 0, expected_Bps = t.expected_Bps,
      ratio = t.ratio, class = t.part and "part" or t.class, why = t.why, again = t.again, rail = t.rail }
end

--- Tests of a round, judged.
function Audit:take(tests)
   local rows = json.array {}
   for i, t in ipairs(tests) do
      rows[i] = row_of(self, t)
      self.results[#self.results + 1] = t
      if t.class == "low" and self.stage == 1 then
         self.low[#self.low + 1] = t
      elseif t.class == "void" and not t.skipped and t.sending == "E" then
         self.void[#self.void + 1] = t
      end
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
      diagnosis = self.diagnosis, last = self.last, ended = why, label = function(t)
         return label(self, t)
      end, missing = self.missing, unknown = self.unknown }
end

--- See survey.init.
function audit.begin(ctx)
   local why = check_options(ctx.options)
   if why then
      return nil, why
   elseif #ctx.nodes < 2 then
      return nil, #ctx.unknown > 0 and
         "fewer than two nodes of this step are in the topology" or
         "fewer than two nodes have come"
   end
   local self = setmetatable({ topo = ctx.topology, settings = ctx.settings,
      diagnosis = ctx.diagnosis, options = ctx.options, stage = 0, low = {}, void = {},
      results = {}, missing = ctx.missing, unknown = ctx.unknown,
      plan = links.plan(ctx.topology, ctx.nodes, ctx.options.solo, ctx.breathe) }, Audit)
   self.phases = #self.plan.phases
   if self.phases == 0 then
      return nil, "no link lies between these nodes"
   end
   return self
end

return audit
