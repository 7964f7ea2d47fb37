-- SPDX-License-Identifier: GPL-2.0-or-later
--- Flows over sets speak about a link, too, that had low tests of its own and is a member of these:
-- one in so many took it, and shows its ceiling; what got more took another one.
--
-- On a dragonfly two routers of a group are rarely in one job, and what shows that the link between
-- them is slow are mostly flows to other groups.  Whatever else these may have taken is as good a
-- cause, the other members of the same set first of all, until it was seen to do well.
local endpoint_numbers = require "taut.topology.model.endpoint_numbers"
local low_share = require "taut.diagnose.sets.low_share"
local tables = require "taut.base.tables"

local member = {}

local MOST = 2 / 3 -- of the low flows that another link, or a node, may have been on

local NOTHING = { score = 0, spells = 0, low = 0, senders = {}, receivers = {} }

local NONE = {}

-- What is known of a followed link; nil: it is followed no more.
local function put_followed(sets, component, followed)
   local more = (followed and 1 or 0) - (sets.followed[component] and 1 or 0)
   sets.followed[component] = followed
   if more ~= 0 then
      sets:mark(component, more)
   end
end

--- Of how many members of a set that is new more is known already (weigh.tally).
function member.count(sets, members)
   local n, diagnosis = 0, sets.diagnosis
   for _, c in ipairs(members) do
      if sets.followed[c] then
         n = n + 1
      end
      if diagnosis.suspects[c] or diagnosis.decided[c] then
         n = n + 1
      end
   end
   return n
end

--- From now on flows over sets are held against this ceiling of a link.
-- @param sets of the diagnosis
-- @param best share of its capacity, nil for none
function member.follow(sets, component, best)
   local y = sets.followed[component]
   if not best or not sets.topo:is_link(component) then
      put_followed(sets, component, nil)
   elseif not y or math.abs(best / y.best - 1) > sets.s.ceiling then
      put_followed(sets, component, { best = best, score = 0, spells = 0, low = 0, n = 0, hits = 0,
         part = 0, on = {}, senders = {}, receivers = {} })
   else
      y.best = best
   end
end

-- Begin anew: they spoke for a busy network.
local function begin_anew(self, component, followed)
   put_followed(self, component, nil)
   member.follow(self, component, followed.best)
end

-- Weigh the flows of the spell that is over.
local function close_spell(self, component, followed)
   local m = low_share.model(self.models, math.max(0, low_share.step(followed.best, self.s) - 1),
      followed.part / followed.n, 0, self.s)
   local odds = math.min(low_share.odds(followed.hits, followed.n, m), self.s.set_spell_most)
   if followed.score + odds <= 0 then
      begin_anew(self, component, followed)
   else
      followed.score = followed.score + odds
      if followed.hits > 0 and odds > 0 then
         followed.spells = followed.spells + 1
      end
      followed.n, followed.hits, followed.part = 0, 0, 0
   end
   self.touched[#self.touched + 1] = component
end

-- A flow at its ceiling.
local function count_hit(self, followed, way, test)
   local topo, on = self.topo, followed.on
   followed.hits, followed.low = followed.hits + 1, followed.low + 1
   followed.senders[test.src], followed.receivers[test.dst] = true, true
   followed.first, followed.last = followed.first or test.time, test.time
   local tx = endpoint_numbers.ports_of_rail(#topo.nodes, test.src, test.rail)
   local _, rx = endpoint_numbers.ports_of_rail(#topo.nodes, test.dst, test.rail)
   on[tx], on[rx] = (on[tx] or 0) + 1, (on[rx] or 0) + 1
   for _, tally in ipairs(way) do
      for _, c in ipairs(tally.set.members) do
         on[c] = (on[c] or 0) + 1
      end
   end
end

-- A test took a set with this link.
local function count_flow(self, component, way, part, test, spell)
   local y, ceiling = self.followed[component], self.s.ceiling
   local at = y.best * self.topo.capacity[component]
   if test.bw_Bps < at * (1 - ceiling) or test.expected_Bps <= at * (1 + ceiling) then
      return -- it may have been busy besides; or its nodes carry no more
   end
   if y.spell ~= spell and y.n > 0 then
      close_spell(self, component, y)
      y = self.followed[component]
   end
   y.spell, y.n, y.part = spell, y.n + 1, y.part + part
   if test.class == "low" and test.bw_Bps <= at * (1 + ceiling) then
      count_hit(self, y, way, test)
   end
end

-- Does nothing else explain the flows?  Links that did well since the first of them do not; a node
-- that did well with another may still be choosy.
local function is_own_ceiling(self, followed, component)
   for other, n in pairs(followed.on) do
      if other ~= component and n > MOST * followed.low and not (self.topo:is_link(other)
         and self.evidence:cleared(other) >= followed.first) then
         return false
      end
   end
   return true
end

--- What flows over sets say about a link: { score, spells, low = flows at its ceiling, senders,
-- receivers = sets of nodes, first, last }; nothing where another link, or one node, may be the
-- cause as well.
function member.flows(sets, component)
   local y = sets.followed[component]
   if y and y.score > 0 and is_own_ceiling(sets, y, component) then
      return y
   end
   return NOTHING
end

--- Do they rest on as much as those of a verdict on a set (sets/decide.lua)?
function member.is_broad(sets, component)
   local y, s = member.flows(sets, component), sets.s
   return y.spells >= s.slow_spells and tables.size(y.senders) >= s.set_pairs
      and tables.size(y.receivers) >= s.set_pairs
end

--- Is a score that they are part of enough without tests made for it?
function member.is_enough(sets, component, score)
   local s, y = sets.s, sets.followed[component]
   return member.is_broad(sets, component)
      and score >= s.slow_score * low_share.factor(math.max(0, low_share.step(y.best, s) - 1), s)
end

--- A judged test speaks about the followed links that are members of the sets on its way.
function member.take(self, way, test, spell)
   local followed = self.followed
   for i = 1, #way do
      local set = way[i].marked > 0 and way[i].set
      local members = set and set.members or NONE
      for k = 1, #members do
         if followed[members[k]] then
            count_flow(self, members[k], way, set.part, test, spell)
         end
      end
   end
end

---------------------------------------------------------------- keeping

local COUNTS = { "best", "score", "spells", "low", "n", "hits", "part" }
local TIMES = { "first", "last", "spell" }

--- What flows said of a link, as a table for a store; nil where nothing was counted.
function member.pack(sets, component)
   local y = sets.followed[component]
   if not y or y.n == 0 and y.score == 0 then
      return nil
   end
   local out = { on = {}, senders = tables.keys(y.senders), receivers = tables.keys(y.receivers) }
   for _, names in ipairs { COUNTS, TIMES } do
      for _, name in ipairs(names) do
         out[name] = y[name]
      end
   end
   for other, n in pairs(y.on) do
      out.on[#out.on + 1], out.on[#out.on + 2] = other, n
   end
   return out
end

local function is_finite(value)
   return type(value) == "number" and value == value and math.abs(value) < math.huge
end

local function set_of_nodes(list, context)
   local set = {}
   for _, n in ipairs(tables.or_empty(list)) do
      n = tables.renumbered(context.nodes, n) or 0
      set[n] = context.topo.nodes[n] and true or nil
   end
   return set
end

--- What pack made, for give(); nil where it is damaged.
-- @param context { topo; of another machine also map, nodes: numbers of components, nodes then →
--   now }
function member.unpack(followed, context)
   if type(followed) ~= "table" or type(followed.on) ~= "table" then
      return nil
   end
   local out = { on = {}, senders = set_of_nodes(followed.senders, context),
      receivers = set_of_nodes(followed.receivers, context) }
   for _, names in ipairs { COUNTS, TIMES } do
      for _, name in ipairs(names) do
         if is_finite(followed[name]) then
            out[name] = followed[name]
         end
      end
   end
   for i = 1, #followed.on - 1, 2 do
      local c = tables.renumbered(context.map, followed.on[i])
      if context.topo.components[c or 0] and is_finite(followed.on[i + 1]) then
         out.on[c] = followed.on[i + 1]
      end
   end
   if tables.size(out) >= #COUNTS + 3 and (out.low == 0 or out.first) then
      return out
   end
   return nil
end

--- Put it back, where the link is still followed at that ceiling.
function member.give(sets, component, followed)
   local now = sets.followed[component]
   if now and math.abs(followed.best / now.best - 1) <= sets.s.ceiling then
      followed.best, sets.followed[component] = now.best, followed
   end
end

return member
