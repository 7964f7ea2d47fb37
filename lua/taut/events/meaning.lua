-- SPDX-License-Identifier: GPL-2.0-or-later
--- What the counters that nodes send add to in a summary.
local counters = require "taut.events.counters"

local meaning = {}

--- The entry of a counter; nil for one that no catalogue has, and for a state.
function meaning.entry(source, name)
   local entry = counters.of(source, name)
   if entry and not entry.state then
      return entry
   end
   return nil
end

-- Counters that the catalogue does not know, by what such names usually say.
local function guess_kind(name)
   if name:find "err" or name:find "drop" or name:find "discard" or name:find "carrier" then
      return "error"
   elseif name:find "stall" or name:find "wait" or name:find "pause" then
      return "stall"
   end
   if name:find "bytes" then
      return "bytes"
   end
   return nil
end

-- What a counter without bytes counts, by class.
local KINDS = { fatal = "error", degrading = "error", congestion = "stall" }

--- What a counter's growth adds to: "bytes", "error", "stall", or nil.
-- @return kind, how much one is, "send" or "receive" (of bytes)
function meaning.kind(source, name)
   local entry = meaning.entry(source, name)
   if not entry and name:find "tx" then
      return guess_kind(name), 1, "send"
   elseif not entry then
      return guess_kind(name), 1, "receive"
   elseif entry.class == "traffic" and entry.unit == "bytes" then
      return "bytes", entry.times or 1, entry.side
   elseif entry.class == "traffic" then
      return nil, entry.times or 1, entry.side
   end
   return KINDS[entry.class], 1
end

return meaning
