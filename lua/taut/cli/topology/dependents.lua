-- SPDX-License-Identifier: GPL-2.0-or-later
local json = require "taut.json"
local report = require "taut.report"
local common = require "taut.cli.topology.common"
local tables = require "taut.base.tables"

local dependents = {
   summary = "Nodes that depend on a component: cut off, or nearly, when it fails." }

local function parse_share(text)
   return tables.within(tonumber(text), 0, 1), "expected a share from 0 to 1, got " .. text
end

function dependents.setup(parser)
   parser:argument("component"):description "Link, tx, rx, node or switch.":argname "<component>"
   parser:option("--left"):description(
      "Remaining share of its capacity: tautd's measurement, or 0."):argname "<share>"
      :convert(parse_share)
   parser:flag("-c --cable"):description "The cable: both directions, as when it is pulled."
end

--- What it is asked about.
function dependents.names(args)
   return { args.component }
end

-- Nodes at the ends of a component, or on the router.
local function nodes_at_ends(topo, list, router)
   if router then
      return topo:on_router(router)
   end
   return topo:ends(list[1])
end

local function say_component(args, topo, left, back)
   local text = args.component .. report.text_with(" and ", back and topo.components[back])
   if left == 0 then
      text = text .. ", failed"
   else
      text = text .. ", with " .. report.percent(left) .. " left"
   end
   common.say("component", text)
end

local function say_ends(topo, router, ends)
   local names = "no nodes"
   if #ends > 0 then
      names = common.nodes(topo, ends)
   end
   common.say(report.text_if(router, "on it", "at its ends"), names)
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
   local back
   if one and args.cable then
      back = topo:opposite(one)
   end
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
   say_component(args, topo, left, back)
   if one then
      common.say("cable", topo:cable(one))
      if topo:place(one) ~= topo:cable(one) then
         common.say("place", topo:place(one))
      end
   else
      common.say("with it", report.count(#list, "component"))
   end
   common.say("dependents", report.count(#nodes, "node") .. report.text_if(#nodes > 0, ":",
      ": each has other ways with at least 75% of the bandwidth"))
   if #nodes > 0 then
      common.say("", common.nodes(topo, nodes))
   end
   if r or topo:is_link(list[1]) then
      say_ends(topo, r, ends)
   end
   common.footer(scene)
   return 0
end

return dependents
