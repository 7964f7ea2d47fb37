-- SPDX-License-Identifier: GPL-2.0-or-later
--- Requests of the `taut` command: one JSON line in, one JSON line back.
--
-- All users may ask; jobs of others, and nodes, are hidden by slurm.conf's PrivateData. Only root,
-- SlurmUser and tautd's own user may change anything.
local json = require "taut.json"
local loop = require "taut.loop"
local sys = require "taut.sys"
local turns = require "taut.base.turns"

local query = {}
local Query = {}
Query.__index = Query

-- What an answer is given with: reply(data), or reply(nil, why not); reply.text(text) where it is
-- encoded already.  reply.guard(fn, …) calls fn; whatever goes wrong in it, there is an answer.
local function make_reply(client)
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

-- What a tautd that stands by can answer; the rest the one that acts is asked for.
local OF_ANY = { status = true, doctor = true }

-- May the caller ask for this?  Or why not.
local function is_allowed(self, command, args, caller)
   if self.cluster:is_admin(caller.as) then
      return true
   elseif command[1] then
      return nil, caller.why_not or ("only %s may do this, you are %s"):format(
         self.cluster:who_administers(), caller.name)
   elseif self.cluster:is_private "nodes" and command.of_nodes and command.of_nodes(args) then
      return nil, (self.cluster.config and "PrivateData=nodes is set" or
         "Slurm has not answered yet, so PrivateData is not known") ..
         (": only %s may ask this"):format(self.cluster:who_administers())
   end
   return true
end

local function answer_request(self, client, request, caller)
   local reply = make_reply(client)
   local command = self.commands[request.cmd]
   if not command then
      return reply(nil, "no such command")
   elseif self.acting and self.acting:is_blank() and not OF_ANY[request.cmd] then
      return client:reply(json.encode { ok = false, elsewhere = true,
         error = "this tautd is on standby: " .. self.acting:why_not() })
   end
   local args = request.args
   if args == nil or args == json.null then
      args = {}
   end
   if type(args) ~= "table" then
      return reply(nil, ("%s: args: expected an object"):format(request.cmd))
   end
   local ok, why = is_allowed(self, command, args, caller)
   if not ok then
      return reply(nil, why)
   end
   loop.doing("request " .. request.cmd)
   reply.guard(command[2], args, caller.name, caller.as, reply)
end

-- In whose turn somebody is answered: who administers comes before all others.
local function find_turn(self, as)
   if self.cluster:is_admin(as) then
      return turns.first
   end
   return as
end

--- Answer one request, when it is the turn of whoever asks.
-- @param client with reply(self, text)
-- @param request { cmd =, args = }
-- @param caller { as = user id whose rights count, name = for what is written down,
--   why_not = what to say where an administrator is none here, or nil }
function Query:request(client, request, caller)
   turns.add(find_turn(self, caller.as), function()
      answer_request(self, client, request, caller)
   end)
end

-- For whom the answer is: whoever may do everything may ask for what another user would be told, as
-- `taut serve` does.
local function find_asker(self, request, uid)
   local as = request.as
   if as == nil or as == uid then
      return uid
   elseif math.type(as) ~= "integer" or as < 0 then
      return nil, "as: expected a user id"
   elseif not self.cluster:is_admin(uid) then
      return nil, ("only %s may ask in another user's name"):format(
         self.cluster:who_administers())
   end
   return as
end

--- Answer one line.
-- @param client of loop.serve
-- @param line request: { cmd =, args =, as = the user id whom the answer is for, or nil }
-- @param uid of the caller, as the kernel says
function Query:answer(client, line, uid)
   turns.add(find_turn(self, uid), function()
      local request, why = json.decode(line)
      if type(request) ~= "table" then
         return make_reply(client)(nil, why or "no such command")
      end
      local as
      as, why = find_asker(self, request, uid)
      if not as then
         return make_reply(client)(nil, why)
      end
      answer_request(self, client, request, { as = as, name = sys.user_name(as) })
   end)
end

--- @param options { cluster, commands = of core/answers, acting }
function query.new(options)
   return setmetatable({ cluster = options.cluster, commands = options.commands,
      acting = options.acting }, Query)
end

return query
