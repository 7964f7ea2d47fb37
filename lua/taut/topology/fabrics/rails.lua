-- SPDX-License-Identifier: GPL-2.0-or-later
--- Which of a node's interfaces is which rail.
--
-- An interface that names the GUID of its InfiniBand port is the rail that the topology has with
-- it.  Of the others, with one topology a rail is a place in the node's own list; with several
-- fabrics it follows from name or address, else from their order.  Where a node names GUIDs, an
-- interface without one takes no rail of which the topology has the GUID: it is on no such port.
local subnets = require "taut.base.subnets"
local sys = require "taut.sys"
local tables = require "taut.base.tables"

local rails = {}

-- "ib*" as a pattern of the whole name.
local function is_name(pattern, name)
   local text = pattern:gsub("[^%w*]", "%%%0"):gsub("%*", ".*")
   text = "^" .. text .. "$"
   return name:find(text) ~= nil or name:match "^[^:]*":find(text) ~= nil
end

local function bytes_of(interface)
   local endpoint = interface.tcp or interface.ofi
   local host = endpoint and (endpoint:match "^%[(.*)%]:%d+$" or endpoint:match "^([^:]*):%d+$")
   return host and sys.address_bytes(host)
end

-- Does a fabric name this interface?  A fabric that names none has what is left.
local function is_named(fabric, endpoint)
   for _, pattern in ipairs(fabric.interfaces or {}) do
      if is_name(pattern, endpoint["if"] or "") then
         return true
      end
   end
   local bytes = fabric.networks and bytes_of(endpoint)
   fabric.network_bytes = fabric.network_bytes or subnets.read(fabric.networks)
   return bytes ~= nil and bytes ~= false and subnets.has(fabric.network_bytes, bytes)
end

-- What a fabric's tests go over.
local function only_transport(fabric, endpoint)
   local out = { ["if"] = endpoint["if"], tcp = endpoint.tcp, ofi = endpoint.ofi }
   if fabric.transport == "tcp" then
      out.ofi = nil
   elseif fabric.transport then
      out.tcp = nil
   end
   return out
end

local function is_there(topo, node, fabric, rail)
   return fabric.number[node] and topo:router(node, fabric.first_rail + rail) ~= nil
end

local function interface_name(endpoint)
   return sys.plain(endpoint["if"] or "?")
end

-- The next rail of a node that nothing is on yet, in the fabrics that `takes` says; nil and one
-- that only its GUID keeps.
local function next_rail(topo, node, placed, takes, closed)
   local kept
   for _, f in ipairs(topo.fabrics) do
      local last = 0
      if takes(f) then
         last = f.rails
      end
      for rail = 1, last do
         local at = f.first_rail + rail
         if is_there(topo, node, f, rail) and not placed[at] then
            if not closed[at] then
               return at
            end
            kept = kept or at
         end
      end
   end
   return nil, kept
end

local function takes_rest(fabric)
   return not fabric.interfaces and not fabric.networks
end

---------------------------------------------------------------- by GUID

local of_nodes = setmetatable({}, { __mode = "k" }) -- topology → node → rail → GUID

local function by_node(topo)
   local list = {}
   for guid, place in pairs(topo.port_guids) do
      if place then
         list[place.node] = list[place.node] or {}
         list[place.node][place.rail] = guid
      end
   end
   return list
end

local NONE = {}

-- What the topology has of a node: rail → GUID.
local function own_guids(topo, node)
   of_nodes[topo] = of_nodes[topo] or by_node(topo)
   return of_nodes[topo][node] or NONE
end

-- The same in words: "rail 1 0x…, rail 2 0x…".
local function guids_of(topo, node)
   local own = own_guids(topo, node)
   return table.concat(tables.map(tables.keys(own), function(rail)
      return ("rail %d %s"):format(rail, own[rail])
   end), ", ")
end

-- Put what the topology knows by its GUID where it has it.
-- @param put function(e, i, rail)
-- @param reject function(e, why)
-- @return the other interfaces, as their places in the list
local function put_by_guid(topo, node, list, placed, put, reject)
   local rest = {}
   for i, e in ipairs(list) do
      local place = e.guid and topo.port_guids[e.guid]
      if not place then
         rest[#rest + 1] = i
      elseif place.node ~= node then
         reject(e, ("port GUID %s, which the topology has as rail %d of %s (of %s it has %s); not "
            .. "tested"):format(e.guid, place.rail, topo.nodes[place.node], topo.nodes[node],
            tables.unless_blank(guids_of(topo, node)) or "none"))
      elseif placed[place.rail] then
         reject(e, ("port GUID %s as %s has, rail %d; not tested"):format(e.guid,
            interface_name(placed[place.rail]), place.rail))
      elseif place.rail <= topo.rails then
         put(e, i, place.rail)
      end
   end
   return rest
end

-- One whose GUID the topology does not have, of a node of which it has some.
local function is_stranger(topo, node, endpoint)
   return endpoint.guid and topo.port_guids[endpoint.guid] == nil and guids_of(topo, node) ~= ""
end

local function say_stranger(topo, node, endpoint, rail, reject)
   local what = "not tested"
   if rail then
      what = ("taken for rail %d by its place"):format(rail)
   end
   reject(endpoint,
      ("port GUID %s, which the topology does not have (of %s it has %s); %s"):format(endpoint.guid,
      topo.nodes[node], guids_of(topo, node), what))
end

local function names_guids(list)
   return tables.find(list, function(endpoint) return endpoint.guid end) ~= nil
end

-- Rails that are not for an interface, since its node names GUIDs and it has none: rail → GUID.
local function closed_to(topo, node, endpoint, list)
   if node and not endpoint.guid and names_guids(list) then
      return own_guids(topo, node) or NONE
   end
   return NONE
end

local function say_closed(topo, node, closed, rail, reject, endpoint)
   reject(endpoint,
      ("no port GUID, and rail %d of %s is port GUID %s in the topology; not tested"):format(
      rail, topo.nodes[node], closed[rail]))
end

---------------------------------------------------------------- one topology

-- A place in the list that its GUID has not taken: its own, else the next; nil and one that only
-- its GUID keeps.
local function free_rail(topo, node, index, placed, closed)
   local kept
   local function is_free(rail)
      local is_left = not placed[rail] and topo:router(node, rail) ~= nil
      if is_left and closed[rail] then
         kept = kept or rail
      end
      return is_left and not closed[rail]
   end
   if index <= topo.rails and is_free(index) then
      return index
   end
   for rail = 1, topo.rails do
      if is_free(rail) then
         return rail
      end
   end
   return nil, kept
end

local function place_on_one(topo, node, list)
   local placed, misfits = {}, {}
   local function reject(endpoint, why)
      misfits[#misfits + 1] = { ["if"] = endpoint["if"], why = why }
   end
   local function put(endpoint, index, rail)
      placed[rail] = { ["if"] = endpoint["if"], tcp = endpoint.tcp, ofi = endpoint.ofi,
         own = index }
   end
   for _, i in ipairs(put_by_guid(topo, node, list, placed, put, reject)) do
      local e, rail, kept = list[i], nil, nil
      local closed = closed_to(topo, node, e, list)
      if e.tcp or e.ofi then
         rail, kept = free_rail(topo, node, i, placed, closed)
      end
      if rail then
         put(e, i, rail)
      elseif kept then
         say_closed(topo, node, closed, kept, reject, e)
      end
      if (e.tcp or e.ofi) and is_stranger(topo, node, e) then
         say_stranger(topo, node, e, rail, reject)
      end
   end
   for rail = 1, topo.rails do
      placed[rail] = placed[rail] or {}
   end
   return placed, misfits
end

---------------------------------------------------------------- several fabrics

-- Without its port, which is another one at each check.
local function host_of(endpoint)
   return sys.plain(((endpoint.tcp or endpoint.ofi or "no address"):gsub(":%d+$", "")))
end

local function of_several(topo, node, list)
   local placed, rest, misfits = {}, {}, {}
   local function reject(endpoint, why)
      misfits[#misfits + 1] = { ["if"] = endpoint["if"], why = why }
   end
   local function put(endpoint, index, rail)
      placed[rail] = only_transport(topo.fabric_of_rail[rail], endpoint)
      placed[rail].own = index
   end
   local function put_next(endpoint, index, takes)
      local closed = closed_to(topo, node, endpoint, list)
      local rail, kept = next_rail(topo, node, placed, takes, closed)
      if rail then
         put(endpoint, index, rail)
      end
      if (endpoint.tcp or endpoint.ofi) and is_stranger(topo, node, endpoint) then
         say_stranger(topo, node, endpoint, rail, reject)
      elseif kept and (endpoint.tcp or endpoint.ofi) then
         say_closed(topo, node, closed, kept, reject, endpoint)
      elseif not rail then
         reject(endpoint,
            ("%s, which no fabric that it is in takes (interfaces and networks of fabrics " ..
            "in taut.lua(5)); not tested"):format(host_of(endpoint)))
      end
   end
   for _, i in ipairs(tables.or_empty(node
      and put_by_guid(topo, node, list, placed, put, reject))) do
      local e, named = list[i], false
      for _, f in ipairs(topo.fabrics) do
         named = named or is_named(f, e)
      end
      if not named then
         if e.tcp or e.ofi then -- one that is down is none
            rest[#rest + 1] = i
         end
      else
         put_next(e, i, function(fabric) return is_named(fabric, e) end)
      end
   end
   for _, i in ipairs(rest) do
      put_next(list[i], i, takes_rest)
   end
   for rail = 1, topo.rails do
      placed[rail] = placed[rail] or {}
   end
   return placed, misfits
end

--- A node's interfaces by rail.
-- @param topo topology
-- @param node the node's number; nil: the topology does not have it
-- @param list of its interfaces, in its order: { if =, tcp =, ofi =, guid = }
-- @return the list where its places are the rails; else an array with an entry for each rail of
--   the machine, empty where the node has nothing there, and `own`, the place in the node's list,
--   where it has; and array of { if, why }, those that are no rail or may be the wrong one
function rails.of(topo, node, list)
   if topo.fabrics then
      return of_several(topo, node, list)
   elseif node and names_guids(list) and next(topo.port_guids) then
      return place_on_one(topo, node, list)
   end
   return list, {}
end

return rails
