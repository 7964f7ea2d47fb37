-- SPDX-License-Identifier: GPL-2.0-or-later
local endpoint_numbers = require "taut.topology.model.endpoint_numbers"
local tables = require "taut.base.tables"
local hostlist = require "taut.hostlist"
local json = require "taut.json"
local report = require "taut.report"
local common = require "taut.cli.topology.common"
local islands = require "taut.topology.islands"
local verdicts = require "taut.report.verdicts"

local show = { summary = "The machine, or one router, node or component." }

function show.setup(parser)
   parser:argument("what"):description "Router, node or component.":args "?"
end

--- What it is asked about.
function show.names(args)
   return { args.what }
end

---------------------------------------------------------------- the machine

local function class_row(list, at, name)
   local k = at[name]
   if not k then
      k = { class = name, count = 0, least_Bps = math.huge, most_Bps = 0, total_Bps = 0, bad = 0 }
      at[name], list[#list + 1] = k, k
   end
   return k
end

local function classes_of(scene)
   local topo, list, at = scene.topo, json.array {}, {}
   for c = 1, #topo.components do
      if topo:is_there(c) then
         local k, v = class_row(list, at, common.class(topo, c)), topo.capacity[c]
         k.count, k.open = k.count + 1, k.open or topo.open and topo.open[c]
         k.total_Bps = (k.total_Bps or 0) + v
         k.least_Bps = math.min(k.least_Bps or math.huge, v)
         k.most_Bps = math.max(k.most_Bps or 0, v)
         if k.open then -- of a guess no figure is shown
            k.total_Bps, k.least_Bps, k.most_Bps = nil, nil, nil
         end
         if verdicts.is_verdict(scene.state[c]) then
            k.bad = k.bad + 1
         end
      end
   end
   return list
end

-- What all-to-all tells: how far apart nodes are, and what gives in first.
local function all_to_all(scene)
   local topo = scene.topo
   if #topo.nodes < 2 then
      return nil
   end
   local loads, lost = topo:load("all-to-all", { bytes = 1 })
   local sum, worst, where = 0, 0, nil
   for c = 1, #topo.components do
      if topo:is_link(c) then
         sum = sum + loads[c]
      end
      local busy = 0
      if loads[c] > 0 then
         busy = loads[c] / (topo.capacity[c] * (scene.left[c] or 1))
      end
      if busy > worst then
         worst, where = busy, c
      end
   end
   local routes = #topo.nodes * (#topo.nodes - 1) - lost
   lost = lost - islands.pairs_apart(topo)
   local figures = { pairs_without_route = lost }
   if routes > 0 then
      figures.mean_links = sum / routes
   end
   if where then
      figures.limited_by = common.class(topo, where)
   end
   if where and not (topo.open and next(topo.open)) then
      figures.node_Bps = (#topo.nodes - 1) / worst
   end
   return figures
end

local ROUTERS = 2000 -- with nodes; of more, all are looked at from some

-- The most links between two nodes; whether only some were looked at.
local function longest_route(topo)
   local list, most = {}, 0
   for r = 0, topo.routers - 1 do
      list[#list + 1] = topo:on_router(r)[1]
   end
   if #list < 2 or topo.rails > 1 then
      return nil, false
   end
   local step = math.max(1, #list * #list // (ROUTERS * ROUTERS))
   for i = 1, #list, step do
      for k = 1, #list do
         local hops = 0
         if i ~= k then
            hops = topo:hops(list[i], list[k]) or 0
         end
         if hops < math.huge then
            most = math.max(most, hops)
         end
      end
   end
   return most, step > 1
end

local function count_verdicts(scene)
   local n, topo = {}, scene.topo
   for c = 1, #topo.components do
      if topo:is_there(c) then
         local state = scene.state[c] or "unknown"
         n[state] = (n[state] or 0) + 1
      end
   end
   return n
end

-- Service levels that tests and jobs are on, where they are routed by these.
local function levels_of(topo)
   local l = topo.service_levels
   if not l then
      return nil
   end
   return { tests = l.tests, tests_routing = l.routing[l.tests], jobs = l.jobs,
      jobs_routing = l.routing[l.jobs] }
end

local function machine_data(scene)
   local topo, with_nodes, links = scene.topo, 0, 0
   for r = 0, topo.routers - 1 do
      if #topo:on_router(r) > 0 then
         with_nodes = with_nodes + 1
      end
   end
   for c = 1, #topo.components do
      if topo:is_link(c) then
         links = links + 1
      end
   end
   local counts
   if scene.has_health then
      counts = count_verdicts(scene)
   end
   local most, is_sample = longest_route(topo)
   return { file = scene.path, kind = topo.kind_name, dims = topo.dims and json.array(topo.dims),
      nodes = #topo.nodes, rails = topo.rails, routers = topo.routers,
      routers_with_nodes = with_nodes, links = links, epoch = topo.epoch, wiring = topo.wiring,
      diameter = most, is_sample = is_sample or nil, routes_guessed = topo.guessed or nil,
      service_levels = levels_of(topo),
      classes = classes_of(scene), all_to_all = all_to_all(scene),
      verdicts = counts, note = scene.note }
end

local function print_verdicts(answer)
   if not answer.verdicts then
      return
   end
   local parts = {}
   for _, state in ipairs { "ok", "suspect", "slow", "lossy", "failed", "unknown" } do
      parts[#parts + 1] = ("%d %s"):format(answer.verdicts[state] or 0, state)
   end
   common.say("health", table.concat(parts, ", "))
end

-- How many links the longest route has.
local function most_links(answer)
   if not answer.diameter then
      return ""
   end
   return (", %s%d at most"):format(report.text_if(answer.is_sample, "about "), answer.diameter)
end

local function total_bandwidth(Bps)
   if (Bps or 0) >= 1e12 then
      return ("%.2f TB/s"):format(Bps / 1e12)
   end
   return report.bandwidth(Bps)
end

local function print_machine(answer, scene)
   common.say("machine", ("%s%s, of %s"):format(answer.kind, report.text_with(" ",
      answer.dims and table.concat(answer.dims, " x ")), answer.file))
   if scene.fabric then
      local f = scene.fabric
      local rails = ("rails %d to %d"):format(f.first_rail + 1, f.first_rail + f.rails)
      if f.rails == 1 then
         rails = "rail " .. f.first_rail + 1
      end
      common.say("fabric", ("%s, %s of %d"):format(f.name, rails, scene.whole.rails))
   end
   common.say("nodes", ("%d on %d of %s%s"):format(answer.nodes, answer.routers_with_nodes,
      report.count(answer.routers, "router"), report.text_with(", ",
      (answer.rails or 1) > 1 and answer.rails, " rails")))
   common.say("links", ("%d, each one direction of a cable or bundle"):format(answer.links))
   local a = answer.all_to_all
   if a and a.mean_links then
      common.say("routes", ("%.2f links long on average"):format(a.mean_links)
         .. most_links(answer) .. report.text_with(": a guess (", answer.routes_guessed,
         "), no forwarding tables are known"))
   end
   local l = answer.service_levels
   if l then
      common.say("levels", ("tests on service level %d (%s), jobs on %d (%s)"):format(l.tests,
         l.tests_routing, l.jobs, l.jobs_routing))
   end
   if a and a.mean_links and a.node_Bps then
      common.say("all-to-all", ("each node gets %s at most, limited by %s"):format(
         report.bandwidth(a.node_Bps), a.limited_by))
   end
   if a and a.pairs_without_route > 0 and not scene.rerouted then
      common.say("no route", ("%d pairs of nodes"):format(a.pairs_without_route))
   end
   print_verdicts(answer)
   common.say_learned(scene)
   print ""
   local rows = tables.map(answer.classes, function(class)
      return { class.class, tostring(class.count), report.bandwidth(class.least_Bps),
         report.bandwidth(class.most_Bps), total_bandwidth(class.total_Bps),
         tostring(class.bad) }
   end)
   common.table({ "CLASS", ">COUNT", ">LEAST", ">MOST", ">TOGETHER", ">SLOW" }, rows)
   common.footer(scene)
end

---------------------------------------------------------------- one router, node, component

local function router_data(scene, router)
   local topo, rows = scene.topo, json.array {}
   for i, c in ipairs(topo:links_of(router)) do
      rows[i] = common.component(scene, c)
      local back = topo:opposite(c)
      if back then
         rows[i].back = common.component(scene, back)
      end
   end
   local coordinates
   if topo.coordinates then
      coordinates = json.array(topo:coordinates(router))
   end
   return { router = topo.router_name[router], nodes = common.node_array(topo,
      topo:on_router(router)), coordinates = coordinates, links = rows }
end

local function print_router(answer)
   local at, nodes = table.concat(answer.coordinates or {}, ","), "none"
   if #answer.nodes > 0 then
      nodes = hostlist.compress(answer.nodes)
   end
   common.say("router", answer.router .. report.text_with(" at (", tables.unless_blank(at), ")"))
   common.say("nodes", nodes)
   print ""
   local rows = tables.map(answer.links, function(link)
      return { link.component, link.to, link.class,
         report.bandwidth(link.capacity_Bps), common.health(link),
         report.text_if(link.back, common.health(link.back or {}), "none") }
   end)
   common.table({ "LINK", "TO", "CLASS", ">CAPACITY", "HEALTH", "BACK" }, rows)
end

local function node_data(scene, node)
   local topo, rows = scene.topo, json.array {}
   for rail = 1, topo.rails or 1 do
      local tx = endpoint_numbers.ports_of_rail(#topo.nodes, node, rail)
      local r = topo:router(node, rail)
      if r then
         for c = tx, tx + 1 do
            local row = common.component(scene, c)
            row.router, row.rail = topo.router_name[r], rail
            rows[#rows + 1] = row
         end
      end
   end
   return { node = topo.nodes[node], number = node, components = rows }
end

local function print_node(answer)
   common.say("node", answer.node)
   print ""
   local rows = tables.map(answer.components, function(component)
      return { component.component, component.router,
         report.bandwidth(component.capacity_Bps), common.health(component) }
   end)
   common.table({ "COMPONENT", "ROUTER", ">CAPACITY", "HEALTH" }, rows)
end

local function component_data(scene, component)
   local d = common.component(scene, component)
   local n, all = common.routes_over(scene.topo, component)
   d.routes, d.of = n, all
   return d
end

local function print_component(answer)
   common.say("component", answer.component)
   common.say("kind", answer.kind
      .. report.text_with(", class ", answer.class ~= answer.kind and answer.class))
   if answer.from then
      common.say("from, to", ("%s to %s"):format(answer.from, answer.to))
   end
   common.say("capacity", report.bandwidth(answer.capacity_Bps))
   common.say("health", common.health(answer))
   common.say("cable", answer.cable)
   if answer.place ~= answer.cable then
      common.say("place", answer.place)
   end
   common.say("carries", common.share(answer.routes, answer.of))
end

-- What a name stands for: its data and what prints them.
local function data_of_name(scene, name)
   local topo = scene.topo
   if not name then
      return machine_data(scene), print_machine
   elseif topo.router_id[name] then
      return router_data(scene, topo.router_id[name]), print_router
   elseif topo.node_id[name] then
      return node_data(scene, topo.node_id[name]), print_node
   elseif topo.component_id[name] then
      return component_data(scene, topo.component_id[name]), print_component
   end
   return nil, ("%s has no router, node or component '%s' (expected such as %s, %s or %s)"):format(
      scene.path, name, topo.router_name[0], topo.nodes[1], topo.components[#topo.components])
end

function show.run(args, scene)
   local d, out = data_of_name(scene, args.what)
   if not d then
      report.complain("show: ", out)
      return 2
   elseif args.json then
      common.json(scene, d)
   else
      out(d, scene)
      if args.what then
         common.footer(scene)
      end
   end
   return 0
end

return show
