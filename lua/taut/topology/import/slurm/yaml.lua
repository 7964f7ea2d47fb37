-- SPDX-License-Identifier: GPL-2.0-or-later
--- Slurm's topology.yaml (25.05 and later): tree, block, flat, ring, torus3d.
--
-- Keys as in topology.yaml(5); which of several topologies is read: the one that is asked for,
-- else the cluster's default, else the only one.
local slurm_torus3d = require "taut.topology.import.slurm.torus3d"
local slurm_tree = require "taut.topology.import.slurm.tree"
local source = require "taut.topology.import.source"
local yaml_fields = require "taut.topology.import.slurm.yaml_fields"
local yaml_tree = require "taut.topology.import.slurm.yaml_tree"

local slurm_yaml = {
   summary = "Slurm's topology.yaml (tree, block, flat, ring, torus3d)",
   -- libyaml needs several times as much; 10,000 leaf switches have 1 MB
   most_bytes = 8 << 20,
}

local quote = source.quote
local of_type, map, list = yaml_fields.of_type, yaml_fields.map, yaml_fields.list
local text, whole = yaml_fields.text, yaml_fields.whole
local optional = yaml_fields.optional

-- A list of maps, each with a name and nodes (or children).
local function named_maps(src, body, key, word, more)
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
      named_maps(src, body, "switches", "switch", { "children", "link_speed" }), opts)
end

function kinds.block(src, body, opts)
   local at = map(src, body, "block", { block_sizes = true, blocks = true })
   local sizes
   if at.block_sizes then
      sizes = {}
      local node = at.block_sizes
      local told = { node }
      if node.type ~= "text" then
         told = of_type(src, node, "list", "'block_sizes'")
      end
      for i, v in ipairs(told) do
         sizes[i] = whole(src, v, "a block size", 1000000)
      end
      if #sizes == 0 then
         src:fail(node.line, "'block_sizes' is empty")
      end
   end
   return slurm_tree.blocks(src, "slurm-yaml", named_maps(src, body, "blocks", "block"), sizes,
      sizes and at.block_sizes.line, opts)
end

function kinds.ring(src, body, opts)
   map(src, body, "ring", { rings = true })
   local rings = named_maps(src, body, "rings", "ring")
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

kinds.torus3d = slurm_torus3d.read

-- Which kind a topology is of: "flat" may be false, which counts as not there.
local function kind_of(src, topo)
   local found
   for _, k in ipairs(topo.keys) do
      local node = topo.at[k.name]
      if kinds[k.name] and not (k.name == "flat" and yaml_fields.flag(node) == false) then
         if found then
            src:fail(k.line, "'%s' beside '%s', expected one of tree, block, flat, ring, torus3d",
               k.name, found)
         end
         found = k.name
      elseif not kinds[k.name] and k.name ~= "topology" and k.name ~= "cluster_default" then
         src:fail(k.line, "%s, expected topology, cluster_default, tree, block, flat, ring or \z
            torus3d", quote(k.name))
      end
   end
   if not found then
      src:fail(topo.line, "a topology without tree, block, flat, ring or torus3d")
   end
   if found == "flat" then
      local node = topo.at.flat
      if node.type == "list" or node.type == "text" and yaml_fields.flag(node) == nil then
         src:fail(node.line, "'flat' is %s, expected true or false", quote(node.value or node.type))
      end
   else
      of_type(src, topo.at[found], "map", "'" .. found .. "'")
   end
   return found
end

local function choose_topology(src, topologies, wanted)
   local default, asked
   for _, t in ipairs(topologies) do
      local name = text(src, t.at, "topology", t, "a topology")
      local node = t.at.cluster_default
      local d = node and yaml_fields.flag(of_type(src, node, "text", "'cluster_default'"))
      if d then
         default = default or t
      elseif node and d == nil then
         src:fail(node.line, "'cluster_default' is %s, expected true or false", quote(node.value))
      end
      asked = asked or (name == wanted and t)
   end
   if wanted then
      return asked or src:fail(1, "no topology %s", quote(wanted))
   end
   if not default and #topologies ~= 1 then
      src:fail(1, "%d topologies and none is cluster_default, expected --topology to say which",
         #topologies)
   end
   return default or topologies[1]
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
      local what = "an empty list"
      if root.value then
         what = quote(root.value)
      end
      src:fail(root.line, "%s, expected a list of topologies", what)
   end
   local kind, names = {}, {}
   for _, t in ipairs(topologies) do
      of_type(src, t, "map", "a topology")
      kind[t] = kind_of(src, t)
      local name = text(src, t.at, "topology", t, "a topology")
      if names[name] then
         src:fail(t.line, "topology %s is here and in line %d, expected it once", quote(name),
            names[name])
      end
      names[name] = t.line
   end
   local chosen = choose_topology(src, topologies, opts.topology)
   return kinds[kind[chosen]](src, chosen.at[kind[chosen]], opts)
end

return slurm_yaml
