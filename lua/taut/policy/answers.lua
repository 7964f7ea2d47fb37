-- SPDX-License-Identifier: GPL-2.0-or-later
--- Requests of the `taut` command about the policy and what verdicts rest on: name →
-- { admin only, fn(d, args, who, uid, reply) }, for query.lua.
local expected = require "taut.diagnose.expected"
local findings = require "taut.core.findings"
local history = require "taut.policy.history"
local policy_state = require "taut.policy.state"
local repair = require "taut.policy.repair"
local sys = require "taut.sys"

local MODES = { enable = true, observe = true, resume = true }

local function set_mode(d, mode, who)
   if mode == "resume" then
      local any = d.act:resume(who)
      d.cluster:refresh()
      return { resumed = any }
   end
   d:set("mode", mode)
   d.act:record { action = "mode " .. mode, who = who }
   sys.log("notice", "policy: mode is " .. mode)
   d.act.alerted = {}
   d.cluster:refresh()
   return { mode = mode, stopped = d.act.history.stopped and d.act.history.stopped.why }
end

return {
   policy = { true, function(d, args, who, _, reply)
      if not MODES[args.mode] then
         return reply(nil, "policy: expected enable, observe or resume")
      end
      reply(set_mode(d, args.mode, who))
   end },
   policy_state = { false, function(d, _, _, _, reply) reply(policy_state(d)) end },
   log = { false, function(d, args, _, _, reply) history.log(d, args, reply) end },
   history = { false, function(d, args, _, _, reply) history.page(d, args, reply) end },
   partitions = { false, function(d, _, _, _, reply) history.partitions(d, reply) end },
   relearn = { true, function(d, args, who, _, reply)
      expected.relearn(d, args, who, reply, findings.follow)
   end },
   repair = { false, repair.answer },
}
