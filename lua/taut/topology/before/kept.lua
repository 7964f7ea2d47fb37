-- SPDX-License-Identifier: GPL-2.0-or-later
--- A machine as text, so that a later start can tell which components are still the same: names,
-- ends, kinds and capacities, without routes.  About 12 bytes for each component.
local json = require "taut.json"
local endpoint_numbers = require "taut.topology.model.endpoint_numbers"
local unknown = require "taut.topology.unknown"

local kept = {}
local Machine = {}
Machine.__index = Machine

local VERSION = 1

---------------------------------------------------------------- out

-- What components are made of, each sort once: { kind, bytes per second or, of one whose capacity
-- is learned, minus its cables, cables }.
local function sort_of(topo, component, sorts, number_of)
   local capacity = unknown.made_capacity(topo, component)
   local kind, cables = topo:kind(component), topo.cables[component] or 1
   local of_kind = number_of[kind]
   if not of_kind then
      of_kind = {}
      number_of[kind] = of_kind
   end
   local key = capacity
   if cables ~= 1 then
      key = ("%s %s"):format(capacity, cables)
   end
   if not of_kind[key] then
      sorts[#sorts + 1] = { kind, capacity, cables }
      of_kind[key] = #sorts
   end
   return of_kind[key]
end

-- By endpoint the router, or -1; by tx and rx its sort.
local function ends_of(topo, sorts, number_of)
   local at, list, n = {}, {}, #topo.nodes
   for e = 1, n * topo.rails do
      local tx, rx = endpoint_numbers.ports_of(e)
      at[e] = topo:router(endpoint_numbers.node_of(n, e)) or -1
      list[tx] = sort_of(topo, tx, sorts, number_of)
      list[rx] = sort_of(topo, rx, sorts, number_of)
   end
   return at, list
end

-- By link from, to, port and sort.
local function links_of(topo, sorts, number_of)
   local list, ports, port_of, n = {}, {}, {}, 0
   for c = topo.first_link, #topo.components do
      local from = topo:from(c)
      local port = topo.components[c]:sub(#topo.router_name[from] + 2)
      if not port_of[port] then
         ports[#ports + 1] = port
         port_of[port] = #ports
      end
      list[n + 1], list[n + 2], list[n + 3], list[n + 4] = from, topo:to(c), port_of[port],
         sort_of(topo, c, sorts, number_of)
      n = n + 4
   end
   return list, ports
end

--- @param topo topology
-- @return text
function kept.text(topo)
   local routers, sorts, number_of = {}, {}, {}
   for r = 0, topo.routers - 1 do
      routers[r + 1] = topo.router_name[r]
   end
   local at, ends = ends_of(topo, sorts, number_of)
   local links, ports = links_of(topo, sorts, number_of)
   local function numbers_text(list) return table.concat(list, " ") end
   return json.encode { version = VERSION, wiring = topo.wiring, rails = topo.rails,
      nodes = json.array(topo.nodes), routers = json.array(routers), sorts = json.array(sorts),
      ports = json.array(ports), at = numbers_text(at), ends = numbers_text(ends),
         links = numbers_text(links) }
end

---------------------------------------------------------------- and back

local function numbers_of(text)
   local list, n = {}, 0
   for word in text:gmatch "%S+" do
      n = n + 1
      list[n] = math.tointeger(word) or error("no number", 0)
   end
   return list
end

local function names_of(list, first)
   local id = {}
   for i, name in ipairs(list) do
      id[name] = i - 1 + first
   end
   return id
end

local function add_component(self, name, sort)
   self.n = self.n + 1
   self.components[self.n], self.component_id[name] = name, self.n
   self.sort[self.n] = self.sorts[sort] or error("no such sort", 0)
end

local function add_ends(self, ends)
   local n = #self.nodes
   for e = 1, n * self.rails do
      local node, rail = endpoint_numbers.node_of(n, e)
      local tx, rx = endpoint_numbers.ports_of(e)
      local name = self.nodes[node]
      if self.rails > 1 then
         name = ("%s:%d"):format(name, rail)
      end
      add_component(self, name .. "/tx", ends[tx])
      add_component(self, name .. "/rx", ends[rx])
   end
   self.first_link = self.n + 1
end

local function add_links(self, links, ports)
   local names = self.router_name
   for i = 1, #links, 4 do
      local from, to = links[i], links[i + 1]
      if not names[from] or not names[to] or not ports[links[i + 2]] then
         error("a link without ends", 0)
      end
      add_component(self, names[from] .. "/" .. ports[links[i + 2]], links[i + 3])
      self.from_of[self.n], self.to_of[self.n] = from, to
   end
end

local function read_machine(text)
   local t = assert(json.decode(text))
   if t.version ~= VERSION then
      error("of another version", 0)
   end
   local self = setmetatable({ wiring = t.wiring, rails = t.rails, nodes = t.nodes,
      routers = #t.routers, node_id = names_of(t.nodes, 1), router_id = names_of(t.routers, 0),
      router_name = {}, at = numbers_of(t.at), sorts = t.sorts, sort = {}, components = {},
      component_id = {}, from_of = {}, to_of = {}, n = 0 }, Machine)
   table.move(t.routers, 1, #t.routers, 0, self.router_name)
   add_ends(self, numbers_of(t.ends))
   add_links(self, numbers_of(t.links), t.ports)
   return self
end

--- @param text of kept.text
-- @return machine, with those answers of a topology that same.lua and matching.lua ask
--   for; or nil and what is wrong
function kept.read(text)
   local ok, made = pcall(read_machine, text)
   if not ok then
      return nil, "damaged: " .. tostring(made)
   end
   return made
end

function Machine:is_link(component)
   return component >= self.first_link
end

function Machine:from(component)
   return self.from_of[component]
end

function Machine:to(component)
   return self.to_of[component]
end

function Machine:router(node, rail)
   local r = self.at[node + ((rail or 1) - 1) * #self.nodes]
   if r and r >= 0 then
      return r
   end
   return nil
end

function Machine:kind(component)
   return self.sort[component][1]
end

--- What it carries in bytes per second, below 0 where that is learned; and of how many cables.
function Machine:made(component)
   return self.sort[component][2], self.sort[component][3]
end

--- Links that leave a router.
function Machine:links_of(router)
   if not self.leaving then
      self.leaving = {}
      for c = self.first_link, self.n do
         local from = self.from_of[c]
         self.leaving[from] = self.leaving[from] or {}
         table.insert(self.leaving[from], c)
      end
   end
   return self.leaving[router] or {}
end

return kept
