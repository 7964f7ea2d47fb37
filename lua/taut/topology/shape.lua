-- SPDX-License-Identifier: GPL-2.0-or-later
--- What a model is made of before it is a topology: routers and directed links, in order.
--
-- A model fills a shape; the base (taut.topology.base) adds nodes, names and routes.  Routers count
-- from 0; links from 1, in the order in which they are added, which is also the order of a router's
-- links wherever a routing engine has to choose the first of several.
local hostlist = require "taut.hostlist"
local settings = require "taut.topology.torus.settings"
local unknown = require "taut.topology.unknown"

local shape = {}
local Shape = {}
Shape.__index = Shape

--- Share of adaptive traffic that is taken to leave the minimal ways of a quiet network, where a
-- site does not say: enough that no single test clears a link because of its route alone.
shape.MISROUTED = 0.1

--- An empty shape.
function shape.new()
   return setmetatable({ routers = 0, links = 0, router_name = {}, from = {}, to = {}, port = {},
      kind = {}, capacity = {}, left = {}, cables = {} }, Shape)
end

--- Add a router.
-- @return its number
function Shape:router(name)
   local r = self.routers
   self.router_name[r] = name
   self.routers = r + 1
   return r
end

--- Add a directed link.
-- @param from, to routers
-- @param port name of the port it leaves by
-- @param kind what it is ("global")
-- @param capacity bytes per second
-- @param cables how many it is, where they are several
-- @return its number
function Shape:link(from, to, port, kind, capacity, cables)
   local i = self.links + 1
   self.links = i
   self.from[i], self.to[i] = from, to
   self.port[i], self.kind[i], self.capacity[i] = port, kind, capacity
   if cables and cables > 1 then
      self.cables[i] = cables
   end
   return i
end

--- What base.new wants, but for kind_name, label, engine and params.
-- @param nodes nodes: { names, rails, router[k][i] = router of rail k of node i, tx[k][i], rx[k][i]
--   }, tx and rx one number where all are alike
function Shape:spec(nodes)
   local at, count = {}, #nodes.names
   self.rail_planes = nodes.rail_planes
   for k = 1, nodes.rails do
      for i = 1, count do
         at[count * (k - 1) + i] = nodes.router[k][i] or false
      end
   end
   local function by_endpoint(value)
      if type(value) ~= "table" then
         return value
      end
      local list = {}
      for e = 1, count * nodes.rails do
         -- a rail that is not there has to have some capacity all the same
         list[e] = value[(e - 1) // count + 1][(e - 1) % count + 1] or 1
      end
      return list
   end
   return { nodes = nodes.names, rails = nodes.rails, missing_rails = nodes.missing,
      port_guids = nodes.guids,
      other_planes = self.other_planes,
      router_of = at,
      tx = by_endpoint(nodes.tx), rx = by_endpoint(nodes.rx), router_name = self.router_name,
      links = { from = self.from,
      to = self.to, port = self.port, kind = self.kind, capacity = self.capacity,
      back = self.back, cables = self.cables } }
end

--- Nodes of a regular model: as many names as there are places.
-- @param conf `nodes` (host list), `service` (host list of those among them that are not nodes of
--   the machine but take a place), `capacity`
-- @param places how many
-- @param what words for what makes the places
-- @param rails how many
-- @param place function(position from 0, rail from 0) → router
-- @return as Shape:spec takes it, and position[i] of each node; or nil and what was expected
function shape.nodes(conf, places, what, rails, place)
   if type(conf.nodes) ~= "string" then
      return nil, "topology.nodes: expected a host list, such as \"n[0-31]\""
   end
   local names, why = hostlist.expand(conf.nodes, math.max(places, 1))
   if not names or #names ~= places then
      return nil, ("topology.nodes: expected %d names (%s), got %s"):format(places, what,
         why or #names)
   end
   local service, err = settings.service(conf, names)
   if not service then
      return nil, err
   end
   local both
   both, err = shape.capacities(conf, { "tx", "rx" })
   if not both then
      return nil, err
   end
   local n = { names = {}, rails = rails, router = {}, tx = both.tx, rx = both.rx, position = {} }
   for k = 1, rails do
      n.router[k] = {}
   end
   for p, name in ipairs(names) do
      if not service[name] then
         local i = #n.names + 1
         n.names[i], n.position[i] = name, p - 1
         for k = 1, rails do
            n.router[k][i] = place(p - 1, k - 1)
         end
      end
   end
   return n
end

--- A setting that is a whole number.
-- @param conf the topology's configuration
-- @param name setting
-- @param least, most limits
-- @param default value when it is not set; without one the setting must be there
-- @return the number, or nil and what was expected
function shape.whole(conf, name, least, most, default)
   local v = conf[name]
   if v == nil then
      v = default
   end
   if math.type(v) ~= "integer" or v < least or v > most then
      return nil, ("topology.%s: expected a whole number %d to %d, got %s"):format(name, least,
         most, tostring(v))
   end
   return v
end

--- A setting that is one of a few words.
-- @return the word, or nil and what was expected
function shape.word(conf, name, words, default)
   local v = conf[name]
   if v == nil then
      v = default
   end
   for _, w in ipairs(words) do
      if v == w then
         return v
      end
   end
   return nil, ("topology.%s: expected one of %s, got %s"):format(name, table.concat(words, ", "),
      tostring(v))
end

--- A setting that is a share, 0 to 1.
function shape.share(conf, name, default)
   local v = conf[name]
   if v == nil then
      v = default
   end
   if type(v) ~= "number" or not (v >= 0 and v <= 1) then
      return nil, ("topology.%s: expected a number 0 to 1, got %s"):format(name, tostring(v))
   end
   return v
end

--- The share of traffic that adaptive routing sends another way than the shortest.
function shape.misrouted(conf, is_adaptive)
   local default = 0
   if is_adaptive then
      default = shape.MISROUTED
   end
   return shape.share(conf, "misrouted", default)
end

--- Capacity of one kind of component.
-- @param conf has `capacity`: one number for all, or a table by kind, `link` standing for every
--   link that is not named
-- @param kind "tx", "rx" or a kind of link
-- @return bytes per second, unknown.CABLE if not given, or nil and what was expected
function shape.capacity(conf, kind)
   local c = conf.capacity
   local v = c
   if type(c) == "table" then
      v = c[kind]
      if kind ~= "tx" and kind ~= "rx" then
         v = v or c.link
      end
   elseif type(c) ~= "number" then
      v = nil
   end
   return unknown.checked(c, v or nil, kind)
end

--- Capacities of several kinds at once.
-- @return { kind → bytes per second }, or nil and what was expected
function shape.capacities(conf, kinds)
   local list = {}
   for _, k in ipairs(kinds) do
      local v, err = shape.capacity(conf, k)
      if not v then
         return nil, err
      end
      list[k] = v
   end
   return list
end

return shape
