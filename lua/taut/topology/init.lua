--- Registry of topologies: adding one is a file and a line.
--
-- A topology object answers, for nodes numbered 1 … count and components
-- numbered 1 … #components:
--   nodes            array of names; node_id[name] → number
--   components       array of names; component_id[name] → number
--   capacity[c]      bytes per second
--   kind(c)          "tx", "rx" or the port ("X+")
--   route(a, b)      array of components in the order they are crossed
--   hops(a, b)       router-to-router links on the route
--   router(n)        number of the node's router
--   behind(c, left)  nodes behind component c when `left` (0 … 1) of it is left
--   ends(c)          nodes at the two ends (one for tx and rx)
--   cable(c)         what to repair, in words
--   neighbours(set)  candidate tests between neighbours (see torus.lua)
local registry = {
   torus = "taut.topology.torus",
}

local topology = {}

--- Build a topology from its configuration.
-- @param conf table with `kind` and what the kind wants
-- @return the object, or nil and what is wrong
function topology.build(conf)
   local name = registry[conf.kind]
   if not name then
      return nil, ("topology kind '%s' is not known (known: torus)"):format(tostring(conf.kind))
   end
   return require(name).build(conf)
end

return topology
