-- SPDX-License-Identifier: GPL-2.0-or-later
--- Registry of placement searches, one per kind of topology: adding one is a file and a line.
--
-- A search's module has search(topo, free, count, o), which returns an array of candidates:
--   nodes      array of node numbers in the order of a job's ranks
--   shape      words: "8×2×2 box at (4,0,6)"
--   exchanged  whether nodes of that shape were exchanged against better ones (rank.lua)
--   density    chosen / all nodes inside; total = nodes inside
--   strangers  nodes inside that are not free
--   surface    free nodes that are not taken, on its routers and on those next to them
--   cost       the search's own cheap measure, comparable within one answer
local common = require "taut.place.common"
local grown = require "taut.place.grown"
local tables = require "taut.base.tables"
local task = require "taut.base.task"

local registry = {
   dragonfly = "taut.place.dragonfly",
   fattree = "taut.place.fattree",
   hyperx = "taut.place.hyperx",
   mesh = "taut.place.torus",
   torus = "taut.place.torus",
}

local place = {}

local WEAK = 0.95 -- a node with less of its own tx or rx left is taken only where there is no other

-- The free nodes without those that are weak themselves, where that leaves enough.
local function strong_nodes(topo, free, count, left)
   local weak, n = nil, 0
   for c, share in pairs(left or {}) do
      local node = share < WEAK and topo:node_of(c)
      if node and free[node] then
         weak = weak or {}
         weak[node] = true
      end
   end
   if not weak then
      return free
   end
   local rest = {}
   for node in pairs(free) do
      if not weak[node] then
         rest[node], n = true, n + 1
      end
   end
   if n >= count then
      return rest
   end
   return free
end

--- Fill in density, total and strangers of a candidate that is only nodes: its submesh is the
-- smallest box around them (candidate.box in words), or the routers they are on.
-- @param version see place.search, or nil
function place.describe(topo, free, candidate, version)
   local name = registry[topo.kind_name]
   local module = name and require(name)
   local describe = module and module.describe or common.describe
   return describe(topo, free, candidate, version)
end

--- Set `surface` of candidates that have none.
function place.surfaces(topo, free, list, version)
   grown.surfaces(topo, free, list, { version = version })
end

--- Sets of nodes that may suit a job, the best first by a cheap measure; place.score evaluates.
-- @param topo topology
-- @param free set of node numbers that may be used: { [n] = true }
-- @param count how many nodes
-- @param options table, all optional: left = map component → capacity left (0 … 1) of what is to be
--   avoided; top = how many answers (5); exclusive = nobody else's nodes inside; per_router = at
--   most so many nodes on each router; rank = map node → place in Slurm's table; measure =
--   "near" for a pattern of neighbours; version = changes whenever the same table `free` does,
--   so that what was worked out of it can be kept
-- @return array of candidates, or nil and why there is none
function place.search(topo, free, count, options)
   local total = 0
   for _ in pairs(free) do
      total = total + 1
      if total == count then
         break
      end
   end
   if total < count then
      return nil, ("%d nodes asked for, %d are free and healthy"):format(count, total)
   end
   options = setmetatable({ top = options.top or 5 }, { __index = options })
   local usable = strong_nodes(topo, free, count, options.left)
   local name = registry[topo.kind_name]
   local found, take = {}, common.taker()
   for _, c in ipairs(tables.or_empty(name and require(name).search(topo, usable, count,
      options))) do
      take(found, c)
   end
   task.breathe()
   if not options.exclusive then
      local version
      if usable == free then
         version = options.version
      end
      options.grown = nil
      if name then
         options.grown = 1
      end
      for _, c in ipairs(grown.search(topo, usable, count, options)) do
         task.breathe()
         take(found, place.describe(topo, free, c, version))
      end
   end
   if #found == 0 and options.exclusive then
      return nil, ("no submesh that is wholly free holds %d nodes"):format(count)
   elseif #found == 0 then
      return nil, ("no %d free nodes have routes between them"):format(count)
   end
   task.breathe()
   grown.surfaces(topo, usable, found, options)
   return found
end

--- Free nodes that could still go to a compact job: those in dense submeshes (boxes, groups, the
-- leaves below one router).
-- @param least free nodes that the submesh holds, at least
-- @param density share of its nodes that is free, at least
-- @param taken array of free nodes that count as busy, or nil
-- @param version see place.search, or nil
-- @return how many nodes; nil where the kind of topology has no such submeshes
function place.dense(topo, free, least, density, taken, version)
   local name = registry[topo.kind_name]
   local module = name and require(name)
   if not module or not module.dense then
      return nil
   end
   return module.dense(topo, free, least, density, taken, version) or nil
end

return place
