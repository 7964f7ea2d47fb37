-- SPDX-License-Identifier: GPL-2.0-or-later
--- Busy or broken: a suspect's test is repeated with more streams at once.  Their total takes a
-- larger part of a link that others use, too, and none of one that is broken.
local judge = require "taut.diagnose.judge"
local tables = require "taut.base.tables"

local busy_link = {}

-- Does the test surely cross what it is to confirm?  One of a set, that it may have taken another
-- member of, only where its way is known.
local function surely_crosses(test)
   return test.streams and tables.has(test.way or test.route or {}, test.confirms)
end

-- Pairs of them (one stream, several streams).
local function pair_tests(tests)
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

-- What a test carried over a component, as a share of its capacity.  Not of what the test was to
-- reach: that is less where the plan lets others use it as well, of whom several streams then take
-- their part.
local function share_of_capacity(self, test, component)
   local port = test.port and test.port.is_low and test.port.component == component and test.port
   return (port and port.Bps or test.bw_Bps) / self.topo.capacity[component]
end

-- Is this more than one stream ever got since the component was last cleared?
local function is_more_than_ever(self, component, took, best)
   return took > self.s.grows * math.max(best, self.evidence:best(component))
      and took > 2 * self.s.failed
end

--- What several streams took, one may have had since: it had met a pause then, or others on a link
-- that is broken besides.  Such an answer says nothing of a busy link any more.
-- @param record of the component: `busy`, how many answers say so, and `took`, their shares
function busy_link.review(self, component, record)
   local took = record.took
   if took then
      record.took = tables.filter(took, function(much)
         return is_more_than_ever(self, component, much, 0)
      end)
      record.busy = record.busy - #took + #record.took
   end
end

--- Take in what confirming tests say.
-- @param self the diagnosis
-- @param tests those of one event, judged, that have `confirms`
-- @return array of the components concerned
function busy_link.confirm(self, tests)
   local concerned = {}
   tests = tables.filter(tests, surely_crosses)
   for _, t in ipairs(tests) do
      local k = self:component(t.confirms)
      k.asked = (k.asked or 0) + 1
      if judge.shown(t, t.confirms) == "void" then
         k.spent = k.spent or {}
         k.spent[t.src], k.spent[t.dst] = (k.spent[t.src] or 0) + 1, (k.spent[t.dst] or 0) + 1
      end
   end
   for _, p in ipairs(pair_tests(tests)) do
      local k = self:component(p.c)
      local one, many = judge.shown(p.one, p.c), judge.shown(p.many, p.c)
      -- what its own losses made low is not busy where several streams get more: they hide losses
      if one == "low" and not p.one.by_loss and many ~= "void" and k.state ~= "ok" then
         local took = share_of_capacity(self, p.many, p.c)
         if is_more_than_ever(self, p.c, took, share_of_capacity(self, p.one, p.c)) then
            k.busy, k.took = k.busy + 1, k.took or {}
            table.insert(k.took, took)
         elseif many == "low" then
            table.insert(k.confirmed, { one = p.one, many = p.many, time = p.one.time,
               event = p.one.event, src = p.one.src, dst = p.one.dst })
         end
         concerned[#concerned + 1] = p.c
      end
   end
   return concerned
end

return busy_link
