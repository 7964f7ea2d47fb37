-- SPDX-License-Identifier: GPL-2.0-or-later
--- Fat tree of any depth, oversubscribed or not, with parallel cables and several rails.
--
-- A regular one is given by what its levels have: `nodes_per_leaf`, and from the leaves upwards
-- `levels = { { down =, up =, parallel = }, … }`: how many routers below each router of the level
-- has, how many routers of the level each of those below reaches, by how many cables each (the
-- parallel-ports generalised tree of E. Zahavi, "D-Mod-K routing", 2010).  Routers are leafN,
-- midN, spineN; ports are numbered from 1, downward ones first; upward port k leads to parent
-- (k-1) mod up.
-- An irregular one is given by its `wiring`, see wired.lua.
local tables = require "taut.base.tables"
local base = require "taut.topology.base"
local shape = require "taut.topology.shape"
local updown = require "taut.topology.updown"

local fattree = {}
local FatTree = base.class()

local RAIL_WIRING = { "planes", "leaves", "leaf" }

local function check_levels(conf)
   local levels = conf.levels
   if type(levels) ~= "table" or #levels > 6 then
      return nil, "topology.levels: expected a list of at most 6 levels above the leaves, such as "
         .. "{ { down = 96, up = 4, parallel = 3 } }"
   end
   for i, l in ipairs(levels) do
      for _, name in ipairs { "down", "up", "parallel" } do
         local v = type(l) == "table" and l[name]
         if v == nil and name == "parallel" then
            v = 1
         end
         if math.type(v) ~= "integer" or v < 1 or v > 65536 then
            return nil, ("topology.levels[%d].%s: expected a whole number 1 to 65536, got %s")
               :format(i, name, tostring(v or nil))
         end
      end
   end
   return levels
end

-- Number of routers in each level (0 = leaves), and of ways up to it (the W of d-mod-k).
local function sizes_of_levels(levels)
   local count, ways = { [0] = 1 }, { [0] = 1 }
   for _, l in ipairs(levels) do
      count[0] = count[0] * l.down
      if count[0] > 1 << 20 then -- of six levels the product may be too much for an integer
         return nil, "topology.levels: expected at most 1048576 routers"
      end
   end
   local routers = count[0]
   for i, l in ipairs(levels) do
      ways[i] = ways[i - 1] * l.up
      count[i] = count[i - 1] // l.down * l.up
      routers = routers + count[i]
      if routers > 1 << 20 then
         return nil, "topology.levels: expected at most 1048576 routers"
      end
   end
   return count, ways
end

local function name_of(levels, index)
   if index == 0 then
      return "leaf"
   end
   if index == #levels then
      return "spine"
   elseif #levels == 2 then
      return "mid"
   end
   return ("mid%d."):format(index)
end

local function add_routers(fabric, levels, count, prefix, level_of)
   local first = {}
   for i = 0, #levels do
      first[i] = fabric.routers
      local name = prefix .. name_of(levels, i)
      for n = 0, count[i] - 1 do
         level_of[fabric:router(name .. n)] = i
      end
   end
   return first
end

-- All cables between a level and the one below.
local function add_level(fabric, plan, level, down_ports, up_ports)
   local l, below, here = plan.levels[level], plan.ways[level - 1], plan.ways[level]
   local parallel, cap = l.parallel or 1, plan.capacity[level]
   for child = 0, plan.count[level - 1] - 1 do
      local tree, u = child // below, child % below
      local r = plan.first[level - 1] + child
      for k = 0, parallel - 1 do
         for p = 0, l.up - 1 do
            local parent = plan.first[level] + tree // l.down * here + p * below + u
            fabric:link(r, parent, up_ports[k * l.up + p], "uplink", cap[1])
         end
      end
   end
   for n = 0, plan.count[level] - 1 do
      local tree, u = n // here, n % here
      for d = 0, l.down - 1 do
         local child = plan.first[level - 1] + (tree * l.down + d) * below + u % below
         for k = 0, parallel - 1 do
            fabric:link(plan.first[level] + n, child, down_ports[d * parallel + k], "downlink",
               cap[2])
         end
      end
   end
end

local function numbers_from(first, count)
   return tables.fill(0, count - 1, function(index) return tostring(first + index) end)
end

local function add_links(fabric, tree)
   for i, l in ipairs(tree.levels) do
      local parallel = l.parallel or 1
      local below, taken = tree.levels[i - 1], tree.ports_per_leaf
      if below then
         taken = below.down * (below.parallel or 1)
      end
      add_level(fabric, tree, i, numbers_from(1, l.down * parallel),
         numbers_from(taken + 1, l.up * parallel))
   end
end

-- Capacity of one cable below each level, up and down.
local function level_capacities(conf, levels)
   local list = {}
   for i, l in ipairs(levels) do
      local c = l.capacity
      if c ~= nil and (type(c) ~= "number" or not (c > 0 and c < math.huge)) then
         return nil, ("topology.levels[%d].capacity: expected bytes per second, got %s"):format(i,
            tostring(c))
      end
      local both, err
      if c then
         list[i] = { c, c }
      else
         both, err = shape.capacities(conf, { "uplink", "downlink" })
         if not both then
            return nil, err
         end
         list[i] = { both.uplink, both.downlink }
      end
   end
   return list
end

-- Leaf of rail k (from 0) of a node (from 0), and its place there.
local function placer_of_nodes(tree, wiring, rails)
   local per = tree.nodes_per_leaf
   if wiring == "planes" then
      return function(node, rail) return tree.plane * rail + node // per, node end
   elseif wiring == "leaf" then
      return function(node) return node // per, node end
   end
   -- as many leaves together as there are rails; each rail of all their nodes is on the leaf of its
   -- number
   return function(node, rail)
      local block = per
      local leaf = node // block * rails + rail
      return leaf, leaf * per + node % block
   end
end

local function rails_of(conf)
   local rails, err = shape.whole(conf, "rails", 1, 64, 1)
   if not rails then
      return nil, err
   end
   local wiring
   wiring, err = shape.word(conf, "rail_wiring", RAIL_WIRING, "planes")
   return wiring and rails, wiring or err
end

-- Everything that has to be asked of a regular tree before it is built.
local function measure_levels(conf)
   local t, err = {}
   t.nodes_per_leaf, err = shape.whole(conf, "nodes_per_leaf", 1, 65536)
   if t.nodes_per_leaf then
      t.levels, err = check_levels(conf)
   end
   if t.levels then
      t.count, t.ways = sizes_of_levels(t.levels)
      err = t.ways
   end
   if t.count then
      t.rails, t.rail_wiring = rails_of(conf)
      err = t.rail_wiring
   end
   if t.rails then
      t.capacity, err = level_capacities(conf, t.levels)
   end
   if not t.capacity then
      return nil, err
   end
   if t.rail_wiring == "leaves" and t.count[0] % t.rails ~= 0 then
      return nil, ("topology.rails: expected a divisor of the %d leaves, got %d"):format(
         t.count[0], t.rails)
   end
   t.planes, t.ports_per_leaf, t.leaves = 1, t.nodes_per_leaf, t.count[0]
   if t.rail_wiring == "planes" then
      t.planes = t.rails
   elseif t.rail_wiring == "leaf" then
      t.ports_per_leaf = t.nodes_per_leaf * t.rails
   elseif t.rail_wiring == "leaves" then -- each rail has leaves of its own
      t.leaves = t.count[0] // t.rails
   end
   return t
end

-- Routers, links, nodes and what routing wants of a regular tree.
local function make_regular(conf)
   local t, err = measure_levels(conf)
   if not t then
      return nil, err
   end
   local s, level = shape.new(), {}
   for p = 1, t.planes do
      local prefix = ""
      if t.planes > 1 then
         prefix = "p" .. p .. "."
      end
      t.first = add_routers(s, t.levels, t.count, prefix, level)
      t.plane = t.plane or s.routers
      add_links(s, t)
   end
   local place = placer_of_nodes(t, t.rail_wiring, t.rails)
   local n
   n, err = shape.nodes(conf, t.leaves * t.nodes_per_leaf, ("%d leaves of %d nodes"):format(
      t.leaves, t.nodes_per_leaf), t.rails, place)
   if not n then
      return nil, err
   end
   n.key = {}
   for k = 0, t.rails - 1 do
      for i, p in ipairs(n.position) do
         local _, key = place(p, k)
         n.key[k * #n.names + i] = key
      end
   end
   return s, n, level, t.ways
end

--- Build a fat tree.
-- @param conf { nodes_per_leaf, levels = { { down, up, parallel = 1, capacity = of one cable } },
--   nodes (host list), service (host list), rails = K, rail_wiring = "planes" (a tree for each
--   rail) | "leaves" (rail k of a block of nodes on the k-th of its leaves) | "leaf" (all rails of
--   a node on one leaf), or `wiring` and perhaps `roots` instead of these; capacity = number, or
--   { tx, rx, link or uplink, downlink } in bytes per second; routing = "dmodk" | "ecmp" |
--   "adaptive" | "tables" }
-- @return topology, or nil and what was expected
function fattree.build(conf)
   if conf.wiring then
      return updown.from_wiring(FatTree, conf)
   end
   local routing, err = shape.word(conf, "routing", { "dmodk", "ecmp", "adaptive" }, "dmodk")
   if not routing then
      return nil, err
   end
   local s, n, level, ways = make_regular(conf)
   if not s then
      return nil, n
   end
   local spec = s:spec(n)
   spec.kind_name, spec.engine = "fattree", "updown"
   spec.label = ("fat tree of %d levels, %d routers, %d nodes, %s"):format(#conf.levels + 1,
      s.routers, #n.names, routing)
   spec.params = updown.params(routing, level, ways, n.key)
   spec.fields = { level_of = level, is_hashed = routing == "ecmp" }
   return base.new(FatTree, spec)
end

--- Level of a router: 0 is a leaf.
function FatTree:level(router)
   return self.level_of[router]
end

return fattree
