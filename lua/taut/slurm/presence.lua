-- SPDX-License-Identifier: GPL-2.0-or-later
--- Which of the topology's dynamic nodes are there, by Slurm's word: nodes join and leave under a
-- running tautd.  One that left takes what was known of it along: what comes back under its name
-- may be another machine.
local hostlist = require "taut.hostlist"
local sys = require "taut.sys"

local presence = {}
local Presence = {}
Presence.__index = Presence

-- One that is powered down, or not yet up again, cannot be tested.
local function is_away(node)
   return node == nil or node.off == true
end

local function say(self, names, what)
   if #names == 1 then
      self.log("notice", ("a node %s: %s"):format(what, hostlist.compress(names)))
   elseif #names > 0 then
      self.log("notice", ("%d nodes %s: %s"):format(#names, what, hostlist.compress(names)))
   end
end

--- May this node go without being missed?
function Presence:comes_and_goes(name)
   local topo = self.site.topo
   return topo.dynamic ~= nil and topo.dynamic[topo.node_id[name] or 0] == true
end

--- Look at what Slurm said last: who came, who left.  A tautd that Slurm has not answered yet takes
-- all for present.
function Presence:look()
   local topo, cl = self.site.topo, self.cluster
   if not topo.dynamic or not cl.nodes_at then
      return
   end
   local away, came, left = {}, {}, {}
   for n in pairs(topo.dynamic) do
      local name = topo.nodes[n]
      away[n] = is_away(cl.nodes[name]) or nil
      if away[n] and not self.away[name] then
         left[#left + 1] = n
      elseif self.away[name] and not away[n] then
         came[#came + 1] = n
      end
   end
   local is_new = topo ~= self.topo -- the configuration was read anew
   if #came + #left == 0 and not is_new then
      return
   end
   self.topo, self.away = topo, {}
   for n in pairs(away) do
      self.away[topo.nodes[n]] = true
   end
   topo:set_away(away)
   for _, list in ipairs { left, came } do
      table.sort(list)
      for i, n in ipairs(list) do
         list[i] = topo.nodes[n]
         self.on_other(n, cl.nodes[list[i]])
      end
   end
   say(self, came, "joined, untested")
   say(self, left, "left")
end

--- @param options { site, cluster; on_other = function(number, Slurm's record of it or nil) for
--   each node that left, or came: what the store had of it may have been read in between; log =
--   function(level, text), sys.log if nil }
function presence.new(options)
   return setmetatable({ site = options.site, cluster = options.cluster,
      on_other = options.on_other, log = options.log or sys.log, away = {} }, Presence)
end

return presence
