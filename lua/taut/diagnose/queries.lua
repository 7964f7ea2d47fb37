-- SPDX-License-Identifier: GPL-2.0-or-later
--- What others may ask of a diagnosis: components, what was learned of capacities, sets of links.
-- The methods of diagnose/init.lua that change no conclusion.
local json = require "taut.json"
local keep = require "taut.keep"
local records = require "taut.diagnose.record"
local slow_whole = require "taut.report.slow_whole"
local tables = require "taut.base.tables"
local verdicts = require "taut.report.verdicts"

local queries = {}

---------------------------------------------------------------- components

-- What a component is of which no record says anything.
local function state_by_tests(self, component)
   if self.evidence:cleared(component) > -math.huge then
      return "ok"
   end
   return "unknown"
end

--- The diagnosis's own record of a component (record.lua), begun where there is none.
function queries:component(component)
   local k = self.records[component]
   if not k then
      k = records.new(state_by_tests(self, component))
      self.records[component] = k
   end
   return k
end

--- The same to look at; nil where there is none: tests at most were counted.
function queries:record(component)
   return self.records[component]
end

--- Is anything known of it, by tests or otherwise?
function queries:is_known(component)
   return self.records[component] ~= nil or self.evidence:tested(component) > -math.huge
end

--- For a loop: component and record of all that were suspected, judged or asked for.
function queries:each()
   return pairs(self.records)
end

--- Components of whose low tests something else came to be known as the cause, since this was
-- asked last.
function queries:take_marked()
   local set = self.marked
   self.marked = {}
   return set
end

--- What the engine counted of a component: { tests, good, last, cleared_at, cleared_by }.
function queries:seen(component)
   return self.evidence:seen(component)
end

--- Bytes per second that a component is expected to carry; nil while it is not known.
function queries:capacity(component)
   return self.topo:known_capacity(component)
end

function queries:state(component)
   local k = self.records[component]
   if self.learned and self.learned:is_open(component) and not (k and (verdicts.is_verdict(k.state)
      or k.state == "suspect")) then
      return "unknown"
   end
   if k and k.state ~= "unknown" then
      return k.state
   end
   return state_by_tests(self, component)
end

-- Links that no test can reach, since the nodes of their leaf are away, and for which
-- has(component) is false: they are not counted as missing.
local function count_unreached(self, has)
   if not self.topo.unreached[1] then
      return 0
   end
   local n, in_sets = 0, select(2, self.sets:in_place_of_links())
   for _, c in ipairs(self.topo.unreached) do
      if not in_sets[c] and not has(c) then
         n = n + 1
      end
   end
   return n
end

--- How many links no test can reach or has reached, since the nodes of their leaf are away; those
-- that are counted as sets are not among them.
function queries:out_of_reach()
   return count_unreached(self, function(component) return self:state(component) ~= "unknown" end)
end

--- How many components are in each state: a machine has many that no record is kept of, and they
-- are not walked over one by one.
-- @return { ok, suspect, slow, lossy, failed, unknown }
function queries:count_states()
   local cleared = self.evidence:cleared_count()
   local n = { ok = cleared, suspect = 0, slow = 0, lossy = 0, failed = 0,
      unknown = #self.topo.components - self.topo:absent() - cleared }
   local function move_count(component)
      local without = state_by_tests(self, component)
      local state = self:state(component)
      n[without] = n[without] - 1
      n[state] = n[state] + 1
   end
   for c in pairs(self.records) do
      move_count(c)
   end
   for c in pairs(self.learned and self.learned.of or {}) do
      if not self.records[c] then
         move_count(c)
      end
   end
   n.unknown = n.unknown - self:out_of_reach()
   return n
end

--- Is there a verdict of slow or failed on a component?
function queries:is_decided(component)
   return self.decided[component] ~= nil
end

--- Verdicts of slow or failed that stand: array of { component, state, left, since, is_losing (it
-- loses, and has no low tests besides) }.
function queries:verdicts()
   local list = {}
   for c in pairs(self.decided) do
      local k = self.records[c]
      list[#list + 1] = { component = c, state = k.state, left = k.left, since = k.since,
         is_losing = k.state == "lossy" and not self.evidence:case(c) }
   end
   table.sort(list, function(first, second) return first.component < second.component end)
   return list
end

--- Do low tests speak against a component, without a verdict yet?
function queries:is_suspect(component)
   return self.suspects[component] ~= nil
end

--- For a loop: the suspects.
function queries:suspected()
   return pairs(self.suspects)
end

--- What changed everywhere at once: { kind, of, n, total, component }, or nil.
function queries:wide()
   return self.machine_wide
end

--- Tests that are not evidence: why → how many.
function queries:refusals()
   return self.refused
end

--- What tests saw of components, for a store: text of taut.keep.
-- @param coverage of the same machine
-- @param list of components, ascending, or a first and a last
function queries:pack_seen(coverage, list, last)
   return keep.pack(self.evidence, coverage.times, list, last)
end

--- Take it over, before what is kept of single components.
-- @param kept of taut.keep, read
function queries:restore_seen(kept, coverage)
   kept:give(self.evidence, coverage.times)
end

---------------------------------------------------------------- capacities that are learned

--- What is learned of the class that a component belongs to; nil where capacities are configured.
function queries:learned_of(component)
   return self.learned and self.learned:about(component)
end

--- The same of all classes: an array, or nil.
function queries:learned_rows()
   return self.learned and json.array(self.learned:rows())
end

--- What a store should keep of it, once after each change; else nil.
function queries:take_learned()
   return self.learned and self.learned:take_changed()
end

--- Take over what a store kept.
function queries:restore_learned(kept)
   if self.learned then
      self.learned:restore(kept)
   end
end

--- What components showed where capacities are learned, for a store; nil where there is nothing.
-- @param list of components, or a first and a last
function queries:pack_shown(list, last)
   return self.learned and self.learned:pack_shown(list, last)
end

--- Take over what pack_shown made.
-- @param old { map = component then → now } where that was another machine, or nil
-- @return what is wrong with it, or nil
function queries:restore_shown(kept, old)
   if type(kept) ~= "table" then
      return "damaged"
   elseif self.learned then
      self.learned:restore_shown(kept, old and old.map)
   end
end

---------------------------------------------------------------- what changed everywhere

--- What changed everywhere at once, for a store: text, or "" for nothing.
function queries:pack_wide()
   local w = self.machine_wide
   return w and json.encode { kind = w.kind, of = w.of, n = w.n, total = w.total,
      component = self.topo.components[w.component], at = self.machine_wide_at } or ""
end

--- Take it over.
-- @param name of a component then → its name now
function queries:restore_wide(text, name)
   local w = text ~= "" and json.decode(text)
   local c = type(w) == "table" and slow_whole.is(w) and self.topo.component_id[name(w.component)]
   if c and type(w.at) == "number" and not self.machine_wide then
      self.machine_wide_at = w.at
      self.machine_wide = { kind = w.kind, of = w.of, n = w.n, total = w.total, component = c }
   end
end

---------------------------------------------------------------- sets of links

--- Sets that have a slow member: see sets/init.lua.
function queries:set_verdicts()
   return self.sets:verdicts()
end

--- Sets in place of links that no test can tell apart: see sets/init.lua; without those of which
-- nothing is known since the nodes of their leaf are away.
function queries:sets_in_place_of_links()
   local rows, links, count, unnamed = self.sets:in_place_of_links()
   if self.topo.unreached[1] then
      local out = tables.set(self.topo.unreached)
      rows = tables.filter(rows, function(row)
         return row.state ~= "unknown" or tables.find(row.members, function(component)
            return not out[component]
         end) ~= nil
      end)
   end
   return rows, links, count, unnamed
end

--- How many of the links that are counted as sets nothing is known of by themselves: counters, or
-- hard evidence, may speak of one of them.
function queries:unknown_in_sets()
   local n, links = 0, select(2, self.sets:in_place_of_links())
   for c in pairs(links) do
      local is_known = self.records[c] or self.evidence:cleared(c) > -math.huge
      if not (is_known and self:state(c) ~= "unknown") then
         n = n + 1
      end
   end
   return n
end

--- Share of what tests can reach that they reached: components, and sets in place of links that
-- they cannot.
-- @param covered of taut.plan.coverage
-- @param seconds within so long
function queries:covered(covered, seconds, now)
   local all, fresh = #self.topo.components, 0
   local rows, _, hidden = self:sets_in_place_of_links()
   for _, row in ipairs(rows) do
      if row.last and row.last >= now - seconds then
         fresh = fresh + 1
      end
   end
   local count = all - self.topo:absent() - hidden + #rows - count_unreached(self,
      function(component) return covered:tested(component) >= now - seconds end)
   if count > 0 then
      return math.min(1, (covered:share(all, seconds, now) * all + fresh) / count)
   end
   return 1
end

--- The same of one of several fabrics; and how many components and sets it is a share of.
-- @param fabric entry of the topology's `fabrics`
function queries:covered_of(fabric, covered, seconds, now)
   local rows, hidden = self:sets_in_place_of_links()
   local count, fresh, topo = 0, 0, self.topo
   local out = tables.set(topo.unreached)
   for c = 1, #topo.components do
      if topo:fabric_of(c) == fabric and topo:is_there(c) and not hidden[c] then
         local is_fresh = covered:tested(c) >= now - seconds
         if is_fresh or not out[c] then
            count = count + 1
         end
         if is_fresh then
            fresh = fresh + 1
         end
      end
   end
   for _, row in ipairs(rows) do
      if topo:fabric_of(row.members[1]) == fabric then
         count = count + 1
         if row.last and row.last >= now - seconds then
            fresh = fresh + 1
         end
      end
   end
   return count > 0 and fresh / count or 1, count
end

--- One of these verdicts in words; and its beginning, which stays the same.
function queries:set_words(verdict)
   return self.sets:words(verdict)
end

--- Verdicts on sets of links that are new or (field `over`) gone since this was asked last.
function queries:take_set_changes()
   local list = self.set_changes or {}
   self.set_changes = nil
   return list
end

--- How many spells of sets were weighed; nil where no route has sets.
function queries:set_spells()
   if self.has_sets then
      return self.sets.closed
   end
   return nil
end

--- What a store should keep of sets.
function queries:pack_sets()
   return self.sets:pack()
end

--- Take over what pack_sets() made.
-- @param old of before/same.lua, where that was another machine, or nil
-- @return true, or nil and why it cannot be read
function queries:restore_sets(kept, old)
   return self.sets:restore(kept, old)
end

return queries
