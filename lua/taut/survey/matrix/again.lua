-- SPDX-License-Identifier: GPL-2.0-or-later
--- The second look: which pairs are measured again alone, and what it says of the findings.
local findings = require "taut.survey.matrix.findings"
local tables = require "taut.base.tables"

local again = {}

local EACH = 6  -- pairs of one finding that are measured again
local MOST = 48 -- of all

-- The worst pair of a finding and others evenly out of all of it.
local function sample_pairs(matrix, finding, most)
   local list, seen = {}, {}
   local worst
   for _, k in ipairs(finding.pairs) do
      if not worst or (matrix:ratio(matrix:at(k)) or 0) < (matrix:ratio(matrix:at(worst)) or 0) then
         worst = k
      end
   end
   local count = math.min(most, #finding.pairs)
   for n = 0, count - 1 do
      local k = finding.pairs[1 + n * #finding.pairs // count]
      if n == 0 then
         k = worst
      end
      if not seen[k] then
         seen[k] = true
         list[#list + 1] = k
      end
   end
   return list
end

--- Pairs to be measured again alone: some of each finding, and what was void.
-- @return array of keys
function again.keys(matrix, list)
   local keys, seen, void = {}, {}, {}
   local function add_pair(key)
      if not seen[key] and #keys < MOST then
         seen[key] = true
         keys[#keys + 1] = key
      end
   end
   for _, f in ipairs(list) do
      f.asked = sample_pairs(matrix, f, EACH)
      for _, k in ipairs(f.asked) do
         add_pair(k)
      end
   end
   for k, class in pairs(matrix.class) do
      if class == "void" then
         void[#void + 1] = k
      end
   end
   table.sort(void)
   for _, k in ipairs(void) do
      add_pair(k)
   end
   return keys
end

--- Take what the pairs showed when they were measured again: each finding is borne out or not.
function again.confirm(matrix, list)
   for _, f in ipairs(list) do
      local asked, low = 0, 0
      for _, k in ipairs(f.asked or {}) do
         if matrix.again[k] and matrix.class[k] ~= "void" then
            asked = asked + 1
            low = low + tables.one_if(matrix.class[k] == "low")
         end
      end
      if asked > 0 then
         f.again = { asked = asked, low = low }
         f.confirmed = 2 * low >= asked
         findings.figures(matrix, f)
      end
   end
end

local function set_of(keys, into)
   for _, k in ipairs(keys) do
      into[k] = true
   end
   return into
end

local function is_covered(keys, seen)
   for _, k in ipairs(keys) do
      if not seen[k] then
         return false
      end
   end
   return true
end

--- Take in what is found now: pairs that were void may have turned out low.
-- @param matrix matrix
-- @param list the findings of the first look, with `asked`
-- @param now findings.find of the matrix as it is after the second look
function again.merge(matrix, list, now)
   local old, seen = {}, {}
   for _, f in ipairs(list) do
      old[f.kind .. " " .. f.name] = f
      set_of(f.pairs, seen)
   end
   for _, f in ipairs(now) do
      local before = old[f.kind .. " " .. f.name]
      if before then
         before.pairs, before.clear = f.pairs, f.clear
         findings.figures(matrix, before)
      elseif not is_covered(f.pairs, seen) then
         f.asked = f.pairs
         list[#list + 1] = f
      end
   end
end

return again
