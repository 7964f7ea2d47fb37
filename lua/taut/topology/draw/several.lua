-- SPDX-License-Identifier: GPL-2.0-or-later
--- Several fabrics in one picture, one below the other, each drawn as it is alone.
local canvas = require "taut.topology.draw.canvas"
local tables = require "taut.base.tables"

local several = {}

local HEAD, GAP = 34, 26 -- pixels: for a fabric's name, and between two

-- The scene of one fabric (cli/topology/scene.lua).
local function part_of(scene, fabric)
   local own = { topo = fabric.topo, has_health = scene.has_health, path = scene.path }
   for _, key in ipairs { "state", "left", "loss" } do
      own[key] = scene.topo:for_part(fabric, scene[key] or {})
   end
   own.marked = scene.marked and {}
   for r in pairs(scene.marked or {}) do
      if scene.topo:fabric_at(r) == fabric then
         own.marked[r - fabric.first_router] = true
      end
   end
   return own
end

local function move_points(points, dy)
   return tables.map(points, function(value, index)
      if index % 2 == 0 then
         return value + dy
      end
      return value
   end)
end

-- All of a fabric's picture again, in the whole's numbers and so much further down.
local function put_fabric(picture, fabric, own, dy)
   local topo = picture.topo
   for _, b in ipairs(own.boxes) do
      picture:box(b[1], b[2] + dy, b[3], b[4])
   end
   for _, k in ipairs(own.cables) do
      picture:cable(topo:of_part(fabric, k.a), k.b and topo:of_part(fabric, k.b),
         move_points(k.p, dy), k.curved, k.bundle)
   end
   for _, q in ipairs(own.routers) do
      picture:router(fabric.first_router + q.r, q.x, q.y + dy, q.size)
   end
   for _, d in ipairs(own.dots) do
      picture:dot(fabric.node[d[4]], d[1], d[2] + dy)
   end
   for _, l in ipairs(own.labels) do
      picture:label(l[1], l[2] + dy, l[3], tables.copy(l[4]))
   end
end

--- @param scene of a topology with several fabrics
-- @param options { title, subtitle }
-- @param layout function(scene) → canvas of one fabric, or nil and what is wrong
-- @return canvas, or nil and what is wrong
function several.draw(scene, options, layout)
   local parts, thin, opacity = {}, math.huge, 1
   for i, f in ipairs(scene.topo.fabrics) do
      local own, err = layout(part_of(scene, f))
      if not own then
         return nil, ("fabric %s: %s"):format(f.name, err)
      end
      parts[i] = own
      thin, opacity = math.min(thin, own.o.thin or 1.2), math.min(opacity, own.o.opacity or 1)
   end
   if opacity >= 1 then
      opacity = nil
   end
   local c = canvas.new(scene, { title = options.title, subtitle = options.subtitle, thin = thin,
      opacity = opacity })
   local y = 0
   for i, f in ipairs(scene.topo.fabrics) do
      c:label(0, y + 14, ("fabric %s: %s"):format(f.name, parts[i].o.subtitle),
         { size = 14, bold = true })
      put_fabric(c, f, parts[i], y + HEAD)
      y = c.height + GAP
   end
   return c
end

return several
