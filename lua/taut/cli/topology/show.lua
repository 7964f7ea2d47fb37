local json = require "taut.json"
local report = require "taut.report"

local show = { summary = "The machine, or one router or node and its links." }

function show.setup(parser)
   parser:argument("what"):description "Router or node.":args "?"
end

function show.run(args, scene)
   local topo = scene.topo
   local d = { kind = topo.kind_name, nodes = #topo.nodes, routers = topo.routers }
   if args.json then
      print(json.encode(d, 2))
      return 0
   end
   print(("%s, %s on %s"):format(d.kind, report.count(d.nodes, "node"),
      report.count(d.routers, "router")))
   return 0
end

return show
