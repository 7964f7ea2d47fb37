-- SPDX-License-Identifier: GPL-2.0-or-later
--- Busy or broken: a suspect's test is repeated with more streams at once.  Their total takes a
-- larger part of a link that others use, too, and none of one that is broken.
local judge = require "taut.diagnose.judge"
local tables = require "taut.base.tables"

local busy = {}

-- Confirming tests of an event, those of a component that the test surely crossed: of one of a set
-- that it may have taken another member of only where its way is known.
local function confirming(tests)
   local list = {}
   for _, t in ipairs(tests) do
      if t.confirms and t.streams and tables.has(t.way or t.route or {}, t.confirms) then
         list[#list + 1] = t
      end
   end
   return list
end

-- Pairs of them (one stream, several streams).
local function pairs_of(tests)
   local first, list = {}, {}
   for _, t in ipairs(tests) do
      local key = t.confirms .. ":" .. t.src .. ">" .. t.dst
      if first[key] then
         list[#list + 1] = { c = t.confirms, one = first[key], many = t }
      else
         first[key] = t
      end
   end
   return list
end

-- Compared with the best that one stream got since the component was last cleared: a single stream
-- may have met a pause.
local function total_grows(self, p)
   local _, best = judge.shown(p.one, p.c)
   local _, many = judge.shown(p.many, p.c)
   best = math.max(best, self.evidence:best(p.c))
   return many > self.s.grows * best and many > 2 * self.s.failed
end

--- Take in what confirming tests say.
-- @param self the diagnosis
-- @param tests judged tests of one event
-- @return array of the components concerned
function busy.confirm(self, tests)
   local concerned = {}
   tests = confirming(tests)
   for _, t in ipairs(tests) do
      local k = self:component(t.confirms)
      k.asked = (k.asked or 0) + 1
      if judge.shown(t, t.confirms) == "void" then
         k.spent = k.spent or {}
         k.spent[t.src], k.spent[t.dst] = (k.spent[t.src] or 0) + 1, (k.spent[t.dst] or 0) + 1
      end
   end
   for _, p in ipairs(pairs_of(tests)) do
      local k = self:component(p.c)
      local one, many = judge.shown(p.one, p.c), judge.shown(p.many, p.c)
      if one == "low" and many ~= "void" and k.state ~= "ok" then
         if total_grows(self, p) then
            k.busy = k.busy + 1
         elseif many == "low" then
            table.insert(k.confirmed, { one = p.one, many = p.many, time = p.one.time,
               event = p.one.event, src = p.one.src, dst = p.one.dst })
         end
         concerned[#concerned + 1] = p.c
      end
   end
   return concerned
end

return busy
