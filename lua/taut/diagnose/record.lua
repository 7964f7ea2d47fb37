-- SPDX-License-Identifier: GPL-2.0-or-later
--- What the diagnosis holds of a component beside the runs of its tests (taut.evidence has those):
-- the fields of a record, what ends with what, and which of them a store keeps.
local tables = require "taut.base.tables"

local record = {}

-- What a field belongs to:
--    state      lasts, whatever comes of suspicions and verdicts
--    suspicion  is gone when the component is well
--    verdict    is gone with the verdict
-- `plain` ones go into the store as they are, the others are packed (memory.lua, loss_memory.lua).
local FIELDS = {
   { name = "state", of = "state", plain = true },       -- "ok", "suspect", "slow", …
   { name = "since", of = "state", plain = true },       -- seconds; it has had this state
   { name = "probation_until", of = "state", plain = true }, -- seconds
   { name = "hard", of = "state" },                      -- what was found about it: left, why, …
   { name = "suspect_at", of = "suspicion", plain = true }, -- seconds; it became one
   { name = "missing", of = "suspicion", plain = true }, -- what a verdict still wants
   { name = "tied", of = "suspicion" },                  -- array of others that it may be
   { name = "asked", of = "suspicion", plain = true },   -- tests that were asked for
   { name = "confirmed", of = "suspicion" },             -- array of pairs of tests, one and many
   { name = "spent", of = "suspicion" },                 -- map node → tests that came to nothing
   { name = "busy", of = "suspicion", plain = true },    -- times that several streams got more
   { name = "took", of = "suspicion", plain = true },    -- array of what those got
   { name = "load", of = "suspicion", plain = true },    -- a job over it: job, at
   { name = "whole", of = "suspicion" },                 -- one cause for it and others
   { name = "left", of = "verdict", plain = true },      -- share of its capacity
   { name = "case", of = "verdict", plain = true },      -- of a ceiling, when it was named
   { name = "evidence", of = "verdict" },                -- array of the tests of that case
   { name = "ruled_out", of = "verdict" },               -- array of others that it was not
   { name = "last_cleared", of = "verdict", plain = true }, -- before its tests: at, by
   { name = "by_hard", of = "verdict", plain = true },   -- true: by what was found alone
   { name = "loss", of = "verdict" },                    -- of losses (loss.record)
   { name = "recurs", of = "verdict" },                  -- of what comes and goes
}

local function names_of(is_wanted)
   local list = {}
   for _, field in ipairs(FIELDS) do
      list[#list + 1] = is_wanted(field) and field.name or nil
   end
   return list
end

local ALL = names_of(function() return true end)
local ENDING = names_of(function(field) return field.of ~= "state" end)
local VERDICT = names_of(function(field) return field.of == "verdict" end)

--- Names of the fields that a store keeps as they are.
record.PLAIN = names_of(function(field) return field.plain end)

--- @param state "ok" or "unknown"
function record.new(state)
   return { state = state, confirmed = {}, busy = 0 }
end

--- Nothing speaks against it any more.  What was found about it stands.
function record.clear(self)
   for _, name in ipairs(ENDING) do
      self[name] = nil
   end
   self.confirmed, self.busy = {}, 0
end

--- It is named: nothing is missing, and it is no other one.
-- @param fields map of those that belong to a verdict; the others of these are gone
function record.decide(self, fields)
   for _, name in ipairs(VERDICT) do
      self[name] = fields[name]
   end
   self.tied, self.missing = nil, nil
end

--- The record that unpacked fields make.
function record.restore(fields)
   return tables.of_names(fields, ALL)
end

return record
