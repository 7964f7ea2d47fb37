-- SPDX-License-Identifier: GPL-2.0-or-later
--- Tests on demand: `taut verify`, where a survey could start now, and who ends one; checks on and
-- off.
local tables = require "taut.base.tables"
local hostlist = require "taut.hostlist"
local json = require "taut.json"
local loop = require "taut.loop"
local rights = require "taut.base.rights"
local sys = require "taut.sys"
local task = require "taut.base.task"

-- The set that a link is one of where no test tells its links apart, and the router with nodes at
-- which it is measured; or nil.
local function find_set(self, component)
   local topo = self.site.topo
   local rows, links = self.diagnosis:sets_in_place_of_links()
   for _, row in ipairs(links[component] and rows or {}) do
      if tables.has(row.members, component) then
         local r = #topo:on_router(topo:from(component)) > 0 and topo:from(component)
            or topo:to(component)
         return row.name, topo.router_name[r]
      end
   end
   return nil
end

-- Mark a component for the next idle cycle, or look how far it is.  Of a router's name that it is
-- one: all its links are tested by a survey, as are the sets of which a link is one.
local function verify_component(self, args, who, reply)
   local name, now = tostring(args.component), loop.time()
   local c, mark, why = self.site.topo.component_id[name]
   if not c and self.site.topo.router_id[name] then
      return reply { router = name }
   elseif not c or not self.site.topo:is_there(c) then
      return reply(nil, (self.site.topo.node_id[name] and "'%s' is a node: say %s/tx or %s/rx"
         or "component '%s' is not in the topology"):format(name, name, name))
   end
   local set, router = find_set(self, c)
   if set then
      return reply { component = name, set = set, router = router }
   elseif args.look then
      mark, why = self.marks:get(c, now), "it is not marked"
   elseif not self.switches:are_checks_on() then
      why = "checks are off"
   else
      mark, why = self.marks:add(c, who, now)
      self.journal:add("setting", { name = "marks", value = self.marks:pack(self.site.topo) })
   end
   if not mark then
      return reply(nil, ("%s: %s"):format(name, why))
   end
   local names = tables.map(args.now and self.agenda:verify_nodes(c) or {}, function(node)
      return self.site.topo.nodes[node]
   end)
   reply { component = name, state = self.diagnosis:state(c), marked_at = mark.at,
      marked_by = mark.who, good = mark.good, low = mark.low, void = mark.void,
      best_Bps = mark.best, capacity_Bps = self.diagnosis:capacity(c), done = mark.done_at ~= nil,
      nodes = #names > 0 and hostlist.compress(names) or "", count = #names,
      slurm_user = self.cluster.config and self.cluster.config.slurm_user,
      spells = self.site.conf.diagnosis and self.site.conf.diagnosis.slow_spells,
      spell_s = self.site.conf.diagnosis and self.site.conf.diagnosis.spell_s }
end

-- May this user have all idle nodes for a survey?
local function may_have_all_idle(self, uid)
   local who = self.site.conf.survey.all
   if who == "everybody" or self.cluster:is_admin(uid) then
      return true
   end
   return type(who) == "table" and tables.has(who, sys.user_name(rights.user(uid)))
end

local MINUTES = 10   -- that a survey has besides what it measures
local PHASES = 8     -- that a pair of nodes may have to wait for others, of a matrix

-- Minutes that its job may take: a limit that is too long never begins before a reservation does.
local function estimate_minutes(self, args, count, most)
   local needed = MINUTES + count // 500
   if args.kind == "matrix" then
      local ms = math.tointeger(args.ms) or self.site.conf.survey.matrix_ms
      needed = MINUTES + math.ceil(PHASES * count * (self.site.topo.rails or 1) * ms / 60000)
   end
   return math.min(needed, most or needed)
end

-- In which partition it is: one that has all its nodes.  Where none has, which there are.
local function place_survey(self, args, list, found)
   local list_of = self.cluster:partitions_of(list)
   local best = list_of[1]
   for _, p in ipairs(list_of) do
      if p.name == args.partition then
         best = p
      end
   end
   found.minutes = estimate_minutes(self, args, #list, best and best.max_minutes)
   if args.partition or not best then
      return found
   elseif best.count == #list then
      if not best.default then
         found.partition = best.name
      end
   else
      found.split = json.array(tables.map(list_of, function(partition)
         return { partition = partition.name, count = partition.count }
      end))
   end
   return found
end

-- The nodes that are asked about: of a router those that can test its links.
local function list_candidates(self, args)
   local topo, names = self.site.topo, self.site.topo.nodes
   if args.router then
      local r = topo.router_id[args.router]
      if not r then
         return nil, ("router '%s' is not in the topology"):format(tostring(args.router))
      end
      names = tables.map(self.agenda:router_nodes(r), function(node) return topo.nodes[node] end)
   end
   names = tables.filter(names, function(name) return not topo.away[topo.node_id[name]] end)
   if not args.partition then
      return names
   elseif not self.cluster.partitions[args.partition] then
      return nil, ("there is no partition '%s'"):format(tostring(args.partition))
   end
   local wanted = tables.set(self.cluster.partitions[args.partition])
   return tables.filter(names, function(name) return wanted[name] end)
end

-- Nodes of the topology on which a survey could start now.
local function answer_idle_nodes(self, args, reply)
   local names, err = list_candidates(self, args)
   local list, left
   if names then
      list, left = self.cluster:survey_room(names, args.reservation, task.breathe)
      err = left
   end
   if not list then
      return reply(nil, err)
   end
   reply(place_survey(self, args, list, { nodes = #list > 0 and hostlist.compress(list) or "",
      count = #list, left_out = json.array(tables.map(left, function(left_out)
         return { why = left_out.why, nodes = hostlist.compress(left_out.nodes),
            count = #left_out.nodes }
      end)) }))
end

local function set_checks(self, value)
   self.switches:set_checks(value)
   sys.log("notice", "checks are " .. value)
   if value == "off" then
      self.surveys:stop({ why = "checks were switched off" }, 0)
   end
   return { switch = value }
end

-- fn(…) after Slurm was asked.
local function call_refreshed(self, reply, fn, ...)
   local args = table.pack(...)
   self.cluster:fresh(0, function() reply.guard(fn, table.unpack(args, 1, args.n)) end)
end

--- @param parts { site, switches, diagnosis, cluster, journal, marks, agenda, surveys }
-- @return name → { admin only, fn(args, who, uid, reply) }
return function(parts)
   return {
      verify = { true, function(args, who, _, reply)
         if args.now then
            return call_refreshed(parts, reply, verify_component, parts, args, who, reply)
         end
         verify_component(parts, args, who, reply)
      end },
      idle_nodes = { false, function(args, _, uid, reply)
         if not may_have_all_idle(parts, uid) then
            return reply(nil, "only administrators, and who is named in survey.all of " ..
               "taut.lua(5), may have all idle nodes for a survey")
         end
         parts.cluster:fresh(0, function()
            task.start(function() reply.guard(answer_idle_nodes, parts, args, reply) end, error)
         end)
      end },
      stop_survey = { false, function(args, _, uid, reply)
         reply { stopped = parts.surveys:stop({ tag = args.tag, job = args.job }, uid) }
      end },
      off = { true, function(_, _, _, reply) reply(set_checks(parts, "off")) end },
      on = { true, function(_, _, _, reply) reply(set_checks(parts, "on")) end },
   }
end
