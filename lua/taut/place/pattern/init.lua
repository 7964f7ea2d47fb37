-- SPDX-License-Identifier: GPL-2.0-or-later
--- Registry of communication patterns: adding one is a file and a line.
--
-- A module has
--   takes       names of the parameters it knows beside `compute` (params.lua)
--   messages    that a rank sends in one step at most, where that is more than one
--   sized       how large its messages are follows from its other parameters (motif.lua)
--   phases      a motif's own description, for `taut study` (motif.lua)
--   steps(n, o) → array of steps for ranks 1 … n, and the grid where it has one; or nil and what
--               was expected
-- A step happens at once, and ends before the next one begins:
--   { kind = "all-to-all", bytes = of each message, times = }
--   { kind = "pairs", src = { rank, … }, dst = { rank, … }, bytes = number or one for each pair,
--     times = how often, one after the other }
local matrix_file = require "taut.place.pattern.matrix_file"
local params = require "taut.place.pattern.params"
local tables = require "taut.base.tables"

local registry = {
   ["all-reduce-rd"] = "taut.place.pattern.all_reduce_rd",
   ["all-reduce-ring"] = "taut.place.pattern.all_reduce_ring",
   ["all-to-all"] = "taut.place.pattern.all_to_all",
   bisection = "taut.place.pattern.bisection",
   exchange = "taut.place.pattern.exchange",
   halo27 = "taut.place.pattern.halo27",
   halo2d = "taut.place.pattern.halo2d",
   halo3d = "taut.place.pattern.halo3d",
   halo3d26 = "taut.place.pattern.halo3d26",
   lattice4d = "taut.place.pattern.lattice4d",
   lqcd = "taut.place.pattern.lqcd",
   ["many-to-one"] = "taut.place.pattern.many_to_one",
   matrix = "taut.place.pattern.matrix",
   ["random-pairs"] = "taut.place.pattern.random_pairs",
   ring = "taut.place.pattern.ring",
   shift = "taut.place.pattern.shift",
   sweep = "taut.place.pattern.sweep",
   sweep3d = "taut.place.pattern.sweep3d",
}

local pattern = {}

local BYTES = 1e6           -- of a message without a given size
local CACHED = 64           -- patterns that a cache holds
local MOST_RANKS = 1 << 20
local MOST_PAIRS = 1 << 22  -- of one step (advisor/lib/flow/traffic.h)

--- Names of the patterns, sorted.
pattern.names = tables.keys(registry)

-- "matrix:FILE,compute=0.3": a file's name may have commas and colons, so parameters are taken
-- from its end only.
local function split_matrix(text)
   local given = {}
   local file = text
   while true do
      local head, k, v = file:match "^(.+),([%a_]+)=([^,]*)$"
      if not head or not params.all[k] then
         break
      end
      file, given[k] = head, v
   end
   given.file = file
   return given
end

--- A specification as a table: "halo3d:bytes=1M,compute=0.3" is { name = "halo3d",
-- bytes = "1M", compute = "0.3" }; "matrix:FILE" is { name = "matrix", file = FILE }.
-- @return table, or nil and what was expected
function pattern.parse(spec)
   if type(spec) == "table" then
      return spec
   elseif type(spec) ~= "string" then
      return nil, ("pattern: expected a text or a table, got a %s"):format(type(spec))
   end
   local name, rest = spec:match "^([^:]*):(.*)$"
   name = name or spec
   local given, err = {}, nil
   if name == "matrix" then
      given = split_matrix(rest or "")
   elseif rest and rest ~= "" then
      given, err = params.split(name, rest)
   end
   if not given then
      return nil, err
   end
   given.name = name
   return given
end

--- Read what a specification has in files, so that it can be given to a program that must not open
-- them: tautd never does.
-- @param spec as for pattern.make
-- @return table for pattern.make, or nil and what is wrong (with the file's name and the line)
function pattern.read(spec)
   local s, err = pattern.parse(spec)
   if not s or s.name ~= "matrix" or not s.file then
      return s, err
   end
   return matrix_file.read(s)
end

-- The size of a message that nobody has given; nil where a pattern has none, or its own.
local function usual_bytes(name, module)
   if name == "matrix" or module.sized then
      return nil
   end
   return BYTES
end

local function build_pattern(name, ranks, given, data)
   local module = require(registry[name])
   local o, err = params.check(name, module.takes, given)
   if not o then
      return nil, err
   end
   if ranks * (module.messages or 1) > MOST_PAIRS then
      return nil, ("pattern %s: %d messages in one step, expected at most %d"):format(name,
         ranks * module.messages, MOST_PAIRS)
   end
   o.bytes, o.data = o.bytes or usual_bytes(name, module), data
   local steps, grid = module.steps(ranks, o)
   if not steps then
      return nil, ("pattern %s: %s"):format(name, grid)
   end
   return { name = name, ranks = ranks, bytes = o.bytes, compute = o.compute or 0, grid = grid,
      steps = steps }
end

--- Make the pattern of a job.  No file is opened: see pattern.read.
-- @param spec text "NAME" or "NAME:PARAMETER=VALUE,…", or a table { name =, PARAMETER = … }
-- @param ranks ranks, 1 … 2^20
-- @return { name =, ranks, bytes = of one message (not of a matrix or a sized motif),
--   compute = share of the job's time that is not communication (on an ideal network),
--   grid = lengths or nil, steps = see above }, or nil and what was expected
function pattern.make(spec, ranks)
   local s, err = pattern.parse(spec)
   if not s then
      return nil, err
   end
   local name = s.name
   if not registry[name] then
      return nil, ("pattern '%s' is not known (known: %s)"):format(tostring(name),
         table.concat(pattern.names, ", "))
   elseif math.type(ranks) ~= "integer" or ranks < 1 or ranks > MOST_RANKS then
      return nil, ("pattern %s: expected 1 to %d ranks, got %s"):format(name, MOST_RANKS,
         tostring(ranks))
   end
   local given = tables.copy(s)
   given.name = nil
   if name ~= "matrix" then
      return build_pattern(name, ranks, given)
   elseif given.file then
      return nil, "pattern matrix: its file has not been read"
   end
   given.data = nil
   return build_pattern(name, ranks, given, s.data)
end

local Cache = {}
Cache.__index = Cache

--- As pattern.make, of what was made before: the C side of a pattern belongs to its table.
function Cache:make(spec, ranks)
   local key = type(spec) == "string" and spec .. "/" .. ranks
   if key and self.made[key] then
      return self.made[key]
   end
   local P, err = pattern.make(spec, ranks)
   if P and key then
      if self.count >= CACHED then
         self.made, self.count = {}, 0
      end
      self.made[key], self.count = P, self.count + 1
   end
   return P, err
end

--- Patterns are worth keeping where the same ones are asked for again and again.
function pattern.cache()
   return setmetatable({ made = {}, count = 0 }, Cache)
end

-- Steps in the form of phases.
local function phases_of(module, ranks, options)
   local steps, grid = module.steps(ranks, options)
   local phases = tables.map(steps or {}, function(step)
      return { all = step.kind == "all-to-all" or nil, src = step.src, dst = step.dst,
         bytes = step.bytes,
         times = step.times, ranks = ranks }
   end)
   return steps and phases, grid
end

--- A pattern without its messages, for any number of ranks; a matrix' file is opened.
-- @param spec as for pattern.read
-- @return { name =, shape = "cube", "square", "halvings" or "any", dims =, options = its
--   parameters, compute = share, phases = function(n) → array of phases (motif.lua), or nil and
--   what was expected }; or nil and what was expected
function pattern.motif(spec)
   local s, err = pattern.read(spec)
   if not s then
      return nil, err
   end
   local module = registry[s.name] and require(registry[s.name])
   if not module then
      return nil, ("pattern '%s' is not known (known: %s)"):format(tostring(s.name),
         table.concat(pattern.names, ", "))
   end
   local given = {}
   for k, v in pairs(s) do
      if k ~= "name" and k ~= "data" then
         given[k] = v or nil
      end
   end
   local o
   o, err = params.check(s.name, module.takes, given)
   if not o then
      return nil, err
   end
   o.bytes, o.data = o.bytes or usual_bytes(s.name, module), s.data
   return { name = s.name, shape = module.shape or "any", dims = module.dims, options = o,
      compute = o.compute or 0, phases = function(ranks)
         local phases, why = (module.phases or function(...)
            return phases_of(module, ...)
         end)(ranks, o)
         if not phases then
            return nil, ("pattern %s: %s"):format(s.name, why)
         end
         return phases
      end }
end

return pattern
