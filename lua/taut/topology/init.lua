-- SPDX-License-Identifier: GPL-2.0-or-later
--- Registry of topologies: adding one is a file and a line.
--
-- Numbers: nodes 1 … #nodes, routers 0 … routers - 1, components 1 … #components.  Endpoint e (rail
-- k of node i is e = #nodes * (k - 1) + i) has tx = 2e - 1 and rx = 2e; links follow.  With one
-- rail the names are `n5/tx`, `n5/rx`, with several `n5:2/tx` (rails count from 1).  A link is
-- directed and named by the router and port it leaves, `ROUTER/PORT`; parallel cables that the
-- routing does not tell apart are one link.
--
-- A topology object (base.lua) has these fields:
--   kind_name, nodes[], node_id{}, components[], component_id{}, capacity[c] (bytes per second,
--   healthy; of those in `open` a guess), routers (count), router_name[r], router_id{}, rails,
--   first_link (component number),
--   tx[n], rx[n] (of rail 1), wiring (text; changes when names, wiring or routing do), signature
--   (the same, and which links have failed), epoch (number, counts up with each change of routes),
--   asked_at (addresses.lua; nil where nobody can ask for a test's way),
--   is_hashed (true where a flow keeps to one link of each set on its way), is_adaptive (where
--   switches choose it anew),
--   degraded (map component → left), cables (map link → how many of a wiring it is, where they are
--   several), planes (map component → how many planes it has, where it has any), planes_up (of
--   those of which some were down in the wiring, how many were not), port_guids and other_planes
--   (base.lua), service_levels and traffic (service_levels.lua: how jobs are routed,
--   where tests are routed otherwise; nil elsewhere), graph (taut.graph);
--   node_class (map node → name, or nil),
--   dynamic (set of nodes that may be away, or nil), away (set of those that are), away_count,
--   unreached (links that no node is there for: seen/dynamic.lua),
--   learns (map component → cables, of those whose capacity nobody configured, or nil), open (set
--   of those of them of which nothing is known yet)
-- and functions:
--   route(a, b [, t [, rail]])  array of stages in order (tx, links …, rx), in t, which is cleared,
--                    or in a new table; or nil and why there is none.  A stage is a component, or a
--                    set { c1, c2, …, w = { w1, w2, … } } where traffic is hashed or adaptive: one
--                    of these links, which one is not known.  Equal sets are one table; leave it as
--                    it is.  taut.stages has what users of routes need.
--   router_route(r, s [, t])  the links only
--   crosses(a, b, c [, rail])  may a route take component c?
--   hops(a, b [, rail])  router-to-router links on the shortest route; math.huge without one
--   why(a, b), why_routers(r, s)  why there is no route, in words
--   router(n [, rail])  the node's router; on_router(r) → nodes
--   from(c), to(c)   routers at the ends of a component; of a tx or rx the node's, both times
--   node_of(c)       node and rail of a tx or rx; nil for a link
--   is_link(c), kind(c), class(c)  "tx", "rx" or the kind of port; the bandwidth class
--   cable(c), place(c)  what to repair and where it is, in words
--   ends(c), near(c) nodes at the two ends (there may be none); the nearest ones
--   opposite(c)      the other direction of the same cable
--   links_of(r), links_between(r, s)
--   behind(c, left), exposed(c)  nodes
--   classes()        components no test can tell apart; components no route uses
--   neighbours(by_router)  candidate tests (neighbours.lua, torus.lua)
--   load(pattern [, opt])  bytes per component (load.lua)
--   set_health(left [, opt])  failures and what follows from them (health.lua)
--   coordinates(r), router_at(at)  where the kind has them
--   graph            the C object (doc/internals/bindings.md)
--
-- Of several fabrics (fabrics/init.lua) it also has `fabrics`, part_of(c) and of_part(f, c), and
-- each part's topology has `fabric`.
local registry = {
   dragonfly = "taut.topology.dragonfly",
   fattree = "taut.topology.fattree",
   graph = "taut.topology.graph",
   hyperx = "taut.topology.hyperx",
   mesh = "taut.topology.torus",
   torus = "taut.topology.torus",
}

local addresses = require "taut.topology.addresses"
local dynamic = require "taut.topology.seen.dynamic"
local fabrics = require "taut.topology.fabrics"
local tables = require "taut.base.tables"
local service_levels = require "taut.topology.service_levels"
local node_classes = require "taut.topology.node_classes"
local unknown = require "taut.topology.unknown"

-- to any kind
local ADDED = { addresses = addresses, dynamic = dynamic, node_classes = node_classes }

-- by switches, anew
local ADAPTIVE = { adaptive = true, doal = true }

local topology = {}

--- Names of the kinds, sorted; a configuration has a constructor of each name.
topology.kinds = tables.keys(registry)

--- Build a topology from its configuration.
-- @param conf table with `kind` and what the kind wants; kind "fabrics": { fabrics = map name →
--   such tables }, of a machine that has several
-- @return the object, or nil and what is wrong
function topology.build(conf)
   local name = registry[conf.kind]
   if conf.kind == "fabrics" then
      return fabrics.build(conf, topology.build)
   elseif name and type(conf.routing) == "table" then
      return service_levels.build(conf, topology.build)
   elseif not name then
      return nil, ("topology kind '%s' is not known (known: %s)"):format(tostring(conf.kind),
         table.concat(topology.kinds, ", "))
   end
   local rest = {} -- models know nothing of these
   for k, v in pairs(conf) do
      if not ADDED[k] then
         rest[k] = v
      end
   end
   local topo, err = require(name).build(rest)
   local ok = topo ~= nil
   for _, k in ipairs { "node_classes", "addresses", "dynamic" } do
      if ok and conf[k] ~= nil then
         ok, err = ADDED[k].apply(topo, conf[k])
      end
   end
   if ok then
      topo.is_adaptive = ADAPTIVE[conf.routing or topo.routing] or false
      ok, err = unknown.check_names(topo, conf.capacity)
   end
   if ok then
      return topo
   end
   return nil, err
end

return topology
