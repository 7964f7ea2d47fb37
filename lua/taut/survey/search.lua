-- SPDX-License-Identifier: GPL-2.0-or-later
--- Pairs of nodes for the links that no test between neighbours crosses alone.
--
-- First the links that some route surely crosses, then those that are only ever one of a set,
-- because routes are hashed or adaptive there: such a test speaks of its set, never of one member.
-- Pairs of all nodes, a fixed distance apart, cover most links at little cost. The remaining links
-- are searched one by one. If there are few enough pairs, all of them are tried, so that the rest
-- is certainly out of reach.
local tables = require "taut.base.tables"
local search = {}

local BUDGET = 1 << 22  -- routes looked at, about 1 µs each
local BARREN = 16       -- distances in a row that bring nothing new
local TRIES = 600       -- routes looked at for one link
local STREAMS_MAX = 8   -- of a test through a set whose links each flow is spread over
local FLOWS = 3         -- for each link of a set: of 4 links a given one is met with 97 %
local FLOWS_LEAST = 6   -- of a set, …
local FLOWS_MAX = 36    -- … and at most: of 18 links with 87 %

---------------------------------------------------------------- what a route brings

local function each_member(stage, fn)
   for _, c in ipairs(stage) do
      fn(c)
   end
end

-- Is a member of this set in no test yet?  Equal sets are one table, so each is known again.
local function has_news(self, set)
   if not self.seen[set] then
      self.seen[set] = true
      each_member(set, function(component) self.hashed[component] = true end)
   end
   local fresh = false
   if self.with_sets and not self.known[set] then
      each_member(set, function(component)
         fresh = fresh or not (self.covered[component] or self.in_set[component])
      end)
      self.known[set] = not fresh
   end
   return fresh
end

-- Links that the route from src to dst would be the first to cross, and sets with a member that no
-- test knows; marks which links are in sets.
local function links_new(self, src, dst)
   local links, sets = {}, {}
   self.looked = self.looked + 1
   self.breathe()
   for _, stage in ipairs(self.topo:route(src, dst, nil, self.rail) or {}) do
      if type(stage) == "table" then
         if has_news(self, stage) then
            sets[#sets + 1] = stage
         end
      elseif self.topo:is_link(stage) and not self.covered[stage] then
         links[#links + 1] = stage
      end
   end
   return links, sets
end

local function streams_of(sets)
   local most = 2
   for _, set in ipairs(sets) do
      most = math.max(most, #set)
   end
   return math.min(STREAMS_MAX, most)
end

--- How many flows a pair sends through sets of links that flows are hashed to.  One after the
-- other: of several at once those of the other links would hide a slow one.
function search.flows_of(sets)
   local most = 1
   for _, set in ipairs(sets) do
      most = math.max(most, #set)
   end
   return math.max(FLOWS_LEAST, math.min(FLOWS_MAX, FLOWS * most))
end

--- Add the flows of a pair to a list of tests, each another flow.
-- @param make function(flow) → test, or nil where there is no way
-- @return whether there is one
function search.add_flows(items, sets, make)
   for flow = 1, search.flows_of(sets) do
      local t = make(flow)
      if not t then
         return false -- no way back, or the like
      end
      items[#items + 1] = t
   end
   return true
end

local function take_link(self, link)
   self.covered[link] = true
   if not self.in_set[link] then
      self.left = self.left - 1
   end
end

local function take_set(self, set)
   each_member(set, function(component)
      if not self.covered[component] and not self.in_set[component] then
         self.in_set[component], self.left = true, self.left - 1
      end
   end)
end

-- Take a pair as a test.  Returns whether it brings anything.
local function take_pair(self, src, dst, links, sets)
   if #links == 0 and #sets == 0 then
      return false
   end
   local is_set = #sets > 0 and #links == 0
   local function make_test(flow)
      local streams
      if is_set and not flow then
         streams = streams_of(sets)
      end
      return self.make(self.topo, src, dst, { kind = "audit E", sending = "E", link = links[1],
         links = links, far = true, rail = self.rail, sets = tables.unless_empty(sets),
         streams = streams, flow = flow, again = (flow or 1) > 1 or nil })
   end
   if is_set and self.topo:hashes(sets[1][1]) then
      if not search.add_flows(self.items, sets, make_test) then
         return false
      end
   else
      local t = make_test()
      if not t then
         return false -- no way back, or the like
      end
      self.items[#self.items + 1] = t
   end
   for _, c in ipairs(links) do
      take_link(self, c)
   end
   for _, set in ipairs(sets) do
      take_set(self, set)
   end
   return true
end

---------------------------------------------------------------- a fixed distance apart

-- 1 … most, in an order that suits trees: halves first (from one half of the machine to the other,
-- all levels are crossed), then whole routers (routes by destination then leave a router by
-- different links), then the rest.
local function distances(step, most)
   local list, seen = {}, {}
   local function add_set(set)
      if set >= 1 and set <= most and not seen[set] then
         seen[set] = true
         list[#list + 1] = set
      end
   end
   local s = (most + 1) // 2
   while s >= step do
      add_set(s)
      s = s // 2
   end
   for m = step, most, step do
      add_set(m)
   end
   for m = 1, most do
      add_set(m)
   end
   return list
end

-- Look at all pairs, one distance after the other.
-- @param barren so many distances in a row may bring nothing
-- @return were all pairs looked at?
local function sweep_pairs(self, barren)
   local nodes, idle = self.nodes, 0
   for _, d in ipairs(self.distances) do
      local before = #self.items
      for i, a in ipairs(nodes) do
         if self.left == 0 or self.looked >= BUDGET then
            return self.left == 0
         end
         local b = nodes[(i + d - 1) % #nodes + 1]
         take_pair(self, a, b, links_new(self, a, b))
      end
      idle = idle + 1
      if #self.items ~= before then
         idle = 0
      end
      if idle > barren then
         return false
      end
   end
   return true
end

---------------------------------------------------------------- link by link

-- Nodes that take part and are nearest to a router, and all others behind them by distance, at
-- most TRIES; of one router they are remembered.
local function nearest_nodes(self, router)
   local list = self.near[router]
   if list then
      return list
   end
   local seen, now = { [router] = true }, { router }
   list = {}
   while #now > 0 and #list == 0 do
      local after = {}
      for _, at in ipairs(now) do
         for _, n in ipairs(self.by[at] or {}) do
            list[#list + 1] = n
         end
         for _, c in ipairs(self.topo:links_of(at)) do
            local s = self.topo:to(c)
            if not seen[s] then
               after[#after + 1] = s
            end
            seen[s] = true
         end
      end
      now = after
   end
   self.near[router] = list
   return list
end

-- One item of a list by its index, in a stride through all of them that meets few patterns.
local function strided_item(list, index)
   local n = #list
   local stride = math.max(1, n * 5 // 8)
   while stride > 1 and n % stride == 0 do
      stride = stride - 1
   end
   return list[(index * stride + index // n) % n + 1]
end

-- Does the route from src to dst cross the link, and how many others of these?
local function crosses_link(self, link, others, src, dst)
   local found, shared = false, 0
   for _, stage in ipairs(self.topo:route(src, dst, nil, self.rail) or {}) do
      found = found or stage == link
      if stage ~= link and others[stage] then
         shared = shared + 1
      end
   end
   return found, shared
end

--- Pairs that may cross link c: from nodes behind its beginning to nodes beyond its end, then the
-- latter replaced by any.
local function candidates(self, link)
   local from, to = nearest_nodes(self, self.topo:from(link)),
      nearest_nodes(self, self.topo:to(link))
   local i = 0
   return function()
      i = i + 1
      if i > TRIES or #from == 0 or #to == 0 then
         return nil
      end
      local far = to
      if i % 2 == 0 then
         far = self.nodes
      end
      -- as many as there are on the one side for each on the other
      return strided_item(from, i // 2 + i // (2 * #far)), strided_item(far, i // 2)
   end
end

local function link_by_link(self)
   local topo = self.topo
   for c = 1, #topo.components do
      self.breathe()
      if topo:is_link(c) and not self.covered[c] and not self.in_set[c]
         and (self.with_sets or not self.hashed[c]) then
         for a, b in candidates(self, c) do
            if self.looked >= BUDGET then
               return
            end
            local links, sets = {}, {}
            if a ~= b then
               links, sets = links_new(self, a, b)
            end
            take_pair(self, a, b, links, sets)
            if self.covered[c] or self.in_set[c] then
               break
            end
         end
      end
   end
end

---------------------------------------------------------------- all of it

local function new_search(topo, nodes, options)
   local routers = tables.size(options.by)
   local step = math.max(1, #nodes // math.max(1, routers))
   return { topo = topo, nodes = nodes, rail = options.rail, by = options.by,
      covered = options.covered,
      in_set = options.in_set, left = options.left, breathe = options.breathe, make = options.make,
         items = {},
      hashed = {}, seen = {}, known = {}, near = {}, looked = 0,
      distances = distances(step, #nodes - 1) }
end

--- Tests for links that have none.
-- @param options { rail, by = router → nodes, covered = set of links with a test of their own,
--   in_set = set of links that are measured as one of a set only (both grow), left = how many links
--   are neither, breathe, make(topo, a, b, fields) → test }
-- @return array of tests, how many links are left, and whether it is sure that they are out of
--   reach of these nodes
function search.find(topo, nodes, options)
   local self = new_search(topo, nodes, options)
   sweep_pairs(self, BARREN)
   link_by_link(self)
   if next(self.hashed) then
      self.with_sets = true
      sweep_pairs(self, BARREN)
      link_by_link(self)
   end
   local sure = self.left == 0
   if not sure and #nodes * (#nodes - 1) <= BUDGET then
      self.with_sets, self.looked = true, 0
      sure = sweep_pairs(self, math.huge)
   end
   return self.items, self.left, sure
end

--- Another pair that crosses the link, or the set of which it is one, with as few as can be of the
-- links that it is to be told from.
-- @param options { rail, others = array of stages: the route of the test before, turn = 1, 2, …:
--   which of several such pairs, set = that set, or nil }
-- @return its nodes; nil where none was found
function search.another(topo, by, nodes, link, options)
   local self = { topo = topo, by = by, nodes = nodes, near = {}, rail = options.rail }
   local others, least, list = tables.set(table.move(options.others, 2, #options.others - 1, 1,
      {})), math.huge,
      {}
   for a, b in candidates(self, link) do
      local found, shared = false, 0
      if a ~= b then
         found, shared = crosses_link(self, options.set or link, others, a, b)
      end
      if found and shared < least then
         least, list = shared, {}
      end
      if found and shared == least then
         list[#list + 1] = { a, b }
      end
      if least == 0 and #list >= options.turn then
         break
      end
   end
   local best = list[(options.turn - 1) % math.max(1, #list) + 1]
   return best and best[1], best and best[2]
end

return search
