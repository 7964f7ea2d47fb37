-- SPDX-License-Identifier: GPL-2.0-or-later
--- Messages that were not taken: counted, and logged at most once in LOG_S seconds, so that nobody
-- can fill the log.  The last of a burst is logged when that time is over.
local loop = require "taut.loop"
local sys = require "taut.sys"

local refusals = {}
local Refusals = {}
Refusals.__index = Refusals

local LOG_S = 1
local KINDS = 32

local function say(self, from, why)
   local more = self.count - self.said - 1
   sys.log("warning", ("refused a message from %s: %s%s"):format(from, why,
      more > 0 and (" (and %d before)"):format(more) or ""))
   self.said_at, self.said = loop.time(), self.count
end

-- How often what is said in the same words, whatever its numbers; the first KINDS of them.
local function add_kind(self, from, why)
   local shape = why:gsub("%d+", "#")
   local k = self.by_shape[shape]
   if not k and #self.kinds < KINDS then
      k = { count = 0 }
      self.by_shape[shape], self.kinds[#self.kinds + 1] = k, k
   end
   if k then
      k.count, k.from, k.why, k.at = k.count + 1, from, why, loop.time()
   end
end

--- @param from who sent it
-- @param why it was not taken
function Refusals:note(from, why)
   self.count = self.count + 1
   add_kind(self, from, why)
   local left_s = self.said_at + LOG_S - loop.time()
   if left_s <= 0 and not self.last then
      return say(self, from, why)
   elseif not self.last then
      loop.timer(math.ceil(math.min(math.max(left_s, 0), LOG_S) * 1000), function()
         local last = self.last
         self.last = nil
         say(self, last.from, last.why)
      end)
   end
   self.last = { from = from, why = why }
end

function refusals.new()
   return setmetatable({ count = 0, clocks = 0, kinds = {}, by_shape = {}, said = 0,
      said_at = -math.huge }, Refusals)
end

return refusals
