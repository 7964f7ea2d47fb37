-- SPDX-License-Identifier: GPL-2.0-or-later
--- The nodes of a job without a look at an answer: its gain there against its cost to others.
--
-- The price of a candidate has three parts. The first is the logarithm of the whole job's predicted
-- time. The second is BIT for each bit a node that it takes from the pieces of Slurm's table
-- (place/pieces.lua), less while the machine has room. The third is HARM for its load on links that
-- running jobs use.  Slurm's own choice is one of them, so a gain that breaks up more than it is
-- worth is left alone; nothing that takes the job longer than Slurm's choice is taken.  Among the
-- candidates are also pieces that Slurm might as well have taken: they break up nothing, and often
-- avoid a slow link or a busy neighbour.
--
-- The constants were set by `tests/bench/replay` on other weeks and seeds than those of the tables
-- in doc/replay.md.
local tables = require "taut.base.tables"
local pieces = require "taut.place.pieces"
local score = require "taut.place.score"
local slurm = require "taut.place.slurm"

local choice = {}

local NONE = {}
local BIT = 0.1
local LONG = 16 -- a piece of 1/LONG of all nodes is as good as a longer one
local HARM = 2
local PIECES = 8

-- How much of a link the job takes, times how much of it others use: the worst link's.
local function harm_of(topo, pattern, candidate, options)
   if not options.background or pattern.compute >= 1 or candidate.score.time_s == math.huge then
      return 0
   end
   local step, worst = pattern.compute / (1 - pattern.compute) * candidate.score.ideal_s
      + candidate.score.time_s, 0
   for comp, bytes in pairs(candidate.score.load or {}) do
      local can = topo.capacity[comp] * ((options.left or NONE)[comp] or 1)
      local others = options.background[comp]
      if others and can > 0 and step > 0 then
         worst = math.max(worst, bytes / step / can * others / can)
      end
   end
   return worst
end

local function with_pieces(topo, list, pattern, found, options)
   local all = table.move(found, 1, #found, 1, {})
   if not options.exclusive and not options.per_router then
      for _, c in ipairs(pieces.sets(list, pattern.ranks, PIECES)) do
         c.score = score.evaluate(topo, c.nodes, pattern, options)
         all[#all + 1] = c
      end
   end
   return all
end

-- What a bit is worth: nothing on an empty machine.
local function worth_of_bit(topo, list)
   local free = tables.sum(list, function(piece) return piece.count end)
   return BIT * math.max(0, 1 - free / #topo.nodes)
end

--- @param topo topology
-- @param free set of free nodes
-- @param pattern pattern
-- @param found array of candidates with score, as rank.best gives them
-- @param own Slurm's choice, { nodes, score }
-- @param options as for score.evaluate, with load for what is in background; exclusive, per_router
--   as of place.search
-- @param line what slurm.choice is told: order, rank, switches, memo
-- @return one of the candidates, or own where none has a lower price
function choice.best(topo, free, pattern, found, own, options, line)
   local list = slurm.pieces(free, line)
   local bit = worth_of_bit(topo, list)
   local function price_of(candidate)
      return math.log(candidate.score.job_ratio) + HARM * harm_of(topo, pattern, candidate,
         options) +
         bit * pieces.loss(list, candidate.nodes, #topo.nodes / LONG)
   end
   local best, least = own, price_of(own)
   for _, c in ipairs(with_pieces(topo, list, pattern, found, options)) do
      local p = c.score.job_ratio <= own.score.job_ratio and price_of(c)
      if p and p < least then
         best, least = c, p
      end
   end
   return best
end

return choice
