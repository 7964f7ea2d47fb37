-- SPDX-License-Identifier: GPL-2.0-or-later
--- What a job asks of its nodes' features.
local features = {}

--- Alternatives of a constraint: "a&b|c" is { { "a", "b" }, { "c" } }.  What else Slurm knows there
-- (counts, brackets) is refused: advice that ignores half of it would be wrong.
-- @return array of arrays of names, or nil and what was expected
function features.parse(text)
   local any = {}
   if text:find "[^%w_.:&|,=+-]" or text == "" then
      return nil, ("--constraint: expected feature names with & and |, got '%s'"):format(text)
   end
   for part in (text .. "|"):gmatch "([^|]*)|" do
      local all = {}
      for name in (part:gsub(",", "&") .. "&"):gmatch "([^&]*)&" do
         if name == "" then
            return nil, ("--constraint: a name is missing in '%s'"):format(text)
         end
         all[#all + 1] = name
      end
      any[#any + 1] = all
   end
   return any
end

local function of(record)
   local set, f = {}, record and record.features
   if type(f) == "table" then
      for _, name in ipairs(f) do
         set[name] = true
      end
   else
      for name in (f or ""):gmatch "[^,]+" do
         set[name] = true
      end
   end
   return set
end

--- Has a node's record the features of one of these alternatives?
function features.has(record, any)
   local set = of(record)
   for _, all in ipairs(any) do
      local ok = true
      for _, name in ipairs(all) do
         ok = ok and set[name]
      end
      if ok then
         return true
      end
   end
   return false
end

--- A name in a constraint that no node has.
-- @param nodes map name → what taut-slurm says of it
function features.unknown(nodes, any)
   local known = {}
   for _, record in pairs(nodes) do
      for name in pairs(of(record)) do
         known[name] = true
      end
   end
   for _, all in ipairs(any) do
      for _, name in ipairs(all) do
         if not known[name] then
            return name
         end
      end
   end
   return nil
end

return features
