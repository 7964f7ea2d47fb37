-- SPDX-License-Identifier: GPL-2.0-or-later
--- Requests of the `taut` command on other hosts: over the nodes' port, each in a MUNGE credential,
-- answered under the key that it holds (base/envelope.lua).
--
-- Whoever has MUNGE on his host may ask, so nothing of it may stand in a node's way: few
-- credentials are with MUNGE at once, few requests are under way, by user and together, and each
-- user asks so often a minute.  A connection of a request stays one that gives way to newer ones.
-- An administrator is one only from the hosts that the site lists, and from a port of root's: root
-- of any node has MUNGE's key.
local envelope = require "taut.base.envelope"
local json = require "taut.json"
local munge = require "taut.munge"
local rate = require "taut.core.remote.rate"
local sys = require "taut.sys"
local wire = require "taut.wire"

local remote = {}
local Remote = {}
Remote.__index = Remote

local ASK_MAX = 2 * wire.ASK_MAX -- bytes of a credential, which is base64
local DECODING_MAX = 16      -- credentials with MUNGE
local OPEN_MAX = 64          -- requests under way …
local KEPT = 16              -- … of these, for administrators
local OF_USER = 4            -- of one user
local ALL_PER_MINUTE = 1200  -- of all users together
local ANSWER_MS = 45000      -- until the answer is taken
local ADMIN_MS = 300000      -- … by an administrator: sweeps of a fabric last
local NOBODY = -1            -- an administrator from elsewhere sees what nobody in particular sees

local function refuse(self, conn, why)
   self.refusals:note(conn:peer() or "a closed connection", why)
   conn:close()
end

---------------------------------------------------------------- answers

local function send_piece(conn, o)
   local sealed, is_last = envelope.piece(o.key, o.text, o.next)
   o.next = o.next + 1
   conn:send(wire.ANSWER, sealed)
   if is_last then
      o.text = nil
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
local function client_of(self, conn, o)
   return { reply = function(_, text)
      if self.open[conn] == o and not o.next then
         o.text, o.next = text, 1
         send_piece(conn, o)
      end
   end }
end

-- One piece, and over.
local function say_no(conn, o, why)
   send_piece(conn, { key = o.key, next = 1, text = json.encode { ok = false, error = why } })
end

---------------------------------------------------------------- who may ask

-- Is there a place for one more request of this user?  Or why not.
local function has_place(self, o)
   local all, of_users, of_user = 0, 0, 0
   for _, other in pairs(self.open) do
      all = all + 1
      of_users = of_users + (other.is_admin and 0 or 1)
      of_user = of_user + (other.uid == o.uid and 1 or 0)
   end
   if o.is_admin then
      return all < OPEN_MAX
   end
   return of_users < OPEN_MAX - KEPT and of_user < OF_USER
end

local function is_too_often(self, o)
   local per_minute = self.site.conf.remote.per_minute
   if o.is_admin then
      return nil
   elseif not self.rate:take(o.uid, per_minute) then
      return ("more than %d requests a minute (remote.per_minute)"):format(per_minute)
   elseif not self.rate:take("all", ALL_PER_MINUTE) then
      return "tautd is asked too often by all users together; try again"
   end
   return nil
end

-- As whom a request is answered.
local function caller(self, uid, peer)
   local name = ("%s@%s"):format(sys.user_name(uid), peer:match "^%[?(.-)%]?:%d+$" or peer)
   if not self.cluster:is_admin(uid) then
      return { uid = uid, as = uid, name = name }
   end
   local is_listed = self.addresses:is_one(self.site.conf.remote.admins, peer)
   local is_roots, why = self.addresses:is_roots(peer)
   if is_listed and is_roots then
      return { uid = uid, as = uid, name = name, is_admin = true }
   end
   return { uid = uid, as = NOBODY, name = name,
      why_not = ("only root may do this from other hosts, those in remote.admins of taut.lua(5); " ..
         "you are %s%s"):format(name, is_listed and ", " .. why or "") }
end

local function on_request(self, conn, text, uid)
   local request, key = envelope.read(text)
   if not request then
      return refuse(self, conn, key)
   end
   local o = caller(self, uid, conn:peer())
   o.key = key
   local why = not has_place(self, o) and "too many requests at once; try again"
      or is_too_often(self, o)
   if why then
      self.refusals:note(conn:peer(), ("ASK of %s: %s"):format(o.name, why))
      return say_no(conn, o, why)
   end
   self.open[conn] = o
   conn:timeout(o.is_admin and ADMIN_MS or ANSWER_MS)
   self.count = self.count + 1
   self.query:request(client_of(self, conn, o), request, o)
end

--- A frame ASK.
function Remote:frame(conn, payload)
   if not self.site.conf.remote.ask then
      return refuse(self, conn, "ASK: remote.ask is false")
   elseif self.seen[conn] then
      return refuse(self, conn, "a second ASK")
   elseif #payload > ASK_MAX or payload:sub(1, 6) ~= "MUNGE:" then
      return refuse(self, conn, "ASK: no credential")
   elseif self.decoding >= DECODING_MAX then
      return refuse(self, conn, "ASK: too many at once")
   end
   self.seen[conn] = true
   self.decoding = self.decoding + 1
   munge.decode(payload, function(text, uid)
      self.decoding = self.decoding - 1
      if not text then
         refuse(self, conn, "ASK: " .. tostring(uid))
      elseif self.seen[conn] then
         on_request(self, conn, text, uid)
      end
   end)
end

--- A connection ended.
function Remote:gone(conn)
   self.seen[conn], self.open[conn] = nil, nil
end

--- @param o { site, cluster, addresses, refusals, query }
function remote.new(o)
   o.seen, o.open, o.decoding, o.count, o.rate = {}, {}, 0, 0, rate.new()
   return setmetatable(o, Remote)
end

return remote
