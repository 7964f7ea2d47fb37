-- SPDX-License-Identifier: GPL-2.0-or-later
local json = require "taut.json"
local report = require "taut.report"
local common = require "taut.cli.topology.common"

local dependents = {
   summary = "Nodes that depend on a component: cut off, or nearly, when it fails." }

local function parse_share(text)
   local n = tonumber(text)
   return n and n >= 0 and n <= 1 and n or nil, "expected a share from 0 to 1, got " .. text
end

function dependents.setup(parser)
   parser:argument("component"):description "Link, tx, rx, node or switch.":argname "<component>"
   parser:option("--left"):description(
      "Share of its capacity that is left: what tautd measured, else 0."):argname "<share>"
      :convert(parse_share)
   parser:flag("-c --cable"):description "The cable: both directions, as when it is pulled."
end

--- What it is asked about.
function dependents.names(args)
   return { args.component }
end

-- Nodes at the ends of a component, or on the router.
local function nodes_at_ends(topo, list, router)
   return router and topo:on_router(router) or topo:ends(list[1])
end

function dependents.run(args, scene)
   local topo = scene.topo
   local list, r = scene:parts(args.component)
   if not list then
      report.complain("dependents: ", r)
      return 2
   end
   local left = args.left or scene.left[list[1]] or 0
   local one = #list == 1 and list[1]
   local back = one and args.cable and topo:opposite(one) or nil
   list[#list + 1] = back
   local nodes, ends = topo:behind_all(list, left), nodes_at_ends(topo, list, r)
   if args.json then
      local names = json.array {}
      for i, c in ipairs(list) do
         names[i] = topo.components[c]
      end
      common.json(scene, { components = names, left = left, cable = one and topo:cable(one),
         place = one and topo:place(one), behind = common.node_array(topo, nodes),
         at_its_ends = common.node_array(topo, ends) })
      return 0
   end
   common.say("component", args.component .. (back and " and " .. topo.components[back] or "") ..
      (left == 0 and ", failed" or ", with " .. report.percent(left) .. " left"))
   if one then
      common.say("cable", topo:cable(one))
      if topo:place(one) ~= topo:cable(one) then
         common.say("place", topo:place(one))
      end
   else
      common.say("with it", report.count(#list, "component"))
   end
   common.say("dependents", ("%s%s"):format(report.count(#nodes, "node"), #nodes > 0 and ":" or
      ": each has other ways with at least 75% of the bandwidth"))
   if #nodes > 0 then
      common.say("", common.nodes(topo, nodes))
   end
   if r or topo:is_link(list[1]) then
      common.say(r and "on it" or "at its ends", #ends > 0 and common.nodes(topo, ends)
         or "no nodes")
   end
   common.footer(scene)
   return 0
end

return dependents
