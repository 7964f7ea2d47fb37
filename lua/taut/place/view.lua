-- SPDX-License-Identifier: GPL-2.0-or-later
--- The cluster in node numbers, kept ready for advice: who is free, in Slurm's order.
--
-- It is made after each look at Slurm, and what prologs and epilogs tell in between is taken in
-- when it is asked for: so an answer does not begin with a walk over all nodes' records.
local hostlist = require "taut.hostlist"
local place = require "taut.place"

local view = {}
local View = {}
View.__index = View

local function is_open(node)
   return not node.drain and not node.down and not node.fail and not node.silent and not node.off
      and not node.rebooting and not node.barred and node.state ~= "future"
      and node.state ~= "unknown" and node.state ~= "error"
end

local function take_node(self, name)
   local n = self.topo.node_id[name]
   local record = self.cluster.nodes[name]
   if n and record then
      local is_free = self.cluster:is_free(name)
      self.free[n] = is_free and not record.reserved and not record.silent or nil
      self.asleep[n] = self.cluster:is_asleep(name) and not record.reserved or nil
      self.reserved[n] = record.reserved and is_free or nil
   elseif n then
      self.free[n], self.asleep[n], self.reserved[n] = nil, nil, nil
   end
end

-- Nodes in the order of Slurm's table, then those it does not know.
local function take_order(self)
   self.order, self.rank = {}, {}
   for _, name in ipairs(self.cluster.order or {}) do
      local n = self.topo.node_id[name]
      if n and not self.rank[n] then
         self.order[#self.order + 1] = n
         self.rank[n] = #self.order
      end
   end
   for n in ipairs(self.topo.nodes) do
      if not self.rank[n] then
         self.order[#self.order + 1] = n
         self.rank[n] = #self.order
      end
   end
end

--- Take in all that Slurm said.
function View:rebuild()
   self.free, self.reserved, self.members, self.ends = {}, {}, {}, nil
   self.asleep = {}
   take_order(self)
   for _, name in ipairs(self.topo.nodes) do
      take_node(self, name)
   end
   self.cluster:take_touched()
   self.at = self.cluster.nodes_at
   self.version, self.runs = self.version + 1, {}
end

local function table_of(set)
   local copy = {}
   for n in pairs(set) do
      copy[n] = true
   end
   return copy
end

--- Take in what was heard since, and all of it where Slurm was asked meanwhile.
-- @param touched names of nodes that it was heard of, where others want to know it, too
function View:update(touched)
   if self.at ~= self.cluster.nodes_at then
      self:rebuild()
   end
   touched = touched or self.cluster:take_touched()
   if next(touched) then
      self.free = table_of(self.free) -- a search that goes on meanwhile keeps its own
      for name in pairs(touched) do
         take_node(self, name)
      end
      self.version, self.runs = self.version + 1, {}
   end
end

--- Set of a partition's nodes, or nil where there is no such partition.
function View:partition(name)
   if not self.members[name] and self.cluster.partitions[name] then
      local set = {}
      for _, node in ipairs(self.cluster.partitions[name]) do
         set[self.topo.node_id[node] or 0] = true
      end
      set[0] = nil
      self.members[name] = set
   end
   return self.members[name]
end

--- When the nodes of running jobs come free: map node → time, of nodes that are open.
function View:ending()
   if self.ends then
      return self.ends
   end
   self.ends = {}
   for _, job in pairs(self.cluster.seen_running) do
      local names = {}
      if job["end"] and job["end"] > 0 then
         names = hostlist.expand(job.nodes or "", 1 << 20) or names
      end
      for _, name in ipairs(names) do
         local n, record = self.topo.node_id[name], self.cluster.nodes[name]
         if n and record and is_open(record) and not record.maint and not record.reserved then
            self.ends[n] = math.max(self.ends[n] or 0, job["end"])
         end
      end
   end
   return self.ends
end

--- Slurm's own switches as place.slurm wants them; nil where it has none.
function View:switches()
   local list = self.cluster.switches
   if not list or #list == 0 then
      return nil
   end
   if self.switches_of ~= list then
      self.switches_of, self.switch_list = list, {}
      for i, s in ipairs(list) do
         local nodes = {}
         for _, name in ipairs(hostlist.expand(s.nodes or "", 1 << 20) or {}) do
            nodes[#nodes + 1] = self.topo.node_id[name]
         end
         table.sort(nodes, function(one, other) return self.rank[one] < self.rank[other] end)
         self.switch_list[i] = { name = s.name, level = s.level, nodes = nodes }
      end
   end
   return self.switch_list
end

--- Free nodes in dense submeshes (place.dense); the same for the same free nodes.
function View:dense(free, least, density, version)
   local memo = self.dense_memo
   if not memo or memo.free ~= free or memo.version ~= self.version then
      memo = { free = free, version = self.version,
         nodes = place.dense(self.topo, free, least, density, nil, version) }
      self.dense_memo = memo
   end
   return memo.nodes
end

--- @param topo topology
-- @param cluster of slurm/cluster/init.lua
function view.new(topo, cluster)
   return setmetatable({ topo = topo, cluster = cluster, free = {}, reserved = {}, asleep = {},
      members = {}, order = {}, rank = {}, version = 0, runs = {} }, View)
end

return view
