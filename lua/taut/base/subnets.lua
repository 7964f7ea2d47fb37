-- SPDX-License-Identifier: GPL-2.0-or-later
--- Networks of addresses as people write them: "10.1.0.0/16".
local sys = require "taut.sys"

local subnets = {}

--- @param list of such texts, checked, or nil
-- @return array for has()
function subnets.read(list)
   local out = {}
   for i, text in ipairs(list or {}) do
      local host, bits = text:match "^(.*)/(%d+)$"
      out[i] = { bytes = sys.address_bytes(host), bits = tonumber(bits) }
   end
   return out
end

--- Is an address in one of them?
-- @param list of read()
-- @param bytes of the address
function subnets.has(list, bytes)
   for _, n in ipairs(list) do
      if #n.bytes == #bytes then
         local whole, rest = n.bits // 8, n.bits % 8
         local mask = 0xff << (8 - rest) & 0xff
         if n.bytes:sub(1, whole) == bytes:sub(1, whole) and (rest == 0
            or n.bytes:byte(whole + 1) & mask == bytes:byte(whole + 1) & mask) then
            return true
         end
      end
   end
   return false
end

return subnets
