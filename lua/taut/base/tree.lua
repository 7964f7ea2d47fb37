-- SPDX-License-Identifier: GPL-2.0-or-later
--- Any Lua value of tables, texts, numbers and booleans as JSON, and back: each table is
-- { "a": its elements from 1 on, "k": its other keys, "v": their values in the same order }.
local json = require "taut.json"

local tree = {}

local write_value

local function write_array(out, name, list, breathe)
   out[#out + 1] = ('"%s":['):format(name)
   for i, v in ipairs(list) do
      if i > 1 then
         out[#out + 1] = ","
      end
      write_value(out, v, breathe)
   end
   out[#out + 1] = "]"
end

-- Keys beside 1 … #list: texts first, each kind in order.
local function list_other_keys(value, length)
   local keys = {}
   for k in pairs(value) do
      if math.type(k) ~= "integer" or k < 1 or k > length then
         keys[#keys + 1] = k
      end
   end
   table.sort(keys, function(first, second)
      if type(first) ~= type(second) then
         return type(first) == "string"
      end
      return first < second
   end)
   return keys
end

function write_value(out, value, breathe)
   if type(value) ~= "table" then
      out[#out + 1] = json.encode(value)
      return
   end
   breathe()
   local n, values = 0, {}
   while value[n + 1] ~= nil do
      n = n + 1
   end
   local keys = list_other_keys(value, n)
   for i, k in ipairs(keys) do
      values[i] = value[k]
   end
   out[#out + 1] = "{"
   write_array(out, "a", value, breathe)
   if #keys > 0 then
      out[#out + 1] = ","
      write_array(out, "k", keys, breathe)
      out[#out + 1] = ","
      write_array(out, "v", values, breathe)
   end
   out[#out + 1] = "}"
end

--- @param value any one
-- @param breathe called now and then
-- @return text
function tree.encode(value, breathe)
   local out = {}
   write_value(out, value, breathe or function() end)
   return table.concat(out)
end

--- @param value what json.decode made of such a text
-- @return the value
function tree.take(value)
   if type(value) ~= "table" then
      return value
   end
   local out = {}
   for i, element in ipairs(value.a or {}) do
      out[i] = tree.take(element)
   end
   for i, key in ipairs(value.k or {}) do
      out[key] = tree.take(value.v[i])
   end
   return out
end

return tree
