-- SPDX-License-Identifier: GPL-2.0-or-later
--- Where nodes accept streams: their rails, and what two nodes have in common.
--
-- A rail is one interface of a node; in a test it counts from 1, on the wire from 0, and there as
-- the node itself counts (`own` of an endpoint, where that differs: topology/fabrics/rails.lua).
local tables = require "taut.base.tables"
local wire = require "taut.wire"

local endpoints = {}

local TRANSPORTS = { "ofi", "tcp" } -- the better one first

local function is_text_or_nil(value, most)
   return value == nil or type(value) == "string" and value ~= "" and #value <= most
end

local function is_guid_or_nil(value)
   return value == nil or type(value) == "string" and #value == 18
      and value:find "^0x[0-9a-f]+$" ~= nil
end

--- Check the `endpoints` of a HELLO.
-- @return true or false
function endpoints.check(list)
   if list == nil then
      return true
   elseif type(list) ~= "table" or #list > wire.RAILS_MAX or (#list == 0 and next(list) ~= nil) then
      return false
   end
   for _, e in ipairs(list) do
      if type(e) ~= "table" or not is_text_or_nil(e["if"], 64)
         or not is_text_or_nil(e.tcp, wire.ENDPOINT_MAX)
         or not is_text_or_nil(e.ofi, wire.ENDPOINT_MAX) or not is_guid_or_nil(e.guid) then
         return false
      end
   end
   return true
end

--- A node's rails, in order; a HELLO without `endpoints` has one.
-- @param hello checked
-- @return array of { if =, tcp =, ofi =, guid = }
function endpoints.of(hello)
   if hello.endpoints and #hello.endpoints > 0 then
      return hello.endpoints
   end
   return { { tcp = tables.unless_blank(hello.endpoint) } }
end

--- What two nodes can test on a rail.
-- @param first, second what endpoints.of gave
-- @param rail from 1
-- @return transport, or nil
function endpoints.common(first, second, rail)
   return tables.find(TRANSPORTS, function(name)
      return first[rail] and second[rail] and first[rail][name] and second[rail][name]
   end)
end

-- By which ports the sender leaves, and what it asks of its way; nothing over libfabric, which
-- chooses ports itself.
local function add_way_asked(part, test, topo)
   local aim = test.aim and topo.asked_at.of[test.aim.link]
   part.port, part.trace = test.src_port, test.trace
   part.aim = aim and { hop = test.aim.hop, ports = test.aim.ports, address = aim }
end

--- One node's part of a test, as a PLAN carries it.
-- @param test id, src, dst, token, start_ms, dur_ms, streams; rail, mode, enough_Bps (what
--   its receiver may end it at) and what plan/ports.lua adds may be there
-- @param node whose part it is; the other end is `other`
-- @param peers map node → { endpoints = }
-- @param topo topology
-- @return the table; nil when the two have no transport in common
function endpoints.wire(test, node, peers, topo)
   local other, role, rail = test.src, "recv", test.rail or 1
   if test.src == node then
      other, role = test.dst, "send"
   end
   local transport = endpoints.common(peers[node].endpoints, peers[other].endpoints, rail)
   if not transport then
      return nil
   end
   local own = peers[node].endpoints[rail].own or rail
   local part = { id = test.id, role = role,
      peer = peers[other].endpoints[rail][transport], node = topo.nodes[other], token = test.token,
      start_ms = test.start_ms, dur_ms = test.dur_ms, streams = test.streams,
      enough_Bps = test.enough_Bps }
   -- what is usual is not said
   if own > 1 then
      part.rail = own - 1
   end
   if transport ~= "tcp" then
      part.transport = transport
   end
   if test.mode ~= "stream" then
      part.mode = test.mode
   end
   if test.src_port and test.src == node and transport == "tcp" then
      add_way_asked(part, test, topo)
   end
   return part
end

local function host_of_endpoint(endpoint)
   return endpoint and endpoint:match "^(.*):%d+$"
end

--- Are two nodes one host, several slurmd of which have the same address on a rail?  What they
-- send each other never leaves it.
function endpoints.are_one_host(first, second)
   for rail, e in ipairs(first) do
      local host = host_of_endpoint(e.tcp)
      if host and second[rail] and host == host_of_endpoint(second[rail].tcp) then
         return true
      end
   end
   return false
end

-- Of nodes that are on one host with others: node → the rail and address that they share.  Mostly
-- nobody is.
local function find_shared_hosts(peers)
   local at, host = {}, {}
   for n, peer in pairs(peers) do
      for rail, e in ipairs(peer.endpoints) do
         local address = host_of_endpoint(e.tcp)
         local key = address and rail .. " " .. address
         local other = key and at[key]
         if other and other ~= n then
            host[n], host[other] = key, key
         elseif key then
            at[key] = n
         end
      end
   end
   return next(host) and host
end

-- Tests of two nodes of one host at the same time, which meet on its one cable: of each phase one
-- node a host takes part.  Senders that share a link on purpose go together.
local function list_crowded(tests, peers)
   local host, out, groups, busy = find_shared_hosts(peers), {}, {}, {}
   for _, t in ipairs(tables.or_empty(host and tests)) do
      local start = t.start_ms or 0
      busy[start] = busy[start] or {}
      out[t] = host[t.src] ~= nil and host[t.src] == host[t.dst] -- and takes no other's place
      for _, n in ipairs { t.src, t.dst } do
         local h = host[n]
         out[t] = out[t] or h and (busy[start][h] or n) ~= n
      end
      if not out[t] then
         for _, n in ipairs { t.src, t.dst } do
            busy[start][host[n] or 0] = n
         end
      end
      if out[t] and (t.senders or 1) > 1 then
         groups[start .. "/" .. (t.group or 0)] = true
      end
   end
   for _, t in ipairs(tables.or_empty(next(groups) and tests)) do
      out[t] = out[t] or (t.senders or 1) > 1 and groups[(t.start_ms or 0) .. "/" .. (t.group or 0)]
   end
   return out
end

--- The tests of a plan that its nodes can carry out, and the others.
-- @return array of tests, array of tests
function endpoints.split(tests, peers)
   local can, cannot, out = {}, {}, list_crowded(tests, peers)
   for _, t in ipairs(tests) do
      local src, dst = peers[t.src], peers[t.dst]
      if endpoints.common(src.endpoints, dst.endpoints, t.rail or 1)
         and not endpoints.are_one_host(src.endpoints, dst.endpoints) and not out[t] then
         can[#can + 1] = t
      else
         cannot[#cannot + 1] = t
      end
   end
   return can, cannot
end

local OFI_SLACK_MS, OFI_MOST_MS = 20, 5000

local function opens_libfabric(peer)
   for _, e in ipairs(peer.endpoints) do
      if e.ofi then
         return true
      end
   end
   return false
end

--- How long these nodes wait for libfabric, which opens while their plan is made: as long as the
-- slowest of them took last time, and a tenth and 20 ms besides.
-- @param peers map of { endpoints, ofi_ms = milliseconds that it took there, or nil }
-- @param default milliseconds where a node does not know it (`ofi_lead_ms`)
-- @return milliseconds, 5000 at most; nil where none of them opens it
function endpoints.ofi_lead_ms(peers, default)
   local most
   for _, peer in pairs(peers) do
      if opens_libfabric(peer) then
         local own = default
         if peer.ofi_ms then
            own = peer.ofi_ms + peer.ofi_ms // 10 + OFI_SLACK_MS
         end
         most = math.max(most or 0, math.min(OFI_MOST_MS, own))
      end
   end
   return most
end

return endpoints
