-- SPDX-License-Identifier: GPL-2.0-or-later
-- What was refused is logged once a second, the last of a burst, too.
local lu = require "luaunit"
local loop = require "taut.loop"
local refusals = require "taut.core.refusals"
local sys = require "taut.sys"

local tests = {}

local now, lines, timers
local real = { time = loop.time, timer = loop.timer, log = sys.log }

function tests.setUp()
   now, lines, timers = 100, {}, {}
   loop.time = function() return now end
   loop.timer = function(ms, fn)
      lu.assertEquals(math.type(ms), "integer")
      timers[#timers + 1] = { at = now + ms / 1000, fn = fn }
   end
   sys.log = function(_, text) lines[#lines + 1] = text end
end

function tests.tearDown()
   loop.time, loop.timer, sys.log = real.time, real.timer, real.log
end

local function wait(seconds)
   now = now + seconds
   local due = timers
   timers = {}
   for _, t in ipairs(due) do
      if t.at <= now then
         t.fn()
      else
         timers[#timers + 1] = t
      end
   end
end

function tests.test_the_first_is_logged_at_once_and_the_last_a_second_later()
   local r = refusals.new()
   for i = 1, 5 do
      r:note("1.2.3.4", "reason " .. i)
   end
   lu.assertEquals(lines, { "refused a message from 1.2.3.4: reason 1" })
   wait(1)
   lu.assertEquals(lines[2], "refused a message from 1.2.3.4: reason 5 (and 3 before)")
   lu.assertEquals({ #lines, #timers, r.count }, { 2, 0, 5 })
end

-- Somebody who sends other nonsense each time left no place for what happens to all others.
function tests.test_nonsense_takes_no_place_from_what_comes_often()
   local r = refusals.new()
   for i = 1, 2000 do
      r:note("1.2.3.4:5", ("near '%s': word %s"):format(("x"):rep(i), ("y"):rep(i % 50)))
      if i > 1000 and i % 10 == 0 then
         r:note("5.6.7.8:9", "no time", 100)
      end
   end
   local most
   for _, k in ipairs(r:list_kinds()) do
      most = (not most or k.count > most.count) and k or most
   end
   lu.assertEquals({ most.why, most.count, #r:list_kinds() }, { "no time", 10000, 32 })
end

function tests.test_a_flood_is_one_line_a_second()
   local r = refusals.new()
   for _ = 1, 100 do
      r:note("n1", "no")
      wait(0.1)
   end
   wait(1)
   lu.assertTrue(#lines >= 10 and #lines <= 12, #lines)
end

function tests.test_a_clock_set_back_keeps_nothing_for_long()
   local r = refusals.new()
   r:note("n1", "a")
   now = now - 3600
   r:note("n1", "b")
   wait(1)
   lu.assertEquals(lines[2], "refused a message from n1: b")
end

return tests
