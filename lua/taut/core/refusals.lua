-- SPDX-License-Identifier: GPL-2.0-or-later
--- Messages that were not taken: counted, and logged at most once in LOG_S seconds, so that no one
-- can fill the log.  The last of a burst is logged when that time is over.
local loop = require "taut.loop"
local sys = require "taut.sys"

local refusals = {}
local Refusals = {}
Refusals.__index = Refusals

local LOG_S = 1
local KINDS = 32
-- Whose messages are refused again and again: so many within so long, of at most so many senders.
local FLOOD, FLOOD_S, SENDERS_MAX = 100, 600, 1024

local function log_refusal(self, from, why)
   local more = self.count - self.said - 1
   sys.log("warning", ("refused a message from %s: %s%s"):format(from, why,
      more > 0 and (" (and %d before)"):format(more) or ""))
   self.said_at, self.said = loop.time(), self.count
end

-- The rarest one, the oldest of several.
local function find_rarest(kinds)
   local least = 1
   for i, k in ipairs(kinds) do
      if k.count < kinds[least].count then
         least = i
      end
   end
   return least
end

-- How often what is said in the same words, whatever its numbers and what it quotes; KINDS of them.
-- A sender with a new text each time replaces the rarest entries.
local function count_kind(self, from, why, count)
   local shape = why:gsub("'[^']*'", "'#'"):gsub("%d+", "#")
   local k = self.by_shape[shape]
   if not k then
      if #self.kinds >= KINDS then
         local gone = table.remove(self.kinds, find_rarest(self.kinds))
         self.by_shape[gone.shape] = nil
      end
      k = { shape = shape, count = 0 }
      self.by_shape[shape], self.kinds[#self.kinds + 1] = k, k
   end
   k.count, k.from, k.why, k.at = k.count + count, from, why, loop.time()
end

--- What was refused, by what is wrong with it.
-- @return array of { count, from, why, at = of the last }, as they came first
function Refusals:list_kinds()
   local list = {}
   for i, k in ipairs(self.kinds) do
      list[i] = { count = k.count, from = k.from, why = k.why, at = k.at }
   end
   return list
end

-- Senders that were quiet for long are forgotten; the quietest ones where there are too many.
local function forget_quiet(self, now)
   local least = math.huge
   for _, s in pairs(self.senders) do
      least = math.min(least, s.count)
   end
   for host, s in pairs(self.senders) do
      if now - s.at > FLOOD_S or s.count <= least then
         self.senders[host] = nil
         self.sender_count = self.sender_count - 1
      end
   end
end

-- Counted by address, or by "uid N" where it is a user here.
local function count_sender(self, from, why, count)
   -- of those that found no time nobody asked for their ports
   local host, now = from:match "^(.*):[%d?]+$" or from, loop.time()
   local s = self.senders[host]
   if s and now - s.at > FLOOD_S then
      s.count, s.since = 0, now
   elseif not s then
      if self.sender_count >= SENDERS_MAX then
         forget_quiet(self, now)
      end
      s = { count = 0, since = now }
      self.senders[host], self.sender_count = s, self.sender_count + 1
   end
   s.count, s.why, s.at = s.count + count, why, now
end

--- Those whose messages were refused again and again a short while ago.
-- @return array of { from, count, since, time, why = the last reason }, the most first
function Refusals:floods()
   local list, now = {}, loop.time()
   for host, s in pairs(self.senders) do
      if s.count >= FLOOD and now - s.at <= FLOOD_S then
         list[#list + 1] = { from = host, count = s.count, since = s.since, time = s.at,
            why = s.why }
      end
   end
   table.sort(list, function(first, second)
      if first.count ~= second.count then
         return first.count > second.count
      end
      return first.from < second.from
   end)
   return list
end

--- @param from who sent it
-- @param why it was not taken
-- @param count how many messages that were (default 1)
function Refusals:note(from, why, count)
   count = count or 1
   self.count = self.count + count
   count_kind(self, from, why, count)
   count_sender(self, from, why, count)
   local left_s = self.said_at + LOG_S - loop.time()
   if left_s <= 0 and not self.last then
      return log_refusal(self, from, why)
   elseif not self.last then
      loop.timer(math.ceil(math.min(math.max(left_s, 0), LOG_S) * 1000), function()
         local last = self.last
         self.last = nil
         log_refusal(self, last.from, last.why)
      end)
   end
   self.last = { from = from, why = why }
end

function refusals.new()
   return setmetatable({ count = 0, clocks = 0, kinds = {}, by_shape = {}, said = 0,
      senders = {}, sender_count = 0,
      said_at = -math.huge }, Refusals)
end

return refusals
