-- SPDX-License-Identifier: GPL-2.0-or-later
--- Repairs in the order of their benefit: nodes that can run jobs again, and time saved by traffic.
--
-- The traffic is one that prefers no link: every node exchanges with another one, drawn at random.
-- What a repair saves of it is counted as node-hours a day, as a node is that comes back.  A slow
-- node that runs jobs is as much of a node as its port has left.
--
-- Two slow links of one way hide each other: repairing either brings nothing, both bring much.  So
-- each repair has what it brings alone, and what the list up to it brings.
local jobs = require "taut.study.jobs"
local json = require "taut.json"
local load = require "taut.study.load"
local machine = require "taut.study.machine"
local pattern = require "taut.place.pattern"
local repair = require "taut.study.repair"
local tables = require "taut.base.tables"
local time = require "taut.study.time"
local verdicts = require "taut.report.verdicts"

local mend = {}

-- Only what the links between routers cost: what nodes inject is the same before and after.
local COSTS = { flops = time.usual.flops, message_s = 0, b = 1, inject = math.huge }

local MOST = 24 -- cables that are compared: each is tried after each
local HOURS = 24

-- The cable or the node that a component is of, as a key and in words.
local function component_to_mend(topo, component)
   local n = topo:node_of(component)
   if n then
      return "node " .. topo.nodes[n], topo.nodes[n]
   end
   local back = topo:opposite(component)
   return "link " .. math.min(component, back or component), topo.components[component]
end

-- Things to repair: map key → { what, components, left }.
local function things_to_mend(topo, cases)
   local list, by_key = {}, {}
   for _, case in ipairs(cases) do
      local c = topo.component_id[case.component]
      if c and verdicts.is_verdict(case.state) then
         local key, what = component_to_mend(topo, c)
         if not by_key[key] then
            by_key[key] = { what = what, cable = case.cable, is_link = topo:is_link(c),
               components = json.array {}, nodes = 0, left = 1, c = c }
            list[#list + 1] = by_key[key]
         end
         local t, left = by_key[key], case.left or 1
         if case.state == "failed" then
            left = 0
         end
         t.components[#t.components + 1] = case.component
         t.left = math.min(t.left, left)
      end
   end
   return list
end

-- Nodes that are drained for each.
local function add_drained(list, drained)
   local of = {}
   for _, t in ipairs(list) do
      for _, name in ipairs(t.components) do
         of[name] = t
      end
   end
   for _, d in ipairs(drained) do
      local t = of[d.component or ""]
      if t then
         t.nodes = t.nodes + 1
      end
   end
end

-- map component → { own = share of the traffic's time that its repair takes away after those before
-- it, alone = the same without them, order = which one it is }
local function gains_of_repairs(topo, list)
   local left, n = {}, 0
   for _, t in ipairs(list) do
      if t.is_link and n < MOST then
         n = n + 1
         for _, name in ipairs(t.components) do
            left[topo.component_id[name]] = t.left
         end
      end
   end
   if n == 0 or #topo.nodes < 2 then
      return {}
   end
   local m, err = machine.new(topo)
   local order, phases, M
   if m then
      M, err = pattern.motif "random-pairs"
   end
   if M then
      local nodes = {}
      for i = 1, #topo.nodes do
         nodes[i] = i
      end
      phases, err = load.of(m, M, { jobs.on(m, nodes, 1) }, 1)
   end
   if phases then
      order, err = repair.order(m, { { phases = phases, nodes = #topo.nodes } }, left, COSTS)
   end
   local out, before = {}, 0
   for i, step in ipairs(tables.or_empty(order).steps or {}) do
      out[step.component] = { own = step.gain - before, alone = step.alone, order = i }
      out[step.back or 0], before = out[step.component], step.gain
   end
   return out, err
end

-- The same of several fabrics: each has traffic of its own, and its repairs stay in their order; of
-- two fabrics' next ones the one that brings more comes first.
local function gains_of_fabrics(topo, list)
   local queues, out, count, why = {}, {}, 0, nil
   for _, f in ipairs(topo.fabrics) do
      local gain, err = gains_of_repairs(f.topo, tables.filter(list, function(thing)
         return thing.is_link and topo:fabric_of(thing.c) == f
      end))
      local queue, share = {}, #f.topo.nodes / #topo.nodes
      why = why or err
      for c, g in pairs(gain) do
         if c > 0 then
            out[topo:of_part(f, c)] = g
            queue[g.order] = g
         end
      end
      for _, g in ipairs(queue) do
         g.own, g.alone = g.own * share, g.alone * share
      end
      if #queue > 0 then
         queues[#queues + 1] = queue
      end
   end
   while #queues > 0 do
      table.sort(queues, function(one, other) return one[1].own > other[1].own end)
      count = count + 1
      table.remove(queues[1], 1).order = count
      if #queues[1] == 0 then
         table.remove(queues, 1)
      end
   end
   return out, why
end

-- Node-hours a day of each: after those before it, and alone.
local function add_hours(list, gain, nodes)
   for _, t in ipairs(list) do
      local of = tables.or_empty(t.is_link and gain[t.c])
      local back = t.nodes
      if not t.is_link and t.nodes == 0 then
         back = 1 - t.left -- it runs jobs, slowly
      end
      t.gain, t.order = of.own, of.order
      t.hours = HOURS * (back + math.max(0, of.own or 0) * nodes)
      t.alone_hours = HOURS * (back + math.max(0, of.alone or 0) * nodes)
   end
end

-- What the first k of them bring on average, at best over k: a repair that brings nothing by itself
-- stands as high as those that it makes worth while.
local function best_worth(queue, from)
   local best, sum = 0, 0
   for i = from, #queue do
      sum = sum + queue[i].hours
      best = math.max(best, sum / (i - from + 1))
   end
   return best
end

-- Links that were compared stay in their order; the others are put between them.
local function merge_by_gain(list)
   local links, others, out = {}, {}, {}
   for _, t in ipairs(list) do
      if t.order then
         links[#links + 1] = t
      else
         others[#others + 1] = t
      end
   end
   table.sort(links, function(one, other) return one.order < other.order end)
   table.sort(others, function(one, other)
      return one.hours > other.hours or one.hours == other.hours and one.what < other.what
   end)
   local i, k = 1, 1
   while links[i] or others[k] do
      if links[i] and (not others[k] or best_worth(links, i) >= others[k].hours) then
         out[#out + 1], i = links[i], i + 1
      else
         out[#out + 1], k = others[k], k + 1
      end
   end
   return out
end

--- @param topo topology; what it knows of failed links is not the same afterwards
-- @param cases rows of the request `cases`
-- @param drained of `taut status`
-- @return array of { what, cable, components, left, nodes = that come back, gain = share of the
--   traffic's time or nil, hours = node-hours a day after the repairs before it, alone_hours =
--   without them, together_hours = of the list up to it }, the one that brings most first; and why
--   there is no gain of traffic, where there is none
function mend.order(topo, cases, drained)
   local list = things_to_mend(topo, cases)
   add_drained(list, drained)
   local gains_of = gains_of_repairs
   if topo.fabrics then
      gains_of = gains_of_fabrics
   end
   local gain, err = gains_of(topo, list)
   add_hours(list, gain, #topo.nodes)
   list = merge_by_gain(list)
   local sum = 0
   for _, t in ipairs(list) do
      sum = sum + t.hours
      t.together_hours, t.order, t.c = sum, nil, nil
   end
   return list, err
end

return mend
