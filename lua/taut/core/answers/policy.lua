-- SPDX-License-Identifier: GPL-2.0-or-later
--- The policy: how it stands, its mode, nodes given back, and what is learned anew.
local json = require "taut.json"
local limits = require "taut.policy.limits"
local sys = require "taut.sys"
local tables = require "taut.base.tables"

local MODES = { enable = true, observe = true, resume = true }

local function list_partitions(self)
   local list = json.array {}
   for name, nodes in pairs(self.cluster.partitions) do
      list[#list + 1] = { name = name, nodes = #nodes,
         drained = limits.count_in(self.cluster, name, self.act:standing()),
         cap = limits.cap_of(self.site.conf.policy, name, #nodes) }
   end
   table.sort(list, function(first, second) return first.name < second.name end)
   return list
end

-- `taut policy`: how it stands.
local function describe_policy(self)
   local capped, stopped, waiting = json.array {}, self.act:stops()
   for cap, c in pairs(waiting) do
      capped[#capped + 1] = { cap = cap, why = c.why, time = c.time }
   end
   table.sort(capped, function(first, second) return first.cap < second.cap end)
   return { mode = self.act:mode(), stopped = stopped, capped = capped,
      brakes = self.switches:trouble() or self.act:forgotten(),
      standby = self.cluster.standby, drained = tables.size(self.act:standing()),
      held = tables.size(self.act:held_back()),
      last_hour = self.act:last_hour(), partitions = list_partitions(self),
      on_event = self.teller:state() }
end

local function set_mode(self, mode, who)
   if mode == "resume" then
      local any = self.act:resume(who)
      self.cluster:refresh()
      return { resumed = any }
   end
   self.switches:set_mode(mode)
   self.act:mode_changed(mode, who)
   sys.log("notice", "policy: mode is " .. (mode == "enable" and "drain" or mode))
   self.cluster:refresh()
   local stopped = self.act:stops()
   return { mode = mode, stopped = stopped and stopped.why }
end

local function release_node(self, args, who, reply)
   if not self.site.topo.node_id[args.node or ""] then
      return reply(nil, ("node '%s' is not in the topology"):format(tostring(args.node)))
   end
   self.act:release(args.node, who, function(ok, err)
      reply(ok and { released = args.node }, err)
   end)
end

local function relearn_class(self, args, who, reply)
   local class = args.class
   if class ~= nil and type(class) ~= "string" then
      return reply(nil, "relearn: class: expected a text")
   end
   local n, why = self.findings:relearn(class)
   if not n then
      return reply(nil, why)
   end
   self.act:record { action = "relearn", who = who, reason = ("capacity of %s is learned anew")
      :format(class and ("class '%s'"):format(class) or "all that is learned") }
   reply { class = class, components = n }
end

--- @param parts { site, switches, findings, act, cluster, teller }
-- @return name → { admin only, fn(args, who, uid, reply) }
return function(parts)
   return {
      policy = { true, function(args, who, _, reply)
         if not MODES[args.mode] then
            return reply(nil, "policy: expected drain, observe or continue")
         end
         reply(set_mode(parts, args.mode, who))
      end },
      policy_state = { false, function(_, _, _, reply) reply(describe_policy(parts)) end },
      release = { true, function(args, who, _, reply) release_node(parts, args, who, reply) end },
      relearn = { true, function(args, who, _, reply) relearn_class(parts, args, who, reply) end },
   }
end
