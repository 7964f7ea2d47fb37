--- The nodes a job is put on where nobody looks at an answer first: what it gains there against
-- what it takes from those that come later (place/pieces.lua).
--
-- Each candidate has a price: the logarithm of the whole job's predicted time, and BIT for each bit
-- a node that it takes from the pieces of Slurm's table.  Slurm's own choice is one of them, so a
-- gain that breaks up more than it is worth is left alone; and nothing that takes longer than
-- Slurm's choice is taken.  Among the candidates are also pieces that Slurm might as well have
-- taken: they break up nothing, and often avoid a slow link or a busy neighbour.
--
-- BIT and PIECES were set by `tests/bench/replay` (doc/replay.md), on other weeks and seeds than
-- those of its tables.
local pieces = require "taut.place.pieces"
local score = require "taut.place.score"
local slurm = require "taut.place.slurm"

local choice = {}

local BIT = 0.06
local PIECES = 8

local function price_of(list, c)
   return math.log(c.score.job_ratio) + BIT * pieces.loss(list, c.nodes)
end

local function with_pieces(topo, list, P, found, o)
   local all = table.move(found, 1, #found, 1, {})
   if not o.exclusive and not o.per_router then
      for _, c in ipairs(pieces.sets(list, P.ranks, PIECES)) do
         c.score = score.evaluate(topo, c.nodes, P, o)
         all[#all + 1] = c
      end
   end
   return all
end

--- @param topo topology
-- @param free set of free nodes
-- @param P pattern
-- @param found array of candidates with score, as rank.best gives them
-- @param own Slurm's choice, { nodes, score }
-- @param o as for score.evaluate; exclusive, per_router as of place.search
-- @param line what slurm.choice is told: order, rank, switches, memo
-- @return one of the candidates, or own where none has a lower price
function choice.best(topo, free, P, found, own, o, line)
   local list = slurm.pieces(free, line)
   local best, least = own, price_of(list, own)
   for _, c in ipairs(with_pieces(topo, list, P, found, o)) do
      if c.score.job_ratio <= own.score.job_ratio then
         local price = price_of(list, c)
         if price < least then
            best, least = c, price
         end
      end
   end
   return best
end

return choice
