-- SPDX-License-Identifier: GPL-2.0-or-later
--- Trees as they are: levels and routing of an irregular wiring, forwarding tables when given.
local base = require "taut.topology.base"
local graph = require "taut.topology.import.recognise.graph"
local levels = require "taut.topology.import.recognise.levels"
local shape = require "taut.topology.shape"
local tables = require "taut.topology.tables"
local wired = require "taut.topology.wired"

local updown = {}

-- Routers in the order of which links lead up: by level, the highest first, then by number.
local function ranks_of(level)
   local order, rank = {}, {}
   for r = 0, #level do
      order[#order + 1] = r
   end
   table.sort(order, function(one, other)
      if level[one] ~= level[other] then
         return level[one] > level[other]
      end
      return one < other
   end)
   for i, r in ipairs(order) do
      rank[r + 1] = i - 1
   end
   return rank
end

--- Parameters of the engine "updown".
-- @param routing "dmodk", or "ecmp" and "adaptive" for equal shares
-- @param level by router, from 0
-- @param ways by level, product of the ways up below it
-- @param key destination number by endpoint
function updown.params(routing, level, ways, key)
   if routing ~= "dmodk" then
      return { rank = ranks_of(level) }
   end
   local stride = {}
   for r = 0, #level do
      stride[r + 1] = math.min(ways[level[r]], 0xffffffff)
   end
   return { rank = ranks_of(level), stride = stride, key = key }
end

local function neighbours_of(fabric)
   local list = {}
   for r = 0, fabric.routers - 1 do
      list[r] = {}
   end
   for l = 1, fabric.links do
      table.insert(list[fabric.from[l]], fabric.to[l])
   end
   return list
end

-- Links from the nearest of some routers; those that cannot be reached are missing.
local function depth_from(fabric, starts)
   local near, depth, queue, head = neighbours_of(fabric), {}, {}, 1
   for _, r in ipairs(starts) do
      if not depth[r] then
         depth[r] = 0
         queue[#queue + 1] = r
      end
   end
   while queue[head] do
      local r = queue[head]
      head = head + 1
      for _, to in ipairs(near[r]) do
         if not depth[to] then
            depth[to] = depth[r] + 1
            queue[#queue + 1] = to
         end
      end
   end
   return depth
end

-- Levels from the roots downwards: a leaf is as low as the lowest router.
local function levels_from_roots(fabric, wiring, roots)
   local id, starts, deepest = {}, {}, 0
   for i, r in ipairs(wiring.routers) do
      id[r.name] = i - 1
      if r.guid then
         id[r.guid] = i - 1
      end
   end
   for i, name in ipairs(roots) do
      starts[i] = id[name]
      if not starts[i] then
         return nil, ("topology.roots: router '%s' is not in the wiring"):format(tostring(name))
      end
   end
   local depth = depth_from(fabric, starts)
   for _, d in pairs(depth) do
      deepest = math.max(deepest, d)
   end
   local level = {}
   for r = 0, fabric.routers - 1 do
      level[r] = 0
      if depth[r] then
         level[r] = deepest - depth[r]
      end
   end
   return level
end

local function levels_of(fabric, wiring, nodes, conf)
   if conf.roots ~= nil then
      if type(conf.roots) ~= "table" or #conf.roots == 0 then
         return nil, "topology.roots: expected a list of the names of the topmost routers"
      end
      return levels_from_roots(fabric, wiring, conf.roots)
   end
   local given, starts, says_none = {}, {}, true
   for i, r in ipairs(wiring.routers) do
      local l = r.level
      says_none = says_none and l == nil
      if math.type(l) == "integer" and l >= 0 and l < 1024 then
         given[i - 1] = l
      end
   end
   if given[0] and #given == fabric.routers - 1 then
      return given
   end
   -- a few nodes may be on upper switches
   local found = says_none and levels.find(graph.of(wiring))
   if found then
      for r = 1, #wiring.routers do
         given[r - 1] = found.level[r]
      end
      return given
   end
   for k = 1, nodes.rails do
      for i = 1, #nodes.names do
         starts[#starts + 1] = nodes.router[k][i]
      end
   end
   local level = depth_from(fabric, starts)
   for r = 0, fabric.routers - 1 do
      level[r] = level[r] or 0 -- connected to no node
   end
   return level
end

-- How many routers above the routers of a level typically have, multiplied up: the W of d-mod-k.
local function ways_of(fabric, level)
   local parents, top = {}, 0
   local near = neighbours_of(fabric)
   for r = 0, fabric.routers - 1 do
      local seen, n = {}, 0
      for _, to in ipairs(near[r]) do
         if level[to] > level[r] and not seen[to] then
            seen[to], n = true, n + 1
         end
      end
      parents[level[r]] = math.max(parents[level[r]] or 0, n)
      top = math.max(top, level[r])
   end
   local ways = { [0] = 1 }
   for i = 1, top do
      ways[i] = math.min(ways[i - 1] * math.max(1, parents[i - 1] or 1), 0xffffffff)
   end
   return ways
end

-- Destinations are counted router by router.
local function keys_of(fabric, nodes)
   local on, key, next_key = {}, {}, 0
   for r = 0, fabric.routers - 1 do
      on[r] = {}
   end
   for k = 1, nodes.rails do
      for i = 1, #nodes.names do
         local r = nodes.router[k][i]
         key[(k - 1) * #nodes.names + i] = 0
         if r then
            table.insert(on[r], (k - 1) * #nodes.names + i)
         end
      end
   end
   for r = 0, fabric.routers - 1 do
      for _, e in ipairs(on[r]) do
         key[e], next_key = next_key, next_key + 1
      end
   end
   return key
end

-- What is up and what is down is known only when the links are there.
local function name_kinds(fabric, level)
   for l = 1, fabric.links do
      local a, b = level[fabric.from[l]], level[fabric.to[l]]
      fabric.kind[l] = "link"
      if a < b then
         fabric.kind[l] = "uplink"
      elseif a > b then
         fabric.kind[l] = "downlink"
      end
   end
end

--- Build a tree from its wiring.
-- @param class of base.class()
-- @param conf `wiring`; `roots` = names of the topmost routers, where the wiring's levels (or the
--   distance from the nearest node) are not to be used; `nodes`, `rails`, `capacity`, `routing`
-- @return topology, or nil and what was expected
function updown.from_wiring(class, conf)
   local w, err = wired.check(conf.wiring)
   local routing, s, n, level
   if w then
      routing, err = shape.word(conf, "routing", { "dmodk", "ecmp", "adaptive", "tables" },
         wired.usual_routing(w, "dmodk"))
   end
   if routing then
      s, err = wired.shape(w, conf, { kind = function() return "uplink" end })
   end
   if s then
      n, err = wired.nodes(w, conf)
   end
   if n then
      level, err = levels_of(s, w, n, conf)
   end
   if not level then
      return nil, err
   end
   name_kinds(s, level)
   local spec = s:spec(n)
   spec.kind_name = "fattree"
   spec.fields = { level_of = level, is_hashed = routing == "ecmp" }
   spec.label = ("fat tree of %d routers, %d nodes, %s"):format(s.routers, #n.names, routing)
   if routing == "tables" then
      return tables.build(class, spec, s, n, w)
   end
   spec.engine = "updown"
   spec.fields.guessed = conf.routing == nil and routing
   spec.params = updown.params(routing, level, ways_of(s, level), keys_of(s, n))
   return wired.with_health(s, base.new(class, spec))
end

return updown
