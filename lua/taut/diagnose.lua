--- Which component is slow: runs of low tests, and two stages.
--
-- A component's run is its low tests since the last test that cleared it.  A long enough run
-- with a ceiling makes a suspect; tests asked for to confirm it make the verdict.  Each RESULT
-- costs work in proportion to its own tests and the runs they touch.
--
-- States: "ok", "suspect", "slow", "failed"; a component nobody tested is "unknown".
local blame = require "taut.blame"
local judge = require "taut.judge"
local runs = require "taut.runs"
local stages = require "taut.stages"

local diagnose = {}
local Diagnosis = {}
Diagnosis.__index = Diagnosis

local RUN_MAX = 200   -- low tests remembered per component
local ACK_RATIO = 0.05 -- below this, a dead acknowledgement route may be what is wrong

--- @param topo topology
-- @param s the `diagnosis` section of the configuration
function diagnose.new(topo, s)
   return setmetatable({ topo = topo, s = s, comp = {}, open = {} }, Diagnosis)
end

local function fresh()
   return { state = "unknown", run = {}, confirmed = {}, tests = 0, good = 0, busy = 0 }
end

function Diagnosis:component(c)
   local k = self.comp[c]
   if not k then
      k = fresh()
      self.comp[c] = k
   end
   return k
end

function Diagnosis:state(c)
   local k = self.comp[c]
   return k and k.state or "unknown"
end

--- Is there a verdict of slow or failed on component c?
function Diagnosis:is_decided(c)
   local state = self:state(c)
   return state == "slow" or state == "failed"
end

---------------------------------------------------------------- taking in tests

--- Components a low test speaks against: those its route surely used, and where nearly nothing
-- arrived also those on the way that the acknowledgements take.
function Diagnosis:accused(t)
   local list = {}
   for i, c in ipairs(stages.sure(t.route)) do
      list[i] = c
   end
   if t.ratio < ACK_RATIO then
      for _, c in ipairs(stages.sure(self.topo:route(t.dst, t.src))) do
         list[#list + 1] = c
      end
   end
   return list
end

local function add_low(self, t, touched)
   for _, c in ipairs(self:accused(t)) do
      local k = self:component(c)
      local run = k.run
      k.good = 0
      self.open[c] = true
      run[#run + 1] = t
      if #run > RUN_MAX then
         table.remove(run, 1)
      end
      touched[c] = true
   end
end

-- Does a good test clear component c?  It must have shown `good` of c's own capacity, or nearly
-- the most that this route can show where that is less.
local function clears(self, t, c)
   local cap = self.topo.capacity[c] / (t.through and t.through[c] or 1)
   if t.bw_Bps >= self.s.good * cap then
      return true
   end
   return t.expected_Bps < self.s.good * cap and t.bw_Bps >= self.s.clear_most * t.expected_Bps
end

local function clear(self, c, t, touched)
   local k = self:component(c)
   k.cleared_at, k.cleared_by = t.time, t.id
   if #k.run > 0 or k.state ~= "ok" then
      k.run, k.busy, k.confirmed = {}, 0, {}
      touched[c] = true
   end
   k.good = k.good + 1
end

local function add_good(self, t, touched)
   for _, c in ipairs(stages.sure(t.route)) do
      if clears(self, t, c) then
         clear(self, c, t, touched)
      end
   end
   -- acknowledgements came through: what was held against that way for silence is void
   for _, c in ipairs(stages.sure(self.topo:route(t.dst, t.src))) do
      local k = self.comp[c]
      if k and #k.run > 0 then
         k.run = runs.without(k.run, function(low)
            return low.ratio < ACK_RATIO and not low.on_route[c]
         end)
         touched[c] = true
      end
   end
end

-- Pairs of confirming tests (one stream, several streams) of one event.
local function confirmations(tests)
   local first, list = {}, {}
   for _, t in ipairs(tests) do
      if t.confirms then
         local key = t.confirms .. ":" .. t.src .. ">" .. t.dst
         if first[key] then
            list[#list + 1] = { c = t.confirms, one = first[key], many = t }
         else
            first[key] = t
         end
      end
   end
   return list
end

-- Does the total grow with the streams?  Compared with the best that one stream got since the
-- component was last cleared: a single stream may have met a pause.
local function total_grows(self, k, p)
   local best = p.one.ratio
   for _, t in ipairs(k.run) do
      best = t.streams == 1 and math.max(best, t.ratio) or best
   end
   return p.many.ratio > self.s.grows * best and p.many.ratio > 2 * self.s.failed
end

local function confirm(self, tests, touched)
   for _, t in ipairs(tests) do
      if t.confirms then
         local k = self:component(t.confirms)
         k.asked = (k.asked or 0) + 1
      end
   end
   for _, p in ipairs(confirmations(tests)) do
      local k = self:component(p.c)
      if p.one.class == "low" and p.many.class ~= "void" and k.state ~= "ok" then
         if total_grows(self, k, p) then
            k.busy = k.busy + 1
         elseif p.many.class == "low" then
            table.insert(k.confirmed, { one = p.one, many = p.many, time = p.one.time,
               event = p.one.event, src = p.one.src, dst = p.one.dst })
         end
         touched[p.c] = true
      end
   end
end

---------------------------------------------------------------- judging runs

-- The far end of a test as seen from component c: the other node for a tx or rx, the pair of
-- nodes for a link.
local function far_end(self, c)
   local node = self.topo:node_of(c)
   return function(t)
      if node then
         return t.src == node and t.dst or t.src
      end
      return t.src .. ">" .. t.dst
   end
end

-- On probation half of the evidence is enough.
local function needed(k, n, now)
   return k.probation_until and now < k.probation_until and math.max(1, (n + 1) // 2) or n
end

local function is_suspect(self, c, run, now)
   local s, k = self.s, self:component(c)
   return #run >= needed(k, s.suspect_low, now)
      and runs.count(run, function(t) return t.event end) >= needed(k, s.suspect_events, now)
      and runs.has_ceiling(run, s.ceiling)
end

-- Confirming far ends: those that had shown nothing low before, or, where too few are left,
-- all there are.
local function far_enough(self, c, k, now)
   local far, ends = far_end(self, c), {}
   local fresh_ends, all = 0, 0
   for _, f in ipairs(k.confirmed) do
      local e = far(f)
      if not ends[e] then
         ends[e] = true
         all = all + 1
         fresh_ends = fresh_ends + ((k.seen_far or {})[e] and 0 or 1)
      end
   end
   local want = needed(k, self.s.slow_far, now)
   local others = self.topo:node_of(c) and #self.topo.nodes - 1 or math.huge
   local seen = 0
   for _ in pairs(k.seen_far or {}) do
      seen = seen + 1
   end
   return fresh_ends >= math.min(want, others - seen) and all >= math.min(want, others)
end

local function is_confirmed(self, c, k, now)
   local s = self.s
   if #k.confirmed < needed(k, s.slow_low, now) or not far_enough(self, c, k, now) then
      return false
   end
   local first, last = k.confirmed[1].time, k.confirmed[#k.confirmed].time
   return last - first >= s.confirm_span_h * 3600
end

-- Where no confirming test could be run, many low ones since it became suspect will do.
local function is_unconfirmed_slow(self, c, k, all)
   local s = self.s
   if k.busy > 0 or #k.confirmed > 0 or (k.asked or 0) > 0 then
      return false
   end
   local run = runs.without(all, function(t) return t.time <= k.suspect_at end)
   return #run >= s.unconfirmed_low
      and runs.count(run, function(t) return t.event end) >= s.unconfirmed_events
      and runs.count(run, far_end(self, c)) >= s.reporters
end

local function enough_reporters(self, c, k)
   if not self.topo:node_of(c) then
      return true
   end
   local all = {}
   table.move(k.run, 1, #k.run, 1, all)
   for _, f in ipairs(k.confirmed) do
      all[#all + 1] = f.one
   end
   return runs.count(all, far_end(self, c)) >= math.min(self.s.reporters, #self.topo.nodes - 1)
end

---------------------------------------------------------------- states

local function set_state(self, c, state, now, changes)
   local k = self:component(c)
   if k.state ~= state then
      changes[#changes + 1] = { component = c, from = k.state, to = state, time = now }
      k.state, k.since = state, now
   end
end

local function become_suspect(self, c, k, run)
   k.suspect_at = k.run[#k.run].time
   k.seen_far, k.asked = {}, 0
   local far = far_end(self, c)
   for _, t in ipairs(run) do
      k.seen_far[far(t)] = true
   end
end

-- Ties that no test can break: with nothing arriving, acknowledgements are lost as well, so the
-- two directions of one node, or of one cable after many tests, fail together.
local function open_ties(self, c, k, tied)
   if runs.best(k.run) >= self.s.failed then
      return #tied
   end
   local topo, n = self.topo, 0
   for _, other in ipairs(tied) do
      local one_node = topo:node_of(c) and topo:node_of(c) == topo:node_of(other)
      local one_cable = topo:is_link(c) and topo:opposite(c) == other
         and #k.confirmed >= 2 * self.s.slow_low
      n = n + ((one_node or one_cable) and 0 or 1)
   end
   return n
end

local function verdict_of(self, c, k, found, now)
   if open_ties(self, c, k, found.tied) == 0 and enough_reporters(self, c, k) and
      (is_confirmed(self, c, k, now) or is_unconfirmed_slow(self, c, k, found.run)) then
      return runs.best(k.run) < self.s.failed and "failed" or "slow"
   end
   return "suspect"
end

-- Is something in a suspect's run that no other suspect explains?  Then it stays one although its
-- tests scatter now: only a clearing test ends a run.
local function is_open(k, explained)
   for _, t in ipairs(k.run) do
      if not explained[t] then
         return true
      end
   end
   return false
end

local function settle(self, c, found, explained, now, changes)
   local k = self:component(c)
   if self:is_decided(c) then
      if #k.run == 0 and k.good >= self.s.recover_good then
         set_state(self, c, "ok", now, changes)
      end
   elseif found then
      if k.state ~= "suspect" then
         set_state(self, c, "suspect", now, changes)
         become_suspect(self, c, k, found.run)
      end
      k.tied, k.scatters = found.tied, nil
      local verdict = verdict_of(self, c, k, found, now)
      if verdict ~= "suspect" then
         k.left = math.min(1, runs.best(k.run))
         k.good = 0
      end
      set_state(self, c, verdict, now, changes)
   elseif k.state == "suspect" and is_open(k, explained) then
      k.tied, k.scatters = nil, true
   elseif k.state == "suspect" or (k.state == "unknown" and k.cleared_at) then
      k.tied = nil
      set_state(self, c, "ok", now, changes)
   end
end

local function forget_old(self, touched, now)
   local oldest = now - self.s.forget_days * 86400
   for c in pairs(touched) do
      local k = self:component(c)
      if k.run[1] and k.run[1].time < oldest then
         k.run = runs.without(k.run, function(t) return t.time < oldest end)
      end
   end
end

local function evidence_of(tests)
   local list = {}
   for _, t in ipairs(tests) do
      list[#list + 1] = judge.is_evidence(t) and t or nil
   end
   return list
end

--- Take in the tests of one event (a check or an idle cycle).
-- @param tests array of judged tests (judge.lua) with id, event (number) and time (seconds); those
--   that are no evidence are left out
-- @param now seconds
-- @return array of changes { component, from, to, time }; set of the components whose run, state
--   or confirmations changed
function Diagnosis:observe(tests, now)
   local touched = {}
   tests = evidence_of(tests)
   for _, t in ipairs(tests) do
      t.on_route = {}
      for _, c in ipairs(stages.sure(t.route)) do
         t.on_route[c] = true
         if t.class ~= "void" then
            local k = self:component(c)
            k.tests, k.last = k.tests + 1, t.time
         end
      end
      if t.class == "low" then
         add_low(self, t, touched)
      end
   end
   confirm(self, tests, touched)
   for _, t in ipairs(tests) do
      if t.class == "good" then
         add_good(self, t, touched)
      end
   end
   return self:judge(touched, now), touched
end

--- Judge the touched components anew.
function Diagnosis:judge(touched, now)
   forget_old(self, touched, now)
   local comps, changes = blame.concerned(self, touched), {}
   local found, explained = blame.explain(self, comps, function(c, tests)
      return is_suspect(self, c, tests, now)
   end)
   local order = {}
   for c in pairs(comps) do
      order[#order + 1] = c
   end
   table.sort(order)
   for _, c in ipairs(order) do
      settle(self, c, found[c], explained, now, changes)
   end
   return changes
end

-- Components with something against them, so that nobody walks through the whole machine.
local function open_components(self)
   for c in pairs(self.open) do
      local k = self.comp[c]
      if #k.run == 0 and k.state ~= "suspect" then
         self.open[c] = nil
      end
   end
   local c
   return function()
      c = next(self.open, c)
      return c, self.comp[c]
   end
end

--- Take over what is known of a component, as the store kept it.
function Diagnosis:restore(c, k)
   self.comp[c], self.open[c] = k, true
end

--- Suspects and what the next plans should test about them.
-- @return array of { component, tied = set, seen = map node → tests, tests = pairs still needed,
--   since }, those on probation first, then the oldest
function Diagnosis:wanted(now)
   local list = {}
   for c, k in open_components(self) do
      if k.state == "suspect" then
         local tied, seen = {}, {}
         for _, other in ipairs(k.tied or {}) do
            tied[other] = true
         end
         for _, t in ipairs(k.run) do
            seen[t.src] = (seen[t.src] or 0) + 1
            seen[t.dst] = (seen[t.dst] or 0) + 1
         end
         list[#list + 1] = { component = c, tied = tied, seen = seen, since = k.suspect_at or 0,
            tests = math.max(1, needed(k, self.s.slow_low, now) - #k.confirmed),
            probation = k.probation_until and now < k.probation_until or false }
      end
   end
   table.sort(list, function(a, b)
      if a.probation ~= b.probation then
         return a.probation
      end
      return a.since < b.since or a.since == b.since and a.component < b.component
   end)
   return list
end

local WATCHED = 4

--- Components that are no suspects, but whose last test was low: the longest runs first.
-- @return array as of `wanted`, without `tests`
function Diagnosis:watched()
   local list = {}
   for c, k in open_components(self) do
      if #k.run > 0 and k.state ~= "suspect" and not self:is_decided(c) then
         list[#list + 1] = { component = c, tied = {}, seen = {}, low = #k.run }
      end
   end
   table.sort(list, function(a, b)
      return a.low ~= b.low and a.low > b.low or a.low == b.low and a.component < b.component
   end)
   return table.move(list, 1, math.min(#list, WATCHED), 1, {})
end

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
   k.run, k.confirmed, k.busy, k.tied, k.left, k.good = {}, {}, 0, nil, nil, 0
   k.probation_until = probation_s > 0 and now + probation_s or nil
   set_state(self, c, "ok", now, changes or {})
end

--- What the verdict on a component says beside its state: "busy?", a tie, probation.
function Diagnosis:remark(c, now)
   local k = self.comp[c]
   if not k then
      return ""
   end
   local words = {}
   if k.state == "suspect" and (k.busy > 0 or k.scatters) then
      words[#words + 1] = "busy?"
   end
   if k.state == "suspect" and k.tied and #k.tied > 0 then
      local names = {}
      for i, other in ipairs(k.tied) do
         names[i] = self.topo.components[other]
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
