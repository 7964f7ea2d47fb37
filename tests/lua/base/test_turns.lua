-- SPDX-License-Identifier: GPL-2.0-or-later
-- Turns: who asks much takes none from those who ask little, and nodes come first.
local loop = require "taut.loop"
local looptest = require "lib.looptest"
local lu = require "luaunit"
local task = require "taut.base.task"
local turns = require "taut.base.turns"

local tests = {}

-- Adds fn's that note their key; returns what was noted once all have run.
local function order_of(list)
   local out = {}
   for _, key in ipairs(list) do
      turns.add(key, function()
         lu.assertEquals(turns.whose(), key)
         out[#out + 1] = key
      end)
   end
   looptest.until_true(function() return #out == #list end)
   return out
end

function tests.test_each_in_his_turn_whoever_wants_how_many()
   lu.assertEquals(order_of { 1000, 1000, 1000, 1001, 1001, 1002 },
      { 1000, 1001, 1002, 1000, 1001, 1000 })
end

function tests.test_who_may_change_something_comes_first()
   lu.assertEquals(order_of { 1000, 1000, turns.first, 1001, turns.first },
      { turns.first, turns.first, 1000, 1001, 1000 })
   lu.assertEquals(turns.whose(), turns.own)
end

-- 32 clients asked for advice in a loop, and most nodes found no time.
function tests.test_a_timer_of_nodes_is_not_kept_waiting()
   local out, left = {}, 20
   local function again()
      left = left - 1
      out[#out + 1] = "question"
      if left > 0 then
         turns.add(1000, again)
      end
   end
   turns.add(1000, again)
   local function node()
      out[#out + 1] = "node"
      if #out < 100 and left > 10 then
         loop.timer(0, node)
      end
   end
   loop.timer(0, node)
   looptest.until_true(function() return left == 0 end)
   local first = 0
   for i, word in ipairs(out) do
      first = word == "question" and first == 0 and i or first
   end
   lu.assertTrue(first > 1, first)
end

-- … and where nodes never leave a moment, questions have one now and then.
function tests.test_questions_have_a_turn_though_nodes_never_rest()
   local done, stop = 0, false
   local function busy()
      if not stop then
         loop.timer(0, busy)
      end
   end
   busy()
   for _ = 1, 3 do
      turns.add(1000, function() done = done + 1 end)
   end
   looptest.until_true(function() return done == 3 end)
   stop = true
end

function tests.test_a_turn_that_fails_stops_no_other()
   local done
   looptest.quietly(function()
      turns.add(1000, function() error "odd" end)
      turns.add(1000, function() done = turns.whose() end)
      looptest.until_true(function() return done end)
   end)
   lu.assertEquals(done, 1000)
end

function tests.test_the_pieces_of_a_task_are_his_who_asked_for_it()
   local whose, over = {}, false
   turns.add(1000, function()
      task.start(function()
         for _ = 1, 3 do
            local until_ns = loop.now_ns() + task.turn_ns + 1000000
            while loop.now_ns() < until_ns do end
            task.breathe()
            whose[#whose + 1] = turns.whose()
         end
         over = true
      end, error)
   end)
   looptest.until_true(function() return over end)
   lu.assertEquals(whose, { 1000, 1000, 1000 })
end

return tests
