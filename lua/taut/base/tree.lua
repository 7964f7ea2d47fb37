-- SPDX-License-Identifier: GPL-2.0-or-later
--- Any Lua value of tables, texts, numbers and booleans as JSON, and back: each table is
-- { "a": its elements from 1 on, "k": its other keys, "v": their values in the same order }.
local json = require "taut.json"

local tree = {}

local write

local function write_all(out, name, list, breathe)
   out[#out + 1] = ('"%s":['):format(name)
   for i, v in ipairs(list) do
      out[#out + 1] = i > 1 and "," or nil
      write(out, v, breathe)
   end
   out[#out + 1] = "]"
end

-- Keys beside 1 … #list: texts first, each kind in order.
local function other_keys(v, n)
   local keys = {}
   for k in pairs(v) do
      if math.type(k) ~= "integer" or k < 1 or k > n then
         keys[#keys + 1] = k
      end
   end
   table.sort(keys, function(a, b)
      if type(a) ~= type(b) then
         return type(a) == "string"
      end
      return a < b
   end)
   return keys
end

function write(out, v, breathe)
   if type(v) ~= "table" then
      out[#out + 1] = json.encode(v)
      return
   end
   breathe()
   local n, values = 0, {}
   while v[n + 1] ~= nil do
      n = n + 1
   end
   local keys = other_keys(v, n)
   for i, k in ipairs(keys) do
      values[i] = v[k]
   end
   out[#out + 1] = "{"
   write_all(out, "a", v, breathe)
   if #keys > 0 then
      out[#out + 1] = ","
      write_all(out, "k", keys, breathe)
      out[#out + 1] = ","
      write_all(out, "v", values, breathe)
   end
   out[#out + 1] = "}"
end

--- @param v value
-- @param breathe called now and then
-- @return text
function tree.encode(v, breathe)
   local out = {}
   write(out, v, breathe or function() end)
   return table.concat(out)
end

--- @param v what json.decode made of such a text
-- @return the value
function tree.take(v)
   if type(v) ~= "table" then
      return v
   end
   local out = {}
   for i, element in ipairs(v.a or {}) do
      out[i] = tree.take(element)
   end
   for i, key in ipairs(v.k or {}) do
      out[key] = tree.take(v.v[i])
   end
   return out
end

return tree
