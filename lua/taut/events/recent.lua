-- SPDX-License-Identifier: GPL-2.0-or-later
--- Growth of the last day, per counter: a limit per hour or per day has to add up what many short
-- jobs saw.
--
-- A node's readings have a clock of their own, the sum of the times between them as the monotonic
-- clock of tautd's host says, so that a wall clock that jumps changes no rate.
local counters = require "taut.events.counters"

local recent = {}

local KEEP_S, MOST = 86400, 24

-- Old growth goes; of too many pieces the two oldest become one.
local function trim_pieces(list, clock)
   while list[1] and list[1].till < clock - KEEP_S do
      table.remove(list, 1)
   end
   while #list > MOST do
      local first = table.remove(list, 1)
      list[1].since, list[1].from = first.since, first.from
      list[1].amount = list[1].amount + first.amount
   end
end

local function sum_since(list, first)
   local sum, at_least = 0, nil
   for i = first, #list do
      sum, at_least = sum + list[i].amount, at_least or list[i].at_least
   end
   return sum, at_least
end

--- Add growth and judge all that is remembered.
-- @param list pieces { since, till (clock of the readings), from (wall clock), amount }; changed,
--   and emptied where a limit was passed
-- @param entry of the catalogue
-- @param growth amount, at_least
-- @param window from (wall), since, till (clock); `since` nil when its length is not known
-- @return nil, or { class, limit, amount, at_least, seconds, from }
function recent.add(list, entry, growth, window)
   if not window.since then
      local class, limit = counters.judge(entry, growth.amount)
      if class ~= "harmless" then
         return { class = class, limit = limit, amount = growth.amount, at_least = growth.at_least,
            from = window.from }
      end
      return nil
   end
   list[#list + 1] = { since = window.since, till = window.till, from = window.from,
      amount = growth.amount, at_least = growth.at_least }
   trim_pieces(list, window.till)
   local found
   for i = #list, 1, -1 do
      local sum, at_least = sum_since(list, i)
      local seconds = window.till - list[i].since
      local class, limit = counters.judge(entry, sum, seconds)
      if class ~= "harmless" and (not found or counters.worse(class, found.class)) then
         found = { class = class, limit = limit, amount = sum, at_least = at_least,
            seconds = seconds, from = list[i].from }
      end
   end
   if found then
      for i = #list, 1, -1 do
         list[i] = nil
      end
   end
   return found
end

return recent
