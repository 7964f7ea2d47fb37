-- SPDX-License-Identifier: GPL-2.0-or-later
--- What others may ask of a diagnosis: components, what was learned of capacities, sets of links.
-- The methods of diagnose/init.lua that change nothing of what is concluded.
local json = require "taut.json"

local queries = {}

---------------------------------------------------------------- components

--- The diagnosis's own record of component c, begun where there is none: state, since, left, busy,
-- confirmed, tied, whole, hard …
function queries:component(c)
   local k = self.records[c]
   if not k then
      k = { state = self.evidence:cleared(c) > -math.huge and "ok" or "unknown", confirmed = {},
         busy = 0 }
      self.records[c] = k
   end
   return k
end

--- The same to look at; nil where there is none: tests at most were counted.
function queries:record(c)
   return self.records[c]
end

--- Is anything known of it, by tests or otherwise?
function queries:is_known(c)
   return self.records[c] ~= nil or self.evidence:tested(c) > -math.huge
end

--- For a loop: component and record of all that were suspected, judged or asked for.
function queries:each()
   return pairs(self.records)
end

--- What the engine counted of component c: { tests, good, last, cleared_at, cleared_by }.
function queries:seen(c)
   return self.evidence:seen(c)
end

--- Bytes per second that component c is expected to carry; nil while nobody knows.
function queries:capacity(c)
   return self.topo:known_capacity(c)
end

function queries:state(c)
   local k = self.records[c]
   if self.learned and self.learned:is_open(c) and not (k and (k.state == "slow"
      or k.state == "failed" or k.state == "suspect")) then
      return "unknown"
   end
   if k and k.state ~= "unknown" then
      return k.state
   end
   return self.evidence:cleared(c) > -math.huge and "ok" or "unknown"
end

--- Is there a verdict of slow or failed on component c?
function queries:is_decided(c)
   local state = self:state(c)
   return state == "slow" or state == "failed"
end

--- Verdicts of slow or failed that stand: array of { component, state, left, since }.
function queries:verdicts()
   local list = {}
   for c in pairs(self.decided) do
      local k = self.records[c]
      list[#list + 1] = { component = c, state = k.state, left = k.left, since = k.since }
   end
   table.sort(list, function(a, b) return a.component < b.component end)
   return list
end

--- Do low tests speak against component c, without a verdict yet?
function queries:is_suspect(c)
   return self.suspects[c] ~= nil
end

--- For a loop: the suspects.
function queries:suspected()
   return pairs(self.suspects)
end

--- What changed everywhere at once: { kind, of, n, total, component }, or nil.
function queries:wide()
   return self.machine_wide
end

--- Tests that are no evidence: why → how many.
function queries:refusals()
   return self.refused
end

---------------------------------------------------------------- capacities that are learned

--- What is learned of the class that component c belongs to; nil where capacities are configured.
function queries:learned_of(c)
   return self.learned and self.learned:about(c)
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

---------------------------------------------------------------- sets of links

--- Sets that have a slow member: see sets/init.lua.
function queries:set_verdicts()
   return self.sets:verdicts()
end

--- One of these verdicts in words; and its beginning, which stays the same.
function queries:set_words(v)
   return self.sets:words(v)
end

--- Verdicts on sets of links that are new or (field `over`) gone since this was asked last.
function queries:take_set_changes()
   local list = self.set_changes or {}
   self.set_changes = nil
   return list
end

--- How many spells of sets were weighed; nil where no route has sets.
function queries:set_spells()
   return self.has_sets and self.sets.closed or nil
end

--- What a store should keep of sets.
function queries:pack_sets()
   return self.sets:pack()
end

--- Take over what pack_sets() made, for the same wiring.
-- @return true, or nil and why it cannot be read
function queries:restore_sets(kept)
   return self.sets:restore(kept)
end

return queries
