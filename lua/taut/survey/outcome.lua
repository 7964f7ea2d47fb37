-- SPDX-License-Identifier: GPL-2.0-or-later
--- What an audit's tests say: which components are slow, what could not be measured or seen, and
-- how it compares with the last one.
local compare = require "taut.survey.compare"
local json = require "taut.json"
local rounds = require "taut.survey.rounds"
local sets = require "taut.survey.sets"
local slow = require "taut.survey.slow"
local stages = require "taut.topology.stages"
local tables = require "taut.base.tables"

local outcome = {}

local LIST_MAX = 500     -- links named in one list

---------------------------------------------------------------- summaries

-- The most that the audit's tests could show of each component: capacity where they fill it.
local function most_showable(survey)
   return slow.most(survey, function(test) return test.planned_Bps end,
      function(_, component) return type(component) == "number" end)
end

-- Dimension or kind of the links that a test is about.
local function class_of(survey, test)
   local c = test.link or test.sets and test.sets[1] and test.sets[1][1]
   if not c then
      return "--"
   end
   return survey.topo:axis(c) or "--"
end

local function summary_of(survey)
   local by, order = {}, {}
   for _, t in survey.each(survey.results) do
      if (t.class ~= "void" or t.part) and not t.again then
         local key = class_of(survey, t) .. " " .. t.sending
         local g = by[key]
         if not g then
            g = { class = class_of(survey, t), mode = t.sending, n = 0, sum = 0 }
            by[key], order[#order + 1] = g, key
         end
         g.n, g.sum = g.n + 1, g.sum + t.bw_Bps
         if not g.min or t.bw_Bps < g.min.bw_Bps then
            g.min = t
         end
         if not g.max or t.bw_Bps > g.max.bw_Bps then
            g.max = t
         end
      end
   end
   table.sort(order)
   local list = json.array {}
   for i, key in ipairs(order) do
      local g = by[key]
      list[i] = { class = g.class, mode = g.mode, tests = g.n, avg_Bps = g.sum / g.n,
         min_Bps = g.min.bw_Bps, min_on = g.min.src_name, max_Bps = g.max.bw_Bps,
         max_on = g.max.src_name, min_link = g.min.link and survey.topo.components[g.min.link],
         max_link = g.max.link and survey.topo.components[g.max.link] }
   end
   return list
end

-- Links that no test could fill: how slow they must be to be seen, by kind.
local function dim_links(survey, can)
   local by, list = {}, json.array {}
   for c = 1, #survey.topo.components do
      local cap = survey.topo.capacity[c]
      if survey.topo:is_link(c) and can[c] and can[c] < 0.995 * cap then
         local key = survey.topo:kind(c)
         local g = by[key] or { kind = key, links = 0, below = 1, capacity_Bps = cap,
            shown_Bps = can[c] }
         by[key] = g
         g.links, g.below = g.links + 1, math.min(g.below, survey.diagnosis.good * can[c] / cap)
      end
   end
   for _, g in pairs(by) do
      list[#list + 1] = g
   end
   table.sort(list, function(one, other) return one.kind < other.kind end)
   return list
end

-- Links, tx and rx without a measurement, and why: all their tests meant nothing, or were not run.
-- Also of the links: how many there are, how many have one, how many have been one of a set that
-- has, and how many no test was planned for.
-- @param in_measured set of links of sets that had enough flows
local function unmeasured(survey, in_measured)
   local got, in_set, why, list = {}, {}, {}, json.array {}
   for _, t in survey.each(survey.results) do
      local counts = t.class ~= "void" or t.part
      for _, c in ipairs(t.route) do
         if type(c) == "number" then
            got[c] = got[c] or counts
            if not counts then
               why[c] = t.why or why[c]
            end
         else
            for _, member in ipairs(c) do
               in_set[member] = in_set[member] or counts
            end
         end
      end
   end
   local n = { list = 0, links = 0, measured = 0, in_sets = 0, open = 0, untested = 0 }
   local away = tables.set(survey.topo.unreached) -- all nodes of their leaf are
   for c = 1, #survey.topo.components do
      local planned = survey.plan.covered[c] or survey.plan.in_set[c]
      local is_link = survey.topo:is_link(c) and not (away[c] and not planned)
      local as_set = is_link and not got[c] and not survey.plan.covered[c] and in_set[c]
      n.links = n.links + tables.one_if(is_link)
      n.measured = n.measured + tables.one_if(is_link and got[c])
      n.in_sets = n.in_sets + tables.one_if(as_set)
      n.open = n.open + tables.one_if(as_set and not in_measured[c])
      n.untested = n.untested + tables.one_if(is_link and not (planned or as_set or got[c]))
      if not got[c] and not as_set and (why[c] or is_link and planned) then
         n.list = n.list + 1
         if n.list <= LIST_MAX then
            list[#list + 1] = { component = survey.topo.components[c],
               why = why[c] or survey.ended or "its test was not run" }
         end
      end
   end
   return list, n
end

-- Low tests that could not be measured again, but for those of components called slow already.
local function list_doubts(survey, doubtful, list_slow)
   local named, list = {}, json.array {}
   for _, s in ipairs(list_slow) do
      named[s.component] = true
   end
   for _, t in ipairs(doubtful) do
      local explained = false
      for _, c in ipairs(t.route) do
         explained = explained or named[stages.text({ c }, survey.topo.components)]
      end
      if not explained then
         list[#list + 1] = { src = t.src_name, dst = t.dst_name, bw_Bps = t.bw_Bps,
            expected_Bps = t.expected_Bps, link = t.link and survey.topo.components[t.link] }
      end
   end
   return list
end

-- Was every link measured that these nodes can measure, and if all nodes took part every link?
-- What was not found a pair for was not, nor what was seen as one of a set, unless that had enough
-- flows.
local function is_complete(survey, found, open_in_sets)
   return found.unmeasured_count == 0 and #found.doubtful == 0 and not survey.ended
      and #survey.missing == 0 and #survey.unknown == 0 and open_in_sets == 0
      and found.unsearched == 0 and not (survey.plan.everyone and found.unreached > 0)
end

--- @param survey topo, results (judged tests), plan (links.plan), diagnosis (settings), last (rows
--   of the last audit, or nil), needed (how often a low test must be low again), ended (why it
--   ended early), missing, unknown (node names); breathe (optional)
-- @return table for the owner: slow, doubtful, passing, unexplained, unmeasured, measured, links,
--   in_sets, sets, sets_measured (of links that flows are hashed to), unreached, unsearched,
--   summary, dim, compare, complete, tests, void
function outcome.of(survey)
   survey.each = rounds.breathing(survey.breathe or function() end)
   local list_slow, passing, unexplained, doubtful = slow.of(survey)
   doubtful = list_doubts(survey, doubtful, list_slow)
   local of_sets, set_counts, in_measured = sets.of(survey)
   table.move(of_sets, 1, #of_sets, #list_slow + 1, list_slow)
   local list, n = unmeasured(survey, in_measured)
   local void, unreached, unsearched = 0, 0, n.untested
   for _, t in survey.each(survey.results) do
      void = void + tables.one_if(t.class == "void" and not t.part)
   end
   if survey.plan.sure then
      unreached, unsearched = n.untested, 0
   end
   local found = { slow = list_slow, doubtful = doubtful, passing = passing,
      unexplained = unexplained, unmeasured = list, unmeasured_count = n.list,
      measured = n.measured, links = n.links, in_sets = n.in_sets, sets = set_counts.all,
      sets_measured = set_counts.measured,
      unreached = unreached, unsearched = unsearched,
      summary = summary_of(survey), dim = dim_links(survey, most_showable(survey)),
         compare = compare.of(survey),
      tests = #survey.results, void = void, missing = survey.missing, unknown = survey.unknown }
   found.complete = is_complete(survey, found, n.open)
   return found
end

return outcome
