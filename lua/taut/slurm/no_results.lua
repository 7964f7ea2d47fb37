-- SPDX-License-Identifier: GPL-2.0-or-later
--- Nodes that take plans and never send a RESULT: something ends their probes, or their root keeps
-- them from answering.  One plan without a RESULT is nothing: users cancel jobs.
local loop = require "taut.loop"

local no_results = {}
local NoResults = {}
NoResults.__index = NoResults

local LEAST = 5      -- plans in a row
local KEPT_S = 86400 -- a node that accepts no plans any more is shown for this time

--- The tests of a session are over.
-- @param session of rendezvous.lua: `peers`, who had a plan, and `results`, who has answered
function NoResults:note(session)
   for n in pairs(session.peers) do
      local own = self.of[n]
      if session.results[n] then
         self.of[n] = nil
      elseif own then
         own.plans, own.time = own.plans + 1, loop.time()
      else
         self.of[n] = { plans = 1, since = loop.time(), time = loop.time() }
      end
   end
end

--- Nodes that never answer.
-- @param names of nodes, by number
-- @return array of { node, plans, since = when it had the first of these, time = the last }, by
--   number
function NoResults:list(names)
   local list, now = {}, loop.time()
   for n, own in pairs(self.of) do
      if now - own.time > KEPT_S or not names[n] then
         self.of[n] = nil
      elseif own.plans >= LEAST then
         list[#list + 1] = { number = n, node = names[n], plans = own.plans, since = own.since,
            time = own.time }
      end
   end
   table.sort(list, function(one, other) return one.number < other.number end)
   for _, row in ipairs(list) do
      row.number = nil
   end
   return list
end

function no_results.new()
   return setmetatable({ of = {} }, NoResults)
end

return no_results
