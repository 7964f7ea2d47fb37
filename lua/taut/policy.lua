--- What follows from a verdict: drain, avoid, watch; and what holds it back.
--
-- Decisions only: nothing here acts.  The drains that stand are kept by act.lua.
local policy = {}

--- Nodes to drain for a verdict on component c, and why there may be none.
-- @param topo topology
-- @param c component
-- @param left fraction of its capacity left
-- @param s the `policy` section
-- @return array of node numbers, and "drain", "avoid" or "alert"
function policy.nodes_for(topo, c, left, s)
   local behind = topo:behind(c, left)
   if #behind == 0 then
      if s.router_link == "avoid" then
         return {}, "avoid"
      end
      behind = topo:ends(c)
   end
   if #behind > s.nodes_per_component then
      return {}, "alert"
   end
   return behind, "drain"
end

-- Most nodes of a partition that may be drained by us at once.
local function cap_of(s, size)
   return s.cap_nodes or math.max(1, math.floor(size * s.cap_share))
end

local function cap_reason(s, name, cluster, drained)
   local node = cluster.nodes[name]
   for _, p in ipairs(node and node.partitions or {}) do
      local members, count = cluster.partitions[p] or {}, 0
      for _, m in ipairs(members) do
         count = count + (drained[m] and 1 or 0)
      end
      local cap = cap_of(s, #members)
      if count >= cap then
         return ("cap: %d of at most %d nodes of partition %s are drained by taut"):format(count,
            cap, p)
      end
   end
   return nil
end

-- Would the job at the head of the queue no longer fit?
local function capability_reason(s, name, cluster, drained)
   local head = cluster.pending[1]
   local node = cluster.nodes[name]
   if not s.capability_hold or not head or not node then
      return nil
   end
   local concerned = false
   for _, p in ipairs(node.partitions or {}) do
      concerned = concerned or p == head.partition
   end
   if not concerned then
      return nil
   end
   local usable = 0
   for _, m in ipairs(cluster.partitions[head.partition] or {}) do
      usable = usable + (cluster:is_usable(m) and not drained[m] and 1 or 0)
   end
   if usable - 1 < (head.num_nodes or 0) and usable >= (head.num_nodes or 0) then
      return ("capability_hold: job %d, at the head of the queue, needs %d of %d usable nodes")
         :format(head.id, head.num_nodes, usable)
   end
   return nil
end

--- What keeps a node from being drained now; nil when nothing does.
-- @param name node
-- @param s the `policy` section
-- @param cluster see cluster.lua
-- @param drained map node → drain of ours that stands or that Slurm was asked for
-- @param last_hour drains of the last hour
function policy.held_back(name, s, cluster, drained, last_hour)
   local node = cluster.nodes[name]
   if not node then
      return "Slurm does not know it (or did not answer yet)"
   elseif node.maint then
      return "it is in a maintenance reservation"
   elseif node.drain or node.down or node.fail then
      return ("it is %s already: %s"):format(node.down and "down" or "drained",
         node.reason ~= "" and node.reason or "no reason given")
   elseif s.per_hour and last_hour >= s.per_hour then
      return ("cap: %d nodes drained within the hour"):format(last_hour)
   end
   return cap_reason(s, name, cluster, drained) or capability_reason(s, name, cluster, drained)
end

return policy
