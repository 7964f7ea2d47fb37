-- SPDX-License-Identifier: GPL-2.0-or-later
--- What is kept from sweep to sweep, in a file: each port's counters, when each last grew, and the
-- faults that stood.  And the recorded fabric, in another.
--
-- Both are written beside their place and renamed, so that a reader sees the old one or the new.
local json = require "taut.json"
local lane = require "taut.fabric.lane"
local sys = require "taut.sys"

local state = {}

state.format = 1

local function read_file(path)
   local f, err = io.open(path, "rb")
   if not f then
      return nil, err, true
   end
   local text = f:read "a"
   f:close()
   if not text then
      return nil, path .. ": cannot be read"
   end
   local t, why = json.decode(text)
   if type(t) ~= "table" then
      return nil, ("%s: %s"):format(path, why or "not a JSON object")
   elseif t.format ~= state.format then
      return nil, ("%s: format %s, expected %d"):format(path, tostring(t.format), state.format)
   end
   return t
end

local function write_file(path, kept)
   kept.format = state.format
   local text, err = json.encode(kept)
   if not text then
      return nil, ("%s: %s"):format(path, err)
   end
   return sys.write_whole(path, text .. "\n")
end

local function is_table(...)
   for i = 1, select("#", ...) do
      if type((select(i, ...))) ~= "table" then
         return false
      end
   end
   return true
end

--- The state of the last sweep.
-- @return state (empty where there is no file yet), and why what is there could not be used
function state.load(path)
   local t, err, absent = read_file(path)
   if not t and absent then
      return { units = {}, standing = {}, recent = {} }
   elseif not t then
      return { units = {}, standing = {}, recent = {} }, err
   elseif not is_table(t.units, t.standing, t.recent) then
      return { units = {}, standing = {}, recent = {} }, path .. ": no units, standing, recent"
   end
   return t
end

function state.save(path, kept)
   return write_file(path, kept)
end

-- What makes a port the same port next time.
local function port_row(port)
   return { port = port.number, far = port.far, far_port = port.far_port,
      codes = json.array(lane.codes(port)) }
end

--- A fabric as it is recorded.
function state.digest(fabric)
   local nodes = json.array {}
   for _, node in ipairs(fabric.nodes) do
      local ports = json.array {}
      for _, p in ipairs(node.ports) do
         if p.number > 0 then
            ports[#ports + 1] = port_row(p)
         end
      end
      nodes[#nodes + 1] = { guid = node.guid, type = node.type, name = node.name,
         desc = node.desc, ports = ports }
   end
   return { kind = "fabric", time = fabric.sweep.begin, nodes = nodes }
end

function state.record(path, fabric)
   return write_file(path, state.digest(fabric))
end

local function is_codes(list)
   for i = 1, 4 do
      if type(list) ~= "table" or math.type(list[i]) ~= "integer" then
         return false
      end
   end
   return true
end

local function check_record(path, recorded)
   if recorded.kind ~= "fabric" or type(recorded.nodes) ~= "table" then
      return nil, path .. ": is not a recorded fabric (`taut fabric record` writes one)"
   end
   for i, node in ipairs(recorded.nodes) do
      if not is_table(node) or not is_table(node.ports) or type(node.guid) ~= "string"
         or type(node.name) ~= "string" then
         return nil, ("%s: node %d: expected guid, name and ports"):format(path, i)
      end
      node.desc = node.desc or ""
      for j, p in ipairs(node.ports) do
         if type(p) == "table" and not is_codes(p.codes) then
            return nil, ("%s: node %d (%s), port %d: expected four codes"):format(path, i,
               node.name, j)
         end
         if type(p) ~= "table" or math.type(p.port) ~= "integer"
            or (p.far and (type(p.far) ~= "string" or math.type(p.far_port) ~= "integer")) then
            return nil, ("%s: node %d (%s), port %d: expected a number and a far end"):format(path,
               i, node.name, j)
         end
      end
   end
   return recorded
end

--- A recorded fabric.
-- @return it; or nil and why, and true when there is no such file
function state.load_record(path)
   local t, err, absent = read_file(path)
   if not t then
      return nil, err, absent
   end
   return check_record(path, t)
end

return state
