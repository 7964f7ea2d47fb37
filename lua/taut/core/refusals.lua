-- SPDX-License-Identifier: GPL-2.0-or-later
--- Messages that were not taken: counted, and logged at most once in LOG_S seconds, so that nobody
-- can fill the log.
local loop = require "taut.loop"
local sys = require "taut.sys"

local refusals = {}
local Refusals = {}
Refusals.__index = Refusals

local LOG_S = 1

--- @param from who sent it
-- @param why it was not taken
function Refusals:note(from, why)
   local now = loop.time()
   self.count = self.count + 1
   if now - self.said_at >= LOG_S then
      local more = self.count - self.said - 1
      sys.log("warning", ("refused a message from %s: %s%s"):format(from, why,
         more > 0 and (" (and %d before)"):format(more) or ""))
      self.said_at, self.said = now, self.count
   end
end

function refusals.new()
   return setmetatable({ count = 0, said = 0, said_at = -math.huge }, Refusals)
end

return refusals
