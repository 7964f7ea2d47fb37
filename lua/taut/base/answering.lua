-- SPDX-License-Identifier: GPL-2.0-or-later
--- A process that answers JSON lines in order: the other end of helper.lua.
local json = require "taut.json"
local sys = require "taut.sys"

local answering = {}

local function answer_line(options, line)
   local request, why = json.decode(line)
   local op = request and options.ops[request.op]
   if not op or not options.is_ready() and request.op ~= "conf" then
      return { id = request and request.id, ok = false, error = why or "no such operation" }
   end
   local ok, result, err = xpcall(op, debug.traceback, request)
   if not ok then
      sys.log("err", ("%s: %s"):format(options.name, result))
      return { id = request.id, ok = false, error = "internal error; the log has it" }
   elseif not result then
      return { id = request.id, ok = false, error = err or "no reason given" }
   end
   result.id, result.ok = request.id, true
   return result
end

--- Serve requests until stdin ends.
-- @param options { name = for the log, ops = name → function(request) that returns a table, or nil
--   and why not; is_ready = function(): may any be asked but `conf`? }
-- @return exit status
function answering.serve(options)
   sys.put(json.encode { ok = true, ready = true } .. "\n")
   for line in sys.lines() do
      sys.put(json.encode(answer_line(options, line)) .. "\n")
   end
   return 0
end

return answering
