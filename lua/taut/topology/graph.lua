-- SPDX-License-Identifier: GPL-2.0-or-later
--- Any wiring: routers and cables as they are.
--
-- Traffic follows the forwarding tables where the wiring has them; else all shortest ways in equal
-- shares, because it is not known which of them it takes.
local base = require "taut.topology.base"
local shape = require "taut.topology.shape"
local tables = require "taut.topology.tables"
local wired = require "taut.topology.wired"

local graph = {}
local Graph = base.class()

--- Build it.
-- @param conf { wiring, nodes (host list, default all), rails (default all), capacity = number, or
--   { tx, rx, link or by kind } in bytes per second, where the wiring's own are not to be used;
--   routing = "tables" | "shortest" | "adaptive" (shortest ways, too) }
-- @return topology, or nil and what was expected
function graph.build(conf)
   local w, err = wired.check(conf.wiring)
   local routing, s, n
   if w then
      routing, err = shape.word(conf, "routing", { "tables", "shortest", "adaptive" },
         wired.usual_routing(w, "shortest"))
   end
   if routing then
      s, err = wired.shape(w, conf, { kind = function(_, _, cable)
         return cable.kind or "link"
      end })
   end
   if s then
      n, err = wired.nodes(w, conf)
   end
   if not n then
      return nil, err
   end
   local spec = s:spec(n)
   spec.kind_name, spec.fields = "graph", {}
   spec.label = ("graph of %d routers, %d nodes, %s"):format(s.routers, #n.names, routing)
   if routing == "tables" then
      return tables.build(Graph, spec, s, n, w)
   end
   spec.engine, spec.params = "updown", {}
   return wired.with_health(s, base.new(Graph, spec))
end

return graph
