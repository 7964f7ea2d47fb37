-- SPDX-License-Identifier: GPL-2.0-or-later
--- `tautd --addresses`: looks names of hosts up, which may take long; a process of its own.
local answering = require "taut.base.answering"
local json = require "taut.json"
local sys = require "taut.sys"

local resolve = {}

local ops = {}

--- { names } → { addresses = { NAME = array of texts; empty where there is none } }
function ops.addresses(request)
   local out = {}
   for _, name in ipairs(request.names) do
      out[name] = json.array(sys.addresses(name) or {})
   end
   return { addresses = out }
end

--- Serve requests until stdin ends.
-- @return exit status
function resolve.main()
   return answering.serve { name = "addresses", ops = ops, is_ready = function() return true end }
end

return resolve
