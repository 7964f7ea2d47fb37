-- SPDX-License-Identifier: GPL-2.0-or-later
--- The fabric against itself: what is wrong with it whatever it was meant to be.
local lane = require "taut.fabric.lane"
local model = require "taut.fabric.model"
local tables = require "taut.base.tables"

local check = {}

local function kind_of(link)
   if link.narrow and link.lanes == 1 then
      return "1X"
   elseif link.narrow then
      return "narrow"
   elseif link.slow then
      return "slow"
   end
   return nil
end

-- "narrow" is told before "slow": a link that lost lanes is rarely slow besides.  What the enabled
-- widths and speeds of both ends explain somebody wanted (`taut fabric links --bad` lists it), but
-- nobody wants a single lane, unless it is a plane of an XDR port.
local function link_finding(link)
   local kind = kind_of(link)
   local is_plane = kind == "1X" and link.speed and link.speed.name == "XDR"
   if not kind or link.set and (kind ~= "1X" or is_plane) then
      return nil
   end
   local far = model.port_name(link.a) .. " to " .. model.port_name(link.b)
   local have = lane.words(link.lanes, link.speed)
   local best = lane.words(link.best_lanes, link.best_speed)
   local text = ("%s is %s, both ends support %s"):format(far, have, best)
   if link.set then
      text = text .. " (set so at the ends)"
   end
   return { kind = kind, severity = "fault", link = link, left = link.left,
      port = model.port_name(link.a), guid = link.a.node.guid, number = link.a.number,
      text = text }
end

-- What the two ends say about one cable.
local function check_agreement(link, add)
   if not link.disagree or not lane.width(link.b) then
      return
   end
   local function width_and_speed(port)
      return lane.words(lane.width(port), lane.speed(port))
   end
   add { kind = "disagree", severity = "warning", port = model.port_name(link.a),
      guid = link.a.node.guid, number = link.a.number,
      text = ("%s says it is %s, %s at its other end %s"):format(model.port_name(link.a),
         width_and_speed(link.a), model.port_name(link.b), width_and_speed(link.b)) }
end

local function check_active(link, add)
   if not link.a.up or link.active then
      return
   end
   local p = link.a
   if p.active then
      p = link.b
   end
   local text = ("%s to %s is trained, but %s"):format(model.port_name(link.a),
      model.port_name(link.b), lane.state(p))
   if lane.is_init(p) then
      text = text .. " (no subnet manager?)"
   end
   add { kind = "not active", severity = "warning", port = model.port_name(link.a),
      guid = link.a.node.guid, number = link.a.number, text = text }
end

local function check_links(fabric, add)
   for _, link in ipairs(fabric.links) do
      local f = link_finding(link)
      if f then
         add(f)
      end
      check_agreement(link, add)
      check_active(link, add)
   end
end

local function check_port(port, add)
   if not (port.disabled or port.silent or port.error or port.pm_error) then
      return
   end
   local name = model.port_name(port)
   local function add_finding(kind, severity, text)
      add { kind = kind, severity = severity, port = name, guid = port.node.guid,
         number = port.number,
         text = text }
   end
   if port.disabled then
      add_finding("disabled", "warning", name .. " is disabled")
   elseif port.silent then
      add_finding("silent", "fault", name .. " is connected, but what is there does not answer")
   elseif port.error then
      add_finding("unread", "warning", ("%s: its state: %s"):format(name, port.error))
   end
   if port.pm_error and port.far then
      add_finding("uncounted", "warning", ("%s: its counters: %s"):format(name, port.pm_error))
   end
end

local function end_words(fabric, endpoint)
   local node = type(endpoint) == "table" and fabric.by_guid[endpoint.guid]
   if not node then
      return "elsewhere"
   end
   return ("%s/%d"):format(node.name, endpoint.port)
end

local function check_clashes(fabric, add)
   for _, c in ipairs(fabric.sweep.clashes or {}) do
      local node = fabric.by_guid[c.guid]
      add { kind = "clash", severity = "fault", guid = c.guid, number = c.port,
         text = ("GUID %s (%s) port %d is seen from %s and from %s: two nodes with one GUID, or" ..
            " a cable moved meanwhile"):format(c.guid, tables.or_empty(node).name or "?", c.port,
            end_words(fabric, c.first), end_words(fabric, c.second)) }
   end
end

--- How many ports there are of which kind: { ports, down, disabled, linked, width, speed }, these
-- last two by name; `set` are links that somebody set below what both ends support.
function check.counts(fabric)
   local n = { ports = 0, linked = 0, down = 0, disabled = 0, set = 0, width = {}, speed = {} }
   n.set = tables.count(fabric.links, function(link)
      return (link.narrow or link.slow) and link.set and link.lanes ~= 1
   end)
   for p in model.ports(fabric) do
      n.ports = n.ports + 1
      if p.disabled then
         n.disabled = n.disabled + 1
      elseif not p.up then
         n.down = n.down + 1
      end
      if p.up then
         n.linked = n.linked + 1
         local w, s = lane.names(lane.width(p), lane.speed(p))
         n.width[w], n.speed[s] = (n.width[w] or 0) + 1, (n.speed[s] or 0) + 1
      end
   end
   return n
end

--- Everything that is wrong.
-- @param fabric of model.build
-- @return array of { kind, severity ("fault", "warning"), text, port, guid, number, left, link }
function check.find(fabric)
   local list = {}
   local function add_found(finding)
      list[#list + 1] = finding
   end
   check_links(fabric, add_found)
   for p in model.ports(fabric) do
      check_port(p, add_found)
   end
   check_clashes(fabric, add_found)
   if fabric.sweep.incomplete then
      add_found { kind = "incomplete", severity = "warning", text = "the sweep is not complete: " ..
         tostring(fabric.sweep.why) }
   end
   return list
end

return check
