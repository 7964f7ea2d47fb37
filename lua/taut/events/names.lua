-- SPDX-License-Identifier: GPL-2.0-or-later
--- What observations call things, in terms of the topology.
--
-- Logs and some counters speak of Geminis, GUIDs and interfaces; a place that the topology does not
-- have stays as it was called, and makes no evidence.
local cabinets = require "taut.topology.cabinets"
local guid_names = require "taut.topology.import.ib.guids"

local names = {}

-- A router by a Gemini's name: where the topology lays out cabinets, or calls routers so.
local function find_gemini(topo, name)
   local known = topo:router_named(name)
   if known then
      return known
   end
   local place = topo.layout and cabinets.parse(name)
   local r = place and topo.layout.router_of(place)
   -- a Gemini that the machine does not have has a place, too
   if r and topo.router_name[r] and topo.layout.cname(r) == name then
      return r
   end
   return nil
end

local function find_port(topo, router, port)
   local name = router and topo.router_name[router] and ("%s/%s"):format(topo.router_name[router],
      port)
   if name and topo.component_id[name] then
      return name
   end
   return nil
end

-- A node's tx and rx; of several rails it is not known which is meant.
local function list_endpoints(topo, node)
   if topo.node_id[node] and (topo.rails or 1) == 1 then
      return { node .. "/tx", node .. "/rx" }
   end
   return {}
end

-- A node's tx and rx as far as one of its interfaces is concerned: of those that the node does not
-- test, such as the one for administration, none.  What is over ends evidence from before that was
-- known, too.  A card of which a log has only the PCI address may be any: the node tells of the
-- tested ones itself.
local function list_of_interface(observation, topo, rails)
   local rail = rails and observation.at.interface and rails[observation.at.interface]
   if rail and (topo.rails or 1) > 1 then
      local name = ("%s:%d"):format(observation.node, rail)
      if topo.component_id[name .. "/tx"] then
         return { name .. "/tx", name .. "/rx" }
      end
      return {}
   elseif rail or not rails or not (observation.at.interface or observation.at.pci)
      or observation.left == 1 then
      return list_endpoints(topo, observation.node)
   end
   return {}
end

local function strip_domain(topo, host)
   if topo.node_id[host] then
      return host
   end
   local short = host:match "^([^.]+)%."
   if short and topo.node_id[short] then
      return short
   end
   return host
end

local function name_gemini(observation, topo)
   local component = find_port(topo, find_gemini(topo, observation.at.gemini),
      observation.at.direction)
   observation.components = { component }
end

local function name_host(observation, topo, rails)
   observation.node = strip_domain(topo, observation.at.host)
   observation.components = list_of_interface(observation, topo, rails[observation.node])
end

-- A GUID is called as the node-name map calls it, or as Taut calls what has no other name.
local function name_guid(observation, topo, map)
   local name = map and map[observation.at.guid] or observation.at.name
   local host = name and guid_names.host(name)
   if host and topo.node_id[strip_domain(topo, host)] then
      observation.scope, observation.node = "node", strip_domain(topo, host)
      observation.components = list_endpoints(topo, observation.node)
      return
   end
   local router = topo.other_planes[observation.at.guid] or map and map[observation.at.guid] or name
      or "S-" .. observation.at.guid:sub(3)
   observation.scope, observation.port = "link", observation.at.port
      and ("%s/%d"):format(router, observation.at.port) or router
   observation.components = { observation.at.port and find_port(topo, topo:router_named(router),
      observation.at.port) }
end

-- A counter of the router that a node hangs on: what it sends, or what the one before it does.
local function name_direction(observation, topo)
   local n, name = topo.node_id[observation.node], nil
   for rail = 1, n and (topo.rails or 1) or 0 do -- of several fabrics one has such a router
      name = name or find_port(topo, topo:router(n, rail), observation.direction)
   end
   if name and observation.side == "receive" then
      local back = topo:opposite(topo.component_id[name])
      name = back and topo.components[back] or nil
   end
   observation.components, observation.scope = { name }, "link"
   observation.origin = ("%s %s"):format(observation.interface or "", observation.what)
end

-- Seen by a sweep at a switch of another plane: of the one that stands for it, the same port.
local function name_plane(observation, topo)
   local name = find_port(topo, topo:router_named(topo.other_planes[observation.guid]),
      observation.number)
   local back = name and topo:opposite(topo.component_id[name])
   for i, c in ipairs(observation.components or {}) do
      if not topo.component_id[c] then
         observation.components[i] = c == observation.port and name
            or back and topo.components[back] or c
      end
   end
end

--- Name the components an observation is about.
-- @param observation its `at` (of a log's line) is used up
-- @param map GUID → name of the site's node-name map, or nil
-- @param rails node → map interface → rail, of nodes that told; or nil
function names.resolve(observation, topo, map, rails)
   local at = observation.at
   if at and at.gemini then
      name_gemini(observation, topo)
   elseif at and at.host then
      name_host(observation, topo, rails or {})
   elseif at and at.guid then
      name_guid(observation, topo, map)
   elseif observation.direction and observation.node then
      name_direction(observation, topo)
   elseif observation.guid and observation.number and topo.other_planes[observation.guid] then
      name_plane(observation, topo)
   end
   observation.at, observation.direction = nil, nil
   observation.components = observation.components or {}
end

return names
