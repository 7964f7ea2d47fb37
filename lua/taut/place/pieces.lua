-- SPDX-License-Identifier: GPL-2.0-or-later
--- What a set of nodes takes from the jobs that come later, which Slurm places.
--
-- Slurm fills the pieces of its table: runs of free nodes on a line, leaves of a tree
-- (place/slurm.lua).  A job that takes a little of many leaves them all shorter; the next one is
-- scattered, and what it frees at its end is scattered, too.  A node of a piece of k is worth log2
-- k bits, no more than one of a piece that holds almost every job.  A set's loss is by how much the
-- sum over all nodes falls, for each of its own: a piece that is filled exactly costs log2 k, a
-- hole in the middle of a longer one more.  As Slurm places most jobs, that foretells what becomes
-- of the machine better than how compact the rest of it is (tests/bench/replay).
local pieces = {}

local function worth_of_run(length, long)
   if length <= 1 then
      return 0
   end
   return length * math.log(math.min(length, long), 2)
end

-- Map node → its piece, and where in it.
local function places_of(list)
   if not list.piece then
      list.piece, list.at = {}, {}
      for _, p in ipairs(list) do
         for i, n in ipairs(p.nodes) do
            list.piece[n], list.at[n] = p, i
         end
      end
   end
   return list.piece, list.at
end

-- What is left of a piece without the nodes at these places.
local function rest_of(piece, places, long)
   if piece.is_whole then
      return worth_of_run(piece.count - #places, long)
   end
   table.sort(places)
   local sum, last = 0, 0
   for _, i in ipairs(places) do
      sum, last = sum + worth_of_run(i - last - 1, long), i
   end
   return sum + worth_of_run(piece.count - last, long)
end

--- What a set costs those who come later.
-- @param list of slurm.pieces, for the nodes that are free
-- @param nodes array of node numbers, each in one of the pieces
-- @param long nodes of a piece from which on it is no worse to be shorter; or nil
-- @return bits a node, at least 0
function pieces.loss(list, nodes, long)
   local piece, at = places_of(list)
   long = math.max(1, long or math.huge)
   local taken, touched, sum = {}, {}, 0
   for _, n in ipairs(nodes) do
      local p = piece[n]
      if p then
         if not taken[p] then
            taken[p], touched[#touched + 1] = {}, p
         end
         table.insert(taken[p], at[n])
      end
   end
   for _, p in ipairs(touched) do
      sum = sum + worth_of_run(p.count, long) - rest_of(p, taken[p], long)
   end
   if #nodes == 0 then
      return 0
   end
   return sum / #nodes
end

local function part_of_piece(piece, from, count)
   return { nodes = table.move(piece.nodes, from, from + count - 1, 1, {}), kind = "run" }
end

--- Sets that Slurm might as well have taken: the beginning and the end of each piece that suffices,
-- the shortest pieces first.  They break up no more than its own choice does, and lie elsewhere.
-- @param most how many
-- @return array of { nodes, kind }
function pieces.sets(list, count, most)
   local enough, out = {}, {}
   for i, p in ipairs(list) do
      if p.count >= count then
         enough[#enough + 1] = { p = p, i = i }
      end
   end
   table.sort(enough, function(one, other)
      if one.p.count ~= other.p.count then
         return one.p.count < other.p.count
      end
      return one.i < other.i
   end)
   for _, e in ipairs(enough) do
      if #out < most then
         out[#out + 1] = part_of_piece(e.p, 1, count)
      end
      if #out < most and e.p.count > count then
         out[#out + 1] = part_of_piece(e.p, e.p.count - count + 1, count)
      end
   end
   return out
end

return pieces
