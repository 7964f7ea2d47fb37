-- SPDX-License-Identifier: GPL-2.0-or-later
local tables = require "taut.base.tables"
local json = require "taut.json"
local report = require "taut.report"
local common = require "taut.cli.topology.common"

local classes = { summary = "Components that no test can tell apart: all routes use both or none." }

local SHOWN = 40

function classes.setup(parser)
   parser:flag("-a --all"):description(("All classes, not only the first %d."):format(SHOWN))
end

local function names_of(topo, list)
   local names = json.array {}
   for i, c in ipairs(list) do
      names[i] = topo.components[c]
   end
   return names
end

function classes.run(args, scene)
   local topo = scene.topo
   local all, unused = topo:classes()
   local list = tables.filter(all, function(class) return #class > 1 end)
   if args.json then
      local data = json.array {}
      for i, class in ipairs(list) do
         data[i] = names_of(topo, class)
      end
      common.json(scene, { classes = data, unused = names_of(topo, unused or {}),
         learned = scene.learned })
      return 0
   end
   local inside = 0
   for i, class in ipairs(list) do
      inside = inside + #class
      if args.all or i <= SHOWN then
         report.wrap(table.concat(names_of(topo, class), " "), "")
      end
   end
   if #list > SHOWN and not args.all then
      print(("… and %d more classes (--all)"):format(#list - SHOWN))
   end
   if #list == 0 then
      print "every component has routes of its own: tests can tell all apart"
   else
      print(("%d of %d components, in %s, cannot be told apart from others"):format(inside,
         #topo.components, report.text_if(#list == 1, "1 class", #list .. " classes")))
   end
   if unused and #unused > 0 then
      report.wrap(("no route uses %s: %s"):format(report.count(#unused, "component"),
         table.concat(names_of(topo, unused), " ", 1, math.min(#unused, 12)) ..
         report.text_if(#unused > 12, " …")), "")
   end
   common.say_learned(scene)
   common.footer(scene)
   return 0
end

return classes
