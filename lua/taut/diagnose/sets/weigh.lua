-- SPDX-License-Identifier: GPL-2.0-or-later
--- What one spell says of a set, window by window.
local low_share = require "taut.diagnose.sets.low_share"

local weigh = {}

local NONE = {}
local ENOUGH = 200 -- flows of others that say what is usual

---------------------------------------------------------------- cells

-- The flows of a spell by pair of nodes.  There are two pairs on average and hundreds at times, so
-- they lie in one flat array, cell after cell: key of the pair, number of flows, rail or false, and
-- false or { step, ratio, step, ratio … } of those that were low.
local CELL = 4
local FEW = 8 * CELL -- entries up to which looking through them is quicker than an index

--- What each flow has a look at of its sets, apart from all else that is known of these.
-- @param marked how many of its members are suspect, named or followed (member.lua)
-- @return { set, class, is_counted, marked, n = flows since the start, spell = that is open, or
--   false, cells = of it, at = key → place in cells, or false }
function weigh.tally(set, class, marked)
   return { set = set, class = class, is_counted = not set.is_testable, marked = marked, n = 0,
      spell = false, cells = {}, at = false }
end

--- Begin a spell anew.
function weigh.clear(tally)
   tally.cells, tally.at, tally.spell = {}, false, false
end

local function index_cells(cells)
   local at = {}
   for i = 1, #cells, CELL do
      at[cells[i]] = i
   end
   return at
end

local function find_cell(tally, key)
   local cells = tally.cells
   local n = #cells
   if n > FEW then
      tally.at = tally.at or index_cells(cells)
      return tally.at[key]
   end
   for i = 1, n, CELL do
      if cells[i] == key then
         return i
      end
   end
   return nil
end

--- @return where the cell of a pair begins in tally.cells; a new one has no flows
function weigh.cell(tally, key, rail)
   local i, cells = find_cell(tally, key), tally.cells
   if not i then
      i = #cells + 1
      cells[i], cells[i + 1], cells[i + 2], cells[i + 3] = key, 0, rail or false, false
      if tally.at then
         tally.at[key] = i
      end
   end
   return i
end

---------------------------------------------------------------- weighing

-- Share of the flows of the other sets of its class in a window.
local function seen_elsewhere(set, window)
   local tally = set.tally
   local class = tally.class
   local n = class.n - tally.n
   if n < ENOUGH then
      return 0
   end
   local all, own, upper = class.steps, set.steps, window + 1
   return ((all[window] or 0) - (own[window] or 0) + (all[upper] or 0) - (own[upper] or 0)) / n
end

local function choose_model(self, set, window)
   return low_share.model(self.models, window, set.part, seen_elsewhere(set, window), self.s)
end

-- How many flows of a cell were in a window, and their sum.
local function count_shown_in(steps, window)
   local hits, sum = 0, 0
   for i = 1, #steps, 2 do
      local step = steps[i]
      if step == window or step == window + 1 then
         hits, sum = hits + 1, sum + steps[i + 1]
      end
   end
   return hits, sum
end

-- Chances by hits and flows that were computed are in the model (low_share.odds).
local MANY = low_share.MANY

--- What a spell says in a window: pair by pair, since a busy far end shows in all flows of its own;
-- and in all, since a busy near end does.  The one that says less counts.
-- @return { odds = log odds, all = those of the pairs, flows, hits = how many were at the level,
--   model }; good until the next one is weighed
function weigh.spell(self, set, window)
   local model = choose_model(self, set, window)
   local all, n, k, cells, odds_of = 0, 0, 0, set.tally.cells, low_share.odds
   for i = 1, #cells, CELL do
      local flows, steps = cells[i + 1], cells[i + 3]
      local hits = steps and count_shown_in(steps, window) or 0
      all = all + (flows < MANY and model[hits * MANY + flows] or odds_of(hits, flows, model))
      n, k = n + flows, k + hits
   end
   local once = #cells > CELL and odds_of(k, n, model) or all
   local spell = self.weighed
   spell.all, spell.flows, spell.hits, spell.model = all, n, k, model
   spell.odds = all < 0 and math.max(all, once) or math.min(all, once, self.s.set_spell_most)
   return spell
end

--- The same for a window in which no flow was: what it says depends on the model alone, of which
-- most windows have the same.
function weigh.silence(self, set, window)
   local model = choose_model(self, set, window)
   local spell = model.silence
   if not spell then
      spell = { hits = 0, model = model }
      model.silence = spell
   end
   if spell.serial ~= self.closed then
      local now = weigh.spell(self, set, window)
      spell.all, spell.flows, spell.odds, spell.serial = now.all, now.flows, now.odds, self.closed
   end
   return spell
end

--- Add a spell that was weighed to a window's run.
function weigh.add(run, spell, cells)
   local log = run.log
   local n = #log
   log[n + 1], log[n + 2] = cells, spell.model
   run.score, run.all = run.score + spell.odds, run.all + spell.all
   run.hits, run.flows = run.hits + spell.hits, run.flows + spell.flows
end

-- Sets on the way of a cell's pair of nodes.
local function sets_between(self, key, rail)
   local n, list = self.nodes + 1, {}
   for _, stage in ipairs(self.topo:route(key // n, key % n, nil, rail or nil) or NONE) do
      if type(stage) == "table" then
         list[#list + 1] = self:tally_at(stage).set
      end
   end
   return list
end

local function add_cells(self, run, window, cells, model)
   local by = run.by
   for i = 1, #cells, CELL do
      local key, steps = cells[i], cells[i + 3]
      local hits, sum = count_shown_in(steps or NONE, window)
      local odds = low_share.odds(hits, cells[i + 1], model)
      for _, set in ipairs(sets_between(self, key, cells[i + 2])) do
         by[set.id] = (by[set.id] or 0) + odds
      end
      if hits > 0 then
         run.pairs[key] = (run.pairs[key] or 0) + hits
         run.sum = run.sum + sum
      end
   end
end

--- Who a run speaks against beside its own set, and by which pairs, is added up when somebody
-- asks: few runs come so far.
-- @return the run, of which `by`, `pairs` and `sum` are what they should be
function weigh.whole(self, run, window)
   local log = run.log
   for i = 1, #log, 2 do
      add_cells(self, run, window, log[i], log[i + 1])
   end
   run.log = {}
   return run
end

--- A run that begins.
function weigh.fresh(first)
   return { score = 0, all = 0, hits = 0, flows = 0, spells = 0, sum = 0, by = {}, pairs = {},
      log = {}, first = first }
end

--- Windows in which this spell showed anything.
-- @return set of them
function weigh.shown(cells)
   local windows
   for i = CELL, #cells, CELL do
      local steps = cells[i]
      for k = 1, steps and #steps or 0, 2 do
         local step = steps[k]
         windows = windows or {}
         windows[step], windows[step > 0 and step - 1 or 0] = true, true
      end
   end
   return windows or NONE
end

return weigh
