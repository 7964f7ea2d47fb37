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

-- Chances by hits and flows that were computed are in the model (share.odds).
local MANY = share.MANY

--- What a spell says in a window: pair by pair, since a busy far end shows in all flows of its own;
-- and in all, since a busy near end does.  The one that says less counts.
-- @return { odds = log odds, all = those of the pairs, flows, hits = how many were at the level,
--   model }; good until the next one is weighed
function weigh.spell(self, set, window)
   local seen = seen_elsewhere(set, window)
   local model = share.model(self.models, window, set.part, seen, self.s)
   local all, n, k, cells, odds_of = 0, 0, 0, set.cells, share.odds
   for i = 1, #cells do
      local cell = cells[i]
      local flows, hits = cell.n, cell.hits and cell.hits[window] or 0
      all = all + (flows < MANY and model[hits * MANY + flows] or odds_of(hits, flows, model))
      n, k = n + flows, k + hits
   end
   local once = #cells > 1 and odds_of(k, n, model) or all
   local spell = self.weighed
   spell.all, spell.flows, spell.hits, spell.model = all, n, k, model
   spell.odds = all < 0 and math.max(all, once) or math.min(all, once, self.s.set_spell_most)
   return spell
end

--- Add the spell that was weighed last to a window's run.
function weigh.add(self, set, run)
   local spell, log = self.weighed, run.log
   log[#log + 1], log[#log + 2] = set.cells, spell.model
   run.score, run.all = run.score + spell.odds, run.all + spell.all
   run.hits, run.flows = run.hits + spell.hits, run.flows + spell.flows
end

local function add_cells(run, window, cells, model)
   local by = run.by
   for i = 1, #cells do
      local cell = cells[i]
      local hits, way = cell.hits and cell.hits[window], cell.way
      local odds = share.odds(hits or 0, cell.n, model)
      for j = 1, #way do
         local id = way[j].id
         by[id] = (by[id] or 0) + odds
      end
      if hits then
         run.pairs[cell.key] = (run.pairs[cell.key] or 0) + hits
         run.sum = run.sum + cell.sums[window]
      end
   end
end

--- Who a run speaks against beside its own set, and by which pairs, is added up when somebody
-- asks: few runs come so far.
-- @return the run, of which `by`, `pairs` and `sum` are what they should be
function weigh.whole(run, window)
   local log = run.log
   for i = 1, #log, 2 do
      add_cells(run, window, log[i], log[i + 1])
   end
   run.log = {}
   return run
end

--- A run that begins.
function weigh.fresh(first)
   return { score = 0, all = 0, hits = 0, flows = 0, spells = 0, sum = 0, by = {}, pairs = {},
      log = {}, first = first }
end

--- Windows in which this spell showed anything, and those with a run.
-- @return set of them
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
