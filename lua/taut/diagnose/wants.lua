-- SPDX-License-Identifier: GPL-2.0-or-later
--- What the diagnosis would like tested: suspects and what they are tied with.
local wants = {}

local function rivals_of(k)
   local list = {}
   for i, r in ipairs(k.tied or {}) do
      list[i] = r.component
   end
   return list
end

-- When a test can tell something new: not in this spell, where it has told what it can; not before
-- the span that a verdict wants, where only that is missing.
local function not_before(self, c, k)
   local s, case = self.s, self.evidence:case(c)
   local cleared_at = k.hard and not case and self:seen(c).cleared_at or 0
   if k.hard and not case and cleared_at > (k.hard.since or 0) then
      return (cleared_at // s.spell_s + 1) * s.spell_s -- what was found does not slow it down
   elseif k.tied or not case or case.newest < s.spell_most - 0.5 then
      return nil
   end
   return (case.last // s.spell_s + 1) * s.spell_s
end

local function entry_of(self, c)
   local k = self.records[c]
   local rivals = rivals_of(k)
   return { c = c, rivals = rivals, want = #rivals > 0 and "clear" or "confirm",
      after = not_before(self, c, k),
      weight = math.max(self.evidence:score(c), k.hard and self.s.suspect_score or 0),
      seen = function() return self.evidence:nodes(c) end }
end

--- Everything there is to want, the weightiest first.
-- @return array of { c, rivals, want = "confirm"|"clear", seen = function that gives a map node →
--   tests it took part in, weight, after = time before which nothing new would be known, or nil };
--   its field `version` changes when it does
function wants.wants(self)
   if self.want_list and self.want_list.version == self.version then
      return self.want_list
   end
   local list, known = { version = self.version }, self.want_of
   for c in pairs(self.suspects) do
      known[c] = known[c] or entry_of(self, c)
      list[#list + 1] = known[c]
   end
   table.sort(list, function(a, b)
      return a.weight > b.weight or a.weight == b.weight and a.c < b.c
   end)
   for _, w in ipairs(self.sets:wanted()) do
      list[#list + 1] = { c = w.c, rivals = {}, want = "confirm", weight = w.weight, late = true,
         seen = function() return {} end }
   end
   self.want_list = list
   return list
end

-- In how many tests of a suspect nodes took part: those of its run, and those that were asked for
-- and came to nothing, so that a partner whose port is always busy does not get every turn.
local function partners(self, c)
   local seen = self.evidence:nodes(c)
   for n, times in pairs(self.records[c].spent or {}) do
      seen[n] = (seen[n] or 0) + times
   end
   return seen
end

--- Suspects and what the next plans should test about them.
-- @return array of { component, tied = set, seen = map node → tests (with those
--   that came void), tests = pairs still needed,
--   since }, those on probation first, then the oldest
function wants.wanted(self, now)
   local list = {}
   for c in pairs(self.suspects) do
      local k, tied, seen = self.records[c], {}, partners(self, c)
      for _, r in ipairs(k.tied or {}) do
         tied[r.component] = true
      end
      list[#list + 1] = { component = c, tied = tied, seen = seen,
         since = k.suspect_at or 0, tests = math.max(1, self.s.slow_low - #k.confirmed),
         probation = k.probation_until and now < k.probation_until or false }
   end
   table.sort(list, function(a, b)
      if a.probation ~= b.probation then
         return a.probation
      end
      return a.since < b.since or a.since == b.since and a.component < b.component
   end)
   for _, w in ipairs(self.sets:wanted()) do
      list[#list + 1] = { component = w.c, tied = {}, seen = {}, since = now, tests = 1,
         late = true }
   end
   return list
end

local WATCHED = 4

--- Components that are no suspects, but whose last test was low: the longest runs first.
-- @return array as of `wanted`, without `tests`
function wants.watched(self)
   local list = {}
   for _, c in ipairs(self.evidence:open()) do
      if not self.suspects[c] and not self:is_decided(c) then
         list[#list + 1] = { component = c, tied = {}, seen = {}, low = self.evidence:low(c) }
      end
   end
   table.sort(list, function(a, b)
      return a.low ~= b.low and a.low > b.low or a.low == b.low and a.component < b.component
   end)
   return table.move(list, 1, math.min(#list, WATCHED), 1, {})
end

return wants
