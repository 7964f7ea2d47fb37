-- SPDX-License-Identifier: GPL-2.0-or-later
--- What a node tells of its interfaces, in HELLO and RESULT: a text (wire/readings.h), which is
-- checked here before any of it is used.
--
-- Probes until 2026-11-27 told `counters` instead, an array of { ["if"] = interface, source =
-- "netdev", name = number or text, … }; from here on that is such a text, too.
local counters = require "taut.events.counters"
local json = require "taut.json"
local told = require "taut.readings"
local wire = require "taut.wire"

local readings = {}

local RAIL_BYTES = 16 << 10 -- of one rail: what cards count takes a quarter of that

-- "NAME=VALUE"; "" for an empty text, which says nothing.
local function field(name, value)
   if type(name) ~= "string" or not name:find "^[%w_:+-]+$" or #name > wire.COUNTER_NAME_MAX then
      return nil, "a name that is none"
   elseif name == "t" then
      local is_time = type(value) == "number" and value >= 0 and value < 1e10
      return is_time and ("t=%.9f"):format(value) or nil, "t: expected seconds"
   elseif value == "" then
      return ""
   elseif type(value) == "string" then
      if #value > wire.COUNTER_TEXT_MAX or value:find "%c" then
         return nil, ("%s: expected a text of at most %d bytes"):format(name, wire.COUNTER_TEXT_MAX)
      end
      return ("%s='%s'"):format(name, (value:gsub("[\128-\255']", "?")))
   elseif math.type(value) ~= "integer" or value < 0 then
      return nil, name .. ": expected a whole number"
   end
   return ("%s=%d"):format(name, value)
end

local function line(c, is_stored)
   local name = type(c) == "table" and c["if"]
   if type(c) ~= "table" then
      return nil, "expected objects"
   elseif type(name) ~= "string" or not name:find "^[!-.0-~\128-\255]+$"
      or #name > wire.INTERFACE_MAX then
      return nil, "if: expected an interface"
   elseif c.source ~= nil and not counters.node[c.source] then
      return nil, name .. ": source: expected netdev, ib, cxi, gpcdr or pcie"
   end
   local words = { c.source or "netdev", (name:gsub("[\128-\255]", "?")) }
   for k, v in pairs(c) do
      if k ~= "if" and k ~= "source" then
         local word, why = field(k, v)
         if not word and not is_stored then
            return nil, ("%s: %s"):format(name, why)
         end
         words[#words + 1] = word ~= "" and word or nil
      end
   end
   return table.concat(words, " ")
end

--- Readings in their older form as a text; one without a source is a "netdev".
-- @param list decoded JSON
-- @param is_stored true: out of the database, where what is wrong is passed over
-- @return text, to be checked; or nil and why it is none
function readings.text(list, is_stored)
   if type(list) ~= "table" then
      return nil, "expected an array"
   end
   local lines = {}
   for k in pairs(list) do
      if math.type(k) ~= "integer" then
         return nil, "expected an array"
      end
   end
   for _, c in ipairs(list) do
      local text, why = line(c, is_stored)
      if not text and not is_stored then
         return nil, why
      end
      lines[#lines + 1] = text
   end
   return table.concat(lines, "\n")
end

--- The readings of a HELLO or RESULT.
-- @param message decoded JSON
-- @return text, nil where it has none; or nil and what is wrong with them
function readings.of(message)
   local text, why = message.readings, nil
   if text == nil and message.counters ~= nil then
      text, why = readings.text(message.counters)
   elseif text ~= nil and type(text) ~= "string" then
      text, why = nil, "expected a text"
   end
   if text then
      local ok
      ok, why = told.check(text, counters.kinds)
      text = ok and text or nil
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
   return out > 0 and table.concat(lines, "\n") or text, out
end

--- Readings that were stored, in whichever form.
-- @param stored a text, or what an older tautd stored: `counters`, or JSON of them
-- @return text; "" where it is damaged
function readings.stored(stored)
   if type(stored) == "string" and stored:find "^%[" then
      stored = json.decode(stored)
   end
   return type(stored) == "string" and stored or readings.text(stored, true) or ""
end

return readings
