-- SPDX-License-Identifier: GPL-2.0-or-later
--- What the searches of all kinds of fabric share.
local sets = require "taut.sets"

local common = {}

local LEAST_LEFT = 0.02 -- a failed link counts as one with this left

--- How much longer what crosses a link takes: 0 for a healthy one.
function common.weight(left)
   return 1 / math.max(left, LEAST_LEFT) - 1
end

--- Compare arrays of numbers: below 0, 0 or above it.
function common.compare(a, b)
   for i = 1, math.min(#a, #b) do
      if a[i] ~= b[i] then
         return a[i] - b[i]
      end
   end
   return #a - #b
end

--- Nodes in the order in which a job's ranks go through them: o.rank (node → place in Slurm's
-- table), else by number.
function common.sorted(nodes, o)
   return sets.sorted(nodes, o.rank)
end

--- fn(list, candidate) that appends a candidate whose nodes are not those of an earlier one.
-- Returns whether it did.
function common.taker()
   local seen = {}
   return function(list, c)
      local key = table.concat(c.nodes, ",")
      if seen[key] then
         return false
      end
      seen[key] = true
      list[#list + 1] = c
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
local function nodes_on(topo, r)
   local m = machine_of(topo)
   m.nodes = m.nodes or {}
   m.nodes[r] = m.nodes[r] or topo:on_router(r)
   return m.nodes[r]
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

--- Free nodes by router, each list ascending, at most o.per_router on each; and the routers that
-- have some, ascending.  Kept as long as o.version is the same; leave them as they are.
function common.by_router(topo, free, o)
   local m = machine_of(topo)
   local memo = m.memo
   if not memo or not o.version or memo.free ~= free or memo.version ~= o.version or
      memo.per_router ~= o.per_router then
      memo = { free = free, version = o.version, per_router = o.per_router }
      memo.on, memo.routers = list_by_router(topo, free, o.per_router)
      m.memo = o.version and memo or nil
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
      open[p] = free[n] and open[p] - 1 or open[p]
   end
   for p, n in pairs(open) do
      sum = sum + (n >= least and n >= density * all[p] and n or 0)
   end
   return sum
end

--- Fill in a candidate: its submesh is the routers its nodes are on, unless it says which routers
-- it has (c.routers, a set).
function common.describe(topo, free, c)
   local total = machine_of(topo).total
   local used, inside, spare = c.routers or {}, 0, 0
   local memo = machine_of(topo).memo
   local on = memo and memo.free == free and not memo.per_router and memo.on
   for _, n in ipairs(c.nodes) do
      used[topo:router(n)] = true
   end
   c.used = 0
   for r in pairs(used) do
      inside, c.used = inside + total[r], c.used + 1
      if on then
         spare = spare + (on[r] and #on[r] or 0)
      else
         for _, n in ipairs(nodes_on(topo, r)) do
            spare = spare + (free[n] and 1 or 0)
         end
      end
   end
   c.routers = nil
   c.total, c.density, c.strangers = inside, #c.nodes / inside, inside - spare
   return c
end

--- Of some routers' free nodes `count`: of whole routers, the fullest first, or evenly.
-- @param on map router → array of free nodes
-- @param routers array
-- @return array of nodes, fewer where there are no more
function common.fill(on, routers, count, evenly)
   local list, out = table.move(routers, 1, #routers, 1, {}), {}
   table.sort(list, function(a, b)
      return #on[a] ~= #on[b] and #on[a] > #on[b] or #on[a] == #on[b] and a < b
   end)
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
