-- SPDX-License-Identifier: GPL-2.0-or-later
--- `taut ack`: which components are known to be bad, and that one is.
local loop = require "taut.loop"

local function keep_acks(self, now)
   self.journal:add("setting", { name = "acks", value = self.acks:pack(now) })
end

local function record_ack(self, name, who, reason)
   self.act:record { action = "ack", component = name, who = who, reason = reason }
end

-- args: component, ticket, until
local function add_ack(self, name, component, args, who, reply)
   local now = loop.time()
   local ok, why = self.acks:add(name, { ticket = args.ticket, ["until"] = args["until"],
      who = who }, now)
   if not ok then
      return reply(nil, "ack: " .. why)
   end
   keep_acks(self, now)
   record_ack(self, name, who, ("ticket %s, until %s"):format(args.ticket,
      os.date("%Y-%m-%d %H:%M", math.floor(args["until"]))))
   reply { component = name, ticket = args.ticket, ["until"] = args["until"], now = now,
      state = self.diagnosis:state(component) }
end

local function drop_ack(self, name, who, reply)
   if not self.acks:drop(name) then
      return reply(nil, ("ack: %s is not known to be bad"):format(name))
   end
   keep_acks(self, loop.time())
   record_ack(self, name, who, "ended")
   reply { component = name, ended = true, now = loop.time() }
end

local function answer_ack(self, args, who, reply)
   local name = tostring(args.component)
   local c = self.site.topo.component_id[name]
   if not c or not self.site.topo:is_there(c) then
      return reply(nil, ("ack: '%s' is not a component (r1.0.0/X+, leaf3/17, n5/tx …)")
         :format(name))
   elseif args["end"] then
      return drop_ack(self, name, who, reply)
   end
   add_ack(self, name, c, args, who, reply)
end

--- @param parts { site, diagnosis, acks, journal, act }
-- @return name → { admin only, fn(args, who, uid, reply) }
return function(parts)
   return {
      ack = { true, function(args, who, _, reply) answer_ack(parts, args, who, reply) end },
      acks = { false, function(_, _, _, reply)
         reply { acks = parts.acks:list(loop.time()), now = loop.time() }
      end },
   }
end
