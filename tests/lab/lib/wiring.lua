-- SPDX-License-Identifier: GPL-2.0-or-later
-- What the lab asks of Taut's own topology, so that names and routes are the same:
--   taut --lua wiring.lua tables CONF [LINK …]   routers, links and nodes, as bash reads them
--   taut --lua wiring.lua routes CONF [LINK …]   "ROUTER NODE PORT …" a line: by which of its ports
--                                                the router sends on what is for the node
--   taut --lua wiring.lua sizes CONF             how many routers and nodes
-- CONF is a taut.lua.  Cables of the LINKs are taken out, and the routing goes around them.
--
-- Of several fabrics a node has an end on each that it is on: its first is as that of any node, the
-- others are extra, numbered behind the nodes.
--
-- A kernel chooses by the destination and where the packet is, so a router's ports for a node are
-- all that any route to the node uses there.
local config = require "taut.config"

local function die(...)
   io.stderr:write("lab: ", ...)
   io.stderr:write "\n"
   os.exit(1)
end

local function topology(path)
   local conf, err = config.load(path, { rundir = "", statedir = "" })
   return conf and conf.topology or die(err)
end

-- Links with both their directions; the routes are then those without them.
local function take_out(topo, names)
   local out = {}
   for _, name in ipairs(names) do
      local c = topo.component_id[name]
      if not c or not topo:is_link(c) then
         die("--without ", name, ": there is no such link, only such as ",
            topo.components[#topo.components])
      end
      out[c], out[topo:opposite(c)] = 0, 0
   end
   local what = topo:set_health(out)
   if what.pairs > 0 then
      die("--without ", table.concat(names, ","), ": ", what.pairs, " pairs of nodes have no route")
   end
   return out
end

-- What the lab calls a node by, from 0: n5 is 5, whatever its number in the topology.
local function number_of(topo, n)
   return math.tointeger(tonumber(topo.nodes[n]:match "%d+$"))
end

-- Ends of nodes: { node, rail }, the first of each node, then the others.
local function ends_of(topo)
   local list, extra, order = {}, {}, {}
   for n = 1, #topo.nodes do
      order[number_of(topo, n) + 1] = n
   end
   for i, n in ipairs(order) do
      for rail = 1, topo.rails do
         if topo:router(n, rail) then
            local to = list[i] and extra or list
            to[#to + 1] = { n, rail }
         end
      end
   end
   table.move(extra, 1, #extra, #list + 1, list)
   return list, #extra
end

-- Number of the fabric that a rail is on, from 0.
local function fabric_number(topo, rail)
   for i, f in ipairs(topo.fabrics or {}) do
      if f == topo.fabric_of_rail[rail] then
         return i - 1
      end
   end
   return 0
end

local function port(topo, c)
   return topo.components[c]:match "/(.*)$"
end

---------------------------------------------------------------- tables

local function array(name, list)
   print(("declare -ga %s=(%s)"):format(name, table.concat(list, " ")))
end

local function print_tables(topo, out)
   local router, at, links, number = {}, {}, {}, {}
   for r = 0, topo.routers - 1 do
      router[r + 1] = topo.router_name[r]
   end
   local ends, count = ends_of(topo), #topo.nodes
   local net, rail, extra = {}, {}, {}
   for e, k in ipairs(ends) do
      at[e], rail[e], net[e] = topo:router(k[1], k[2]), k[2], fabric_number(topo, k[2])
      extra[#extra + 1] = e > count and number_of(topo, k[1]) or nil
   end
   for c = topo.first_link, #topo.components do
      if not out[c] then
         links[#links + 1], number[c] = c, #links
      end
   end
   local name, from, to, back, rate = {}, {}, {}, {}, {}
   for i, c in ipairs(links) do
      name[i], from[i], to[i] = topo.components[c], topo:from(c), topo:to(c)
      back[i] = number[topo:opposite(c)]
      rate[i] = ("%.0f"):format(topo.capacity[c] * 8)
   end
   array("ROUTER", router)
   array("NODE_ROUTER", table.move(at, 1, count, 1, {}))
   array("NODE_RAIL", topo.rails > 1 and table.move(rail, 1, count, 1, {}) or {})
   array("NODE_NET", table.move(net, 1, count, 1, {}))
   array("EXTRA_NODE", extra)
   array("EXTRA_ROUTER", table.move(at, count + 1, #ends, 1, {}))
   array("EXTRA_RAIL", table.move(rail, count + 1, #ends, 1, {}))
   array("EXTRA_NET", table.move(net, count + 1, #ends, 1, {}))
   array("LINK", name)
   array("LINK_FROM", from)
   array("LINK_TO", to)
   array("LINK_BACK", back)
   array("LINK_SPEED", rate)
end

---------------------------------------------------------------- routes

-- A node of router r on this rail.
local function on_router(topo, r, rail)
   for _, n in ipairs(topo:on_router(r)) do
      if topo:router(n, rail) == r then
         return n
      end
   end
end

-- hops[r][e]: set of links out of router r towards end e; and is there a choice at all?
local function all_hops(topo, ends)
   local hops, t, choice = {}, {}, false
   for r = 0, topo.routers - 1 do
      hops[r] = {}
   end
   local function add(c, e)
      local r = topo:from(c)
      hops[r][e] = hops[r][e] or {}
      hops[r][e][c] = true
   end
   for r = 0, topo.routers - 1 do
      for e, k in ipairs(ends) do
         local n, rail = k[1], k[2]
         local a = on_router(topo, r, rail)
         if a and topo:router(n, rail) ~= r then
            local route = topo:route(a, n, t, rail) or {}
            for i = 2, #route - 1 do
               choice = choice or type(route[i]) == "table"
               for _, c in ipairs(type(route[i]) == "table" and route[i] or { route[i] }) do
                  add(c, e)
               end
            end
         end
      end
   end
   return hops, choice
end

-- Packets must not go round: from router r on, every way to end e ends there.
local function check_ways(topo, hops, ends, e, r, way, done)
   local n, rail = ends[e][1], ends[e][2]
   if way[r] then
      die("without these links packets for ", topo.nodes[n], " would go in a circle at ",
         topo.router_name[r], "; take out others")
   elseif done[r] or r == topo:router(n, rail) then
      return
   end
   way[r] = true
   for c in pairs(hops[r][e] or {}) do
      check_ways(topo, hops, ends, e, topo:to(c), way, done)
   end
   way[r], done[r] = nil, true
end

local function print_routes(topo)
   local ends = ends_of(topo)
   local hops, choice = all_hops(topo, ends)
   for e in ipairs(ends) do
      local done = {}
      for r = 0, topo.routers - 1 do
         check_ways(topo, hops, ends, e, r, {}, done)
         local ports = {}
         for c in pairs(hops[r][e] or {}) do
            ports[#ports + 1] = port(topo, c)
         end
         table.sort(ports)
         if #ports > 1 and not choice then
            die("without these links the way from ", topo.router_name[r], " to ",
               topo.nodes[ends[e][1]], " is another for each sender, which no kernel does; ",
               "take out others")
         elseif #ports > 0 then
            print(r, e - 1, table.concat(ports, " "))
         end
      end
   end
end

local topo = topology(arg[2])
local out = take_out(topo, { table.unpack(arg, 3) })
if arg[1] == "sizes" then
   print(("ROUTERS=%d NODES=%d"):format(topo.routers, #topo.nodes))
elseif arg[1] == "tables" then
   print_tables(topo, out)
else
   print_routes(topo)
end
