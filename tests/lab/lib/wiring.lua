-- SPDX-License-Identifier: GPL-2.0-or-later
-- What the lab asks of Taut's own topology, so that names and routes are the same:
--   taut --lua wiring.lua tables CONF [LINK …]   routers, links and nodes, as bash reads them
--   taut --lua wiring.lua routes CONF [LINK …]   "ROUTER NODE PORT …" a line: by which of its ports
--                                                the router sends on what is for the node
-- CONF is a taut.lua.  Cables of the LINKs are taken out, and the routing goes around them.
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
   for n = 1, #topo.nodes do
      at[n] = topo:router(n)
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
   array("NODE_ROUTER", at)
   array("LINK", name)
   array("LINK_FROM", from)
   array("LINK_TO", to)
   array("LINK_BACK", back)
   array("LINK_SPEED", rate)
end

---------------------------------------------------------------- routes

-- hops[r][n]: set of links out of router r towards node n; and is there a choice at all?
local function all_hops(topo)
   local hops, t, choice = {}, {}, false
   for r = 0, topo.routers - 1 do
      hops[r] = {}
   end
   local function add(c, n)
      local r = topo:from(c)
      hops[r][n] = hops[r][n] or {}
      hops[r][n][c] = true
   end
   for r = 0, topo.routers - 1 do
      local a = topo:on_router(r)[1]
      for n = 1, a and #topo.nodes or 0 do
         if topo:router(n) ~= r then
            local route = topo:route(a, n, t)
            for i = 2, #route - 1 do
               choice = choice or type(route[i]) == "table"
               for _, c in ipairs(type(route[i]) == "table" and route[i] or { route[i] }) do
                  add(c, n)
               end
            end
         end
      end
   end
   return hops, choice
end

-- Packets must not go round: from router r on, every way to n ends there.
local function check_ways(topo, hops, n, r, way, done)
   if way[r] then
      die("without these links packets for ", topo.nodes[n], " would go in a circle at ",
         topo.router_name[r], "; take out others")
   elseif done[r] or r == topo:router(n) then
      return
   end
   way[r] = true
   for c in pairs(hops[r][n] or {}) do
      check_ways(topo, hops, n, topo:to(c), way, done)
   end
   way[r], done[r] = nil, true
end

local function print_routes(topo)
   local hops, choice = all_hops(topo)
   for n = 1, #topo.nodes do
      local done = {}
      for r = 0, topo.routers - 1 do
         check_ways(topo, hops, n, r, {}, done)
         local ports = {}
         for c in pairs(hops[r][n] or {}) do
            ports[#ports + 1] = port(topo, c)
         end
         table.sort(ports)
         if #ports > 1 and not choice then
            die("without these links the way from ", topo.router_name[r], " to ", topo.nodes[n],
               " is another for each sender, which no kernel does; take out others")
         elseif #ports > 0 then
            print(r, n - 1, table.concat(ports, " "))
         end
      end
   end
end

local topo = topology(arg[2])
local out = take_out(topo, { table.unpack(arg, 3) })
if arg[1] == "tables" then
   print_tables(topo, out)
else
   print_routes(topo)
end
