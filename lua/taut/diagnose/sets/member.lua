-- SPDX-License-Identifier: GPL-2.0-or-later
--- Flows over sets speak about a suspect, too, that is a member of these: one in so many took it,
-- and shows its ceiling; what got more took another one.
local share = require "taut.diagnose.share"

local member = {}

-- Weigh the flows of the spell that is over.
local function close(self, c, y, best)
   local m = share.model(self.models, math.max(0, share.step(best, self.s) - 1), y.part / y.n, 0,
      self.s)
   local odds = math.min(share.odds(y.hits, y.n, m), self.s.set_spell_most)
   y.score = math.max(0, y.score + odds)
   y.spells = y.score == 0 and 0 or y.hits > 0 and odds > 0 and y.spells + 1 or y.spells
   y.n, y.hits, y.part = 0, 0, 0
   self.touched[#self.touched + 1] = c
end

-- Test t took a set with suspect c.
local function note(self, c, part, t, spell)
   local k, s = self.diagnosis:component(c), self.s
   local best, shown = k.best, t.bw_Bps / self.topo.capacity[c]
   if not best or shown < best * (1 - s.ceiling) then
      return -- it may have been busy besides
   end
   local y = k.flows or { score = 0, spells = 0, n = 0, hits = 0, part = 0, spell = spell,
      senders = {}, receivers = {} }
   k.flows = y
   if y.spell ~= spell and y.n > 0 then
      close(self, c, y, best)
   end
   y.spell, y.n, y.part = spell, y.n + 1, y.part + part
   if shown <= best * (1 + s.ceiling) then
      y.hits, y.senders[t.src], y.receivers[t.dst] = y.hits + 1, true, true
   end
end

--- A judged test speaks about the suspects that are members of the sets on its way (sets/init.lua).
function member.take(self, way, t, spell)
   for _, set in ipairs(way.sets) do
      for _, c in ipairs(set.members) do
         if self.diagnosis:is_suspect(c) then
            note(self, c, set.part, t, spell)
         end
      end
   end
end

return member
