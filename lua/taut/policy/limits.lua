-- SPDX-License-Identifier: GPL-2.0-or-later
--- What holds a drain back: nodes that are somebody else's business, caps, jobs that wait.
local site = require "taut.policy.site"
local tables = require "taut.base.tables"

local limits = {}

local HOUR = 3600

-- Reasons for which a pending job waits for something else than nodes, so that it does not stand
-- at the head of the queue whatever its priority.
local ELSEWHERE = { BeginTime = true, Dependency = true, JobHeldAdmin = true, JobHeldUser = true,
   Licenses = true, PartitionDown = true, PartitionInactive = true, PartitionNodeLimit = true,
   PartitionTimeLimit = true, Reservation = true }

-- A setting, of the partition where it has its own.
local function setting(s, partition, name)
   local own = s.partitions and s.partitions[partition]
   if own and own[name] ~= nil then
      return own[name]
   elseif own and name == "cap_nodes" and own.cap_share then
      return nil -- its own share wins over the machine's number
   end
   return s[name]
end
limits.setting = setting

--- Most nodes of a partition that may be drained by us at once.
function limits.cap_of(s, partition, size)
   return setting(s, partition, "cap_nodes")
      or math.max(1, math.floor(size * setting(s, partition, "cap_share")))
end

local function is_in(node, partition)
   return tables.any(node and node.partitions or {}, function(p) return p == partition end)
end

--- Nodes of a partition that are drained by us, or are about to be.
-- @param map node name → anything
function limits.count_in(cluster, partition, map)
   local n = 0
   for name in pairs(map) do
      n = n + (is_in(cluster.nodes[name], partition) and 1 or 0)
   end
   return n
end

-- Drains of the last hour: all, or those of a partition's nodes.
local function recent(h, cluster, partition, now)
   local n = 0
   for _, d in ipairs(h.drains) do
      local here = partition == nil or is_in(cluster.nodes[d.node], partition)
      n = n + (d.time > now - HOUR and here and 1 or 0)
   end
   for name in pairs(h.asked) do
      n = n + ((partition == nil or is_in(cluster.nodes[name], partition)) and 1 or 0)
   end
   return n
end

local function nodes(n)
   return n == 1 and "1 node" or ("%d nodes"):format(n)
end

-- An hourly cap: the machine's, and that of partitions that have their own.
local function hour_reason(s, node, o)
   local all = recent(o.history, o.cluster, nil, o.now)
   if s.per_hour and all >= s.per_hour then
      return ("cap: %s drained within the hour"):format(nodes(all)), "hour"
   end
   for _, p in ipairs(node.partitions or {}) do
      local own = s.partitions and s.partitions[p] and s.partitions[p].per_hour
      local here = own and recent(o.history, o.cluster, p, o.now)
      if own and here >= own then
         return ("cap: %s of partition %s drained within the hour"):format(nodes(here), p),
            "hour " .. p
      end
   end
   return nil
end

local function cap_reason(s, node, o, drained)
   for _, p in ipairs(node.partitions or {}) do
      local count = limits.count_in(o.cluster, p, drained)
      local cap = limits.cap_of(s, p, #(o.cluster.partitions[p] or {}))
      if count >= cap then
         return ("cap: %d of at most %d nodes of partition %s are drained by taut"):format(count,
            cap, p), "partition " .. p
      end
   end
   return nil
end

-- Partitions that a job may run in: it names one or several.
local function wants(job, partition)
   for p in (job.partition or ""):gmatch "[^,]+" do
      if p == partition then
         return true
      end
   end
   return false
end

-- The first pending job of a partition that waits for nodes.
local function head_of(cluster, partition)
   return tables.find(cluster.pending or {}, function(job)
      return wants(job, partition) and not ELSEWHERE[job.reason or ""]
   end)
end

-- Usable nodes of a partition, counted once for each decision.
local function usable_in(o, partition, drained)
   local n = o.usable[partition]
   if not n then
      n = 0
      for _, m in ipairs(o.cluster.partitions[partition] or {}) do
         n = n + (o.cluster:is_usable(m) and not drained[m] and 1 or 0)
      end
      o.usable[partition] = n
   end
   return n
end

--- A node was just decided to be drained.
function limits.took(o, name)
   for _, p in ipairs(o.cluster.nodes[name].partitions or {}) do
      o.usable[p] = o.usable[p] and o.usable[p] - 1
   end
end

-- Would the job at the head of a queue no longer fit?
local function capability_reason(s, node, o, drained)
   for _, p in ipairs(node.partitions or {}) do
      local head = setting(s, p, "capability_hold") and head_of(o.cluster, p)
      local usable = head and usable_in(o, p, drained) or 0
      local need = head and head.num_nodes or 0
      if head and usable - 1 < need and usable >= need then
         return ("capability_hold: job %d, at the head of the queue, needs %d of %d usable nodes")
            :format(head.id, need, usable)
      end
   end
   return nil
end

-- What the site's own function has against it.
local function site_reason(s, node, v)
   if not s.hold then
      return nil
   end
   local copy = tables.copy(node)
   local ok, why = site.call(s.hold, copy, { component = v.name, state = v.state, left = v.left })
   if not ok then
      return "hold: " .. why, "hold"
   elseif why ~= nil and type(why) ~= "string" then
      return "hold: expected a text or nil, got " .. type(why), "hold"
   end
   return why
end

-- Everything that does not depend on how many others are drained.
local function own_reason(name, o)
   local node, s = o.cluster.nodes[name], o.settings
   if not node then
      return "Slurm does not know it (or did not answer yet)"
   elseif o.cluster.knows_queue == false then -- nobody would hold it back for the queue's head
      return "Slurm did not tell of its jobs yet"
   elseif o.cluster.nodes_at and o.now - o.cluster.nodes_at > s.stale_s then
      return ("Slurm last told of its nodes %d s ago"):format(math.floor(o.now -
         o.cluster.nodes_at))
   elseif node.maint then
      return "it is in a maintenance reservation"
   elseif node.drain or node.down or node.fail then
      return ("it is %s already: %s"):format(node.down and "down" or "drained",
         (node.reason or "") ~= "" and node.reason or "no reason given")
   end
   return nil
end

-- A cap that was reached stays so until somebody says go on.
local function capped_reason(h, node)
   local list = { "hour" }
   for _, p in ipairs(node.partitions or {}) do
      list[#list + 1] = "partition " .. p
      list[#list + 1] = "hour " .. p
   end
   for _, key in ipairs(list) do
      if h.capped[key] then
         return h.capped[key].why, key
      end
   end
   return nil
end

--- What keeps a node from being drained now; nil when nothing does.
-- @param name node
-- @param v the verdict, with `name`
-- @param o what policy.decide was given, and `usable`, an empty table for each decision
-- @param drained map node → drains of ours that stand, that Slurm was asked for, or just decided
-- @return why; where it is a cap that was reached, its name, else nil; which rule it is, where the
--   settings have a name for it
function limits.held_back(name, v, o, drained)
   local why = own_reason(name, o)
   if why then
      return why
   end
   local s, node = o.settings, o.cluster.nodes[name]
   local cap
   why, cap = capped_reason(o.history, node)
   if not why then
      why, cap = hour_reason(s, node, o)
   end
   if not why then
      why, cap = cap_reason(s, node, o, drained)
   end
   if why then
      return why, cap, "cap"
   end
   why = capability_reason(s, node, o, drained)
   if why then
      return why, nil, "capability_hold"
   end
   local rule
   why, rule = site_reason(s, node, v)
   return why, nil, rule
end

--- In which mode a node is: a partition's own, where it has one; observe wins.
function limits.mode_of(name, o)
   local mode = o.mode
   for _, p in ipairs((o.cluster.nodes[name] or {}).partitions or {}) do
      if setting(o.settings, p, "mode") == "observe" then
         return "observe"
      end
   end
   return mode
end

return limits
