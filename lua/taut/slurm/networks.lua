-- SPDX-License-Identifier: GPL-2.0-or-later
--- Where nodes accept streams: whether an address may be that of a node's rail.
--
-- Other nodes' probes connect to whatever a plan has, and what a node names as its endpoint is only
-- its own word.  So an address is accepted if Slurm or node_addresses has it for that node, or if
-- it is in the configured networks of the rails (rail_networks).  If none are configured, it must
-- be in the network of other nodes: half of them in the same network of 8 bits (IPv6: 16).  A torus
-- may have a network of 16 bits for two nodes.  The node's own word is not counted.
local loop = require "taut.loop"
local subnets = require "taut.base.subnets"
local sys = require "taut.sys"
local tables = require "taut.base.tables"

local networks = {}
local Networks = {}
Networks.__index = Networks

local LEAST_PORT = 1024
local ENOUGH = 2 -- nodes besides one itself show where a rail is
local MISFIT_S = 60 -- a node that says something else each time is said no more often
local ODD_S = 600 -- a node with a foreign address is shown for this time

-- Bytes of an address; nil where it is not one, not of one host, or of the loopback.
local function bytes_of(host)
   local bytes = sys.address_bytes(host)
   local first = (bytes or ""):byte() or 0
   if first == 0 then
      return nil -- in IPv6's words these are ::, ::1 and IPv4's addresses
   elseif #bytes == 4 and (first == 127 or first >= 224) or first == 255 then
      return nil
   end
   return bytes
end

local function split(endpoint)
   local host, port = endpoint:match "^%[(.*)%]:(%d+)$"
   if not host then
      host, port = endpoint:match "^([^:]*):(%d+)$"
   end
   return host, math.tointeger(tonumber(port))
end

-- The network that its neighbours share with it.
local function network_of(bytes)
   if #bytes == 4 then
      return bytes:sub(1, 1)
   end
   return bytes:sub(1, 2)
end

---------------------------------------------------------------- what nodes say

local function add(self, rail, bytes, by)
   local key = rail .. " " .. #bytes .. " " .. network_of(bytes)
   local n = (self.counts[key] or 0) + by
   self.counts[key] = nil
   if n > 0 then
      self.counts[key] = n
   end
   self.votes[rail] = (self.votes[rail] or 0) + by
end

-- A node's word for one rail, in place of the one before.
local function vote(self, name, rail, bytes)
   local own = self.said[name]
   if own[rail] ~= bytes then
      if own[rail] then
         add(self, rail, own[rail], -1)
      end
      if bytes then
         add(self, rail, bytes, 1)
      end
      own[rail] = bytes
   end
end

-- The first address of a rail.
local function address(given)
   local endpoint = given and (given.tcp or given.ofi)
   local host = endpoint and split(endpoint)
   return host and bytes_of(host)
end

--- What a node names is remembered for the others, where it is certain who spoke.
-- @param peer { name, endpoints, is_vouched }
function Networks:note(peer)
   if not peer.is_vouched() then
      return
   end
   self.said[peer.name] = self.said[peer.name] or {}
   for rail = 1, math.max(1, self.topology().rails or 1) do
      vote(self, peer.name, rail, address(peer.endpoints[rail]))
   end
end

---------------------------------------------------------------- what is taken

-- The networks of a rail as configured: its fabric's own, else those of all.
local function configured(self, rail)
   local f = (self.topology().fabric_of_rail or {})[rail]
   if not f or not f.networks then
      return self.list, "in none of rail_networks"
   end
   self.of_fabric[f] = self.of_fabric[f] or subnets.read(f.networks)
   return self.of_fabric[f], ("in none of fabrics.%s.networks"):format(f.name)
end

-- Do other nodes show that it is in this rail's network?
local function is_among_others(self, name, rail, bytes)
   local own = self.said[name] and self.said[name][rail]
   local key = network_of(bytes)
   local is_own = own and #own == #bytes and network_of(own) == key
   local near = (self.counts[rail .. " " .. #bytes .. " " .. key] or 0) - tables.one_if(is_own)
   local others = (self.votes[rail] or 0) - tables.one_if(own)
   return others > 0 and 2 * near >= others
end

-- Why an endpoint is not taken; nil where it is.
local function why_not(self, name, rail, endpoint)
   local host, port = split(endpoint)
   local bytes = host and bytes_of(host)
   if not bytes then
      return ("%s names %s as its endpoint, which is not an address of a node"):format(name,
         sys.plain(endpoint))
   elseif not port or port < LEAST_PORT or port > 65535 then
      return ("%s names %s as its endpoint: expected a port of %d to 65535"):format(name,
         sys.plain(endpoint), LEAST_PORT)
   elseif self.addresses:is_of(name, host) then
      return nil
   end
   local list, why = configured(self, rail)
   if #list > 0 and subnets.has(list, bytes)
      or #list == 0 and is_among_others(self, name, rail, bytes) then
      return nil
   end
   if #list == 0 then
      why = "not where other nodes have theirs"
   end
   return ("%s names %s as its endpoint, which is %s (rail_networks in taut.lua(5))"):format(name,
      sys.plain(endpoint), why)
end

local function tell(self, peer, why)
   self.odd[peer.name] = { why = why, time = loop.time() }
   local from = peer.name
   if peer.conn.peer then
      from = peer.conn:peer() or from
   end
   self.refusals:note(from, "HELLO: " .. why)
end

--- Remove endpoints of a node that only the node itself vouches for.
-- @param peer { name, conn, endpoints }
-- @return nil; or what is wrong with the first of them
function Networks:confine(peer)
   local first
   local kept = {}
   for rail, e in ipairs(peer.endpoints) do
      kept[rail] = { ["if"] = e["if"], own = e.own }
      for _, transport in ipairs { "tcp", "ofi" } do
         local why = e[transport] and why_not(self, peer.name, rail, e[transport])
         if not why then
            kept[rail][transport] = e[transport]
         end
         first = first or why
      end
   end
   peer.endpoints = kept
   if first then
      tell(self, peer, first)
   end
   return first
end

--- Nodes that named what is not taken for their addresses, a short while ago.
-- @return array of { node, why, time }, by name
function Networks:odd_ones()
   local list, now = {}, loop.time()
   for name, o in pairs(self.odd) do
      if now - o.time > ODD_S then
         self.odd[name] = nil
      else
         list[#list + 1] = { node = name, why = o.why, time = o.time }
      end
   end
   table.sort(list, function(one, other) return one.node < other.node end)
   return list
end

--- A node said HELLO: its word is remembered, and looked at where enough others have spoken; where
-- they have not, that waits until all of a check are there (confine).
-- @param peer { name, conn, endpoints, is_vouched }
-- @return as confine()
function Networks:hear(peer)
   self:note(peer)
   local rail = 1 -- the first that it is on
   while peer.endpoints[rail] and not address(peer.endpoints[rail]) do
      rail = rail + 1
   end
   if (self.votes[rail] or 0) > ENOUGH then
      return self:confine(peer)
   end
   return nil
end

--- Interfaces of a node that are no rail, or may be the wrong one: said once, and shown as what is
-- odd is.
-- @param list of topology/fabrics/rails.lua
function Networks:misfits(peer, list)
   local e = list[1]
   if not e or not peer.is_vouched() then
      return
   end
   local why = ("%s has interface %s with %s"):format(peer.name, sys.plain(e["if"] or "?"), e.why)
   if #list > 1 then
      why = ("%s; %d more of its interfaces are no rail as they should be"):format(why, #list - 1)
   end
   local said = self.misfit[peer.name] or { time = -math.huge }
   if said.why ~= why and loop.time() - said.time > MISFIT_S then
      sys.log("warning", why)
      self.misfit[peer.name] = { why = why, time = loop.time() }
   end
   self.odd[peer.name] = { why = why, time = loop.time() }
end

--- The rails' networks as configured.
-- @param list of texts "ADDRESS/BITS", or empty
function Networks:set(list)
   self.list = subnets.read(list)
end

--- @param options { addresses, refusals, topology = function() → the one in force, list = of
--   set() }
function networks.new(options)
   local self = setmetatable({ addresses = options.addresses, refusals = options.refusals,
      topology = options.topology, said = {}, counts = {}, votes = {}, odd = {}, misfit = {},
      of_fabric = setmetatable({}, { __mode = "k" }) }, Networks)
   self:set(options.list)
   return self
end

return networks
