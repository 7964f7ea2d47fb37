-- SPDX-License-Identifier: GPL-2.0-or-later
--- Nodes that lack an interface where the topology has a rail of theirs: each reports it in its own
-- log once per boot, and here in each HELLO.
local loop = require "taut.loop"
local sys = require "taut.sys"

local lost_rails = {}
local LostRails = {}
LostRails.__index = LostRails

local SAID_MOST, SAID_S = 8, 60 -- lines of one node in so many seconds; more are said later

local function text_of(rail, endpoint)
   return ("its rail %d (%s)"):format(rail, sys.plain(endpoint["if"] or "no interface"))
end

-- Say it, unless the node made many lines in the last minute.
-- @return whether it was said
function LostRails:say(name, level, text)
   local said = self.said[name]
   if not said or loop.time() - said.time > SAID_S then
      said = { time = loop.time(), count = 0 }
      self.said[name] = said
   end
   said.count = said.count + 1
   if said.count <= SAID_MOST then
      self.log(level, text)
   end
   return said.count <= SAID_MOST
end

--- A node said which of its interfaces it can use.  That one is gone is news, that it is back, too;
-- what it never had since tautd's start is shown only (list).
-- @param topo topology
-- @param name of the node
-- @param list its interfaces by rail (topology/fabrics/rails.lua)
function LostRails:hear(topo, name, list)
   local n, lacks = topo.node_id[name], nil
   local last = topo.rails or 0
   if not n then
      last = 0
   end
   for rail = 1, last do
      local e = list[rail] or {}
      local key = name .. " " .. rail
      if not topo:router(n, rail) then
         self.had[key] = nil
      elseif e.tcp or e.ofi then
         self.had[key] = self.had[key] ~= false
            or self:say(name, "info", ("%s can use %s again"):format(name, text_of(rail, e)))
      else
         if self.had[key] and self:say(name, "warning",
            ("%s cannot use %s any more: nothing is tested there"):format(name, text_of(rail, e)))
         then
            self.had[key] = false
         end
         lacks = lacks or {}
         lacks[#lacks + 1] = { rail = rail, interface = e["if"] and sys.plain(e["if"]) }
      end
   end
   self.of[name] = lacks
end

--- Missing interfaces by the node's last report.
-- @param topo topology
-- @return array of { node, rails = array of { rail, interface = nil where it names none } }, in the
--   topology's order
function LostRails:list(topo)
   local list = {}
   for name, rails in pairs(self.of) do
      if topo.node_id[name] and not topo.away[topo.node_id[name]] then
         list[#list + 1] = { node = name, rails = rails }
      else
         self.of[name] = nil
      end
   end
   table.sort(list, function(one, other)
      return topo.node_id[one.node] < topo.node_id[other.node]
   end)
   return list
end

--- @param log function(level, text), sys.log if nil
function lost_rails.new(log)
   return setmetatable({ of = {}, had = {}, said = {}, log = log or sys.log }, LostRails)
end

return lost_rails
