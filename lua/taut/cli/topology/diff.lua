-- SPDX-License-Identifier: GPL-2.0-or-later
local diff = require "taut.topology.diff"
local json = require "taut.json"
local report = require "taut.report"
local scene = require "taut.cli.topology.scene"
local tables = require "taut.base.tables"

local command = { summary = "What two descriptions disagree about: a file and a file, or taut.lua.",
   offline = true }

local SHOWN = 20 -- lines per kind of difference

function command.setup(parser)
   parser:argument("first"):description(
      "Topology file, or FORMAT:FILE for one of another program (taut topology import --help).")
   parser:argument("second"):description "The same; without it, the installed taut.lua.":args "?"
   parser:flag("-a --all"):description(("All lines, not only %d of a kind."):format(SHOWN))
end

-- Prints the lines of one kind of difference.
local function print_section(list, all, line)
   for i, item in ipairs(list) do
      if i > SHOWN and not all then
         print(("  … and %d more of these (--all)"):format(#list - SHOWN))
         return
      end
      report.wrap(line(item), "  ")
   end
end

local function way_in_words(link)
   return ("%s to %s%s"):format(link.from, link.to, report.text_if(link.both, " and back"))
end

local function count_of_links(links)
   if links.second == 0 then
      return ("- %s: %s"):format(way_in_words(links), table.concat(links.links, ", "))
   elseif links.first == 0 then
      return ("+ %s: %s"):format(way_in_words(links), table.concat(links.other_links, ", "))
   end
   return ("! %s: %s, there %d"):format(way_in_words(links), report.count(links.first, "link"),
      links.second)
end

local function print_difference(difference, args)
   report.wrap(args.first, "- ", "  ")
   report.wrap(args.second or "the installed taut.lua", "+ ", "  ")
   report.wrap(("%d of %s matched by %s"):format(difference.matched,
      report.count(difference.of, "router"), report.text_if(difference.matched_by == "name",
      "name", "the nodes on them and the links between them")), "")
   print_section(difference.nodes_first, args.all, function(node) return "- node " .. node end)
   print_section(difference.nodes_second, args.all, function(node) return "+ node " .. node end)
   print_section(difference.moved, args.all, function(moved)
      return ("! node %s%s: on %s, there on %s"):format(moved.node,
         report.text_with(":", moved.rail > 1 and moved.rail), moved.first or "no router",
         moved.second or "no router")
   end)
   print_section(difference.routers_first, args.all, function(router)
      return "- router " .. router
   end)
   print_section(difference.routers_second, args.all, function(router)
      return "+ router " .. router
   end)
   print_section(difference.links, args.all, count_of_links)
   print_section(difference.capacities, args.all, function(link)
      return ("! %s: %s, there %s"):format(way_in_words(link), report.bandwidth(link.first_Bps),
         report.bandwidth(link.second_Bps))
   end)
   print_section(difference.ends, args.all, function(endpoint)
      return ("! %s: %s, there %s"):format(endpoint.component, report.bandwidth(endpoint.first_Bps),
         report.bandwidth(endpoint.second_Bps))
   end)
   print(report.text_if(difference.count == 0, "no differences",
      report.count(difference.count, "difference")))
end

local LISTS = { "nodes_first", "nodes_second", "moved", "routers_first", "routers_second",
   "links", "capacities", "ends" }

function command.run(args)
   local a, err = scene.machine(args.first)
   local b
   if a then
      b, err = scene.machine(args.second or scene.installed())
   end
   if not b then
      report.complain("diff: ", err)
      return 2
   end
   local d = diff.compare(a, b)
   if args.json then
      for _, key in ipairs(LISTS) do
         json.array(d[key])
      end
      for _, l in ipairs(d.links) do
         json.array(l.links)
         json.array(l.other_links)
      end
      for _, l in ipairs(d.capacities) do
         l.links, l.other_links = nil, nil
      end
      print(json.encode(d, 2))
   else
      print_difference(d, args)
   end
   return tables.one_if(d.count ~= 0)
end

return command
