-- SPDX-License-Identifier: GPL-2.0-or-later
--- From a wiring (taut.import.wiring) to the shape of a topology.
--
-- Routers keep the order of the wiring, counted from 0.  A cable becomes a link in each direction,
-- named by the port it leaves.  If a model treats all cables between two routers as one, they are
-- one link, named by the first of them, with the sum of their capacities.
local hostlist = require "taut.hostlist"
local endpoint_numbers = require "taut.topology.model.endpoint_numbers"
local shape = require "taut.topology.shape"
local tables = require "taut.base.tables"
local unknown = require "taut.topology.unknown"

local wired = {}

local RAILS = 64 -- of a node, at most (advisor/lib/graph/graph.h)

local function bad_wiring(what, ...)
   return nil, ("topology.wiring: " .. what):format(...)
end

local function is_router(wiring, index)
   return math.type(index) == "integer" and wiring.routers[index] ~= nil
end

-- Of several planes: how many, and the share of them that is there.
local function check_planes(entry, what)
   if entry.planes ~= nil and not (math.type(entry.planes) == "integer" and entry.planes >= 1) then
      return bad_wiring("%s: expected planes = a whole number of at least 1, got %s", what,
         tostring(entry.planes))
   elseif entry.left ~= nil and not (type(entry.left) == "number" and entry.left > 0
      and entry.left <= 1) then
      return bad_wiring("%s: expected left above 0 and up to 1, got %s", what, tostring(entry.left))
   end
   return true
end

--- How a wired machine routes where its configuration does not say.
function wired.usual_routing(wiring, otherwise)
   if wiring.tables then
      return "tables"
   end
   return otherwise
end

local function check_rails(wiring, node)
   for k, rail in ipairs(tables.or_empty(node.rails)) do
      if rail ~= false and (type(rail) ~= "table" or not is_router(wiring, rail.router)) then
         local got = rail
         if type(rail) == "table" then
            got = rail.router or rail
         end
         return bad_wiring("nodes: '%s', rail %d: expected router = 1 to %d, got %s", node.name, k,
            #wiring.routers, tostring(got))
      end
      local ok, err = check_planes(rail or {}, ("nodes: '%s', rail %d"):format(node.name, k))
      if not ok then
         return nil, err
      end
   end
   if type(node.rails) ~= "table" or not tables.find(node.rails, function(rail)
      return rail ~= false
   end) then
      return bad_wiring("nodes: '%s' has no rails", node.name)
   end
   return true
end

local function check_cable(wiring, index, cable)
   if type(cable) ~= "table" or not is_router(wiring, cable.a) or not is_router(wiring, cable.b)
      or cable.a == cable.b then
      return bad_wiring("cables[%d]: expected two routers, a and b, of 1 to %d", index,
         #wiring.routers)
   elseif type(cable.a_port) ~= "string" or type(cable.b_port) ~= "string" then
      return bad_wiring("cables[%d]: expected a_port and b_port in quotes", index)
   elseif cable.Bps ~= nil and (type(cable.Bps) ~= "number"
      or not (cable.Bps > 0 and cable.Bps < math.huge)) then
      return bad_wiring("cables[%d]: expected Bps in bytes per second, got %s", index,
         tostring(cable.Bps))
   end
   return check_planes(cable, ("cables[%d]"):format(index))
end

-- A port has one cable.
local function check_ports(wiring)
   local seen = {}
   for i, c in ipairs(wiring.cables) do
      local ok, err = check_cable(wiring, i, c)
      if not ok then
         return nil, err
      end
      for _, e in ipairs { { c.a, c.a_port }, { c.b, c.b_port } } do
         local key = e[1] .. "/" .. e[2]
         if seen[key] then
            return bad_wiring("cables %d and %d both end at %s/%s", seen[key], i,
               wiring.routers[e[1]].name, e[2])
         end
         seen[key] = i
      end
   end
   return true
end

local function check_names(list, what)
   local seen = {}
   for i, e in ipairs(list) do
      local name = type(e) == "table" and e.name
      if type(name) ~= "string" or name == "" then
         return bad_wiring("%s[%d]: expected a name", what, i)
      elseif seen[name] then
         return bad_wiring("%s: '%s' is given twice", what, name)
      end
      seen[name] = true
   end
   return true
end

-- A component is called ROUTER/PORT: without a "/" in the first it has one meaning only.
local function check_router_names(wiring)
   for i, r in ipairs(wiring.routers) do
      if r.name:find("/", 1, true) then
         return bad_wiring("routers[%d]: expected a name without '/', got '%s'", i, r.name)
      end
   end
   return check_names(wiring.nodes, "nodes")
end

--- Is this a wiring?  What importers make is one; a site may write one by hand.
-- @return it, or nil and what was expected
function wired.check(wiring)
   for _, what in ipairs { "routers", "nodes", "cables" } do
      if type(wiring) ~= "table" or type(wiring[what]) ~= "table" then
         return bad_wiring("expected a table with routers, nodes and cables")
      end
   end
   local ok, err = check_names(wiring.routers, "routers")
   if ok then
      ok, err = check_router_names(wiring)
   end
   for _, n in ipairs(tables.or_empty(ok and wiring.nodes)) do
      ok, err = check_rails(wiring, n)
      if not ok then
         break
      end
   end
   if ok then
      ok, err = check_ports(wiring)
   end
   return ok and wiring, err
end

-- Capacity of a cable or rail: the configuration's word, or what the wiring knows, if anything.
local function capacity_of(conf, kind, Bps)
   local c = conf.capacity
   if type(c) == "number" or type(c) == "table" and (c[kind] or
      c.link and kind ~= "tx" and kind ~= "rx") then
      return shape.capacity(conf, kind)
   end
   return unknown.checked(c, Bps, kind)
end

-- One direction of a cable.
local function add_link(fabric, conf, options, seen, from, to, port, kind, cable)
   local cap, err = capacity_of(conf, kind, cable.Bps)
   if not cap then
      return nil, err
   end
   if options.merge and cable.left and cap > 0 then
      cap = cap * cable.left -- as with one that is down: just less of the link
   end
   local key = from << 24 | to
   local l = options.merge and seen[key]
   if l then
      fabric.capacity[l] = unknown.sum(fabric.capacity[l], cap)
      fabric.cables[l] = (fabric.cables[l] or 1) + 1
   else
      l = fabric:link(from, to, port, kind, cap)
      seen[key], fabric.planes[l] = l, cable.planes
   end
   -- which of a router's ports leads into which link
   fabric.port_link[from][port] = l
   if cable.down or cable.left and not options.merge then
      fabric.left[l] = cable.left
   end
   if cable.down then
      fabric.left[l] = 0
   end
   return l
end

-- Links of a router in the order of its ports: routing engines count them so.
local function by_port(wiring)
   local list = {}
   for i, c in ipairs(wiring.cables) do
      list[#list + 1] = { i, c.a, c.b, c.a_port, c, true }
      list[#list + 1] = { i, c.b, c.a, c.b_port, c, false }
   end
   table.sort(list, function(one, other)
      if one[2] ~= other[2] then
         return one[2] < other[2]
      end
      local p, q = tonumber(one[4]), tonumber(other[4])
      if p and q and p ~= q then
         return p < q
      elseif one[4] ~= other[4] then
         return one[4] < other[4]
      end
      return one[1] < other[1]
   end)
   return list
end

--- Routers and links.
-- @param wiring wiring
-- @param conf the topology's configuration (its `capacity`)
-- @param options { merge = cables between two routers are one link, kind(from, to, cable) → word }
-- @return shape, whose `port_link[router][port]` is a link and whose `back` pairs the directions;
--   or nil and what was expected
function wired.shape(wiring, conf, options)
   local s, seen, half = shape.new(), {}, {}
   s.port_link, s.back, s.other_planes, s.planes = {}, {}, {}, {}
   for i, r in ipairs(wiring.routers) do
      for _, guid in ipairs(tables.or_empty(r.others)) do
         s.other_planes[guid] = r.name
      end
      -- what a sweep says of their ports is of cables that nobody can tell
      for _, guid in ipairs(tables.or_empty(r.renumbered)) do
         s.other_planes[guid] = nil
      end
      s.port_link[s:router(r.name)] = {}
      if i > 1 << 20 then
         return nil, "topology.wiring: expected at most 1048576 routers"
      end
   end
   for _, e in ipairs(by_port(wiring)) do
      local i, from, to, port, cable = e[1], e[2] - 1, e[3] - 1, e[4], e[5]
      -- of several cables that are one link, one that is down is just less of it
      if not (options.merge and cable.down) then
         local l, err = add_link(s, conf, options, seen, from, to, port,
            options.kind(from, to, cable), cable)
         if not l then
            return nil, err
         end
         local other = half[i]
         if not other then
            half[i] = l
         elseif not s.back[l] and not s.back[other] then
            s.back[l], s.back[other] = other, l
         end
      end
   end
   return s
end

-- Which nodes of the wiring, in which order.
local function chosen_nodes(wiring, conf)
   if conf.nodes == nil then
      return wiring.nodes
   end
   local names, err = hostlist.expand(conf.nodes)
   if not names then
      return nil, "topology.nodes: " .. err
   end
   local at, list = {}, {}
   for _, n in ipairs(wiring.nodes) do
      at[n.name] = n
   end
   for i, name in ipairs(names) do
      list[i] = at[name]
      if not at[name] then
         return nil, ("topology.nodes: '%s' is not in %s"):format(name, wiring.source
            or "the wiring")
      end
   end
   return list
end

local function rails_of(conf, nodes, wiring)
   local least, most = math.huge, 0
   for _, n in ipairs(nodes) do
      least, most = math.min(least, #n.rails), math.max(most, #n.rails)
   end
   if #nodes == 0 then
      return nil, ("topology.wiring: %s has no node"):format(wiring.source or "it")
   end
   if most > RAILS then
      return nil, ("topology.wiring: %s has a node with %d rails, expected at most %d"):format(
         wiring.source or "it", most, RAILS)
   end
   return shape.whole(conf, "rails", 1, math.max(1, most), most)
end

-- Where each port is; one that two nodes have (written by hand) tells nothing: false.
local function add_guids(guids, index, rails)
   for k, rail in ipairs(rails) do
      local guid = rail and type(rail.guid) == "string" and rail.guid:lower()
      local other = guid and guids[guid]
      if guid and other == nil then
         guids[guid] = { node = index, rail = k }
      elseif guid and other and other.node ~= index then
         guids[guid] = false
      end
   end
end

--- Nodes and where their rails are attached.
-- @param conf `nodes` (host list: these, in this order; without it all), `rails` (the first so
--   many of each; without it as many as any node has), `capacity`
-- @return { names, rails, router[k][i], lid[k][i], tx[k][i], rx[k][i], guids = map of a port's GUID
--   to { node, rail }, rail_planes = array of { node, rail, planes, left } }, nil where a node
--   has no such rail; or nil and what was expected
function wired.nodes(wiring, conf)
   local nodes, err = chosen_nodes(wiring, conf)
   if not nodes then
      return nil, err
   end
   local rails
   rails, err = rails_of(conf, nodes, wiring)
   if not rails then
      return nil, err
   end
   local t = { names = {}, rails = rails, router = {}, lid = {}, tx = {}, rx = {}, missing = {},
      guids = {}, rail_planes = {} }
   for k = 1, rails do
      t.router[k], t.lid[k], t.tx[k], t.rx[k] = {}, {}, {}, {}
   end
   for i, n in ipairs(nodes) do
      t.names[i] = n.name
      add_guids(t.guids, i, n.rails)
      for k = 1, rails do
         local rail = n.rails[k]
         if rail == false then
            t.missing[#t.missing + 1] = { node = i, rail = k }
         elseif rail then
            if rail.planes then
               t.rail_planes[#t.rail_planes + 1] = { node = i, rail = k, planes = rail.planes,
                  left = rail.left }
            end
            t.router[k][i], t.lid[k][i] = rail.router - 1, rail.lid
            for _, way in ipairs { "tx", "rx" } do
               t[way][k][i], err = capacity_of(conf, way, rail.Bps)
               if not t[way][k][i] then
                  return nil, err
               end
            end
         end
      end
   end
   return t
end

--- Tell a topology how many planes its links and rails have, and which links, or planes, were down
-- when the wiring was taken.
-- @param fabric its shape
-- @param topo, err what base.new returned
function wired.with_health(fabric, topo, err)
   if not topo then
      return nil, err
   end
   local left = {}
   for _, r in ipairs(fabric.rail_planes or {}) do
      local tx, rx = endpoint_numbers.ports_of_rail(#topo.nodes, r.node, r.rail)
      topo.planes[tx], topo.planes[rx] = r.planes, r.planes
      left[tx], left[rx] = r.left, r.left
   end
   for l, planes in pairs(fabric.planes or {}) do
      topo.planes[topo.first_link + l - 1] = planes
   end
   if next(fabric.left) or next(left) then
      for l, v in pairs(fabric.left) do
         left[topo.first_link + l - 1] = v
      end
      topo:set_health(left, { report = false })
   end
   for c, planes in pairs(topo.planes) do
      if left[c] and left[c] > 0 then
         topo.planes_up[c] = math.floor(left[c] * planes + 0.5)
      end
   end
   return topo, err
end

--- wired.shape and wired.nodes at once.
-- @return shape and nodes, or nil and what was expected
function wired.both(wiring, conf, options)
   local s, err = wired.shape(wiring, conf, options)
   if not s then
      return nil, err
   end
   local n
   n, err = wired.nodes(wiring, conf)
   if not n then
      return nil, err
   end
   return s, n
end

return wired
