-- SPDX-License-Identifier: GPL-2.0-or-later
--- Nodes that are made otherwise than the rest: with an injection capacity of their own, or one
-- that is to be learned for them alone.
local hostlist = require "taut.hostlist"
local endpoint_numbers = require "taut.topology.model.endpoint_numbers"
local unknown = require "taut.topology.unknown"

local node_classes = {}

local KNOWN = { nodes = true, tx = true, rx = true }

local function bad_setting(name, what, ...)
   return nil, ("topology.node_classes.%s: " .. what):format(name, ...)
end

local function check_class(name, class)
   if type(name) ~= "string" or not name:match "^%a[%w_-]*$" or #name > 32 then
      return nil, ("topology.node_classes: expected names of letters, digits, - and _, got '%s'")
         :format(tostring(name))
   elseif type(class) ~= "table" then
      return bad_setting(name, "expected a table { nodes =, tx =, rx = }, got %s", tostring(class))
   end
   for key in pairs(class) do
      if not KNOWN[key] then
         return bad_setting(name, "'%s' is not a setting (known: nodes, tx, rx)", tostring(key))
      end
   end
   for _, way in ipairs { "tx", "rx" } do
      local v = class[way]
      if v ~= nil and (type(v) ~= "number" or not (v > 0 and v < math.huge)) then
         return bad_setting(name, "%s: expected bytes per second, got %s", way, tostring(v))
      end
   end
   if type(class.nodes) ~= "string" then
      return bad_setting(name, "nodes: expected a host list in quotes, got %s",
         tostring(class.nodes))
   end
   return true
end

-- One connection of a node, in one direction.
local function set_capacity(topo, component, Bps)
   if Bps then
      topo.capacity[component] = Bps
      topo.graph:set_capacity(component, Bps)
      if topo.learns then
         topo.learns[component], topo.open[component] = nil, nil
      end
   else
      unknown.open(topo, component, 1, topo.capacity[component])
   end
end

local function apply_class(topo, name, class)
   local names, err = hostlist.expand(class.nodes)
   if not names then
      return bad_setting(name, "nodes: %s", err)
   end
   for _, node in ipairs(names) do
      local n = topo.node_id[node]
      if not n then
         return bad_setting(name, "nodes: node '%s' is not in the topology", node)
      elseif topo.node_class[n] then
         return bad_setting(name, "nodes: '%s' is in class '%s' already", node, topo.node_class[n])
      end
      topo.node_class[n] = name
      for rail = 1, topo.rails do
         local tx, rx = endpoint_numbers.ports_of_rail(#topo.nodes, n, rail)
         set_capacity(topo, tx, class.tx)
         set_capacity(topo, rx, class.rx)
      end
   end
   return true
end

--- Put nodes into their classes.
-- @param topo topology, built
-- @param conf map name → { nodes = host list; tx, rx = bytes per second of one rail, learned where
--   they are missing }
-- @return true, or nil and what was expected
function node_classes.apply(topo, conf)
   if type(conf) ~= "table" then
      return nil, "topology.node_classes: expected a table { NAME = { nodes =, tx =, rx = }, … }, "
         .. "got " .. tostring(conf)
   end
   local order = {}
   for name, class in pairs(conf) do
      local ok, err = check_class(name, class)
      if not ok then
         return nil, err
      end
      order[#order + 1] = name
   end
   table.sort(order)
   topo.node_class = {}
   for _, name in ipairs(order) do
      local ok, err = apply_class(topo, name, conf[name])
      if not ok then
         return nil, err
      end
   end
   if topo.learns and not next(topo.learns) then
      topo.learns, topo.open = nil, nil
   end
   return true
end

return node_classes
