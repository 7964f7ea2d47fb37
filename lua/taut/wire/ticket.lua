-- SPDX-License-Identifier: GPL-2.0-or-later
--- Tickets: how a node without munged says HELLO.
--
-- Root on a front end, which has munged, makes a MUNGE credential for each node of a job: it names
-- job, node and purpose, and holds the session key.  The node gets both, and sends the credential
-- with its HELLO sealed under that key.  MUNGE refuses a credential that is old or was seen before.
local json = require "taut.json"
local seal = require "taut.seal"
local sys = require "taut.sys"
local wire = require "taut.wire"

local ticket = {}

local KIND = "taut ticket 1"
ticket.LIFE_S = 60 -- of the credential

local BOUND = { "job", "node", "nodes", "purpose", "uid", "restart" }

--- What the credential of a ticket holds.
-- @param bound { job, node, nodes, purpose, uid, restart }
-- @return text for MUNGE, and the session key in hex digits
function ticket.make(bound)
   local t = { kind = KIND, key = seal.hex(seal.random(wire.KEY_BYTES)) }
   for _, name in ipairs(BOUND) do
      t[name] = bound[name]
   end
   return json.encode(t), t.key
end

--- Take a HELLO frame apart.
-- @return the credential, and what is sealed (nil: HELLO is the credential's own text)
function ticket.split(payload)
   local at = payload:find("\n", 1, true) -- a pattern would try each byte of each HELLO
   local sealed = at and payload:match("^%x+$", at + 1)
   if sealed then
      return payload:sub(1, at - 1), sealed
   end
   return payload, sealed
end

local function find_key(credential)
   local key = type(credential) == "table" and credential.kind == KIND
      and type(credential.key) == "string" and seal.unhex(credential.key)
   if key and #key == wire.KEY_BYTES then
      return key
   end
   return nil
end

--- Open the HELLO of a ticket.
-- @param text of the credential
-- @param sealed hex digits
-- @return decoded HELLO; or nil and what is wrong
function ticket.open(text, sealed)
   local t = json.decode(text)
   local key = find_key(t)
   if not key then
      return nil, "HELLO: the credential does not contain a ticket"
   end
   local plain = seal.open(key, wire.HELLO, seal.unhex(sealed) or "", 0,
      wire.REQUEST_VERSION)
   local h, err = json.decode(plain or "")
   if plain and type(h) ~= "table" then
      return nil, err or "HELLO: not sealed with its ticket's key"
   elseif not plain then
      return nil, "HELLO: not sealed with its ticket's key"
   end
   for _, name in ipairs(BOUND) do
      if h[name] ~= t[name] then
         return nil, ("HELLO: %s: the ticket is for %s, got %s"):format(name,
            tostring(t[name]):sub(1, 40), sys.plain(tostring(h[name]):sub(1, 40)))
      end
   end
   h.key = t.key
   return h
end

return ticket
