-- SPDX-License-Identifier: GPL-2.0-or-later
-- Taut's time through steps of the wall clock, restarts and boots.
local clock = require "taut.base.clock"
local loop = require "taut.loop"
local lu = require "luaunit"

local HOUR = 3600
local OWN = io.open "/proc/sys/kernel/random/boot_id":read "l"

local path, real

local function write(boot, up, time)
   local f = assert(io.open(path, "w"))
   f:write(("boot %s\nup %.3f\ntime %.3f\n"):format(boot, up, time))
   f:close()
end

-- Is it now so much later than the real time?
local function assert_later(s)
   lu.assertAlmostEquals(loop.time() - real() , s, 5)
end

local tests = {}

function tests.setUp()
   path = os.tmpname()
   os.remove(path)
   real = os.time
   loop.shift(loop.ahead())
end

function tests.tearDown()
   os.remove(path)
   loop.shift(loop.ahead())
   clock.path = nil
end

function tests.test_it_begins_as_the_wall_clock_is()
   clock.open(path)
   assert_later(0)
   lu.assertNil(clock.ahead())
   lu.assertNil(clock.trouble())
   local f = assert(io.open(path))
   lu.assertStrMatches(f:read "a", "boot " .. OWN:gsub("%-", "%%-") ..
      "\nup [%d.]+\ntime [%d.]+\n")
   f:close()
end

function tests.test_a_restart_in_the_same_boot_goes_on_however_the_wall_clock_was_set()
   for _, ahead in ipairs { 25 * HOUR, -25 * HOUR } do
      write(OWN, loop.up() - 100, os.time() - 100 - ahead) -- it was set since, or between
      clock.open(path)
      assert_later(-ahead)
      lu.assertAlmostEquals(clock.ahead(), ahead, 5)
      lu.assertStrContains(clock.trouble(), ahead > 0 and "set 25.0 h ahead" or "set 25.0 h back")
      clock.open(path) -- and once more
      assert_later(-ahead)
      loop.shift(loop.ahead())
   end
end

function tests.test_after_a_boot_it_is_the_wall_clocks_and_never_goes_back()
   write("another", 1e6, os.time() - 7 * HOUR)
   clock.open(path)
   assert_later(0)
   write("another", 1e6, os.time() + HOUR)
   clock.open(path)
   assert_later(HOUR)
   -- an id that is the same after a boot, as of a container
   loop.shift(loop.ahead())
   write(OWN, loop.up() + 1e6, os.time() - HOUR)
   clock.open(path)
   assert_later(0)
end

function tests.test_what_is_damaged_is_none()
   for _, text in ipairs { "", "boot x\n", "boot x\nup -\ntime -\n", ("x"):rep(9000) } do
      local f = assert(io.open(path, "w"))
      f:write(text)
      f:close()
      clock.open(path)
      assert_later(0)
   end
end

function tests.test_it_goes_on_as_it_was_while_the_wall_clock_is_set()
   local shim = (os.getenv "TAUT_BUILDDIR" or ".") .. "/tests/fake/.libs/clock.so"
   local f = io.open(shim)
   lu.skipIf(not f, shim .. " is not built")
   f:close()
   local script = os.tmpname()
   f = assert(io.open(script, "w"))
   f:write(([[
      local clock, loop = require "taut.base.clock", require "taut.loop"
      local last = loop.time()
      for _, off in ipairs { 90000, -90000, 3600, -45 } do
         local f = io.open(%q, "w")
         f:write(tostring(off))
         f:close()
         local now = loop.time()
         assert(now >= last and now - last < 60, "it jumped")
         assert(math.abs(loop.ahead() - off) < 60)
         assert((clock.ahead() ~= nil) == (math.abs(off) > 60))
         last = now
      end
      print "steady"
   ]]):format(path))
   f:close()
   -- a sanitizer wants to be first, and is well without
   local p = io.popen(("ASAN_OPTIONS=verify_asan_link_order=0 LAB_CLOCK=%s LD_PRELOAD=%s %s %s " ..
      "2>&1"):format(path, shim, os.getenv "TAUT_LUA" or "advisor/tautd --lua", script))
   lu.assertEquals(p:read "a", "steady\n")
   p:close()
   os.remove(script)
end

return tests
