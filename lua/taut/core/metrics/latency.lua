-- SPDX-License-Identifier: GPL-2.0-or-later
--- How long tautd's loop is held up: while one task runs, no other request is answered.
local loop = require "taut.loop"
local sys = require "taut.sys"

local latency = {}
local Latency = {}
Latency.__index = Latency

local LOOK_MS = 1000
local WINDOW_S = 300
local LONG_S = 0.05 -- a turn that is logged
local SAID_S = 60   -- between two lines of the log

local function look_for_long_turns(self)
   local now, long, doing = loop.now_ns() / 1e9, loop.longest()
   if now - self.began > WINDOW_S then
      self.before, self.within, self.began = self.within, 0, now
   end
   self.within = math.max(self.within, long)
   if long > LONG_S and now - self.said > SAID_S then
      self.said = now
      sys.log("notice", ("a turn of the loop took %.0f ms: %s"):format(long * 1e3, doing))
   end
end

--- The longest turn of the last 5 to 10 minutes, in seconds.
function Latency:longest()
   return math.max(self.within, self.before)
end

function latency.start()
   local self = setmetatable({ within = 0, before = 0, began = loop.now_ns() / 1e9,
      said = -math.huge }, Latency)
   loop.longest() -- the start itself, when no client waits
   loop.every(LOOK_MS, function() look_for_long_turns(self) end)
   return self
end

return latency
