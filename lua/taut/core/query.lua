-- SPDX-License-Identifier: GPL-2.0-or-later
--- Requests of the `taut` command: one JSON line in, one JSON line back.
--
-- Anybody may ask; jobs of others are hidden where slurm.conf's PrivateData says so.  Only root,
-- SlurmUser and tautd's own user may change anything.
local json = require "taut.json"
local loop = require "taut.loop"
local sys = require "taut.sys"

local query = {}
local Query = {}
Query.__index = Query

-- What an answer is given with: reply(data), or reply(nil, why not); reply.text(text) where it is
-- encoded already.  reply.guard(fn, …) calls fn; whatever goes wrong in it, there is an answer.
local function reply_to(client)
   local reply = setmetatable({}, { __call = function(_, data, err)
      client:reply(json.encode(data and { ok = true, data = data } or { ok = false,
         error = err or "no answer" }))
   end })
   function reply.text(text)
      client:reply(text)
   end
   function reply.guard(fn, ...)
      local ok, err = xpcall(fn, debug.traceback, ...)
      if not ok then
         sys.log("err", "query: " .. err)
         reply(nil, "internal error; tautd's log has it")
      end
   end
   return reply
end

--- Answer one request.
-- @param client of loop.serve
-- @param line request: { cmd =, args = }
-- @param uid of the caller, as the kernel says
function Query:answer(client, line, uid)
   local reply = reply_to(client)
   local request, why = json.decode(line)
   local command = type(request) == "table" and self.commands[request.cmd]
   if not command then
      return reply(nil, why or "no such command")
   elseif command[1] and not self.cluster:is_admin(uid) then
      return reply(nil, ("only root and SlurmUser may do this, you are %s"):format(
         sys.user_name(uid)))
   end
   local args = request.args
   args = (args == nil or args == json.null) and {} or args
   if type(args) ~= "table" then
      return reply(nil, ("%s: args: expected an object"):format(request.cmd))
   end
   loop.doing("request " .. request.cmd)
   reply.guard(command[2], args, sys.user_name(uid), uid, reply)
end

--- @param o { cluster, commands = of core/answers }
function query.new(o)
   return setmetatable({ cluster = o.cluster, commands = o.commands }, Query)
end

return query
