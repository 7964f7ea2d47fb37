-- SPDX-License-Identifier: GPL-2.0-or-later
--- Multicast groups: how a person names one, and which hosts are missing from it.
local model = require "taut.fabric.model"

local mcast = {}

local MLID_LEAST, MLID_MOST = 0xc000, 0xfffe

-- IPoIB's broadcast group (RFC 4391, 4): scope link-local, the partition's key inside.
local IPOIB = "ff12401b%04x000000000000ffffffff"

local function of_ipv6(text)
   local head, tail = text:match "^(.-)::(.*)$"
   local function groups_of(part)
      local list = {}
      for g in part:gmatch "[^:]+" do
         if not g:match "^%x%x?%x?%x?$" then
            return nil
         end
         list[#list + 1] = ("%04x"):format(tonumber(g, 16))
      end
      return list
   end
   local a, b = groups_of(head or text), groups_of(tail or "")
   if not a or not b or text:find "::.*::" or text:find ":::" or (not head and #a ~= 8)
      or #a + #b > 8 then
      return nil
   end
   return table.concat(a) .. ("0000"):rep(8 - #a - #b) .. table.concat(b)
end

--- Read a group's name: "ipoib", "ipoib:0x8001" (a partition), an MLID "0xc000", an MGID
-- "ff12:401b:ffff::ffff:ffff".
-- @return { mgid = 32 hex digits } or { mlid = }, or nil and what was expected
function mcast.group(text)
   local pkey = text:match "^ipoib:(0?[xX]?%x+)$"
   if text == "ipoib" then
      pkey = "0xffff"
   end
   if pkey then
      local key = tonumber((pkey:gsub("^0[xX]", "")), 16)
      if key and key <= 0xffff then
         return { mgid = IPOIB:format(key | 0x8000) }
      end
   elseif text:match "^0[xX]%x+$" then
      local mlid = tonumber(text)
      if mlid and mlid >= MLID_LEAST and mlid <= MLID_MOST then
         return { mlid = mlid }
      end
   elseif text:match "^[%x:]+$" and text:find ":" then
      local mgid = of_ipv6(text:lower())
      if mgid and mgid:sub(1, 2) == "ff" then
         return { mgid = mgid }
      end
   end
   return nil, ('group "%s": expected ipoib, ipoib:PKEY, an MLID from 0xc000 to 0xfffe or an ' ..
      "MGID such as ff12:401b:ffff::ffff:ffff"):format(text)
end

--- Ports of hosts that are up, and so could be members.
function mcast.ports(fabric)
   local list = {}
   for p in model.ports(fabric) do
      if p.node.type == "ca" and p.active and p.guid then
         list[#list + 1] = p
      end
   end
   return list
end

--- Hosts that are up and not members.
-- @param ports of mcast.ports
-- @param answer of sweep.mcast
-- @return { members, missing = array of port names, unknown = array of { port, error } }
function mcast.missing(ports, answer)
   local by_guid, members = {}, 0
   for _, p in ipairs(ports) do
      by_guid[p.guid] = p
   end
   local missing, unknown = {}, {}
   for _, m in ipairs(answer.members) do
      local p = by_guid[m.guid]
      if m.member then
         members = members + 1
      elseif m.error then
         unknown[#unknown + 1] = { port = model.port_name(p), error = m.error }
      else
         missing[#missing + 1] = { port = model.port_name(p), host = p.node.host, guid = m.guid }
      end
   end
   return { members = members, missing = missing, unknown = unknown }
end

return mcast
