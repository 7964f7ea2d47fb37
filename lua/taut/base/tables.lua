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
   return tables.any(list, function(item) return item == value end)
end

--- What fn(value, index) makes of each value of a list, in order; nothing where that is nil.
function tables.map(list, fn)
   local out = {}
   for i, v in ipairs(list) do
      out[#out + 1] = fn(v, i)
   end
   return out
end

--- What fn(index) makes of the numbers from `first` to `last`, by number.
function tables.fill(first, last, fn)
   local out = {}
   for i = first, last do
      out[i] = fn(i)
   end
   return out
end

--- The values of a list for which test(value) holds; the first of them; is there one?
function tables.filter(list, test)
   return tables.map(list, function(value)
      if test(value) then
         return value
      end
      return nil
   end)
end

function tables.find(list, test)
   for _, v in ipairs(list) do
      if test(v) then
         return v
      end
   end
end

function tables.any(list, test)
   return tables.find(list, test) ~= nil
end

--- For how many values of a list test(value) holds.
function tables.count(list, test)
   local count = 0
   for _, v in ipairs(list) do
      if test(v) then
         count = count + 1
      end
   end
   return count
end

--- The sum of fn(value) over a list.
function tables.sum(list, fn)
   local sum = 0
   for _, v in ipairs(list) do
      sum = sum + fn(v)
   end
   return sum
end

--- A list as a set.
function tables.set(list)
   local set = {}
   for _, v in ipairs(list) do
      set[v] = true
   end
   return set
end

--- A count for each of these words, 0 to begin with: what is counted from its first one on is not
-- missed by whoever asks how a count grew.
function tables.counts(words)
   local counts = {}
   for _, word in ipairs(words) do
      counts[word] = 0
   end
   return counts
end

--- What somebody asks for by name, and nothing else; it has to be there.
-- @param names with blanks between them
function tables.pick(map, names)
   local out = {}
   for name in names:gmatch "%S+" do
      out[name] = assert(map[name], name)
   end
   return out
end

--- What a map has of some names.
-- @param names array
function tables.of_names(map, names)
   local out = {}
   for _, name in ipairs(names) do
      out[name] = map[name]
   end
   return out
end

--- A value where it is a table, as what others say need not be; else an empty one.
function tables.or_empty(value)
   if type(value) == "table" then
      return value
   end
   return {}
end

--- A list that has something in it; nil for an empty one.
function tables.unless_empty(list)
   if #list > 0 then
      return list
   end
   return nil
end

--- A text that says something; nil for an empty one.
function tables.unless_blank(text)
   if text ~= "" then
      return text
   end
   return nil
end

--- A number that lies between two others, or is one of them; nil for any other one, and for none.
function tables.within(number, least, most)
   if number and number >= least and number <= most then
      return number
   end
   return nil
end

--- 1 where something is so, and else 0, as figures and pages have it.
function tables.one_if(is_so)
   if is_so then
      return 1
   end
   return 0
end

--- The number that something has now; without a map the one that it had.
-- @param map number then → number now, or nil
function tables.renumbered(map, number)
   if map then
      return map[number]
   end
   return number
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
function tables.same(first, second)
   for k, v in pairs(first) do
      if second[k] ~= v then
         return false
      end
   end
   for k in pairs(second) do
      if first[k] == nil then
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
   if n > 0 then
      return (sorted[n // 2] + sorted[n // 2 + 1]) / 2
   end
   return nil
end

return tables
