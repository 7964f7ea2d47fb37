-- SPDX-License-Identifier: GPL-2.0-or-later
--- A set one of whose links is slow becomes a cable where something else speaks against one of its
-- links alone: hard evidence, a sweep's counters, what switches log.  (Where ways can be asked for,
-- tests do it: those of a set that was named are aimed at its links in turn.)
local component_state = require "taut.diagnose.component_state"
local tables = require "taut.base.tables"
local text = require "taut.diagnose.sets.text"

local cable = {}

local BEFORE_S = 86400 -- what was said of a link so long before its set was first low counts, too

-- Was the link, which is named, named by this set, before tautd was started anew or routes changed?
-- Not where another set that it is in may have named it.
local function was_named_by(self, component, verdict)
   local fact = self:record(component).hard
   if not (fact and fact.of_set) then
      return false
   end
   for other in pairs(self.sets.standing) do
      if other ~= verdict and (other.cable == component or other.since == fact.since
         and tables.find(other.members, function(member) return member == component end)) then
         return false
      end
   end
   return true
end

-- The one link of the set that something speaks against; nil where there are several, or where one
-- is known already, but by this set.
local function find_only_accused(self, verdict)
   local found
   for _, c in ipairs(verdict.members) do
      local k = self:record(c)
      if self:is_decided(c) then
         if was_named_by(self, c, verdict) then
            return c
         end
         return nil
      elseif k and k.hard or self.accuses(c, verdict.first - BEFORE_S) then
         if found then
            return nil
         end
         found = c
      end
   end
   return found
end

local function make_fact(self, verdict)
   return { left = verdict.left, since = verdict.since, of_set = true,
      why = text.subject(self.topo, verdict) .. "; of these links only this one has errors" }
end

--- Take back what rested on a set that is well again.
-- @param self the diagnosis
-- @param set_changes verdicts on sets that are new or over
-- @param changes are added to
function cable.take_back(self, set_changes, now, changes)
   for _, v in ipairs(set_changes) do
      local k = v.over and v.cable and self:record(v.cable)
      if k and k.hard and k.hard.of_set then
         component_state.taken_back(self, v.cable, now, changes)
      end
   end
end

--- The same, and name the links that sets come down to.
-- @return changes
function cable.review(self, set_changes, now)
   local changes = {}
   cable.take_back(self, set_changes, now, changes)
   for v in pairs(self.sets.standing) do
      local c = not v.cable and find_only_accused(self, v)
      if c then
         v.cable = c
         if not self:is_decided(c) then
            component_state.found(self, c, make_fact(self, v), now, changes)
         end
      end
   end
   return changes
end

return cable
