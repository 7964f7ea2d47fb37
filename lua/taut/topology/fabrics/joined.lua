-- SPDX-License-Identifier: GPL-2.0-or-later
--- The class of a machine of several fabrics: whoever asks about one of its components is answered
-- by the fabric that this is in.
local base = require "taut.topology.base"
local health = require "taut.topology.health"
local endpoint_numbers = require "taut.topology.model.endpoint_numbers"
local tables = require "taut.base.tables"

local joined = {}
local Joined = base.class()
joined.class = Joined

---------------------------------------------------------------- numbers there and here

--- The fabric of a component.
function Joined:fabric_of(component)
   local _, rail = self:node_of(component)
   if rail then
      return self.fabric_of_rail[rail]
   end
   return self:fabric_at(self:from(component))
end

-- The tx or rx that a component is, of two.
local function same_way(component, tx, rx)
   if component % 2 == 0 then
      return rx
   end
   return tx
end

--- The fabric that a router is in.
function Joined:fabric_at(router)
   local list = self.fabrics
   for i = #list, 1, -1 do
      if router >= list[i].first_router then
         return list[i]
      end
   end
end

--- The fabric of a component, and its number there; no number where the node has no such rail.
function Joined:part_of(component)
   local f, n, rail = self:fabric_of(component), self:node_of(component)
   if not n then
      return f, component - f.first_link + f.topo.first_link
   end
   local own = f.number[n]
   if not own then
      return f, nil
   end
   return f, same_way(component, endpoint_numbers.ports_of_rail(#f.topo.nodes, own,
      rail - f.first_rail))
end

--- The number here of a fabric's component.
function Joined:of_part(fabric, component)
   local n, rail = fabric.topo:node_of(component)
   if not n then
      return component - fabric.topo.first_link + fabric.first_link
   end
   return same_way(component, endpoint_numbers.ports_of_rail(#self.nodes, fabric.node[n],
      fabric.first_rail + rail))
end

--- What a map or set of components says of one fabric, by its own numbers.
function Joined:for_part(fabric, map)
   local own = {}
   for c, v in pairs(map) do
      local of, k = self:part_of(c)
      if of == fabric and k then
         own[k] = v
      end
   end
   return own
end

-- Nodes of a fabric as they are numbered here, ascending.
local function nodes_here(fabric, list)
   local out = tables.map(list, function(node) return fabric.node[node] end)
   table.sort(out)
   return out
end

---------------------------------------------------------------- components

function Joined:class(component)
   local f, k = self:part_of(component)
   if k then
      return f.name .. " " .. f.topo:class(k)
   end
   return f.name .. " " .. self:kind(component)
end

function Joined:place(component)
   local f, k = self:part_of(component)
   if k then
      return f.topo:place(k) or self:cable(component)
   end
   return self:cable(component)
end

function Joined:because(from, to, node, rail)
   local f = self:fabric_at(from)
   if f ~= self:fabric_at(to) then
      return "they are in two fabrics"
   end
   return f.topo:because(from - f.first_router, to - f.first_router, node and f.number[node],
      rail and rail - f.first_rail)
end

function Joined:asked(component)
   return self:fabric_of(component).topo.asked_at and self.asked_at
end

function Joined:hashes(component)
   return self:fabric_of(component).topo.is_hashed
end

function Joined:adapts(component)
   return self:fabric_of(component).topo.is_adaptive
end

-- Programs of one fabric know no name of it: what only one has is meant.
local function find_named(self, id, name)
   local found = id[name]
   if found ~= nil then
      return found
   end
   for _, f in ipairs(self.fabrics) do
      local own = id[f.name .. ":" .. name]
      if own and found then
         return nil
      end
      found = found or own
   end
   return found
end

function Joined:router_named(name)
   return find_named(self, self.router_id, name)
end

function Joined:component_named(name)
   return find_named(self, self.component_id, name)
end

---------------------------------------------------------------- who depends on what

function Joined:behind(component, left)
   local f, k = self:part_of(component)
   if not k then
      return {}
   end
   return nodes_here(f, f.topo:behind(k, left))
end

-- fn(fabric, its components of a list), then all nodes that it returned, ascending.
local function by_fabric(self, list, fn)
   local of, set = {}, {}
   for _, c in ipairs(list) do
      local f, k = self:part_of(c)
      of[f] = of[f] or {}
      table.insert(of[f], k)
   end
   for f, own in pairs(of) do
      for _, n in ipairs(fn(f, own)) do
         set[f.node[n]] = true
      end
   end
   return tables.keys(set)
end

function Joined:behind_all(list, left)
   return by_fabric(self, list, function(fabric, own) return fabric.topo:behind_all(own, left) end)
end

function Joined:exposed(component)
   local f, k = self:part_of(component)
   if not k then
      return {}
   end
   return nodes_here(f, f.topo:exposed(k))
end

function Joined:exposed_to(router)
   local f = self:fabric_at(router)
   return nodes_here(f, f.topo:exposed_to(router - f.first_router))
end

function Joined:through(router)
   local f, from, to = self:fabric_at(router), {}, {}
   local send, take = f.topo:through(router - f.first_router)
   for n = 1, #self.nodes do
      from[n], to[n] = send[f.number[n]] or 0, take[f.number[n]] or 0
   end
   return from, to
end

function Joined:classes()
   local classes, unused = {}, {}
   for _, f in ipairs(self.fabrics) do
      local own, none = f.topo:classes()
      for _, class in ipairs(own) do
         classes[#classes + 1] = tables.map(class, function(component)
            return self:of_part(f, component)
         end)
      end
      for _, c in ipairs(none) do
         unused[#unused + 1] = self:of_part(f, c)
      end
   end
   return classes, unused
end

---------------------------------------------------------------- tests and traffic

function Joined:neighbours(by_router)
   local groups = {}
   for _, f in ipairs(self.fabrics) do
      local own = {}
      for r, nodes in pairs(by_router) do
         if self:fabric_at(r) == f then
            own[r - f.first_router] = nodes
         end
      end
      for _, g in ipairs(tables.or_empty(next(own) and f.topo:neighbours(own))) do
         groups[#groups + 1] = { key = f.name .. " " .. g.key, pairs = tables.map(g.pairs,
            function(part) return { f.first_router + part[1], f.first_router + part[2] } end) }
      end
   end
   return groups
end

--- As of all topologies, each fabric with its own nodes.
function Joined:load(name, opt)
   local loads, lost, o = tables.fill(1, #self.components, function() return 0 end), 0, opt or {}
   for _, f in ipairs(self.fabrics) do
      local own = setmetatable({ nodes = o.nodes and tables.map(
         tables.filter(o.nodes, function(node) return f.number[node] ~= nil end),
         function(node) return f.number[node] end) }, { __index = o })
      local part, without = f.topo:load(name, own)
      if not part then
         return nil, without
      end
      for c, bytes in ipairs(part) do
         loads[self:of_part(f, c)] = bytes
      end
      lost = lost + without
   end
   return loads, lost
end

---------------------------------------------------------------- health

local function add_report(self, all, fabric, report)
   all.pairs, all.is_all = all.pairs + report.pairs, all.is_all and report.is_all
   for _, u in ipairs(report.unroutable) do
      table.insert(all.unroutable, { fabric.first_router + u[1], fabric.first_router + u[2], u[3] })
   end
   for _, m in ipairs(report.more_loaded) do
      table.insert(all.more_loaded, { self:of_part(fabric, m[1]), m[2], m[3] })
   end
end

function Joined:set_health(left, opt)
   local r = health.set(self, left, { report = false })
   local wants = not opt or opt.report ~= false
   local all = { epoch = r.epoch, pairs = 0, unroutable = {}, is_all = true, more_loaded = {} }
   for _, f in ipairs(self.fabrics) do
      local own = f.topo:set_health(self:for_part(f, left), opt)
      if wants then
         add_report(self, all, f, own)
      end
   end
   if wants then
      return all
   end
   return r
end

--- The capacity of some components is known now: routing with shares by capacity is updated.
function Joined:capacities_changed()
   for _, f in ipairs(self.fabrics) do
      f.topo:capacities_changed()
   end
end

return joined
