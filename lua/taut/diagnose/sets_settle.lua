--- From counted flows to a verdict on a set: "one of 18 uplinks of leaf7 is slow".
--
-- For each window of levels a set has a run: log odds that are added up spell by spell, and begin
-- anew where they fall to nothing, so that what was before a fault does not weigh.
local share = require "taut.diagnose.share"

local settle = {}

---------------------------------------------------------------- a spell is over

local ENOUGH = 200 -- flows of others that say what is usual

-- Share of the flows of the other sets of its class in a window.
local function seen_elsewhere(set, window)
   local class, n, hits = set.class, set.class.n - set.n, 0
   if n < ENOUGH then
      return 0
   end
   for step = window, window + 1 do
      hits = hits + (class.steps[step] or 0) - (set.steps[step] or 0)
   end
   return hits / n
end

-- Hits and their sum by window, of a cell that has some.
local function spread(cell)
   local hits, sums = {}, {}
   for i = 1, #cell.steps, 2 do
      local step, ratio = cell.steps[i], cell.steps[i + 1]
      for window = math.max(0, step - 1), step do
         hits[window] = (hits[window] or 0) + 1
         sums[window] = (sums[window] or 0) + ratio
      end
   end
   cell.hits, cell.sums = hits, sums
end

-- What a spell adds to a window's run: pair by pair, since a busy far end shows in all flows of its
-- own; and in all, since a busy near end does.  The one that says less counts.
local function weigh(self, set, window, run)
   local seen = seen_elsewhere(set, window)
   local model = share.model(self.models, window, set.part, seen, self.s)
   local all, n, k, by = 0, 0, 0, run.by
   for _, cell in ipairs(set.cells) do
      local hits = cell.hits and cell.hits[window] or 0
      local odds = share.odds(hits, cell.n, model)
      all, n, k = all + odds, n + cell.n, k + hits
      for _, other in ipairs(cell.way.sets) do
         by[other] = (by[other] or 0) + odds
      end
      if hits > 0 then
         run.pairs[cell.key] = (run.pairs[cell.key] or 0) + hits
         run.sum = run.sum + cell.sums[window]
      end
   end
   run.all, run.hits, run.flows = run.all + all, run.hits + k, run.flows + n
   local once = share.odds(k, n, model)
   return all < 0 and math.max(all, once) or math.min(all, once, self.s.set_spell_most), k
end

local function fresh(first)
   return { score = 0, all = 0, hits = 0, flows = 0, spells = 0, sum = 0, by = {}, pairs = {},
      first = first }
end

-- Windows in which this spell showed anything, and those with a run.
local function windows_of(set)
   local open = {}
   for window in pairs(set.runs) do
      open[window] = true
   end
   for _, cell in ipairs(set.cells) do
      if #cell.steps > 0 then
         spread(cell)
         for window in pairs(cell.hits) do
            open[window] = true
         end
      end
   end
   return open
end

-- At the level of what was named, or below it: that is explained.
local function is_known(window, named)
   for other in pairs(named) do
      if window <= other + 2 then
         return true
      end
   end
   return false
end

-- The opposite case: flows as they are without the slow one.
local function doubt(self, set, window, v, at)
   local run = fresh(at)
   local odds, k = weigh(self, set, window, run)
   v.doubt = math.max(0, v.doubt - odds)
   v.last = k > 0 and at or v.last
   if v.doubt >= self.s.slow_score then
      settle.well(self, set, window)
   end
end

--- Does what is known of a set make it worth tests of its own?
function settle.watch(self, set)
   local most = 0
   for _, run in pairs(set.runs) do
      most = math.max(most, run.score)
   end
   local weight = most >= self.s.suspect_score and most or nil
   if (weight ~= nil) ~= (self.open[set] ~= nil) then
      self.diagnosis.version = self.diagnosis.version + 1
   end
   self.open[set] = weight
end

--- A spell of a set is over: weigh it.
function settle.close(self, set)
   local at = set.spell * self.s.spell_s
   local named = {}
   for window, v in pairs(set.named) do
      named[window] = v
   end
   for window in pairs(windows_of(set)) do
      if not is_known(window, named) then
         local run = set.runs[window] or fresh(at)
         local odds, k = weigh(self, set, window, run)
         run.score = run.score + odds
         if k > 0 then
            run.spells, run.last = run.spells + 1, at
         end
         set.runs[window] = run.score > 0 and run or nil
         if run.score >= self.s.slow_score then
            self.due[set] = true
         end
      end
   end
   for window, v in pairs(named) do
      doubt(self, set, window, v, at)
   end
   set.cells, set.at, set.spell = {}, {}, nil
   settle.watch(self, set)
end

---------------------------------------------------------------- which set

-- The strongest run near a window.
local function run_near(set, window)
   local best
   for w = window - 1, window + 1 do
      local run = set.runs[w]
      best = run and (not best or run.score > best.score) and run or best
   end
   return best
end

-- Another set that explains the same flows as well, or nil.
local function rival_of(self, set, window, run)
   local s = self.s
   for other, odds in pairs(run.by) do
      if other ~= set and run.all - odds < s.tie_score then
         local own = run_near(other, window)
         if own and own.score >= run.score - s.tie_score then
            return other
         end
      end
   end
   return nil
end

local function size(map)
   local n = 0
   for _ in pairs(map) do
      n = n + 1
   end
   return n
end

--- What is missing for a verdict, in words; nil when nothing is.
function settle.missing(self, set, window, run)
   local s = self.s
   local n = size(run.pairs)
   if run.score < s.slow_score then
      return ("log odds are %.1f of %.1f"):format(run.score, s.slow_score)
   elseif run.spells < s.slow_spells then
      return ("seen in %d of %d spells"):format(run.spells, s.slow_spells)
   elseif run.last - run.first < s.confirm_span_h * 3600 then
      return ("seen for %.1f of %.1f h"):format((run.last - run.first) / 3600, s.confirm_span_h)
   elseif n < s.set_pairs then
      return ("%d of %d pairs of nodes"):format(n, s.set_pairs)
   end
   local rival = rival_of(self, set, window, run)
   return rival and "or " .. settle.words(self.topo, rival.members)
end

---------------------------------------------------------------- words

local function same(topo, members, name)
   local r = topo[name](topo, members[1])
   for _, c in ipairs(members) do
      if topo[name](topo, c) ~= r then
         return nil
      end
   end
   return r
end

local function group_name(topo, members, name)
   if not topo.group then
      return nil
   end
   local g = topo:group(topo[name](topo, members[1]))
   for _, c in ipairs(members) do
      if topo:group(topo[name](topo, c)) ~= g then
         return nil
      end
   end
   return "group " .. g
end

--- "one of 18 uplinks of leaf7".
function settle.words(topo, members)
   if #members == 1 then
      return topo.components[members[1]]
   end
   local class = topo:class(members[1])
   local what = ("one of %d %s"):format(#members, class:match "link$" and class .. "s"
      or class .. " links")
   local from, to = same(topo, members, "from"), same(topo, members, "to")
   if from then
      return ("%s of %s"):format(what, topo.router_name[from])
   elseif to then
      return ("%s into %s"):format(what, topo.router_name[to])
   end
   local g, h = group_name(topo, members, "from"), group_name(topo, members, "to")
   if g and h then
      return ("%s from %s to %s"):format(what, g, h)
   end
   return ("%s (%s, %s …)"):format(what, topo.components[members[1]], topo.components[members[2]])
end

local function text_of(self, set, run, left)
   local state = left < self.s.failed and "has failed" or "is slow"
   return ("%s %s: %d of %d flows got %.0f%%, the others are well; in %d spells, between %d pairs")
      :format(settle.words(self.topo, set.members), state, run.hits, run.flows, 100 * left,
         run.spells, size(run.pairs))
end

---------------------------------------------------------------- verdicts

-- What it explains speaks against no other set.
local function explain(set, window, run)
   for other in pairs(run.by) do
      for w in pairs(other.runs) do
         if w <= window + 2 and (other == set or w >= window - 2) then
            other.runs[w] = nil
         end
      end
   end
end

local function name(self, set, window, run, now)
   local left = run.sum / run.hits
   local v = { set = set, members = set.members, window = window, left = left, since = now,
      first = run.first, last = run.last, hits = run.hits, flows = run.flows,
      spells = run.spells, pairs = size(run.pairs), score = run.score, doubt = 0,
      state = left < self.s.failed and "failed" or "slow",
      text = text_of(self, set, run, left) }
   for lower, old in pairs(set.named) do -- what is slow was busy besides
      if lower < window then
         set.named[lower], self.standing[old] = nil, nil
      end
   end
   set.named[window], self.standing[v] = v, true
   explain(set, window, run)
   self.changes[#self.changes + 1] = v
   return v
end

--- The set is well again at this level, or what was known is void.
function settle.well(self, set, window)
   local v = set.named[window]
   if v then
      set.named[window] = nil
      self.standing[v] = nil
      v.over = true
      self.changes[#self.changes + 1] = v
   end
end

function settle.forget(self, set)
   for window in pairs(set.named) do
      settle.well(self, set, window)
   end
   set.runs, set.cells, set.at, set.spell = {}, {}, {}, nil
end

--- Is a member of the set known to be slow by itself?  Then it explains low flows.
function settle.is_explained(diagnosis, set)
   if set.known_at ~= diagnosis.version then
      set.known_at, set.known = diagnosis.version, false
      for _, c in ipairs(set.members) do
         local k = rawget(diagnosis.comp, c)
         set.known = set.known or k ~= nil and k.state ~= "ok" and k.state ~= "unknown"
      end
   end
   return set.known
end

local function strongest(set)
   local best, at
   for window, run in pairs(set.runs) do
      if not best or run.score > best.score or run.score == best.score and window < at then
         best, at = run, window
      end
   end
   return best, at
end

-- Other sets that these flows cross are as far as this one is.
local function bring_up(self, set, run)
   local list = {}
   for other in pairs(run.by) do
      list[#list + 1] = other
   end
   table.sort(list, function(a, b) return a.number < b.number end)
   for _, other in ipairs(list) do
      if other ~= set and other.spell and other.spell < self.review_spell then
         settle.close(self, other)
      end
   end
end

--- Decide about the sets that have enough against them, the strongest first.
-- @return array of verdicts that are new or (field `over`) gone
function settle.review(self, now)
   self.review_spell = now // self.s.spell_s
   self.changes = {}
   while next(self.due) do
      local best, best_run, at
      for set in pairs(self.due) do
         local run, window = strongest(set)
         if not run or run.score < self.s.slow_score then
            self.due[set] = nil
         elseif not best or run.score > best_run.score
            or run.score == best_run.score and set.number < best.number then
            best, best_run, at = set, run, window
         end
      end
      if best then
         bring_up(self, best, best_run)
         self.due[best] = nil
         if not settle.missing(self, best, at, best_run) then
            name(self, best, at, best_run, now)
         end
      end
   end
   return self.changes
end

--- All verdicts that stand, the oldest first; without those of sets of which a member is named.
function settle.verdicts(self)
   local list = {}
   for v in pairs(self.standing) do
      list[#list + 1] = not settle.is_explained(self.diagnosis, v.set) and v or nil
   end
   table.sort(list, function(a, b)
      return a.since < b.since or a.since == b.since and a.set.number < b.set.number
   end)
   return list
end

return settle
