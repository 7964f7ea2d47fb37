-- SPDX-License-Identifier: GPL-2.0-or-later
--- Motifs: patterns whose messages follow from the size of a problem, with what is computed beside.
--
-- A motif is described once, as phases of ranks in a grid with the same neighbours (`phases`). The
-- steps of a pattern are made of it, and the sums between routers of `taut study`, which never
-- lists the messages of 32,768 ranks one by one.  A phase:
--   grid, offsets, bytes (one for each offset), periodic; or src, dst (ranks), bytes (a number, or
--   one for each pair); or all = true, ranks, bytes (of each message)
--   times     how often in one iteration (1)
--   stages    how many such times the iteration waits for, where ranks come one after the other (as
--             many)
--   flops     that each rank computes before it each time (0)
--   waits     "all" where every rank waits for the slowest before it goes on
--   messages  that a rank sends each time, where that is not one for each offset
local tables = require "taut.base.tables"
local grid = require "taut.place.pattern.grid"

local motif = {}

--- The pairs of a phase of the form grid, offsets, bytes.
local function pairs_of(phase)
   local src, dst, bytes = {}, {}, {}
   local dims, n = phase.grid, 1
   for _, len in ipairs(dims) do
      n = n * len
   end
   local function visit_pair(rank, other, offset)
      src[#src + 1], dst[#dst + 1], bytes[#bytes + 1] = rank, other, phase.bytes[offset]
   end
   grid.each(dims, phase.offsets, phase.periodic, visit_pair)
   return { kind = "pairs", src = src, dst = dst, bytes = bytes, times = phase.times or 1 }
end

local function steps_of(phases)
   return tables.map(phases, function(phase)
      if not phase.src then
         return pairs_of(phase)
      end
      return { kind = "pairs", src = phase.src, dst = phase.dst, bytes = phase.bytes,
         times = phase.times or 1 }
   end)
end

--- Make a pattern's module of a motif's.
-- @param module { summary, messages, takes, phases = function(ranks, options) → array of phases,
--   grid or nil; or nil and what was expected }
-- @return the module, with `steps` and `sized`: what a message has is not for the caller to say
function motif.of(module)
   module.sized = module.sized ~= false
   function module.steps(ranks, options)
      local phases, lengths = module.phases(ranks, options)
      if not phases then
         return nil, lengths
      end
      return steps_of(phases), lengths
   end
   return module
end

-- Coordinates that stand for all others of a dimension: both ends and one between.
local function some_coordinates(len)
   if len == 1 then
      return { 0 }
   elseif len == 2 then
      return { 0, 1 }
   end
   return { 0, 1, len - 1 }
end

-- Bytes and messages of the rank at some coordinates.
local function sent_at(phase, at)
   local bytes, messages = 0, 0
   for k, offset in ipairs(phase.offsets) do
      local inside, moves = true, false
      for d, len in ipairs(phase.grid) do
         local x = at[d] + offset[d]
         inside = inside and (phase.periodic or x >= 0 and x < len)
         moves = moves or offset[d] % len ~= 0
      end
      if inside and moves then
         bytes, messages = bytes + phase.bytes[k], messages + 1
      end
   end
   return bytes, messages
end

local function most_of_pairs(phase)
   local out, into, most = {}, {}, 0
   for i, a in ipairs(phase.src) do
      local b = phase.dst[i]
      local bytes = phase.bytes
      if type(bytes) == "table" then
         bytes = bytes[i] or bytes
      end
      out[a], into[b] = (out[a] or 0) + bytes, (into[b] or 0) + bytes
      most = math.max(most, out[a], into[b])
   end
   return most, phase.messages or 1
end

--- What the busiest rank sends, or gets, in a phase each time: bytes and messages.
function motif.most(phase)
   if phase.all then
      return (phase.ranks - 1) * phase.bytes, phase.ranks - 1
   elseif phase.src then
      return most_of_pairs(phase)
   end
   local most, messages, at = 0, 0, {}
   local function walk_dims(dim)
      if dim > #phase.grid then
         local bytes, n = sent_at(phase, at)
         most, messages = math.max(most, bytes), math.max(messages, n)
         return
      end
      for _, x in ipairs(some_coordinates(phase.grid[dim])) do
         at[dim] = x
         walk_dims(dim + 1)
      end
   end
   walk_dims(1)
   return most, phase.messages or messages
end

return motif
