-- SPDX-License-Identifier: GPL-2.0-or-later
--- Where nodes are, as Slurm says: from which addresses each may speak.
--
-- Whoever is root on a node holds the MUNGE key, and nothing inside a message tells him from
-- another node's root; the address that it comes from does.  Nor does a credential say that root
-- sent it: a user there may have got it from root elsewhere.  The port does, below 1024.
local hostlist = require "taut.hostlist"
local loop = require "taut.loop"
local sys = require "taut.sys"
local tables = require "taut.base.tables"
local wire = require "taut.wire"

local addresses = {}
local Addresses = {}
Addresses.__index = Addresses

local BATCH = 4        -- names looked up with one question: a name server that is away takes each
local TIMEOUT_MS = 120000 -- some time
local AGAIN_S = 60     -- one that did not fit is looked up again after so long
local NAMES_MAX = 1 << 20

---------------------------------------------------------------- looking up

-- Remember the addresses of a name, and the name for each of them.
local function remember(self, name, found)
   for _, host in ipairs(tables.or_empty(self.known[name]).list or {}) do
      local names = self.at_host[host]
      names[name] = nil
      if not next(names) then
         self.at_host[host] = nil
      end
   end
   self.known[name] = found
   for _, host in ipairs(found.list or {}) do
      self.at_host[host] = self.at_host[host] or {}
      self.at_host[host][name] = true
   end
end

local function names_in(list)
   if not list then
      return {}
   end
   return hostlist.expand(list, NAMES_MAX) or {}
end

local function look_up(self)
   local names = {}
   for i = 1, math.min(BATCH, #self.waiting) do
      names[i] = table.remove(self.waiting)
   end
   if #names == 0 then
      self.asking = false
      return
   end
   self.asking = true
   self.resolver:ask({ op = "addresses", names = names }, function(reply)
      for _, name in ipairs(names) do
         local list = reply and reply.addresses[name]
         local is_found = list and #list > 0
         if not is_found then -- what was known stays
            list = tables.or_empty(self.known[name]).list or {}
         end
         remember(self, name, { list = list, at = loop.time(), failed = not is_found or nil })
      end
      local rest_ms = 1000
      if reply then
         rest_ms = 0
      end
      loop.timer(rest_ms, function() look_up(self) end)
   end, TIMEOUT_MS)
end

-- The addresses of a name or an address; nil while they are looked up.
local function of(self, name)
   local k = self.known[name]
   if not k then
      local list = sys.addresses(name, true) -- a number needs no looking up
      k = { list = list, at = math.huge }
      if not list then
         k.at = loop.time()
      end
      remember(self, name, k)
      if not list then
         table.insert(self.waiting, name)
      end
   elseif k.failed and loop.time() - k.at > AGAIN_S then
      k.at = loop.time()
      table.insert(self.waiting, name)
   end
   if #self.waiting > 0 and not self.asking then
      look_up(self)
   end
   return k.list
end

-- One that does not fit may have another address by now.
local function doubt(self, name)
   local k = self.known[name]
   if k and loop.time() - k.at > AGAIN_S then
      k.at = loop.time()
      table.insert(self.waiting, name)
      if not self.asking then
         look_up(self)
      end
   end
end

---------------------------------------------------------------- what Slurm and the site say

-- Name or address → the nodes that it is said of.
local function by_place(said)
   local nodes = {}
   for name, where in pairs(said) do
      nodes[where] = nodes[where] or {}
      table.insert(nodes[where], name)
   end
   return nodes
end

--- Slurm's nodes were read: { name, addr (where it is not the name), coord (over ALPS) }.  They
-- seldom have other addresses than before.
function Addresses:take(nodes)
   local said, count, is_new = {}, 0, false
   for _, n in ipairs(nodes) do
      local where
      if not n.coord then
         where = n.addr or n.name
      end
      is_new = is_new or self.said[n.name] ~= where
      if where and not said[n.name] then
         count = count + 1
      end
      said[n.name] = where
   end
   if is_new or count ~= self.said_count then
      self.said, self.said_count, self.said_at = said, count, by_place(said)
   end
end

--- The settings.
-- @param setting node_addresses: "slurm", "any", or more addresses by node, both as host lists
-- @param ports node_ports: "root" or "any"
function Addresses:set(setting, ports)
   self.any, self.more, self.any_port = setting == "any", {}, ports == "any"
   for nodes, list in pairs(tables.or_empty(setting)) do
      local names, texts = hostlist.expand(nodes, NAMES_MAX), hostlist.expand(list, NAMES_MAX)
      for i, name in ipairs(names) do
         self.more[name] = texts[i]
      end
   end
   self.more_at = by_place(self.more)
end

local function host_of(peer)
   return peer:match "^%[(.*)%]:%d+$" or peer:match "^(.*):%d+$" or peer
end

local function has(list, host)
   for _, a in ipairs(list or {}) do
      if a == host then
         return true
      end
   end
   return false
end

local function is_here(host)
   return host:match "^127%." ~= nil or host == "::1"
end

--- May a message that says it is of this node come from there?
-- @param name node
-- @param peer address and port, as the connection has them
-- @return true; nil: it is not known yet; or false and what to say
function Addresses:check(name, peer)
   local host = host_of(peer)
   if self.any or is_here(host) then
      return true -- who is root beside tautd needs no disguise
   end
   local said, more = self.said[name], self.more[name]
   if not said and not more then
      return nil
   end
   local a, b = said and of(self, said), more and of(self, more)
   if has(a, host) or has(b, host) then
      return true
   elseif said and (not a or #a == 0) or more and (not b or #b == 0) then
      return nil
   end
   doubt(self, said)
   doubt(self, more)
   local list = table.move(b or {}, 1, #(b or {}), 1, {})
   table.move(a or {}, 1, #(a or {}), #list + 1, list)
   return false, ("HELLO: %s speaks from %s, its address is %s (Slurm's NodeAddr; " ..
      "node_addresses in taut.lua(5))"):format(name, host, table.concat(list, ", "))
end

--- Is this one of a node's addresses, as Slurm or node_addresses says, as far as is known by now?
-- @param name node
-- @param host address, without a port
function Addresses:is_of(name, host)
   local said, more = self.said[name], self.more[name]
   return said ~= nil and has(of(self, said), host) or more ~= nil and has(of(self, more), host)
end

local function first_found(names, visit)
   for _, name in ipairs(names or {}) do
      local found = visit(name)
      if found ~= nil then
         return found
      end
   end
   return nil
end

-- For each node that has this address, as far as is known by now: visit(name), until it returns
-- something but nil, which is returned.  Many ask: no walk over all nodes.
local function each_at(self, host, visit)
   for _, nodes_at in ipairs { self.more_at, self.said_at } do
      for where in pairs(self.at_host[host] or {}) do
         local found = first_found(nodes_at[where], visit)
         if found ~= nil then
            return found
         end
      end
      local found = first_found(nodes_at[host], visit)
      if found ~= nil then
         return found
      end
   end
   return nil
end

--- Which of Slurm's nodes has this address?  Those only that are known by now.
-- @param peer address and port, as the connection has them
-- @return name, or nil
function Addresses:node_at(peer)
   return each_at(self, host_of(peer), function(name) return name end)
end

--- Does this address belong to one of Slurm's nodes alone, as far as is known by now?
-- @param peer address and port, as the connection has them
function Addresses:is_of_one(peer)
   local first
   local is_shared = each_at(self, host_of(peer), function(name)
      if first and name ~= first then
         return true
      end
      first = name
      return nil
   end)
   return first ~= nil and not is_shared
end

--- Can only root of that host have sent what comes from there?
-- @param peer address and port, as the connection has them
-- @return true; or false and what to say
function Addresses:is_roots(peer)
   local port = tonumber(peer:match ":(%d+)$")
   if self.any_port or port and port < wire.USER_PORT then
      return true
   end
   return false, ("from port %s, which any user has; root calls from one below %d (node_ports in" ..
      " taut.lua(5))"):format(port or "?", wire.USER_PORT)
end

--- Is whoever calls from there on one of these hosts? tautd's own is not one of them by itself: any
-- user there may send a credential that root of a node has made.
-- @param list names or addresses, as a host list, or false for none
-- @param peer address and port, as the connection has them
-- @return true or false; false also while a name is looked up
function Addresses:is_one(list, peer)
   local host = host_of(peer)
   for _, name in ipairs(names_in(list)) do
      if has(of(self, name), host) then
         return true
      end
      doubt(self, name)
   end
   return false
end

--- These hosts, a host list or false, will be asked about: their names are looked up.
function Addresses:expect(list)
   for _, name in ipairs(names_in(list)) do
      of(self, name)
   end
end

--- @param options { resolver = helper of base/resolve.lua, setting, ports }
function addresses.new(options)
   local self = setmetatable({ resolver = options.resolver, said = {}, said_count = 0,
      said_at = {}, known = {}, at_host = {}, waiting = {}, asking = false }, Addresses)
   self:set(options.setting, options.ports)
   return self
end

return addresses
