-- SPDX-License-Identifier: GPL-2.0-or-later
local json = require "taut.json"
local report = require "taut.report"
local common = require "taut.cli.topology.common"

local dependents = {
   summary = "Nodes that depend on a component: cut off, or nearly, when it fails." }

local function share(v)
   local n = tonumber(v)
   return n and n >= 0 and n <= 1 and n or nil, "expected a share from 0 to 1, got " .. v
end

function dependents.setup(parser)
   parser:argument("component"):description "Link, tx or rx.":argname "<component>"
   parser:option("--left"):description(
      "Share of its capacity that is left: what tautd measured, else 0."):argname "<share>"
      :convert(share)
   parser:flag("-c --cable"):description "The cable: both directions, as when it is pulled."
end

-- Nodes that depend on any of some components, ascending.
local function union(topo, list, left)
   local seen, nodes = {}, {}
   for _, c in ipairs(list) do
      for _, n in ipairs(topo:behind(c, left)) do
         if not seen[n] then
            seen[n] = true
            nodes[#nodes + 1] = n
         end
      end
   end
   table.sort(nodes)
   return nodes
end

function dependents.run(args, scene)
   local topo = scene.topo
   local c, err = scene:component(args.component)
   if not c then
      report.complain("dependents: ", err)
      return 1
   end
   local left = args.left or scene.left[c] or 0
   local back = args.cable and topo:opposite(c) or nil
   local list = { c, back }
   local nodes, ends = union(topo, list, left), topo:ends(c)
   if args.json then
      local names = json.array {}
      for i, one in ipairs(list) do
         names[i] = topo.components[one]
      end
      common.json(scene, { components = names, left = left, cable = topo:cable(c),
         place = topo:place(c), behind = common.node_array(topo, nodes),
         at_its_ends = common.node_array(topo, ends) })
      return 0
   end
   common.say("component", args.component .. (back and " and " .. topo.components[back] or "") ..
      (left == 0 and ", failed" or ", with " .. report.percent(left) .. " left"))
   common.say("cable", topo:cable(c))
   if topo:place(c) ~= topo:cable(c) then
      common.say("place", topo:place(c))
   end
   common.say("dependents", ("%s%s"):format(report.count(#nodes, "node"), #nodes > 0 and ":" or
      ": each has other ways with at least 75% of the bandwidth"))
   if #nodes > 0 then
      common.say("", common.nodes(topo, nodes))
   end
   if topo:is_link(c) then
      common.say("at its ends", #ends > 0 and common.nodes(topo, ends) or "no nodes")
   end
   common.footer(scene)
   return 0
end

return dependents
