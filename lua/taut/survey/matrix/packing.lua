-- SPDX-License-Identifier: GPL-2.0-or-later
--- Puts a long stream of tests into phases, without ever holding all of it.
--
-- All pairs of a large machine are too many to colour at once (512 nodes: 261,632 tests), so the
-- tests come in an order that fits well already and only some phases are open at a time: each
-- test goes into the first open phase that takes it; the oldest is finished when none does and no
-- more may be opened.
local tables = require "taut.base.tables"

local packing = {}
local Packing = {}
Packing.__index = Packing

--- @param window phases that may be open at once
-- @return packing
function packing.new(window)
   return setmetatable({ window = window, open = {}, first = 1, last = 0, ready = {} }, Packing)
end

local function each_component(stage, fn)
   if type(stage) == "table" then
      return tables.any(stage, function(component) return fn(component) end)
   end
   return fn(stage)
end

local function meets_any(route, used)
   return tables.any(route, function(stage) return each_component(stage,
      function(component) return used[component] end) end)
end

local function mark_route(route, used)
   for _, stage in ipairs(route) do
      each_component(stage, function(component) used[component] = true end)
   end
end

-- Data meets neither data nor the acknowledgements of another test.
local function fits_phase(phase, test)
   if phase.node[test.src] or phase.node[test.dst] then
      return false
   end
   return not (meets_any(test.route, phase.data) or meets_any(test.route, phase.ack)
      or meets_any(test.back, phase.data))
end

local function put_test(phase, test)
   phase.node[test.src], phase.node[test.dst] = true, true
   mark_route(test.route, phase.data)
   mark_route(test.back, phase.ack)
   phase.tests[#phase.tests + 1] = test
end

local function close_first(self)
   self.ready[#self.ready + 1] = self.open[self.first].tests
   self.open[self.first] = nil
   self.first = self.first + 1
end

--- Add a test.
-- @param test { src, dst, route = stages there, back = stages of its acknowledgements }
function Packing:add(test)
   for p = self.first, self.last do
      if fits_phase(self.open[p], test) then
         return put_test(self.open[p], test)
      end
   end
   if self.last - self.first + 1 >= self.window then
      close_first(self)
   end
   self.last = self.last + 1
   self.open[self.last] = { node = {}, data = {}, ack = {}, tests = {} }
   put_test(self.open[self.last], test)
end

--- Append the finished phases (arrays of tests) to a list.
function Packing:move(list)
   table.move(self.ready, 1, #self.ready, #list + 1, list)
   self.ready = {}
end

--- No more tests will come.
function Packing:finish()
   while self.first <= self.last do
      close_first(self)
   end
end

return packing
