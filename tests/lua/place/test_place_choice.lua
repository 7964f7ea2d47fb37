-- SPDX-License-Identifier: GPL-2.0-or-later
-- What a set takes from later jobs, and the choice that weighs it.
local lu = require "luaunit"
local choice = require "taut.place.choice"
local pattern = require "taut.place.pattern"
local pieces = require "taut.place.pieces"
local rank = require "taut.place.rank"
local score = require "taut.place.score"
local sim = require "lib.sim"
local slurm = require "taut.place.slurm"

local tests = {}

local function line(n)
   local o = { order = {}, rank = {} }
   for i = 1, n do
      o.order[i], o.rank[i] = i, i
   end
   return o
end

local function set(list)
   local s = {}
   for _, n in ipairs(list) do
      s[n] = true
   end
   return s
end

local function range(from, to)
   local list = {}
   for n = from, to do
      list[#list + 1] = n
   end
   return list
end

local function k_log_k(k)
   return k > 0 and k * math.log(k, 2) or 0
end

function tests.test_loss_of_a_line()
   local free = set(range(1, 16))
   free[9] = nil -- runs of 8 and 7
   local list = slurm.pieces(free, line(16))
   for _, case in ipairs {
      { {}, 0 },
      { range(1, 8), 3 }, -- a whole run: log2 of its length
      { range(1, 4), (24 - 8) / 4 },
      { range(5, 8), (24 - 8) / 4 },
      { range(3, 6), (24 - 2 - 2) / 4 }, -- out of the middle
      { { 1, 3, 5, 7 }, 24 / 4 },
      { { 8, 10 }, (24 - k_log_k(7) + k_log_k(7) - k_log_k(6)) / 2 },
      { { 7, 5, 3, 1 }, 24 / 4 }, -- in any order
      { { 9 }, 0 },  -- none of the pieces'
   } do
      lu.assertAlmostEquals(pieces.loss(list, case[1]), case[2], 1e-9)
   end
end

function tests.test_loss_of_leaves_does_not_depend_on_where_in_them()
   local o = line(8)
   o.switches = { { name = "a", level = 0, nodes = { 1, 2, 3, 4 } },
      { name = "b", level = 0, nodes = { 5, 6, 7, 8 } },
      { name = "top", level = 1, nodes = range(1, 8) } }
   local list = slurm.pieces(set(range(1, 8)), o)
   lu.assertEquals(#list, 2)
   lu.assertAlmostEquals(pieces.loss(list, { 2 }), 8 - k_log_k(3), 1e-9)
   lu.assertAlmostEquals(pieces.loss(list, { 1, 4 }), (8 - 2) / 2, 1e-9)
   lu.assertAlmostEquals(pieces.loss(list, { 1, 8 }), 2 * (8 - k_log_k(3)) / 2, 1e-9)
end

-- The sum over all pieces, before and after, by hand.
function tests.test_loss_is_the_fall_of_the_sum()
   math.randomseed(5)
   for _ = 1, 300 do
      local free, chosen, rest = {}, {}, {}
      for n = 1, 40 do
         free[n] = math.random() < 0.7 or nil
         rest[n] = free[n]
         if free[n] and math.random() < 0.3 then
            chosen[#chosen + 1], rest[n] = n, nil
         end
      end
      local function total(s)
         local sum = 0
         for _, p in ipairs(slurm.pieces(s, line(40))) do
            sum = sum + k_log_k(p.count)
         end
         return sum
      end
      lu.assertAlmostEquals(pieces.loss(slurm.pieces(free, line(40)), chosen),
         #chosen > 0 and (total(free) - total(rest)) / #chosen or 0, 1e-9)
   end
end

function tests.test_sets_that_slurm_might_have_taken()
   local free = set { 1, 2, 3, 5, 6, 8, 9, 10, 11, 14, 15 }
   local list = slurm.pieces(free, line(16))
   local function nodes(count, most)
      local out = {}
      for i, c in ipairs(pieces.sets(list, count, most)) do
         out[i] = c.nodes
      end
      return out
   end
   lu.assertEquals(nodes(2, 9), { { 5, 6 }, { 14, 15 }, { 1, 2 }, { 2, 3 }, { 8, 9 }, { 10, 11 } })
   lu.assertEquals(nodes(2, 3), { { 5, 6 }, { 14, 15 }, { 1, 2 } })
   lu.assertEquals(nodes(4, 3), { { 8, 9, 10, 11 } })
   lu.assertEquals(nodes(5, 3), {})
end

local function chosen(topo, free, P, left, o)
   local l = line(#topo.nodes)
   local own = { nodes = assert(slurm.choice(free, P.ranks, l)) }
   o = o or { top = 5, left = left, rank = l.rank }
   own.score = score.evaluate(topo, own.nodes, P, o)
   local found = assert(rank.best(topo, free, P.ranks, P, o))
   return choice.best(topo, free, P, found, own, o, l), own, found, slurm.pieces(free, l)
end

function tests.test_never_longer_than_slurms_choice_nor_worth_less()
   math.randomseed(11)
   local topo, other = sim.torus({ 6, 4, 4 }, 1), 0
   for i = 1, 60 do
      local free, count, left = {}, 0, {}
      for n = 1, #topo.nodes do
         free[n] = math.random() < 0.5 or nil
         count = count + (free[n] and 1 or 0)
      end
      for _ = 1, 4 do
         left[math.random(topo.first_link, #topo.components)] = 0.25
      end
      local P = assert(pattern.make(i % 2 == 0 and "all-to-all" or "halo3d:compute=0.5",
         math.random(2, count)))
      local best, own, _, list = chosen(topo, free, P, left)
      local used = {}
      for _, n in ipairs(best.nodes) do
         lu.assertTrue(free[n] and not used[n])
         used[n] = true
      end
      lu.assertEquals(#best.nodes, P.ranks)
      lu.assertTrue(best.score.job_ratio <= own.score.job_ratio)
      other = other + (best ~= own and 1 or 0)
      -- more bits are only paid for with time: nobody else sends here
      if pieces.loss(list, best.nodes) > pieces.loss(list, own.nodes) then
         lu.assertTrue(best.score.job_ratio < own.score.job_ratio)
      end
   end
   lu.assertTrue(other > 20)
end

-- A small gain does not pay for many broken pieces: Slurm's choice is kept.
function tests.test_a_small_gain_is_left_alone()
   local topo = sim.torus({ 128 }, 1)
   local free = set(range(1, 4))
   for n = 8, 31 do
      free[n] = true
   end
   local P = assert(pattern.make("ring:compute=0.5", 4))
   -- the run of four crosses a link that has 95 % left; elsewhere there is a run of 24
   local left = { [assert(topo.component_id["r1/X+"])] = 0.95 }
   local best, own = chosen(topo, free, P, left)
   lu.assertEquals(own.nodes, { 1, 2, 3, 4 })
   lu.assertEquals(best.nodes, own.nodes)
   left = { [topo.component_id["r1/X+"]] = 0.2 }
   best, own = chosen(topo, free, P, left)
   lu.assertTrue(best.score.job_ratio < own.score.job_ratio)
end

function tests.test_pieces_longer_than_most_jobs_are_all_alike()
   local list = slurm.pieces(set(range(1, 32)), line(32))
   lu.assertAlmostEquals(pieces.loss(list, range(1, 8), 8), 3, 1e-9)
   lu.assertAlmostEquals(pieces.loss(list, range(9, 16), 8), 3, 1e-9)
   lu.assertAlmostEquals(pieces.loss(list, range(5, 12), 8), (32 * 3 - 20 * 3 - 4 * 2) / 8, 1e-9)
   lu.assertAlmostEquals(pieces.loss(list, range(1, 8), 0), 0, 1e-9)
end

-- Two runs alike, and alone the same time on both; but a running job fills a link of one.  (It
-- leaves the job itself room: a node's tx is its limit.)
function tests.test_what_running_jobs_use_is_left_to_them()
   local topo = assert(require("taut.topology").build { kind = "torus", dims = { 32 },
      nodes_per_router = 1, nodes = "n[0-31]", capacity = { link = 8e9, tx = 1e9, rx = 1e9 } })
   local free = set(range(1, 4))
   for n = 8, 11 do
      free[n] = true
   end
   local P = assert(pattern.make("ring", 4))
   local busy = { [assert(topo.component_id["r1/X+"])] = 4e9 }
   local best, own = chosen(topo, free, P, nil, { top = 5, background = busy, load = busy })
   lu.assertEquals(own.nodes, range(1, 4))
   lu.assertEquals(best.nodes, range(8, 11))
   lu.assertAlmostEquals(best.score.ratio, own.score.ratio, 1e-9)
   best = chosen(topo, free, P, nil, { top = 5 })
   lu.assertEquals(best.nodes, own.nodes)
end

return tests
