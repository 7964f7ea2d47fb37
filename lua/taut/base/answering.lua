-- SPDX-License-Identifier: GPL-2.0-or-later
--- A process that answers JSON lines in order: the other end of helper.lua.
local json = require "taut.json"
local sys = require "taut.sys"

local answering = {}

local function answer(o, line)
   local request, why = json.decode(line)
   local op = request and o.ops[request.op]
   if not op or not o.is_ready() and request.op ~= "conf" then
      return { id = request and request.id, ok = false, error = why or "no such operation" }
   end
   local ok, result, err = xpcall(op, debug.traceback, request)
   if not ok then
      sys.log("err", ("%s: %s"):format(o.name, result))
      return { id = request.id, ok = false, error = "internal error; the log has it" }
   elseif not result then
      return { id = request.id, ok = false, error = err or "no reason given" }
   end
   result.id, result.ok = request.id, true
   return result
end

--- Serve requests until stdin ends.
-- @param o { name = for the log, ops = name → function(request) that returns a table, or nil and
--   why not; is_ready = function(): may any be asked but `conf`? }
-- @return exit status
function answering.serve(o)
   sys.put(json.encode { ok = true, ready = true } .. "\n")
   for line in sys.lines() do
      sys.put(json.encode(answer(o, line)) .. "\n")
   end
   return 0
end

return answering
