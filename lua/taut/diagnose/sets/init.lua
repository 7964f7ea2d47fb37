-- SPDX-License-Identifier: GPL-2.0-or-later
--- One slow link of a set: traffic takes one of its members, and it is not known which.
--
-- Members of a hashed or adaptive set are neither cleared nor accused by a test.  What their flows
-- say is counted for the set: how many, and how many at which level, by spell and pair of nodes.
-- Where a level stands out, spell by spell, in about the share that one member carries, while the
-- other flows are at full rate, one of the set is slow.  A pair crosses several sets, so a low flow
-- speaks against each; the one whose flows are low with *every* far end is it, and what another
-- set explains as well is a tie.  doc/internals/diagnose.md has the calculation.
local pack = require "taut.diagnose.sets.pack"
local decide = require "taut.diagnose.sets.decide"
local inventory = require "taut.diagnose.sets.inventory"
local member = require "taut.diagnose.sets.member"
local low_share = require "taut.diagnose.sets.low_share"
local tables = require "taut.base.tables"
local text = require "taut.diagnose.sets.text"
local weigh = require "taut.diagnose.sets.weigh"

local sets = {}
local Sets = {}
Sets.__index = Sets

local WANTED = 16 -- sets that plans are asked to look at

---------------------------------------------------------------- which sets there are

-- The largest part of the traffic that one member carries.
local function largest_part(stage)
   local sum, most = 0, 0
   for _, w in ipairs(stage.w or {}) do
      sum, most = sum + w, math.max(most, w)
   end
   if #stage > 1 and sum > 0 then
      return most / math.max(1, sum)
   end
   return 1 / #stage
end

-- Is the link all of some route?
local function is_whole_route(topo, component)
   local a, b = topo:on_router(topo:from(component))[1], topo:on_router(topo:to(component))[1]
   local route = a and b and topo:route(a, b)
   return route and #route == 3 and route[2] == component or false
end

-- Is each member?  Then it is tested alone.  A link may be in many sets.
local function is_testable(self, members)
   local known = self.is_route
   for _, c in ipairs(members) do
      if known[c] == nil then
         known[c] = is_whole_route(self.topo, c)
      end
      if not known[c] then
         return false
      end
   end
   return true
end

local function new_set(self, stage, key, part)
   local class = ("%s %d"):format(self.topo:class(stage[1]), #stage)
   self.classes[class] = self.classes[class] or { n = 0, steps = {} }
   local set = { id = ("%x"):format(key), number = #self.list + 1,
      part = part or largest_part(stage), members = table.move(stage, 1, #stage, 1, {}),
      is_testable = is_testable(self, stage), steps = {}, runs = {}, named = {} }
   set.tally = weigh.tally(set, self.classes[class], member.count(self, stage))
   self.by_key[key], self.by_id[set.id], self.list[set.number] = set, set, set
   for _, c in ipairs(stage) do
      self.of[c] = self.of[c] or {}
      table.insert(self.of[c], set)
   end
   return set
end

local function find_or_make_set(self, stage, part)
   local key = pack.key(stage)
   return self.by_key[key] or new_set(self, stage, key, part)
end

--- The tally (weigh.lua) of the set at a stage of a route: of one set always the same table.
function Sets:tally_at(stage)
   local tally = self.by_stage[stage]
   if not tally then
      tally = find_or_make_set(self, stage).tally
      self.by_stage[stage] = tally
   end
   return tally
end

-- Put the tallies of the sets on a route into self.way, in order.
-- @return whether there are any; whether one has a member of which more is known
local function collect_way(self, route)
   local way, known, n, marked = self.way, self.by_stage, 0, 0
   for i = 2, #route - 1 do
      local stage = route[i]
      if type(stage) == "table" then
         local tally = known[stage] or self:tally_at(stage)
         n, marked = n + 1, marked + tally.marked
         way[n] = tally
      end
   end
   for i = n + 1, #way do
      way[i] = nil
   end
   return n > 0, marked > 0
end

---------------------------------------------------------------- flows

-- Is anything that all flows of a route cross slow, so that it may be what made a test low?
local function has_slow_component(self, route)
   local decided = self.diagnosis.decided
   for i = 1, #route do
      if decided[route[i]] then
         return true
      end
   end
   return false
end

-- Is a member of its sets?  Then that explains low flows.
local function has_slow_member(self, way)
   for i = 1, #way do
      if way[i].marked > 0 and decide.is_explained(self.diagnosis, way[i].set) then
         return true
      end
   end
   return false
end

-- Is a level one that a set which was named may show, so that it speaks against no other?  What is
-- slow may be busy besides, and show less.
local function find_named_at(way, step)
   for _, tally in ipairs(way) do
      for window in pairs(tally.set.named) do
         if step <= window + 2 then
            return tally
         end
      end
   end
   return nil
end

-- Count a flow between a pair of nodes for a set.
local function count_flow(tally, key, rail, step, ratio)
   local cells, class = tally.cells, tally.class
   local i = weigh.cell(tally, key, rail)
   cells[i + 1] = cells[i + 1] + 1
   tally.n, class.n = tally.n + 1, class.n + 1
   if step then
      local set, steps = tally.set, cells[i + 3] or {}
      local n = #steps
      cells[i + 3], steps[n + 1], steps[n + 2] = steps, step, ratio
      set.steps[step] = (set.steps[step] or 0) + 1
      class.steps[step] = (class.steps[step] or 0) + 1
   end
end

-- A flow that got `ratio` of the expected rate.
local function take_flow(self, test, way, ratio)
   local s = self.s
   local step = ratio < s.good and low_share.step(ratio, s) or nil
   local named = step and next(self.standing) and find_named_at(way, step)
   local key = test.src * (self.nodes + 1) + test.dst
   for i = 1, #way do
      local tally = way[i]
      tally.set.last = self.now
      if tally.is_counted and (not named or named == tally) then
         count_flow(tally, key, test.rail, step, ratio)
      end
   end
end

-- A test that may be counted: for its sets, or for a member that is known.
local function take_test(self, test, way, is_marked, spell)
   local class, ratio = test.class, test.ratio
   local means = (class == "good" or class == "low") and ratio and ratio >= 0 and ratio < math.huge
   if is_marked then
      if means then
         member.take(self, way, test, spell)
      end
      if has_slow_member(self, way) then
         return
      end
   end
   for i = 1, #way do
      local tally = way[i]
      if tally.is_counted then
         if (tally.spell or spell) < spell then
            decide.close(self, tally.set)
         end
         tally.spell = tally.spell or spell
      end
   end
   if means then
      take_flow(self, test, way, ratio)
   end
end

local NONE = {}

--- Count the flows of an event.  To be called before the engine has taken it in: whether its tests
-- count must not depend on how they came out.
-- @param flows tests over sets of one stream, whose way nobody knows, and of whose ways nothing
--   that is sure has low tests: as taut.evidence's take() gives them
-- @param now seconds
function Sets:observe(flows, now)
   if self.topo.epoch ~= self.epoch then
      self:begin(self.diagnosis)
   end
   local spell = now // self.s.spell_s
   self.now = now
   self.changes, self.touched = {}, {}
   for i = 1, #flows do
      local t = flows[i]
      local route = not t.way and t.route or self.topo:route(t.src, t.dst, nil, t.rail) or NONE
      local has_sets, is_marked = collect_way(self, route)
      if has_sets and not has_slow_component(self, route) then
         take_test(self, t, self.way, is_marked, spell)
      end
   end
   return decide.review(self, now)
end

--- A component became one of which more is known (a suspect, or named), or no longer exists.
-- @param by 1 or -1
function Sets:mark(component, by)
   for _, set in ipairs(self.of[component] or NONE) do
      set.tally.marked = set.tally.marked + by
   end
end

--- Forget what was counted of the sets that a component belongs to: it was repaired.
-- @return their verdicts, which are over
function Sets:forget(component)
   local over = {}
   for _, set in ipairs(self.of[component] or {}) do
      decide.forget(self, set, over)
   end
   return over
end

--- The sets that have a slow member.
-- @return array of { set, members, state, left, since, hits, flows, spells, pairs, is_fair }, see
--   sets/decide.lua; by time
function Sets:verdicts()
   return decide.verdicts(self)
end

--- One of these verdicts in words; and its beginning, which stays the same.
function Sets:words(verdict)
   return text.verdict(self.topo, verdict), text.subject(self.topo, verdict)
end

-- What each set weighs that plans ought to look at.
local function weigh_sets(self)
   local named = self.topo.asked_at and self:verdicts() or {}
   if #named == 0 then
      return self.open
   end
   local weights = tables.copy(self.open)
   for _, v in ipairs(named) do
      weights[v.set] = v.score
   end
   return weights
end

-- The weightiest of them: this is asked for each plan, and there may be hundreds.
local function find_weightiest(weights, most)
   local list, n = {}, 0
   local function comes_before(set, weight, other)
      local of_other = weights[other]
      return weight > of_other or weight == of_other and set.number < other.number
   end
   for set, weight in pairs(weights) do
      if n < most or comes_before(set, weight, list[n]) then
         n = math.min(n + 1, most)
         local i = n
         while i > 1 and comes_before(set, weight, list[i - 1]) do
            list[i], i = list[i - 1], i - 1
         end
         list[i] = set
      end
   end
   return list
end

--- Sets that plans ought to look at, the weightiest first: where ways can be asked for also those
-- that were named, until a member of theirs is.
-- @return array of { c = the member that no test went over for the longest time }: where ways can
--   be asked for, one after the other is
function Sets:wanted()
   local list = {}
   if next(self.open) or next(self.standing) then
      for i, set in ipairs(find_weightiest(weigh_sets(self), WANTED)) do
         list[i] = { c = self.evidence:stalest(set.members) }
      end
   end
   return list
end

-- The verdict that leaves least, of those that did not come down to a cable; or nil.
local function find_worst(named)
   local worst
   for _, v in pairs(named) do
      if not v.cable and (not worst or v.left < worst.left) then
         worst = v
      end
   end
   return worst
end

-- ok: flows crossed it and nothing speaks against it.
local function find_state(self, set)
   local state, worst = "unknown", nil
   if set and self.open[set] then
      state = "suspect"
   elseif set and set.last then
      state = "ok"
   end
   if set and not decide.is_explained(self.diagnosis, set) then
      worst = find_worst(set.named)
   end
   return worst and worst.state or state, worst
end

--- Sets in place of links: those with links that no test can tell from the others of their set.
-- @return array of { name = "6 uplinks of leaf7", members, state, last = when a flow crossed it, or
--   nil, verdict = of those that stand, or nil }; set of these links; how many they are; links that
--   lack an address where others have one
function Sets:in_place_of_links()
   local kept = self.inventory
   if not kept or kept.epoch ~= self.topo.epoch or kept.asked_at ~= self.topo.asked_at then
      kept = { epoch = self.topo.epoch, asked_at = self.topo.asked_at,
         of = inventory.of(self.topo) }
      self.inventory = kept
   end
   local rows = {}
   for i, s in ipairs(kept.of.sets) do
      local set = self.by_key[s.key]
      local state, verdict = find_state(self, set)
      rows[i] = { name = text.name(self.topo, s.members), members = s.members, state = state,
         last = set and set.last, verdict = verdict }
   end
   return rows, kept.of.links, kept.of.count, kept.of.unnamed
end

--- Verdicts on the sets of a component: an array.
function Sets:of_component(component)
   local list = {}
   for _, set in ipairs(self.of[component] or {}) do
      for _, v in pairs(decide.is_explained(self.diagnosis, set) and {} or set.named) do
         if not v.cable then
            list[#list + 1] = v
         end
      end
   end
   return list
end

--- Other settings from now on.
function Sets:rules(settings)
   self.s, self.models = settings, { kind = {}, part = {} }
end

--- The same wiring, with other capacities or addresses, from now on.
function Sets:reload(diagnosis)
   self.topo, self.evidence = diagnosis.topo, diagnosis.evidence
   self.by_stage = {}
   self:rules(diagnosis.s)
end

--- Begin: nothing is known of any set.
function Sets:begin(diagnosis)
   self.diagnosis, self.topo = diagnosis, diagnosis.topo
   self.evidence, self.epoch = diagnosis.evidence, diagnosis.topo.epoch
   self.by_key, self.list, self.of, self.classes = {}, {}, {}, {}
   self.by_id, self.by_stage, self.way, self.is_route = {}, {}, {}, {}
   self.nodes = #self.topo.nodes
   self.closed = self.closed or 0 -- spells
   self.weighed = {} -- the last one: sets/weigh.lua
   self:rules(diagnosis.s)
   self.due, self.standing, self.changes, self.open = {}, {}, {}, {}
   self.touched = {} -- links of which flows told something
   self.followed = {} -- links that flows are held against: sets/member.lua
end

--- What a store should keep: see sets/pack.lua.
function Sets:pack()
   return pack.make(self)
end

--- Take over what pack() made.
-- @param old of before/same.lua, where that was another machine, or nil
-- @return true, or nil and why it cannot be read: nothing of it is taken
function Sets:restore(kept, old)
   return pack.restore(self, old and pack.now(self.topo, kept, old) or kept, find_or_make_set)
end

--- @param diagnosis of diagnose.new
function sets.new(diagnosis)
   local self = setmetatable({}, Sets)
   self:begin(diagnosis)
   return self
end

return sets
