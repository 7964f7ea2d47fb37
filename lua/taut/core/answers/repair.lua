-- SPDX-License-Identifier: GPL-2.0-or-later
--- `taut repair`: what a repair of a component is about, and what follows when it is done.
local hostlist = require "taut.hostlist"
local json = require "taut.json"
local loop = require "taut.loop"
local repair = require "taut.policy.repair"
local task = require "taut.base.task"

local function list_names(list, names)
   local out = json.array {}
   for i, n in ipairs(list) do
      out[i] = names[n]
   end
   return out
end

local function compress_nodes(topo, nodes)
   if #nodes == 0 then
      return ""
   end
   return (hostlist.compress(list_names(nodes, topo.nodes)))
end

-- Nodes that we drained because of these components.
local function list_drained_for(self, components)
   local wanted, out = {}, json.array {}
   for _, c in ipairs(components) do
      wanted[self.site.topo.components[c]] = true
   end
   for name, x in pairs(self.act:standing()) do
      if wanted[x.component] then
         out[#out + 1] = name
      end
   end
   table.sort(out)
   return out
end

local function describe_repair(self, component)
   local topo, p, now = self.site.topo, repair.parts(self.site.topo, component), loop.time()
   local k = self.diagnosis:record(component) or {}
   local modules = json.array {}
   for i, m in ipairs(p.modules) do
      modules[i] = { name = m.name, routers = list_names(m.routers, topo.router_name),
         nodes = list_names(m.nodes, topo.nodes), list = compress_nodes(topo, m.nodes) }
   end
   return { component = topo.components[component], state = self.diagnosis:state(component),
      left = k.left, loss = k.loss and k.loss.share,
      since = k.since, remark = self.diagnosis:remark(component, now),
      action = self.decision.measures[component], is_link = topo:is_link(component),
      class = topo:class(component), kind = topo:kind(component), cable = topo:cable(component),
      place = topo:place(component), ports = list_names(p.components, topo.components),
      modules = modules, behind = list_names(p.behind, topo.nodes),
      behind_list = compress_nodes(topo, p.behind), evidence = self.events:evidence_of(component),
      drained = list_drained_for(self, p.components), now = now }
end

-- Nodes whose drains count no more: their own tx or rx was repaired, or they were drained for it.
local function list_forgiven(self, components)
   local list, seen, wanted = {}, {}, {}
   for _, c in ipairs(components) do
      wanted[self.site.topo.components[c]] = true
      local n = self.site.topo:node_of(c)
      if n and not seen[self.site.topo.nodes[n]] then
         seen[self.site.topo.nodes[n]] = true
         list[#list + 1] = self.site.topo.nodes[n]
      end
   end
   for _, x in ipairs(self.act:lately()) do
      if wanted[x.component] and not seen[x.node] then
         seen[x.node] = true
         list[#list + 1] = x.node
      end
   end
   return list
end

-- Give nodes back; fn(released, failed) when slurmctld has answered for all, or did not in time.
local function release_all(self, names, who, fn)
   local released, failed, left = json.array {}, json.array {}, #names
   if left == 0 then
      return fn(released, failed)
   end
   for _, name in ipairs(names) do
      self.act:release(name, who, function(ok, err)
         if ok then
            released[#released + 1] = name
         else
            failed[#failed + 1] = err
         end
         left = left - 1
         if left == 0 then
            fn(released, failed)
         end
      end)
   end
end

local function finish_repair(self, component, args, who, reply)
   local p = repair.parts(self.site.topo, component)
   local list = { p.components }
   for _, m in ipairs(args.module and p.modules or {}) do
      list[#list + 1] = repair.module_components(self.site.topo, m)
   end
   local components = repair.union(list)
   local drained = list_drained_for(self, components)
   self.findings:repaired(components)
   self.acks:over(list_names(components, self.site.topo.components), self.journal)
   self.act:repaired(list_forgiven(self, components), self.site.topo.components[component], who)
   release_all(self, args.release and drained or {}, who, function(released, failed)
      reply { component = self.site.topo.components[component], forgotten = list_names(components,
         self.site.topo.components), drained = list_drained_for(self, components),
         released = released, failed = failed, probation_h = self.site.conf.policy.probation_h }
   end)
end

local function state_row(self, component)
   local k = self.diagnosis:record(component) or {}
   return { component = self.site.topo.components[component],
      state = self.diagnosis:state(component), left = k.left, loss = k.loss and k.loss.share,
      cable = self.site.topo:cable(component) }
end

-- What is not well at a router: links, and sets of which it is not known which link it is.
local function describe_router(self, router)
   local topo, links, sets = self.site.topo, json.array {}, json.array {}
   for c = topo.first_link, #topo.components do
      local state = self.diagnosis:state(c)
      if (topo:from(c) == router or topo:to(c) == router) and state ~= "ok"
         and state ~= "unknown" then
         links[#links + 1] = state_row(self, c)
      end
   end
   for _, v in ipairs(self.diagnosis:set_verdicts()) do
      local cables, is_here = json.array {}, false
      for i, c in ipairs(v.members) do
         is_here = is_here or topo:from(c) == router or topo:to(c) == router
         cables[i] = topo:cable(c)
      end
      sets[#sets + 1] = is_here and { text = (self.diagnosis:set_words(v)), left = v.left,
         since = v.since, state = v.state, cables = cables,
         adaptive = topo:adapts(v.members[1]) or nil } or nil
   end
   return { router = topo.router_name[router], links = links, sets = sets,
      asked = topo.asked_at ~= nil, now = loop.time() }
end

-- On a large machine many links are looked at: in turns with what else tautd does.
local function run_in_turns(reply, fn)
   task.start(function() reply.guard(fn) end, error)
end

-- args: component, done, module, release
local function answer_repair(self, args, who, uid, reply)
   local name = tostring(args.component)
   local c = self.site.topo.component_id[name] or self.site.topo.node_id[name]
      and self.site.topo:ports(self.site.topo.node_id[name])[1]
   local r = self.site.topo.router_id[name]
   if not c and r and not args.done then
      return run_in_turns(reply, function() reply(describe_router(self, r)) end)
   elseif not c then
      return reply(nil, ("'%s' is not a component, node or router (r1.0.0/X+, n5/tx, n5, " ..
         "leaf1 …)%s"):format(name, r and "; name the link that was repaired" or ""))
   elseif not args.done then
      return run_in_turns(reply, function() reply(describe_repair(self, c)) end)
   elseif not self.cluster:is_admin(uid) then
      return reply(nil, ("only %s may do this, you are %s"):format(
         self.cluster:who_administers(), who))
   end
   finish_repair(self, c, args, who, reply)
end

--- @param parts { site, diagnosis, decision, findings, act, cluster, events, acks, journal }
-- @return name → { admin only, fn(args, who, uid, reply) }
return function(parts)
   return {
      repair = { false, function(args, who, uid, reply)
         answer_repair(parts, args, who, uid, reply)
      end },
   }
end
