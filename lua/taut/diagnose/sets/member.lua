-- SPDX-License-Identifier: GPL-2.0-or-later
--- Flows over sets speak about a link, too, that had low tests of its own and is a member of these:
-- one in so many took it, and shows its ceiling; what got more took another one.
--
-- On a dragonfly two routers of a group are rarely in one job, and what shows that the link between
-- them is slow are mostly flows to other groups.
local share = require "taut.diagnose.share"
local tables = require "taut.base.tables"

local member = {}

local ELSEWHERE = 2 -- low flows that no other set may have been on, be it the one that is slow

local function fresh()
   return { score = 0, spells = 0, low = 0, n = 0, hits = 0, part = 0, by = {},
      senders = {}, receivers = {} }
end

--- What its flows over sets say: { score, spells, low = flows at its ceiling, first, last }.
-- @param k record of a component
function member.flows(k)
   return k.flows or { score = 0, spells = 0, low = 0 }
end

--- From now on flows over sets are held against this ceiling of a link.
-- @param self the diagnosis
-- @param best share of its capacity, nil for none
function member.follow(self, c, best)
   local k = self:component(c)
   if not best or k.best and math.abs(best / k.best - 1) > self.s.ceiling then
      k.flows = nil -- they spoke about another one
   end
   k.best = best
   self.sets.followed[c] = best and self.topo:is_link(c) or nil
end

-- Weigh the flows of the spell that is over.
local function close(self, c, y, best)
   local m = share.model(self.models, math.max(0, share.step(best, self.s) - 1), y.part / y.n, 0,
      self.s)
   local odds = math.min(share.odds(y.hits, y.n, m), self.s.set_spell_most)
   local k = self.diagnosis:component(c)
   if y.score + odds <= 0 then
      k.flows = nil
   else
      y.score = y.score + odds
      y.spells = y.hits > 0 and odds > 0 and y.spells + 1 or y.spells
      y.n, y.hits, y.part = 0, 0, 0
   end
   self.touched[#self.touched + 1] = c
end

-- A flow at its ceiling.
local function hit(y, c, way, t)
   y.hits, y.low = y.hits + 1, y.low + 1
   y.senders[t.src], y.receivers[t.dst] = true, true
   y.first, y.last = y.first or t.time, t.time
   for _, set in ipairs(way.sets) do
      if not tables.has(set.members, c) then
         y.by[set.id] = (y.by[set.id] or 0) + 1
      end
   end
end

-- Test t took a set with link c.
local function note(self, c, way, part, t, spell)
   local k, s = self.diagnosis:component(c), self.s
   local best, shown = k.best, t.bw_Bps / self.topo.capacity[c]
   if not best or shown < best * (1 - s.ceiling) then
      return -- it may have been busy besides
   end
   if k.flows and k.flows.spell ~= spell and k.flows.n > 0 then
      close(self, c, k.flows, best)
   end
   local y = k.flows or fresh()
   k.flows = y
   y.spell, y.n, y.part = spell, y.n + 1, y.part + part
   if shown <= best * (1 + s.ceiling) then
      hit(y, c, way, t)
   end
end

-- Is there a low flow or two without each of the other sets, so that none of these explains them?
local function is_its_own(y)
   for _, n in pairs(y.by) do
      if y.low - n < ELSEWHERE then
         return false
      end
   end
   return true
end

--- Do its flows rest on as much as those of a verdict on a set (sets/decide.lua)?  Then all that
-- they weigh counts.
-- @param k record of a component
function member.is_broad(self, k)
   local y, s = k.flows, self.s
   return y ~= nil and y.spells >= s.slow_spells and is_its_own(y)
      and tables.size(y.senders) >= s.set_pairs and tables.size(y.receivers) >= s.set_pairs
end

--- Is a score that they are part of enough without tests made for it?
function member.is_enough(self, k, score)
   local s = self.s
   return member.is_broad(self, k) and score >= s.slow_score
      * (share.is_fair(math.max(0, share.step(k.best, s) - 1), s) and s.set_fair or 1)
end

--- A judged test speaks about the links with a ceiling that are members of the sets on its way.
function member.take(self, way, t, spell)
   local followed = self.followed
   for _, set in ipairs(way.sets) do
      for _, c in ipairs(set.members) do
         if followed[c] then
            note(self, c, way, set.part, t, spell)
         end
      end
   end
end

return member
