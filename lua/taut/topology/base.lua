-- SPDX-License-Identifier: GPL-2.0-or-later
--- What all topologies have in common: names and numbers here, routes and flows in C.
--
-- A model (torus.lua …) works out routers, links, names and the parameters of its routing engine,
-- makes a class with base.class() and hands all of it to base.new().
local endpoint_numbers = require "taut.topology.model.endpoint_numbers"
local tables = require "taut.base.tables"
local assemble = require "taut.topology.assemble"
local dynamic = require "taut.topology.seen.dynamic"
local health = require "taut.topology.health"
local islands = require "taut.topology.islands"
local load = require "taut.topology.load"
local neighbours = require "taut.topology.neighbours"

local base = {}
local Base = {}

local BEHIND_KEPT = 1000 -- answers; whoever decides about verdicts asks for all that stand
local BEHIND = 0.75  -- share of its healthy flow below which a node is behind a component
local LITTLE = 1e-9   -- of a flow: no loss
local EXPOSED = 0.25 -- share of a node's routes above which it is exposed to a link

--- A class for a model: its own functions first, then those below.
function base.class()
   local class = setmetatable({}, { __index = Base })
   class.__index = class
   return class
end

---------------------------------------------------------------- building

--- Make a topology.
-- @param class of base.class()
-- @param spec table:
--   kind_name; label (words for a message: "torus 4x2x2, 2 nodes per router");
--   nodes: array of names; rails (default 1); missing_rails: array of { node, rail }, numbers, that
--     peers of the node have (default none);
--   other_planes: map of the GUID of a switch of another plane to the name of the one that stands
--     for it (default none);
--   port_guids: map of an InfiniBand port's GUID to { node, rail }, numbers (default none);
--   router_of: array endpoint → router number, false where a node has no such rail;
--   tx, rx: bytes per second, one number or an array by endpoint;
--   router_name: table from 0 on;
--   links: columns, arrays of one length: from, to (routers), port (unique on its router),
--     capacity (bytes per second); and where they are to differ kind (default port), class
--     (default kind), cables (of one wiring that are one link, by link, where they are several),
--     back (number in these arrays of the same cable's other direction, or false);
--   engine, params: the routing engine in C and its parameters (mod_graph_engines.c);
--   fields: table copied into the object
-- @return topology, or nil and what is wrong
function base.new(class, spec)
   local self = setmetatable({ kind_name = spec.kind_name, rails = spec.rails or 1,
      missing_rails = spec.missing_rails or {}, port_guids = spec.port_guids or {},
      other_planes = spec.other_planes or {},
      nodes = {}, node_id = {}, components = {}, component_id = {}, capacity = {},
      cables = {}, planes = {}, planes_up = {},
      router_name = spec.router_name, router_id = {}, tx = {}, rx = {}, epoch = 1, failed = {},
      degraded = {}, away = {}, away_count = 0, unreached = {} }, class)
   for k, v in pairs(spec.fields or {}) do
      self[k] = v
   end
   local ok, err = assemble.fill(self, spec)
   if not ok then
      return nil, err
   end
   return self
end

---------------------------------------------------------------- components

function Base:is_link(component)
   return component >= self.first_link
end

--- Is the component there?  The tx and rx of a rail that a node has not got have numbers and names
-- all the same; so have those of a node that is away.
function Base:is_there(component)
   return component >= self.first_link or self:from(component) ~= nil
      and not self.away[(self:node_of(component))]
end

--- Say which of the `dynamic` nodes are away: set of their numbers (seen/dynamic.lua).
function Base:set_away(away)
   dynamic.set_away(self, away)
end

--- How many components are not there.
function Base:absent()
   if not self.absent_count then
      self.absent_count = 0
      for c = 1, self.first_link - 1 do
         if not self:is_there(c) then
            self.absent_count = self.absent_count + 1
         end
      end
   end
   return self.absent_count
end

--- The node that a tx or rx belongs to, and its rail; nil for a link.
function Base:node_of(component)
   if component >= self.first_link then
      return nil
   end
   local e, n = (component - 1) // 2, #self.nodes
   return e % n + 1, e // n + 1
end

--- "tx", "rx", or what kind of port a link leaves by ("X+", "uplink", "global").
function Base:kind(component)
   if component >= self.first_link then
      return self.kinds[component - self.first_link + 1]
   elseif component % 2 == 1 then
      return "tx"
   end
   return "rx"
end

--- The same without its direction: "X" of "X+".
function Base:axis(component)
   return (self:kind(component):gsub("[+-]$", ""))
end

--- What bandwidth class a component is ("tx", "mezzanine", "uplink" …); of a node that is in a
-- class of its own with that: "gpu tx".
function Base:class(component)
   if component < self.first_link then
      local name = self.node_class and self.node_class[self:node_of(component)]
      local way = Base.kind(self, component)
      if name then
         return name .. " " .. way
      end
      return way
   end
   return self.link_class[component - self.first_link + 1]
end

--- Links of a component's class, in words: "uplinks", "cable links".
function Base:class_links(component)
   local class = self:class(component)
   if class:find "link$" then
      return class .. "s"
   end
   return class .. " links"
end

--- Bytes per second that it is known to carry; nil where that is learned, and is not yet known.
function Base:known_capacity(component)
   if self.open and self.open[component] then
      return nil
   end
   return self.capacity[component]
end

--- The link of the same cable in the other direction; the rx of a tx and the other way round.
function Base:opposite(component)
   return self.graph:opposite(component)
end

--- Links that leave a router.
function Base:links_of(router)
   return self.graph:links_of(router)
end

--- Links from a router to another.
function Base:links_between(router, other)
   return tables.filter(self.graph:links_of(router), function(component)
      return self:to(component) == other
   end)
end

--- Nodes on a router, ascending.
function Base:on_router(router)
   return self.graph:on_router(router)
end

--- The router that a node's first rail leads to, of those that it has; nil: none.
function Base:home(node)
   for rail = 1, self.rails or 1 do
      local r = self:router(node, rail)
      if r then
         return r
      end
   end
end

--- Those of them whose first rail leads there: each node is at home on one router only.
function Base:at_home(router)
   if (self.rails or 1) == 1 then
      return self:on_router(router)
   end
   return tables.filter(self:on_router(router), function(node)
      return self:home(node) == router
   end)
end

--- Nodes at the two ends of a component: one for a tx or rx, none for a link between routers that
-- have none.
function Base:ends(component)
   local node = self:node_of(component)
   if node then
      return { node }
   end
   local list, seen = self:on_router(self:from(component)), {}
   for _, n in ipairs(list) do
      seen[n] = true
   end
   for _, n in ipairs(self:on_router(self:to(component))) do
      if not seen[n] then
         list[#list + 1] = n
      end
   end
   return list
end

--- Nodes near a component: those at its ends, else those on the nearest routers that have some.
function Base:near(component)
   local list = self:ends(component)
   if #list > 0 then
      return list
   end
   return neighbours.nearest_nodes(self, { self:from(component), self:to(component) })
end

--- The cable of a component, for the repair list.
function Base:cable(component)
   local node, rail = self:node_of(component)
   if node then
      local r = self:router(node, rail)
      return ("%s to %s"):format(self.nodes[node], self.router_name[r or -1] or "nothing")
   end
   local far, back = self.router_name[self:to(component)], self:opposite(component)
   if back then
      far = self.components[back]
   end
   return ("%s to %s"):format(self.components[component], far)
end

--- Where a component is, in words of the machine room; the cable where no model knows better.
function Base:place(component)
   return self:cable(component)
end

---------------------------------------------------------------- routes

--- Why there is no route from a router to another, where that is known; to a node on it, if given.
function Base:because(from, to, node, rail)
   local links = self.graph:blame(from, to, node, rail)
   if not links or #links == 0 then
      return nil
   end
   return self:blocked_by(tables.map(links, function(component)
      return self.components[component]
   end), links)
end

--- Words for failed links that leave no route.
function Base.blocked_by(_, names)
   return table.concat(names, " and ") .. " failed"
end

--- Why there is no route from node src to node dst, as a sentence.
-- @param rail which of their rails (default 1)
function Base:why(src, dst, rail)
   local r, s = self:router(src, rail), self:router(dst, rail)
   if not r or not s then
      local name = self.nodes[src]
      if r then
         name = self.nodes[dst]
      end
      if self.rails > 1 then
         return ("%s has no rail %d"):format(name, rail or 1)
      end
      return name .. " is not connected"
   end
   if not islands.are_joined(self, src, dst, rail) then
      return "no link joins the parts of the machine that they are in"
   end
   local why = self:because(r, s, dst, rail)
   if why then
      return "no route: " .. why
   end
   return "no route"
end

---------------------------------------------------------------- questions

--- Nodes behind a component (that depend on it): with the share `left` (0 … 1) of it, the largest
-- flow between the node and the rest of the machine falls below 0.75 of its healthy value.  The
-- rest is everything on other routers than its own.  Whatever the routing.  Only its own node is
-- behind a tx or rx.  In a machine of a few nodes another node's flow may fall as well, because
-- these are the whole rest, but the fault is not on that node's way to the rest.
function Base:behind(component, left)
   local kept, key = self.kept_behind, component + left / 2
   if not kept or kept.epoch ~= self.epoch or kept.n >= BEHIND_KEPT then
      kept = { epoch = self.epoch, n = 0 }
      self.kept_behind = kept
   end
   if not kept[key] then
      kept[key], kept.n = assert(self.graph:behind(component, left, BEHIND)), kept.n + 1
   end
   return kept[key]
end

-- What a node can send and take in, with everything healthy, or with what is left now.
local function flows_of_node(self, node, of)
   local g = self.graph
   if of then
      return g:flow(node, true, of, self.degraded[of] or 1), g:flow(node, false, of,
         self.degraded[of] or 1)
   end
   return g:flow(node, true), g:flow(node, false)
end

--- The same for several components at once, such as all of a switch (Base:parts).
function Base:behind_all(list, left)
   if #list == 1 then
      return self:behind(list[1], left)
   end
   local degraded, is_port, all, nodes = self.degraded, {}, true, {}
   local before = tables.map(self.nodes, function(_, node)
      return { flows_of_node(self, node, list[1]) }
   end)
   self.degraded = tables.copy(degraded)
   for _, c in ipairs(list) do
      self.degraded[c] = left
      self.graph:set_left(c, left)
      is_port[self:node_of(c) or 0], all = true, all and not self:is_link(c)
   end
   for n = 1, #self.nodes do
      local out, back = flows_of_node(self, n)
      local out_left, back_left = flows_of_node(self, n, list[1])
      local loses_out = out_left < BEHIND * out and out_left < before[n][1] * (1 - LITTLE)
      local loses_back = back_left < BEHIND * back and back_left < before[n][2] * (1 - LITTLE)
      if (loses_out or loses_back) and (is_port[n] or not all) then
         nodes[#nodes + 1] = n
      end
   end
   self.degraded = degraded
   for _, c in ipairs(list) do
      self.graph:set_left(c, degraded[c] or 1)
   end
   return nodes
end

-- tx and rx of a node, of those of its rails that lead to the router, where it is given.
local function ports_of(self, node, router, list)
   for rail = 1, self.rails do
      local at = self:router(node, rail)
      if at and (not router or at == router) then
         list[#list + 1], list[#list + 2] = endpoint_numbers.ports_of_rail(#self.nodes, node, rail)
      end
   end
   return list
end

--- tx and rx of a node's rails, of those that it has; only of those on the router, if given.
function Base:ports(node, router)
   return ports_of(self, node, router, {})
end

--- Where routers of the fabric that component c is in answer who asks for a way (addresses.lua).
function Base:asked(_)
   return self.asked_at
end

--- Does a flow keep to one link of the set that component c is in?
function Base:hashes(_)
   return self.is_hashed
end

--- Do switches choose a link of the set that component c is in anew, so that no one can ask for it?
function Base:adapts(_)
   return self.is_adaptive
end

--- Names as a fabric's own programs say them: of a router its number, of a component its own; nil
-- where there is none of that name.
function Base:router_named(name)
   return self.router_id and self.router_id[name]
end

function Base:component_named(name)
   return self.component_id[name]
end

--- What fails with a whole node, or a whole router: ports, links out of it and into it.
-- @param name of a component, a node or a router
-- @return array of components, the router if it is one; nil where nothing has this name
function Base:parts(name)
   local r = self.router_id and self.router_id[name]
   if self.component_id[name] then
      return { self.component_id[name] }
   elseif self.node_id[name] then
      return ports_of(self, self.node_id[name], nil, {})
   elseif not r then
      return nil
   end
   local list = {}
   for c = self.first_link, #self.components do
      if self:from(c) == r or self:to(c) == r then
         list[#list + 1] = c
      end
   end
   for _, n in ipairs(self:on_router(r)) do
      ports_of(self, n, r, list)
   end
   return list, r
end

-- How many routes each node has to others: one for each rail that both have, where links join
-- them; and those of one rail.
local function routes_of(self, rail)
   local total, of_rail, by = {}, {}, islands.of(self).by_links
   for k = 1, self.rails do
      local count = {}
      for n = 1, #self.nodes do
         local r = self:router(n, k)
         if r then
            count[by[r]] = (count[by[r]] or 0) + 1
         end
      end
      for n = 1, #self.nodes do
         local r = self:router(n, k)
         if r then
            total[n] = (total[n] or 0) + count[by[r]] - 1
            if k == rail then
               of_rail[n] = count[by[r]] - 1
            end
         end
      end
   end
   return total, of_rail
end

--- How many of each node's routes go through a router that it is not on: where it sends, where it
-- receives.
function Base:through(router)
   local from, to = {}, {}
   for n = 1, #self.nodes do
      from[n], to[n] = 0, 0
   end
   local function add_up(sums, more)
      for n = 1, #self.nodes do
         sums[n] = sums[n] + (more[n] or 0)
      end
   end
   for c = self.first_link, #self.components do
      local is_in, is_out = self:to(c) == router, self:from(c) == router
      if is_in or is_out then
         for rail = 1, self.rails or 0 do
            local send, take = self.graph:crossing(c, rail)
            if is_in then
               add_up(from, send)
            end
            if is_out then
               add_up(to, take)
            end
         end
      end
   end
   return from, to
end

--- Nodes exposed to a router: those on it, and those with more than a quarter of their routes
-- through it.
function Base:exposed_to(router)
   local from, to = self:through(router)
   local total, here, list = routes_of(self), tables.set(self:on_router(router)), {}
   for n = 1, #self.nodes do
      if here[n] or math.max(from[n], to[n]) > EXPOSED * (total[n] or 0) then
         list[#list + 1] = n
      end
   end
   return list
end

--- Nodes exposed to a component: more than a quarter of their routes to, or from, the others use
-- it, or may.
function Base:exposed(component)
   local node, port_rail = self:node_of(component)
   local total, of_rail = routes_of(self, port_rail)
   if node and (of_rail[node] or 0) > EXPOSED * (total[node] or 0) then
      return { node }
   elseif node then
      return {}
   end
   local use, list = {}, {}
   for rail = 1, self.rails do
      local from, to = self.graph:crossing(component, rail)
      for n = 1, #self.nodes do
         local u = use[n] or { 0, 0 }
         u[1], u[2] = u[1] + from[n], u[2] + to[n]
         use[n] = u
      end
   end
   for n, u in ipairs(use) do
      if math.max(u[1], u[2]) > EXPOSED * (total[n] or 0) then
         list[#list + 1] = n
      end
   end
   return list
end

--- Components no test can tell apart: the same routes use them.
-- @return array of classes with two members or more; array of the components no route uses
function Base:classes()
   local classes, all = self.graph:classes()
   local unused = tables.filter(all, function(component) return self:is_there(component) end)
   return classes, unused
end

--- The capacity of some components is known now: routing with shares by capacity is updated.
function Base:capacities_changed()
   assert(self.graph:update())
end

Base.neighbours = neighbours.groups
Base.load = load.of
Base.set_health = health.set

return base
