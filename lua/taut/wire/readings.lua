-- SPDX-License-Identifier: GPL-2.0-or-later
--- What a node tells of its interfaces, in HELLO and RESULT: a text (wire/readings.h), which is
-- checked here before any of it is used.
local counters = require "taut.events.counters"
local told = require "taut.readings"

local readings = {}

local RAIL_BYTES = 16 << 10 -- of one rail: what cards count takes a quarter of that

--- The readings of a HELLO or RESULT.
-- @param message decoded JSON
-- @return text, nil where it has none; or nil and what is wrong with them
function readings.of(message)
   local text, why = message.readings, nil
   if text ~= nil and type(text) ~= "string" then
      text, why = nil, "expected a text"
   end
   if text then
      local ok
      ok, why = told.check(text, counters.kinds)
      if not ok then
         text = nil
      end
   end
   return text, why
end

--- Leave what a node of so many rails has to tell: of each source one line for each of its first
-- interfaces, so many bytes in all.
-- @param text checked readings
-- @param rails of the topology, at least 1
-- @return text; how many lines were left out
function readings.fit(text, rails)
   local lines, interfaces, seen, count, bytes, out = {}, {}, {}, 0, 0, 0
   for one in text:gmatch "[^\n]+" do
      local source, name = one:match "^(%S+) (%S+)"
      local key = source .. " " .. name
      bytes = bytes + #one
      if not interfaces[name] and count < rails then
         interfaces[name], count = true, count + 1
      end
      if interfaces[name] and not seen[key] and bytes <= rails * RAIL_BYTES then
         lines[#lines + 1], seen[key] = one, true
      else
         out = out + 1
      end
   end
   if out == 0 then
      return text, out
   end
   return table.concat(lines, "\n"), out
end

return readings
