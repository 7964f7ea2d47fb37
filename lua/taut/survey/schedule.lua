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
function schedule.route(t, topo)
   if not t.route then
      local why
      t.route, why = topo:route(t.src, t.dst, nil, t.rail)
      if not t.route then
         return nil, why or "no route"
      end
   end
   t.back = t.back or topo:route(t.dst, t.src, nil, t.rail) or {}
   t.from_router, t.to_router = topo:router(t.src, t.rail), topo:router(t.dst, t.rail)
   return t
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
      each(t.route, function(c)
         local n = math.max(1, use[c])
         least = math.min(least, topo.capacity[c] / n)
         if n > 1 then
            through = through or {}
            through[c] = n
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

local function fits_test(phase, t)
   local a, b, free = t.from_router, t.to_router, true
   if phase.node[t.src] or phase.node[t.dst] or
      a ~= b and (phase.role[a] == "recv" or phase.role[b] == "send") then
      return false
   end
   each(t.route, function(c) free = free and not phase.data[c] and not phase.ack[c] end)
   each(free and t.back or {}, function(c) free = free and not phase.data[c] end)
   return free
end

--- Can an item join a phase?
local function fits(phase, item)
   for _, t in ipairs(tests_of(item)) do
      if not fits_test(phase, t) then
         return false
      end
   end
   return true
end

local function put(phase, item)
   for _, t in ipairs(tests_of(item)) do
      phase.node[t.src], phase.node[t.dst] = true, true
      each(t.route, function(c) phase.data[c] = true end)
      each(t.back, function(c) phase.ack[c] = true end)
      if t.from_router ~= t.to_router then
         phase.role[t.from_router], phase.role[t.to_router] = "send", "recv"
      end
      phase.tests[#phase.tests + 1] = t
   end
end

-- How many items want the busiest component of each item: those go first, so that few phases do.
local function degrees(items)
   local wanted, degree = {}, {}
   for _, item in ipairs(items) do
      for _, t in ipairs(tests_of(item)) do
         each(t.route, function(c) wanted[c] = (wanted[c] or 0) + 1 end)
      end
   end
   for _, item in ipairs(items) do
      local most = 0
      for _, t in ipairs(tests_of(item)) do
         each(t.route, function(c) most = math.max(most, wanted[c]) end)
      end
      degree[item] = most
   end
   return degree
end

--- Colour items into few phases, greedily.
-- @param items array of tests or groups (arrays of tests), with routes (schedule.route)
-- @param topo topology
-- @param o optional: ordered = true keeps the order of the items (they are put into the first
--   phase that takes them either way); breathe() is called now and then
-- @return array of phases, arrays of tests with planned_Bps
function schedule.colour(items, topo, o)
   local list, phases = table.move(items, 1, #items, 1, {}), {}
   if not (o and o.ordered) then
      local degree, place = degrees(items), {}
      for i, item in ipairs(items) do
         place[item] = i
      end
      table.sort(list, function(a, b)
         return degree[a] ~= degree[b] and degree[a] > degree[b] or
            degree[a] == degree[b] and place[a] < place[b]
      end)
   end
   local breathe = o and o.breathe or function() end
   for _, item in ipairs(list) do
      local at
      breathe()
      for i, phase in ipairs(phases) do
         if fits(phase, item) then
            at = i
            break
         end
      end
      at = at or #phases + 1
      phases[at] = phases[at] or new_phase()
      put(phases[at], item)
   end
   for i, phase in ipairs(phases) do
      phases[i] = schedule.expect(phase.tests, topo)
   end
   return phases
end

return schedule
