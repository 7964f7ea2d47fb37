-- SPDX-License-Identifier: GPL-2.0-or-later
--- Marks: components that somebody wants tested soon (`taut verify`).
--
-- A marked component is tested by the next idle cycle, or check of a job, whose nodes can; when
-- enough tests meant something the mark is done, and is kept for a while to be looked at.
local json = require "taut.json"
local stages = require "taut.topology.stages"

local verify = {}
local Marks = {}
Marks.__index = Marks

local ENOUGH = 3        -- tests that meant something
local PATIENCE_S = 86400 -- an open mark is given up after so long
local KEEP_S = 3600     -- a done one is shown so long
local MOST = 64         -- open marks: more would be an audit

function verify.new()
   return setmetatable({ marks = {} }, Marks)
end

--- Forget what is over.
function Marks:prune(now)
   for c, m in pairs(self.marks) do
      if m.done_at and now - m.done_at > KEEP_S or not m.done_at and now - m.at > PATIENCE_S then
         self.marks[c] = nil
      end
   end
end

--- Mark a component.  One that is marked and open stays as it is.
-- @param who asks
-- @return the mark, or nil and why not
function Marks:add(component, who, now)
   self:prune(now)
   local old, open = self.marks[component], 0
   if old and not old.done_at then
      return old
   end
   for _, m in pairs(self.marks) do
      if not m.done_at then
         open = open + 1
      end
   end
   if open >= MOST then
      return nil, ("%d components are marked already; `taut audit` tests all"):format(open)
   end
   self.marks[component] = { c = component, who = who, at = now, good = 0, low = 0, void = 0,
      best = 0 }
   return self.marks[component]
end

--- As text, with names, for the store.
-- @param topo topology
function Marks:pack(topo)
   local list = json.array {}
   for c, m in pairs(self.marks) do
      list[#list + 1] = { component = topo.components[c], who = m.who, at = m.at, good = m.good,
         low = m.low, void = m.void, best = m.best, done_at = m.done_at }
   end
   return json.encode(list)
end

--- Take what the store kept; a mark of now stays as it is.
-- @param text of pack, or nil
-- @param name function(name of a component then) → name now or nil; nil: as they are
function Marks:restore(text, topo, name)
   if not text then
      return
   end
   for _, m in ipairs(json.decode(text) or {}) do
      local c = topo.component_id[(name or tostring)(m.component) or ""]
      if c and not self.marks[c] then
         m.c, m.component = c, nil
         self.marks[c] = m
      end
   end
end

--- The mark of a component, or nil.
function Marks:get(component, now)
   self:prune(now)
   return self.marks[component]
end

--- What plans are asked to test, in the form of diagnosis:wanted().
-- @param has set of components that are asked for already
function Marks:wanted(now, has)
   self:prune(now)
   local list = {}
   for c, m in pairs(self.marks) do
      if not m.done_at and not has[c] then
         list[#list + 1] = { component = c, tests = 1 }
      end
   end
   table.sort(list, function(first, second) return first.component < second.component end)
   return list
end

--- Take in the judged tests of an event.
function Marks:note(tests, now)
   if not next(self.marks) then
      return
   end
   for _, t in ipairs(tests or {}) do
      for _, c in ipairs(stages.sure(t.route)) do
         local m = self.marks[c]
         if m and not m.done_at and m[t.class] then
            m[t.class] = m[t.class] + 1
            if t.class ~= "void" then
               m.best = math.max(m.best, t.bw_Bps or 0)
            end
            if m.good + m.low >= ENOUGH then
               m.done_at = now
            end
         end
      end
   end
end

return verify
