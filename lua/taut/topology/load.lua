-- SPDX-License-Identifier: GPL-2.0-or-later
--- Bytes per component under a pattern of communication.
local tables = require "taut.base.tables"
local rails = require "taut.topology.load_rails"

local load = {}

local MOST_PLACES = 1 << 20 -- of a grid: as many as there may be nodes

-- Each pattern: function(topo, nodes, opt) → flat array { from node, to node, bytes, … };
-- all-to-all has a kernel of its own.
local pattern = {}

--- Everybody to the next one in the list, the last to the first.
function pattern.ring(_, nodes, opt)
   return pattern.shift(nil, nodes, { bytes = opt.bytes, by = 1 })
end

--- Everybody to the one `by` places on.
function pattern.shift(_, nodes, opt)
   local list, n = {}, #nodes
   for i, a in ipairs(nodes) do
      local b = nodes[(i - 1 + opt.by) % n + 1]
      if a ~= b then
         list[#list + 1], list[#list + 2], list[#list + 3] = a, b, opt.bytes
      end
   end
   return list
end

-- The nearest to a cube that has so many places.
local function nearest_cube(count)
   local best
   for x = 1, math.floor(count ^ (1 / 3) + 1e-9) do
      local last = 0
      if count % x == 0 then
         last = math.floor((count // x) ^ 0.5 + 1e-9)
      end
      for y = x, last do
         local z = count // x // y
         if x * y * z == count and (not best or z - x < best[3] - best[1]) then
            best = { x, y, z }
         end
      end
   end
   return best
end

--- Everybody to both neighbours in each dimension of a grid of ranks, which are the nodes in the
-- order of the list; by default the grid nearest to a cube.
function pattern.nearest(_, nodes, opt)
   local grid, list = opt.grid or nearest_cube(#nodes), {}
   local stride = 1
   for d = #grid, 1, -1 do
      local len, partners = grid[d], {}
      if len > 2 then
         partners = { 1, -1 }
      elseif len == 2 then
         partners = { 1 }
      end
      for i, a in ipairs(nodes) do
         local x = (i - 1) // stride % len
         for _, step in ipairs(partners) do
            local b = nodes[i + ((x + step) % len - x) * stride]
            list[#list + 1], list[#list + 2], list[#list + 3] = a, b, opt.bytes
         end
      end
      stride = stride * len
   end
   return list
end

load.patterns = { "all-to-all", "nearest", "ring", "shift" }

local function check_nodes(topo, name, opt)
   if name ~= "all-to-all" and not pattern[name] then
      return nil, ("pattern '%s' is not known (known: %s)"):format(tostring(name),
         table.concat(load.patterns, ", "))
   end
   local places, n = 1, #(opt.nodes or topo.nodes)
   for _, len in ipairs(opt.grid or {}) do
      places = places * math.min(len, MOST_PLACES + 1)
      if places > MOST_PLACES then -- before it is too much for an integer
         return nil, ("grid %s: expected at most %d places"):format(
            table.concat(opt.grid, "x"), MOST_PLACES)
      end
   end
   if opt.grid and places ~= n then
      return nil, ("grid %s has %d places, there are %d nodes"):format(
         table.concat(opt.grid, "x"), places, n)
   elseif opt.by and (math.type(opt.by) ~= "integer" or opt.by < 1) then
      return nil, ("shift: expected a whole number of at least 1, got %s"):format(
         tostring(opt.by))
   end
   return true
end

local function all_nodes(topo)
   return tables.fill(1, #topo.nodes, function(node) return node end)
end

--- Bytes on each component while nodes talk to each other in a pattern; the rails that both nodes
-- have, and that have a route, share them evenly, and the links of a set by their weights.
-- @param self topology
-- @param name "all-to-all", "ring", "shift" or "nearest"
-- @param opt table: nodes = array (default all), bytes = for each pair (default 1), by = places
--   (shift; default 1), grid = lengths (nearest), walk = true to walk every pair
-- @return array by component, pairs without a route; or nil and what is wrong
function load.of(self, name, opt)
   opt = opt or {}
   local ok, err = check_nodes(self, name, opt)
   if not ok then
      return nil, err
   end
   local o = { bytes = opt.bytes or 1, by = opt.by or 1, grid = opt.grid, walk = opt.walk }
   local nodes = opt.nodes or all_nodes(self)
   if name == "all-to-all" then
      return rails.all_to_all(self, nodes, o)
   end
   return rails.pairs(self, pattern[name](self, nodes, o))
end

return load
