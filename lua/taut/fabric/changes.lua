-- SPDX-License-Identifier: GPL-2.0-or-later
--- What is different between a recorded fabric and the present one.
--
-- Nodes are the same by GUID; a host whose adapter was replaced is the same by its name.  A cable
-- is the same where it connects the same two ports.
local lane = require "taut.fabric.lane"
local model = require "taut.fabric.model"
local tables = require "taut.base.tables"

local changes = {}

-- The recorded fabric in the shape of model.build, as far as it is needed here.
local function index_recorded(record)
   local by_guid, by_name = {}, {}
   -- the same order each time: it decides which end of a cable is reported
   table.sort(record.nodes, function(one, other)
      return one.name < other.name or one.name == other.name and one.guid < other.guid
   end)
   for _, node in ipairs(record.nodes) do
      by_guid[node.guid] = node
      by_name[node.name] = node
      node.port = {}
      for _, p in ipairs(node.ports) do
         p.node, p.number, p.info = node, p.port, lane.of_codes(p.codes)
         node.port[p.number] = p
      end
   end
   return by_guid, by_name
end

local function far_words(fabric_nodes, port)
   local far = port.far and fabric_nodes[port.far]
   if far then
      return ("%s/%d"):format(far.name, port.far_port)
   end
   return port.far or "nothing"
end

local function is_host(node)
   return node.type ~= "switch"
end

-- "new host", "missing switch"
local function kind_of(word, node)
   if is_host(node) then
      return word .. " host"
   end
   return word .. " switch"
end

local function compare_nodes(old, old_names, fabric, add)
   local replaced = {}
   for _, node in ipairs(fabric.nodes) do
      local was = old_names[node.name]
      if not old[node.guid] and was and not fabric.by_guid[was.guid] then
         replaced[was.guid] = node.guid
         add { kind = "replaced", node = node.name, guid = node.guid,
            text = ("%s has another adapter: GUID %s was %s"):format(node.name, node.guid,
               was.guid) }
      elseif not old[node.guid] then
         add { kind = kind_of("new", node), node = node.name,
            guid = node.guid, text = ("%s is new"):format(node.name) }
      elseif old[node.guid].name ~= node.name then
         add { kind = "renamed", node = node.name, guid = node.guid,
            text = ("%s was called %s"):format(node.name, old[node.guid].name) }
      end
   end
   return replaced
end

local function missing_nodes(record, fabric, replaced, add)
   for _, node in ipairs(record.nodes) do
      local guid = node.guid
      if not fabric.by_guid[guid] and not replaced[guid] then
         add { kind = kind_of("missing", node), node = node.name,
            guid = guid, text = ("%s is not in the fabric"):format(node.name) }
      end
   end
end

local function compare_speed(was, now, add)
   local lanes, speed = lane.width(was), lane.speed(was)
   local now_lanes, now_speed = lane.width(now), lane.speed(now)
   local a, b = lane.bandwidth(lanes, speed), lane.bandwidth(now_lanes, now_speed)
   if a and b and (lanes ~= now_lanes or speed ~= now_speed) then
      local kind, left = "faster", nil
      if b < a then
         kind, left = "slower", b / a
      end
      add { kind = kind, port = model.port_name(now), left = left,
         guid = now.node.guid, number = now.number,
         text = ("%s is %s, was %s"):format(model.port_name(now),
            lane.words(now_lanes, now_speed), lane.words(lanes, speed)) }
   end
end

-- Both ends tell of one cable; the first of them speaks.
local function seen_once(seen, guid, number, far, far_port)
   local a, b = guid .. "/" .. number, far .. "/" .. far_port
   if b < a then
      a, b = b, a
   end
   local key = a .. " " .. b
   if seen[key] then
      return false
   end
   seen[key] = true
   return true
end

-- The far end under the GUID it has now.
local function same_far(was, now, replaced)
   return now.far == (replaced[was.far] or was.far) and now.far_port == was.far_port
end

local function lost_cable(was, now, old, fabric, add)
   local name = model.port_name(now or was)
   local kind, state, far_name = "lost cable", "not there", was.far
   local far = fabric.by_guid[was.far] or old[was.far]
   if far then
      far_name = ("%s/%d"):format(far.name, was.far_port)
   end
   if now and now.disabled then
      kind = "disabled"
   end
   if now then
      state = lane.phys(now) or state
   end
   add { kind = kind, port = name, guid = was.node.guid, number = was.number,
      text = ("%s to %s is %s"):format(name, far_name, state) }
end

local function moved_cable(was, now, old, fabric, add)
   add { kind = "moved cable", port = model.port_name(now), guid = now.node.guid,
      number = now.number, text = ("%s goes to %s, went to %s"):format(model.port_name(now),
         far_words(fabric.by_guid, now), far_words(old, was)) }
end

-- A cable of a node that is missing whole needs no line of its own.
local function explained(was, old, fabric, replaced)
   local far = replaced[was.far] or was.far
   return not fabric.by_guid[replaced[was.node.guid] or was.node.guid]
      or not fabric.by_guid[far] and old[was.far] ~= nil
end

local function compare_ports(old, fabric, replaced, add)
   local seen, moved = {}, {}
   for _, node in ipairs(fabric.nodes) do
      local before = old[node.guid]
      for _, now in ipairs(tables.or_empty(before and node.ports)) do
         local was = before.port[now.number]
         if was and was.far and now.far and same_far(was, now, replaced) then
            if seen_once(seen, node.guid, now.number, now.far, now.far_port) then
               compare_speed(was, now, add)
            end
         elseif was and was.far and now.far then
            -- A cable between A and B that now ends in C is reported at the end that was kept
            -- plugged in.
            moved[was.far .. "/" .. was.far_port] = true
            moved[now.far .. "/" .. now.far_port] = true
            if seen_once(seen, node.guid, now.number, now.far, now.far_port) then
               moved_cable(was, now, old, fabric, add)
            end
         end
      end
   end
   return seen, moved
end

local function lost_and_new(record, old, fabric, replaced, seen, moved, add)
   for _, before in ipairs(record.nodes) do
      local guid = before.guid
      local node = fabric.by_guid[replaced[guid] or guid]
      for _, was in ipairs(before.ports) do
         local now = node and node.port[was.number]
         if was.far and not (now and now.far) and not moved[guid .. "/" .. was.number]
            and not explained(was, old, fabric, replaced)
            and seen_once(seen, guid, was.number, was.far, was.far_port) then
            lost_cable(was, now, old, fabric, add)
         end
      end
   end
   for _, node in ipairs(fabric.nodes) do
      for _, now in ipairs(tables.or_empty(old[node.guid] and node.ports)) do
         local was = old[node.guid].port[now.number]
         if now.far and old[now.far] and not (was and was.far)
            and not moved[node.guid .. "/" .. now.number]
            and seen_once(seen, node.guid, now.number, now.far, now.far_port) then
            add { kind = "new cable", port = model.port_name(now), guid = node.guid,
               number = now.number, text = ("%s goes to %s, went to nothing"):format(
                  model.port_name(now), far_words(fabric.by_guid, now)) }
         end
      end
   end
end

--- Compare.
-- @param record of state.load_record
-- @param fabric of model.build, or another record
-- @return array of { kind, text, node or port, guid, number, left }, in order of kind and text
function changes.find(record, fabric)
   local list = {}
   local function add_change(change)
      list[#list + 1] = change
   end
   local old, old_names = index_recorded(record)
   if not fabric.by_guid then
      fabric = { nodes = fabric.nodes, by_guid = (index_recorded(fabric)) }
   end
   local replaced = compare_nodes(old, old_names, fabric, add_change)
   missing_nodes(record, fabric, replaced, add_change)
   local seen, moved = compare_ports(old, fabric, replaced, add_change)
   lost_and_new(record, old, fabric, replaced, seen, moved, add_change)
   table.sort(list, function(one, other)
      if one.kind ~= other.kind then
         return one.kind < other.kind
      end
      return one.text < other.text
   end)
   return list
end

return changes
