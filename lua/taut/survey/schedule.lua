-- SPDX-License-Identifier: GPL-2.0-or-later
--- Edge colouring: puts tests into few phases (phase.lua).  Tests that are to share components are
-- put in as a group, and are one item.
local expectation = require "taut.topology.model.expectation"
local phase = require "taut.survey.phase"
local rounds = require "taut.survey.rounds"

local schedule = {}

local each = rounds.each

-- The tests of an item: a group, or one test.
local function tests_of(item)
   if item.src then
      return { item }
   end
   return item
end

--- Give a test its route, and that of its acknowledgements.
-- @return the test; or nil and why there is none
function schedule.route(test, topo)
   if not test.route then
      local why
      test.route, why = topo:route(test.src, test.dst, nil, test.rail)
      if not test.route then
         return nil, why or "no route"
      end
   end
   test.back = test.back or topo:route(test.dst, test.src, nil, test.rail) or {}
   test.from_router, test.to_router = topo:router(test.src, test.rail),
      topo:router(test.dst, test.rail)
   return test
end

local function fits_item(into, item)
   for _, t in ipairs(tests_of(item)) do
      if not into:fits(t) then
         return false
      end
   end
   return true
end

local function put_item(into, item)
   for _, t in ipairs(tests_of(item)) do
      into:put(t)
   end
end

-- How many items want the busiest component of each item: those go first, so that few phases do.
local function count_degrees(items)
   local wanted, degree = {}, {}
   for _, item in ipairs(items) do
      for _, t in ipairs(tests_of(item)) do
         each(t.route, function(component) wanted[component] = (wanted[component] or 0) + 1 end)
      end
   end
   for _, item in ipairs(items) do
      local most = 0
      for _, t in ipairs(tests_of(item)) do
         each(t.route, function(component) most = math.max(most, wanted[component]) end)
      end
      degree[item] = most
   end
   return degree
end

--- Colour items into few phases, greedily.
-- @param items array of tests or groups (arrays of tests), with routes (schedule.route)
-- @param topo topology
-- @param options optional: ordered = true keeps the order of the items (they are put into the first
--   phase that takes them either way); breathe() is called now and then
-- @return array of phases, arrays of tests with planned_Bps
function schedule.colour(items, topo, options)
   local list, phases = table.move(items, 1, #items, 1, {}), {}
   options = options or {}
   if not options.ordered then
      local degree, place = count_degrees(items), {}
      for i, item in ipairs(items) do
         place[item] = i
      end
      table.sort(list, function(one, other)
         return degree[one] > degree[other]
            or degree[one] == degree[other] and place[one] < place[other]
      end)
   end
   local breathe = options.breathe or function() end
   for _, item in ipairs(list) do
      local at
      breathe()
      for i, open in ipairs(phases) do
         if fits_item(open, item) then
            at = i
            break
         end
      end
      at = at or #phases + 1
      phases[at] = phases[at] or phase.new()
      put_item(phases[at], item)
   end
   for i, full in ipairs(phases) do
      phases[i] = expectation.of_phase(full.tests, topo)
   end
   return phases
end

return schedule
