local json = require "taut.json"
local report = require "taut.report"
local words = require "taut.cli.topology.words"

local exposed = { summary = "Whose routes use a link: nodes with more than a quarter of theirs." }

local WALKED = 4000000 -- routes looked at for --routes, some seconds' worth

local function whole(v)
   local n = math.tointeger(tonumber(v))
   return n and n > 0 and n or nil, "expected a whole number of at least 1, got " .. v
end

function exposed.setup(parser)
   parser:argument("component"):description "Link, tx or rx.":argname "<component>"
   parser:option("--routes"):description "List the routes that use it, of so many nodes.":argname
      "<nodes>":convert(whole)
end

local function uses(route, c)
   for _, stage in ipairs(route) do
      if stage == c then
         return true
      elseif type(stage) == "table" then
         for _, member in ipairs(stage) do
            if member == c then
               return true
            end
         end
      end
   end
   return false
end

-- Nodes whose routes use c, and where to: array of { from, to = array }; true when not all nodes
-- were looked at.
local function routes_over(topo, c, most)
   local list, t, walked = {}, {}, 0
   for a = 1, #topo.nodes do
      local to = {}
      for b = 1, #topo.nodes do
         if a ~= b then
            local route = topo:route(a, b, t)
            if route and uses(route, c) then
               to[#to + 1] = b
            end
         end
      end
      walked = walked + #topo.nodes
      if #to > 0 then
         list[#list + 1] = { from = a, to = to }
      end
      if a < #topo.nodes and (#list >= most or walked > WALKED) then
         return list, a
      end
   end
   return list
end

local function print_routes(topo, list, stopped)
   for _, r in ipairs(list) do
      words.say(words.cut(topo.nodes[r.from], 11), words.nodes(topo, r.to))
   end
   if stopped then
      words.say("", ("(looked at the routes of the first %d of %d nodes)"):format(stopped,
         #topo.nodes))
   end
end

function exposed.run(args, scene)
   local topo = scene.topo
   local c, err = scene:component(args.component)
   if not c then
      report.complain("exposed: ", err)
      return 1
   end
   local nodes = topo:exposed(c)
   local n, all = words.routes_over(topo, c)
   local list, stopped
   if args.routes then
      list, stopped = routes_over(topo, c, args.routes)
   end
   if args.json then
      local routes
      for i, r in ipairs(list or {}) do
         routes = routes or json.array {}
         routes[i] = { from = topo.nodes[r.from], to = words.node_array(topo, r.to) }
      end
      words.json(scene, { component = args.component, exposed = words.node_array(topo, nodes),
         routes = n, of = all, over = routes, looked_at = stopped })
      return 0
   end
   words.say("component", ("%s, %s"):format(args.component, topo:cable(c)))
   words.say("carries", words.share(n, all))
   words.say("exposed", ("%s%s"):format(report.count(#nodes, "node"), #nodes > 0 and
      ", of whose routes more than 25% in one direction use it:" or
      ": nobody has more than 25% of the routes in one direction over it"))
   if #nodes > 0 then
      words.say("", words.nodes(topo, nodes))
   end
   if list then
      print ""
      print_routes(topo, list, stopped)
   end
   words.footer(scene)
   return 0
end

return exposed
