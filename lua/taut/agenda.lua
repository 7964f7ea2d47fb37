--- What plans are asked to decide, and which nodes an idle cycle calls for.
local loop = require "taut.loop"

local agenda = {}

local IDLE_WIDTH = 12 -- nodes besides the suspect's own that an idle cycle calls for
local STALE = 16      -- components an idle cycle tests because nothing else reached them

--- Suspects; in idle cycles also what is slow already (it may be well again) and what no test
-- has reached for `coverage_h`.
function agenda.wanted(d, purpose)
   local now = loop.time()
   local list = d.diagnosis:wanted(now)
   if purpose ~= "idle" then
      return list
   end
   for c, k in pairs(d.diagnosis.comp) do
      if k.state == "slow" or k.state == "failed" then
         list[#list + 1] = { component = c, tied = {}, seen = {}, tests = 1 }
      end
   end
   local oldest = now - d.conf.checks.coverage_h * 3600
   if d.started_at < oldest then
      local stale = 0
      for c = 1, #d.topo.components do
         if d.coverage:last(c) < oldest and stale < STALE then
            stale = stale + 1
            list[#list + 1] = { component = c, tied = {}, seen = {}, tests = 1 }
         end
      end
   end
   return list
end

local function is_idle(d, n)
   local name = d.topo.nodes[n]
   local node = d.cluster.nodes[name]
   return node and not node.down and not d.cluster.on_node[name]
      and (node.state == "idle" or node.drain)
end

--- Nodes that an idle cycle waits for: for each suspect those at its ends and the
-- idle ones nearest to them.  A drained node serves only to test itself.
function agenda.idle_nodes(d)
   local topo, set = d.topo, {}
   for _, w in ipairs(agenda.wanted(d, "idle")) do
      local ends, near = topo:near(w.component), {}
      for n = 1, #topo.nodes do
         if is_idle(d, n) then
            near[#near + 1] = { n = n, hops = topo:hops(ends[1], n) +
               (ends[2] and topo:hops(ends[#ends], n) or 0) + 2 * (w.seen[n] or 0) }
         end
      end
      table.sort(near, function(a, b)
         return a.hops < b.hops or a.hops == b.hops and a.n < b.n
      end)
      for _, n in ipairs(topo:ends(w.component)) do
         set[n] = is_idle(d, n) or nil
      end
      for i = 1, math.min(#near, IDLE_WIDTH) do
         set[near[i].n] = true
      end
   end
   local list = {}
   for n in pairs(set) do
      list[#list + 1] = n
   end
   table.sort(list)
   return list
end

return agenda
