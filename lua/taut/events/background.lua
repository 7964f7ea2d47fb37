-- SPDX-License-Identifier: GPL-2.0-or-later
--- Bytes of others on a node's RDMA ports while a plan was carried out.
--
-- RDMA goes past the kernel, so the node itself, which watches the network device during each test,
-- does not see it.  Its ports' own counters do, but they are read before and after the plan only:
-- each test gets its share by time of what the node's own tests do not explain.
local counters = require "taut.events.counters"
local endpoints = require "taut.wire.endpoints"
local growth = require "taut.events.counters.growth"
local meaning = require "taut.events.meaning"
local readings = require "taut.events.readings"

local background = {}

local SOURCES = { ib = true, cxi = true }

-- Room for headers, and for what answers the bytes of the other direction, as on the node
-- (plugin/counters/gauge.c).
local HEADERS, ANSWERS = 1.06, 0.05

-- The rail of a port; nil where that is not known.
local function find_rail(peer, port, ports)
   for i, e in ipairs(peer.endpoints) do
      if e["if"] == port.name then
         return i
      end
   end
   if #peer.endpoints ~= 1 or peer.endpoints[1]["if"] then
      return nil
   end
   for _, p in pairs(ports) do
      if p ~= port and p.source == port.source then
         return nil
      end
   end
   return 1
end

-- Bytes that a port sent and received between the two readings; nil where either is not known.
local function count_bytes(was, now)
   local bytes = {}
   local grown = growth.interface(counters.counts[now.source] or {}, was.values, now.values)
   for name, g in pairs(grown) do
      local kind, times, side = meaning.kind(now.source, name)
      if kind == "bytes" and g.amount then
         bytes[side] = (bytes[side] or 0) + g.amount * times
      end
   end
   if bytes.send and bytes.receive then
      return bytes
   end
   return nil
end

-- A node's part of each test on a rail: array of { result, ms, role, transport }; nil where one of
-- them did not end well: then it is not known what it sent.
local function list_own_tests(session, node, rail)
   local list = {}
   for _, t in ipairs(session.tests) do
      local role
      if t.src == node then
         role = "send"
      elseif t.dst == node then
         role = "recv"
      end
      if role and (t.rail or 1) == rail then
         local r = session.results[node][role .. ":" .. t.id]
         if not r or r.error then
            return nil
         end
         list[#list + 1] = { result = r, ms = t.dur_ms, role = role, transport = endpoints.common(
            session.peers[t.src].endpoints, session.peers[t.dst].endpoints, rail) }
      end
   end
   return list
end

-- What TCP sends over RoCE is not counted by the RDMA port.
local function count_own_bytes(tests, port)
   local own = { send = 0, recv = 0 }
   for _, t in ipairs(tests) do
      if t.transport == "ofi" or port.state.link_layer ~= "Ethernet" then
         own[t.role] = own[t.role] + math.max(t.result.total_bytes or 0, t.result.bytes or 0)
      end
   end
   return own.send, own.recv
end

local function bytes_beyond(bytes, own, other)
   return math.max(0, bytes - own * HEADERS - other * ANSWERS)
end

-- A source with stamps of its own says itself what time its growth took; it may lag.
local function seconds_between(was, now, seconds)
   local a, b = was.state.t, now.state.t
   if type(a) == "number" and type(b) == "number" then
      return b - a
   end
   return seconds
end

local function add_foreign_bytes(tests, port, bytes, seconds)
   local sent, received = count_own_bytes(tests, port)
   local others = bytes_beyond(bytes.send, sent, received) + bytes_beyond(bytes.receive,
      received, sent)
   for _, t in ipairs(tests) do
      local share = math.floor(others * math.min(1, t.ms / 1000 / seconds))
      if port.state.link_layer == "Ethernet" and share > 0
         or share > (t.result.foreign_bytes or 0) then
         t.result.port_ns = nil -- the network device's counters do not tell all of it
      end
      t.result.foreign_bytes = math.max(t.result.foreign_bytes or 0, share)
   end
end

-- Does any of its lines begin with one of these sources?
local function tells_of_rdma(told)
   for source in pairs(SOURCES) do
      if ("\n" .. told):find("\n" .. source .. " ", 1, true) then
         return true
      end
   end
   return false
end

--- Note in a node's results what others sent and received on its RDMA ports: `foreign_bytes`, where
-- that is more than the node saw itself.
-- @param session tests, peers (hello_readings, readings, endpoints), results of the node
-- @param node its number
-- @param seconds between its two readings
function background.add(session, node, seconds)
   local peer = session.peers[node]
   if not peer.hello_readings or not peer.readings or not tells_of_rdma(peer.readings) then
      return
   end
   local before, after = readings.ports(peer.hello_readings), readings.ports(peer.readings)
   for key, port in pairs(after) do
      local rail = SOURCES[port.source] and before[key] and find_rail(peer, port, after)
      local tests = rail and list_own_tests(session, node, rail)
      local bytes = tests and count_bytes(before[key], port)
      local took = bytes and seconds_between(before[key], port, seconds)
      if took and took > 0 then
         add_foreign_bytes(tests, port, bytes, took)
      end
   end
end

return background
