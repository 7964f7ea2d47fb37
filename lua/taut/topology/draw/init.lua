-- SPDX-License-Identifier: GPL-2.0-or-later
--- Pictures of a machine, one way of drawing per kind of fabric: adding one is a file and a line.
local report = require "taut.report"
local several = require "taut.topology.draw.several"

local draw = {}

local registry = {
   torus = "taut.topology.draw.grid",
   mesh = "taut.topology.draw.grid",
   hyperx = "taut.topology.draw.grid",
   dragonfly = "taut.topology.draw.groups",
   fattree = "taut.topology.draw.tree",
}

local WORDS = { fattree = "fat tree", hyperx = "HyperX" }

-- Where each router stands among groups: { group, row, column } or { group, number }; nil where
-- the fabric has none.
local function places_of(topo)
   local at = {}
   if not topo.coordinates then
      return nil
   end
   for r = 0, topo.routers - 1 do
      at[r] = topo:coordinates(r)
      if not at[r] or #at[r] < 2 then
         return nil
      end
   end
   return at
end

-- Fabrics without a model of their own are drawn as a tree where some routers have no nodes, and
-- otherwise as routers on a circle: a dragonfly whose groups have one router each.
local function way_of(topo)
   if topo.kind_name == "dragonfly" then
      return registry.dragonfly, places_of(topo)
   elseif registry[topo.kind_name] then
      return registry[topo.kind_name]
   elseif topo.level then
      return registry.fattree
   end
   local alone = {}
   for r = 0, topo.routers - 1 do
      if #topo:on_router(r) == 0 then
         return registry.fattree
      end
      alone[r] = { topo.router_name[r], 0 }
   end
   return registry.dragonfly, places_of(topo) or alone
end

-- All fabrics of a machine.
local function draw_several(scene, options, name, size)
   options = options or {}
   if options.plane then
      return nil, "--plane: a machine of several fabrics has no planes; --fabric names one of them"
   end
   return several.draw(scene, { title = options.title or ("%s: %d fabrics"):format(name,
      #scene.topo.fabrics), subtitle = size }, draw.layout)
end

--- Where everything is drawn.
-- @param scene { topo =, state =, left =, has_health =, path = }, see taut.cli.scene
-- @param options { plane =, title = } or nil
-- @return canvas (canvas.lua): options.title, options.subtitle, width, height (pixels), routers,
--   cables, dots, boxes, labels; or nil and what is wrong
function draw.layout(scene, options)
   local topo = scene.topo
   local links = 0
   for c = 1, #topo.components do
      if topo:is_link(c) then
         links = links + 1
      end
   end
   local name = scene.path:match "([^/]*)$":gsub("%.lua$", "")
   local size = ("%d nodes, %d routers, %d links"):format(#topo.nodes, topo.routers, links)
   if topo.fabrics then
      return draw_several(scene, options, name, size)
   end
   local way, at = way_of(topo)
   if options and options.plane and way ~= registry.torus then
      return nil, ("--plane: a %s has no planes, expected a torus, a mesh or a HyperX"):format(
         WORDS[topo.kind_name] or topo.kind_name)
   end
   local shape = report.text_with(" ", topo.dims and table.concat(topo.dims, " × "))
   options = options or {}
   return require(way).draw(scene, { plane = options.plane, at = at,
      title = options.title or ("%s: %s%s"):format(name, (WORDS[topo.kind_name]
         or topo.kind_name), shape),
      subtitle = size })
end

--- @param scene, options as of layout
-- @return SVG text and { links =, bad = }, or nil and what is wrong
function draw.picture(scene, options)
   local c, err = draw.layout(scene, options)
   if not c then
      return nil, err
   end
   return c:finish()
end

return draw
