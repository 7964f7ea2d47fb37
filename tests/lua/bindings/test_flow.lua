-- SPDX-License-Identifier: GPL-2.0-or-later
-- The time of a pattern against a walk of all its messages, one by one.
local lu = require "luaunit"
local pattern = require "taut.place.pattern"
local score = require "taut.place.score"
local stages = require "taut.topology.stages"
local topology = require "taut.topology"

local tests = {}

local function build(conf)
   return assert(topology.build(conf))
end

local function torus(dims, npr)
   local n = npr
   for _, len in ipairs(dims) do
      n = n * len
   end
   return build { kind = "torus", dims = dims, nodes_per_router = npr,
      nodes = ("n[0-%d]"):format(n - 1), capacity = { tx = 6e9, rx = 7e9, X = 9e9, Y = 4e9,
         Z = 10e9, link = 8e9 } }
end

-- Machines of every kind, some with several rails.
local machines = {
   function() return torus({ 4, 3, 2 }, 2) end,
   function() return torus({ 5, 4 }, 1) end,
   function()
      return build { kind = "mesh", dims = { 3, 3, 2 }, nodes_per_router = 1, nodes = "m[0-17]",
         capacity = 10e9 }
   end,
   function()
      return build { kind = "fattree", nodes_per_leaf = 3, levels = { { down = 4, up = 2 },
         { down = 2, up = 2, parallel = 2 } }, nodes = "f[0-23]", capacity = 5e9 }
   end,
   function()
      return build { kind = "fattree", nodes_per_leaf = 2, levels = { { down = 6, up = 3 } },
         nodes = "f[0-11]", capacity = 5e9, rails = 2 }
   end,
   function()
      return build { kind = "fattree", nodes_per_leaf = 2, levels = { { down = 3, up = 2 } },
         nodes = "f[0-5]", capacity = 5e9, routing = "ecmp" }
   end,
   function()
      return build { kind = "dragonfly", groups = 4, rows = 2, columns = 2, nodes_per_router = 2,
         nodes = "d[0-31]", global_links = 2, capacity = 5e9, routing = "minimal" }
   end,
   function()
      return build { kind = "dragonfly", groups = 5, routers = 3, nodes_per_router = 1,
         nodes = "d[0-14]", global_links = 2, capacity = 5e9, routing = "valiant" }
   end,
   function()
      return build { kind = "hyperx", dims = { 3, 4 }, nodes_per_router = 1, nodes = "h[0-11]",
         capacity = 5e9 }
   end,
}

-- Bytes on each component, pairs without a route: route by route.
local function walk(topo, nodes, P)
   local load, lost, sent = {}, 0, 0
   local function add(c, bytes)
      load[c] = (load[c] or 0) + bytes
   end
   local per_step = {}
   local function message(a, b, bytes)
      if a == b or bytes <= 0 then
         return
      end
      local routes = {}
      for k = 1, topo.rails do
         routes[#routes + 1] = topo:router(a, k) and topo:router(b, k) and topo:route(a, b, nil, k)
            or nil
      end
      lost = lost + (#routes == 0 and 1 or 0)
      sent = sent + (#routes > 0 and bytes or 0)
      for _, route in ipairs(routes) do
         for _, stage in ipairs(route) do
            for i, c in ipairs(type(stage) == "table" and stage or { stage }) do
               add(c, bytes / #routes * (type(stage) == "table" and stage.w[i] or 1))
            end
         end
      end
   end
   for i, s in ipairs(P.steps) do
      load = {}
      if s.kind == "all-to-all" then
         for _, a in ipairs(nodes) do
            for _, b in ipairs(nodes) do
               message(a, b, s.bytes)
            end
         end
      else
         for k = 1, #s.src do
            message(nodes[s.src[k]], nodes[s.dst[k]], type(s.bytes) == "table" and s.bytes[k]
               or s.bytes)
         end
      end
      per_step[i] = load
   end
   return per_step, lost, sent
end

local function time_of(topo, loads, P, o)
   local total, ideal = 0, 0
   for i, load in ipairs(loads) do
      local most, least = 0, 0
      local of_node = {}
      for c, bytes in pairs(load) do
         local all = topo.capacity[c] * math.min(o.left[c] or 1, topo.degraded[c] or 1)
         local others = o.background[c] or 0
         most = math.max(most, bytes / (all * all / (all + others)))
         if topo:node_of(c) then
            local key = topo:node_of(c) * 2 + c % 2
            of_node[key] = (of_node[key] or 0) + bytes
         end
      end
      for key, bytes in pairs(of_node) do
         local can = 0
         for k = 1, topo.rails do
            local c = 2 * (#topo.nodes * (k - 1) + key // 2) - key % 2
            can = can + (topo:router(key // 2, k) and topo.capacity[c] or 0)
         end
         least = math.max(least, bytes / can)
      end
      total, ideal = total + P.steps[i].times * most, ideal + P.steps[i].times * least
   end
   return total, ideal
end

local function near(got, want, what, share)
   if want == math.huge or got == math.huge or want ~= want then
      lu.assertEquals(got, want, what)
      return
   end
   lu.assertTrue(math.abs(got - want) <= (share or 1e-6) * math.max(math.abs(want), 1e-12),
      ("%s: got %.15g, want %.15g"):format(what, got, want))
end

local SPECS = { "all-to-all:bytes=10k", "ring", "shift:by=3", "halo2d", "halo3d:bytes=64Ki",
   "halo27:side=4", "lattice4d", "sweep", "random-pairs:seed=7", "bisection", "all-reduce-ring",
   "all-reduce-rd" }

local function draw(topo, n)
   local list = {}
   for i = 1, n do
      list[i] = math.random(#topo.nodes) -- a node can have several ranks
   end
   return list
end

local function some(topo, share, value)
   local map = {}
   for c = 1, #topo.components do
      map[c] = math.random() < share and value(c) or nil
   end
   return map
end

local function compare(topo, label)
   local n = math.random(2, 16)
   local nodes = draw(topo, n)
   local o = { load = true,
      left = some(topo, 0.2, function() return math.random() * 0.9 + 0.05 end),
      background = some(topo, 0.2, function(c) return topo.capacity[c] * math.random() end) }
   local spec = SPECS[math.random(#SPECS)]
   local P = assert(pattern.make(spec, n))
   local s = score.evaluate(topo, nodes, P, o)
   local loads, lost, sent = walk(topo, nodes, P)
   local what = ("%s %s of %d"):format(label, spec, n)
   lu.assertEquals(s.lost, lost, what)
   local total = {}
   for i, load in ipairs(loads) do
      for c, bytes in pairs(load) do
         total[c] = (total[c] or 0) + bytes * P.steps[i].times
      end
   end
   if lost > 0 then
      lu.assertEquals(s.time_s, math.huge, what)
      return
   end
   for c = 1, #topo.components do
      near(s.load[c] or 0, total[c] or 0, what .. " on " .. topo.components[c])
   end
   local time, ideal = time_of(topo, loads, P, o)
   near(s.time_s, time, what)
   near(s.ideal_s, ideal, what .. " ideal")
   if #P.steps == 1 then
      near(s.bytes, sent * P.steps[1].times, what .. " bytes")
   end
end

function tests.test_loads_and_times_are_those_of_every_message()
   math.randomseed(11)
   for i, make in ipairs(machines) do
      local topo = make()
      for k = 1, 40 do
         compare(topo, ("machine %d, %d"):format(i, k))
      end
   end
end

function tests.test_also_with_failed_and_slow_links()
   math.randomseed(12)
   for i, make in ipairs(machines) do
      local topo = make()
      for k = 1, 30 do
         topo:set_health(some(topo, 0.1, function(c)
            return topo:is_link(c) and (math.random(2) == 1 and 0 or math.random()) or nil
         end), { report = false })
         compare(topo, ("machine %d with failures, %d"):format(i, k))
      end
   end
end

-- The balance of adaptive traffic goes in steps, the last ones of this size: a rounding error may
-- turn one of them round.
local BALANCE = 2e-3

-- Adaptive routing looks at all traffic at once: pairs listed one by one must come out as the
-- all-to-all of them does, which is added up by group.
function tests.test_adaptive_all_to_all_is_that_of_its_pairs()
   math.randomseed(13)
   for k = 1, 60 do
      local groups = math.random(2, 6)
      local topo = build { kind = "dragonfly", groups = groups, rows = 2, columns = 3,
         nodes_per_router = 1, nodes = ("d[0-%d]"):format(groups * 6 - 1), capacity = 5e9,
         global_links = math.random(3) }
      topo:set_health(some(topo, k % 3 * 0.1, function(c)
         return topo:is_link(c) and (math.random(2) == 1 and 0 or math.random()) or nil
      end), { report = false })
      local n, src, dst = math.random(2, 20), {}, {}
      for a = 1, n do
         for b = 1, n do
            if a ~= b then
               src[#src + 1], dst[#dst + 1] = a, b
            end
         end
      end
      local P = assert(pattern.make("all-to-all:bytes=1k", n))
      local pairs_of = { name = "x", ranks = n, compute = 0, steps = {
         { kind = "pairs", src = src, dst = dst, bytes = 1e3, times = 1 } } }
      for _ = 1, 4 do
         local nodes = draw(topo, n)
         local s = score.evaluate(topo, nodes, P, { load = true })
         local t = score.evaluate(topo, nodes, pairs_of, { load = true })
         -- what one leaves behind must not show in the next
         lu.assertEquals(score.evaluate(topo, nodes, P, { load = true }), s)
         if t.lost == 0 then
            lu.assertEquals(s.lost, 0)
            near(s.time_s, t.time_s, "time", BALANCE)
            for c = 1, #topo.components do
               near(s.load[c] or 0, t.load[c] or 0, topo.components[c], BALANCE)
            end
         end
      end
   end
end

-- The balance of adaptive traffic by its definition (dragonfly/ugal.c), on groups of one
-- router: bytes on the link from group a to group z, by a * groups + z.
local function balanced(groups, demand, left)
   local moved, step, on = {}, 0.25, nil
   local function is_way(a, k, z)
      return k ~= a and k ~= z and left[a * groups + k] > 0 and left[k * groups + z] > 0
   end
   local function each_way(a, z, fn)
      for k = 0, groups - 1 do
         if is_way(a, k, z) then
            fn(k)
         end
      end
   end
   local function fill()
      on = {}
      for p = 0, groups * groups - 1 do
         on[p] = 0
      end
      for p, bytes in pairs(demand) do
         local a, z, n = p // groups, p % groups, 0
         each_way(a, z, function() n = n + 1 end)
         local m = n > 0 and (moved[p] or 0) or 0
         on[p] = on[p] + bytes * (1 - m)
         each_way(a, z, function(k)
            on[a * groups + k] = on[a * groups + k] + bytes * m / n
            on[k * groups + z] = on[k * groups + z] + bytes * m / n
         end)
      end
   end
   for _ = 1, 60 do
      fill()
      for p in pairs(demand) do
         local a, z, n, sum, was = p // groups, p % groups, 0, 0, moved[p] or 0
         each_way(a, z, function(k)
            local x, y = a * groups + k, k * groups + z
            n, sum = n + 1, sum + math.max(on[x] / left[x], on[y] / left[y])
         end)
         if n > 0 and left[p] == 0 then
            moved[p] = 1
         elseif n > 0 and on[p] / left[p] > 2 * sum / n * (1 + 1e-9) then
            moved[p] = math.min(1, was + step)
         elseif n > 0 then
            moved[p] = was < step and 0 or was - step
         end
      end
      step = step * 0.9
   end
   fill()
   return on
end

function tests.test_the_balance_of_adaptive_traffic()
   math.randomseed(16)
   for k = 1, 150 do
      local groups = math.random(3, 7)
      local topo = build { kind = "dragonfly", groups = groups, routers = 1, nodes_per_router = 4,
         nodes = ("d[0-%d]"):format(groups * 4 - 1), capacity = 5e9, global_links = 1 }
      local health = some(topo, k % 3 * 0.15, function(c)
         return topo:is_link(c) and (math.random(2) == 1 and 0 or math.random()) or nil
      end)
      topo:set_health(health, { report = false })
      local left, demand, src, dst, bytes = {}, {}, {}, {}, {}
      for p = 0, groups * groups - 1 do
         left[p] = 0
      end
      for c = topo.first_link, #topo.components do
         left[topo:group(topo:from(c)) * groups + topo:group(topo:to(c))] = health[c] or 1
      end
      local n = #topo.nodes
      for i = 1, math.random(20) do
         src[i], dst[i], bytes[i] = math.random(n), math.random(n), math.random(9) * 1e3
         local p = topo:group(topo:router(src[i])) * groups + topo:group(topo:router(dst[i]))
         if p // groups ~= p % groups then
            demand[p] = (demand[p] or 0) + bytes[i]
         end
      end
      local all = {}
      for i = 1, n do
         all[i] = i
      end
      local s = score.evaluate(topo, all, { ranks = n, compute = 0, steps = { { kind = "pairs",
         src = src, dst = dst, bytes = bytes, times = 1 } } }, { load = true })
      local on = balanced(groups, demand, left)
      for c = topo.first_link, s.lost == 0 and #topo.components or 0 do
         local p = topo:group(topo:from(c)) * groups + topo:group(topo:to(c))
         near(s.load[c] or 0, on[p], ("%d: %s"):format(k, topo.components[c]))
      end
   end
end

function tests.test_a_failed_link_that_routes_still_use_takes_for_ever()
   local topo = torus({ 4, 3, 2 }, 2)
   local P = assert(pattern.make("ring", 4))
   local c = assert(topo.component_id["r0.0.0/X+"])
   local nodes = { 1, topo:on_router(topo:to(c))[1], 5, 6 }
   local s = score.evaluate(topo, nodes, P, { left = { [c] = 0 } })
   lu.assertEquals(s.time_s, math.huge)
   lu.assertEquals(s.slowest, c)
   lu.assertEquals(s.lost, 0)
end

function tests.test_the_slowest_component_is_named()
   local topo = torus({ 8, 2, 2 }, 1)
   local P = assert(pattern.make("shift:by=1,bytes=6M", 2))
   local c = assert(topo.component_id["r0.0.0/X+"])
   local far = topo:on_router(topo:to(c))[1]
   local s = score.evaluate(topo, { 1, far }, P, { left = { [c] = 0.25 } })
   lu.assertEquals(topo.components[s.slowest], "r0.0.0/X+")
   lu.assertAlmostEquals(s.time_s, 6e6 / (9e9 * 0.25), 1e-12)
   lu.assertAlmostEquals(s.ideal_s, 6e6 / 6e9, 1e-12)
   lu.assertAlmostEquals(s.ratio, 6 / 2.25, 1e-9)
   lu.assertEquals(s.hops_mean, 1)
   local half = assert(pattern.make("shift:by=1,bytes=6M,compute=0.5", 2))
   lu.assertAlmostEquals(score.evaluate(topo, { 1, far }, half, { left = { [c] = 0.25 } })
      .job_ratio, 0.5 + 0.5 * 6 / 2.25, 1e-9)
end

function tests.test_others_take_their_share()
   local topo = torus({ 8, 2, 2 }, 1)
   local P = assert(pattern.make("shift:by=1,bytes=9M", 2))
   local c = assert(topo.component_id["r0.0.0/X+"])
   local nodes = { 1, topo:on_router(topo:to(c))[1] }
   local quiet = score.evaluate(topo, nodes, P)
   local busy = score.evaluate(topo, nodes, P, { background = { [c] = 9e9 } })
   lu.assertEquals(topo.components[quiet.slowest], "n0/tx")
   lu.assertAlmostEquals(busy.time_s, 9e6 / 4.5e9, 1e-12) -- two who want it all have half each
   lu.assertAlmostEquals(busy.ideal_s, quiet.ideal_s, 1e-12)
end

function tests.test_ranks_of_one_node_need_no_network()
   local topo = torus({ 4, 3, 2 }, 2)
   for _, spec in ipairs { "all-to-all", "ring" } do
      local s = score.evaluate(topo, { 3, 3, 3 }, assert(pattern.make(spec, 3)))
      lu.assertEquals(s.time_s, 0)
      lu.assertEquals(s.ratio, 1)
      lu.assertNil(s.slowest)
   end
end

function tests.test_one_rank()
   local topo = torus({ 4, 3, 2 }, 2)
   for _, name in ipairs(pattern.names) do
      if name ~= "matrix" then
         lu.assertEquals(score.evaluate(topo, { 1 }, assert(pattern.make(name, 1))).ratio, 1)
      end
   end
end

function tests.test_as_many_nodes_as_ranks()
   local topo = torus({ 4, 3, 2 }, 2)
   local P = assert(pattern.make("ring", 3))
   lu.assertErrorMsgContains("2 nodes for 3 ranks", score.evaluate, topo, { 1, 2 }, P)
   lu.assertErrorMsgContains("node 49 is not within 1 to 48", score.evaluate, topo, { 1, 2, 49 }, P)
   lu.assertErrorMsgContains("is not within 0 to 1", score.evaluate, topo, { 1, 2, 3 }, P,
      { left = { [1] = 1.5 } })
end

function tests.test_hops_max()
   math.randomseed(14)
   for _, make in ipairs(machines) do
      local topo = make()
      local nodes = draw(topo, 9)
      local most = 0
      for _, a in ipairs(nodes) do
         for _, b in ipairs(nodes) do
            most = math.max(most, topo:hops(a, b))
         end
      end
      lu.assertEquals(score.evaluate(topo, nodes, assert(pattern.make("ring", 9)),
         { hops = true }).hops_max, most)
   end
end

---------------------------------------------------------------- fair rates

-- Rates of messages by the definition: raise all that are not stopped by a little until something
-- is full.  Each flow is { [component] = share }.
local function fair_rates(capacity, flows)
   local rate, stopped, room = {}, {}, {}
   for c, v in pairs(capacity) do
      room[c] = v
   end
   local left = #flows
   while left > 0 do
      local step = math.huge
      local want = {}
      for i, f in ipairs(flows) do
         for c, share in pairs(not stopped[i] and f or {}) do
            want[c] = (want[c] or 0) + share
         end
      end
      for c, w in pairs(want) do
         step = math.min(step, room[c] / w)
      end
      for c, w in pairs(want) do
         room[c] = room[c] - w * step
      end
      for i, f in ipairs(flows) do
         rate[i] = stopped[i] and rate[i] or (rate[i] or 0) + step
         local full = false
         for c in pairs(f) do
            full = full or room[c] <= capacity[c] * 1e-9
         end
         if full and not stopped[i] then
            stopped[i], left = true, left - 1
         end
      end
   end
   return rate
end

function tests.test_fair_rates_are_max_min_fair()
   math.randomseed(15)
   for i, make in ipairs(machines) do
      local topo = make()
      for _ = 1, 10 do
         local n = math.random(2, 10)
         local nodes, o = draw(topo, n), { fair = true, left = some(topo, 0.2, function()
            return math.random() * 0.9 + 0.1
         end) }
         local P = assert(pattern.make(({ "all-to-all", "random-pairs:seed=3", "shift:by=2" })
            [math.random(3)], n))
         local capacity, flows = {}, {}
         for c = 1, #topo.components do
            capacity[c] = topo.capacity[c] * (o.left[c] or 1)
         end
         local function flow(a, b)
            if a == b then
               return
            end
            local f = {}
            for rail = 1, topo.rails do
               for _, stage in ipairs(topo:route(a, b, nil, rail)) do
                  for k, c in ipairs(stages.all({ stage })) do
                     local w = type(stage) == "table" and stage.w[k] or 1
                     f[c] = (f[c] or 0) + w / topo.rails
                  end
               end
            end
            flows[#flows + 1] = f
         end
         local s = P.steps[1]
         for a = 1, s.kind == "all-to-all" and n or 0 do
            for b = 1, n do
               flow(nodes[a], nodes[b])
            end
         end
         for k = 1, s.src and #s.src or 0 do
            flow(nodes[s.src[k]], nodes[s.dst[k]])
         end
         local last, sum = 0, 0
         for _, r in ipairs(fair_rates(capacity, flows)) do
            last, sum = math.max(last, P.bytes / r), sum + P.bytes / r
         end
         local got = score.evaluate(topo, nodes, P, o).fair
         local what = ("machine %d, %s of %d"):format(i, P.name, n)
         lu.assertTrue(math.abs(got.time_s - last) <= 1e-5 * last, what)
         if #flows > 0 then
            lu.assertTrue(math.abs(got.mean_s - sum / #flows) <= 1e-5 * last, what)
         end
      end
   end
end

return tests
