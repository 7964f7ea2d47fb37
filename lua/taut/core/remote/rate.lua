-- SPDX-License-Identifier: GPL-2.0-or-later
--- How often somebody may ask: so many times a minute, and a few of them at once.
local loop = require "taut.loop"

local rate = {}
local Rate = {}
Rate.__index = Rate

local KNOWN_MAX = 4096 -- between two looks for those who may be forgotten

local function forget_idle(self, now)
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
-- @param burst … and how many of these at once, where he was quiet before
function Rate:take(who, per_minute, burst)
   local now, each_s = loop.time(), 60 / per_minute
   local ahead_s = math.min(burst, per_minute) * each_s
   local free_at = self.free_at[who]
   if not free_at then
      self.known = self.known + 1
      if self.known > self.limit then
         forget_idle(self, now)
      end
   end
   free_at = math.max(free_at or now, now)
   if free_at - now > ahead_s - each_s / 2 then
      return false
   end
   self.free_at[who] = free_at + each_s
   return true
end

function rate.new()
   return setmetatable({ free_at = {}, known = 0, limit = KNOWN_MAX }, Rate)
end

return rate
