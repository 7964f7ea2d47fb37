-- SPDX-License-Identifier: GPL-2.0-or-later
--- What the baselines have in common: Taut's plan, told of their suspects, and tests as ratios.
--
-- A baseline is a table with `new(b)`, which prepares it (b: what this module makes, with the
-- thresholds in b.s), and `take(b, rows, now)` → set of components that it calls slow now, as
-- component → share left; nil when it has not looked again.
local coverage = require "taut.plan.coverage"
local operator = require "operator"
local plan = require "taut.plan"
local stages = require "taut.topology.stages"

local baseline = {}
local Baseline = {}
Baseline.__index = Baseline

local WELL = 0.75     -- ratio from which a test counts as good in the plan
local MOST_WANTS = 50 -- a plan has room for no more
local ROUTINE_S = 7200 -- between two routine tests of idle nodes

-- How many of a plan's own streams use each component in each phase.  Of a set one is taken, and
-- it is not known which.
local function count_users(list)
   local phases = {}
   for _, r in ipairs(list) do
      local users = phases[r.phase] or {}
      phases[r.phase] = users
      for _, stage in ipairs(r.stages) do
         if type(stage) == "table" then
            for _, c in ipairs(stage) do
               users[c] = (users[c] or 0) + 1 / #stage
            end
         else
            users[stage] = (users[stage] or 0) + 1
         end
      end
   end
   return phases
end

local function expectation(topo, r, users)
   local least = math.huge
   for _, c in ipairs(stages.all(r.stages)) do
      least = math.min(least, topo.capacity[c] / math.max(1, users[c]))
   end
   return least
end

-- Ratios of a test's flows that were not void: all, their mean, the best.
local function add_ratios(r, values, expected)
   local sum, n, best = 0, 0, 0
   r.flows = {}
   for _, v in ipairs(values) do
      if v then
         local y = v / expected
         n, sum, best = n + 1, sum + y, math.max(best, y)
         r.flows[n] = y
      end
   end
   r.mean, r.best = n > 0 and sum / n, best
   return n > 0
end

-- Tests as rows: { src, dst, stages, route = what it surely used, flows = ratios, mean, best,
-- counts = { sent, resent } of each flow, where somebody counts }.
local function rows_of(self, tests, values, counts)
   local all, rows = {}, {}
   for i, t in ipairs(tests) do
      local route = self.topo:route(t.src, t.dst)
      all[i] = { src = t.src, dst = t.dst, phase = t.phase, stages = route,
         route = stages.sure(route), counts = counts and counts[i] }
   end
   local phases = count_users(all)
   for i, r in ipairs(all) do
      if add_ratios(r, values[i], expectation(self.topo, r, phases[r.phase])) then
         rows[#rows + 1] = r
      end
   end
   return rows
end

-- Tests of Taut's plan; idle nodes have routine tests now and then.
function Baseline:plan(ask)
   local c, tests = self.checks, {}
   local routine = ask.purpose == "job" or ask.time >= self.routine_at + ROUTINE_S
   self.routine_at = ask.purpose == "idle" and routine and ask.time or self.routine_at
   for p, phase in ipairs(plan.make { topology = self.topo, nodes = ask.nodes,
      coverage = self.coverage, checks = c, now = ask.time, wanted = self.wanted, watched = {},
      routine = routine, budget_ms = c.lead_ms + ask.phases * (c.test_ms + c.gap_ms) }) do
      for _, t in ipairs(phase) do
         t.phase = p
         tests[#tests + 1] = t
      end
   end
   return tests
end

-- What it says now, held against what it said before.
local function changes_of(self, slow)
   local changes = {}
   for c, left in pairs(slow) do
      if not self.slow[c] then
         changes[#changes + 1] = { component = c, state = "slow", left = left }
      end
   end
   for c in pairs(self.slow) do
      if not slow[c] then
         changes[#changes + 1] = { component = c, state = "ok" }
      end
   end
   table.sort(changes, function(a, b) return a.component < b.component end)
   self.slow = slow
   return changes
end

-- What did well need not be tested again soon; the rest is.
local function tell_plan(self, rows, now)
   for _, r in ipairs(rows) do
      for _, c in ipairs(r.best >= WELL and r.route or {}) do
         self.coverage:touch(c, now)
      end
   end
end

function Baseline:observe(ask, tests, values, counts)
   local rows = rows_of(self, tests, values, counts)
   tell_plan(self, rows, ask.time)
   local slow = self.method.take(self, rows, ask.time)
   return slow and changes_of(self, slow) or {}
end

function Baseline:repaired(c)
   self.slow[c] = nil
   self.method.forget(self, c)
   self.operator:clear(c)
   return {}
end

function Baseline.ended() end

function Baseline:stops()
   return self.operator.held, self.operator.stops
end

-- What it says goes to the operator, who may drain somebody.
local function with_operator(self, observe)
   return function(_, ask, tests, values, counts)
      local changes = observe(self, ask, tests, values, counts)
      for _, change in ipairs(changes) do
         if change.state == "slow" then
            self.operator:verdict(change.component, change, ask.time)
         else
            self.operator:clear(change.component)
         end
      end
      self.operator:tick(ask.time)
      return changes
   end
end

function Baseline:explain(c, now)
   return self.method.explain and self.method.explain(self, c, now) or "nothing"
end

--- Ask the plan for more tests of these.
-- @param list components, the most suspicious first
function Baseline:wants(list)
   self.wanted = {}
   for i = 1, math.min(#list, MOST_WANTS) do
      self.wanted[i] = { component = list[i], tests = 3 }
   end
end

--- @param method the baseline
-- @param machine of machine.load
-- @param thresholds that replace those of method.tuned, or nil
-- @param site of play.lua: { meter, drain }
function baseline.new(method, machine, thresholds, site)
   local topo = machine.topo
   local b = setmetatable({ topo = topo, method = method, slow = {}, s = {}, wanted = {},
      checks = machine.conf.checks, coverage = coverage.new(false, #topo.components),
      routine_at = -math.huge, operator = operator.new(topo, machine.conf.policy, site.drain) },
      Baseline)
   for name, value in pairs(method.tuned) do
      b.s[name] = thresholds and thresholds[name] or value
   end
   method.new(b)
   b.plan = site.meter(b.plan, "plan")
   b.observe = with_operator(b, site.meter(b.observe, "diagnosis"))
   return b
end

return baseline
