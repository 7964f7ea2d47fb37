-- SPDX-License-Identifier: GPL-2.0-or-later
--- What one spell says of a set, window by window.
local share = require "taut.diagnose.share"

local weigh = {}

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

--- What a spell adds to a window's run: pair by pair, since a busy far end shows in all flows of
-- its own; and in all, since a busy near end does.  The one that says less counts.
-- @return log odds, and how many flows were at the level
function weigh.spell(self, set, window, run)
   local seen = seen_elsewhere(set, window)
   local model = share.model(self.models, window, set.part, seen, self.s)
   local all, n, k, by, odds_of = 0, 0, 0, run.by, share.odds
   local cells = set.cells
   for i = 1, #cells do
      local cell = cells[i]
      local flows, hits, sets = cell.n, cell.hits and cell.hits[window] or 0, cell.way.sets
      local odds = odds_of(hits, flows, model)
      all, n, k = all + odds, n + flows, k + hits
      for j = 1, #sets do
         local id = sets[j].id
         by[id] = (by[id] or 0) + odds
      end
      if hits > 0 then
         run.pairs[cell.key] = (run.pairs[cell.key] or 0) + hits
         run.sum = run.sum + cell.sums[window]
      end
   end
   run.all, run.hits, run.flows = run.all + all, run.hits + k, run.flows + n
   local once = #cells > 1 and share.odds(k, n, model) or all
   return all < 0 and math.max(all, once) or math.min(all, once, self.s.set_spell_most), k
end

--- A run that begins.
function weigh.fresh(first)
   return { score = 0, all = 0, hits = 0, flows = 0, spells = 0, sum = 0, by = {}, pairs = {},
      first = first }
end

--- Windows in which this spell showed anything, and those with a run.
function weigh.windows(set)
   local open = {}
   for window in pairs(set.runs) do
      open[window] = true
   end
   for _, cell in ipairs(set.cells) do
      if cell.steps then
         spread(cell)
         for window in pairs(cell.hits) do
            open[window] = true
         end
      end
   end
   return open
end

return weigh
