-- SPDX-License-Identifier: GPL-2.0-or-later
--- What hosts and switches say of their neighbours, in the forms that tools print it: lldpd's json
-- and json0 (lldpctl, lldpcli show neighbors; Cumulus), NetQ's json, SONiC's `show lldp table`.
--
-- A neighbour is { at = whose port, port, far = name or nil, id = of the chassis, far_ports = array
-- of what the far port may be called, is_bridge, is_station, line, told = an address of the far one
-- by its own word }.
local json = require "taut.json"
local source = require "taut.topology.import.source"
local switch_ports = require "taut.topology.import.lldp.switch_ports"
local tables = require "taut.base.tables"

local forms = {}

local quote = source.quote

-- lldpd writes one of a kind as itself or as a list of one, a text as itself or as its value.  A
-- text with blanks ("uplink to the spine") is not a name.
local function one_of(value)
   if type(value) == "table" and value[1] ~= nil then
      return value[1]
   end
   return value
end

local function text_of(value)
   value = one_of(value)
   if type(value) == "table" then
      value = one_of(value.value)
   end
   if type(value) == "string" and #value <= 255 and value:find "^[!-~]+$" then
      return value
   end
   return nil
end

local function list_of(value)
   if type(value) ~= "table" then
      return {}
   elseif value[1] ~= nil then
      return value
   end
   return { value }
end

-- "json" has the name as the key of the one that it has; json0 has it inside.
local function chassis_of(value)
   value = one_of(value)
   if type(value) ~= "table" then
      return {}, nil
   elseif value.id ~= nil or value.name ~= nil then
      return value, text_of(value.name)
   end
   local name, inside = next(value)
   return tables.or_empty(one_of(inside)), text_of(name)
end

local function has_capability(chassis, kind)
   for _, c in ipairs(list_of(chassis.capability)) do
      if type(c) == "table" and c.type == kind and c.enabled ~= false then
         return true
      end
   end
   return false
end

local function neighbour(at, port_name, told)
   local chassis, name = chassis_of(told.chassis)
   local port = tables.or_empty(one_of(told.port))
   local id, far_ports = one_of(port.id), {}
   local kind = type(id) == "table" and id.type
   local value, descr = text_of(id), text_of(port.descr)
   -- what an interface is called comes first; what only tells it apart last
   if kind == "ifname" then
      far_ports[1] = value
      far_ports[#far_ports + 1] = descr
   else
      far_ports[1] = descr
      far_ports[#far_ports + 1] = value
   end
   return { at = at, port = port_name, far = name, id = text_of(chassis.id), far_ports = far_ports,
      is_bridge = has_capability(chassis, "Bridge") or has_capability(chassis, "Router"),
      is_station = has_capability(chassis, "Station"), line = 1,
      told = switch_ports.told(chassis["mgmt-ip"]) }
end

-- The interfaces of lldpd's answer: pairs of name and table, whichever way they are written.
local function interfaces(value)
   local out = {}
   for _, t in ipairs(list_of(value)) do
      if type(t) == "table" and text_of(t.name) then
         out[#out + 1] = { t.name, t }
      elseif type(t) == "table" then
         local names = {}
         for name in pairs(t) do
            names[#names + 1] = text_of(name)
         end
         table.sort(names)
         for _, name in ipairs(names) do
            for _, each in ipairs(list_of(t[name])) do
               if type(each) == "table" then
                  out[#out + 1] = { name, each }
               end
            end
         end
      end
   end
   return out
end

local function of_lldpd(at, value, out)
   for _, answer in ipairs(list_of(value)) do
      for _, i in ipairs(interfaces(type(answer) == "table" and answer.interface)) do
         out[#out + 1] = neighbour(at, i[1], i[2])
      end
   end
end

-- NetQ: a row a neighbour, of all machines at once.
local function of_netq(rows, out)
   for _, r in ipairs(rows) do
      if type(r) == "table" and text_of(r.hostname) and text_of(r.ifname) then
         out[#out + 1] = { at = text_of(r.hostname), port = text_of(r.ifname),
            far = text_of(r.peerHostname or r.peer_hostname),
            far_ports = { text_of(r.peerIfname or r.peer_ifname) }, line = 1 }
      end
   end
end

-- Columns of a table by where their headings begin.
local function columns_of(line)
   local at, from = {}, 1
   while true do
      local a, b = line:find("%S+", from)
      if not a then
         return at
      end
      at[#at + 1] = { name = line:sub(a, b), from = a }
      from = b + 1
   end
end

local function of_table(src, at, out)
   local columns
   for n, line in src:lines() do
      if line:find "^LocalPort%s+RemoteDevice" then
         columns = columns_of(line)
      elseif columns and line:find "^[%w./:-]+%s" and not line:find "^%-%-" then
         local row = {}
         for i, c in ipairs(columns) do
            local stop = #line
            if columns[i + 1] then
               stop = columns[i + 1].from - 1
            end
            row[c.name] = text_of(line:sub(c.from, stop):match "^%s*(.-)%s*$")
         end
         if row.LocalPort and not row.LocalPort:find "^Total" then
            local caps = row.Capability or ""
            out[#out + 1] = { at = at, port = row.LocalPort, far = row.RemoteDevice,
               far_ports = { row.RemotePortID, row.RemotePortDescr }, line = n,
               is_bridge = caps:find "[BR]" ~= nil }
            if not row.RemotePortID then
               out[#out].far_ports = { row.RemotePortDescr }
            end
         end
      end
   end
   return columns ~= nil
end

--- The name of the machine that a file is of: "leaf01" of DIR/leaf01.json.
function forms.name_of(path)
   local name = path:match "([^/]*)$"
   return (name:gsub("%.gz$", ""):gsub("%.[Jj][Ss][Oo][Nn]0?$", ""):gsub("%.lldp$", "")
      :gsub("%.txt$", ""):gsub("%.ip$", ""):gsub("%.config_db$", ""))
end

-- What a file that is of no neighbours says of addresses, or nil.
local function addresses_of(src, own, value)
   if type(value) == "table" then
      return switch_ports.of_json(own, value)
   end
   return switch_ports.of_table(own, src)
end

-- The machine's own chassis, which `lldpcli show chassis` prints.
local function own_chassis(own, value)
   local chassis, name = chassis_of(tables.or_empty(value).chassis or nil)
   local address = switch_ports.told(chassis["mgmt-ip"])
   if not address then
      return {}
   end
   return { { at = name or own, address = address } }
end

--- Neighbours that a file tells of, or addresses.
-- @param src what is read
-- @return array of neighbours; names of those that spoke, as keys; array of addresses
--   (switch_ports.lua)
function forms.read(src)
   local out, own = {}, forms.name_of(src.path)
   local v, err = json.decode(src.text)
   local ports = addresses_of(src, own, v)
      or type(v) == "table" and v["local-chassis"] and own_chassis(own, v["local-chassis"])
   if ports then
      return {}, {}, ports
   elseif type(v) ~= "table" then
      if not of_table(src, own, out) then
         local what = "no object"
         if v == nil then
            what = err:gsub("[^ -~]", "?")
         end
         src:fail(1, "%s, expected what `lldpcli show neighbors -f json`, NetQ or SONiC's `show " ..
            "lldp table` prints", what)
      end
   elseif v.lldp ~= nil and type(list_of(v.lldp)[1]) == "table" and list_of(v.lldp)[1].hostname then
      of_netq(v.lldp, out)
   elseif v.lldp ~= nil then
      of_lldpd(own, v.lldp, out)
   elseif v[1] ~= nil then
      of_netq(v, out)
   else -- several machines in one file, by name
      for name, answer in pairs(v) do
         if text_of(name) and type(answer) == "table" and answer.lldp ~= nil then
            of_lldpd(name, answer.lldp, out)
         end
      end
      table.sort(out, function(one, other)
         return one.at < other.at or one.at == other.at and one.port < other.port
      end)
   end
   local speak = {}
   for _, n in ipairs(out) do
      speak[n.at] = true
   end
   if #out == 0 then
      src:fail(1, "%s has no neighbour, expected at least one", quote(own))
   end
   return out, speak, {}
end

return forms
