-- SPDX-License-Identifier: GPL-2.0-or-later
--- One slow link of a set: traffic takes one of its members, nobody sees which.
--
-- Members of a hashed or adaptive set are neither cleared nor accused by a test.  What their flows
-- say is counted for the set: how many, and how many at which level, by spell and pair of nodes.
-- Where a level stands out, spell by spell, in about the share that one member carries, while the
-- other flows are at full rate, one of the set is slow.  A pair crosses several sets, so a low flow
-- speaks against each; the one whose flows are low with *every* far end is it, and what another
-- set explains as well is a tie.  doc/internals/diagnose.md has the calculation.
local pack = require "taut.diagnose.sets.pack"
local decide = require "taut.diagnose.sets.decide"
local member = require "taut.diagnose.sets.member"
local share = require "taut.diagnose.share"
local tables = require "taut.base.tables"
local text = require "taut.diagnose.sets.text"

local sets = {}
local Sets = {}
Sets.__index = Sets

local WAYS = 8192 -- pairs of routers whose sets are remembered
local WANTED = 16 -- sets that plans are asked to look at

---------------------------------------------------------------- which sets there are

-- The largest part of the traffic that one member carries.
local function part_of(stage)
   local sum, most = 0, 0
   for _, w in ipairs(stage.w or {}) do
      sum, most = sum + w, math.max(most, w)
   end
   return #stage > 1 and sum > 0 and most / math.max(1, sum) or 1 / #stage
end

-- Is the link all of some route?
local function is_route(topo, c)
   local a, b = topo:on_router(topo:from(c))[1], topo:on_router(topo:to(c))[1]
   local route = a and b and topo:route(a, b)
   return route and #route == 3 and route[2] == c or false
end

-- Is each member?  Then it is tested alone.  A link may be in many sets.
local function is_testable(self, members)
   local known = self.is_route
   for _, c in ipairs(members) do
      if known[c] == nil then
         known[c] = is_route(self.topo, c)
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
   local set = { id = ("%x"):format(key), number = #self.list + 1, part = part or part_of(stage),
      members = table.move(stage, 1, #stage, 1, {}), is_testable = is_testable(self, stage),
      class = self.classes[class], n = 0, steps = {}, cells = {}, at = {}, runs = {}, named = {},
      followed = member.count(self, stage) }
   self.by_key[key], self.by_id[set.id], self.list[set.number] = set, set, set
   for _, c in ipairs(stage) do
      self.of[c] = self.of[c] or {}
      table.insert(self.of[c], set)
   end
   return set
end

local function set_of(self, stage, part)
   local key = pack.key(stage)
   return self.by_key[key] or new_set(self, stage, key, part)
end

-- The same for a stage of a route, which is always the same table.
local function set_of_stage(self, stage)
   local set = set_of(self, stage)
   self.by_stage[stage] = set
   return set
end

local NONE = {}

-- What the way between the routers of two nodes crosses: its sets, in order; in `counted` those of
-- them whose flows are counted, and in `sure` the links that all of it takes.  False where there is
-- no set, or no way.
local function look_up(self, t)
   local route, known = not t.way and t.route or self.topo:route(t.src, t.dst, nil, t.rail),
      self.by_stage
   local way, sure, n, testable = nil, NONE, 0, 0
   for i = 2, route and #route - 1 or 0 do
      local stage = route[i]
      if type(stage) == "table" then
         local set = known[stage] or set_of_stage(self, stage)
         way, n = way or { nil, nil, nil, sure = NONE, counted = NONE }, n + 1
         way[n], testable = set, testable + (set.is_testable and 1 or 0)
      else
         sure = sure == NONE and {} or sure
         sure[#sure + 1] = stage
      end
   end
   if not way then
      return false
   end
   way.sure, way.counted = sure, testable == 0 and way or testable < n
      and tables.filter(way, function(set) return not set.is_testable end) or NONE
   return way
end

-- The same for two routers (on a rail) by number.
local function way_between(self, t, from, to)
   local key = from * self.topo.routers + to
   local way = self.ways[key]
   if way == nil then
      if self.n_ways >= WAYS then
         self.ways, self.n_ways = {}, 0
      end
      way = look_up(self, t)
      self.ways[key], self.n_ways = way, self.n_ways + 1
   end
   return way
end

---------------------------------------------------------------- flows

-- Is anything that all flows of a test cross slow, so that it may be what made it low?
local function is_blamed(self, t, way)
   local topo, rail = self.topo, t.rail and 2 * self.nodes * (t.rail - 1) or 0
   local decided, sure = self.diagnosis.decided, way.sure
   if decided[topo.tx[t.src] + rail] or decided[topo.rx[t.dst] + rail] then
      return true
   end
   for i = 1, #sure do
      if decided[sure[i]] then
         return true
      end
   end
   return false
end

-- Is a member of its sets?  Then that explains low flows.
local function has_member(self, way)
   local diagnosis = self.diagnosis
   local version = diagnosis.version
   for i = 1, #way do
      local set = way[i]
      local known = set.known
      if set.known_at ~= version then
         known = decide.is_explained(diagnosis, set)
      end
      if known then
         return true
      end
   end
   return false
end

-- Is a level one that a set which was named may show, so that it speaks against no other?  What is
-- slow may be busy besides, and show less.
local function named_at(way, step)
   for _, set in ipairs(way) do
      for window in pairs(set.named) do
         if step <= window + 2 then
            return set
         end
      end
   end
   return nil
end

local function count(set, key, way, step, ratio)
   local at, class = set.at, set.class
   local cell = at[key]
   if cell then
      cell.n = cell.n + 1
   else
      local cells = set.cells
      cell = { n = 1, way = way, key = key, steps = false }
      at[key], cells[#cells + 1] = cell, cell
   end
   set.n, class.n = set.n + 1, class.n + 1
   if step then
      local steps = cell.steps or {}
      local n = #steps
      cell.steps, steps[n + 1], steps[n + 2] = steps, step, ratio
      set.steps[step] = (set.steps[step] or 0) + 1
      class.steps[step] = (class.steps[step] or 0) + 1
   end
end

-- A flow that got `ratio` of what was expected.
local function take_flow(self, t, way, ratio)
   local s = self.s
   local step = ratio < s.good and share.step(ratio, s) or nil
   local named = step and next(self.standing) and named_at(way, step)
   local key, counted = t.src * (self.nodes + 1) + t.dst, way.counted
   for i = 1, #counted do
      local set = counted[i]
      if not named or named == set then
         count(set, key, way, step, ratio)
      end
   end
end

-- A test that may be counted: for its sets, or for a member that is known.
local function take(self, t, way, spell)
   local class, ratio = t.class, t.ratio
   local means = (class == "good" or class == "low") and ratio and ratio >= 0 and ratio < math.huge
   if means then
      member.take(self, way, t, spell)
   end
   if has_member(self, way) then
      return
   end
   local counted = way.counted
   for i = 1, #counted do
      local set = counted[i]
      if (set.spell or spell) < spell then
         decide.close(self, set)
      end
      set.spell = set.spell or spell
   end
   if means then
      take_flow(self, t, way, ratio)
   end
end

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
   self.changes, self.touched = {}, {}
   local at, nodes = self.at, self.nodes
   for i = 1, #flows do
      local t = flows[i]
      local off = t.rail and (t.rail - 1) * nodes or 0
      local way = way_between(self, t, at[t.src + off], at[t.dst + off])
      if way and not is_blamed(self, t, way) then
         take(self, t, way, spell)
      end
   end
   return decide.review(self, now)
end

--- Forget what was counted of the sets that a component belongs to: it was repaired.
function Sets:forget(c)
   for _, set in ipairs(self.of[c] or {}) do
      decide.forget(self, set)
   end
end

--- The sets that have a slow member.
-- @return array of { set, members, state, left, since, hits, flows, spells, pairs, is_fair }, see
--   sets/decide.lua; by time
function Sets:verdicts()
   return decide.verdicts(self)
end

--- One of these verdicts in words; and its beginning, which stays the same.
function Sets:words(v)
   return text.verdict(self.topo, v), text.subject(self.topo, v)
end

-- What each set weighs that plans ought to look at.
local function weights_of(self)
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
local function weightiest(weights, most)
   local list, n = {}, 0
   local function is_before(set, weight, other)
      local of_other = weights[other]
      return weight > of_other or weight == of_other and set.number < other.number
   end
   for set, weight in pairs(weights) do
      if n < most or is_before(set, weight, list[n]) then
         n = math.min(n + 1, most)
         local i = n
         while i > 1 and is_before(set, weight, list[i - 1]) do
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
      for i, set in ipairs(weightiest(weights_of(self), WANTED)) do
         list[i] = { c = self.evidence:stalest(set.members) }
      end
   end
   return list
end

--- What is said of the sets that a component belongs to: array of verdicts.
function Sets:of_component(c)
   local list = {}
   for _, set in ipairs(self.of[c] or {}) do
      for _, v in pairs(decide.is_explained(self.diagnosis, set) and {} or set.named) do
         list[#list + 1] = not v.cable and v or nil
      end
   end
   return list
end

--- Other settings from now on.
function Sets:rules(s)
   self.s, self.models = s, { kind = {}, part = {} }
end

--- The same wiring, with other capacities or addresses, from now on.
function Sets:reload(diagnosis)
   self.topo, self.evidence = diagnosis.topo, diagnosis.evidence
   self.ways, self.n_ways, self.by_stage = {}, 0, {}
   self:rules(diagnosis.s)
end

--- Begin: nothing is known of any set.
function Sets:begin(diagnosis)
   self.diagnosis, self.topo = diagnosis, diagnosis.topo
   self.evidence, self.epoch = diagnosis.evidence, diagnosis.topo.epoch
   self.ways, self.n_ways = {}, 0
   self.by_key, self.list, self.of, self.classes = {}, {}, {}, {}
   self.by_id, self.by_stage, self.at, self.nodes = {}, {}, {}, #self.topo.nodes
   self.is_route = {}
   for e = 0, self.nodes * (self.topo.rails or 1) - 1 do -- asked for each test
      self.at[e + 1] = self.topo:router(e % self.nodes + 1, e // self.nodes + 1) or false
   end
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
   return pack.restore(self, old and pack.now(self.topo, kept, old) or kept, set_of)
end

--- @param diagnosis of diagnose.new
function sets.new(diagnosis)
   local self = setmetatable({}, Sets)
   self:begin(diagnosis)
   return self
end

return sets
