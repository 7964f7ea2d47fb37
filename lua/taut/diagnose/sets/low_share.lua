-- SPDX-License-Identifier: GPL-2.0-or-later
--- How a few low flows among many are weighed: one slow link of a set, or a busy network?
--
-- One of N links that is slow shows a steady 1/N of the flows at one level, and the others at full
-- rate.  A network that is busy shows that level rarely, and where it does, in any share of the
-- flows.
local low_share = {}

local BURST = 2.5 -- standard deviations

local log_factorial = { [0] = 0 }

local function log_choose(n, k)
   for i = #log_factorial + 1, n do
      log_factorial[i] = log_factorial[i - 1] + math.log(i)
   end
   return log_factorial[n] - log_factorial[k] - log_factorial[n - k]
end

-- Chance of k in n at probability p.
local function chance(k, n, p)
   return math.exp(log_choose(n, k) + k * math.log(p) + (n - k) * math.log(1 - p))
end

-- More flows than one link carries are low: others have to do with it.
local function is_burst(k, n, model)
   return k > n * model.p + BURST * math.sqrt(n * model.p * (1 - model.p)) + 0.5
end

local function compute_odds(k, n, model)
   local without = chance(k, n, model.q)
   local busy = model.busy * (model.level / (n + 1) + (1 - model.level) * without)
   return math.log(((1 - model.busy) * chance(k, n, model.p) + busy)
      / ((1 - model.busy) * without + busy))
end

--- Flows up to which results are remembered in the model: of k in n under k * MANY + n.
low_share.MANY = 256

--- Log odds of "one of the set is slow" against "busy", for k of n flows at a level.
-- @param model { p = chance of a flow at the level with a slow link, q = without one, level =
--   chance that a busy network shows just this level, busy = share of the network that is busy }
function low_share.odds(k, n, model)
   local key = n < low_share.MANY and k * low_share.MANY + n
   local v = key and model[key]
   if not v then
      v = is_burst(k, n, model) and math.min(0, compute_odds(k, n, model))
         or compute_odds(k, n, model)
      if key then
         model[key] = v
      end
   end
   return v
end

local LEAST = 0.02 -- of the expectation; below it all levels are one

--- Levels are counted in steps of `set_near`, windows are two of them: a level lies well inside of
-- one.
-- @return number of the step that a share of the expectation lies in, from 0
function low_share.step(ratio, settings)
   if ratio <= LEAST then
      return 0
   end
   return math.floor(math.log(ratio / LEAST) / math.log(1 + settings.set_near))
end

-- The two ends of a window.
local function window_ends(window, settings)
   return LEAST * (1 + settings.set_near) ^ window, LEAST * (1 + settings.set_near) ^ (window + 2)
end

local FAIR = 1.05 -- so near to a half or a third

--- Is a window one in which fair sharing with somebody else leaves a flow?  What is steadily shared
-- looks like what is slow.
function low_share.is_fair(window, settings)
   local low, high = window_ends(window, settings)
   return low < 0.5 * FAIR and high > 0.5 / FAIR or low < FAIR / 3 and high > 1 / 3 / FAIR
end

--- By how much more a verdict takes in a window: more where it is a fair share, too.
function low_share.factor(window, settings)
   if low_share.is_fair(window, settings) then
      return settings.set_fair or 1
   end
   return 1
end

local ROUND = 1.2 -- chances seen elsewhere are rounded up to powers of it, so that few models do

--- What is expected in a window.
-- @param models { kind = {}, part = {} }: those that were made, for the same settings
-- @param window number of its first step
-- @param part share of a set's flows that cross the slow link
-- @param seen share of the flows of others of its class at this level
-- @return as low_share.odds wants it
function low_share.model(models, window, part, seen, settings)
   local w = models.kind[window]
   if not w then
      w = low_share.is_fair(window, settings) and "fair" or "level"
      models.kind[window] = w
   end
   local kinds = models.part[part]
   if not kinds then
      kinds = { fair = {}, level = {} }
      models.part[part] = kinds
   end
   local level = w == "fair" and settings.at_fair or settings.at_level
   local q, steps, of = settings.contended * level, 0, kinds[w]
   if seen > q then
      steps = math.ceil(math.log(seen / q, ROUND))
   end
   local m = of[steps]
   if not m then
      q = math.min(0.5, q * ROUND ^ steps)
      -- of the flows over the slow one
      local kept = (1 - settings.contended) * (1 - settings.busy_share / 2)
      m = { p = q + (1 - q) * kept * part, q = q, level = level, busy = settings.busy_share }
      of[steps] = m
   end
   return m
end

return low_share
