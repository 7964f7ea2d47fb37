-- SPDX-License-Identifier: GPL-2.0-or-later
--- Which components are slow, by an audit's own tests.
--
-- A low test that was well when measured again speaks against no component; the others speak
-- against what is on their route (and, where nearly nothing arrived, on that of the
-- acknowledgements) and was cleared by no test.  Greedily the component that explains most of them
-- is named, together with those it cannot be told from.
--
-- Where routes are hashed or adaptive a stage is a set of links.  It is accused as a whole, as if
-- it were one component, and no test clears it: the next stream may take another member.
local expectation = require "taut.topology.model.expectation"
local json = require "taut.json"
local stages = require "taut.topology.stages"
local tables = require "taut.base.tables"

local slow = {}

local ACK_RATIO = 0.05   -- below this the acknowledgements' way may be what is dead
local SAME_TESTS = 0.8   -- explaining this share of the same tests is a tie

---------------------------------------------------------------- evidence

--- The most that single tests amount to over each component, and the most that the tests of one
-- group do together.
-- @param survey { each, results }
-- @param amount function(t) → bytes per second, or nil for a test that does not count
-- @param counts function(t, c): does its amount count for this component?
-- @return map component → bytes per second
function slow.most(survey, amount, counts)
   local most, sums = {}, {}
   for _, t in survey.each(survey.results) do
      local Bps = amount(t)
      for _, c in ipairs(tables.or_empty(Bps and t.route)) do
         if counts(t, c) and t.group then
            sums[c] = sums[c] or {}
            sums[c][t.group] = (sums[c][t.group] or 0) + Bps
         elseif counts(t, c) then
            most[c] = math.max(most[c] or 0, Bps)
         end
      end
   end
   for c, groups in pairs(sums) do
      for _, sum in pairs(groups) do
         most[c] = math.max(most[c] or 0, sum)
      end
   end
   return most
end

-- What each component has shown, in bytes per second: the most one test carried over it, and the
-- most that the tests of one group did together.  Of a set: the same, of the set's worst member.
local function shown_by_all(survey)
   return slow.most(survey, function(test)
      return (test.class ~= "void" or test.part) and test.bw_Bps
   end,
      function() return true end)
end

-- Did a good test clear the component?  As in diagnose/.
local function clears_component(survey, test, component)
   local cap = expectation.share_of(survey.topo, component,
      test.through and test.through[component])
   local s = survey.diagnosis
   return test.bw_Bps >= s.good * cap or
      test.expected_Bps < s.good * cap and test.bw_Bps >= s.clear_most * test.expected_Bps
end

-- Components that a good test or a group of them cleared, and those whose acknowledgements came
-- through.
local function cleared_components(survey, most)
   local well, alive = {}, {}
   for c, bps in pairs(most) do
      if type(c) == "number" and bps >= survey.diagnosis.good * survey.topo.capacity[c] then
         well[c] = true
      end
   end
   for _, t in survey.each(survey.results) do
      if t.class == "good" then
         for _, c in ipairs(t.route) do
            if type(c) == "number" and clears_component(survey, t, c) then
               well[c] = true
            end
         end
         for _, c in ipairs(stages.sure(t.back)) do
            alive[c] = true
         end
      end
   end
   return well, alive
end

--- What a test measures: a link or a pair of nodes, over one rail, alone or shared.
function slow.key(test)
   return ("%s %s %d"):format(test.sending, test.link or test.src .. ">" .. test.dst,
      test.rail or 1)
end

--- Do low tests of one thing make it slow?  They were low again often enough, and have a ceiling:
-- at least half of them lie within `ceiling` below the best, two at least.  A thing that is
-- starved or shared with others scatters.
-- @param ratios of all its low tests
-- @param again how many of them were repetitions
-- @param needed settings.confirm
-- @param ceiling diagnosis.ceiling
function slow.is_settled(ratios, again, needed, ceiling)
   local best = math.max(0, table.unpack(ratios))
   local near = tables.count(ratios, function(ratio) return ratio >= (1 - ceiling) * best end)
   return again >= needed and near >= math.max(math.min(2, needed + 1), #ratios / 2)
end

-- Flows of a pair of which some were well and some were not: sets.lua says what that means.
local function is_mixed(test, passed, ratios)
   local key = slow.key(test)
   return test.flow and passed[key] and #ratios[key] > 0
end

-- Low tests that stayed low; how many things were well when measured again; and those that could
-- not be measured again: first low test of each.
local function confirmed_low(survey)
   local passed, again, ratios, seen = {}, {}, {}, {}
   local low, passing, doubtful = {}, 0, {}
   for _, t in survey.each(survey.results) do
      local key = slow.key(t)
      passed[key] = passed[key] or t.class == "good" or t.part
      again[key], ratios[key] = again[key] or 0, ratios[key] or {}
      if t.class == "low" then
         again[key] = again[key] + tables.one_if(t.again)
         table.insert(ratios[key], t.ratio)
      end
   end
   for _, t in survey.each(survey.results) do
      local key = slow.key(t)
      if is_mixed(t, passed, ratios) then
         seen[key] = true
      elseif t.class == "low" and not passed[key] and
         slow.is_settled(ratios[key], again[key], survey.needed, survey.diagnosis.ceiling) then
         low[#low + 1] = t
      elseif t.class == "low" and not seen[key] then
         seen[key] = true
         if passed[key] then
            passing = passing + 1
         else
            doubtful[#doubtful + 1] = t
         end
      end
   end
   return low, passing, doubtful
end

---------------------------------------------------------------- which component

-- What a low test speaks against.
local function accused_by(test, well, alive)
   local list, seen = {}, {}
   local function add_component(component)
      if not seen[component] then
         seen[component] = true
         list[#list + 1] = component
      end
   end
   for _, c in ipairs(test.route) do
      if not well[c] then
         add_component(c)
      end
   end
   if (test.ratio or 0) >= ACK_RATIO then
      return list
   end
   for _, c in ipairs(stages.sure(test.back) or {}) do
      if not alive[c] then
         add_component(c)
      end
   end
   return list
end

local function by_component(low, well, alive)
   local map, without = {}, 0
   for _, t in ipairs(low) do
      local list = accused_by(t, well, alive)
      without = without + tables.one_if(#list == 0)
      for _, c in ipairs(list) do
         map[c] = map[c] or {}
         map[c][t] = true
      end
   end
   return map, without
end

local function do_overlap(set, other)
   local n = 0
   for t in pairs(set) do
      n = n + tables.one_if(other[t])
   end
   return n
end

-- Which of two comes first: by number, and a set after its first member.
local function comes_before(one, other)
   local x, y = stages.members(one)[1], stages.members(other)[1]
   return x < y or x == y and type(one) == "number" and type(other) == "table"
end

-- The component that explains most low tests; of those that explain as many the first.
local function best_of(map)
   local best, most = nil, 0
   for c, set in pairs(map) do
      local n = tables.size(set)
      if n > most or n == most and n > 0 and comes_before(c, best) then
         best, most = c, n
      end
   end
   return best, most
end

local function describe_slow(survey, component, set, ties, most)
   local topo, low = survey.topo, nil
   for t in pairs(set) do
      if not low or (t.ratio or 0) > (low.ratio or 0) then
         low = t
      end
   end
   local names = json.array {}
   for i, other in ipairs(ties) do
      names[i] = stages.text({ other }, topo.components)
   end
   local first, cap = component, topo.capacity[component]
   if type(component) == "table" then
      first, cap = component[1], math.huge
      for _, member in ipairs(component) do
         cap = math.min(cap, topo.capacity[member])
      end
   end
   local of, where
   if component == first then
      where = topo:cable(component)
   else
      of, where = #component, ("one of %d links, or several"):format(#component)
   end
   return { component = stages.text({ component }, topo.components),
      left = math.min(1, (most[component] or 0) / cap), measured_Bps = most[component] or 0,
         capacity_Bps = cap,
      tests = tables.size(set), ["or"] = names, src = low.src_name, dst = low.dst_name,
      kind = topo:kind(first), of = of, where = where }
end

-- Components that explain nearly the same tests as this one, and no more.
local function tied_with(map, component, set, count)
   local ties = {}
   for other, others in pairs(map) do
      if other ~= component and do_overlap(set, others) >= SAME_TESTS * count
         and tables.size(others) <= count then
         ties[#ties + 1] = other
      end
   end
   table.sort(ties, comes_before)
   return ties
end

local function explain_low(survey, low, well, alive, most)
   local map, without = by_component(low, well, alive)
   local list = json.array {}
   while true do
      local c, n = best_of(map)
      if not c then
         return list, without
      end
      local set = tables.copy(map[c])
      list[#list + 1] = describe_slow(survey, c, set, tied_with(map, c, set, n), most)
      for other, others in pairs(map) do
         for t in pairs(set) do
            others[t] = nil
         end
         if next(others) == nil then
            map[other] = nil
         end
      end
   end
end

--- @param survey topo, results (judged tests), diagnosis (settings), needed, each(list): an
--   iterator like ipairs
-- @return array of { component, left, measured_Bps, capacity_Bps, tests, or, src, dst, where, kind,
--   of = how many links, where it is one of a set }; how many low tests were well when measured
--   again; how many others nothing explains; and low tests that could not be measured again
function slow.of(survey)
   local most = shown_by_all(survey)
   local low, passing, doubtful = confirmed_low(survey)
   local well, alive = cleared_components(survey, most)
   local list, unexplained = explain_low(survey, low, well, alive, most)
   local open = {}
   for _, t in ipairs(doubtful) do
      if #accused_by(t, well, alive) > 0 then
         open[#open + 1] = t
      else
         unexplained = unexplained + 1 -- others have shown all of its route to be well
      end
   end
   return list, passing, unexplained, open
end

return slow
