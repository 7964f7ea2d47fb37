-- SPDX-License-Identifier: GPL-2.0-or-later
--- A sweep as something to look at: nodes with names, ports, links with both ends.
local lane = require "taut.fabric.lane"
local names = require "taut.topology.import.ib.guids"

local model = {}

local function comes_before(one, other)
   if one.node.name ~= other.node.name then
      return one.node.name < other.node.name
   end
   return one.number < other.number
end

local function take_ports(node, all)
   local ports = {}
   for _, p in ipairs(node.ports) do
      if type(p.info) == "string" then
         p.info = lane.info(p.info)
      else
         p.info = lane.unread
      end
      p.node, p.number = node, p.port
      p.up, p.disabled, p.active = lane.is_up(p), lane.is_disabled(p), lane.is_active(p)
      ports[p.number] = p
      if p.number > 0 then
         all[#all + 1] = p
      end
   end
   node.port = ports
end

-- Two nodes that claim one far port both point to it; it points to one of them at most.
local function find_far(fabric, port)
   local node = port.far and fabric.by_guid[port.far]
   return node and node.port[port.far_port]
end

-- What is slower counts where the two ends do not agree.
local function measure_link(link, widest)
   local a, b = link.a, link.b
   local wa, wb, sa, sb = lane.width(a), lane.width(b), lane.speed(a), lane.speed(b)
   link.lanes = wa or wb
   if wa and wb then
      link.lanes = math.min(wa, wb)
   end
   link.speed = sa or sb
   if sa and sb and sb.Bps < sa.Bps then
      link.speed = sb
   end
   link.disagree = wa ~= wb or sa ~= sb
   link.Bps = lane.bandwidth(link.lanes, link.speed)
   link.best_lanes, link.best_speed = lane.supported(a, b, widest)
   local set_lanes, set_speed = lane.enabled(a, b, widest)
   local best = lane.bandwidth(link.best_lanes, link.best_speed)
   link.left = best and link.Bps and math.min(1, link.Bps / best)
   link.narrow = link.lanes ~= nil and link.best_lanes ~= nil and link.lanes < link.best_lanes
   link.slow = link.speed ~= nil and link.best_speed ~= nil
      and link.speed.Bps < link.best_speed.Bps
   link.set = (not link.narrow or link.lanes == set_lanes)
      and (not link.slow or link.speed == set_speed)
   link.active = a.active and b.active
end

local function add_link(fabric, port, far, widest)
   -- a switch first, else by name, so that a link reads the same in every sweep
   if (port.node.type == "switch") ~= (far.node.type == "switch") then
      if far.node.type == "switch" then
         port, far = far, port
      end
   elseif comes_before(far, port) then
      port, far = far, port
   end
   local link = { a = port, b = far, between = "host" }
   if port.node.type == far.node.type then
      link.between = "switches"
   end
   measure_link(link, widest)
   port.link, far.link = port.link or link, far.link or link
   fabric.links[#fabric.links + 1] = link
end

local function find_links(fabric, widest)
   for _, node in ipairs(fabric.nodes) do
      for _, p in ipairs(node.ports) do
         local q = find_far(fabric, p)
         local back = q and find_far(fabric, q)
         if q and (back ~= p or not p.link) then
            p.disputed = back ~= p or nil
            add_link(fabric, p, q, widest)
         end
      end
   end
   table.sort(fabric.links, function(one, other)
      if one.a ~= other.a then
         return comes_before(one.a, other.a)
      end
      return one.b ~= other.b and comes_before(one.b, other.b)
   end)
end

--- @param sweep of taut.fabric.sweep
-- @param map GUID → name, or nil
-- @param widest lanes that a link of this fabric has at most
-- @return { nodes (by name), by_guid, links, sweep }
function model.build(sweep, map, widest)
   local fabric = { sweep = sweep, nodes = sweep.nodes, by_guid = {}, links = {},
      ports = {} }
   names.give(fabric.nodes, map)
   table.sort(fabric.nodes, function(one, other)
      if one.name ~= other.name then
         return one.name < other.name
      end
      return one.guid < other.guid
   end)
   for _, node in ipairs(fabric.nodes) do
      fabric.by_guid[node.guid] = node
      take_ports(node, fabric.ports)
   end
   find_links(fabric, widest)
   return fabric
end

--- All ports in order, those of a switch's own processor left out.
function model.ports(fabric)
   local list, i = fabric.ports, 0
   return function()
      i = i + 1
      return list[i]
   end
end

--- The port at the other end of a cable; nil where none is known.
function model.far_of(port)
   local link = port and port.link
   if link and link.a == port then
      return link.b
   end
   return link and link.a
end

--- "leaf3/17"
function model.port_name(port)
   return ("%s/%d"):format(port.node.name, port.number)
end

--- Name under which a port is stored.
function model.key(port)
   return ("%s/%d"):format(port.node.guid, port.number)
end

return model
