-- SPDX-License-Identifier: GPL-2.0-or-later
--- Phases: sets of tests that run together, and what each test of a phase can reach.
--
-- In a phase no component is on two routes, no test's data meets another's acknowledgements, no
-- node takes part twice, and no router both sends into the fabric and receives from it.  Tests
-- that are to share components are put in as a group, and are one item.
-- Source of the rule about routers: Ezell, CUG 2013 (TopoBW): a Gemini never sends and receives
-- at once.
local rounds = require "taut.survey.rounds"

local schedule = {}

local each = rounds.each

-- The tests of an item: a group, or one test.
local function tests_of(item)
   return item.src and { item } or item
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

---------------------------------------------------------------- what tests can reach

--- Say what each test of a phase can reach: the smallest capacity on its route, each divided by
-- the streams of the phase through it.  Of a set of components a test uses one or a part of each.
-- Sets planned_Bps, and through: component → streams, where there is more than one.
-- @return the phase; its expect(tests) does the same again for those of them that are left
function schedule.expect(phase, topo)
   phase.expect = function(tests) schedule.expect(tests, topo) end
   local use = {}
   for _, t in ipairs(phase) do
      for _, stage in ipairs(t.route) do
         if type(stage) == "table" then
            for i, c in ipairs(stage) do
               use[c] = (use[c] or 0) + (stage.w and stage.w[i] or 1 / #stage)
            end
         else
            use[stage] = (use[stage] or 0) + 1
         end
      end
   end
   for _, t in ipairs(phase) do
      local least, through = math.huge, nil
      each(t.route, function(component)
         local n = math.max(1, use[component])
         least = math.min(least, topo.capacity[component] / n)
         if n > 1 then
            through = through or {}
            through[component] = n
         end
      end)
      t.planned_Bps, t.through = least, through
   end
   return phase
end

---------------------------------------------------------------- edge colouring

local function new_phase()
   return { node = {}, data = {}, ack = {}, role = {}, tests = {} }
end

local function fits_test(phase, test)
   local a, b, free = test.from_router, test.to_router, true
   if phase.node[test.src] or phase.node[test.dst] or
      a ~= b and (phase.role[a] == "recv" or phase.role[b] == "send") then
      return false
   end
   each(test.route, function(component)
      free = free and not phase.data[component] and not phase.ack[component]
   end)
   each(free and test.back or {}, function(component) free = free and not phase.data[component] end)
   return free
end

--- Can an item join a phase?
local function fits_phase(phase, item)
   for _, t in ipairs(tests_of(item)) do
      if not fits_test(phase, t) then
         return false
      end
   end
   return true
end

local function put_item(phase, item)
   for _, t in ipairs(tests_of(item)) do
      phase.node[t.src], phase.node[t.dst] = true, true
      each(t.route, function(component) phase.data[component] = true end)
      each(t.back, function(component) phase.ack[component] = true end)
      if t.from_router ~= t.to_router then
         phase.role[t.from_router], phase.role[t.to_router] = "send", "recv"
      end
      phase.tests[#phase.tests + 1] = t
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
   if not (options and options.ordered) then
      local degree, place = count_degrees(items), {}
      for i, item in ipairs(items) do
         place[item] = i
      end
      table.sort(list, function(one, other)
         return degree[one] ~= degree[other] and degree[one] > degree[other] or
            degree[one] == degree[other] and place[one] < place[other]
      end)
   end
   local breathe = options and options.breathe or function() end
   for _, item in ipairs(list) do
      local at
      breathe()
      for i, phase in ipairs(phases) do
         if fits_phase(phase, item) then
            at = i
            break
         end
      end
      at = at or #phases + 1
      phases[at] = phases[at] or new_phase()
      put_item(phases[at], item)
   end
   for i, phase in ipairs(phases) do
      phases[i] = schedule.expect(phase.tests, topo)
   end
   return phases
end

return schedule
