-- SPDX-License-Identifier: GPL-2.0-or-later
--- The addresses of all fabrics' routers as one list (topology/addresses.lua).
local asked = {}

local function take_addresses(whole, at, fabric)
   local own = fabric.topo.asked_at
   local function is_new(address)
      local other = at.fabric[address]
      at.fabric[address] = fabric.name
      return other == nil or other == fabric.name, other
   end
   for _, map in ipairs { own.link, own.router } do
      for address in pairs(map) do
         local ok, other = is_new(address)
         if not ok then
            return nil, ("fabrics.%s.addresses: %s is in fabric %s, too: nobody could tell " ..
               "which of them answers"):format(fabric.name, address, other)
         end
      end
   end
   for address, c in pairs(own.link) do
      at.link[address] = whole:of_part(fabric, c)
   end
   for address, r in pairs(own.router) do
      at.router[address] = fabric.first_router + r
   end
   for c, address in pairs(own.of) do
      at.of[whole:of_part(fabric, c)] = address
   end
   return true
end

--- @param whole topology; gets `asked_at` where some fabric has addresses
-- @return true, or nil and what is wrong
function asked.join(whole)
   local at = { link = {}, router = {}, of = {}, fabric = {} }
   for _, f in ipairs(whole.fabrics) do
      local ok, err = true, nil
      if f.topo.asked_at then
         ok, err = take_addresses(whole, at, f)
         whole.asked_at = at
      end
      if not ok then
         return nil, err
      end
   end
   return true
end

return asked
