-- SPDX-License-Identifier: GPL-2.0-or-later
--- Observations: what of a sweep is worth an event, in the form doc/internals/events.md describes
-- ("Observations").
local counters = require "taut.events.counters"
local lane = require "taut.fabric.lane"
local model = require "taut.fabric.model"
local tables = require "taut.base.tables"

local observe = {}

local SOURCE = "ib_port"

-- Which observations a finding of check.lua makes.
local WHAT = { ["1X"] = "width", narrow = "width", slow = "speed", silent = "silent" }

-- What leaves through a port: a host's tx, its rx at the switch before it, or a link.
local function leaving_component(port, far)
   if port.node.host then
      return port.node.host .. "/tx"
   elseif far and far.node.host then
      return far.node.host .. "/rx"
   end
   return model.port_name(port)
end

-- The components that a counter, or a state, of a port tells of.
local function components(port, far, side)
   local list = {}
   if side ~= "receive" or not far then
      list[1] = leaving_component(port, far)
   end
   if side ~= "send" and far then
      list[#list + 1] = leaving_component(far, port)
   end
   return list
end

--- The part that says where.
-- @param port port of the fabric, connected or not
-- @param side "receive", "send" or "both"
function observe.place(port, side)
   local far, scope = model.far_of(port), "link"
   local host = port.node.host or far and far.node.host
   if host then
      scope = "node"
   end
   return { scope = scope, node = host, port = model.port_name(port),
      guid = port.node.guid, number = port.number, far = far and model.port_name(far),
      components = components(port, far, side) }
end

local function add_window(observation, window)
   observation.from, observation.to, observation.seconds, observation.jump = window.from, window.to,
      window.seconds, window.jump
   observation.source = "fabric"
   return observation
end

--- Growth of a counter; nil when it is not one to keep: within its limits, or of a counter that by
-- itself means nothing.
-- @param grown of growth.of, with class and limit of counters.judge
function observe.counter(port, name, grown, window)
   if not grown.limit and grown.class ~= "fatal" and grown.class ~= "degrading" then
      return nil
   end
   local entry = counters.entry(SOURCE, name)
   local o = observe.place(port, entry.side)
   o.what, o.amount, o.unit = name, grown.amount, entry.unit
   o.at_least, o.reset, o.class = grown.at_least, grown.reset, grown.class
   o.limit = grown.limit and counters.words(grown.limit)
   local form = "%s of %s grew by %d"
   if grown.at_least then
      form = "%s of %s grew by at least %d"
   end
   o.text = form:format(name, o.port, grown.amount)
   if o.limit then
      o.text = o.text .. ", more than allowed: " .. o.limit
   end
   return add_window(o, window)
end

--- A fault that began to stand; nil for a finding that is not evidence.
function observe.fault(fabric, finding, window)
   local what = WHAT[finding.kind]
   local node = what and fabric.by_guid[finding.guid]
   local p = node and node.port[finding.number]
   if not p then
      return nil
   end
   local o = observe.place(p, "both")
   o.what, o.left, o.text, o.class = what, finding.left, finding.text, "degrading"
   if what == "silent" then
      o.left, o.class = finding.left or 0, "fatal"
   end
   local link = finding.link
   if link then
      o.have = lane.words(link.lanes, link.speed)
      o.best = lane.words(link.best_lanes, link.best_speed)
   end
   return add_window(o, window)
end

--- A fault that stands no more.
-- @param standing what was kept of it: its observation
function observe.mended(standing, window)
   local o = tables.copy(standing)
   o.class, o.left, o.have, o.limit = "harmless", 1, nil, nil
   o.text = ("%s of %s is as it should be again"):format(o.what, o.port)
   return add_window(o, window)
end

--- A link that is not there any more, or is there again.
-- @param port port of the fabric
-- @param was for a lost one: { name =, host = } of what it was connected to
function observe.link(port, is_lost, was, window)
   local o = observe.place(port, "both")
   o.what, o.class, o.left = "link", "fatal", 0
   if not is_lost then
      o.class, o.left = "harmless", 1
      o.text = ("%s has its link again"):format(o.port)
      return add_window(o, window)
   end
   o.far = was.name
   if was.host then
      o.scope, o.node = "node", was.host
      o.components = { was.host .. "/tx", was.host .. "/rx" }
   elseif not port.node.host then
      o.components[2] = was.name
   end
   o.text = ("%s lost its link to %s: %s"):format(o.port, was.name, lane.phys(port))
   return add_window(o, window)
end

return observe
