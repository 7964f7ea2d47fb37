--- What an audit tests: for each link a pair of nodes that are there, in phases.
--
-- Links between neighbours that both have nodes are tested as in TopoBW: by the topology's groups
-- of neighbours (in a torus dimension, direction and parity of the sender), alone (E) and with
-- all nodes of the two routers (S).  What is left, links of routers without nodes, is tested by
-- the shortest route over it there is.
local schedule = require "taut.survey.schedule"
local rounds = require "taut.survey.rounds"

local links = {}

local SCAN_MAX = 60000 -- routes looked at for links without neighbours: tautd waits for it
local BARREN_MAX = 32  -- shifts in a row that bring nothing new

-- Of the kinds of links that topologies know; C also for any other.
local LETTER = { router = "G", mezzanine = "M", backplane = "B", cable = "C", uplink = "U",
   downlink = "D", green = "N", black = "K", blue = "L", global = "L", ["local"] = "N" }

--- The letter of a link's kind, as TopoBW prints it.
function links.letter(topo, c)
   local class = topo.class and topo:class(c) or "cable"
   return LETTER[class] or "C"
end

local function by_router(topo, nodes, rail)
   local by = {}
   for _, n in ipairs(nodes) do
      local r = topo:router(n, rail)
      by[r] = by[r] or {}
      table.insert(by[r], n)
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
   return count == 1 and found or nil
end

local function make(topo, src, dst, more)
   local t = { src = src, dst = dst }
   for k, v in pairs(more) do
      t[k] = v
   end
   return schedule.route(t, topo)
end

---------------------------------------------------------------- neighbours

local function same_router(topo, by, rail, o)
   local items = {}
   for _, list in pairs(by) do
      for i = 1, #list > 1 and #list or 0 do
         items[#items + 1] = make(topo, list[i], list[i % #list + 1],
            { kind = "audit G", sending = "E", same = true, rail = rail })
      end
   end
   table.sort(items, function(a, b) return a.src < b.src end)
   return schedule.colour(items, topo, o)
end

-- TopoBW's order within a dimension: even to odd in "+", odd to even in "-", odd to even in "+",
-- even to odd in "-".  Keys of other topologies stay in their own order.
local RANK = { ["+0"] = 1, ["-1"] = 2, ["+1"] = 3, ["-0"] = 4 }

local function in_order(groups)
   local place = {}
   for i, g in ipairs(groups) do
      local d, what = tostring(g.key):match "^(%d+)([+-]%d)$"
      place[g] = d and RANK[what] and tonumber(d) * 10 + RANK[what] or 1e6 + i
   end
   table.sort(groups, function(a, b) return place[a] < place[b] end)
   return groups
end

-- One group alone: a pair of nodes for each pair of routers; `turn` changes which, so that over
-- the groups every node sends and receives.
local function solo(topo, by, rail, group, turn, covered, o)
   local items = {}
   for _, p in ipairs(group.pairs) do
      local from, to = by[p[1]], by[p[2]]
      local t = make(topo, from[turn % #from + 1], to[turn % #to + 1],
         { kind = "audit E", sending = "E", rail = rail })
      local link = t and only_link(topo, t.route)
      if link and not covered[link] then
         t.link, covered[link] = link, true
         items[#items + 1] = t
      end
      o.breathe()
   end
   return schedule.colour(items, topo, o)
end

-- The same test with all nodes of both routers; nil where there is only one.
-- @param turn which repetition it is, or nil
local function shared(topo, by, t, turn)
   local from, to = by[t.from_router], by[t.to_router]
   local group = {}
   for i = 1, math.min(#from, #to) do
      local s = make(topo, from[i], to[i], { kind = "audit S", sending = "S", link = t.link,
         rail = t.rail, group = ("S%d.%d"):format(t.link, turn or 0),
         again = turn and true or nil })
      if s and only_link(topo, s.route) == t.link then
         group[#group + 1] = s
      end
   end
   return #group > 1 and group or nil
end

local function shared_phases(topo, by, phases, o)
   local all = {}
   for _, phase in ipairs(phases) do
      local tests = {}
      for _, t in ipairs(phase) do
         for _, s in ipairs(shared(topo, by, t) or {}) do
            tests[#tests + 1] = s
         end
         o.breathe()
      end
      if #tests > 0 then
         all[#all + 1] = schedule.expect(tests, topo)
      end
   end
   return all
end

---------------------------------------------------------------- what neighbours do not reach

local function sure_links(topo, route, fn)
   for _, stage in ipairs(route) do
      if type(stage) == "number" and topo:is_link(stage) then
         fn(stage)
      end
   end
end

-- 1 … most, multiples of `step` first.
local function multiples_first(step, most)
   local list = {}
   for s = step, most, step do
      list[#list + 1] = s
   end
   for s = 1, most do
      list[#list + 1] = s % step ~= 0 and s or nil
   end
   return list
end

-- Pairs of nodes that are a `shift` apart in the topology's order, shifts by whole routers first:
-- where routes go by destination, as in fat trees, all nodes of a router then leave it at once, by
-- different links.
local function scan(topo, nodes, rail, covered, left, o)
   local items, looked, barren = {}, 0, 0
   local step = math.max(1, #nodes // math.max(1, o.routers))
   for _, shift in ipairs(multiples_first(step, #nodes - 1)) do
      local before = left
      for i, a in ipairs(nodes) do
         if left == 0 or looked >= SCAN_MAX then
            return items, left
         end
         looked = looked + 1
         o.breathe()
         local b = nodes[(i + shift - 1) % #nodes + 1]
         local route = topo:route(a, b, nil, rail)
         local new = {}
         sure_links(topo, route or {}, function(c)
            new[#new + 1] = not covered[c] and c or nil
         end)
         if #new > 0 then
            items[#items + 1] = make(topo, a, b, { kind = "audit E", sending = "E", link = new[1],
               links = new, far = true, rail = rail })
            for _, c in ipairs(new) do
               covered[c], left = true, left - 1
            end
         end
      end
      barren = left == before and barren + 1 or 0
      if barren > BARREN_MAX then
         break
      end
   end
   return items, left
end

---------------------------------------------------------------- all of it

-- Nodes of one router, then neighbours, over one rail.
local function neighbours(topo, plan, by, rail, solo_only, o)
   local function add(phases)
      table.move(phases, 1, #phases, #plan.phases + 1, plan.phases)
   end
   add(same_router(topo, by, rail, o))
   for turn, group in ipairs(in_order(topo:neighbours(by))) do
      local phases = solo(topo, by, rail, group, turn, plan.covered, o)
      add(phases)
      if not solo_only then
         add(shared_phases(topo, by, phases, o))
      end
   end
end

local function count(t)
   local n = 0
   for _ in pairs(t) do
      n = n + 1
   end
   return n
end

--- What an audit of these nodes tests.
-- @param topo topology
-- @param nodes array of node numbers that take part
-- @param solo_only true for no shared tests
-- @param breathe called now and then (see task.lua)
-- @return { phases, covered = set of links that a test crosses, links = how many there are,
--   by_rail = for each rail map router → its nodes }
function links.plan(topo, nodes, solo_only, breathe)
   local plan = { phases = {}, covered = {}, links = 0, by_rail = {} }
   local o = { ordered = true, breathe = breathe or function() end }
   local rails = topo.rails or 1
   for c = 1, #topo.components do
      plan.links = plan.links + (topo:is_link(c) and 1 or 0)
   end
   for k = 1, rails do
      plan.by_rail[k] = by_router(topo, nodes, k)
      neighbours(topo, plan, plan.by_rail[k], rails > 1 and k or nil, solo_only, o)
   end
   for k = 1, rails do
      local left = plan.links - count(plan.covered)
      if left > 0 then
         o.routers = count(plan.by_rail[k])
         local more = schedule.colour((scan(topo, nodes, rails > 1 and k or nil, plan.covered, left,
            o)), topo, o)
         table.move(more, 1, #more, #plan.phases + 1, plan.phases)
      end
   end
   return plan
end

--- The same link again, by another pair of nodes where there is one; a shared test as a group.
-- @param t a test of links.plan
-- @param turn 1, 2, …: which pair
function links.again(topo, by_rail, t, turn)
   local by = by_rail[t.rail or 1]
   if t.sending == "S" then
      return shared(topo, by, t, turn)
   end
   local from, to = by[t.from_router], by[t.to_router]
   if t.link and not t.far then
      local a = make(topo, from[turn % #from + 1], to[turn % #to + 1],
         { kind = "audit E", sending = "E", link = t.link, again = true, rail = t.rail })
      if a and only_link(topo, a.route) == t.link then
         return a
      end
   end
   return make(topo, t.src, t.dst, { kind = t.kind, sending = "E", link = t.link, links = t.links,
      far = t.far, same = t.same, again = true, rail = t.rail })
end

links.each = rounds.each

return links
