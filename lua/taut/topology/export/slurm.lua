-- SPDX-License-Identifier: GPL-2.0-or-later
--- What Slurm can be told of a fabric: topology.conf, topology.yaml, nodes in a good order.
local tables = require "taut.base.tables"
local lists = require "taut.topology.export.lists"
local order = require "taut.topology.order"
local slurm_torus3d = require "taut.topology.export.slurm_torus3d"
local slurm_tree = require "taut.topology.export.slurm_tree"

local slurm = {}

---------------------------------------------------------------- files

local function conf_tree(rows)
   return tables.map(rows, function(row)
      if row.nodes then
         return ("SwitchName=%s Nodes=%s"):format(row.name, lists.set(row.nodes))
      end
      return ("SwitchName=%s Switches=%s"):format(row.name, lists.sequence(row.children))
   end)
end

local function yaml_head(kind)
   return { "---", "- topology: taut", "  cluster_default: true", ("  %s:"):format(kind) }
end

local function yaml_tree(rows)
   local lines = yaml_head "tree"
   lines[#lines + 1] = "    switches:"
   for _, r in ipairs(rows) do
      lines[#lines + 1] = ('      - switch: "%s"'):format(r.name)
      if r.nodes then
         lines[#lines + 1] = ('        nodes: "%s"'):format(lists.set(r.nodes))
      else
         lines[#lines + 1] = ('        children: "%s"'):format(lists.sequence(r.children))
      end
   end
   return lines
end

local function conf_block(rows, least)
   local lines = tables.map(rows, function(row)
      return ("BlockName=%s Nodes=%s"):format(row.name, lists.set(row.nodes))
   end)
   lines[#lines + 1] = ("BlockSizes=%d"):format(least)
   return lines
end

local function yaml_block(rows, least)
   local lines = yaml_head "block"
   lines[#lines + 1] = "    block_sizes:"
   lines[#lines + 1] = ("      - %d"):format(least)
   lines[#lines + 1] = "    blocks:"
   for _, r in ipairs(rows) do
      lines[#lines + 1] = ('      - block: "%s"'):format(r.name)
      lines[#lines + 1] = ('        nodes: "%s"'):format(lists.set(r.nodes))
   end
   return lines
end

local function yaml_dims(lines, indent, dims)
   for i, letter in ipairs { "x", "y", "z" } do
      lines[#lines + 1] = ("%s%s: %d"):format(indent, letter, dims[i])
   end
end

local function yaml_torus(torus)
   local lines = yaml_head "torus3d"
   lines[#lines + 1] = "    toruses:"
   lines[#lines + 1] = '      - name: "taut"'
   lines[#lines + 1] = "        dims:"
   yaml_dims(lines, "          ", torus.dims)
   lines[#lines + 1] = ('        nodes: "%s"'):format(lists.sequence(torus.nodes))
   lines[#lines + 1] = "        placements:"
   for _, p in ipairs(torus.placements) do
      lines[#lines + 1] = "          - dims:"
      yaml_dims(lines, "              ", p)
   end
   return lines
end

-- NodeName=prefix0017 is the 18th in the order, and Slurm sorts by NodeName.
local function node_lines(topo, nodes, prefix)
   local lines, digits = {}, #tostring(#nodes - 1)
   for i, n in ipairs(nodes) do
      lines[i] = ("NodeName=%s%0" .. digits .. "d NodeHostname=%s"):format(prefix, i - 1,
         topo.nodes[n])
   end
   return lines
end

local function rank_lines(topo, nodes)
   return tables.map(nodes, function(name, index)
      return ("%d %s"):format(index - 1, topo.nodes[name])
   end)
end

---------------------------------------------------------------- what to write

local forms = {
   tree = function(topo, chosen, opt)
      local rows = slurm_tree.switches(topo, chosen, opt.leaf or chosen.leaf)
      local write = conf_tree
      if opt.yaml then
         write = yaml_tree
      end
      return { lines = write(rows), switches = #rows,
         hint = "TopologyPlugin=topology/tree" }
   end,
   block = function(topo, chosen, opt)
      local rows, least = slurm_tree.blocks(topo, chosen, opt.leaf)
      local write = conf_block
      if opt.yaml then
         write = yaml_block
      end
      return { lines = write(rows, least), blocks = #rows,
         block_size = least, hint = "TopologyPlugin=topology/block (Slurm 23.11 and later)" }
   end,
   torus3d = function(topo)
      local t, err = slurm_torus3d.of(topo)
      return t and { lines = yaml_torus(t), dims = t.dims,
         hint = "topology.yaml only, Slurm 26.05 and later; jobs of other sizes than those of " ..
            "the placements get no nodes" }, err
   end,
   names = function(topo, chosen, opt)
      return { lines = node_lines(topo, chosen.nodes, opt.prefix or "t"),
         hint = "for slurm.conf, together with each node's CPUs, memory and so on" }
   end,
   ranks = function(topo, chosen)
      return { lines = rank_lines(topo, chosen.nodes), hint = "place in the order, and node" }
   end,
}

slurm.forms = { "tree", "block", "torus3d", "names", "ranks" }

local function order_by_name(all, name)
   local known = {}
   for i, c in ipairs(all) do
      if c.name == name then
         return c
      end
      known[i] = c.name
   end
   return nil, ("order '%s' is not known for this fabric (expected one of %s)"):format(name,
      table.concat(known, ", "))
end

-- The order asked for; else the best one, or for groups the last one of the list, whose groups
-- are what is near in every dimension (and not lines and planes).
local function choose_order(topo, opt)
   local best, all, sizes = order.best(topo)
   local grouped = opt.form == "tree" or opt.form == "block"
   if grouped then
      best = all[#all]
   end
   if opt.order then
      local err
      best, err = order_by_name(all, opt.order)
      if not best then
         return nil, err
      elseif grouped and not best.key then
         return nil, ("order '%s' makes no groups"):format(opt.order)
      end
   end
   return best, all, sizes
end

--- @param opt { form = one of slurm.forms, yaml = flag, order = name or nil, leaf = most nodes of a
--   leaf or block or nil, prefix = of names }
-- @return { lines =, hint =, order = candidate, orders = all of them, sizes =, … }, or nil and why
function slurm.export(topo, opt)
   local ok, err = lists.check_nodes(topo.nodes)
   if not ok then
      return nil, err
   end
   local best, all, sizes = choose_order(topo, opt)
   if not best then
      return nil, all
   end
   local out
   out, err = forms[opt.form](topo, best, opt)
   if not out then
      return nil, err
   end
   out.order, out.orders, out.sizes = best, all, sizes
   return out
end

return slurm
