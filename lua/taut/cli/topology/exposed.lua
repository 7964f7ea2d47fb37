-- SPDX-License-Identifier: GPL-2.0-or-later
local json = require "taut.json"
local report = require "taut.report"
local common = require "taut.cli.topology.common"

local exposed = { summary = "Whose routes use a link: nodes with more than a quarter of theirs." }

local WALKED = 4000000 -- routes looked at for --routes, some seconds' worth

function exposed.setup(parser)
   parser:argument("component"):description "Link, tx or rx.":argname "<component>"
   parser:option("--routes"):description "List the routes that use it, of so many nodes.":argname
      "<nodes>":convert(common.whole)
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

-- How many routes of each node use c, or may, where it sends and where it receives; of a tx or rx
-- only whether there can be any.
local function crossing(topo, c)
   if topo:is_link(c) then
      return topo.graph:crossing(c)
   end
   local node, from, to = topo:node_of(c), {}, {}
   for n = 1, #topo.nodes do
      from[n] = (n == node or topo:kind(c) == "rx") and 1 or 0
      to[n] = (n == node or topo:kind(c) == "tx") and 1 or 0
   end
   return from, to
end

-- Where routes from node a use c: nodes, out of those in the list.
local function destinations(topo, c, a, candidates, t)
   local to = {}
   for _, b in ipairs(candidates) do
      local route = a ~= b and topo:route(a, b, t)
      if route and uses(route, c) then
         to[#to + 1] = b
      end
   end
   return to
end

-- Nodes whose routes use c, and where to: array of { from, to = array }; the number of nodes looked
-- at when these are not all.  Nodes of one router use the same links.
local function routes_over(topo, c, most)
   local from, to = crossing(topo, c)
   local list, candidates, by_router, t, walked = {}, {}, {}, {}, 0
   for b, n in ipairs(to) do
      candidates[#candidates + 1] = n > 0 and b or nil
   end
   for a = 1, #topo.nodes do
      local router = topo:is_link(c) and topo:router(a)
      local found = from[a] > 0 and by_router[router]
      if from[a] > 0 and not found then
         found = destinations(topo, c, a, candidates, t)
         walked = walked + #candidates
         if router then
            by_router[router] = found
         end
      end
      if found and #found > 0 then
         list[#list + 1] = { from = a, to = found }
      end
      if a < #topo.nodes and (#list >= most or walked > WALKED) then
         return list, a
      end
   end
   return list
end

local function print_routes(topo, list, stopped)
   for _, r in ipairs(list) do
      common.say(common.cut(topo.nodes[r.from], 11), common.nodes(topo, r.to))
   end
   if stopped then
      common.say("", ("(looked at the routes of the first %d of %d nodes)"):format(stopped,
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
   local n, all = common.routes_over(topo, c)
   local list, stopped
   if args.routes then
      list, stopped = routes_over(topo, c, args.routes)
   end
   if args.json then
      local routes
      for i, r in ipairs(list or {}) do
         routes = routes or json.array {}
         routes[i] = { from = topo.nodes[r.from], to = common.node_array(topo, r.to) }
      end
      common.json(scene, { component = args.component, exposed = common.node_array(topo, nodes),
         routes = n, of = all, over = routes, looked_at = stopped })
      return 0
   end
   common.say("component", ("%s, %s"):format(args.component, topo:cable(c)))
   common.say("carries", common.share(n, all))
   common.say("exposed", ("%s%s"):format(report.count(#nodes, "node"), #nodes > 0 and
      ", of whose routes more than 25% in one direction use it:" or
      ": nobody has more than 25% of the routes in one direction over it"))
   if #nodes > 0 then
      common.say("", common.nodes(topo, nodes))
   end
   if list then
      print ""
      print_routes(topo, list, stopped)
   end
   common.footer(scene)
   return 0
end

return exposed
