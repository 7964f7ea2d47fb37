--- Registry of placement searches, one per kind of topology.
local registry = {
   mesh = "taut.place.torus",
   torus = "taut.place.torus",
}

local place = {}

--- Rank sets of nodes.
-- @param topo topology
-- @param free set of node numbers that may be used
-- @param count how many nodes
-- @param o table: avoid = map component → capacity left (0 … 1); top = how many answers
-- @return array of candidates (see the module of the kind), or nil and why there is none
function place.search(topo, free, count, o)
   local name = registry[topo.kind_name]
   if not name then
      return nil, ("no placement for topology kind '%s'"):format(topo.kind_name)
   end
   return require(name).search(topo, free, count, o)
end

return place
