-- SPDX-License-Identifier: GPL-2.0-or-later
--- The history of policy/init.lua from the store.
local json = require "taut.json"
local tables = require "taut.base.tables"

local memory = {}

local AS_THEY_ARE = { node = tostring, name = tostring }

-- A drain of a component that no longer exists has its old name.
local function now_called(drain, names)
   if type(drain) == "table" and type(drain.component) == "string" then
      drain.component = names.name(drain.component) or drain.component
   end
   return drain
end

--- @param history history
-- @param drained rows of the table of the same name
-- @param actions rows of the log, the newest first
-- @param stops value of the setting "policy_stops", or nil
-- @param names { node, name }: what nodes and components are called now (before/same.lua); nil:
--   as they are
function memory.restore(history, drained, actions, stops, names)
   names = names or AS_THEY_ARE
   for _, row in ipairs(drained) do
      local node = names.node(row.node)
      history.drained[node] = history.drained[node] or now_called(json.decode(row.data), names)
   end
   local repaired = {}
   for _, row in ipairs(actions) do
      local node = names.node(row.node)
      if row.action == "repaired" then
         repaired[node] = true
      elseif row.action == "drain" and row.result == "done" and not repaired[node] then
         table.insert(history.drains, now_called({ node = node, component = row.component,
            time = row.time }, names))
      end
   end
   local kept = stops and json.decode(stops)
   if type(kept) == "table" then
      history.stopped, history.capped, history.wide = kept.stopped, kept.capped or {}, kept.wide
   end
end

--- What was said of late, before and since tautd started.
-- @param alerts of now
-- @param alerted map node → cause, added to
-- @param text what act.lua kept, or nil
-- @param names as of restore
-- @return array of { time, text }
function memory.alerts(alerts, alerted, text, names)
   names = names or AS_THEY_ARE
   local kept = text and json.decode(text)
   if type(kept) ~= "table" or type(kept.alerts) ~= "table" then
      return alerts
   end
   local list = {}
   for _, a in ipairs(kept.alerts) do
      if type(a) == "table" and type(a.time) == "number" and type(a.text) == "string" then
         list[#list + 1] = { time = a.time, text = a.text }
      end
   end
   for node, cause in pairs(tables.or_empty(kept.alerted)) do
      node = names.node(node)
      alerted[node] = alerted[node] or cause
   end
   return table.move(alerts, 1, #alerts, #list + 1, list)
end

return memory
