-- SPDX-License-Identifier: GPL-2.0-or-later
--- What the searches of all kinds of fabric share.
local sets = require "taut.sets"
local tables = require "taut.base.tables"

local common = {}

local LEAST_LEFT = 0.02 -- a failed link counts as one with this left

--- How much longer what crosses a link takes: 0 for a healthy one.
function common.weight(left)
   return 1 / math.max(left, LEAST_LEFT) - 1
end

--- Compare arrays of numbers: below 0, 0 or above it.
function common.compare(list, other)
   for i = 1, math.min(#list, #other) do
      if list[i] ~= other[i] then
         return list[i] - other[i]
      end
   end
   return #list - #other
end

--- Nodes in the order in which a job's ranks go through them: options.rank (node → place in Slurm's
-- table), else by number.
function common.sorted(nodes, options)
   return sets.sorted(nodes, options.rank)
end

--- fn(list, candidate) that appends a candidate whose nodes are not those of an earlier one.
-- Returns whether it did.
function common.taker()
   local seen = {}
   return function(list, candidate)
      local key = table.concat(candidate.nodes, ",")
      if seen[key] then
         return false
      end
      seen[key] = true
      list[#list + 1] = candidate
      return true
   end
end

-- Nodes of each router, and the routers that have some; per topology, since it never changes.
local machines = setmetatable({}, { __mode = "k" })

local function machine_of(topo)
   local m = machines[topo]
   if not m then
      m = { total = {}, routers = {} }
      for r = 0, topo.routers - 1 do
         local n = #topo:on_router(r)
         if n > 0 then
            m.total[r] = n
            m.routers[#m.routers + 1] = r
         end
      end
      machines[topo] = m
   end
   return m
end

-- Nodes of a router, which topo:on_router() makes a new table of each time.
local function free_nodes_on(topo, router)
   local m = machine_of(topo)
   m.nodes = m.nodes or {}
   m.nodes[router] = m.nodes[router] or topo:on_router(router)
   return m.nodes[router]
end

--- Routers with nodes, ascending, and map router → how many nodes.
function common.routers(topo)
   local m = machine_of(topo)
   return m.routers, m.total
end

local function list_by_router(topo, free, most)
   local on, routers = {}, {}
   for n in pairs(free) do
      local r = topo:router(n)
      if r then
         if not on[r] then
            on[r] = {}
            routers[#routers + 1] = r
         end
         table.insert(on[r], n)
      end
   end
   table.sort(routers)
   for _, list in pairs(on) do
      table.sort(list)
      for i = #list, (most or math.huge) + 1, -1 do
         list[i] = nil
      end
   end
   return on, routers
end

--- Free nodes by router, each list ascending, at most options.per_router on each; and the routers
-- that have some, ascending.  Kept as long as options.version is the same; leave them as they are.
function common.by_router(topo, free, options)
   local m = machine_of(topo)
   local memo = m.memo
   if not memo or not options.version or memo.free ~= free or memo.version ~= options.version or
      memo.per_router ~= options.per_router then
      memo = { free = free, version = options.version, per_router = options.per_router }
      memo.on, memo.routers = list_by_router(topo, free, options.per_router)
      m.memo = nil
      if options.version then
         m.memo = memo
      end
   end
   return memo.on, memo.routers
end

--- Free nodes in parts of a machine of which at least the share `density` is free, and that hold
-- `least` or more.
-- @param part_of function(router) → key
-- @param taken array of free nodes that count as busy, or nil
function common.dense(topo, free, least, density, taken, part_of)
   local m, all, open, sum = machine_of(topo), {}, {}, 0
   for _, r in ipairs(m.routers) do
      local p = part_of(r)
      all[p] = (all[p] or 0) + m.total[r]
   end
   for n in pairs(free) do
      local p = part_of(topo:router(n))
      open[p] = (open[p] or 0) + 1
   end
   for _, n in ipairs(taken or {}) do
      local p = part_of(topo:router(n))
      if free[n] then
         open[p] = open[p] - 1
      end
   end
   for p, n in pairs(open) do
      if n >= least and n >= density * all[p] then
         sum = sum + n
      end
   end
   return sum
end

--- Fill in a candidate: its submesh is the routers its nodes are on, unless it says which routers
-- it has (candidate.routers, a set).
function common.describe(topo, free, candidate)
   local total = machine_of(topo).total
   local used, inside, spare = candidate.routers or {}, 0, 0
   local memo = machine_of(topo).memo
   local on = memo and memo.free == free and not memo.per_router and memo.on
   for _, n in ipairs(candidate.nodes) do
      used[topo:router(n)] = true
   end
   candidate.used = 0
   for r in pairs(used) do
      inside, candidate.used = inside + total[r], candidate.used + 1
      if on then
         spare = spare + #(on[r] or {})
      else
         spare = spare + tables.count(free_nodes_on(topo, r), function(node) return free[node] end)
      end
   end
   candidate.routers = nil
   candidate.total, candidate.density, candidate.strangers = inside, #candidate.nodes / inside,
      inside - spare
   return candidate
end

--- Routers, those with the most free nodes first.
-- @param on map router → its free nodes
function common.fullest_first(on, routers)
   local list = table.move(routers, 1, #routers, 1, {})
   table.sort(list, function(one, other)
      return #on[one] > #on[other] or #on[one] == #on[other] and one < other
   end)
   return list
end

--- The first and the last of a list; of one with a single thing that alone.
function common.first_and_last(list)
   if #list <= 1 then
      return list
   end
   return { list[1], list[#list] }
end

--- Of some routers' free nodes `count`: of whole routers, the fullest first, or evenly.
-- @param on map router → array of free nodes
-- @param routers array
-- @return array of nodes, fewer where there are no more
function common.fill(on, routers, count, evenly)
   local list, out = common.fullest_first(on, routers), {}
   if not evenly then
      for _, r in ipairs(list) do
         for _, n in ipairs(on[r]) do
            if #out < count then
               out[#out + 1] = n
            end
         end
      end
      return out
   end
   local k, more = 1, true
   while more and #out < count do
      more = false
      for _, r in ipairs(list) do
         if on[r][k] and #out < count then
            out[#out + 1], more = on[r][k], true
         end
      end
      k = k + 1
   end
   return out
end

return common
