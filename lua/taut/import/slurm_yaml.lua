--- Slurm's topology.yaml (25.05 and later): tree, block, flat, ring, torus3d.
--
-- Keys as in topology.yaml(5); which of several topologies is read: the one that is asked for,
-- else the cluster's default, else the only one.
local grid = require "taut.import.grid"
local slurm_tree = require "taut.import.slurm_tree"
local source = require "taut.import.source"
local wiring = require "taut.import.wiring"
local yaml_tree = require "taut.import.yaml_tree"

local slurm_yaml = { summary = "Slurm's topology.yaml (tree, block, flat, ring, torus3d)" }

local quote = source.quote

local function of_type(src, node, type, what)
   if node.type ~= type then
      src:fail(node.line, "%s is a %s, expected a %s", what, node.type, type)
   end
   return node
end

-- A map with none but the given keys.
local function map(src, node, what, keys)
   of_type(src, node, "map", what)
   for _, k in ipairs(node.keys) do
      if not keys[k.name] then
         src:fail(k.line, "%s has no %s", what, quote(k.name))
      end
   end
   return node.at
end

-- A list of maps; a single map stands for a list of one, as in Slurm.
local function list(src, parent, at, key)
   local node = at[key]
   if not node then
      src:fail(parent.line, "no '%s', expected a list", key)
   elseif node.type == "map" then
      return { node }
   end
   of_type(src, node, "list", "'" .. key .. "'")
   if #node == 0 then
      src:fail(node.line, "'%s' is empty", key)
   end
   return node
end

local function text(src, at, key, node, what)
   local v = at[key]
   if not v then
      src:fail(node.line, "%s without '%s'", what, key)
   end
   of_type(src, v, "text", "'" .. key .. "'")
   if v.value == "" then
      src:fail(v.line, "'%s' is empty", key)
   end
   return v.value
end

local function optional(src, at, key)
   return at[key] and text(src, at, key, at[key], key)
end

local function whole(src, node, what, most)
   of_type(src, node, "text", what)
   local v = node.value:match "^%d+$" and math.tointeger(tonumber(node.value))
   if not v or v < 1 or v > most then
      src:fail(node.line, "%s is %s, expected a whole number 1 to %d", what, quote(node.value), most)
   end
   return v
end

-- A list of maps, each with a name and nodes (or children).
local function named(src, body, key, word, more)
   local out = {}
   local keys = { [word] = true, nodes = true }
   for _, k in ipairs(more or {}) do
      keys[k] = true
   end
   for i, node in ipairs(list(src, body, body.at, key)) do
      local at = map(src, node, "a " .. word, keys)
      out[i] = { name = text(src, at, word, node, "a " .. word), line = node.line,
         nodes = optional(src, at, "nodes"), switches = optional(src, at, "children") }
   end
   return out
end

local kinds = {}

function kinds.tree(src, body, opts)
   map(src, body, "tree", { switches = true })
   return slurm_tree.tree(src, "slurm-yaml",
      named(src, body, "switches", "switch", { "children", "link_speed" }), opts)
end

function kinds.block(src, body, opts)
   local at = map(src, body, "block", { block_sizes = true, blocks = true })
   local sizes
   if at.block_sizes then
      sizes = {}
      local node = at.block_sizes
      for i, v in ipairs(node.type == "text" and { node } or
         of_type(src, node, "list", "'block_sizes'")) do
         sizes[i] = whole(src, v, "a block size", 1000000)
      end
      if #sizes == 0 then
         src:fail(node.line, "'block_sizes' is empty")
      end
   end
   return slurm_tree.blocks(src, "slurm-yaml", named(src, body, "blocks", "block"), sizes,
      sizes and at.block_sizes.line, opts)
end

function kinds.ring(src, body, opts)
   map(src, body, "ring", { rings = true })
   local rings = named(src, body, "rings", "ring")
   for _, r in ipairs(rings) do
      if not r.nodes then
         src:fail(r.line, "ring %s without 'nodes'", quote(r.name))
      end
   end
   return slurm_tree.rings(src, "slurm-yaml", rings, opts)
end

function kinds.flat(src, body, opts)
   if not opts.nodes then
      src:fail(body.line, "'flat' names no nodes, expected --nodes to say which they are")
   end
   return slurm_tree.flat(src, "slurm-yaml", body.line, opts.nodes)
end

local function xyz(src, node, what, least)
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
local function fill(w, node, names, anchor, box, dims, router_at)
   if #names ~= box[1] * box[2] * box[3] then
      w.src:fail(node.line, "%d nodes for %dx%dx%d points, expected one each", #names, box[1],
         box[2], box[3])
   end
   for i, name in ipairs(names) do
      local k = i - 1
      local at = { k % box[1], k // box[1] % box[2], k // (box[1] * box[2]) }
      for d = 1, 3 do
         at[d] = (at[d] + anchor[d]) % dims[d]
      end
      local r = router_at(at)
      if w.routers[r].taken then
         w.src:fail(node.line, "two nodes at %s, expected one", table.concat(at, "."))
      end
      w.routers[r].taken = true
      w:node(node.line, { name = name, coord = at, rails = { { router = r, port = "node" } } })
   end
end

local function one_torus(w, node)
   local src = w.src
   local at = map(src, node, "a torus", { name = true, dims = true, nodes = true, regions = true,
      placements = true })
   local name = text(src, at, "name", node, "a torus")
   if not at.dims then
      src:fail(node.line, "torus %s without 'dims'", quote(name))
   end
   local dims = xyz(src, at.dims, "'dims'")
   if at.placements then
      for _, p in ipairs(list(src, node, at, "placements")) do
         of_type(src, p, "map", "a placement")
      end
   end
   if (at.nodes == nil) == (at.regions == nil) then
      src:fail(node.line, "torus %s, expected either 'nodes' or 'regions'", quote(name))
   end
   local router_at = grid.torus(w, node.line, dims, name .. ".", source.limits.names - #w.routers)
   if not router_at then
      src:fail(node.line, "torus %s has more than %d points", quote(name), source.limits.names)
   end
   if at.nodes then
      fill(w, at.nodes, w:expand(at.nodes.line, text(src, at, "nodes", node, "a torus"), "nodes"),
         { 0, 0, 0 }, dims, dims, router_at)
      return
   end
   for _, region in ipairs(list(src, node, at, "regions")) do
      local r = map(src, region, "a region", { name = true, anchor = true, dims = true, nodes = true })
      local anchor = r.anchor and xyz(src, r.anchor, "'anchor'", 0) or { 0, 0, 0 }
      local box = r.dims and xyz(src, r.dims, "'dims'") or dims
      fill(w, region, w:expand(region.line, text(src, r, "nodes", region, "a region"), "nodes"),
         anchor, box, dims, router_at)
   end
end

function kinds.torus3d(src, body, opts)
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

-- Which kind a topology is of: "flat" may be false, which counts as not there.
local function kind_of(src, topo)
   local found
   for _, k in ipairs(topo.keys) do
      local node = topo.at[k.name]
      if kinds[k.name] and not (k.name == "flat" and node.type == "text" and node.value == "false") then
         if found then
            src:fail(k.line, "'%s' beside '%s', expected one of tree, block, flat, ring, torus3d",
               k.name, found)
         end
         found = k.name
      elseif not kinds[k.name] and k.name ~= "topology" and k.name ~= "cluster_default" then
         src:fail(k.line, "%s, expected topology, cluster_default, tree, block, flat, ring or torus3d",
            quote(k.name))
      end
   end
   if not found then
      src:fail(topo.line, "a topology without tree, block, flat, ring or torus3d")
   end
   if found == "flat" then
      local node = topo.at.flat
      if node.type == "list" or node.type == "text" and node.value ~= "true" then
         src:fail(node.line, "'flat' is %s, expected true or false", quote(node.value or node.type))
      end
   else
      of_type(src, topo.at[found], "map", "'" .. found .. "'")
   end
   return found
end

local function choose(src, topologies, wanted)
   local default, asked
   for _, t in ipairs(topologies) do
      local name = text(src, t.at, "topology", t, "a topology")
      local d = optional(src, t.at, "cluster_default")
      if d == "true" then
         default = default or t
      elseif d and d ~= "false" then
         src:fail(t.at.cluster_default.line, "'cluster_default' is %s, expected true or false", quote(d))
      end
      asked = asked or (name == wanted and t)
   end
   if wanted then
      return asked or src:fail(1, "no topology %s", quote(wanted))
   end
   return default or #topologies == 1 and topologies[1] or
      src:fail(1, "%d topologies and none is cluster_default, expected --topology to say which",
         #topologies)
end

--- Read it.
function slurm_yaml.read(src, opts)
   local root = yaml_tree.parse(src)
   if not root then
      src:fail(1, "the file has no topology")
   end
   local topologies = root
   if root.type == "map" then
      topologies = { root }
   elseif root.type ~= "list" or #root == 0 then
      src:fail(root.line, "%s, expected a list of topologies", root.value and quote(root.value) or
         "an empty list")
   end
   local kind, names = {}, {}
   for _, t in ipairs(topologies) do
      of_type(src, t, "map", "a topology")
      kind[t] = kind_of(src, t)
      local name = text(src, t.at, "topology", t, "a topology")
      if names[name] then
         src:fail(t.line, "topology %s stands here and in line %d, expected it once", quote(name),
            names[name])
      end
      names[name] = t.line
   end
   local chosen = choose(src, topologies, opts.topology)
   return kinds[kind[chosen]](src, chosen.at[kind[chosen]], opts)
end

return slurm_yaml
