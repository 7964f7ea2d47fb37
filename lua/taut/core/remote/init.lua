-- SPDX-License-Identifier: GPL-2.0-or-later
--- Requests of the `taut` command on other hosts: over the nodes' port, each in a MUNGE credential,
-- answered under the key that it holds (base/envelope.lua).
--
-- Every user of a host with MUNGE may ask, so requests must not delay nodes. Few credentials are
-- with MUNGE at once, and few requests are in progress. Requests per minute are limited by user, by
-- address (root of a node can be any user), and together.  Whose a credential is, is known once it
-- is decoded, so till then the address counts.  A request is under way until its work is done and
-- its connection over.  Its connection stays one that gives way to newer ones. An administrator is
-- one only from the hosts that the site lists, and from a port of root's: root of any node has
-- MUNGE's key.
local envelope = require "taut.base.envelope"
local json = require "taut.json"
local munge = require "taut.munge"
local rate = require "taut.core.remote.rate"
local rights = require "taut.base.rights"
local sys = require "taut.sys"
local wire = require "taut.wire"

local remote = {}
local Remote = {}
Remote.__index = Remote

local ASK_MAX = 2 * wire.ASK_MAX -- bytes of a credential, which is base64
local DECODING = { all = 16, kept = 4, of_host = 4 } -- credentials with MUNGE; for administrators;
                             -- of one address
local OPEN = { all = 64, kept = 16, of_host = 16, of_user = 4 } -- requests under way
local USER_BURST = 10        -- so many at once, of those of a minute
local HOST_PER_MINUTE, HOST_BURST = 600, 40 -- of one address
local ALL_PER_MINUTE, ALL_BURST = 1200, 60  -- of all users together
local ANSWER_MS = 45000      -- until the answer is taken
local ADMIN_MS = 300000      -- … by an administrator: sweeps of a fabric last

local function host_of(peer)
   return peer:match "^%[?(.-)%]?:%d+$" or peer
end

local function refuse_request(self, conn, why)
   self.refusals:note(conn:peer() or "a closed connection", why)
   conn:close()
end

---------------------------------------------------------------- answers

local function send_piece(conn, request)
   local sealed, is_last = envelope.piece(request.key, request.text, request.next)
   request.next = request.next + 1
   conn:send(wire.ANSWER, sealed)
   if is_last then
      request.text = nil
      conn:close()
   end
end

--- What was sent is on its way: the next piece of an answer.
function Remote:sent(conn)
   local o = self.open[conn]
   if o and o.text then
      send_piece(conn, o)
   end
end

-- The client that query.lua answers.
local function make_client(self, conn, request)
   return { reply = function(_, text)
      request.is_done = true
      if self.open[conn] ~= request then
         self.under_way[request] = nil
      elseif not request.next then
         request.text, request.next = text, 1
         send_piece(conn, request)
      end
   end }
end

-- One piece, and over.
local function answer_no(conn, request, why)
   send_piece(conn, { key = request.key, next = 1, text = json.encode { ok = false, error = why } })
end

---------------------------------------------------------------- who may ask

-- How many of a set there are: in all, of those that are no administrators', and whose `key` is
-- that of `request`.
local function count_like(set, request, key)
   local all, of_users, same = 0, 0, 0
   for other in pairs(set) do
      all = all + 1
      if not other.is_admin then
         of_users = of_users + 1
      end
      if other[key] == request[key] then
         same = same + 1
      end
   end
   return all, of_users, same
end

-- Is there a place for one more?
-- @param limits { all, kept, of_host, of_user or nil }
local function has_place_for(set, request, limits)
   local all, of_users, of_host = count_like(set, request, "host")
   if request.is_admin then
      return all < limits.all
   elseif of_users >= limits.all - limits.kept or of_host >= limits.of_host then
      return false
   end
   local _, _, of_user = count_like(set, request, "uid")
   return of_user < (limits.of_user or math.huge)
end

local function why_too_often(self, request)
   local per_minute = self.site.conf.remote.per_minute
   if request.is_admin then
      return nil
   elseif not self.rate:take(request.uid, per_minute, USER_BURST) then
      local words = "more than %d requests a minute (remote.per_minute), or %d at once"
      return words:format(per_minute, USER_BURST)
   elseif not self.rate:take("all", ALL_PER_MINUTE, ALL_BURST) then
      return "tautd is asked too often by all users together; try again"
   end
   return nil
end

-- As whom a request is answered.
local function find_caller(self, uid, peer)
   local host = host_of(peer)
   local name = ("%s@%s"):format(sys.user_name(uid), host)
   if not self.cluster:is_admin(uid) then
      return { uid = uid, as = uid, name = name, host = host }
   end
   local is_listed = self.addresses:is_one(self.site.conf.remote.admins, peer)
   local is_roots, why = self.addresses:is_roots(peer)
   if is_listed and is_roots then
      return { uid = uid, as = uid, name = name, host = host, is_admin = true }
   end
   return { uid = uid, as = rights.of_user(uid), name = name, host = host,
      why_not = ("only root may do this, from hosts in remote.admins of taut.lua(5); you are " ..
         "%s%s"):format(name, is_listed and ", " .. why or "") }
end

local function on_request(self, conn, text, uid)
   local request, key = envelope.read(text)
   if not request then
      return refuse_request(self, conn, key)
   end
   local o = find_caller(self, uid, conn:peer())
   o.key = key
   local why = not has_place_for(self.under_way, o, OPEN) and "too many requests at once; try again"
      or why_too_often(self, o)
   if why then
      self.refusals:note(conn:peer(), ("ASK of %s: %s"):format(o.name, why))
      return answer_no(conn, o, why)
   end
   self.open[conn], self.under_way[o] = o, true
   conn:timeout(o.is_admin and ADMIN_MS or ANSWER_MS)
   self.count = self.count + 1
   self.query:request(make_client(self, conn, o), request, o)
end

-- Whose credential it may be, before it is decoded: root of a host has his ports to himself.
-- @return { host, is_admin }; or nil and why it is not decoded
local function may_decode(self, peer)
   local o = { host = host_of(peer) }
   o.is_admin = self.addresses:is_one(self.site.conf.remote.admins, peer) and
      self.addresses:is_roots(peer)
   if not has_place_for(self.decoding, o, DECODING) then
      return nil, "too many at once"
   elseif not o.is_admin and not self.rate:take(o.host, HOST_PER_MINUTE, HOST_BURST) then
      return nil, "too often from this address"
   end
   return o
end

--- A frame ASK.
function Remote:frame(conn, payload)
   if not self.site.conf.remote.ask then
      return refuse_request(self, conn, "ASK: remote.ask is false")
   elseif self.seen[conn] then
      return refuse_request(self, conn, "a second ASK")
   elseif #payload > ASK_MAX or payload:sub(1, 6) ~= "MUNGE:" then
      return refuse_request(self, conn, "ASK: no credential")
   end
   local o, why = may_decode(self, conn:peer() or "")
   if not o then
      return refuse_request(self, conn, "ASK: " .. why)
   end
   self.seen[conn], self.decoding[o] = true, true
   munge.decode(payload, function(text, uid)
      self.decoding[o] = nil
      if not text then
         refuse_request(self, conn, "ASK: " .. tostring(uid))
      elseif self.seen[conn] then
         on_request(self, conn, text, uid)
      end
   end)
end

--- A connection ended.
function Remote:gone(conn)
   local o = self.open[conn]
   self.seen[conn], self.open[conn] = nil, nil
   if o and o.is_done then
      self.under_way[o] = nil
   end
end

--- @param options { site, cluster, addresses, refusals, query }
function remote.new(options)
   options.seen, options.open, options.under_way, options.decoding = {}, {}, {}, {}
   options.count, options.rate = 0, rate.new()
   return setmetatable(options, Remote)
end

return remote
