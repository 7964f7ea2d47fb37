-- SPDX-License-Identifier: GPL-2.0-or-later
--- What one sweep says when it is held against the one before: growth, faults that came and went,
-- links that were lost.
local check = require "taut.fabric.check"
local counters = require "taut.events.counters"
local growth = require "taut.events.counters.growth"
local model = require "taut.fabric.model"
local observe = require "taut.fabric.observe"
local tables = require "taut.base.tables"

local watch = {}

local SOURCE = "ib_port"
local RECENT = 1000 -- observations that the state keeps

-- Only error counters are kept: traffic is not growth that anybody waits for.
local function errors_only(values)
   local kept = {}
   for name, v in pairs(values) do
      local entry = counters.entry(SOURCE, name)
      if entry and entry.class ~= "traffic" and math.type(v) == "integer" and v >= 0 then
         kept[name] = v
      end
   end
   return kept
end

local EMPTY = {}

local function errors_or_none(values)
   if values then
      return errors_only(values)
   end
   return EMPTY
end

local function grow_port(port, kept, values, window, out)
   for name, g in pairs(growth.port(SOURCE, kept, values)) do
      if g.amount and g.amount > 0 then
         g.class, g.limit = counters.judge(counters.entry(SOURCE, name), g.amount, window.seconds)
         local why = tables.or_empty(g.limit).why
         out[#out + 1] = observe.counter(port, name, g, window)
         kept.last = kept.last or {}
         kept.last[name] = { amount = g.amount, at_least = g.at_least, reset = g.reset,
            class = g.class, why = why, from = window.from,
            to = window.to, seconds = window.seconds }
      end
   end
end

-- Ports that are always read together: a switch's, each port of an adapter.
local function unit_of(port)
   if not port.unit then
      port.unit = model.key(port)
      if port.node.type == "switch" then
         port.unit = port.node.guid
      end
   end
   return port.unit
end

-- A port whose counters could not be read: what is known of it stays, with the time it is from;
-- false where it was never read.
local function miss_port(state, unit, key)
   if unit.unread[key] == nil then
      unit.unread[key] = false
      if not unit.new then
         unit.unread[key] = state.reading or false
      end
   end
end

-- One port's counters; `reading` is when all were read.  A port without any but zeros takes no
-- place in the state.
local function take_counters(state, unit, port, reading, out)
   local key = tostring(port.number)
   if not port.read then
      return miss_port(state, unit, key)
   end
   local narrow, wide, new = errors_or_none(port.counters), nil, { narrow = {} }
   if port.read == 64 then
      wide, new.wide = errors_or_none(port.counters64), {}
   end
   local kept, before = unit.ports[key], unit.unread[key]
   unit.unread[key] = nil
   if not kept and next(narrow) == nil and (not wide or next(wide) == nil) then
      return
   end
   local was_new = unit.new or before == false
   kept = kept or new
   local window = not was_new and growth.window(before or unit.at or state.reading, reading)
   if window then
      grow_port(port, kept, { narrow = narrow, wide = wide }, window, out)
   end
   kept.narrow, kept.wide = narrow, wide
   unit.ports[key] = kept
end

local function take_all_counters(state, fabric, reading, out)
   local seen = {}
   for p in model.ports(fabric) do
      local name = unit_of(p)
      local unit = state.units[name]
      if not unit and p.read then
         unit = { first = reading.time, ports = {}, unread = {}, new = true }
         state.units[name] = unit
      end
      if unit then
         seen[unit] = true
         take_counters(state, unit, p, reading, out)
      end
   end
   for _, unit in pairs(state.units) do
      unit.new = nil
      -- a node that is not in the fabric now was last read when the others were then
      if seen[unit] then
         unit.at = nil
      else
         unit.at = unit.at or state.reading
      end
   end
end

--- What is known of a port's counters.
-- @return time of their first reading, name → last growth; both nil where there is nothing
function watch.kept(state, p)
   local unit = state.units[unit_of(p)]
   local port = unit and unit.ports[tostring(p.number)]
   return unit and unit.first, port and port.last
end

local function standing_key(finding)
   return ("%s %s/%s"):format(finding.kind, finding.guid or "", finding.number or "")
end

local function take_faults(state, fabric, window, out)
   local standing = {}
   for _, f in ipairs(check.find(fabric)) do
      local key = standing_key(f)
      local known = state.standing[key]
      local o = not known and observe.fault(fabric, f, window)
      if known or o then
         standing[key] = known or o
      end
      if o then
         out[#out + 1] = o
      end
   end
   for key, o in pairs(state.standing) do
      -- A node that was not reached is not mended.
      local node = not standing[key] and fabric.by_guid[o.guid]
      local p = node and node.port[o.number]
      if p and not p.error and p.up then
         out[#out + 1] = observe.mended(o, window)
      elseif not standing[key] and fabric.sweep.incomplete then
         standing[key] = o
      end
   end
   state.standing = standing
end

-- Links of the last sweep that are gone, and those that were gone and are back.
local function take_links(state, fabric, window, out)
   local links = state.links or {}
   for p in model.ports(fabric) do
      local key = model.key(p)
      local was = links[key]
      if p.far then
         if was and was.lost then
            out[#out + 1] = observe.link(p, false, nil, window)
         end
         local node = fabric.by_guid[p.far]
         links[key] = { host = node and node.host,
            name = ("%s/%d"):format(tables.or_empty(node).name or p.far, p.far_port) }
      elseif was and not was.lost and not p.error and not p.silent then
         out[#out + 1] = observe.link(p, true, was, window)
         was.lost = true
      end
   end
   state.links = links
end

-- Both ends of a link lose it at once: one of them tells, the switch if there is one.
local function drop_twins(list)
   local told, kept = {}, {}
   for _, o in ipairs(list) do
      if o.what ~= "link" or not told[o.far or ""] then
         kept[#kept + 1] = o
         told[o.port] = o.what == "link"
      end
   end
   return kept
end

--- Take a sweep into the state.
-- @param state of state.load; changed
-- @param fabric of model.build
-- @return array of observations
function watch.take(state, fabric)
   local s, out = fabric.sweep, {}
   local reading = { time = s.counted, mono = s.counted_mono, boot = s.boot }
   local window = growth.window(state.reading, reading) or { to = reading.time }
   take_all_counters(state, fabric, reading, out)
   take_faults(state, fabric, window, out)
   take_links(state, fabric, window, out)
   out = drop_twins(out)
   state.reading = reading
   for _, o in ipairs(out) do
      table.insert(state.recent, o)
   end
   local excess = #state.recent - RECENT
   if excess > 0 then
      table.move(state.recent, excess + 1, #state.recent + excess, 1)
   end
   return out
end

return watch
