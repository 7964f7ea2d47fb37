-- SPDX-License-Identifier: GPL-2.0-or-later
--- Slurm's nodes and partitions.  Methods of cluster/init.lua.
local hostlist = require "taut.hostlist"
local loop = require "taut.loop"

local nodes = {}

local NAMES_MAX = 1 << 20

-- A reservation for maintenance counts from the moment it begins: slurmctld marks its nodes a
-- while later.
local function mark_maintenance(self, lists)
   for _, text in ipairs(lists or {}) do
      for _, name in ipairs(hostlist.expand(text, NAMES_MAX) or {}) do
         if self.nodes[name] then
            self.nodes[name].maint = true
         end
      end
   end
end

--- Slurm's nodes.
-- @param list of them, in the order of its table
-- @param maintenance host lists of reservations for it, or nil
-- @param partitions what each is: array of { name, up, default, max_minutes }, or nil
function nodes:take_nodes(list, maintenance, partitions)
   self.nodes, self.partitions, self.order, self.without_job = {}, {}, {}, {}
   self.partition_info = partitions or {}
   for i, n in ipairs(list) do
      self.nodes[n.name], self.order[i] = n, n.name -- it answers in the order of its table
      if not self:has_job(n.name) then
         self.without_job[n.name] = n
      end
      for _, p in ipairs(n.partitions or {}) do
         self.partitions[p] = self.partitions[p] or {}
         table.insert(self.partitions[p], n.name)
      end
   end
   mark_maintenance(self, maintenance)
   self.nodes_at = loop.time()
   if self.addresses then
      self.addresses:take(list)
   end
end

-- Could a node without a job take part in an idle cycle?  A drained one serves only to test itself.
local function can_be_asked(node)
   return not node.down and not node.off and not node.rebooting
      and (node.state == "idle" or node.drain)
end

--- Nodes that idle cycles may call for now.
-- @return array of names, in no order
function nodes:for_idle_cycles()
   local list = {}
   for name, n in pairs(self.without_job) do
      if can_be_asked(n) then
         list[#list + 1] = name
      end
   end
   return list
end

-- Idle, and nothing but power saving in its way.
local function is_idle(self, node, name)
   return node ~= nil and node.state == "idle" and not node.drain and not node.down
      and not node.maint and not node.rebooting and not self:has_job(name)
end

--- Can a job start on this node now?  One that saves power is not woken for it.
function nodes:is_free(name)
   local n = self.nodes[name]
   return is_idle(self, n, name) and not n.off and not n.barred
end

--- Would a job wake this node, which is off, and start there?
function nodes:is_asleep(name)
   local n = self.nodes[name]
   return is_idle(self, n, name) and n.off == true and not n.fail
end

--- Is the node switched on, with a slurmd that could speak?
function nodes:is_up(name)
   return self:is_usable(name) and not self.nodes[name].off and not self.nodes[name].rebooting
      and not self.nodes[name].barred
end

--- Could a job ever start there as things are (not down, not drained)?
function nodes:is_usable(name)
   local n = self.nodes[name]
   return n ~= nil and not n.drain and not n.down and not n.fail
end

--- Slurm was told to give nodes this feature: as it will have it at the next look.
function nodes:note_feature(names, feature)
   for _, name in ipairs(names) do
      if self.nodes[name] then
         self.nodes[name].features = feature
      end
   end
end

return nodes
