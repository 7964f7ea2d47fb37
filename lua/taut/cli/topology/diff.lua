-- SPDX-License-Identifier: GPL-2.0-or-later
local diff = require "taut.topology.diff"
local json = require "taut.json"
local report = require "taut.report"
local scene = require "taut.cli.topology.scene"

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
local function section(list, all, line)
   for i, item in ipairs(list) do
      if i > SHOWN and not all then
         print(("  … and %d more of these (--all)"):format(#list - SHOWN))
         return
      end
      report.wrap(line(item), "  ")
   end
end

local function way(l)
   return ("%s to %s%s"):format(l.from, l.to, l.both and " and back" or "")
end

local function count_of_links(l)
   if l.second == 0 then
      return ("- %s: %s"):format(way(l), table.concat(l.links, ", "))
   elseif l.first == 0 then
      return ("+ %s: %s"):format(way(l), table.concat(l.other_links, ", "))
   end
   return ("! %s: %s, there %d"):format(way(l), report.count(l.first, "link"), l.second)
end

local function print_difference(d, args)
   report.wrap(args.first, "- ", "  ")
   report.wrap(args.second or "the installed taut.lua", "+ ", "  ")
   report.wrap(("%d of %s matched by %s"):format(d.matched, report.count(d.of, "router"),
      d.matched_by == "name" and "name" or "the nodes on them and the links between them"), "")
   section(d.nodes_first, args.all, function(n) return "- node " .. n end)
   section(d.nodes_second, args.all, function(n) return "+ node " .. n end)
   section(d.moved, args.all, function(m)
      return ("! node %s%s: on %s, there on %s"):format(m.node, m.rail > 1 and ":" .. m.rail or "",
         m.first or "no router", m.second or "no router")
   end)
   section(d.routers_first, args.all, function(r) return "- router " .. r end)
   section(d.routers_second, args.all, function(r) return "+ router " .. r end)
   section(d.links, args.all, count_of_links)
   section(d.capacities, args.all, function(l)
      return ("! %s: %s, there %s"):format(way(l), report.bandwidth(l.first_Bps),
         report.bandwidth(l.second_Bps))
   end)
   section(d.ends, args.all, function(e)
      return ("! %s: %s, there %s"):format(e.component, report.bandwidth(e.first_Bps),
         report.bandwidth(e.second_Bps))
   end)
   print(d.count == 0 and "no differences" or report.count(d.count, "difference"))
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
   return d.count == 0 and 0 or 1
end

return command
