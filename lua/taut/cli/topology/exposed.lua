-- SPDX-License-Identifier: GPL-2.0-or-later
local json = require "taut.json"
local tables = require "taut.base.tables"
local report = require "taut.report"
local common = require "taut.cli.topology.common"

local exposed = { summary = "Whose routes use a link: nodes with more than a quarter of theirs." }

local WALKED = 4000000 -- routes looked at for --routes, some seconds' worth

function exposed.setup(parser)
   parser:argument("component"):description "Link, tx, rx, node or switch.":argname "<component>"
   parser:option("--routes"):description "List the routes that use it, of N nodes.":argname
      "<nodes>":convert(common.whole)
end

--- What it is asked about.
function exposed.names(args)
   return { args.component }
end

-- @param set of components
local function uses_any(route, set)
   for _, stage in ipairs(route) do
      if set[stage] or type(stage) == "table" and tables.any(stage, function(component)
         return set[component]
      end) then
         return true
      end
   end
   return false
end

-- How many routes of each node use c, or may, where it sends and where it receives; of a tx or rx,
-- or more than one component, only whether there can be any.
local function count_crossing(topo, list)
   local c = list[1]
   if #list > 1 then
      local all = tables.fill(1, #topo.nodes, function() return 1 end)
      return all, all
   elseif topo:is_link(c) then
      return topo.graph:crossing(c)
   end
   local node, from, to = topo:node_of(c), {}, {}
   for n = 1, #topo.nodes do
      from[n] = tables.one_if(n == node or topo:kind(c) == "rx")
      to[n] = tables.one_if(n == node or topo:kind(c) == "tx")
   end
   return from, to
end

-- Where routes from node a use c: nodes, out of those in the list.
local function destinations(topo, set, from, candidates, target)
   local to = {}
   for _, b in ipairs(candidates) do
      local route = from ~= b and topo:route(from, b, target)
      if route and uses_any(route, set) then
         to[#to + 1] = b
      end
   end
   return to
end

-- Nodes whose routes use c, and where to: array of { from, to = array }; the number of nodes looked
-- at when these are not all.  Nodes of one router use the same links.
local function routes_over(topo, parts, most)
   local from, to = count_crossing(topo, parts)
   local set, is_links = tables.set(parts), #parts == 1 and topo:is_link(parts[1])
   local list, candidates, by_router, t, walked = {}, {}, {}, {}, 0
   for b, n in ipairs(to) do
      if n > 0 then
         candidates[#candidates + 1] = b
      end
   end
   for a = 1, #topo.nodes do
      local router = is_links and topo:router(a)
      local found = from[a] > 0 and by_router[router]
      if from[a] > 0 and not found then
         found = destinations(topo, set, a, candidates, t)
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

-- Nodes exposed to what was named, how many routes use it, of how many.
local function exposure(topo, parts, router)
   if #parts == 1 then
      return topo:exposed(parts[1]), common.routes_over(topo, parts[1])
   end
   local list, use
   if router then
      local loads = topo:load("all-to-all", { bytes = 1 })
      list, use = topo:exposed_to(router), #topo:on_router(router) * (#topo.nodes - 1)
      for _, c in ipairs(parts) do
         if topo:is_link(c) and topo:to(c) == router then
            use = use + loads[c]
         end
      end
   else
      list, use = { (topo:node_of(parts[1])) }, 2 * (#topo.nodes - 1)
   end
   return list, use, #topo.nodes * (#topo.nodes - 1)
end

function exposed.run(args, scene)
   local topo = scene.topo
   local parts, r = scene:parts(args.component)
   if not parts then
      report.complain("exposed: ", r)
      return 2
   end
   local nodes, n, all = exposure(topo, parts, r)
   local list, stopped
   if args.routes then
      list, stopped = routes_over(topo, parts, args.routes)
   end
   if args.json then
      local routes
      for i, one in ipairs(list or {}) do
         routes = routes or json.array {}
         routes[i] = { from = topo.nodes[one.from], to = common.node_array(topo, one.to) }
      end
      common.json(scene, { component = args.component, exposed = common.node_array(topo, nodes),
         routes = n, of = all, over = routes, looked_at = stopped })
      return 0
   end
   local what = report.count(#parts, "component")
   if #parts == 1 then
      what = topo:cable(parts[1]) or what
   end
   common.say("component", ("%s, %s"):format(args.component, what))
   common.say("carries", common.share(n, all))
   common.say("exposed", report.count(#nodes, "node") .. report.text_if(#nodes > 0,
      ", of whose routes more than 25% in one direction use it:",
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
