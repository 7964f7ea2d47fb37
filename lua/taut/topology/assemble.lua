-- SPDX-License-Identifier: GPL-2.0-or-later
--- Puts a topology together: numbers for names, the graph in C, one number for all of the wiring.
local graph = require "taut.graph"
local endpoint_numbers = require "taut.topology.model.endpoint_numbers"
local tables = require "taut.base.tables"
local unknown = require "taut.topology.unknown"

local assemble = {}

local function add_name(self, name)
   local c = #self.components + 1
   if self.component_id[name] then
      return nil, ("component '%s' is given twice"):format(name)
   end
   self.components[c], self.component_id[name] = name, c
   return c
end

local function of_endpoint(value, endpoint)
   if type(value) == "table" then
      return value[endpoint] or value
   end
   return value
end

local function add_nodes(self, spec)
   local n, rails = #spec.nodes, self.rails
   for i, name in ipairs(spec.nodes) do
      if self.node_id[name] then
         return nil, ("topology.nodes: '%s' is given twice"):format(name)
      end
      self.nodes[i], self.node_id[name] = name, i
      self.tx[i], self.rx[i] = endpoint_numbers.ports_of(i)
   end
   for e = 1, n * rails do
      local node, rail = endpoint_numbers.node_of(n, e)
      local name = spec.nodes[node]
      if rails > 1 then
         name = ("%s:%d"):format(name, rail)
      end
      local tx, err = add_name(self, name .. "/tx")
      local rx = tx and add_name(self, name .. "/rx")
      if not rx then
         return nil, err
      end
      self.capacity[tx], self.capacity[rx] = of_endpoint(spec.tx, e), of_endpoint(spec.rx, e)
   end
   return true
end

local function add_links(self, spec)
   local links, names = spec.links, spec.router_name
   local components, ids, c = self.components, self.component_id, #self.components
   self.first_link = c + 1
   self.kinds = links.kind or links.port
   self.link_class = links.class or self.kinds
   for l, from in ipairs(links.from) do
      local name = names[from] .. "/" .. links.port[l]
      if ids[name] then
         return nil, ("component '%s' is given twice"):format(name)
      end
      c = c + 1
      components[c], ids[name] = name, c
   end
   table.move(links.capacity, 1, #links.from, self.first_link, self.capacity)
   for l, cables in pairs(links.cables or {}) do
      self.cables[self.first_link + l - 1] = cables
   end
   return true
end

-- A value as text, the same for equal values.
local function describe_value(value, out)
   if type(value) == "function" or type(value) == "userdata" then
      return out -- has another text each time; what it gives stands in other parameters
   elseif type(value) ~= "table" then
      out[#out + 1] = tostring(value)
      return out
   end
   local is_plain, text = pcall(table.concat, value, " ") -- numbers and names: most of it all
   if is_plain then
      out[#out + 1] = text
   else
      for i = 1, #value do
         describe_value(value[i], out)
      end
   end
   local keys = {}
   for k in pairs(tables.or_empty(#value == 0 and value)) do
      if type(k) == "string" then
         keys[#keys + 1] = k
      end
   end
   table.sort(keys)
   for _, k in ipairs(keys) do
      out[#out + 1] = k
      describe_value(value[k], out)
   end
   return out
end

-- Names, wiring and routing in one number.
local function wiring_number(self, spec)
   return graph.digest(table.concat(describe_value({ self.components, spec.router_of,
      spec.links.from, spec.links.to, spec.engine, spec.params }, {}), " "))
end

--- Fill a topology from what its model says (base.new).
-- @return true, or nil and what is wrong
function assemble.fill(self, spec)
   self.routers = 0
   for r, name in pairs(spec.router_name) do
      if self.router_id[name] then
         return nil, ("router '%s' is given twice"):format(name)
      end
      self.router_id[name] = r
      self.routers = self.routers + 1
   end
   local ok, err = add_nodes(self, spec)
   if ok then
      ok, err = add_links(self, spec)
   end
   if not ok then
      return nil, err
   end
   unknown.take(self)
   self.graph, err = graph.new { routers = self.routers, nodes = #self.nodes, rails = self.rails,
      from = spec.links.from, to = spec.links.to, at = spec.router_of, capacity = self.capacity,
      back = spec.links.back }
   if not self.graph then
      return nil, "topology: " .. err
   end
   ok, err = self.graph:engine(spec.engine, spec.params)
   if not ok then
      return nil, "topology: " .. err
   end
   for name, fn in pairs(self.graph:closures()) do
      self[name] = fn -- crosses, route, router_route, hops, router, from, to
   end
   self.wiring = ("%s [%s]"):format(spec.label, wiring_number(self, spec))
   self.signature = self.wiring
   return true
end

return assemble
