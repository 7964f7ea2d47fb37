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

local forms = {}

local quote = source.quote

-- lldpd writes one of a kind as itself or as a list of one, a text as itself or as its value.  What
-- is no word ("uplink to the spine") is no name of anything.
local function one(v)
   if type(v) == "table" and v[1] ~= nil then
      return v[1]
   end
   return v
end

local function text(v)
   v = one(v)
   if type(v) == "table" then
      v = one(v.value)
   end
   return type(v) == "string" and #v <= 255 and v:find "^[!-~]+$" and v or nil
end

local function list(v)
   if type(v) ~= "table" then
      return {}
   end
   return v[1] ~= nil and v or { v }
end

-- "json" has the name as the key of the one that it has; json0 has it inside.
local function chassis_of(v)
   v = one(v)
   if type(v) ~= "table" then
      return {}, nil
   elseif v.id ~= nil or v.name ~= nil then
      return v, text(v.name)
   end
   local name, inside = next(v)
   return type(one(inside)) == "table" and one(inside) or {}, text(name)
end

local function has(chassis, kind)
   for _, c in ipairs(list(chassis.capability)) do
      if type(c) == "table" and c.type == kind and c.enabled ~= false then
         return true
      end
   end
   return false
end

local function neighbour(at, port_name, t)
   local chassis, name = chassis_of(t.chassis)
   local port = one(t.port)
   port = type(port) == "table" and port or {}
   local id, far_ports = one(port.id), {}
   local kind = type(id) == "table" and id.type
   local value, descr = text(id), text(port.descr)
   -- what an interface is called comes first; what only tells it apart last
   for _, p in ipairs(kind == "ifname" and { value or false, descr or false }
      or { descr or false, value or false }) do
      far_ports[#far_ports + 1] = p or nil
   end
   return { at = at, port = port_name, far = name, id = text(chassis.id), far_ports = far_ports,
      is_bridge = has(chassis, "Bridge") or has(chassis, "Router"),
      is_station = has(chassis, "Station"), line = 1,
      told = switch_ports.told(chassis["mgmt-ip"]) }
end

-- The interfaces of lldpd's answer: pairs of name and table, whichever way they are written.
local function interfaces(v)
   local out = {}
   for _, t in ipairs(list(v)) do
      if type(t) == "table" and text(t.name) then
         out[#out + 1] = { t.name, t }
      elseif type(t) == "table" then
         local names = {}
         for name in pairs(t) do
            names[#names + 1] = text(name)
         end
         table.sort(names)
         for _, name in ipairs(names) do
            for _, each in ipairs(list(t[name])) do
               out[#out + 1] = type(each) == "table" and { name, each } or nil
            end
         end
      end
   end
   return out
end

local function of_lldpd(at, v, out)
   for _, answer in ipairs(list(v)) do
      for _, i in ipairs(interfaces(type(answer) == "table" and answer.interface)) do
         out[#out + 1] = neighbour(at, i[1], i[2])
      end
   end
end

-- NetQ: a row a neighbour, of all machines at once.
local function of_netq(rows, out)
   for _, r in ipairs(rows) do
      if type(r) == "table" and text(r.hostname) and text(r.ifname) then
         out[#out + 1] = { at = text(r.hostname), port = text(r.ifname),
            far = text(r.peerHostname or r.peer_hostname),
            far_ports = { text(r.peerIfname or r.peer_ifname) }, line = 1 }
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
            local stop = columns[i + 1] and columns[i + 1].from - 1 or #line
            row[c.name] = text(line:sub(c.from, stop):match "^%s*(.-)%s*$")
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
local function addresses_of(src, own, v)
   if type(v) == "table" then
      return switch_ports.of_json(own, v)
   end
   return switch_ports.of_table(own, src)
end

-- The machine's own chassis, which `lldpcli show chassis` prints.
local function own_chassis(own, v)
   local chassis, name = chassis_of(type(v) == "table" and v.chassis or nil)
   local address = switch_ports.told(chassis["mgmt-ip"])
   return { address and { at = name or own, address = address } or nil }
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
         src:fail(1, "%s, expected what `lldpcli show neighbors -f json`, NetQ or SONiC's `show " ..
            "lldp table` prints", v == nil and (err:gsub("[^ -~]", "?")) or "no object")
      end
   elseif v.lldp ~= nil and type(list(v.lldp)[1]) == "table" and list(v.lldp)[1].hostname then
      of_netq(v.lldp, out)
   elseif v.lldp ~= nil then
      of_lldpd(own, v.lldp, out)
   elseif v[1] ~= nil then
      of_netq(v, out)
   else -- several machines in one file, by name
      for name, answer in pairs(v) do
         if text(name) and type(answer) == "table" and answer.lldp ~= nil then
            of_lldpd(name, answer.lldp, out)
         end
      end
      table.sort(out, function(a, b) return a.at < b.at or a.at == b.at and a.port < b.port end)
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
