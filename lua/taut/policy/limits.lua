-- SPDX-License-Identifier: GPL-2.0-or-later
--- What holds a drain back: nodes that are somebody else's business, caps, jobs that wait.
local report = require "taut.report"
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
local function setting_of(settings, partition, name)
   local own = settings.partitions and settings.partitions[partition]
   if own and own[name] ~= nil then
      return own[name]
   elseif own and name == "cap_nodes" and own.cap_share then
      return nil -- its own share wins over the machine's number
   end
   return settings[name]
end
limits.setting = setting_of

--- Most nodes of a partition that may be drained by us at once.
function limits.cap_of(settings, partition, size)
   return setting_of(settings, partition, "cap_nodes")
      or math.max(1, math.floor(size * setting_of(settings, partition, "cap_share")))
end

local function is_in(node, partition)
   return tables.has(tables.or_empty(node).partitions or {}, partition)
end

--- Nodes of a partition that are drained by us, or are about to be.
-- @param map node name → anything
function limits.count_in(cluster, partition, map)
   local n = 0
   for name in pairs(map) do
      if is_in(cluster.nodes[name], partition) then
         n = n + 1
      end
   end
   return n
end

-- Drains of the last hour: all, or those of a partition's nodes.
local function recent_drains(history, cluster, partition, now)
   local function is_here(name)
      return partition == nil or is_in(cluster.nodes[name], partition)
   end
   local n = tables.count(history.drains, function(drain)
      return drain.time > now - HOUR and is_here(drain.node)
   end)
   for name in pairs(history.asked) do
      if is_here(name) then
         n = n + 1
      end
   end
   return n
end

local function count_in_words(count)
   return report.count(count, "node")
end

-- An hourly cap: the machine's, and that of partitions that have their own.
local function hour_reason(settings, node, situation)
   local all = recent_drains(situation.history, situation.cluster, nil, situation.now)
   if settings.per_hour and all >= settings.per_hour then
      return ("cap: %s drained within the hour"):format(count_in_words(all)), "hour"
   end
   for _, p in ipairs(node.partitions or {}) do
      local own = settings.partitions and settings.partitions[p] and settings.partitions[p].per_hour
      local here = own and recent_drains(situation.history, situation.cluster, p, situation.now)
      if own and here >= own then
         return ("cap: %s of partition %s drained within the hour"):format(count_in_words(here), p),
            "hour " .. p
      end
   end
   return nil
end

local function cap_reason(settings, node, situation, drained)
   for _, p in ipairs(node.partitions or {}) do
      local count = limits.count_in(situation.cluster, p, drained)
      local cap = limits.cap_of(settings, p, #(situation.cluster.partitions[p] or {}))
      if count >= cap then
         return ("cap: %d of at most %d nodes of partition %s are drained by taut"):format(count,
            cap, p), "partition " .. p
      end
   end
   return nil
end

-- Partitions that a job may run in: it names one or several.
local function partitions_of(job, partition)
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
      return partitions_of(job, partition) and not ELSEWHERE[job.reason or ""]
   end)
end

-- Usable nodes of a partition, counted once for each decision.
local function usable_in(situation, partition, drained)
   local n = situation.usable[partition]
   if not n then
      n = tables.count(situation.cluster.partitions[partition] or {}, function(member)
         return situation.cluster:is_usable(member) and not drained[member]
      end)
      situation.usable[partition] = n
   end
   return n
end

--- A node was just decided to be drained.
function limits.took(situation, name)
   for _, p in ipairs(situation.cluster.nodes[name].partitions or {}) do
      situation.usable[p] = situation.usable[p] and situation.usable[p] - 1
   end
end

-- Would the job at the head of a queue no longer fit?
local function capability_reason(settings, node, situation, drained)
   for _, p in ipairs(node.partitions or {}) do
      local head = setting_of(settings, p, "capability_hold") and head_of(situation.cluster, p)
      local usable, need = 0, 0
      if head then
         usable, need = usable_in(situation, p, drained), head.num_nodes or 0
      end
      if head and usable - 1 < need and usable >= need then
         return ("capability_hold: job %d, at the head of the queue, needs %d of %d usable nodes")
            :format(head.id, need, usable)
      end
   end
   return nil
end

-- What the site's own function has against it.
local function site_reason(settings, node, verdict)
   if not settings.hold then
      return nil
   end
   local copy = tables.copy(node)
   local ok, why = site.call(settings.hold, copy, { component = verdict.name, state = verdict.state,
      left = verdict.left })
   if not ok then
      return "hold: " .. why, "hold"
   elseif why ~= nil and type(why) ~= "string" then
      return "hold: expected a text or nil, got " .. type(why), "hold"
   end
   return why
end

-- Everything that does not depend on how many others are drained.
local function own_reason(name, situation)
   local node, s = situation.cluster.nodes[name], situation.settings
   if not node then
      return "Slurm does not know it (or did not answer yet)"
   -- nobody would hold it back for the queue's head
   elseif situation.cluster.knows_queue == false then
      return "Slurm did not tell of its jobs yet"
   elseif situation.cluster.nodes_at and situation.now - situation.cluster.nodes_at > s.stale_s then
      return ("Slurm last told of its nodes %d s ago"):format(math.floor(situation.now -
         situation.cluster.nodes_at))
   elseif node.maint then
      return "it is in a maintenance reservation"
   elseif node.drain or node.down or node.fail then
      return ("it is %s already: %s"):format(report.text_if(node.down, "down", "drained"),
         tables.unless_blank(node.reason) or "no reason given")
   end
   return nil
end

-- A cap that was reached stays so until somebody says go on.
local function capped_reason(history, node)
   local list = { "hour" }
   for _, p in ipairs(node.partitions or {}) do
      list[#list + 1] = "partition " .. p
      list[#list + 1] = "hour " .. p
   end
   for _, key in ipairs(list) do
      if history.capped[key] then
         return history.capped[key].why, key
      end
   end
   return nil
end

--- What keeps a node from being drained now; nil when nothing does.
-- @param name node
-- @param verdict the verdict, with `name`
-- @param situation what policy.decide was given, and `usable`, an empty table for each decision
-- @param drained map node → drains of ours that stand, that Slurm was asked for, or just decided
-- @return why; where it is a cap that was reached, its name, else nil; which rule it is, where the
--   settings have a name for it
function limits.held_back(name, verdict, situation, drained)
   local why = own_reason(name, situation)
   if why then
      return why
   end
   local s, node = situation.settings, situation.cluster.nodes[name]
   local cap
   why, cap = capped_reason(situation.history, node)
   if not why then
      why, cap = hour_reason(s, node, situation)
   end
   if not why then
      why, cap = cap_reason(s, node, situation, drained)
   end
   if why then
      return why, cap, "cap"
   end
   why = capability_reason(s, node, situation, drained)
   if why then
      return why, nil, "capability_hold"
   end
   local rule
   why, rule = site_reason(s, node, verdict)
   return why, nil, rule
end

--- In which mode a node is: a partition's own, where it has one; observe wins.
function limits.mode_of(name, situation)
   local mode = situation.mode
   for _, p in ipairs((situation.cluster.nodes[name] or {}).partitions or {}) do
      if setting_of(situation.settings, p, "mode") == "observe" then
         return "observe"
      end
   end
   return mode
end

return limits
