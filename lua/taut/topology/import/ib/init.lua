-- SPDX-License-Identifier: GPL-2.0-or-later
--- An InfiniBand fabric from its elements, however they were written down.
--
-- An element is { type = "switch"|"ca"|"router", guid, desc, lid, nports, line,
--    ports = { [n] = { line, guid (of the port), lid, lmc, peer = guid, peer_port, peer_lid,
--                      width, speed, or Bps } } };
--    system = GUID of a switch's system image, nil where that is not told.
-- (`only_port` when the file tells ports and not which adapter they are of.)
-- With planes (planes.lua) a port has `planes`, and the number of them that are `up`. A switch has
-- `others`, the GUIDs of other switches that it stands for, and `renumbered`, those of them whose
-- cables are at other ports of it. Every cable is described at both of its ends; here the two must
-- agree.
local guids = require "taut.topology.import.ib.guids"
local naming = require "taut.topology.import.ib.naming"
local planes = require "taut.topology.import.ib.planes"
local rails = require "taut.topology.import.rails"
local report = require "taut.report"
local source = require "taut.topology.import.source"
local speed = require "taut.topology.import.speed"
local tables = require "taut.base.tables"
local wiring = require "taut.topology.import.wiring"

local ib = {}

local quote = source.quote

local function port_name(element, number)
   return ("%s[%d]"):format(quote(guids.of_guid(element)), number)
end

-- The other end of a port; an error where it is missing or leads elsewhere.
local function far_end(src, by_guid, element, number, port)
   local other = by_guid[port.peer]
   if not other then
      src:fail(port.line, "%s leads to %s, which is not described; is the file cut short?",
         port_name(element, number), quote(port.peer))
   end
   local back = other.ports[port.peer_port]
   if not back then
      src:fail(port.line, "%s leads to %s, which does not lead back, expected both ends of a cable",
         port_name(element, number), port_name(other, port.peer_port))
   end
   if back.peer ~= element.guid or back.peer_port ~= number then
      src:fail(port.line, "%s leads to %s, which leads to %s[%d] in line %d instead",
         port_name(element, number), port_name(other, port.peer_port), quote(back.peer),
         back.peer_port, back.line)
   end
   if port.peer_port_guid and back.guid and port.peer_port_guid ~= back.guid then
      src:fail(port.line, "%s leads to port GUID %s, which is %s in line %d",
         port_name(element, number), quote(port.peer_port_guid), quote(back.guid), back.line)
   end
   return other, back
end

-- Width and speed of a cable: what both ends say, or the slower of the two.
local function rate_of(src, element, number, port, back)
   if port.Bps or back.Bps then -- of Omni-Path
      return port, port.Bps
   elseif not port.width or not back.width then
      local known = back
      if port.width then
         known = port
      end
      return known, known.width and speed.Bps(known.width, known.speed) or nil
   end
   local here, there = speed.Bps(port.width, port.speed), speed.Bps(back.width, back.speed)
   if port.width == back.width and port.speed == back.speed then
      if not here then
         src:note(port.line, "%s runs at %s %s, whose bandwidth is not known",
            port_name(element, number), port.width, port.speed)
      end
      return port, here
   end
   local slower = back
   if (here or math.huge) <= (there or math.huge) then
      slower = port
   end
   src:note(port.line, "%s is %s %s here and %s %s at its other end in line %d; the slower counts",
      port_name(element, number), port.width, port.speed, back.width, back.speed, back.line)
   return slower, speed.Bps(slower.width, slower.speed)
end

-- What all planes of a port carry, and the share of them that is there.
local function of_planes(port, Bps)
   return Bps and Bps * (port.planes or 1)
end

local function left_of(port)
   if port.planes and port.up < port.planes then
      return port.up / port.planes
   end
   return nil
end

local function lids_agree(src, element, number, port, other, back)
   local own = back.lid
   if other.type == "switch" then
      own = other.lid or own
   end
   if port.peer_lid and own and own ~= port.peer_lid then
      src:note(port.line, "%s says lid %d of its other end, which says %d in line %d itself",
         port_name(element, number), port.peer_lid, own, other.line)
   end
end

local function sorted_ports(element)
   local list = tables.keys(element.ports)
   return list
end

-- Cables between switches, each from the end that comes first in the file.
local function switch_cable(made, src, element, number, port, other, back)
   if other == element then
      if number < port.peer_port then
         src:note(port.line, "%s and %s are one loop of cable; left out",
            port_name(element, number), port_name(element, port.peer_port))
      end
      return
   end
   if element.index > other.index then
      return
   end
   local r, Bps = rate_of(src, element, number, port, back)
   made:cable { a = element.index, a_port = tostring(number), b = other.index,
      b_port = tostring(port.peer_port),
      width = r.width, speed = r.speed, Bps = of_planes(port, Bps), planes = port.planes,
      left = left_of(port) }
end

local function add_switches(made, src, by_guid, switches)
   for _, e in ipairs(switches) do
      for _, n in ipairs(sorted_ports(e)) do
         local port = e.ports[n]
         local other, back = far_end(src, by_guid, e, n, port)
         lids_agree(src, e, n, port, other, back)
         if other.type == "switch" then
            switch_cable(made, src, e, n, port, other, back)
         end
      end
   end
end

-- Ports of a host that lead to a switch, in the order of device and port.
local function ports_of(src, by_guid, host)
   table.sort(host.adapters, function(one, other)
      if one.device ~= other.device then
         local da, db = tonumber(one.device:match "%d+$"), tonumber(other.device:match "%d+$")
         if da and db and da ~= db then
            return da < db
         end
         return one.device < other.device
      end
      return one.guid < other.guid
   end)
   local ports = {}
   for _, e in ipairs(host.adapters) do
      for _, n in ipairs(sorted_ports(e)) do
         local port = e.ports[n]
         local other, back = far_end(src, by_guid, e, n, port)
         lids_agree(src, e, n, port, other, back)
         if other.type == "switch" then
            local r, Bps = rate_of(src, e, n, port, back)
            local rail = { router = other.index, port = tostring(port.peer_port),
               lid = port.lid or back.peer_lid, lmc = port.lmc,
               guid = port.guid or back.peer_port_guid,
               width = r.width, speed = r.speed, Bps = of_planes(port, Bps), planes = port.planes,
               left = left_of(port) }
            ports[#ports + 1] = { rail = rail,
               label = (e.device or "") .. report.text_with("/", n > 1 and n) }
         else
            src:note(port.line, "%s is cabled to %s, which is not a switch; skipped",
               port_name(e, n), port_name(other, port.peer_port))
         end
      end
   end
   return ports
end

local function add_hosts(made, src, by_guid, cas, names)
   local kept = {}
   for _, e in ipairs(cas) do
      if e.desc:find "Aggregation Node" then
         src:note(e.line, "%s computes inside a switch and is not a node; skipped", quote(e.desc))
         for _, n in ipairs(sorted_ports(e)) do
            far_end(src, by_guid, e, n, e.ports[n])
         end
      else
         kept[#kept + 1] = e
      end
   end
   local hosts = naming.hosts(src, kept, names)
   for _, host in ipairs(hosts) do
      local first = host.adapters[1]
      host.line, host.guid, host.is_named = first.line, first.guid, first.host ~= nil
      host.ports = ports_of(src, by_guid, host)
   end
   rails.settle(src, hosts)
   for _, host in ipairs(hosts) do
      if #host.rails > 0 then
         made:node(host.line, { name = host.name, guid = host.guid, rails = host.rails })
      else
         src:note(host.line, "%s is connected to no switch; left out", quote(host.name))
      end
   end
end

local function port_guids_once(src, cas)
   local at = {}
   for _, e in ipairs(cas) do
      for _, n in ipairs(sorted_ports(e)) do
         local g = e.ports[n].guid
         if g and at[g] then -- planes are put together
            src:fail(e.ports[n].line, "port GUID %s is here and in line %d, expected it once",
               quote(g), at[g])
         end
         if g then
            at[g] = e.ports[n].line
         end
      end
   end
end

-- Before planes are put together: errors name what the file has.
local function check_ends(src, elements)
   local by_guid = {}
   for _, e in ipairs(elements) do
      by_guid[e.guid] = e
   end
   for _, e in ipairs(elements) do
      for _, n in ipairs(tables.or_empty(e.type ~= "router" and sorted_ports(e))) do
         far_end(src, by_guid, e, n, e.ports[n])
      end
   end
end

local function has_planes(elements)
   for _, e in ipairs(elements) do
      local seen = {}
      for _, port in pairs(tables.or_empty(e.type == "ca" and e.ports)) do
         if port.guid and seen[port.guid] then
            return true
         end
         seen[port.guid or 0] = true
      end
   end
   return false
end

--- Put a fabric together.
-- @param src what is read
-- @param format name of the importer
-- @param elements in the order of the file
-- @param opts { names, nodes } as taut.import gives them
-- @return wiring
function ib.assemble(src, format, elements, opts)
   if has_planes(elements) then
      check_ends(src, elements)
      elements = planes.join(src, elements)
   end
   local w, by_guid, switches, cas = wiring.new(src, format), {}, {}, {}
   for _, e in ipairs(elements) do
      by_guid[e.guid] = e
      if e.type == "switch" then
         switches[#switches + 1] = e
      elseif e.type == "ca" then
         cas[#cas + 1] = e
      else
         src:note(e.line, "%s joins two subnets and is not followed", quote(e.desc))
      end
   end
   if #switches == 0 then
      src:fail(nil, "the file ends without a switch, expected at least one")
   end
   port_guids_once(src, cas)
   local name = naming.switches(switches, opts.names)
   for _, e in ipairs(switches) do
      local place
      if e.desc ~= name[e] then
         place = e.desc
      end
      e.index = w:router(e.line, { name = name[e], guid = e.guid, ports = e.nports, lid = e.lid,
         place = place, others = e.others,
         renumbered = e.renumbered })
   end
   add_switches(w, src, by_guid, switches)
   add_hosts(w, src, by_guid, cas, opts.names)
   if #w.nodes == 0 then
      src:fail(nil, "the file ends without a node on a switch, expected at least one")
   end
   w:only(opts.nodes, false)
   return w:finish()
end

return ib
