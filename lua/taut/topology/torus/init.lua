-- SPDX-License-Identifier: GPL-2.0-or-later
--- Torus and mesh of 1 to 6 dimensions, several nodes per router, dimension order routing.
--
-- Router x.y.z has index (x*Y + y)*Z + z; node k of it has place index * nodes_per_router + k, in
-- the order of the node list.  Routes go X, then Y, then Z, the shorter way round; at half a ring
-- they go "+".  A ring of two has one cable, named "+" at both of its ends, or two.  What happens
-- to routes when links fail: advisor/lib/graph/torus/torus.h.
local base = require "taut.topology.base"
local from_slurm = require "taut.topology.import.slurm.coordinates"
local hostlist = require "taut.hostlist"
local settings = require "taut.topology.torus.settings"
local tables = require "taut.base.tables"

local torus = {}
local Torus = base.class()

---------------------------------------------------------------- geometry

local function coordinates(dims, router)
   local at = {}
   for d = #dims, 1, -1 do
      at[d] = router % dims[d]
      router = router // dims[d]
   end
   return at
end

local function neighbour(self, router, dim, step)
   local stride, len = self.stride[dim], self.dims[dim]
   local x = router // stride % len
   return router + ((x + step) % len - x) * stride
end

local OPPOSITE = { ["+"] = "-", ["-"] = "+" }
local STEP = { ["+"] = 1, ["-"] = -1 }
local CODE = { ["+"] = 0, ["-"] = 1 }

-- Port of the far end of the cable that leaves by a dimension in this direction.
local function far_sign(self, dim, sign)
   if self.dims[dim] == 2 and not self.two_cables[dim] then
      return sign
   end
   return OPPOSITE[sign]
end

-- The number of a port: two for each dimension.
local function port_code(dim, sign)
   return 2 * (dim - 1) + CODE[sign]
end

local NONE, BOTH, UP, DOWN = {}, { "+", "-" }, { "+" }, { "-" }

-- Directions in which a router has a link in a dimension.
local function signs_at(self, dim, coordinate)
   local len = self.dims[dim]
   if len == 1 then
      return NONE
   elseif len == 2 and not self.two_cables[dim] then
      return UP
   elseif self.wrap[dim] then
      return BOTH
   elseif coordinate == 0 then
      return UP
   elseif coordinate == len - 1 then
      return DOWN
   end
   return BOTH
end

---------------------------------------------------------------- building

local function router_names(self)
   local names = {}
   for r = 0, self.routers - 1 do
      names[r] = "r" .. table.concat(coordinates(self.dims, r), ".")
   end
   return names
end

-- The ports of a router at a coordinate of a dimension: what is the same for all such routers.
local function ports_at(self, conf, dim, coordinate)
   local letter, list = settings.LETTERS[dim], {}
   for i, sign in ipairs(signs_at(self, dim, coordinate)) do
      local step, from, class = STEP[sign], coordinate, letter
      if step < 0 then
         from = (coordinate - 1) % self.dims[dim]
      end
      if self.layout then
         class = self.layout.class(letter, from) or letter
      end
      local cap, err = settings.capacity_of(conf, letter .. sign, class, self.layout)
      if not cap then
         return nil, err
      end
      local far = port_code(dim, far_sign(self, dim, sign))
      list[i] = { name = letter .. sign, class = class, capacity = cap, far = far,
         code = port_code(dim, sign),
         move = ((coordinate + step) % self.dims[dim] - coordinate) * self.stride[dim] }
   end
   return list
end

local function all_ports(self, conf)
   local ports = {}
   for d, len in ipairs(self.dims) do
      ports[d] = {}
      for x = 0, len - 1 do
         local err
         ports[d][x], err = ports_at(self, conf, d, x)
         if not ports[d][x] then
            return nil, err
         end
      end
   end
   return ports
end

local function add_links(self, conf)
   local from, to, port, class, capacity, code, back, at = {}, {}, {}, {}, {}, {}, {}, {}
   local ports, err = all_ports(self, conf)
   if not ports then
      return nil, err
   end
   local n = 0
   for r = 0, self.routers - 1 do
      for d, len in ipairs(self.dims) do
         for _, p in ipairs(ports[d][r // self.stride[d] % len]) do
            n = n + 1
            from[n], to[n], port[n], class[n] = r, r + p.move, p.name, p.class
            capacity[n], code[n], back[n] = p.capacity, p.code, (r + p.move) * 12 + p.far
            at[r * 12 + p.code] = n
         end
      end
   end
   for l = 1, n do
      back[l] = at[back[l]]
   end
   return { from = from, to = to, port = port, class = class, capacity = capacity, code = code,
      back = back }
end

local function port_capacities(self, conf)
   local out = {}
   for _, port in ipairs { "tx", "rx" } do
      local err
      out[port], err = settings.capacity_of(conf, port, port, self.layout)
      if not out[port] then
         return nil, err
      end
   end
   return out
end

-- Names of the compute nodes and their routers, in the order of the list.
local function by_position(self, conf)
   local positions = self.routers * self.nodes_per_router
   local names, why = hostlist.expand(conf.nodes, positions)
   local shape = table.concat(self.dims, "x")
   if not names or #names ~= positions then
      return nil, ("topology.nodes: expected %d names (%s routers of %d nodes), got %s"):format(
         positions, shape, self.nodes_per_router, why or #names)
   end
   local skip, err = settings.service(conf, names)
   if not skip then
      return nil, err
   end
   local kept, router_of = {}, {}
   for i, name in ipairs(names) do
      if not skip[name] then
         kept[#kept + 1] = name
         router_of[#kept] = (i - 1) // self.nodes_per_router
         if self.layout then
            router_of[#kept] = self.layout.router_of_nid(i - 1) or router_of[#kept]
         end
      end
   end
   return kept, router_of
end

local function place_nodes(self, conf)
   local function index_of(at)
      return (at[1] * self.dims[2] + at[2]) * self.dims[3] + at[3]
   end
   local function coordinates_in_words(router)
      return table.concat(coordinates(self.dims, router), ",")
   end
   if conf.at and not conf.is_checked then
      return from_slurm.place(conf, index_of)
   end
   local names, router_of = by_position(self, conf)
   local ok, err = true, nil
   if names and conf.at then
      ok, err = from_slurm.check(conf, names, router_of, index_of, coordinates_in_words)
   end
   if not ok then
      return nil, err
   end
   return names, router_of
end

-- Coordinates that Slurm gave are part of the wiring, too.
local function describe_torus(self, conf)
   local words = ("%s %s/%d %s"):format(self.kind_name, table.concat(self.dims, "x"),
      self.nodes_per_router, conf.nodes)
   if conf.layout then
      words = words .. " " .. conf.layout
   end
   if conf.from then
      words = words .. " from " .. conf.from
   end
   return words
end

local function fields_of(conf)
   local f = { kind_name = conf.kind, dims = conf.dims, nodes_per_router = conf.nodes_per_router,
      routers = 1, stride = {} }
   for d = #conf.dims, 1, -1 do
      f.stride[d] = f.routers
      f.routers = f.routers * conf.dims[d]
   end
   local err = settings.fill(f, conf)
   if err then
      return nil, err
   end
   return f
end

-- Cables that are down, by one of their two links.
local function with_down(topo, down)
   local left = {}
   for i, name in ipairs(tables.or_empty(down)) do
      local c = topo.component_id[name]
      if not c or not topo:is_link(c) then
         return nil, ("topology.down: expected a link such as %s, got %s"):format(
            topo.components[topo.first_link] or "r0/X+", tostring(name))
      end
      left[c], left[topo:opposite(c) or c] = 0, 0
      if i == #down then
         topo:set_health(left, { report = false })
      end
   end
   return topo
end

--- Build a torus or a mesh.
-- @param conf { kind = "torus" or "mesh", dims = {4,2,2}, nodes_per_router = 2, nodes = "n[0-31]",
--   capacity = number, or { tx=, rx=, link= or X=, Y=, "X+"= or a class of the layout … } in bytes
--   per second }; and where wanted wrap, two_cables, tie, order, retry, layout, service, down: see
--   taut.lua(5)
-- @return topology, or nil and what was expected
function torus.build(conf)
   local err
   conf, err = settings.complete(conf)
   if not conf then
      return nil, err
   end
   local f, names, router_of, links, port
   f, err = fields_of(conf)
   if not f then
      return nil, err
   end
   names, router_of = place_nodes(f, conf)
   if not names then
      return nil, router_of
   end
   links, err = add_links(f, conf)
   if not links then
      return nil, err
   end
   port, err = port_capacities(f, conf)
   if not port then
      return nil, err
   end
   local topo
   topo, err = base.new(Torus, { kind_name = f.kind_name, label = describe_torus(f, conf),
      nodes = names,
      router_of = router_of, router_name = router_names(f), tx = port.tx, rx = port.rx,
      links = links, engine = "torus", fields = f, params = { dims = f.dims, wraps = f.wrap,
         tie_minus = f.tie_minus, order = f.order, no_retry = f.no_retry, port = links.code } })
   if not topo then
      return nil, err
   end
   return with_down(topo, conf.down)
end

---------------------------------------------------------------- what only a torus knows

--- Coordinates of a router, as an array.
function Torus:coordinates(router)
   return coordinates(self.dims, router)
end

--- Router at coordinates (taken modulo the ring lengths).
function Torus:router_at(at)
   local r = 0
   for d, len in ipairs(self.dims) do
      r = r * len + at[d] % len
   end
   return r
end

--- Where a component is, in words of the machine room.
function Torus:place(component)
   local node = self:node_of(component)
   if not self.layout then
      return self:cable(component)
   elseif node then
      return self.layout.cname(self:router(node))
   end
   return self.layout.words(self:class(component), self:from(component), self:to(component))
end

--- Words for failed links that leave no route: where they are.
function Torus:blocked_by(names, links)
   local ring = self:kind(links[1]):sub(1, 1)
   if #links == 1 then
      return ("%s failed, and %s has no other way"):format(names[1], ring)
   end
   local text = ("two failures in one %s ring, %s and %s"):format(ring, names[1], names[2])
   if not self.no_retry then
      text = text .. ", and no other order of the dimensions gets through"
   end
   return text
end

local Base_load = Torus.load

--- As base.lua's; nearest neighbours are those of the torus where all positions take part.
function Torus:load(name, opt)
   opt = opt or {}
   if name == "nearest" and not opt.nodes and not opt.grid and not self.layout and
      #self.nodes == self.routers * self.nodes_per_router then
      local grid = table.move(self.dims, 1, #self.dims, 1, {})
      if self.nodes_per_router > 1 then
         grid[#grid + 1] = self.nodes_per_router
      end
      opt = setmetatable({ grid = grid }, { __index = opt })
   end
   return Base_load(self, name, opt)
end

--- Candidate tests between neighbouring routers of a set of nodes, in the order of TopoBW. There is
-- one group per dimension, direction and parity of the sending router's coordinate, so that in a
-- group (rings of even length) no router sends and receives at once.
-- @param by_router map router number → array of its nodes that take part
-- @return array of groups, each { key =, dimension =, way = "+0" for "+" from even routers, pairs =
--   array of { from router, to router } }
function Torus:neighbours(by_router)
   local groups, at = {}, {}
   for r in pairs(by_router) do
      for d, len in ipairs(self.dims) do
         local x = r // self.stride[d] % len
         for _, sign in ipairs(signs_at(self, d, x)) do
            local to = neighbour(self, r, d, STEP[sign])
            if by_router[to] then
               local key = ("%d%s%d"):format(d, sign, x % 2)
               if not at[key] then
                  at[key] = { key = key, dimension = d, way = sign .. x % 2, pairs = {} }
                  groups[#groups + 1] = at[key]
               end
               table.insert(at[key].pairs, { r, to })
            end
         end
      end
   end
   table.sort(groups, function(one, other) return one.key < other.key end)
   for _, g in ipairs(groups) do
      table.sort(g.pairs, function(one, other) return one[1] < other[1] end)
   end
   return groups
end

return torus
