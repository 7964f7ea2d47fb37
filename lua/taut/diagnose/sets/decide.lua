-- SPDX-License-Identifier: GPL-2.0-or-later
--- From counted flows to a verdict on a set: "one of 18 uplinks of leaf7 is slow".
--
-- For each window of levels a set has a run: log odds that are added up spell by spell, and begin
-- anew where they fall to nothing, so that what was before a fault does not weigh.
local tables = require "taut.base.tables"
local weigh = require "taut.diagnose.sets.weigh"
local low_share = require "taut.diagnose.sets.low_share"

local decide = {}

---------------------------------------------------------------- a spell is over

-- At the level of what was named, or below it: that is explained.
local function is_window_known(window, named)
   for other in pairs(named) do
      if window <= other + 2 then
         return true
      end
   end
   return false
end

-- The opposite case: flows as they are without the slow one.
local function doubt_verdict(self, set, window, verdict, at)
   local spell = weigh.spell(self, set, window)
   verdict.doubt = math.max(0, verdict.doubt - spell.odds)
   if spell.hits > 0 then
      verdict.last = at
   end
   if verdict.doubt >= self.s.slow_score then
      decide.well(self, set, window)
   end
end

--- Does what is known of a set make it worth tests of its own?
function decide.watch(self, set)
   local most = 0
   for _, run in pairs(set.runs) do
      if run.score > most then
         most = run.score
      end
   end
   self.open[set] = nil
   if most >= self.s.suspect_score then
      self.open[set] = most
   end
end

-- A spell of a run that is over, or the first one of a run: what falls to nothing, or is long ago,
-- is no run.
local function take_spell(self, set, window, run, spell, at)
   local score = (run and run.score or 0) + spell.odds
   local last = at
   if spell.hits == 0 and run then
      last = run.last or at
   end
   if score >= self.s.slow_score then
      self.due[set] = true
   end
   if score <= 0 or at - last > self.s.forget_days * 86400 then
      set.runs[window] = nil
      return
   end
   if not run then
      run = weigh.fresh(at)
      set.runs[window] = run
   end
   weigh.add(run, spell, set.tally.cells)
   if spell.hits > 0 then
      run.spells, run.last = run.spells + 1, at
   end
end

--- A spell of a set is over: weigh it.
function decide.close(self, set)
   local at = set.tally.spell * self.s.spell_s
   local is_named = next(set.named) ~= nil
   local named = is_named and tables.copy(set.named) or set.named
   local runs, shown = set.runs, weigh.shown(set.tally.cells)
   for window, run in pairs(runs) do
      if not shown[window] and not (is_named and is_window_known(window, named)) then
         take_spell(self, set, window, run, weigh.silence(self, set, window), at)
      end
   end
   for window in pairs(shown) do
      if not (is_named and is_window_known(window, named)) then
         take_spell(self, set, window, runs[window], weigh.spell(self, set, window), at)
      end
   end
   for window, v in pairs(named) do
      doubt_verdict(self, set, window, v, at)
   end
   weigh.clear(set.tally)
   self.closed = self.closed + 1
   decide.watch(self, set)
end

---------------------------------------------------------------- which set

-- The strongest run near a window.
local function find_run_near(set, window)
   local best
   for w = window - 1, window + 1 do
      local run = set.runs[w]
      if run and (not best or run.score > best.score) then
         best = run
      end
   end
   return best
end

-- Is there another set that explains the same flows as well?  One that no flow has crossed since
-- the start of tautd may do so.
local function has_rival(self, set, window, run)
   local s = self.s
   for id, odds in pairs(run.by) do
      if id ~= set.id and run.all - odds < s.tie_score then
         local other = self.by_id[id]
         local own = other and find_run_near(other, window)
         if not other or other.is_testable or own and own.score >= run.score - s.tie_score then
            return true
         end
      end
   end
   return false
end

-- At a half or a third it takes more.
local function score_needed(self, window)
   local s = self.s
   return s.slow_score * low_share.factor(window, s)
end

-- Is there enough for a verdict?
local function is_ripe(self, set, window, run)
   local s = self.s
   return run.score >= score_needed(self, window) and run.spells >= s.slow_spells
      and run.last - run.first >= s.confirm_span_h * 3600 and tables.size(run.pairs) >= s.set_pairs
      and not has_rival(self, set, window, run)
end

---------------------------------------------------------------- verdicts

-- What it explains speaks against no other set.
local function drop_explained(self, set, window, run)
   for id in pairs(run.by) do
      local other = self.by_id[id]
      for w in pairs(other and other.runs or {}) do
         if w <= window + 2 and (other == set or w >= window - 2) then
            other.runs[w] = nil
         end
      end
   end
end

local function name_set(self, set, window, run, now)
   local left = run.sum / run.hits
   local state = left < self.s.failed and "failed" or "slow"
   local v = { set = set, members = set.members, window = window, left = left, since = now,
      first = run.first, last = run.last, hits = run.hits, flows = run.flows,
      spells = run.spells, pairs = tables.size(run.pairs), score = run.score, doubt = 0,
      state = state, is_fair = low_share.is_fair(window, self.s) }
   for lower, old in pairs(set.named) do -- what is slow was busy besides
      if lower < window then
         set.named[lower], self.standing[old] = nil, nil
      end
   end
   set.named[window], self.standing[v] = v, true
   drop_explained(self, set, window, run)
   self.changes[#self.changes + 1] = v
   return v
end

--- The set is well again at this level, or what was known is void.
function decide.well(self, set, window)
   local v = set.named[window]
   if v then
      set.named[window] = nil
      self.standing[v] = nil
      v.over = true
      self.changes[#self.changes + 1] = v
   end
end

-- @param over its verdicts are added to these
function decide.forget(self, set, over)
   for window, v in pairs(set.named) do
      decide.well(self, set, window)
      over[#over + 1] = v
   end
   set.runs = {}
   weigh.clear(set.tally)
   self.closed = self.closed + 1
end

-- Is a component known to be slow by its own tests?  Not where it is suspect for what was found
-- about it, and no test could say more; nor where the set itself came down to it.
local function is_known_slow(diagnosis, component)
   local k = diagnosis:record(component)
   return not k.hard or not (k.hard.of_set
      or k.state == "suspect" and diagnosis.evidence:low(component) == 0)
end

--- Is a member of the set known to be slow by itself?  Then it explains low flows.
function decide.is_explained(diagnosis, set)
   if set.known_at ~= diagnosis.version then
      local suspects, decided, members = diagnosis.suspects, diagnosis.decided, set.members
      set.known_at, set.known = diagnosis.version, false
      for i = 1, #members do
         local c = members[i]
         if (suspects[c] or decided[c]) and is_known_slow(diagnosis, c) then
            set.known = true
            break
         end
      end
   end
   return set.known
end

local function find_strongest(set)
   local best, at
   for window, run in pairs(set.runs) do
      if not best or run.score > best.score or run.score == best.score and window < at then
         best, at = run, window
      end
   end
   return best, at
end

-- Other sets that these flows cross are as far as this one is.
local function bring_up_others(self, set, run)
   local list = {}
   for id in pairs(run.by) do
      list[#list + 1] = self.by_id[id]
   end
   table.sort(list, function(first, second) return first.number < second.number end)
   for _, other in ipairs(list) do
      local spell = other.tally.spell
      if other ~= set and spell and spell < self.review_spell then
         decide.close(self, other)
      end
   end
end

--- Decide about the sets that have enough against them, the strongest first.
-- @return array of verdicts that are new or (field `over`) gone
function decide.review(self, now)
   self.review_spell = now // self.s.spell_s
   while next(self.due) do
      local best, best_run, at
      for set in pairs(self.due) do
         local run, window = find_strongest(set)
         if not run or run.score < self.s.slow_score then
            self.due[set] = nil
         elseif not best or run.score > best_run.score
            or run.score == best_run.score and set.number < best.number then
            best, best_run, at = set, run, window
         end
      end
      if best then
         bring_up_others(self, best, weigh.whole(self, best_run, at))
         self.due[best] = nil
         if is_ripe(self, best, at, best_run) then
            name_set(self, best, at, best_run, now)
         end
      end
   end
   return self.changes
end

--- All verdicts that stand, the oldest first; without those of sets of which a member is named.
function decide.verdicts(self)
   local list = {}
   for v in pairs(self.standing) do
      if not v.cable and not decide.is_explained(self.diagnosis, v.set) then
         list[#list + 1] = v
      end
   end
   table.sort(list, function(first, second)
      return first.since < second.since or first.since == second.since
         and first.set.number < second.set.number
   end)
   return list
end

return decide
