-- SPDX-License-Identifier: GPL-2.0-or-later
--- Addresses by which routers answer who asks for a test's way: those of their ports, or of whole
-- routers that answer with one whichever port was asked at.
local addresses = {}

local function bad_address(name, what, ...)
   return nil, ("topology.addresses['%s']: " .. what):format(tostring(name), ...)
end

-- The link that arrives at the port, or the router, with this name.
local function thing_of(topo, name)
   local c = topo.component_id[name]
   if c and topo:is_link(c) then
      return topo:opposite(c) or nil
   end
   return nil, topo.router_id[name]
end

--- @param topo topology, built; gets `asked_at`: { link = map address → the link that arrives
--   there, router = map address → router, of = map link → address of its far end }
-- @param conf map name of a port (as the link that leaves by it) or router → address
-- @return true, or nil and what was expected
function addresses.apply(topo, conf)
   if type(conf) ~= "table" then
      return nil, "topology.addresses: expected a table { [\"leaf0/3\"] = \"10.0.0.1\", … }, got "
         .. tostring(conf)
   end
   local at = { link = {}, router = {}, of = {} }
   for name, address in pairs(conf) do
      if type(address) ~= "string" or #address > 45 or not address:find "^[%x.:]+$" then
         return bad_address(name, "expected an address in quotes, got %s", tostring(address))
      elseif at.link[address] or at.router[address] then
         return bad_address(name, "%s is another port's, too", address)
      end
      local link, router = thing_of(topo, name)
      if not link and not router then
         return bad_address(name, "is neither a router nor a port of one")
      end
      at.link[address], at.router[address] = link, router
      if link then
         at.of[link] = address
      end
   end
   for address, r in pairs(at.router) do
      for _, c in ipairs(topo:links_of(r)) do
         local back = topo:opposite(c)
         if back then
            at.of[back] = at.of[back] or address
         end
      end
   end
   topo.asked_at = at
   return true
end

return addresses
