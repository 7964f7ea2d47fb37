-- SPDX-License-Identifier: GPL-2.0-or-later
-- Runs the table of tests that a file returns; ends with luaunit's line.
local luaunit = require "luaunit"

local file = assert(arg[1], "a test file is expected")
local tests = assert(loadfile(file))()
if type(tests) ~= "table" then
  error(file .. " does not return a table of tests")
end

local runner = luaunit.LuaUnit.new()
local name = file:match("([^/]+)%.lua$")
-- -v names each test, and says why one was skipped
local failed = runner:runSuiteByInstances({ { name, tests } }, "-v")
io.stdout:flush()
os.exit(failed == 0)
