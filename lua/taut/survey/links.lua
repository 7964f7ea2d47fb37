-- SPDX-License-Identifier: GPL-2.0-or-later
--- What an audit tests: for each link a pair of nodes that are there, in phases.
--
-- Links between neighbours that both have nodes are tested as in TopoBW, by the topology's groups
-- of neighbours (in a torus dimension, direction and parity of the sender). They are tested alone
-- (E) and with as many nodes of the two routers as fill it (S).  What is left, links of routers
-- without nodes and links that are chosen among several, is search.lua's.
local expectation = require "taut.topology.model.expectation"
local schedule = require "taut.survey.schedule"
local search = require "taut.survey.search"
local tables = require "taut.base.tables"

local links = {}

-- Of the kinds of links that topologies know; C also for any other.
local LETTER = { router = "G", mezzanine = "M", backplane = "B", cable = "C", uplink = "U",
   downlink = "D", green = "N", black = "K", blue = "L", global = "L", ["local"] = "N" }

--- The letter of a link's kind, as TopoBW prints it.
function links.letter(topo, component)
   local class = "cable"
   if topo.class then
      class = topo:class(component) or class
   end
   return LETTER[class] or "C"
end

-- Those of the nodes that have a rail.
local function on_rail(topo, nodes, rail)
   if rail == 1 and topo.rails == 1 then
      return nodes
   end
   return tables.filter(nodes, function(node) return topo:router(node, rail) end)
end

local function by_router(topo, nodes, rail)
   local by = {}
   for _, n in ipairs(nodes) do
      local r = topo:router(n, rail)
      if r then
         by[r] = by[r] or {}
         table.insert(by[r], n)
      end
   end
   return by
end

-- The one link of a route between neighbours, or nil.
local function only_link(topo, route)
   local found, count = nil, 0
   for _, stage in ipairs(route) do
      if type(stage) == "table" then
         return nil
      elseif topo:is_link(stage) then
         found, count = stage, count + 1
      end
   end
   if count == 1 then
      return found
   end
   return nil
end

local function make_test(topo, src, dst, more)
   local t = { src = src, dst = dst }
   for k, v in pairs(more) do
      t[k] = v
   end
   return schedule.route(t, topo)
end

---------------------------------------------------------------- neighbours

local function same_router(topo, by, rail, options)
   local items = {}
   for _, list in pairs(by) do
      if #list > 1 then
         for i = 1, #list do
            items[#items + 1] = make_test(topo, list[i], list[i % #list + 1],
               { kind = "audit G", sending = "E", same = true, rail = rail })
         end
      end
   end
   table.sort(items, function(one, other) return one.src < other.src end)
   return schedule.colour(items, topo, options)
end

-- TopoBW's order within a dimension: even to odd in "+", odd to even in "-", odd to even in "+",
-- even to odd in "-".  Groups of other topologies stay in their own order.
local RANK = { ["+0"] = 1, ["-1"] = 2, ["+1"] = 3, ["-0"] = 4 }

local function in_order(groups)
   local place = {}
   for i, g in ipairs(groups) do
      place[g] = 1e6 + i
      if g.dimension then
         place[g] = g.dimension * 10 + RANK[g.way]
      end
   end
   table.sort(groups, function(one, other) return place[one] < place[other] end)
   return groups
end

-- One group alone: a pair of nodes for each pair of routers; `turn` changes which, so that over
-- the groups every node sends and receives.
local function solo_tests(topo, by, rail, group, turn, covered, options)
   local items = {}
   for _, p in ipairs(group.pairs) do
      local from, to = by[p[1]], by[p[2]]
      local t = make_test(topo, from[turn % #from + 1], to[turn % #to + 1],
         { kind = "audit E", sending = "E", rail = rail })
      local link = t and only_link(topo, t.route)
      if link and not covered[link] then
         t.link, covered[link] = link, true
         items[#items + 1] = t
      end
      options.breathe()
   end
   return schedule.colour(items, topo, options)
end

-- How many senders fill a link: more show nothing more, and each has less.
local function count_senders(topo, test)
   local injection = math.min(topo.capacity[test.route[1]], topo.capacity[test.route[#test.route]])
   return math.max(2, math.ceil(topo.capacity[test.link] / injection - 1e-9))
end

-- The same test with several nodes of both routers; nil where there is only one.
-- @param turn which repetition it is, or nil: it begins with other nodes
local function shared_test(topo, by, test, turn)
   local from, to = by[test.from_router] or {}, by[test.to_router] or {}
   local group, first = {}, turn or 0
   for i = 1, math.min(#from, #to, count_senders(topo, test)) do
      local at = i + first - 1
      local s = make_test(topo, from[at % #from + 1], to[at % #to + 1], { kind = "audit S",
         sending = "S", link = test.link, rail = test.rail, again = turn ~= nil or nil,
         group = ("S%d.%d"):format(test.link, turn or 0) })
      if s and only_link(topo, s.route) == test.link then
         group[#group + 1] = s
      end
   end
   if #group > 1 then
      return group
   end
   return nil
end

local function shared_phases(topo, by, phases, options)
   local all = {}
   for _, phase in ipairs(phases) do
      local tests = {}
      for _, t in ipairs(phase) do
         for _, s in ipairs(shared_test(topo, by, t) or {}) do
            tests[#tests + 1] = s
         end
         options.breathe()
      end
      if #tests > 0 then
         all[#all + 1] = expectation.of_phase(tests, topo)
      end
   end
   return all
end

---------------------------------------------------------------- all of it

-- Nodes of one router, then neighbours, over one rail.
local function neighbours(topo, plan, by, rail, solo_only, options)
   local function add_phases(phases)
      table.move(phases, 1, #phases, #plan.phases + 1, plan.phases)
   end
   add_phases(same_router(topo, by, rail, options))
   for turn, group in ipairs(in_order(topo:neighbours(by))) do
      local phases = solo_tests(topo, by, rail, group, turn, plan.covered, options)
      add_phases(phases)
      if not solo_only then
         add_phases(shared_phases(topo, by, phases, options))
      end
   end
end

--- What an audit of these nodes tests.
-- @param topo topology
-- @param nodes array of node numbers that take part
-- @param solo_only true for no shared tests
-- @param breathe called now and then (see task.lua)
-- @return { phases, covered = set of links that a test surely crosses, in_set = set of links that
--   tests cross as one of a set only, links = how many there are, everyone = do all nodes of the
--   topology take part, sure = is what is in neither set surely out of reach }
function links.plan(topo, nodes, solo_only, breathe)
   local plan = { phases = {}, covered = {}, in_set = {}, links = 0, sure = true,
      everyone = #nodes == #topo.nodes - topo.away_count }
   local o = { ordered = true, breathe = breathe or function() end }
   local rails, by_rail = topo.rails or 1, {}
   for c = 1, #topo.components do
      plan.links = plan.links + tables.one_if(topo:is_link(c))
   end
   local function rail_or_nil(rail)
      if rails > 1 then
         return rail
      end
      return nil
   end
   for k = 1, rails do
      by_rail[k] = by_router(topo, nodes, k)
      neighbours(topo, plan, by_rail[k], rail_or_nil(k), solo_only, o)
   end
   local left, last = plan.links - tables.size(plan.covered), 0
   if left > 0 then
      last = rails
   end
   for k = 1, last do
      local items, sure
      items, left, sure = search.find(topo, on_rail(topo, nodes, k), {
         rail = rail_or_nil(k), make = make_test, by = by_rail[k], covered = plan.covered,
         in_set = plan.in_set, left = left, breathe = o.breathe })
      plan.sure = plan.sure and sure
      local more = schedule.colour(items, topo, o)
      table.move(more, 1, #more, #plan.phases + 1, plan.phases)
   end
   plan.sure = plan.sure or left == 0
   return plan
end

---------------------------------------------------------------- again

--- Present nodes, for links.again.
-- @param present set of nodes
-- @return { nodes, by_rail = for each rail map router → its nodes }
function links.there(topo, present)
   local nodes, by_rail = {}, {}
   for n in pairs(present) do
      nodes[#nodes + 1] = n
   end
   table.sort(nodes)
   for k = 1, topo.rails or 1 do
      by_rail[k] = by_router(topo, nodes, k)
   end
   return { nodes = nodes, by_rail = by_rail, present = present }
end

-- A link between neighbours by a pair of their nodes.
local function near_again(topo, by, test, turn)
   local from, to = by[test.from_router] or {}, by[test.to_router] or {}
   local a = #from > 0 and #to > 0 and make_test(topo, from[turn % #from + 1], to[turn % #to + 1],
      { kind = "audit E", sending = "E", link = test.link, again = true, rail = test.rail })
   if a and only_link(topo, a.route) == test.link then
      return a
   end
   return nil
end

-- One node's tx or rx with another node of its router.
local function by_router_mate(topo, there, by, test)
   local src, dst
   if there.present[test.src] then
      src = test.src
   end
   for _, n in ipairs(by[test.from_router] or {}) do
      if n ~= src then
         dst = n
      end
   end
   return src and dst and make_test(topo, src, dst, { kind = test.kind, sending = "E", same = true,
      again = true, rail = test.rail })
end

-- What a pair measured, by others: each link of its own, without those it had in common with.
local function by_others(topo, there, by, test, turn)
   local list = {}
   if test.same then
      list[1] = by_router_mate(topo, there, by, test) or nil
   end
   for _, c in ipairs(test.links or { test.link }) do
      local src, dst = search.another(topo, by, there.nodes, c,
         { rail = test.rail, others = test.route, turn = turn })
      if src then
         list[#list + 1] = make_test(topo, src, dst,
            { kind = test.kind, sending = "E", link = c,
            links = { c }, far = true, again = true, rail = test.rail })
      end
   end
   if #list > 0 then
      test.links = test.link and { test.link } -- the others are on their own from now on
   end
   return list
end

--- The same link again, by another pair of nodes where there is one; a shared test as a group.
-- @param there of links.there
-- @param test a test of links.plan
-- @param turn 1, 2, …: which pair
-- @return array of tests and groups; empty if no node is left for them
function links.again(topo, there, test, turn)
   local by = there.by_rail[test.rail or 1]
   if test.sending == "S" then
      return { shared_test(topo, by, test, turn) }
   end
   local a = test.link and not test.far and near_again(topo, by, test, turn)
   if a then
      return { a }
   end
   local is_there = there.present[test.src] and there.present[test.dst]
   local list = {}
   if test.far and test.link or not is_there then
      list = by_others(topo, there, by, test, turn)
   end
   if #list > 0 or not is_there then
      return list
   end
   return { make_test(topo, test.src, test.dst, { kind = test.kind, sending = "E", link = test.link,
      links = test.links,
      far = test.far, same = test.same, again = true, rail = test.rail, sets = test.sets,
      streams = test.streams, flow = test.flow }) }
end

--- Flows of other pairs through each set on the way of a test some of whose flows were low: they
-- tell the sets apart.
-- @param there of links.there
-- @return array of tests
function links.other_flows(topo, there, test)
   local by, items = there.by_rail[test.rail or 1], {}
   for _, set in ipairs(test.route) do
      local src, dst
      if type(set) == "table" then
         src, dst = search.another(topo, by, there.nodes, set[1], { rail = test.rail,
            others = test.route, turn = 1, set = set })
      end
      if src and not (src == test.src and dst == test.dst) then
         search.add_flows(items, { set }, function(flow)
            return make_test(topo, src, dst, { kind = test.kind, sending = "E", far = true,
               links = {},
               again = true, rail = test.rail, sets = { set }, flow = flow })
         end)
      end
   end
   return items
end

return links
