-- SPDX-License-Identifier: GPL-2.0-or-later
-- `tautd --lua asks.lua COUNT [CMD]`: as many requests of the caller to tautd, each a whole frame
-- in the form of printf(1), one a line.
local dial = require "taut.dial"
local envelope = require "taut.base.envelope"
local sys = require "taut.sys"
local wire = require "taut.wire"

local uid = assert(sys.user_id "slurm")
for _ = 1, tonumber(arg[1]) do
   local text = envelope.ask { cmd = arg[2] or "links", args = {} }
   local cred = assert(dial.sign(text, uid))
   local head = (">I4B"):pack(#cred + 1, wire.ASK):gsub(".", function(c)
      return ("\\x%02x"):format(c:byte())
   end)
   print(head .. cred)
end
