--- Which component is slow: runs of low tests, and two stages.
--
-- A component's run is its low tests since the last test that cleared it; taut.evidence (C) keeps the
-- runs, walks the routes and weighs each run as log odds of "broken" against "busy".  Here is what
-- follows: a run that weighs enough makes a suspect, which the next plans test; the suspect is
-- called slow when its ceiling was seen in enough spells, by enough far ends, and nothing else on
-- the way could be it just as well.  Each event costs work in proportion to its own tests.
--
-- States: "ok", "suspect", "slow", "failed"; a component nobody tested is "unknown".
local around = require "taut.diagnose.around"
local busy = require "taut.diagnose.busy"
local evidence = require "taut.evidence"
local judge = require "taut.judge"
local verdict = require "taut.diagnose.verdict"
local wants = require "taut.diagnose.wants"

local diagnose = {}
local Diagnosis = {}
Diagnosis.__index = Diagnosis

Diagnosis.wants, Diagnosis.wanted, Diagnosis.watched = wants.wants, wants.wanted, wants.watched

--- @param topo topology
-- @param s the `diagnosis` section of the configuration
function diagnose.new(topo, s)
   local self = setmetatable({ topo = topo, s = s, comp = {}, suspects = {}, version = 0,
      evidence = evidence.new(topo.graph, s, around.groups(topo)) }, Diagnosis)
   -- what the engine knows of a component reads like a field of it
   self.engine_fields = {
      run = function(c) return self.evidence:run(c) end,
      tests = function(c) return self.evidence:seen(c).tests end,
      good = function(c) return self.evidence:seen(c).good end,
      last = function(c) return self.evidence:seen(c).last end,
      cleared_at = function(c) return self.evidence:seen(c).cleared_at end,
      cleared_by = function(c) return self.evidence:seen(c).cleared_by end,
   }
   return self
end

--- Other settings, from now on.
function Diagnosis:settings(s)
   self.s = s
   self.evidence:rules(s)
end

local function attach(self, c, k)
   return setmetatable(k, { __index = function(_, name)
      local f = self.engine_fields[name]
      return f and f(c)
   end })
end

--- What is known of component c: state, since, left, busy, confirmed, tied, whole, and from the
-- engine run (a new array each time it is asked for), tests, good, last, cleared_at, cleared_by.
function Diagnosis:component(c)
   local k = self.comp[c]
   if not k then
      k = attach(self, c, { state = "unknown", confirmed = {}, busy = 0 })
      k.state = k.cleared_at and "ok" or "unknown"
      self.comp[c] = k
   end
   return k
end

function Diagnosis:state(c)
   local k = self.comp[c]
   if k and k.state ~= "unknown" then
      return k.state
   end
   return self.evidence:cleared(c) > -math.huge and "ok" or "unknown"
end

--- Is there a verdict of slow or failed on component c?
function Diagnosis:is_decided(c)
   local state = self:state(c)
   return state == "slow" or state == "failed"
end

---------------------------------------------------------------- states

local function set_state(self, c, state, now, changes)
   local k = self:component(c)
   if k.state ~= state then
      changes[#changes + 1] = { component = c, from = k.state, to = state, state = state,
         time = now, left = k.left }
      k.state, k.since = state, now
      self.suspects[c] = state == "suspect" or nil
      self.evidence:watch(c, state == "suspect" or state == "slow" or state == "failed")
      self.version = self.version + 1
   end
end

local function become_slow(self, c, k, case, rivals, now, changes)
   k.left = math.min(1, case.best)
   k.case = case
   k.ruled_out = rivals
   k.evidence = self.evidence:run(c)
   self.evidence:name(c, k.left)
   k.tied = nil
   set_state(self, c, case.best < self.s.failed and "failed" or "slow", now, changes)
end

local function become_well(self, c, k, now, changes)
   k.tied, k.missing, k.asked, k.busy, k.confirmed = nil, nil, nil, 0, {}
   set_state(self, c, "ok", now, changes)
end

-- One component, as its run stands now.  Returns whether it was named.
local function settle(self, c, now, changes)
   local k, case = self:component(c), self.evidence:case(c)
   if self:is_decided(c) then
      if not case and k.good >= self.s.recover_good then
         self.evidence:name(c, 1)
         k.left, k.evidence, k.case, k.ruled_out = nil, nil, nil, nil
         become_well(self, c, k, now, changes)
      end
      return false
   elseif not case or not verdict.is_suspect(self, k, case, now) then
      if not case or k.state == "suspect" then
         become_well(self, c, k, now, changes)
      end
      return false
   end
   if k.state ~= "suspect" then
      k.suspect_at, k.asked = now, k.asked or 0
      set_state(self, c, "suspect", now, changes)
   end
   k.missing = verdict.missing(self, c, k, case, now)
   local rivals = verdict.rivals(self, c, k, case)
   k.tied = #rivals > 0 and rivals or nil
   if k.missing or k.tied then
      return false
   end
   become_slow(self, c, k, case, rivals, now, changes)
   return true
end

-- The strongest case first: what it explains speaks against nobody else.
local function in_order(self, list)
   local score = {}
   for _, c in ipairs(list) do
      score[c] = self.evidence:score(c)
   end
   table.sort(list, function(a, b)
      return score[a] > score[b] or score[a] == score[b] and a < b
   end)
   return list
end

--- Judge components anew, and all suspects when one of them was named.
function Diagnosis:judge(list, now)
   local changes, named = {}, false
   for _, c in ipairs(in_order(self, list)) do
      named = settle(self, c, now, changes) or named
   end
   while named do
      local again = {}
      for c in pairs(self.suspects) do
         again[#again + 1] = c
      end
      named = false
      for _, c in ipairs(in_order(self, again)) do
         named = settle(self, c, now, changes) or named
      end
   end
   return changes
end

---------------------------------------------------------------- taking in tests

--- Take in one event as measured: for each test the bytes/s of its flows, one after the other.
-- @param o tests: array of { src, dst, phase, confirms … } (plan.lua); values: for each an array of
--   bytes/s, or false where it means nothing; time (seconds), event (number)
-- @return array of changes { component, from, to, time, left }
function Diagnosis:observe_event(o)
   local touched = self.evidence:observe(o.tests, o.values, o.time, o.event)
   for _, t in ipairs(next(self.suspects) and o.tests or {}) do
      if t.confirms then
         local k = self:component(t.confirms)
         k.asked = (k.asked or 0) + 1
      end
   end
   return self:judge(touched, o.time)
end

local function evidence_of(tests)
   local list = {}
   for _, t in ipairs(tests) do
      list[#list + 1] = judge.is_evidence(t) and t or nil
   end
   return list
end

--- Take in the tests of one event (a check or an idle cycle) as judge.lua left them.
-- @param tests array of judged tests with id, event (number) and time (seconds); those that are no
--   evidence are left out
-- @param now seconds
-- @return array of changes { component, from, to, time }; set of the components whose run, state
--   or confirmations changed
function Diagnosis:observe(tests, now)
   tests = evidence_of(tests)
   local set = {}
   if #tests == 0 then
      return {}, set
   end
   local touched = self.evidence:observe(tests, nil, tests[1].time or now, tests[1].event or 0)
   for _, c in ipairs(touched) do
      set[c] = true
   end
   for _, c in ipairs(busy.confirm(self, tests)) do
      touched[#touched + 1] = not set[c] and c or nil
      set[c] = true
   end
   return self:judge(touched, now), set
end

---------------------------------------------------------------- what is known otherwise

--- Hard evidence: what lanes, widths and speeds leave of a component, whatever tests say.
--
-- It is kept beside the runs and shown; a verdict does not follow from it yet.
-- @param left share of the capacity; 1 when nothing stands any more
-- @param why in words
function Diagnosis:hard(c, left, why)
   if left < 1 then
      self:component(c).hard = { left = left, why = why }
   elseif self.comp[c] then
      self.comp[c].hard = nil
   end
end

--- Forget what speaks against a component (released, repaired).
-- @param probation_s seconds of probation, 0 for none
function Diagnosis:forget(c, now, probation_s, changes)
   local k = self:component(c)
   self.evidence:forget(c)
   k.left, k.evidence, k.case, k.ruled_out, k.suspect_at = nil, nil, nil, nil, nil
   k.probation_until = probation_s and probation_s > 0 and now + probation_s or nil
   become_well(self, c, k, now, changes or {})
end

--- All components that have a verdict of slow or failed: array of { component, state, left, since }.
function Diagnosis:verdicts()
   local list = {}
   for c, k in pairs(self.comp) do
      if k.state == "slow" or k.state == "failed" then
         list[#list + 1] = { component = c, state = k.state, left = k.left, since = k.since }
      end
   end
   table.sort(list, function(a, b) return a.component < b.component end)
   return list
end

--- What the verdict on a component says beside its state: "busy?", a tie, probation.
function Diagnosis:remark(c, now)
   local k = self.comp[c]
   if not k then
      return ""
   end
   local words = {}
   if k.state == "suspect" and k.busy > 0 then
      words[#words + 1] = "busy?"
   end
   if k.state == "suspect" and k.tied then
      local names = {}
      for i, other in ipairs(k.tied) do
         names[i] = self.topo.components[other.component]
      end
      words[#words + 1] = "or " .. table.concat(names, " or ")
   end
   if k.hard then
      words[#words + 1] = ("%d%% left: %s"):format(math.floor(k.hard.left * 100 + 0.5), k.hard.why)
   end
   if k.probation_until and now < k.probation_until then
      words[#words + 1] = "on probation"
   end
   return table.concat(words, ", ")
end

return diagnose
