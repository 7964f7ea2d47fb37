-- SPDX-License-Identifier: GPL-2.0-or-later
--- Whether what routers answer fits the topology: which addresses it does not have, and which of
-- its routers answered where it has them not on the way, or one after the other without a link
-- between them.
local traces = {}
local Traces = {}
Traces.__index = Traces

local KEPT = 32 -- places that did not fit

local function note_odd(self, text)
   local o = self.by_text[text]
   if not o and #self.odd < KEPT then
      o = { text = text, count = 0 }
      self.by_text[text], self.odd[#self.odd + 1] = o, o
   end
   if o then
      o.count = o.count + 1
   end
end

-- Can a way that goes by this stage come to the router?
local function comes_to(topo, stage, router)
   if type(stage) == "table" then
      return stage.to[router] ~= nil
   end
   return topo:to(stage) == router
end

-- What one router of a way answered; the first one is asked at a port for nodes, which has no name.
local function take_one(self, topo, stage, address, index)
   local c, r = topo.asked_at.link[address], topo.asked_at.router[address]
   if c then
      r = topo:to(c)
   end
   self.answers = self.answers + 1
   if not r then
      self.unknown = self.unknown + 1
      note_odd(self, ("%s answered, which topology.addresses does not have"):format(address))
   elseif not comes_to(topo, stage, r) then
      self.elsewhere = self.elsewhere + 1
      note_odd(self, ("%s answered as router %d of a way that is not by it"):format(
         topo.router_name[r], index))
   end
end

-- Two that answered one after the other by links that do not meet.
local function look_between(self, topo, before, after)
   local a, b = topo.asked_at.link[before], topo.asked_at.link[after]
   local is_odd = a and b and topo:to(a) ~= topo:from(b)
   if is_odd then
      self.torn = self.torn + 1
      note_odd(self, ("%s and then %s answered, which no link is between"):format(
         topo.router_name[topo:to(a)], topo.router_name[topo:to(b)]))
   end
end

--- Look at the answers of one test's way.
-- @param asked of ways.of
-- @param answers by router, "" of one that was silent; or nil
function Traces:take(topo, asked, answers)
   for i = 2, math.min(asked.n - 1, #(answers or {})) do
      if answers[i] ~= "" then
         take_one(self, topo, asked[i], answers[i], i)
      end
      if i > 2 then
         look_between(self, topo, answers[i - 1], answers[i])
      end
   end
end

function traces.new()
   return setmetatable({ answers = 0, unknown = 0, elsewhere = 0, torn = 0, odd = {},
      by_text = {} }, Traces)
end

return traces
