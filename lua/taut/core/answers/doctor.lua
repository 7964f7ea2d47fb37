-- SPDX-License-Identifier: GPL-2.0-or-later
--- `taut doctor`: what tautd knows of its surroundings, as plain facts.  What is wrong with them,
-- and what mends it, is in lua/taut/cli/doctor/.
local attackers = require "taut.core.answers.attackers"
local hostlist = require "taut.hostlist"
local json = require "taut.json"
local loop = require "taut.loop"
local swept = require "taut.topology.seen.swept"
local sys = require "taut.sys"
local tables = require "taut.base.tables"
local wire = require "taut.wire"

local DAY = 86400
local LISTED = 20      -- of what there may be thousands of
local CLOCK_S = 2      -- clocks that differ less are left out

-- Many names: how many, and the first of them.
local function name_some(names)
   local first = table.move(names, 1, LISTED, 1, {})
   return { count = #names, list = #first > 0 and hostlist.compress(first) or "" }
end

---------------------------------------------------------------- nodes

-- Nodes that cannot use an interface where the topology has a rail, and the first of these.
local function describe_lost_rails(parts)
   local list = parts.lost_rails:list(parts.site.topo)
   local out = name_some(tables.map(list, function(lost) return lost.node end))
   local first = list[1] and list[1].rails[1]
   out.rail, out.interface = first and first.rail, first and first.interface
   return out
end

-- What is not as it should be with a node: the list that it belongs to, or nil.
local function find_what_lacks(parts, name, is_usable)
   local cl, topo = parts.cluster, parts.site.topo
   if topo.away[topo.node_id[name]] then
      return "away"
   elseif not cl.nodes[name] then
      return "not_in_slurm"
   elseif is_usable and not cl.last_heard[name] then
      return "never"
   elseif is_usable and not cl.last_heard_for.job[name] then
      return "no_job"
   end
   return nil
end

-- Nodes of the topology by what was heard of them; Slurm's that it does not have.
local function describe_nodes(parts)
   local cl, topo = parts.cluster, parts.site.topo
   local lists = { never = {}, no_job = {}, no_idle = {}, not_in_slurm = {}, not_in_topology = {},
      lacks_rails = {}, away = {} }
   local usable = 0
   for _, name in ipairs(topo.nodes) do
      local is_usable = cl:is_up(name)
      if is_usable then
         usable = usable + 1
      end
      local which = find_what_lacks(parts, name, is_usable)
      if which then
         table.insert(lists[which], name)
      end
      if is_usable and not cl.last_heard_for.idle[name] then
         table.insert(lists.no_idle, name)
      end
   end
   for _, name in ipairs(cl.order or {}) do
      if not topo.node_id[name] then
         table.insert(lists.not_in_topology, name)
      end
   end
   for i, m in ipairs(topo.missing_rails) do
      local before = topo.missing_rails[i - 1]
      if not before or before.node ~= m.node then
         table.insert(lists.lacks_rails, topo.nodes[m.node])
      end
   end
   local out = { all = #topo.nodes, usable = usable, silent = name_some(cl:silent()),
      lost_rails = describe_lost_rails(parts),
      no_results = name_some(tables.map(attackers.mute(parts), function(row) return row.node end)) }
   for which, list in pairs(lists) do
      out[which] = name_some(list)
   end
   return out
end

-- Probes by release and protocol, the most nodes first.
local function describe_probes(parts)
   local groups, list = {}, json.array {}
   for name, p in pairs(parts.cluster:probes()) do
      local key = ("%s %d %s"):format(p.release, p.protocol, p.refused)
      if not groups[key] then
         groups[key] = { release = p.release, protocol = p.protocol, refused = p.refused,
            names = {} }
         list[#list + 1] = groups[key]
      end
      table.insert(groups[key].names, name)
   end
   for _, g in ipairs(list) do
      table.sort(g.names)
      g.nodes, g.names = name_some(g.names), nil
   end
   table.sort(list, function(first, second)
      if first.nodes.count ~= second.nodes.count then
         return first.nodes.count > second.nodes.count
      end
      return first.nodes.list < second.nodes.list
   end)
   return { protocols = { oldest = wire.OLDEST, newest = wire.VERSION }, list = list }
end

local function describe_clocks(parts)
   local list = json.array {}
   for name, s in pairs(parts.cluster.behind_s) do
      if math.abs(s) > CLOCK_S then
         list[#list + 1] = { node = name, behind_s = s }
      end
   end
   table.sort(list, function(first, second)
      return math.abs(first.behind_s) > math.abs(second.behind_s)
   end)
   return { known = tables.size(parts.cluster.behind_s), off = json.array(table.move(list, 1,
      math.min(LISTED, #list), 1, {})), count = #list }
end

-- Where a port below 1024 does not tell of root, while tautd takes it to.
local function describe_ports(parts)
   local names = tables.keys(parts.cluster:user_ports())
   return { trusted = parts.site.conf.node_ports == "root", here = wire.user_port(),
      nodes = name_some(names) }
end

---------------------------------------------------------------- the rest

local function describe_slurm(parts)
   local c = parts.cluster.config or {}
   return { error = parts.cluster.error, known = parts.cluster.config ~= nil,
      version = c.slurm_version, alps = parts.cluster:alps(), hint = parts.cluster.hint,
      standby = parts.cluster.standby, prolog_flags = json.array(c.prolog_flags or {}),
      health_check = { program = c.health_check_program, interval_s = c.health_check_interval_s,
         states = json.array(c.health_check_states or {}) } }
end

local function describe_database(parts)
   local path, is_server = parts.site.conf.database, parts.site.conf.store ~= nil
   local file, state = nil, parts.journal:state()
   if is_server then
      path = path:match "^(.*)/[^/]*$" or path
   else
      file = sys.stat(path)
   end
   return { path = path, is_server = is_server or nil, mode = file and file.mode,
      bytes = file and file.size, free = sys.space(path),
      error = state.error, waiting = state.waiting, lost = state.lost, away = state.away,
      queued = state.queued, damage = parts.housekeeping:state().damage }
end

local function describe_daemon(parts)
   local stopped, capped = parts.act:stops()
   return { version = sys.version, since = parts.started_at, mode = parts.act:mode(),
      checks = parts.switches:checks(), stopped = stopped and stopped.why,
      capped = next(capped) ~= nil, brakes = parts.switches:trouble(),
      config = parts.site.conf.path, acting = parts.acting:state(), config_error = parts.site.error,
      munge_error = parts.munged:error(), hints = json.array(parts.site.conf.hints),
      metrics_error = parts.metrics.error, on_event = parts.teller:state() }
end

local function describe_refused(parts)
   return { count = parts.refusals.count, kinds = json.array(parts.refusals:list_kinds()) }
end

local function describe_tests(parts, rows)
   local c = parts.judgement.classes
   return { good = c.good, low = c.low, void = c.void, hours = 24, discarded = rows }
end

local function describe_traces(parts)
   local t = parts.judgement.traces
   return { asked = parts.site.topo.asked_at ~= nil, answers = t.answers, unknown = t.unknown,
      elsewhere = t.elsewhere, torn = t.torn, odd = json.array(t.odd) }
end

-- Links that are tested in sets only, and those that an address is missing of.
local function describe_sets(parts)
   local rows, _, links, unnamed = parts.diagnosis:sets_in_place_of_links()
   local names, topo, first, chosen = {}, parts.site.topo, nil, 0
   for i, c in ipairs(unnamed) do
      names[i] = topo.components[c]
   end
   for _, row in ipairs(rows) do
      local adapts = topo:adapts(row.members[1])
      if adapts then
         chosen = chosen + 1
      end
      first = first or not adapts and row.name
   end
   return { count = #rows, links = links, adaptive = chosen,
      first = first or rows[1] and rows[1].name, unnamed = name_some(names) }
end

local function describe_sweep(parts, rows, err)
   if not rows then
      return { error = err }
   end
   local d = swept.compare(parts.site.topo, rows)
   return { cables = d.cables, differ = json.array(table.move(d.differ, 1, math.min(LISTED,
      #d.differ), 1, {})), count = #d.differ, moved = name_some(d.moved),
      hosts_unknown = name_some(d.hosts_unknown) }
end

-- The last sweep's links, where tautd sweeps: fn(rows, why not).
local function ask_sweep(parts, fn)
   local f = parts.followers.fabric
   if not f then
      return fn(nil)
   end
   f:answer("links", {}, function(data, err)
      fn(data and data.links, err or "no sweep yet")
   end)
end

local function answer_doctor(parts, reply)
   local now = loop.time()
   parts.journal:flush()
   parts.journal:query("discarded", { since = now - DAY }, function(discarded)
      ask_sweep(parts, function(rows, err)
         reply.guard(function()
            reply { now = now, nodes = describe_nodes(parts), clocks = describe_clocks(parts),
               probes = describe_probes(parts), ports = describe_ports(parts),
               floods = attackers.floods(parts), claims = attackers.claims(parts),
               endpoints = attackers.endpoints(parts), slurm = describe_slurm(parts),
               database = describe_database(parts), daemon = describe_daemon(parts),
               refused = describe_refused(parts),
               tests = describe_tests(parts, discarded or json.array {}),
               traces = describe_traces(parts), sets = describe_sets(parts),
               transports = parts.rendezvous.transports,
               sweep = parts.followers.fabric and describe_sweep(parts, rows, err) or nil }
         end)
      end)
   end)
end

--- @param parts { site, diagnosis, cluster, journal, judgement, rendezvous, refusals, act,
--   switches, metrics, teller, followers, acting, addresses, networks, no_results, lost_rails,
--   started_at }
-- @return name → { admin only, fn(args, who, uid, reply) }
return function(parts)
   return { doctor = { false, function(_, _, _, reply) answer_doctor(parts, reply) end } }
end
