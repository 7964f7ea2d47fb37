-- SPDX-License-Identifier: GPL-2.0-or-later
local looptest = require "lib.looptest"
local loop = require "taut.loop"
local lu = require "luaunit"

local tests = {}

function tests.test_bad_arguments_raise()
  lu.assertErrorMsgContains("number expected", loop.timer, "x", print)
  lu.assertErrorMsgContains("function expected", loop.timer, 1)
  lu.assertErrorMsgContains("not a time", loop.timer, -1, print)
  lu.assertErrorMsgContains("not a time", loop.every, 0, print)
  lu.assertErrorMsgContains("invalid option", loop.signal, "KILL", print)
end

function tests.test_timers_fire_in_order()
  local seen = {}
  loop.timer(30, function()
    seen[#seen + 1] = "late"
    loop.stop()
  end)
  loop.timer(0, function()
    seen[#seen + 1] = "early"
  end)
  looptest.run()
  lu.assertEquals(seen, { "early", "late" })
end

function tests.test_the_longest_turn_has_a_name_or_a_place()
  local function busy(ms)
    local stop = loop.now_ns() + ms * 1000000
    while loop.now_ns() < stop do
    end
  end
  looptest.pass(0)
  loop.longest()
  loop.timer(0, function()
    busy(3)
  end)
  looptest.pass(20)
  local s, what = loop.longest()
  lu.assertTrue(s >= 0.003)
  lu.assertStrContains(what, "test_loop.lua:")
  loop.timer(0, function()
    loop.doing "a long thing"
    busy(3)
  end)
  looptest.pass(20)
  s, what = loop.longest()
  lu.assertTrue(s >= 0.003)
  lu.assertEquals(what, "a long thing")
  lu.assertEquals(loop.longest(), 0)
  lu.assertErrorMsgContains("string expected", loop.doing, {})
end

function tests.test_every_until_cancelled_by_itself()
  local n, t = 0, nil
  t = loop.every(1, function()
    n = n + 1
    if n == 3 then
      t:cancel()
      t:cancel()
    end
  end)
  looptest.until_true(function()
    return n >= 3
  end)
  looptest.pass(50)
  lu.assertEquals(n, 3)
end

function tests.test_cancelled_timer_does_not_fire()
  local fired = false
  local t = loop.timer(1, function()
    fired = true
  end)
  t:cancel()
  looptest.pass(20)
  lu.assertFalse(fired)
  t:cancel()
end

function tests.test_forgotten_timers_fire()
  local n = 0
  for _ = 1, 10 do
    loop.timer(5, function()
      n = n + 1
    end)
  end
  collectgarbage()
  looptest.pass(30)
  lu.assertEquals(n, 10)
end

function tests.test_cancelled_timers_are_collected()
  local weak = setmetatable({}, { __mode = "k" })
  do
    local held = { "held by the function" }
    weak[held] = true
    loop.timer(1000000, function()
      return held
    end):cancel()
  end
  collectgarbage()
  collectgarbage()
  lu.assertNil(next(weak))
end

function tests.test_error_in_a_callback_does_not_end_the_loop()
  looptest.quietly(function()
    loop.timer(0, function()
      error("expected")
    end)
    loop.timer(5, loop.stop)
    looptest.run()
  end)
end

function tests.test_callbacks_from_a_coroutine()
  local seen
  coroutine.wrap(function()
    loop.timer(0, function()
      seen = true
    end)
  end)()
  collectgarbage()
  looptest.pass(10)
  lu.assertTrue(seen)
end

function tests.test_signal()
  local n = 0
  local s = loop.signal("USR1", function()
    n = n + 1
    loop.stop()
  end)
  loop.timer(0, function()
    os.execute("kill -USR1 $PPID")
  end)
  looptest.run()
  lu.assertEquals(n, 1)
  s:cancel()
end

function tests.test_clocks()
  local a = loop.now_ns()
  lu.assertEquals(math.type(a), "integer")
  lu.assertTrue(loop.now_ns() >= a)
  lu.assertAlmostEquals(loop.time(), os.time(), 2)
end

return tests
