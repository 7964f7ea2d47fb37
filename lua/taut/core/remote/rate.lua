-- SPDX-License-Identifier: GPL-2.0-or-later
--- How often somebody may ask: so many times a minute, and as many at once if he was quiet before.
local loop = require "taut.loop"

local rate = {}
local Rate = {}
Rate.__index = Rate

local KNOWN_MAX = 4096 -- between two looks for those who may be forgotten

local function forget(self, now)
   self.known = 0
   for who, free_at in pairs(self.free_at) do
      if free_at <= now then
         self.free_at[who] = nil
      else
         self.known = self.known + 1
      end
   end
   self.limit = math.max(KNOWN_MAX, 2 * self.known)
end

--- May he ask now?  If so, it is counted.
-- @param who any key
-- @param per_minute how often he may
function Rate:take(who, per_minute)
   local now, each_s = loop.time(), 60 / per_minute
   local free_at = self.free_at[who]
   if not free_at then
      self.known = self.known + 1
      if self.known > self.limit then
         forget(self, now)
      end
   end
   free_at = math.max(free_at or now, now)
   if free_at - now > 60 - each_s then
      return false
   end
   self.free_at[who] = math.min(free_at, now + 60) + each_s
   return true
end

function rate.new()
   return setmetatable({ free_at = {}, known = 0, limit = KNOWN_MAX }, Rate)
end

return rate
