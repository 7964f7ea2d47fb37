--- Which pairs of nodes test what, and when.
--
-- In this order: an anchor for every node (a partner on the same router: no fabric link on the
-- way), then suspects and ties, then what a low test has just touched, then neighbouring routers
-- in TopoBW's even/odd phases, the stalest first, then what else the job's routes cross.  A phase
-- is a set of tests that run together: no component is on two routes of one phase, and no fabric
-- test's data meets another's acknowledgements.
-- Source of the phases: Ezell, CUG 2013 (Cray Gemini, TopoBW).
local phases = require "taut.phases"
local stages = require "taut.stages"

local plan = {}

local NEAREST = 32       -- nodes next to a suspect that are looked at, in a large allocation
local REACH_ROUTERS = 64 -- in a larger allocation nearly every link has neighbours at its ends

---------------------------------------------------------------- candidates

local function group_by_router(topo, nodes)
   local by = {}
   for _, n in ipairs(nodes) do
      local r = topo:router(n)
      by[r] = by[r] or {}
      table.insert(by[r], n)
   end
   return by
end

local function sorted_keys(t)
   local keys = {}
   for k in pairs(t) do
      keys[#keys + 1] = k
   end
   table.sort(keys)
   return keys
end

-- May a test use its whole route now?
local function allowed(ctx, route, urgent)
   for _, c in ipairs(stages.all(route)) do
      if ctx.coverage:is_busy(c, ctx.now) or
         not ctx.coverage:allows(c, ctx.test_s, ctx.now, urgent) then
         return false
      end
   end
   return true
end

-- To know whether anything is due, one test is enough.
local function is_enough(ctx)
   return ctx.first_only and ctx.any
end

local function try(ctx, t, from)
   if is_enough(ctx) then
      return nil
   end
   t.route = ctx.topo:route(t.src, t.dst, nil, t.rail)
   if not t.route or not allowed(ctx, t.route, t.confirms ~= nil) then
      return nil
   end
   local p = phases.place(ctx.pack, t, from)
   ctx.any = ctx.any or p ~= nil
   return p
end

-- A node's interfaces are tested each; most have one.
local function rails(ctx)
   return ctx.topo.rails or 1
end

-- Each node sends to and receives from its partner on the same router once.
local function anchors(ctx)
   for _, r in ipairs(sorted_keys(ctx.by_router)) do
      local list = ctx.by_router[r]
      for i, n in ipairs(list) do
         local partner = list[i % #list + 1]
         for rail = 1, partner ~= n and rails(ctx) or 0 do
            try(ctx, { src = n, dst = partner, streams = 1, kind = "anchor", rail = rail })
         end
      end
   end
end

-- Nodes of the allocation that can show something about component c: all of a small one, else
-- those nearest to its ends.
local function around(ctx, c)
   local nodes, topo = ctx.nodes, ctx.topo
   if #nodes <= 2 * NEAREST then
      return nodes
   end
   local end_node, list = topo:near(c)[1], {}
   for _, n in ipairs(nodes) do
      list[#list + 1] = { n = n, hops = topo:hops(end_node, n) }
   end
   table.sort(list, function(a, b)
      return a.hops ~= b.hops and a.hops < b.hops or a.hops == b.hops and a.n < b.n
   end)
   local near = {}
   for i = 1, 2 * NEAREST do
      near[i] = list[i].n
   end
   return near
end

-- Where on the route c surely is.
local function crosses(route, c)
   for i, r in ipairs(route or {}) do
      if r == c then
         return i
      end
   end
   return nil
end

-- Cost of a pair as evidence about `want`: other suspects and busy parts of the machine on the
-- way, routers outside the allocation, a far end seen already, the length.
local function cost(ctx, want, a, b, route)
   local v = #route
   for _, c in ipairs(stages.all(route)) do
      if c ~= want.component then
         if want.tied[c] then
            v = v + 1000
         elseif ctx.suspect[c] then
            v = v + 100
         end
         if ctx.topo:is_link(c) and not ctx.by_router[ctx.topo:from(c)] then
            v = v + 10
         end
      end
   end
   -- acknowledgements that go another way than the tie tell it apart, too
   for _, c in ipairs(stages.sure(ctx.topo:route(b, a))) do
      v = v + (want.tied[c] and 500 or 0)
   end
   return v + 20 * (want.seen[a] or 0) + 20 * (want.seen[b] or 0)
end

-- Pairs (a, b) whose route crosses want.component, the most telling first.
local function pairs_for(ctx, want)
   local topo, list = ctx.topo, {}
   local near = around(ctx, want.component)
   local only = topo:node_of(want.component)
   local kind = topo:kind(want.component)
   for _, a in ipairs(only and kind == "tx" and { only } or near) do
      for _, b in ipairs(only and kind == "rx" and { only } or near) do
         if a ~= b and ctx.here[a] and ctx.here[b] then
            local route = topo:route(a, b)
            if crosses(route, want.component) then
               list[#list + 1] = { src = a, dst = b, cost = cost(ctx, want, a, b, route) }
            end
         end
      end
   end
   table.sort(list, function(x, y)
      if x.cost ~= y.cost then
         return x.cost < y.cost
      end
      return x.src < y.src or x.src == y.src and x.dst < y.dst
   end)
   return list
end

-- Tests that decide about one suspect: each pair twice, with one stream and with several, since
-- the total of a shared link grows with the streams and that of a broken one does not.
local function confirm(ctx, want)
   local seen = setmetatable({}, { __index = function(_, n) return want.seen[n] or 0 end })
   local state = { component = want.component, tied = want.tied, seen = seen }
   local asked = 0
   while asked < want.tests do
      local best
      for _, p in ipairs(pairs_for(ctx, state)) do
         local used = ctx.paired[p.src .. ">" .. p.dst]
         if not used then
            local first = try(ctx, { src = p.src, dst = p.dst, streams = 1, kind = "confirm",
               confirms = want.component })
            local second = first and try(ctx, { src = p.src, dst = p.dst,
               streams = ctx.confirm_streams, kind = "confirm", confirms = want.component },
               first + 1)
            if second then
               best = p
               break
            end
         end
      end
      if not best then
         return
      end
      ctx.paired[best.src .. ">" .. best.dst] = true
      rawset(seen, best.src, seen[best.src] + 1)
      rawset(seen, best.dst, seen[best.dst] + 1)
      asked = asked + 1
   end
end

-- A component with a low test that nothing has cleared yet: one more look at it, by the pair that
-- tells most.
local function watch(ctx, want)
   for _, p in ipairs(pairs_for(ctx, want)) do
      local key = p.src .. ">" .. p.dst
      if not ctx.paired[key] and try(ctx, { src = p.src, dst = p.dst, streams = 1,
         kind = "watch" }) then
         ctx.paired[key] = true
         return
      end
   end
end

local function stalest(ctx, route)
   local oldest = math.huge
   for _, c in ipairs(stages.sure(route)) do
      oldest = math.min(oldest, ctx.coverage:last(c))
   end
   return oldest
end

-- Of the nodes on two routers, the pair whose own tx and rx were tested longest ago.
local function freshest_need(ctx, from, to)
   local best, oldest
   for _, a in ipairs(ctx.by_router[from]) do
      for _, b in ipairs(ctx.by_router[to]) do
         local age = ctx.coverage:last(ctx.topo.tx[a]) + ctx.coverage:last(ctx.topo.rx[b])
         if not oldest or age < oldest then
            best, oldest = { a, b }, age
         end
      end
   end
   return best[1], best[2]
end

-- A router without a neighbour in the allocation is tested against the nearest one there is.
local function lonely(ctx, groups)
   local has = {}
   for _, g in ipairs(groups) do
      for _, p in ipairs(g.pairs) do
         has[p[1]], has[p[2]] = true, true
      end
   end
   local routers, asked = sorted_keys(ctx.by_router), {}
   local function add(from, to)
      local key = ("far %d>%d"):format(from, to)
      if not asked[key] then
         asked[key] = true
         groups[#groups + 1] = { key = key, pairs = { { from, to } } }
      end
   end
   for _, r in ipairs(routers) do
      if not has[r] and #routers > 1 then
         local nearest, least
         for _, other in ipairs(routers) do
            local h = ctx.topo:hops(ctx.by_router[r][1], ctx.by_router[other][1])
            if other ~= r and (not least or h < least) then
               nearest, least = other, h
            end
         end
         add(r, nearest)
         add(nearest, r)
      end
   end
end

local function neighbours(ctx)
   local groups = ctx.topo:neighbours(ctx.by_router)
   lonely(ctx, groups)
   for _, g in ipairs(groups) do
      g.age = math.huge
      g.tests = {}
      for _, p in ipairs(g.pairs) do
         local a, b = freshest_need(ctx, p[1], p[2])
         for rail = 1, rails(ctx) do
            local route = ctx.topo:route(a, b, nil, rail)
            g.age = math.min(g.age, route and stalest(ctx, route) or math.huge)
            g.tests[#g.tests + 1] = { src = a, dst = b, streams = 1, kind = "neighbour",
               rail = rail }
         end
      end
   end
   table.sort(groups, function(a, b)
      return a.age ~= b.age and a.age < b.age or a.age == b.age and a.key < b.key
   end)
   for _, g in ipairs(groups) do
      for _, t in ipairs(g.tests) do
         try(ctx, t)
      end
   end
end

-- Links that routes between the allocation's nodes cross and that no test of the plan covers yet.
local function uncovered(ctx, route)
   local n, oldest = 0, math.huge
   for _, c in ipairs(stages.sure(route)) do
      if ctx.topo:is_link(c) and not ctx.covered[c] then
         n, oldest = n + 1, math.min(oldest, ctx.coverage:last(c))
      end
   end
   return n, oldest
end

-- Pairs of routers between which the plan might reach such a link.
local function far_pairs(ctx, routers)
   local list = {}
   for _, r in ipairs(routers) do
      for _, other in ipairs(routers) do
         local route = r ~= other and ctx.topo:route(ctx.by_router[r][1],
            ctx.by_router[other][1]) or {}
         local n, oldest = uncovered(ctx, route)
         if n > 0 then
            list[#list + 1] = { r, other, hops = #route, age = oldest }
         end
      end
   end
   table.sort(list, function(a, b)
      if a.hops ~= b.hops then
         return a.hops < b.hops
      elseif a.age ~= b.age then
         return a.age < b.age
      end
      return a[1] < b[1] or a[1] == b[1] and a[2] < b[2]
   end)
   return list
end

local function cover(ctx, route)
   for _, c in ipairs(stages.sure(route)) do
      ctx.covered[c] = true
   end
end

-- What the job will use and no pair of neighbours tests: the shortest routes across it.
local function reach(ctx)
   local routers = sorted_keys(ctx.by_router)
   if #routers > REACH_ROUTERS or is_enough(ctx) then
      return
   end
   ctx.covered = {}
   for _, phase in ipairs(ctx.pack.phases) do
      for _, t in ipairs(phase.tests) do
         cover(ctx, t.route)
      end
   end
   for _, p in ipairs(far_pairs(ctx, routers)) do
      local a, b = freshest_need(ctx, p[1], p[2])
      local t = { src = a, dst = b, streams = 1, kind = "reach" }
      if uncovered(ctx, ctx.topo:route(a, b)) > 0 and try(ctx, t) then
         cover(ctx, t.route)
      end
   end
end

---------------------------------------------------------------- the plan

local function context(o)
   local ctx = { topo = o.topology, nodes = o.nodes, coverage = o.coverage, now = o.now,
      test_s = o.checks.test_ms / 1000, confirm_streams = o.checks.confirm_streams,
      suspect = {}, here = {}, paired = {}, o = o }
   for _, n in ipairs(o.nodes) do
      ctx.here[n] = true
   end
   for _, w in ipairs(o.wanted or {}) do
      ctx.suspect[w.component] = true
   end
   ctx.by_router = group_by_router(o.topology, o.nodes)
   local most = (o.budget_ms - o.checks.lead_ms) // (o.checks.test_ms + o.checks.gap_ms)
   ctx.pack = phases.packer(o.topology, math.max(0, most))
   return ctx
end

local function run(ctx)
   local o = ctx.o
   if o.routine ~= false then
      anchors(ctx)
   end
   for _, want in ipairs(not is_enough(ctx) and o.wanted or {}) do
      local only = ctx.topo:node_of(want.component)
      if not only or ctx.here[only] then
         confirm(ctx, want)
      end
   end
   if o.routine ~= false and not is_enough(ctx) then
      for _, want in ipairs(o.watched or {}) do
         watch(ctx, want)
      end
      neighbours(ctx)
      reach(ctx)
   end
   local list = {}
   for _, phase in ipairs(ctx.pack.phases) do
      if #phase.tests > 0 then
         list[#list + 1] = phase.tests
      end
   end
   return list
end

--- Make a plan.
-- @param o table:
--   topology; nodes (array of node numbers that take part); coverage (see coverage.lua);
--   wanted: suspects, array of { component, tied = set of components, seen = map node → tests
--     already low or confirmed with it, tests = how many pairs are still needed };
--   watched: components with low tests that are no suspects yet, in the same form;
--   checks: settings; budget_ms: for all phases; now: seconds;
--   routine: false to test suspects only (idle checks)
-- @return array of phases, each an array of { src, dst, route, streams, kind, confirms }
function plan.make(o)
   return run(context(o))
end

--- Would a plan test anything?
-- @param o as for make
function plan.is_due(o)
   local ctx = context(o)
   ctx.first_only = true
   return #run(ctx) > 0
end

--- Number the tests of a plan, give each its offset, and reserve their components.
-- @param made what make returned
-- @param o the same table as for make
-- @param next_id function that returns a new test id
-- @return flat array of tests with id, phase, start_ms, dur_ms; milliseconds until the last ends
function plan.schedule(made, o, next_id)
   local c, list, at = o.checks, {}, o.checks.lead_ms
   for p, tests in ipairs(made) do
      for _, t in ipairs(tests) do
         t.id, t.phase, t.start_ms, t.dur_ms = next_id(), p, at, c.test_ms
         for _, comp in ipairs(stages.all(t.route)) do
            o.coverage:reserve(comp, c.test_ms / 1000, o.now, o.now + (at + c.test_ms) / 1000)
         end
         list[#list + 1] = t
      end
      at = at + c.test_ms + c.gap_ms
   end
   return list, at
end

return plan
