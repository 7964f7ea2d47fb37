-- SPDX-License-Identifier: GPL-2.0-or-later
--- Flows over sets speak about a link, too, that had low tests of its own and is a member of these:
-- one in so many took it, and shows its ceiling; what got more took another one.
--
-- On a dragonfly two routers of a group are rarely in one job, and what shows that the link between
-- them is slow are mostly flows to other groups.  Whatever else these may have taken is as good a
-- cause, the other members of the same set first of all, until it was seen to do well.
local numbering = require "taut.topology.numbering"
local share = require "taut.diagnose.share"
local tables = require "taut.base.tables"

local member = {}

local MOST = 2 / 3 -- of the low flows that another link, or a node, may have been on

local NOTHING = { score = 0, spells = 0, low = 0, senders = {}, receivers = {} }

local NONE = {}

-- What is known of a followed link; nil: it is followed no more.
local function put(sets, c, y)
   local more = (y and 1 or 0) - (sets.followed[c] and 1 or 0)
   sets.followed[c] = y
   if more ~= 0 then
      sets:mark(c, more)
   end
end

--- Of how many members of a set that is new more is known already (weigh.tally).
function member.count(sets, members)
   local n, diagnosis = 0, sets.diagnosis
   for _, c in ipairs(members) do
      n = n + (sets.followed[c] and 1 or 0)
         + ((diagnosis.suspects[c] or diagnosis.decided[c]) and 1 or 0)
   end
   return n
end

--- From now on flows over sets are held against this ceiling of a link.
-- @param sets of the diagnosis
-- @param best share of its capacity, nil for none
function member.follow(sets, c, best)
   local y = sets.followed[c]
   if not best or not sets.topo:is_link(c) then
      put(sets, c, nil)
   elseif not y or math.abs(best / y.best - 1) > sets.s.ceiling then
      put(sets, c, { best = best, score = 0, spells = 0, low = 0, n = 0, hits = 0, part = 0,
         on = {}, senders = {}, receivers = {} })
   else
      y.best = best
   end
end

-- Begin anew: they spoke for a busy network.
local function drop(self, c, y)
   put(self, c, nil)
   member.follow(self, c, y.best)
end

-- Weigh the flows of the spell that is over.
local function close(self, c, y)
   local m = share.model(self.models, math.max(0, share.step(y.best, self.s) - 1), y.part / y.n, 0,
      self.s)
   local odds = math.min(share.odds(y.hits, y.n, m), self.s.set_spell_most)
   if y.score + odds <= 0 then
      drop(self, c, y)
   else
      y.score = y.score + odds
      y.spells = y.hits > 0 and odds > 0 and y.spells + 1 or y.spells
      y.n, y.hits, y.part = 0, 0, 0
   end
   self.touched[#self.touched + 1] = c
end

-- A flow at its ceiling.
local function hit(self, y, way, t)
   local topo, on = self.topo, y.on
   y.hits, y.low = y.hits + 1, y.low + 1
   y.senders[t.src], y.receivers[t.dst] = true, true
   y.first, y.last = y.first or t.time, t.time
   local tx = numbering.ports_of_rail(#topo.nodes, t.src, t.rail)
   local _, rx = numbering.ports_of_rail(#topo.nodes, t.dst, t.rail)
   on[tx], on[rx] = (on[tx] or 0) + 1, (on[rx] or 0) + 1
   for _, tally in ipairs(way) do
      for _, c in ipairs(tally.set.members) do
         on[c] = (on[c] or 0) + 1
      end
   end
end

-- Test t took a set with link c.
local function note(self, c, way, part, t, spell)
   local y, ceiling = self.followed[c], self.s.ceiling
   local at = y.best * self.topo.capacity[c]
   if t.bw_Bps < at * (1 - ceiling) or t.expected_Bps <= at * (1 + ceiling) then
      return -- it may have been busy besides; or its nodes carry no more
   end
   if y.spell ~= spell and y.n > 0 then
      close(self, c, y)
      y = self.followed[c]
   end
   y.spell, y.n, y.part = spell, y.n + 1, y.part + part
   if t.class == "low" and t.bw_Bps <= at * (1 + ceiling) then
      hit(self, y, way, t)
   end
end

-- Does nothing else explain the flows?  Links that did well since the first of them do not; a node
-- that did well with another may still be choosy.
local function is_its_own(self, y, c)
   for other, n in pairs(y.on) do
      if other ~= c and n > MOST * y.low and not (self.topo:is_link(other)
         and self.evidence:cleared(other) >= y.first) then
         return false
      end
   end
   return true
end

--- What flows over sets say about a link: { score, spells, low = flows at its ceiling, senders,
-- receivers = sets of nodes, first, last }; nothing where another link, or one node, may be the
-- cause as well.
function member.flows(sets, c)
   local y = sets.followed[c]
   return y and y.score > 0 and is_its_own(sets, y, c) and y or NOTHING
end

--- Do they rest on as much as those of a verdict on a set (sets/decide.lua)?
function member.is_broad(sets, c)
   local y, s = member.flows(sets, c), sets.s
   return y.spells >= s.slow_spells and tables.size(y.senders) >= s.set_pairs
      and tables.size(y.receivers) >= s.set_pairs
end

--- Is a score that they are part of enough without tests made for it?
function member.is_enough(sets, c, score)
   local s, y = sets.s, sets.followed[c]
   return member.is_broad(sets, c) and score >= s.slow_score
      * (share.is_fair(math.max(0, share.step(y.best, s) - 1), s) and s.set_fair or 1)
end

--- A judged test speaks about the followed links that are members of the sets on its way.
function member.take(self, way, t, spell)
   local followed = self.followed
   for i = 1, #way do
      local set = way[i].marked > 0 and way[i].set
      local members = set and set.members or NONE
      for k = 1, #members do
         if followed[members[k]] then
            note(self, members[k], way, set.part, t, spell)
         end
      end
   end
end

---------------------------------------------------------------- keeping

local COUNTS = { "best", "score", "spells", "low", "n", "hits", "part" }
local TIMES = { "first", "last", "spell" }

--- What flows said of a link, as a table for a store; nil where nothing was counted.
function member.pack(sets, c)
   local y = sets.followed[c]
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

local function is_number(v)
   return type(v) == "number" and v == v and math.abs(v) < math.huge
end

local function nodes_of(list, o)
   local set = {}
   for _, n in ipairs(type(list) == "table" and list or {}) do
      n = o.nodes and o.nodes[n] or not o.nodes and n or 0
      set[n] = o.topo.nodes[n] and true or nil
   end
   return set
end

--- What pack made, for give(); nil where it is damaged.
-- @param o { topo; of another machine also map, nodes: numbers of components, nodes then → now }
function member.unpack(y, o)
   if type(y) ~= "table" or type(y.on) ~= "table" then
      return nil
   end
   local out = { on = {}, senders = nodes_of(y.senders, o), receivers = nodes_of(y.receivers, o) }
   for _, name in ipairs(COUNTS) do
      out[name] = is_number(y[name]) and y[name] or nil
   end
   for _, name in ipairs(TIMES) do
      out[name] = is_number(y[name]) and y[name] or nil
   end
   for i = 1, #y.on - 1, 2 do
      local c = o.map and o.map[y.on[i]] or not o.map and y.on[i]
      if o.topo.components[c or 0] and is_number(y.on[i + 1]) then
         out.on[c] = y.on[i + 1]
      end
   end
   return tables.size(out) >= #COUNTS + 3 and (out.low == 0 or out.first) and out or nil
end

--- Put it back, where the link is still followed at that ceiling.
function member.give(sets, c, y)
   local now = sets.followed[c]
   if now and math.abs(y.best / now.best - 1) <= sets.s.ceiling then
      y.best, sets.followed[c] = now.best, y
   end
end

return member
