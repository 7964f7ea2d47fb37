-- SPDX-License-Identifier: GPL-2.0-or-later
--- How heavily one job communicates, from the growth of its counters: they show how much a node
-- sends, not to whom.
local profile = {
   HEAVY = 0.1, -- share of what its nodes can inject from which on a job is heavy
}

local SOME = 0.01     -- below this it hardly communicates
local UNEVEN = 2      -- the busiest node over the mean from which on few nodes do the talking
local LEAST_S = 1     -- a shorter job tells nothing
local PARTNERS = 16   -- of each node in the estimate of background traffic

-- What a node's rails of several fabrics carry.
local function sum_rails_Bps(topo, node)
   local sum = 0
   for _, c in ipairs(topo:ports(node)) do
      if topo:kind(c) == "tx" then
         sum = sum + topo.capacity[c]
      end
   end
   return sum
end

-- What a job's nodes could inject, on average.
local function injection_Bps(topo, nodes)
   local sum, count = 0, 0
   for _, node in ipairs(nodes) do
      local n = topo.node_id[node.node]
      if n then
         if topo.fabrics then
            sum = sum + sum_rails_Bps(topo, n)
         else
            sum = sum + topo.capacity[topo.tx[n]] * topo.rails
         end
         count = count + 1
      end
   end
   if count > 0 then
      return sum / count
   end
   return nil
end

--- What the growth of a job's counters says.
-- @param topo topology
-- @param nodes what summary.of says of each
-- @return { nodes (that told), seconds, sent_Bps, received_Bps (mean of a node), share (of what
--   the nodes can inject), uneven (busiest node over the mean) }, or nil where they say nothing
function profile.measure(topo, nodes)
   local capacity = injection_Bps(topo, nodes)
   local m = { nodes = 0, seconds = 0, sent_Bps = 0, received_Bps = 0 }
   local most = 0
   for _, node in ipairs(nodes) do
      if node.seconds >= LEAST_S then
         m.nodes, m.seconds = m.nodes + 1, math.max(m.seconds, node.seconds)
         m.sent_Bps = m.sent_Bps + node.sent / node.seconds
         m.received_Bps = m.received_Bps + node.received / node.seconds
         most = math.max(most, (node.sent + node.received) / node.seconds)
      end
   end
   if m.nodes == 0 or not capacity or capacity <= 0 then
      return nil
   end
   local both = (m.sent_Bps + m.received_Bps) / m.nodes
   m.sent_Bps, m.received_Bps = m.sent_Bps / m.nodes, m.received_Bps / m.nodes
   m.share = math.max(m.sent_Bps, m.received_Bps) / capacity
   m.uneven = 1
   if both > 0 then
      m.uneven = most / both
   end
   return m
end

--- How a job communicates, as far as its counters tell.
-- @param kept { share, uneven, nodes_max, comm }
-- @return class: "one node", "light", "moderate", "heavy"; and the pattern to suggest: that it
--   named, "all-to-all" as the one that asks most of a network, or nil where none matters
function profile.class(kept)
   if (kept.nodes_max or 0) < 2 then
      return "one node"
   elseif kept.share < SOME then
      return "light"
   end
   local class, usual = "heavy", "all-to-all"
   if kept.share < profile.HEAVY then
      class, usual = "moderate", nil
   end
   if kept.comm then
      return class, (kept.comm:match "^[^:]+")
   elseif kept.uneven >= UNEVEN then
      return class, nil -- a few nodes serve the others: no pattern of ours
   end
   return class, usual
end

--- Each node's rate, to partners that are spread evenly over the job: who talks to whom is not
-- known.
-- @param list flat array { from, to, bytes per second, … }: added to
-- @param nodes node numbers
-- @param rate bytes per second that a node sends
function profile.spread(list, nodes, rate)
   local n = #nodes
   local partners = math.min(n - 1, PARTNERS)
   for i = 1, n do
      for k = 1, partners do
         local step = 1 + (k - 1) * (n - 1) // partners
         list[#list + 1] = nodes[i]
         list[#list + 1] = nodes[(i - 1 + step) % n + 1]
         list[#list + 1] = rate / partners
      end
   end
end

return profile
