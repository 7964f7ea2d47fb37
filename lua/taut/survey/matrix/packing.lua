-- SPDX-License-Identifier: GPL-2.0-or-later
--- Puts a long stream of tests into phases, without ever holding all of it.
--
-- All pairs of a large machine are too many to colour at once (512 nodes: 261,632 tests). So the
-- tests come in an order that already fits well, and only some phases are open at a time. Each test
-- goes into the first open phase that has room; if none has and no more may be opened, the oldest
-- is finished.
local phase = require "taut.survey.phase"

local packing = {}
local Packing = {}
Packing.__index = Packing

--- @param window phases that may be open at once
-- @return packing
function packing.new(window)
   return setmetatable({ window = window, open = {}, first = 1, last = 0, ready = {} }, Packing)
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
      if self.open[p]:fits(test) then
         return self.open[p]:put(test)
      end
   end
   if self.last - self.first + 1 >= self.window then
      close_first(self)
   end
   self.last = self.last + 1
   self.open[self.last] = phase.new()
   self.open[self.last]:put(test)
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
