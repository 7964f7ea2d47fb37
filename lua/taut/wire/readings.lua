-- SPDX-License-Identifier: GPL-2.0-or-later
--- Checks what a node tells of its interfaces, in HELLO and RESULT, before any of it is used.
--
-- An array of readings { ["if"] = interface, source = "netdev", … }: names are counters (whole
-- numbers) or states (numbers or texts) of `counters.node[source]`, `t` is the source's own time.
local counters = require "taut.events.counters"
local wire = require "taut.wire"

local readings = {}

local FIELDS_MAX = wire.COUNTERS_MAX + wire.TEXTS_MAX + 3 -- if, source, t

local function check_field(source, name, value)
   if type(name) ~= "string" or #name > wire.COUNTER_NAME_MAX
      or not name:find "^[%w_:+-]+$" then
      return nil, "a name that is none"
   elseif name == "t" then
      if type(value) ~= "number" or not (value >= 0 and value < 1e10) then
         return nil, "t: expected seconds"
      end
   elseif type(value) == "string" then
      if #value > wire.COUNTER_TEXT_MAX or value:find "%c" then
         return nil, name .. ": expected a text of at most " .. wire.COUNTER_TEXT_MAX .. " bytes"
      end
   elseif math.type(value) ~= "integer" or value < 0 then
      return nil, name .. ": expected a whole number"
   end
   local entry = counters.of(source, name)
   if entry and (entry.unit == "text") ~= (type(value) == "string") then
      return nil, ("%s: expected a %s"):format(name, entry.unit == "text" and "text" or "number")
   end
   return true
end

local function check_one(c)
   if type(c) ~= "table" then
      return nil, "expected objects"
   end
   local name = c["if"]
   if type(name) ~= "string" or name == "" or #name > wire.INTERFACE_MAX or name:find "[%c/]" then
      return nil, "if: expected an interface"
   elseif c.source ~= nil and not counters.node[c.source] then
      return nil, name .. ": source: expected netdev, ib, cxi, gpcdr or pcie"
   end
   local source = c.source or "netdev"
   local odd, fields = wire.odd(c, counters.numbers[source])
   if fields > FIELDS_MAX then
      return nil, ("%s: more than %d fields"):format(name, FIELDS_MAX)
   end
   for _, k in ipairs(odd) do -- "if" is one in any case
      if k ~= "if" and k ~= "source" then
         local ok, why = check_field(source, k, c[k])
         if not ok then
            return nil, name .. ": " .. why
         end
      end
   end
   return true
end

--- Check readings; one without a source gets "netdev", as nodes told before there were others.
-- @param list decoded JSON
-- @return true, or nil and what is wrong
function readings.check(list)
   if type(list) ~= "table" or #list > wire.READINGS_MAX then
      return nil, ("expected at most %d readings"):format(wire.READINGS_MAX)
   end
   for k in pairs(list) do
      if math.type(k) ~= "integer" then
         return nil, "expected an array"
      end
   end
   for _, c in ipairs(list) do
      local ok, why = check_one(c)
      if not ok then
         return nil, why
      end
      c.source = c.source or "netdev"
   end
   return true
end

return readings
