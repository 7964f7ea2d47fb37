-- SPDX-License-Identifier: GPL-2.0-or-later
--- Which of a node's interfaces is which rail, where a machine has several fabrics: by name, by
-- address, else by their order.  With one topology a rail is a place in the node's own list.
local subnets = require "taut.base.subnets"
local sys = require "taut.sys"

local rails = {}

-- "ib*" as a pattern of the whole name.
local function is_name(pattern, name)
   local text = pattern:gsub("[^%w*]", "%%%0"):gsub("%*", ".*")
   text = "^" .. text .. "$"
   return name:find(text) ~= nil or name:match "^[^:]*":find(text) ~= nil
end

local function bytes_of(e)
   local endpoint = e.tcp or e.ofi
   local host = endpoint and (endpoint:match "^%[(.*)%]:%d+$" or endpoint:match "^([^:]*):%d+$")
   return host and sys.address_bytes(host)
end

-- Does a fabric name this interface?  A fabric that names none has what is left.
local function is_named(f, e)
   for _, pattern in ipairs(f.interfaces or {}) do
      if is_name(pattern, e["if"] or "") then
         return true
      end
   end
   local bytes = f.networks and bytes_of(e)
   f.network_bytes = f.network_bytes or subnets.read(f.networks)
   return bytes and subnets.has(f.network_bytes, bytes) or false
end

-- What a fabric's tests go over.
local function only(f, e)
   local out = { ["if"] = e["if"], tcp = e.tcp, ofi = e.ofi }
   if f.transport then
      out[f.transport == "tcp" and "ofi" or "tcp"] = nil
   end
   return out
end

local function is_there(topo, n, f, rail)
   return f.number[n] and topo:router(n, f.first_rail + rail) ~= nil
end

-- The next rail of node n that nothing is on yet, in the fabrics that `takes` says.
local function next_rail(topo, n, placed, takes)
   for _, f in ipairs(topo.fabrics) do
      for rail = 1, takes(f) and f.rails or 0 do
         if is_there(topo, n, f, rail) and not placed[f.first_rail + rail] then
            return f, f.first_rail + rail
         end
      end
   end
end

local function takes_rest(f)
   return not f.interfaces and not f.networks
end

--- A node's interfaces by rail.
-- @param topo topology
-- @param n the node's number; nil: the topology does not have it
-- @param list of its interfaces, in its order: { if =, tcp =, ofi = }
-- @return with one topology the list; else an array with an entry for each rail of the machine,
--   empty where the node has nothing there, and `own`, the place in the node's list, where it has;
--   and those that no fabric of the node's takes
function rails.of(topo, n, list)
   if not topo.fabrics then
      return list, {}
   end
   local placed, rest, misfits = {}, {}, {}
   local function put(e, i, takes)
      local f, rail = next_rail(topo, n, placed, takes)
      if f then
         placed[rail] = only(f, e)
         placed[rail].own = i
      end
      return f
   end
   for i, e in ipairs(n and list or {}) do
      local named = false
      for _, f in ipairs(topo.fabrics) do
         named = named or is_named(f, e)
      end
      if not named then
         rest[#rest + 1] = (e.tcp or e.ofi) and i or nil -- one that is down is none
      elseif not put(e, i, function(f) return is_named(f, e) end) then
         misfits[#misfits + 1] = e
      end
   end
   for _, i in ipairs(rest) do
      if not put(list[i], i, takes_rest) then
         misfits[#misfits + 1] = list[i]
      end
   end
   for rail = 1, topo.rails do
      placed[rail] = placed[rail] or {}
   end
   return placed, misfits
end

return rails
