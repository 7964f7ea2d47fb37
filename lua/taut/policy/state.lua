-- SPDX-License-Identifier: GPL-2.0-or-later
--- How the policy stands: what `taut policy` shows.
local json = require "taut.json"
local limits = require "taut.policy.limits"
local loop = require "taut.loop"
local tables = require "taut.base.tables"

local function partitions(d)
   local list = json.array {}
   for name, nodes in pairs(d.cluster.partitions) do
      list[#list + 1] = { name = name, nodes = #nodes,
         drained = limits.count_in(d.cluster, name, d.act.history.drained),
         cap = limits.cap_of(d.conf.policy, name, #nodes) }
   end
   table.sort(list, function(a, b) return a.name < b.name end)
   return list
end

--- @param d daemon
return function(d)
   local h, capped, recent, now = d.act.history, json.array {}, 0, loop.time()
   for cap, c in pairs(h.capped) do
      capped[#capped + 1] = { cap = cap, why = c.why, time = c.time }
   end
   table.sort(capped, function(a, b) return a.cap < b.cap end)
   for _, x in ipairs(h.drains) do
      recent = recent + (x.time > now - 3600 and 1 or 0)
   end
   return { mode = d.mode or d.conf.mode, stopped = h.stopped, capped = capped,
      standby = d.cluster.standby, drained = tables.size(h.drained), held = tables.size(d.act.held),
      last_hour = recent, partitions = partitions(d), on_event = d.teller:state() }
end
