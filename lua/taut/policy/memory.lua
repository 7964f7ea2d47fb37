-- SPDX-License-Identifier: GPL-2.0-or-later
--- The history of policy/init.lua out of what the store kept.
local json = require "taut.json"

local memory = {}

--- @param h history
-- @param drained rows of the table of the same name
-- @param actions rows of the log, the newest first
-- @param stops value of the setting "policy_stops", or nil
function memory.restore(h, drained, actions, stops)
   for _, row in ipairs(drained) do
      h.drained[row.node] = h.drained[row.node] or json.decode(row.data)
   end
   local repaired = {}
   for _, row in ipairs(actions) do
      if row.action == "repaired" then
         repaired[row.node] = true
      elseif row.action == "drain" and row.result == "done" and not repaired[row.node] then
         table.insert(h.drains, { node = row.node, component = row.component, time = row.time })
      end
   end
   local kept = stops and json.decode(stops)
   if type(kept) == "table" then
      h.stopped, h.capped, h.wide = kept.stopped, kept.capped or {}, kept.wide
   end
end

return memory
