-- SPDX-License-Identifier: GPL-2.0-or-later
-- That Lua tests run at all, and in the Lua that Taut is written for.
local lu = require "luaunit"

local tests = {}

function tests.test_lua_is_5_4()
  lu.assertEquals(_VERSION, "Lua 5.4")
end

function tests.test_whole_numbers_have_64_bits()
  lu.assertEquals(math.type(9007199254740993), "integer")
  lu.assertEquals(string.format("%d", 9007199254740993), "9007199254740993")
end

return tests
