-- SPDX-License-Identifier: GPL-2.0-or-later
--- The addresses with which the ports of an Ethernet fabric's switches answer a trace. They come
-- from files beside those of LLDP (`ip -j address`, SONiC's config_db.json and `show ip
-- interfaces`), otherwise from the management address that a switch announces to its neighbours.
--
-- What a file says is an array of { at = switch, port = nil for the switch as a whole, address }.
local sys = require "taut.sys"
local tables = require "taut.base.tables"

local switch_ports = {}

-- Interfaces whose address is the switch's, whichever port a packet came in by.
local function is_loopback(name)
   return name == "lo" or name:find "^[Ll]oopback" ~= nil
end

-- One that others can be answered from: no loopback's own, no link's own, none that is not an
-- address.
local function is_good(text)
   local address = type(text) == "string" and text:match "^[^/%%]+"
   if not address or not sys.address_bytes(address) or address:find "^127%." or address == "::1"
      or address:find "^169%.254%." or address:lower():find "^fe[89ab]" or address == "0.0.0.0"
      or address == "::" then
      return nil
   end
   return address
end

local function is_v4(address)
   return address:find ":" == nil
end

-- An interface's addresses: IPv4 before IPv6, else as they stand.
local function first_of(list)
   return tables.find(list, is_v4) or list[1]
end

local function add_address(out, at, interface, list)
   local address = first_of(list)
   if address then
      local port
      if not is_loopback(interface) then
         port = interface
      end
      out[#out + 1] = { at = at, port = port, address = address }
   end
end

---------------------------------------------------------------- the forms

-- `ip -j address`: [ { "ifname": "swp1", "addr_info": [ { "local": "10.0.0.0", … } ] }, … ]
local function of_ip(at, value, out)
   for _, i in ipairs(value) do
      local list = {}
      for _, a in ipairs(tables.or_empty(tables.or_empty(i).addr_info)) do
         if type(a) == "table" then
            list[#list + 1] = is_good(a["local"]) or nil
         end
      end
      if type(i) == "table" and type(i.ifname) == "string" then
         add_address(out, at, i.ifname:match "^[^@]+" or "", list)
      end
   end
end

local SONIC = { "INTERFACE", "LOOPBACK_INTERFACE", "PORTCHANNEL_INTERFACE" }

-- A bundle of one port is that port; which port of a larger one a packet came in by is not told.
local function members_of(value)
   local of = {}
   for key in pairs(tables.or_empty(value.PORTCHANNEL_MEMBER)) do
      local bundle, port = tostring(key):match "^([^|]+)|([^|]+)$"
      if bundle and of[bundle] == nil then
         of[bundle] = port
      elseif bundle then
         of[bundle] = false -- of several members
      end
   end
   return of
end

-- config_db.json: { "INTERFACE": { "Ethernet0|10.0.0.0/31": {} }, … }
local function of_config_db(at, value, out)
   local host = type(value.DEVICE_METADATA) == "table" and value.DEVICE_METADATA.localhost
   if type(host) == "table" and type(host.hostname) == "string" then
      at = host.hostname
   end
   local members = members_of(value)
   for _, name in ipairs(SONIC) do
      local of, order = {}, {}
      local keys = {}
      for key in pairs(tables.or_empty(value[name])) do
         keys[#keys + 1] = tostring(key)
      end
      table.sort(keys)
      for _, key in ipairs(keys) do
         local interface, text = key:match "^([^|]+)|([^|]+)$"
         if name == "PORTCHANNEL_INTERFACE" then
            interface = members[interface or ""] or nil
         end
         local address = interface and is_good(text)
         if address then
            if not of[interface] then
               of[interface], order[#order + 1] = {}, interface
            end
            table.insert(of[interface], address)
         end
      end
      for _, interface in ipairs(order) do
         add_address(out, at, interface, of[interface])
      end
   end
end

--- What an object of JSON says of addresses.
-- @param at the machine that its file is of
-- @return array, or nil: it is of another form
function switch_ports.of_json(at, value)
   local out = {}
   if type(value[1]) == "table" and value[1].ifname and value[1].addr_info ~= nil then
      of_ip(at, value, out)
   elseif type(value.INTERFACE) == "table" or type(value.LOOPBACK_INTERFACE) == "table" then
      of_config_db(at, value, out)
   else
      return nil
   end
   return out
end

--- SONiC's `show ip interfaces`, a line an address.
-- @return array, or nil: it is of another form
function switch_ports.of_table(at, src)
   local out, of, order
   for _, line in src:lines() do
      if line:find "^Interface%s+.*IPv4 address/mask" then
         out, of, order = {}, {}, {}
      elseif out then
         local interface = line:match "^(%S+)%s"
         local address = is_good(line:match "%s([%d.]+/%d+)%s" or "")
         if interface and address and not interface:find "^%-" then
            if not of[interface] then
               of[interface], order[#order + 1] = {}, interface
            end
            table.insert(of[interface], address)
         end
      end
   end
   for _, interface in ipairs(order or {}) do
      add_address(out, at, interface, of[interface])
   end
   return out
end

--- Addresses that a switch tells its neighbours, as lldpd writes them.
-- @param value one text, a list of these, or of { value = text }
function switch_ports.told(value)
   local list, told = {}, value
   if type(value) ~= "table" or value[1] == nil then
      told = { value }
   end
   for _, each in ipairs(told) do
      if type(each) == "table" then
         each = each.value or each
      end
      list[#list + 1] = is_good(each)
   end
   return first_of(list)
end

---------------------------------------------------------------- all together

-- Those that more than one port has, by address: of one switch they are its own (unnumbered ports),
-- of several (a gateway's) nobody's.
local function owners_of(list)
   local of = {}
   for _, a in ipairs(list) do
      local o = of[a.address] or { switches = 0, ports = 0, at = {} }
      of[a.address] = o
      if not o.at[a.at] then
         o.switches = o.switches + 1
      end
      o.at[a.at] = true
      if a.port then
         o.ports = o.ports + 1
      end
   end
   return of
end

--- The addresses that `topology.addresses` is to have.
-- @param list what the files say, those of a switch in the order in which they count
-- @param ports map switch → set of its ports that lead to another switch
-- @param note function(text) for what is left out
-- @return array of { name = "leaf01/swp1" or "spine1", address }, by name
function switch_ports.choose(list, ports, note)
   local of, own, whole, shared, out = owners_of(list), {}, {}, {}, {}
   -- ports outside the fabric's switches are not used
   for _, a in ipairs(tables.filter(list, function(each) return ports[each.at] ~= nil end)) do
      local o, name = of[a.address], a.at .. "/" .. (a.port or "")
      if o.switches > 1 then
         shared[a.address] = true
      elseif not a.port or o.ports > 1 or whole[a.at] == a.address then
         whole[a.at] = whole[a.at] or a.address
      else
         if ports[a.at][a.port] then
            own[name] = own[name] or a.address
         end
      end
   end
   for _, address in ipairs(tables.keys(shared)) do
      note(("%s is an address of several switches: left out"):format(address))
   end
   for _, switch in ipairs(tables.keys(ports)) do
      local is_whole = false
      for port in pairs(ports[switch]) do
         local address = own[switch .. "/" .. port]
         if address then
            out[#out + 1] = { name = switch .. "/" .. port, address = address }
         end
         is_whole = is_whole or not address
      end
      if is_whole and whole[switch] then
         out[#out + 1] = { name = switch, address = whole[switch] }
      end
   end
   table.sort(out, function(one, other) return one.name < other.name end)
   return out
end

return switch_ports
