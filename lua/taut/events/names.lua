-- SPDX-License-Identifier: GPL-2.0-or-later
--- What observations call things, in terms of the topology.
--
-- Logs and some counters speak of Geminis, GUIDs and interfaces; a place that the topology does not
-- have stays as it was called, and makes no evidence.
local cabinets = require "taut.topology.cabinets"
local guid_names = require "taut.topology.import.ib.guids"

local names = {}

-- A router by a Gemini's name: where the topology lays out cabinets, or calls routers so.
local function gemini(topo, name)
   local known = topo:router_named(name)
   if known then
      return known
   end
   local place = topo.layout and cabinets.parse(name)
   local r = place and topo.layout.router_of(place)
   -- a Gemini that the machine does not have has a place, too
   return r and topo.router_name[r] and topo.layout.cname(r) == name and r or nil
end

local function port_of(topo, router, port)
   local name = router and topo.router_name[router] and ("%s/%s"):format(topo.router_name[router],
      port)
   return name and topo.component_id[name] and name or nil
end

-- A node's tx and rx; of several rails nobody knows which is meant.
local function endpoint(topo, node)
   if topo.node_id[node] and (topo.rails or 1) == 1 then
      return { node .. "/tx", node .. "/rx" }
   end
   return {}
end

-- A node's tx and rx as far as one of its interfaces is concerned: of those that the node does not
-- test, such as the one for administration, none.  What is over ends evidence from before that was
-- known, too.  A card of which a log has only the PCI address may be any: the node tells of the
-- tested ones itself.
local function of_interface(o, topo, rails)
   local rail = rails and o.at.interface and rails[o.at.interface]
   if rail and (topo.rails or 1) > 1 then
      local name = ("%s:%d"):format(o.node, rail)
      return topo.component_id[name .. "/tx"] and { name .. "/tx", name .. "/rx" } or {}
   elseif rail or not rails or not (o.at.interface or o.at.pci) or o.left == 1 then
      return endpoint(topo, o.node)
   end
   return {}
end

local function strip_domain(topo, host)
   if topo.node_id[host] then
      return host
   end
   local short = host:match "^([^.]+)%."
   return short and topo.node_id[short] and short or host
end

local function of_gemini(o, topo)
   local component = port_of(topo, gemini(topo, o.at.gemini), o.at.direction)
   o.components = { component }
end

local function of_host(o, topo, rails)
   o.node = strip_domain(topo, o.at.host)
   o.components = of_interface(o, topo, rails[o.node])
end

-- A GUID is called as the node-name map calls it, or as Taut calls what has no other name.
local function of_guid(o, topo, map)
   local name = map and map[o.at.guid] or o.at.name
   local host = name and guid_names.host(name)
   if host and topo.node_id[strip_domain(topo, host)] then
      o.scope, o.node = "node", strip_domain(topo, host)
      o.components = endpoint(topo, o.node)
      return
   end
   local router = topo.other_planes[o.at.guid] or map and map[o.at.guid] or name
      or "S-" .. o.at.guid:sub(3)
   o.scope, o.port = "link", o.at.port and ("%s/%d"):format(router, o.at.port) or router
   o.components = { o.at.port and port_of(topo, topo:router_named(router), o.at.port) }
end

-- A counter of the router that a node hangs on: what it sends, or what the one before it does.
local function of_direction(o, topo)
   local n, name = topo.node_id[o.node], nil
   for rail = 1, n and (topo.rails or 1) or 0 do -- of several fabrics one has such a router
      name = name or port_of(topo, topo:router(n, rail), o.direction)
   end
   if name and o.side == "receive" then
      local back = topo:opposite(topo.component_id[name])
      name = back and topo.components[back] or nil
   end
   o.components, o.scope = { name }, "link"
   o.origin = ("%s %s"):format(o.interface or "", o.what)
end

-- Seen by a sweep at a switch of another plane: of the one that stands for it, the same port.
local function of_plane(o, topo)
   local name = port_of(topo, topo:router_named(topo.other_planes[o.guid]), o.number)
   local back = name and topo:opposite(topo.component_id[name])
   for i, c in ipairs(o.components or {}) do
      if not topo.component_id[c] then
         o.components[i] = c == o.port and name or back and topo.components[back] or c
      end
   end
end

--- Name the components an observation is about.
-- @param o observation; its `at` (of a log's line) is used up
-- @param map GUID → name of the site's node-name map, or nil
-- @param rails node → map interface → rail, of nodes that told; or nil
function names.resolve(o, topo, map, rails)
   local at = o.at
   if at and at.gemini then
      of_gemini(o, topo)
   elseif at and at.host then
      of_host(o, topo, rails or {})
   elseif at and at.guid then
      of_guid(o, topo, map)
   elseif o.direction and o.node then
      of_direction(o, topo)
   elseif o.guid and o.number and topo.other_planes[o.guid] then
      of_plane(o, topo)
   end
   o.at, o.direction = nil, nil
   o.components = o.components or {}
end

return names
