-- SPDX-License-Identifier: GPL-2.0-or-later
--- Numbers of events and tests, as the database has them: each is given out once.
local ids = {}
local Ids = {}
Ids.__index = Ids

--- The next event's.
function Ids:event()
   self.last_event = self.last_event + 1
   return self.last_event
end

--- The next test's.
function Ids:test()
   self.last_test = self.last_test + 1
   return self.last_test
end

--- Go on above what is stored.
function Ids:above(event, test)
   self.last_event = math.max(self.last_event, event)
   self.last_test = math.max(self.last_test, test)
end

function ids.new()
   return setmetatable({ last_event = 0, last_test = 0 }, Ids)
end

return ids
