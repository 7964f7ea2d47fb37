-- SPDX-License-Identifier: GPL-2.0-or-later
local lu = require "luaunit"
local slurm = require "taut.place.slurm"

local tests = {}

local function line(n)
   local order, rank = {}, {}
   for i = 1, n do
      order[i], rank[i] = i, i
   end
   return { order = order, rank = rank }
end

local function set(list)
   local s = {}
   for _, n in ipairs(list) do
      s[n] = true
   end
   return s
end

function tests.test_the_smallest_run_that_is_large_enough()
   local free = set { 1, 2, 3, 4, 5, 7, 8, 9, 11, 12 }
   lu.assertEquals(slurm.choice(free, 3, line(12)), { 7, 8, 9 })
   lu.assertEquals(slurm.choice(free, 2, line(12)), { 11, 12 })
   lu.assertEquals(slurm.choice(free, 4, line(12)), { 1, 2, 3, 4 })
end

function tests.test_else_the_largest_run_and_the_best_for_the_rest()
   local free = set { 1, 2, 3, 5, 6, 7, 8, 10, 12, 13 }
   lu.assertEquals(slurm.choice(free, 6, line(13)), { 5, 6, 7, 8, 12, 13 })
   lu.assertEquals(slurm.choice(free, 5, line(13)), { 5, 6, 7, 8, 10 })
   lu.assertNil(slurm.choice(free, 11, line(13)))
end

function tests.test_an_order_that_is_not_that_of_the_numbers()
   local o = { order = { 4, 2, 1, 3 }, rank = { [4] = 1, [2] = 2, [1] = 3, [3] = 4 } }
   lu.assertEquals(slurm.choice(set { 1, 2, 3, 4 }, 2, o), { 4, 2 })
end

function tests.test_light_nodes_first()
   local o = line(8)
   o.weight = { 2, 2, 2, 2, 1, 1, 2, 2 }
   lu.assertEquals(slurm.choice(set { 1, 2, 3, 4, 5, 6, 7, 8 }, 2, o), { 5, 6 })
   lu.assertEquals(slurm.choice(set { 1, 2, 3, 4, 5, 6, 7, 8 }, 3, o), { 5, 6, 7 })
end

local function tree()
   local o = line(12)
   o.switches = { { name = "s0", level = 0, nodes = { 1, 2, 3, 4 } },
      { name = "s1", level = 0, nodes = { 5, 6, 7, 8 } },
      { name = "s2", level = 0, nodes = { 9, 10, 11, 12 } },
      { name = "t", level = 1, nodes = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12 } } }
   return o
end

function tests.test_a_tree_takes_the_leaf_with_fewest_free_that_suffice()
   local free = set { 1, 2, 3, 4, 5, 6, 7, 9, 10 }
   lu.assertEquals(slurm.choice(free, 2, tree()), { 9, 10 })
   lu.assertEquals(slurm.choice(free, 3, tree()), { 5, 6, 7 })
   lu.assertEquals(slurm.choice(free, 6, tree()), { 1, 2, 3, 4, 9, 10 })
   lu.assertNil(slurm.choice(free, 10, tree()))
end

function tests.test_dragonfly_takes_leaves_in_turn_where_one_does_not_do()
   local o = tree()
   o.dragonfly = true
   local free = set { 1, 2, 3, 4, 5, 6, 7, 9, 10 }
   lu.assertEquals(slurm.choice(free, 3, o), { 5, 6, 7 })
   lu.assertEquals(slurm.choice(free, 6, o), { 1, 2, 5, 6, 9, 10 })
end

return tests
