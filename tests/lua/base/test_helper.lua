-- SPDX-License-Identifier: GPL-2.0-or-later
-- helper.lua: answers of a child process, in one line or in several.
local helper = require "taut.base.helper"
local looptest = require "lib.looptest"
local lu = require "luaunit"

local tests = {}

-- What a helper that prints these lines at its first request answers.
local function answer(lines)
   local reply, why
   local h = helper.start { name = "h", argv = { "sh", "-c",
      ("read x; printf '%%s\\n' %s; cat"):format(lines) } }
   h:ask({ op = "x" }, function(r, err) reply, why = r or false, err end)
   looptest.until_true(function() return reply ~= nil end)
   h:stop()
   return reply, why
end

function tests.test_long_arrays_come_in_parts()
   local reply = answer [['{"id":1,"part":true,"a":[1,2]}' '{"id":9,"part":true,"a":[7]}' \
      '{"id":1,"part":true,"b":["x"]}' '{"id":1,"part":true,"a":[3]}' \
      '{"id":1,"ok":true,"a":[4],"c":5}']]
   lu.assertEquals({ reply.a, reply.b, reply.c }, { { 1, 2, 3, 4 }, { "x" }, 5 })
end

function tests.test_an_error_after_a_part_is_an_error()
   local reply, why = answer [['{"id":1,"part":true,"a":[1]}' '{"id":1,"ok":false,"error":"gone"}']]
   lu.assertEquals({ reply, why }, { false, "gone" })
end

return tests
