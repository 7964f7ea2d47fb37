-- SPDX-License-Identifier: GPL-2.0-or-later
--- The world's score without faults that no test can name: one of several global links of a
-- dragonfly, of which a test takes any.  Those count as sets (setscore.lua).
local visible = {}

local DAY = 24 * 3600
local COUNTS = { "faults", "counting", "judged", "recalled", "named", "exact", "two", "never",
   "old", "reached" }

local function count(s, f, now)
   local is_late = f.counts and now > f.deadline
   local counts = f.counts or f.named
   s.faults = s.faults + 1
   if f.named or f.given_up or now - f.since > 2 * DAY then
      s.old = s.old + 1
      s.reached = s.reached + (counts and 1 or 0)
   end
   if f.named then
      s.named = s.named + 1
      s.exact = s.exact + (f.wrong == 0 and 1 or 0)
      s.two = s.two + (f.wrong <= 1 and 1 or 0)
      table.insert(s.jobs_to_name, f.named_job - f.job)
      table.insert(s.events_to_name, f.events)
   end
   if counts then
      local is_in_time = f.named and (f.in_time or not f.counts)
      s.counting = s.counting + 1
      s.recalled = s.recalled + (is_in_time and 1 or 0)
      s.judged = s.judged + ((f.named or is_late or f.given_up) and 1 or 0)
   elseif f.given_up then
      s.never = s.never + 1
   end
end

--- @param score what the world says; what concerns faults is counted anew
-- @param faults the world's
-- @param now seconds
-- @param is_hidden function(fault) → whether to leave it out
function visible.score(score, faults, now, is_hidden)
   for _, name in ipairs(COUNTS) do
      score[name] = 0
   end
   score.jobs_to_name, score.events_to_name = {}, {}
   for _, f in ipairs(faults) do
      if not is_hidden(f) then
         count(score, f, now)
      end
   end
   table.sort(score.jobs_to_name)
   table.sort(score.events_to_name)
   return score
end

return visible
