-- SPDX-License-Identifier: GPL-2.0-or-later
--- What can be said about a pattern: "bytes=1M,compute=0.3".
local grid = require "taut.place.pattern.grid"
local tables = require "taut.base.tables"

local params = {}

local UNITS = { [""] = 1, k = 1e3, K = 1e3, M = 1e6, G = 1e9, T = 1e12, Ki = 2 ^ 10, Mi = 2 ^ 20,
   Gi = 2 ^ 30, Ti = 2 ^ 40 }
local MOST_BYTES = 1e15

local function parse_bytes(value)
   local n = tonumber(value)
   if type(value) == "string" then
      local digits, unit = value:match "^([%d.]+)%s*(%a?i?)B?$"
      n = digits and UNITS[unit] and tonumber(digits) and tonumber(digits) * UNITS[unit]
   end
   if not n or not (n > 0 and n <= MOST_BYTES) then
      return nil, ("expected bytes such as 64k or 1M, above 0 and at most %.0e, got %s"):format(
         MOST_BYTES, tostring(value))
   end
   return n
end

local function parse_share(value)
   local n = tonumber(value)
   if not n or not (n >= 0 and n <= 1) then
      return nil, "expected a share from 0 to 1, got " .. tostring(value)
   end
   return n
end

local function whole_between(least, most)
   return function(value)
      local n = math.tointeger(tonumber(value))
      if not n or n < least or n > most then
         return nil, ("expected a whole number from %d to %d, got %s"):format(least, most,
            tostring(value))
      end
      return n
   end
end

local WORDS = { ["true"] = true, yes = true, ["1"] = true, ["false"] = false, no = false,
   ["0"] = false }

local function parse_flag(value)
   local b = WORDS[tostring(value)]
   if b == nil then
      return nil, "expected yes or no, got " .. tostring(value)
   end
   return b
end

local function parse_lengths(value)
   if type(value) == "string" then
      return grid.parse(value)
   end
   for _, len in ipairs(tables.or_empty(value)) do
      if math.type(len) ~= "integer" or len < 1 or len > 1 << 20 then
         return nil, "expected an array of lengths"
      end
   end
   if type(value) ~= "table" or #value == 0 then
      return nil, "expected an array of lengths"
   end
   return value
end

--- Every parameter there is: { read = function(v) → value or nil, err }.
params.all = {
   bytes = { read = parse_bytes }, -- bytes of one message (1M)
   by = { read = whole_between(1, 1 << 20) }, -- places further on (1)
   compute = { read = parse_share }, -- share of the job's time that is not communication (0)
   format = { read = function(value)
      if value ~= "csv" and value ~= "sparse" then
         return nil, "expected csv or sparse, got " .. tostring(value)
      end
      return value
   end }, -- csv or sparse (by the first line)
   grid = { read = parse_lengths }, -- lengths of the grid of ranks, such as 8x4x4 (the most even)
   kba = { read = whole_between(1, 1 << 20) }, -- planes of a block (10)
   lattice = { read = parse_lengths }, -- sites of the lattice (144x144x144x192)
   nx = { read = whole_between(1, 1 << 20) }, -- cells of a rank in the first dimension (8)
   ny = { read = whole_between(1, 1 << 20) }, -- cells of a rank in the second dimension (8)
   nz = { read = whole_between(1, 1 << 20) }, -- planes of cells of a rank (100)
   per_node = { read = whole_between(1, 1 << 16) }, -- ranks of the file on one node (1)
   periodic = { read = parse_flag }, -- the grid's ends are neighbours (yes)
   points = { read = whole_between(1, 1 << 20) }, -- points along an edge of a rank's cube (30)
   root = { read = whole_between(1, 1 << 20) }, -- the rank that gets all (1)
   seed = { read = whole_between(0, math.maxinteger) }, -- of the random numbers (1)
   side = { read = whole_between(1, 1 << 20) }, -- cells along an edge of a rank's block (32)
   way = { read = function(value)
      if value ~= "pairwise" and value ~= "shift" then
         return nil, "expected pairwise or shift, got " .. tostring(value)
      end
      return value
   end }, -- pairwise or shift (what the number of ranks allows)
}

--- Check the parameters of a pattern.
-- @param name of the pattern
-- @param takes array of names of parameters, beside `compute`, which all know
-- @param given map name → text or value
-- @return map name → value, or nil and what was expected
function params.check(name, takes, given)
   local known, names, out = { compute = true }, { "compute" }, {}
   for _, k in ipairs(takes) do
      known[k], names[#names + 1] = true, k
   end
   for k, v in pairs(given) do
      if not known[k] then
         return nil, ("pattern %s: parameter '%s' is not known (known: %s)"):format(name,
            tostring(k), table.concat(names, ", "))
      end
      local value, err = params.all[k].read(v)
      if value == nil then
         return nil, ("pattern %s: %s: %s"):format(name, k, err)
      end
      out[k] = value
   end
   return out
end

--- "bytes=1M,grid=4x4" as a map of texts.
-- @return map, or nil and what was expected
function params.split(name, text)
   local given = {}
   for part in (text .. ","):gmatch "([^,]*)," do
      local k, v = part:match "^%s*([%a_]+)=(.-)%s*$"
      if not k then
         return nil, ("pattern %s: expected PARAMETER=VALUE, got '%s'"):format(name, part)
      elseif given[k] then
         return nil, ("pattern %s: '%s' is given twice"):format(name, k)
      end
      given[k] = v
   end
   return given
end

return params
