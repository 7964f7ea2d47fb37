-- SPDX-License-Identifier: GPL-2.0-or-later
-- The site's program: one at a time, bounded, never waited for.
local json = require "taut.json"
local loop = require "taut.loop"
local looptest = require "lib.looptest"
local lu = require "luaunit"
local on_event = require "taut.core.on_event"
local sys = require "taut.sys"

local tests = {}

local function script(folder, text)
   local path = folder.path .. "/program"
   local f = assert(io.open(path, "w"))
   f:write("#!/bin/sh\n", text, "\n")
   f:close()
   os.execute(("chmod 777 %s; chmod 755 %s"):format(folder.path, path))
   return { path, folder.path }
end

local function teller(argv)
   return on_event.new { on_event = argv, on_event_user = "nobody" }
end

local function lines(path)
   local out = {}
   for line in io.lines(path) do
      out[#out + 1] = line
   end
   return out
end

function tests.test_without_a_program_nothing_is_kept()
   local t = teller(false)
   t:tell { event = "drain" }
   lu.assertEquals(t:state().waiting, 0)
end

function tests.test_it_gets_json_as_another_user()
   local folder <close> = looptest.folder()
   local t = teller(script(folder, 'cat >"$1/out"; echo >>"$1/out"; id -u >>"$1/out"'))
   t:tell { event = "drain", node = "n5", reason = 'a "quoted" | reason; $(reboot)', time = 7 }
   looptest.until_true(function() return t:state().done == 1 end)
   local out = lines(folder.path .. "/out")
   lu.assertStrContains(out[1], '"node":"n5"')
   lu.assertStrContains(out[1], [[a \"quoted\" | reason; $(reboot)]])
   lu.assertEquals(out[#out], tostring(sys.uid() == 0 and sys.user_id "nobody" or sys.uid()))
end

-- Past bug: the program was told nothing of what had a byte in its text that is no UTF-8.
function tests.test_hostile_text_is_data_and_nothing_is_lost_for_it()
   local folder <close> = looptest.folder()
   local t = teller(script(folder, 'cat >>"$1/out"; echo >>"$1/out"'))
   local list = { "\xff\xfe \27[2J", "\u{202e}kcolb\u{2066}", "a\nb\r\0c", "$(reboot) `id` '\"\\",
      ("x"):rep(300000) }
   for i, reason in ipairs(list) do
      t:tell { event = "drain", reason = reason, time = i }
   end
   looptest.until_true(function() return t:state().done == #list end)
   local out = lines(folder.path .. "/out")
   for i = #out, 1, -1 do
      if out[i] == "" then
         table.remove(out, i)
      end
   end
   lu.assertEquals(#out, #list)
   for i = 2, #list do
      lu.assertEquals(json.decode(out[i]).reason, list[i])
   end
   lu.assertEquals(json.decode(out[1]).reason, "?? ?[2J")
end

function tests.test_one_at_a_time_in_order()
   local folder <close> = looptest.folder()
   local t = teller(script(folder, [[mkdir "$1/busy" || echo two >>"$1/out"
      cat >>"$1/out"; sleep 0.02; rmdir "$1/busy"]]))
   for i = 1, 6 do
      t:tell { event = "e" .. i, time = i }
   end
   lu.assertEquals(t:state().waiting, 5)
   looptest.until_true(function() return t:state().done == 6 end)
   local out = lines(folder.path .. "/out")
   lu.assertEquals(#out, 6)
   for i, line in ipairs(out) do
      lu.assertStrContains(line, ('"e%d"'):format(i))
   end
end

function tests.test_the_queue_is_bounded_and_the_latest_stay()
   local folder <close> = looptest.folder()
   local t = teller(script(folder, "sleep 600"))
   for i = 1, 1000 do
      t:tell { event = "e" .. i }
   end
   local s = t:state()
   lu.assertEquals({ s.waiting, s.dropped }, { 256, 1000 - 256 - 1 })
   lu.assertStrContains(t.queue[256], '"e1000"')
   t.queue = {}
   t.running:kill()
   looptest.until_true(function() return not t.running end)
   lu.assertStrContains(t:state().error, "signal 9")
end

function tests.test_a_program_that_fails_or_is_not_there_is_said_once()
   local folder <close> = looptest.folder()
   local t = teller { "/nonexistent/program" }
   looptest.quietly(function()
      for _ = 1, 5 do
         t:tell { event = "x" }
      end
      looptest.until_true(function() return t:state().failed == 5 end)
   end)
   lu.assertStrContains(t:state().error, "No such file")
   t:configure { on_event = script(folder, "exit 3"), on_event_user = "nobody" }
   looptest.quietly(function()
      t:tell { event = "x" }
      looptest.until_true(function() return t:state().failed == 6 end)
   end)
   lu.assertEquals(t:state().error, "ended with exit 3")
   t:configure { on_event = script(folder, "exit 0"), on_event_user = "nobody" }
   t:tell { event = "x" }
   looptest.until_true(function() return t:state().done == 1 end)
   lu.assertNil(t:state().error)
end

-- A program that reads nothing does not hold us, however much there is to say.
function tests.test_a_program_that_does_not_read()
   local folder <close> = looptest.folder()
   local t = teller(script(folder, "exit 0"))
   t:tell { event = ("x"):rep(1 << 20) }
   looptest.until_true(function() return t:state().done == 1 end)
   lu.assertIsFunction(loop.time)
end

return tests
