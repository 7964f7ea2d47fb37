-- SPDX-License-Identifier: GPL-2.0-or-later
--- Nodes that lack an interface where the topology has a rail of theirs: each says so in its own
-- log once since its boot, and here in each HELLO.
local sys = require "taut.sys"

local lost_rails = {}
local LostRails = {}
LostRails.__index = LostRails

local function text_of(rail, e)
   return ("its rail %d (%s)"):format(rail, e["if"] and sys.plain(e["if"]) or "no interface")
end

--- A node said which of its interfaces it can use.  That one is gone is news, that it is back, too;
-- what it never had since tautd's start is shown only (list).
-- @param topo topology
-- @param name of the node
-- @param list its interfaces by rail (topology/fabrics/rails.lua)
function LostRails:hear(topo, name, list)
   local n, lacks = topo.node_id[name], nil
   for rail = 1, n and topo.rails or 0 do
      local e = list[rail] or {}
      local key = name .. " " .. rail
      if not topo:router(n, rail) then
         self.had[key] = nil
      elseif e.tcp or e.ofi then
         if self.had[key] == false then
            self.log("info", ("%s can use %s again"):format(name, text_of(rail, e)))
         end
         self.had[key] = true
      else
         if self.had[key] then
            self.log("warning", ("%s cannot use %s any more: nothing is tested there"):format(name,
               text_of(rail, e)))
            self.had[key] = false
         end
         lacks = lacks or {}
         lacks[#lacks + 1] = { rail = rail, interface = e["if"] and sys.plain(e["if"]) }
      end
   end
   self.of[name] = lacks
end

--- Who lacks what, by the node's last word.
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
   table.sort(list, function(a, b) return topo.node_id[a.node] < topo.node_id[b.node] end)
   return list
end

--- @param log function(level, text), sys.log if nil
function lost_rails.new(log)
   return setmetatable({ of = {}, had = {}, log = log or sys.log }, LostRails)
end

return lost_rails
