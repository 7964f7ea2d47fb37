-- SPDX-License-Identifier: GPL-2.0-or-later
--- What is known of the machine, piece by piece: `taut links`, `taut nodes`, and the verdicts that
-- `taut topology` draws.
local json = require "taut.json"
local loop = require "taut.loop"

local function component_row(self, c, now)
   local k, seen = self.diagnosis:record(c) or {}, self.diagnosis:seen(c)
   return { component = self.site.topo.components[c], state = self.diagnosis:state(c),
      left = k.left, low = #self.diagnosis:run(c), tests = seen.tests, last = seen.last,
      capacity_Bps = self.diagnosis:capacity(c), action = self.decision.measures[c],
      since = k.since,
      remark = self.diagnosis:remark(c, now), cable = self.site.topo:cable(c) }
end

local function links(self)
   local rows, now = json.array {}, loop.time()
   for c = 1, #self.site.topo.components do
      if self.site.topo:is_link(c) then
         rows[#rows + 1] = component_row(self, c, now)
      end
   end
   return { links = rows, now = now }
end

local function nodes(self)
   local rows, now, topo = json.array {}, loop.time(), self.site.topo
   for n, name in ipairs(topo.nodes) do
      local slurm = self.cluster.nodes[name] or {}
      rows[#rows + 1] = { node = name, router = topo.router_name[topo:router(n)],
         slurm = slurm.state, drain = slurm.drain or false, reason = slurm.reason,
         ours = self.act.history.drained[name] ~= nil,
         held = self.act.held[name] and self.act.held[name].why,
         heard = self.cluster.last_heard[name], tx = component_row(self, topo.tx[n], now),
         rx = component_row(self, topo.rx[n], now) }
   end
   return { nodes = rows, now = now }
end

-- The verdicts, what the fabric has routed around, and which topology both are of: `taut topology`
-- knows the rest from the file.
local function topology(self)
   local rows = json.array {}
   for c, name in ipairs(self.site.topo.components) do
      local state = self.diagnosis:state(c)
      if state ~= "unknown" then
         local k = self.diagnosis:record(c)
         rows[#rows + 1] = { component = name, state = state, left = k and k.left }
      end
   end
   local around = json.array {}
   for c, left in pairs(self.site.topo.degraded) do
      around[#around + 1] = { component = self.site.topo.components[c], left = left }
   end
   local learned = self.diagnosis.learned
   return { path = self.site.conf.path, wiring = self.site.topo.wiring, verdicts = rows,
      routed_around = around,
      learned = learned and json.array(learned:rows()) }
end

--- @param o { site, diagnosis, decision, cluster, act }
-- @return name → { admin only, fn(args, who, uid, reply) }
return function(o)
   return {
      links = { false, function(_, _, _, reply) reply(links(o)) end },
      nodes = { false, function(_, _, _, reply) reply(nodes(o)) end },
      topology = { false, function(_, _, _, reply) reply(topology(o)) end },
   }
end
