-- SPDX-License-Identifier: GPL-2.0-or-later
--- Are verdicts on sets of links right?  The world scores single components only; here somebody
-- looks at the truth: a verdict is right while one of the set's members is faulty.
local setscore = {}
local Score = {}
Score.__index = Score

local DAY = 24 * 3600

local function fault_in(run, members)
   local w = run.world
   for _, c in ipairs(members) do
      local f = w.fault[w.m.id[run.maps.name[c]]]
      if f then
         return f
      end
   end
   return nil
end

--- May a route take this link or another one for all that a test knows?
function setscore.is_hidden(run, f)
   local c = run.maps.component[run.world.m.name[f.component]]
   return run.kind == "dragonfly" and run.topo:is_link(c) and run.topo:class(c) == "global"
end

--- After each event.
function Score:look(run, now)
   local d = run.player.tautd.parts.diagnosis
   for _, v in ipairs(run.player:take_set_changes()) do
      local f = fault_in(run, v.members)
      if v.over then
         self.over = self.over + 1
      elseif f then
         self.right = self.right + 1
         self.found[f] = self.found[f] or now
      else
         self.wrong = self.wrong + 1
      end
      if self.out then
         local what = v.over and "OVER" or f and "right" or "WRONG"
         self.out:write(("%s hour %.1f %s%s\n"):format(what, now / 3600, (d:set_words(v)),
            f and (" (left %.3f, %.1f h old)"):format(f.left, (now - f.since) / 3600) or ""))
      end
   end
end

--- What came of it.
-- @return { right, wrong, over = taken back, hidden = faults of links that hide in sets, old = of
--   them those older than two days, found = of these, hours = median age when found }
function Score:sum(run)
   local s = { right = self.right, wrong = self.wrong, over = self.over, hidden = 0, old = 0,
      found = 0 }
   local hours = {}
   for _, f in ipairs(run.world.faults) do
      if setscore.is_hidden(run, f) then
         s.hidden = s.hidden + 1
         local is_old = run.world.time - f.since > 2 * DAY
         s.old = s.old + (is_old and 1 or 0)
         s.found = s.found + (is_old and self.found[f] and 1 or 0)
         hours[#hours + 1] = self.found[f] and (self.found[f] - f.since) / 3600
      end
   end
   table.sort(hours)
   s.hours = hours[(#hours + 1) // 2]
   return s
end

--- @param out file to write each verdict to, or nil
function setscore.new(out)
   return setmetatable({ out = out, right = 0, wrong = 0, over = 0, found = {} }, Score)
end

return setscore
