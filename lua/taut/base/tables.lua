-- SPDX-License-Identifier: GPL-2.0-or-later
--- What Lua's own table library lacks.
local tables = {}

--- How many keys a map has.
function tables.size(map)
   local n = 0
   for _ in pairs(map) do
      n = n + 1
   end
   return n
end

--- The keys of a map, sorted.
-- @param before function(a, b), as of table.sort; optional
function tables.keys(map, before)
   local list = {}
   for k in pairs(map) do
      list[#list + 1] = k
   end
   table.sort(list, before)
   return list
end

--- Is a value in a list?
function tables.has(list, value)
   for _, v in ipairs(list) do
      if v == value then
         return true
      end
   end
   return false
end

--- A list as a set.
function tables.set(list)
   local set = {}
   for _, v in ipairs(list) do
      set[v] = true
   end
   return set
end

--- A map with the same keys and values.
function tables.copy(map)
   local out = {}
   for k, v in pairs(map) do
      out[k] = v
   end
   return out
end

--- Have two maps the same keys and values?
function tables.same(a, b)
   for k, v in pairs(a) do
      if b[k] ~= v then
         return false
      end
   end
   for k in pairs(b) do
      if a[k] == nil then
         return false
      end
   end
   return true
end

--- The median of numbers; nil of none.
function tables.median(list)
   local sorted, n = table.move(list, 1, #list, 1, {}), #list
   table.sort(sorted)
   if n % 2 == 1 then
      return sorted[n // 2 + 1]
   end
   return n > 0 and (sorted[n // 2] + sorted[n // 2 + 1]) / 2 or nil
end

return tables
