-- SPDX-License-Identifier: GPL-2.0-or-later
--- What the diagnosis would like tested: suspects, and what has low tests.
local loss = require "taut.diagnose.loss"
local recurring_fault = require "taut.diagnose.recurring_fault"

local wanted_tests = {}

local ENOUGH = 3 -- tests that show a loss in one spell

-- When a test can tell something new: not in this spell, where it has told what it can.
-- @param lost the case of its losses, where these are all that speaks against it
local function find_not_before(self, component, record, lost)
   local s, case = self.s, self.evidence:case(component)
   if lost and not record.tied and lost.recent >= ENOUGH then
      return (lost.last // s.spell_s + 1) * s.spell_s
   end
   local cleared_at = record.hard and not case and self:seen(component).cleared_at or 0
   if not case and not lost and not record.hard and recurring_fault.case(self, component) then
      return recurring_fault.not_before(self, component, self.evidence:tested(component))
   elseif record.hard and not case and cleared_at > (record.hard.since or 0) then
      return (cleared_at // s.spell_s + 1) * s.spell_s -- what was found does not slow it down
   elseif record.tied or not case or case.newest < s.spell_most - 0.5
      or math.max(#record.confirmed, case.confirmed) < s.slow_low then
      return nil
   end
   return (case.last // s.spell_s + 1) * s.spell_s
end

-- In how many tests of a suspect nodes took part: those of its run, and those that were asked for
-- and came to nothing, so that a partner whose port is always busy does not get every turn.
local function count_partners(self, component)
   local seen = self.evidence:case(component) and self.evidence:nodes(component)
      or loss.partners(self, component)
   for n, times in pairs(self.records[component].spent or {}) do
      seen[n] = (seen[n] or 0) + times
   end
   return seen
end

local function make_entry(self, component)
   local k, rivals = self.records[component], {}
   local lost = not self.evidence:case(component) and loss.case(self, component) or nil
   for i, r in ipairs(k.tied or {}) do
      rivals[i] = r.component
   end
   return { component = component, rivals = rivals,
      tests = math.max(1, self.s.slow_low - #k.confirmed),
      -- several win back what one loses
      streams = lost and not k.hard and not recurring_fault.case(self, component) and 1 or nil,
      after = find_not_before(self, component, k, lost), probation_until = k.probation_until or 0,
      since = k.suspect_at or 0,
      seen = function() return count_partners(self, component) end }
end

-- On probation first, then the oldest.
local function comes_before(first, second)
   if first.probation_until ~= second.probation_until then
      return first.probation_until > second.probation_until
   end
   return first.since < second.since or first.since == second.since
      and first.component < second.component
end

-- Put an entry where it belongs in a list that is in order.
local function insert_entry(list, entry)
   local i = #list
   while i > 0 and comes_before(entry, list[i]) do
      list[i + 1] = list[i]
      i = i - 1
   end
   list[i + 1] = entry
end

-- Take out of a list what is in a map.
local function remove_entries(list, map)
   local kept, n = 0, #list
   for i = 1, n do
      local w = list[i]
      list[i] = nil
      if map[w.component] == nil then
         kept = kept + 1
         list[kept] = w
      end
   end
end

-- Suspects that come, go or get another place: a map component → entry, or false.  Those whose
-- place stays the same, nearly all, are renewed there.
local function list_moved(self, list)
   local at, map = list.at, {}
   for c in pairs(self.want_changed) do
      local w, i = self.suspects[c] and make_entry(self, c), at[c]
      local old = i and list[i]
      if w and old and w.since == old.since and w.probation_until == old.probation_until then
         list[i] = w
      elseif w or old then
         map[c] = w or false
      end
   end
   return map
end

-- Suspects, in order; `at` is where each of them stands.
local function list_suspects(self)
   local list = self.want_list
   if list.version ~= self.version then
      local map = list_moved(self, list)
      if next(map) then
         remove_entries(list, map)
         for _, w in pairs(map) do
            if w then
               insert_entry(list, w)
            end
         end
         list.at = {}
         for i, w in ipairs(list) do
            list.at[w.component] = i
         end
      end
      list.version, self.want_changed = self.version, {}
   end
   return list
end

--- What a component wants tested has changed: it may have become a suspect, or be none any more.
function wanted_tests.changed(self, component)
   self.version, self.want_changed[component] = self.version + 1, true
end

--- Suspects, and links of sets that look slow: what the next plans should test about them.
-- @return array of { component, rivals = what it is to be told apart from, tests = pairs still
--   needed, seen = function that gives a map node → tests it took part in, after = time before
--   which nothing new would be known, or nil, late = after routine tests }
function wanted_tests.wanted(self)
   local kept, serial = self.want_all, self.evidence:serial()
   if kept and kept.version == self.version and kept.serial == serial then
      return kept
   end
   local list, of_sets = list_suspects(self), self.sets:wanted()
   if #of_sets > 0 then
      list = table.move(list, 1, #list, 1, { version = self.version, serial = serial })
      for _, w in ipairs(of_sets) do
         list[#list + 1] = { component = w.c, tests = 1, late = true }
      end
      self.want_all = list
   end
   return list
end

local WATCHED = 4

--- Components that are not suspects, but whose last test was low, of those that were low last: the
-- longest runs first.
-- @return array of { component }
function wanted_tests.watched(self)
   local list = {}
   for i, c in ipairs(self.evidence:longest(WATCHED)) do
      list[i] = { component = c }
   end
   return list
end

return wanted_tests
