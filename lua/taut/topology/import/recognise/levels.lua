-- SPDX-License-Identifier: GPL-2.0-or-later
--- Is it a fat tree: leaves with nodes, levels of switches above them, links between levels only?
--
-- Levels count from the leaves (0).  Real trees have a few nodes on upper switches (storage,
-- gateways) and a few links across.  So the set of leaves is the one that leaves least unexplained:
-- switches with more nodes than t, for each t that makes a difference.
local tables = require "taut.base.tables"
local graph = require "taut.topology.import.recognise.graph"

local levels = {}

local function levels_from(fabric, more_than)
   local level, queue, first = {}, {}, 1
   for r = 1, fabric.routers do
      if fabric.hosts[r] > more_than then
         level[r] = 0
         queue[#queue + 1] = r
      end
   end
   while queue[first] do
      local r = queue[first]
      first = first + 1
      for _, s in ipairs(fabric.near[r]) do
         if not level[s] then
            level[s] = level[r] + 1
            queue[#queue + 1] = s
         end
      end
   end
   return level
end

-- A top level that nothing needs, since all below it hangs together without it, is no level: its
-- switches are leaves without nodes.
local function lower_empty_top(fabric, level)
   local top = 0
   for r = 1, fabric.routers do
      if not level[r] then
         return
      end
      top = math.max(top, level[r])
   end
   if top < 2 then
      return
   end
   local part = graph.parts(fabric, function(edge)
      return level[edge.a] < top and level[edge.b] < top
   end)
   local first
   for r = 1, fabric.routers do
      if level[r] < top then
         first = first or part[r]
         if part[r] ~= first then
            return
         end
      end
   end
   for r = 1, fabric.routers do
      if level[r] == top then
         level[r] = top - 2
      end
   end
end

-- Does a link join two levels that follow each other?
local function does_fit(level, edge)
   return math.abs(level[edge.a] - level[edge.b]) == 1
end

-- What a choice of leaves does not explain: links inside of a level or past one, and nodes above
-- the leaves.
local function unexplained(fabric, level)
   local links, hosts, top = 0, 0, 0
   for _, e in ipairs(fabric.edges) do
      if level[e.a] and level[e.b] and not does_fit(level, e) then
         links = links + e.cables
      end
   end
   for r = 1, fabric.routers do
      if not level[r] then
         return nil
      end
      top = math.max(top, level[r])
      if level[r] > 0 then
         hosts = hosts + fabric.hosts[r]
      end
   end
   return links, hosts, top
end

-- Levels as the file itself gives them (Slurm's trees).
local function given_levels(fabric)
   local level = {}
   for r, router in ipairs(fabric.wiring.routers) do
      level[r] = router.level
      if not level[r] then
         return nil
      end
   end
   local links, hosts, top = unexplained(fabric, level)
   return { level = level, links = links, hosts = hosts, top = top, score = 0 }
end

local function best_levels(fabric, cables)
   local tried, count, best = {}, 0, nil
   for r = 0, fabric.routers do
      local t = 0
      if r > 0 then
         t = fabric.hosts[r] or 0
      end
      if not tried[t] and count < 64 then
         tried[t], count = true, count + 1
         local level = levels_from(fabric, t)
         lower_empty_top(fabric, level)
         local links, hosts, top = unexplained(fabric, level)
         if links and top > 0 then
            local score = links / cables + hosts / math.max(1, #fabric.wiring.nodes)
            if not best or score < best.score then
               best = { level = level, links = links, hosts = hosts, top = top, score = score }
            end
         end
      end
   end
   return best
end

-- Links up of each switch of a level, and how many switches they reach.
local function describe_tree(fabric, level, top)
   local counts, up, spread = {}, {}, {}
   for l = 0, top do
      counts[l + 1], up[l + 1], spread[l + 1] = 0, {}, {}
   end
   for r = 1, fabric.routers do
      local l, cables, reached = level[r], 0, 0
      for _, s in ipairs(fabric.near[r]) do
         if level[s] == l + 1 then
            cables, reached = cables + fabric.edge[r][s].cables, reached + 1
         end
      end
      counts[l + 1] = counts[l + 1] + 1
      table.insert(up[l + 1], cables)
      table.insert(spread[l + 1], reached)
   end
   return counts, up, spread
end

local function say_misfits(fabric, best, misfits)
   local routers = fabric.wiring.routers
   for _, e in ipairs(fabric.edges) do
      local a, b = best.level[e.a], best.level[e.b]
      if a == b then
         misfits.add("%s and %s are joined inside of level %d", routers[e.a].name,
            routers[e.b].name, a)
      elseif not does_fit(best.level, e) then
         misfits.add("%s on level %d and %s on level %d are joined past the levels between",
            routers[e.a].name, a, routers[e.b].name, b)
      end
   end
   for r = 1, fabric.routers do
      if best.level[r] > 0 and fabric.hosts[r] > 0 then
         misfits.add("%s is on level %d and has %d nodes", routers[r].name, best.level[r],
            fabric.hosts[r])
      end
   end
end

local function say_uneven(what, lengths, list, misfits)
   local usual = graph.mode(list)
   local least, most = graph.range(list)
   if least ~= most then
      local odd = tables.count(list, function(value) return value ~= usual end)
      misfits.add("%d of %d switches of level %d have other than %d %s (%d to %d)", odd, #list,
         lengths, usual, what, least, most)
   end
   return least == most
end

--- Look.
-- @param fabric graph
-- @return what was found, or nil
function levels.find(fabric)
   local cables = #fabric.wiring.cables
   if fabric.routers == 1 then
      return { kind = "fattree", levels = { 1 }, level = { 0 }, top = 0, regular = true,
         nodes_per_leaf = { fabric.hosts[1], fabric.hosts[1] }, misfits = {} }
   end
   local best = cables > 0 and (given_levels(fabric) or best_levels(fabric, cables))
   if not best or best.links > 0.25 * cables or best.hosts > 0.25 * #fabric.wiring.nodes then
      return nil
   end
   local misfits = graph.misfits()
   say_misfits(fabric, best, misfits)
   local counts, up, spread = describe_tree(fabric, best.level, best.top)
   local hosts = {}
   for r = 1, fabric.routers do
      if best.level[r] == 0 then
         hosts[#hosts + 1] = fabric.hosts[r]
      end
   end
   say_uneven("nodes", 0, hosts, misfits)
   for l = 0, best.top - 1 do
      say_uneven("links up", l, up[l + 1], misfits)
      say_uneven("switches above", l, spread[l + 1], misfits)
   end
   local least, most = graph.range(hosts)
   return { kind = "fattree", levels = counts, level = best.level, top = best.top,
      regular = misfits.count() == 0, nodes_per_leaf = { least, most },
      uplinks = { graph.range(up[1]) }, misfits = misfits.list() }
end

return levels
