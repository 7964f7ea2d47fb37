-- SPDX-License-Identifier: GPL-2.0-or-later
--- What the baselines have in common: Taut's plan, told of their suspects, and tests as ratios.
--
-- A baseline is a table with `new(b)`, which prepares it (b: what this module makes, with the
-- thresholds in b.s), and `take(b, rows, now)` → set of components that it calls slow now, as
-- component → share left; nil when it has not looked again.
local planning = require "planning"
local stages = require "taut.topology.stages"

local baseline = {}
local Baseline = {}
Baseline.__index = Baseline

local WELL = 0.75     -- ratio from which a test counts as good in the plan
local MOST_WANTS = 50 -- a plan has room for no more

-- How many of a plan's own streams use each component in each phase.  Of a set one is taken, and
-- nobody knows which.
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

-- Tests as rows: { src, dst, stages, route = what it surely used, flows = ratios, mean, best }.
local function rows_of(self, tests, values)
   local all, rows = {}, {}
   for i, t in ipairs(tests) do
      local route = self.topo:route(t.src, t.dst)
      all[i] = { src = t.src, dst = t.dst, phase = t.phase, stages = route,
         route = stages.sure(route) }
   end
   local phases = count_users(all)
   for i, r in ipairs(all) do
      if add_ratios(r, values[i], expectation(self.topo, r, phases[r.phase])) then
         rows[#rows + 1] = r
      end
   end
   return rows
end

function Baseline:plan(ask)
   return self.planner:plan(ask)
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
   local well = {}
   for _, r in ipairs(rows) do
      well[#well + 1] = r.best >= WELL and r or nil
   end
   self.planner:touch(well, now)
end

function Baseline:observe(ask, tests, values)
   local rows = rows_of(self, tests, values)
   tell_plan(self, rows, ask.time)
   local slow = self.method.take(self, rows, ask.time)
   return slow and changes_of(self, slow) or {}
end

function Baseline:forget(c)
   self.slow[c] = nil
   self.method.forget(self, c)
end

function Baseline:explain(c, now)
   return self.method.explain and self.method.explain(self, c, now) or "nothing"
end

--- Ask the plan for more tests of these.
-- @param list components, the most suspicious first
function Baseline:wants(list)
   self.planner:want(table.move(list, 1, math.min(#list, MOST_WANTS), 1, {}))
end

--- @param method the baseline
-- @param machine of machine.load
-- @param thresholds that replace those of method.tuned, or nil
function baseline.new(method, machine, thresholds)
   local b = setmetatable({ topo = machine.topo, method = method, slow = {}, s = {} }, Baseline)
   for name, value in pairs(method.tuned) do
      b.s[name] = thresholds and thresholds[name] or value
   end
   b.planner = planning.new(machine)
   method.new(b)
   return b
end

return baseline
