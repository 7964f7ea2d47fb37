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

--- What was said of late, before and since tautd started.
-- @param alerts of now
-- @param alerted map node → cause, added to
-- @param text what act.lua kept, or nil
-- @return array of { time, text }
function memory.alerts(alerts, alerted, text)
   local kept = text and json.decode(text)
   if type(kept) ~= "table" or type(kept.alerts) ~= "table" then
      return alerts
   end
   local list = {}
   for _, a in ipairs(kept.alerts) do
      list[#list + 1] = type(a) == "table" and type(a.time) == "number"
         and type(a.text) == "string" and { time = a.time, text = a.text } or nil
   end
   for node, cause in pairs(type(kept.alerted) == "table" and kept.alerted or {}) do
      alerted[node] = alerted[node] or cause
   end
   return table.move(alerts, 1, #alerts, #list + 1, list)
end

return memory
