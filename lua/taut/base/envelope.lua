-- SPDX-License-Identifier: GPL-2.0-or-later
--- What the `taut` command of one host and the tautd of another send each other.
--
-- The request is the text of a MUNGE credential, with a key made for it. The answer comes in pieces
-- that are sealed under that key, so only tautd can write it, and only the asker can read it.
-- doc/protocol.md, "Requests from other hosts".
local json = require "taut.json"
local seal = require "taut.seal"
local wire = require "taut.wire"

local envelope = {}

local KIND = "taut ask 1"
local PIECE = 1 << 18           -- bytes
local MORE, LAST = "+", "."     -- how a piece begins

--- A request.
-- @param request { cmd =, args = }
-- @return text for MUNGE, and the key
function envelope.ask(request)
   local key = seal.random(wire.KEY_BYTES)
   return json.encode { kind = KIND, v = wire.REQUEST_VERSION, key = seal.hex(key),
      request = request }, key
end

--- What a credential holds.
-- @return request and key; or nil and what is wrong
function envelope.read(text)
   local m = json.decode(text)
   if type(m) ~= "table" or m.kind ~= KIND then
      return nil, "ASK: the credential does not contain a request"
   end
   local key = type(m.key) == "string" and seal.unhex(m.key)
   if not key or #key ~= wire.KEY_BYTES then
      return nil, ("ASK: key: expected %d hex digits"):format(2 * wire.KEY_BYTES)
   elseif type(m.request) ~= "table" then
      return nil, "ASK: request: expected an object"
   end
   return m.request, key
end

--- How many pieces an answer has.
function envelope.pieces(text)
   return math.max(1, (#text + PIECE - 1) // PIECE)
end

--- One piece, by its number from 1 on, sealed.
function envelope.piece(key, text, number)
   local is_last = number >= envelope.pieces(text)
   return seal.seal(key, wire.ANSWER, (is_last and LAST or MORE) ..
      text:sub((number - 1) * PIECE + 1, number * PIECE), number - 1, wire.REQUEST_VERSION), is_last
end

--- Put an answer together.
-- @param list of sealed pieces
-- @return text; or nil and what is wrong
function envelope.open(key, list)
   local parts = {}
   for i, sealed in ipairs(list) do
      local plain = seal.open(key, wire.ANSWER, sealed, i - 1, wire.REQUEST_VERSION)
      local mark = plain and plain:sub(1, 1)
      if not plain then
         return nil, "the answer is not of the tautd that was asked"
      elseif mark ~= (i == #list and LAST or MORE) then
         return nil, "the answer is cut off"
      end
      parts[i] = plain:sub(2)
   end
   if #list == 0 then
      return nil, "closed without an answer; tautd's log says why"
   end
   return table.concat(parts)
end

return envelope
