-- SPDX-License-Identifier: GPL-2.0-or-later
--- Failed and degraded components: new routes, what has none, what carries more.
local graph = require "taut.graph"
local islands = require "taut.topology.islands"

local health = {}

local LOST = 1000 -- pairs without a route that a report names
local LOST_APART = 1 << 20 -- … and are looked through where parts are apart

local function check_left(self, left)
   for c, v in pairs(left) do
      if math.type(c) ~= "integer" or c < 1 or c > #self.components then
         error(("component %s is not within 1 to %d"):format(c, #self.components), 3)
      elseif type(v) ~= "number" or v < 0 or v > 1 then
         error(("%s: %s is left, expected 0 to 1"):format(self.components[c], v), 3)
      end
   end
end

-- Takes over the state, and tells whether another set of links has failed.
local function take_left(self, left)
   local changed = false
   for c in pairs(self.degraded) do
      self.graph:set_left(c, left[c] or 1)
   end
   for c, v in pairs(left) do
      self.graph:set_left(c, v)
   end
   for c in pairs(self.failed) do
      changed = changed or left[c] ~= 0
   end
   self.degraded = {}
   local failed = {}
   for c, v in pairs(left) do
      if v < 1 then
         self.degraded[c] = v
      end
      if v == 0 then
         failed[c] = true
      end
      changed = changed or v == 0 and not self.failed[c]
   end
   self.failed = failed
   return changed
end

-- Another set of failed links is another routing: the evidence of the old one may not hold.
local function new_epoch(self)
   local names = {}
   for c in pairs(self.failed) do
      names[#names + 1] = self.components[c]
   end
   table.sort(names)
   self.epoch = self.epoch + 1
   self.signature = self.wiring
   if #names > 0 then
      self.signature = ("%s, %d failed [%s]"):format(self.wiring, #names,
         graph.digest(table.concat(names, " ")))
   end
end

local function more_loaded(self, before, now)
   local list = {}
   for l = 1, #now do
      if now[l] > before[l] * (1 + 1e-9) then
         list[#list + 1] = { self.first_link + l - 1, before[l], now[l] }
      end
   end
   table.sort(list, function(one, other)
      local more_a, more_b = one[3] / one[2], other[3] / other[2]
      return more_a > more_b or more_a == more_b and one[1] < other[1]
   end)
   return list
end

-- In the order of the routers, whichever way and on however many threads they were walked.  That
-- there is none between parts which no link joins is not news.
local function unroutable(self, pairs_lost)
   local list, last, part = {}, {}, islands.of(self).of_router
   table.sort(pairs_lost, function(one, other)
      return one[1] < other[1] or one[1] == other[1] and one[2] < other[2]
   end)
   for _, p in ipairs(pairs_lost) do -- one for each node that cannot be reached
      local is_apart = part[p[1]] ~= part[p[2]]
      if not is_apart and (p[1] ~= last[1] or p[2] ~= last[2]) then
         list[#list + 1], last = { p[1], p[2], self:because(p[1], p[2]) or "no route" }, p
      end
   end
   return list
end

--- Say which components are failed or degraded now; all others are healthy.  Routes avoid failed
-- links (0 left) as the routing can; degraded ones are still used.
-- @param left map component → share of its capacity that is left, 0 … 1
-- @param opt table: report = false for no more than the epoch (the loads take time on a large
--   machine without a quick way to them)
-- @return { epoch, pairs = pairs of nodes (rails) without a route that links would join,
--   unroutable = array of the first { router, router, why } of them, is_all = no others,
--   more_loaded = array of { link, was, now }, in pairs of nodes, the largest increase first }
function health.set(self, left, opt)
   check_left(self, left)
   local wants = not opt or opt.report ~= false
   local before = wants and self.graph:all_to_all()
   if take_left(self, left) then
      new_epoch(self)
   end
   assert(self.graph:update())
   if not wants then
      return { epoch = self.epoch }
   end
   local apart = islands.pairs_apart(self)
   local most = LOST
   if apart > 0 then
      most = LOST_APART
   end
   local now, lost, first = self.graph:all_to_all(nil, { most = most })
   return { epoch = self.epoch, pairs = lost - apart, unroutable = unroutable(self, first),
      is_all = #first < most,
      more_loaded = more_loaded(self, before, now) }
end

return health
