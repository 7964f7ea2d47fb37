-- SPDX-License-Identifier: GPL-2.0-or-later
--- The torus3d of Slurm's topology.yaml (26.05): a torus with a node at each point, x fastest, from
-- one list or from regions.
local grid = require "taut.topology.import.grid"
local source = require "taut.topology.import.source"
local wiring = require "taut.topology.import.wiring"
local yaml_fields = require "taut.topology.import.slurm.yaml_fields"

local slurm_torus3d = {}

local quote = source.quote
local of_type, map, list = yaml_fields.of_type, yaml_fields.map, yaml_fields.list
local text, whole = yaml_fields.text, yaml_fields.whole

local function coordinates_of(src, node, what, least)
   local at, out = map(src, node, what, { x = true, y = true, z = true }), {}
   for i, k in ipairs { "x", "y", "z" } do
      if not at[k] then
         src:fail(node.line, "%s without '%s'", what, k)
      end
      if least == 0 and at[k].value == "0" then
         out[i] = 0
      else
         out[i] = whole(src, at[k], what .. "." .. k, 4096)
      end
   end
   return out
end

-- Puts nodes at the points of a box, x fastest, the box at an anchor and inside of the torus.
local function fill_box(made, node, names, anchor, box, dims, router_at)
   if #names ~= box[1] * box[2] * box[3] then
      made.src:fail(node.line, "%d nodes for %dx%dx%d points, expected one each", #names, box[1],
         box[2], box[3])
   end
   for i, name in ipairs(names) do
      local k = i - 1
      local at = { k % box[1], k // box[1] % box[2], k // (box[1] * box[2]) }
      for d = 1, 3 do
         at[d] = (at[d] + anchor[d]) % dims[d]
      end
      local r = router_at(at)
      if made.routers[r].taken then
         made.src:fail(node.line, "two nodes at %s, expected one", table.concat(at, "."))
      end
      made.routers[r].taken = true
      made:node(node.line, { name = name, coord = at, rails = { { router = r, port = "node" } } })
   end
end

local function one_torus(made, node)
   local src = made.src
   local at = map(src, node, "a torus", { name = true, dims = true, nodes = true, regions = true,
      placements = true })
   local name = text(src, at, "name", node, "a torus")
   if not at.dims then
      src:fail(node.line, "torus %s without 'dims'", quote(name))
   end
   local dims = coordinates_of(src, at.dims, "'dims'")
   if at.placements then
      for _, p in ipairs(list(src, node, at, "placements")) do
         of_type(src, p, "map", "a placement")
      end
   end
   if (at.nodes == nil) == (at.regions == nil) then
      src:fail(node.line, "torus %s, expected either 'nodes' or 'regions'", quote(name))
   end
   local router_at = grid.torus(made, node.line, dims, name .. ".",
      source.limits.names - #made.routers)
   if not router_at then
      src:fail(node.line, "torus %s has more than %d points", quote(name), source.limits.names)
   end
   if at.nodes then
      fill_box(made, at.nodes, made:expand(at.nodes.line, text(src, at, "nodes", node, "a torus"),
         "nodes"),
         { 0, 0, 0 }, dims, dims, router_at)
      return
   end
   for _, region in ipairs(list(src, node, at, "regions")) do
      local r = map(src, region, "a region", { name = true, anchor = true, dims = true,
         nodes = true })
      local anchor, box = { 0, 0, 0 }, dims
      if r.anchor then
         anchor = coordinates_of(src, r.anchor, "'anchor'", 0) or anchor
      end
      if r.dims then
         box = coordinates_of(src, r.dims, "'dims'") or dims
      end
      fill_box(made, region, made:expand(region.line, text(src, r, "nodes", region, "a region"),
         "nodes"), anchor, box, dims, router_at)
   end
end

--- Read it.
-- @param body node of the YAML tree
function slurm_torus3d.read(src, body, opts)
   map(src, body, "torus3d", { toruses = true })
   local w = wiring.new(src, "slurm-yaml")
   local toruses = list(src, body, body.at, "toruses")
   for _, node in ipairs(toruses) do
      one_torus(w, node)
   end
   for _, r in ipairs(w.routers) do
      r.taken = nil
   end
   if #toruses > 1 then
      src:note(body.line, "the file does not say how its %d tori are joined", #toruses)
   end
   w:only(opts.nodes, true)
   return w:finish()
end

return slurm_torus3d
