-- SPDX-License-Identifier: GPL-2.0-or-later
local common = require "taut.cli.topology.common"
local json = require "taut.json"
local output = require "taut.cli.output"
local report = require "taut.report"
local slurm = require "taut.topology.export.slurm"
local topology = require "taut.topology"

local export = { summary = "Files for Slurm: topology.conf, topology.yaml, nodes in a good order.",
   single = true }

function export.setup(parser)
   parser:argument("target"):description "The program that reads it.":choices { "slurm" }
   parser:option("--as"):description(
      "tree, block: a topology.conf; torus3d: a topology.yaml; names: NodeName lines in a good " ..
      "order; ranks: the order alone."):choices(slurm.forms):default "tree"
   parser:option("--format"):description "conf, or yaml (Slurm 25.05 and later).":choices {
      "conf", "yaml" }:default "conf"
   parser:option("--order"):description "Not the best order but this one.":argname "<name>"
   parser:option("--leaf"):description(
      "So many nodes at most on a leaf switch or in a block."):argname "<n>"
      :convert(common.whole)
   parser:option("--prefix"):description "For --as names: how the names begin (t).":argname
      "<text>"
   parser:option("-o --output"):description "Write to this file.":argname "<file>"
end

-- One line per order: mean hops in runs of some sizes.
local function measure_lines(drawn)
   local lines, head = {}, { ("%-8s"):format "order" }
   for _, size in ipairs(drawn.sizes) do
      head[#head + 1] = ("%7d"):format(size)
   end
   lines[1] = table.concat(head)
   for _, c in ipairs(drawn.orders) do
      local row = { ("%-8s"):format(c.name) }
      for _, size in ipairs(drawn.sizes) do
         local text = "      -"
         if c.hops[size] then
            text = ("%7.2f"):format(c.hops[size])
         end
         row[#row + 1] = text
      end
      lines[#lines + 1] = table.concat(row) .. report.text_if(c == drawn.order, "  <- used")
   end
   return lines
end

local function text_of(drawn, scene)
   local lines = {
      ("# Made by taut topology export from %s%s"):format(scene.path:gsub("%c", "?"),
         report.text_with(", fabric ", scene.fabric and scene.fabric.name)),
      "# " .. drawn.hint,
      ("# order: %s, %s"):format(drawn.order.name, drawn.order.about),
      "# mean hops between two nodes of so many consecutive ones:",
   }
   for _, line in ipairs(measure_lines(drawn)) do
      lines[#lines + 1] = "#   " .. line
   end
   for _, line in ipairs(drawn.lines) do
      lines[#lines + 1] = line
   end
   return table.concat(lines, "\n") .. "\n"
end

local function plain_data(drawn, args)
   local orders = json.array {}
   for i, c in ipairs(drawn.orders) do
      local hops = json.array {}
      for k, size in ipairs(drawn.sizes) do
         hops[k] = { nodes = size, mean_hops = c.hops[size] }
      end
      orders[i] = { name = c.name, about = c.about, runs = hops }
   end
   return { form = args.as, hint = drawn.hint, order = drawn.order.name, orders = orders,
      lines = json.array(drawn.lines), switches = drawn.switches, blocks = drawn.blocks,
      block_size = drawn.block_size }
end

function export.run(args, scene)
   local yaml = args.format == "yaml" or args.as == "torus3d"
   if yaml and (args.as == "names" or args.as == "ranks") then
      report.complain "export: --format yaml goes with tree, block and torus3d"
      return 2
   elseif args.prefix and not args.prefix:find "^%a[%w_-]*$" then
      report.complain "export: --prefix: expected letters and digits, a letter first"
      return 2
   end
   -- Slurm reads of one fabric: its switches have the names that they have there
   local topo = scene.topo
   if scene.fabric then
      topo = assert(topology.build(scene.fabric.conf))
   end
   local d, err = slurm.export(topo, { form = args.as, yaml = yaml, order = args.order,
      leaf = args.leaf, prefix = args.prefix })
   if d and args.json and not args.output then
      print(json.encode(plain_data(d, args), 2))
   elseif d then
      local ok, text
      if args.json then
         text = json.encode(plain_data(d, args), 2) .. "\n"
      else
         text = text_of(d, scene)
      end
      ok, err = output.write(args.output, text)
      d = ok and d
   end
   if not d then
      report.complain("export: ", err)
      return 1
   end
   return 0
end

return export
