-- SPDX-License-Identifier: GPL-2.0-or-later
--- What is known of the machine, piece by piece: `taut links`, `taut nodes`, and the verdicts that
-- `taut topology` draws.
local json = require "taut.json"
local long = require "taut.core.answers.long"
local loop = require "taut.loop"
local tree = require "taut.base.tree"

local function component_row(self, component, now)
   local k, seen = self.diagnosis:record(component) or {}, self.diagnosis:seen(component)
   local low, of = self.diagnosis:tally(component)
   return { component = self.site.topo.components[component],
      state = self.diagnosis:state(component), left = k.left, loss = k.loss and k.loss.share,
      low = low, low_of = of, tests = seen.tests, last = seen.last,
      capacity_Bps = self.diagnosis:capacity(component), action = self.decision.measures[component]
         or k.state == "suspect" and k.hard and "alert" or nil, -- as `status` says it
      since = k.since, known = self.acks:get(self.site.topo.components[component], now),
      remark = self.diagnosis:remark(component, now), cable = self.site.topo:cable(component) }
end

-- Sets in place of links that no test can tell apart.
local function list_set_rows(self)
   local list = json.array {}
   local rows, links = self.diagnosis:sets_in_place_of_links()
   for i, s in ipairs(rows) do
      local members, v = json.array {}, s.verdict
      for k, c in ipairs(s.members) do
         members[k] = self.site.topo.components[c]
      end
      list[i] = { name = s.name, links = members, state = s.state, last = s.last,
         adaptive = self.site.topo:adapts(s.members[1]) or nil,
         left = v and v.left, since = v and v.since, text = v and self.diagnosis:set_words(v) }
   end
   return list, links
end

local function make_link_rows(self)
   local now = loop.time()
   local sets, in_sets = list_set_rows(self)
   return { count = #self.site.topo.components, rest = { now = now, sets = sets },
      row = function(component)
         if not self.site.topo:is_link(component) then
            return nil
         end
         local row = component_row(self, component, now)
         row.in_set = in_sets[component] and true
         return row
      end }
end

-- A node's rails of several fabrics, those that it has.
local function list_rail_rows(self, node, now)
   local topo, ports, list = self.site.topo, self.site.topo:ports(node), json.array {}
   for i = 1, #ports, 2 do
      local f = topo:fabric_of(ports[i])
      list[#list + 1] = { fabric = f.name, rail = select(2, topo:node_of(ports[i])),
         router = topo.router_name[topo:from(ports[i])],
         tx = component_row(self, ports[i], now), rx = component_row(self, ports[i + 1], now) }
   end
   return list
end

local function make_node_rows(self)
   local now = loop.time()
   return { count = #self.site.topo.nodes, rest = { now = now }, row = function(node)
      local topo = self.site.topo
      local name = topo.nodes[node]
      local slurm = self.cluster.nodes[name] or {}
      local rails = topo.fabrics and list_rail_rows(self, node, now)
      local tx, rx = topo.tx[node], topo.rx[node]
      if rails and rails[1] then
         tx, rx = table.unpack(topo:ports(node), 1, 2)
      end
      return { node = name, router = rails and rails[1] and rails[1].router
            or topo.router_name[topo:router(node)], rails = rails,
         away = topo.away[node],
         slurm = slurm.state, drain = slurm.drain or false, reason = slurm.reason,
         ours = self.act:standing()[name] ~= nil,
         held = self.act:why_held(name),
         heard = self.cluster.last_heard[name], probe = self.cluster:probes()[name],
         tx = component_row(self, tx, now), rx = component_row(self, rx, now) }
   end }
end

-- The verdicts, what the fabric has routed around, and which topology both are of: `taut topology`
-- knows the rest from the file.
local function make_verdict_rows(self)
   local topo = self.site.topo
   local around = json.array {}
   for c, left in pairs(topo.degraded) do
      around[#around + 1] = { component = topo.components[c], left = left }
   end
   local rest = { path = self.site.conf.path, wiring = topo.wiring, routed_around = around,
      learned = self.diagnosis:learned_rows() }
   return { count = #topo.components, rest = rest, row = function(component)
      local state = self.diagnosis:state(component)
      local k = state ~= "unknown" and self.diagnosis:record(component)
      if state ~= "unknown" then
         return { component = topo.components[component], state = state, left = k and k.left,
            loss = k and k.loss and k.loss.share }
      end
      return nil
   end }
end

-- The machine as taut.lua has it, for a host that has no taut.lua.
local function encode_machine(self, running)
   local conf = self.site.conf
   return ('{"ok":true,"data":{"path":%s,"machine":%s}}'):format(json.encode(conf.path),
      tree.encode(conf.machine, function() running:breathe() end))
end

--- @param parts { site, diagnosis, decision, cluster, act, acks }
-- @return name → { admin only, fn(args, who, uid, reply) }
return function(parts)
   local answers = long.new()
   local function answer_rows(name, make)
      return { false, function(_, _, _, reply)
         answers:give(name, function() return make(parts) end, reply)
      end }
   end
   return { links = answer_rows("links", make_link_rows),
      nodes = answer_rows("nodes", make_node_rows),
      topology = answer_rows("verdicts", make_verdict_rows),
      machine = { false, function(_, _, _, reply)
         answers:text("machine", function(running) return encode_machine(parts, running) end, reply)
      end } }
end
