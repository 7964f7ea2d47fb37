--- Torus of 1 to 6 dimensions, several nodes per router, dimension-order routing.
--
-- Router x.y.z has index (x*Y + y)*Z + z; node number = index * nodes_per_router + k + 1, in the
-- order of the node list.  Routes go X, then Y, then Z, the shorter way round; at half a ring
-- they go "+".  A ring of two has one cable, named "+" at both of its ends.
local hostlist = require "taut.hostlist"

local torus = {}
local Torus = {}
Torus.__index = Torus

local LETTERS = { "X", "Y", "Z", "A", "B", "C" }
local LETTER_DIM = { X = 1, Y = 2, Z = 3, A = 4, B = 5, C = 6 }

local function is_count(v, least)
   return math.type(v) == "integer" and v >= least
end

local function check(conf)
   local dims = conf.dims
   if type(dims) ~= "table" or #dims < 1 or #dims > 6 then
      return nil, "topology.dims: expected a list of 1 to 6 lengths, such as { 4, 2, 2 }"
   end
   for i, d in ipairs(dims) do
      if not is_count(d, 1) or d > 4096 then
         return nil, ("topology.dims[%d]: expected a whole number 1 to 4096, got %s"):format(
            i, tostring(d))
      end
   end
   if not is_count(conf.nodes_per_router, 1) then
      return nil, ("topology.nodes_per_router: expected a whole number of at least 1, got %s")
         :format(tostring(conf.nodes_per_router))
   end
   if type(conf.nodes) ~= "string" then
      return nil, "topology.nodes: expected a host list, such as \"n[0-31]\""
   end
   return true
end

-- Capacity of each kind of component, bytes per second: the port's own ("Y+"), its dimension's
-- ("Y"), or that of any link.
local function capacity_of(conf, what)
   local c = conf.capacity
   local v = type(c) == "number" and c
      or type(c) == "table" and (c[what] or c[what:sub(1, 1)] or
         (what ~= "tx" and what ~= "rx" and c.link))
   if type(v) ~= "number" or v <= 0 then
      return nil, ("topology.capacity: expected bytes per second for '%s', got %s"):format(
         what, tostring(v or nil))
   end
   return v
end

local function add_component(self, name, kind, capacity, router, node)
   local id = #self.components + 1
   self.components[id] = name
   self.component_id[name] = id
   self.kinds[id] = kind
   self.capacity[id] = capacity
   self.at_router[id] = router
   self.at_node[id] = node
   return id
end

local function coordinates(self, router)
   local at, dims = {}, self.dims
   for d = #dims, 1, -1 do
      at[d] = router % dims[d]
      router = router // dims[d]
   end
   return at
end

local function index(self, at)
   local r = 0
   for d, len in ipairs(self.dims) do
      r = r * len + at[d]
   end
   return r
end

local function neighbour(self, router, d, step)
   local stride, len = self.stride[d], self.dims[d]
   local x = router // stride % len
   return router + ((x + step) % len - x) * stride
end

local function add_links(self, conf)
   for r = 0, self.routers - 1 do
      local name = "r" .. table.concat(coordinates(self, r), ".")
      self.router_name[r] = name
      for d, len in ipairs(self.dims) do
         for _, sign in ipairs(len > 2 and { "+", "-" } or len == 2 and { "+" } or {}) do
            local port = LETTERS[d] .. sign
            local cap, err = capacity_of(conf, port)
            if not cap then
               return nil, err
            end
            local id = add_component(self, name .. "/" .. port, port, cap, r)
            self.link[d][sign][r] = id
            self.to_router[id] = neighbour(self, r, d, sign == "+" and 1 or -1)
         end
      end
   end
   return true
end

local function add_nodes(self, conf, names)
   local tx, err = capacity_of(conf, "tx")
   if not tx then
      return nil, err
   end
   local rx
   rx, err = capacity_of(conf, "rx")
   if not rx then
      return nil, err
   end
   for i, name in ipairs(names) do
      if self.node_id[name] then
         return nil, ("topology.nodes: '%s' stands twice"):format(name)
      end
      local r = (i - 1) // self.nodes_per_router
      self.nodes[i] = name
      self.node_id[name] = i
      self.tx[i] = add_component(self, name .. "/tx", "tx", tx, r, i)
      self.rx[i] = add_component(self, name .. "/rx", "rx", rx, r, i)
   end
   return true
end

--- Build a torus.
-- @param conf { dims = {4,2,2}, nodes_per_router = 2, nodes = "n[0-31]",
--   capacity = number, or { tx=, rx=, link= or X=, Y=, …, "X+"= } in bytes per second }
-- @return torus, or nil and what was expected
function torus.build(conf)
   local ok, err = check(conf)
   if not ok then
      return nil, err
   end
   local self = setmetatable({
      kind_name = "torus",
      signature = ("torus %s/%d %s"):format(table.concat(conf.dims, "x"), conf.nodes_per_router,
         conf.nodes), dims = conf.dims, nodes_per_router = conf.nodes_per_router,
      routers = 1, nodes = {}, node_id = {}, components = {}, component_id = {}, kinds = {},
      capacity = {}, at_router = {}, at_node = {}, to_router = {}, router_name = {},
      tx = {}, rx = {}, link = {}, stride = {},
   }, Torus)
   for d = #conf.dims, 1, -1 do
      self.stride[d] = self.routers
      self.routers = self.routers * conf.dims[d]
      self.link[d] = { ["+"] = {}, ["-"] = {} }
   end
   local positions = self.routers * conf.nodes_per_router
   local names, why = hostlist.expand(conf.nodes, positions)
   if not names or #names ~= positions then
      return nil, ("topology.nodes: expected %d names (%s routers of %d nodes), got %s"):format(
         positions, table.concat(conf.dims, "x"), conf.nodes_per_router, why or #names)
   end
   ok, err = add_nodes(self, conf, names)
   if ok then
      ok, err = add_links(self, conf)
   end
   if not ok then
      return nil, err
   end
   return self
end

--- Steps from coordinate a to b in a ring: positive goes "+"; a tie goes "+".
local function ring_steps(a, b, len)
   local s = (b - a) % len
   return s * 2 <= len and s or s - len
end

-- Calls fn(router, dimension, sign) for each link from router r to router goal.
local function walk(self, r, goal, fn)
   local dims, stride = self.dims, self.stride
   for d = 1, #dims do
      local len, st = dims[d], stride[d]
      local steps = ring_steps(r // st % len, goal // st % len, len)
      -- the one cable of a ring of two is "+" from both sides: ring_steps never goes "-" there
      local sign, one = steps > 0 and "+" or "-", steps > 0 and 1 or -1
      for _ = 1, math.abs(steps) do
         fn(r, d, sign)
         r = neighbour(self, r, d, one)
      end
   end
end

function Torus:router(n)
   return (n - 1) // self.nodes_per_router
end

function Torus:route(a, b)
   local route = { self.tx[a] }
   walk(self, self:router(a), self:router(b), function(r, d, sign)
      route[#route + 1] = self.link[d][sign][r]
   end)
   route[#route + 1] = self.rx[b]
   return route
end

function Torus:hops(a, b)
   local r, goal, n = self:router(a), self:router(b), 0
   for d, len in ipairs(self.dims) do
      local st = self.stride[d]
      n = n + math.abs(ring_steps(r // st % len, goal // st % len, len))
   end
   return n
end

function Torus:kind(c)
   return self.kinds[c]
end

function Torus:is_link(c)
   return self.at_node[c] == nil
end

-- Nodes on a router, as numbers.
function Torus:on_router(r)
   local list, first = {}, r * self.nodes_per_router
   for k = 1, self.nodes_per_router do
      list[k] = first + k
   end
   return list
end

-- Sum of the capacities of the links that leave or reach a router, with `left` of link c.
local function fabric_capacity(self, router, c, left)
   local out, into = 0, 0
   for d in ipairs(self.dims) do
      for _, sign in ipairs { "+", "-" } do
         local id = self.link[d][sign][router]
         if id then
            out = out + self.capacity[id] * (id == c and left or 1)
            local back = self:opposite(id)
            into = into + self.capacity[back] * (back == c and left or 1)
         end
      end
   end
   return out, into
end

--- Nodes behind a component: those whose largest flow from or to the rest of the machine falls
-- below 0.75 of the healthy one.  For a link the flow is bounded by the links of the router at
-- its end; cuts further out need several failures and are not looked for.
-- @param c component
-- @param left fraction of its capacity that is left
-- @return array of node numbers
function Torus:behind(c, left)
   if self.at_node[c] then
      return left < 0.75 and { self.at_node[c] } or {}
   end
   local list = {}
   for _, r in ipairs { self.at_router[c], self.to_router[c] } do
      local out, into = fabric_capacity(self, r, c, left)
      local out0, into0 = fabric_capacity(self, r)
      for _, n in ipairs(self:on_router(r)) do
         local tx, rx = self.capacity[self.tx[n]], self.capacity[self.rx[n]]
         if math.min(tx, out) < 0.75 * math.min(tx, out0) or
            math.min(rx, into) < 0.75 * math.min(rx, into0) then
            list[#list + 1] = n
         end
      end
   end
   return list
end

--- The link of the same cable in the other direction.
function Torus:opposite(c)
   local port = self.kinds[c]
   local d = LETTER_DIM[port:sub(1, 1)]
   local sign = self.dims[d] == 2 and "+" or port:sub(2) == "+" and "-" or "+"
   return self.link[d][sign][self.to_router[c]]
end

--- Nodes at the ends of a component.
function Torus:ends(c)
   if self.at_node[c] then
      return { self.at_node[c] }
   end
   local list = self:on_router(self.at_router[c])
   for _, n in ipairs(self:on_router(self.to_router[c])) do
      list[#list + 1] = n
   end
   return list
end

--- The cable of a component, for the repair list.
function Torus:cable(c)
   if self.at_node[c] then
      return ("%s to %s"):format(self.nodes[self.at_node[c]], self.router_name[self.at_router[c]])
   end
   return ("%s to %s"):format(self.components[c], self.components[self:opposite(c)])
end

--- Candidate tests between neighbouring routers of a set of nodes, as TopoBW orders them: one
-- group per dimension, direction and parity of the sending router's coordinate, so that in a
-- group (rings of even length) no router sends and receives at once.
-- @param by_router map router number → array of its nodes that take part
-- @return array of groups, each { key =, pairs = array of { from router, to router } }
function Torus:neighbours(by_router)
   local groups, at = {}, {}
   for r in pairs(by_router) do
      for d, len in ipairs(self.dims) do
         for _, sign in ipairs(len > 2 and { "+", "-" } or len == 2 and { "+" } or {}) do
            local to = neighbour(self, r, d, sign == "+" and 1 or -1)
            if by_router[to] then
               local parity = r // self.stride[d] % len % 2
               local key = ("%d%s%d"):format(d, sign, parity)
               if not at[key] then
                  at[key] = { key = key, pairs = {} }
                  groups[#groups + 1] = at[key]
               end
               table.insert(at[key].pairs, { r, to })
            end
         end
      end
   end
   table.sort(groups, function(a, b) return a.key < b.key end)
   for _, g in ipairs(groups) do
      table.sort(g.pairs, function(a, b) return a[1] < b[1] end)
   end
   return groups
end

--- Coordinates of a router, as an array.
function Torus:coordinates(router)
   return coordinates(self, router)
end

--- Router at coordinates (taken modulo the ring lengths).
function Torus:router_at(at)
   local wrapped = {}
   for d, len in ipairs(self.dims) do
      wrapped[d] = at[d] % len
   end
   return index(self, wrapped)
end

return torus
