-- SPDX-License-Identifier: GPL-2.0-or-later
-- Runs the table of tests that a file returns; ends with luaunit's line.
local luaunit = require "luaunit"

local file = assert(arg[1], "a test file is expected")
local tests = assert(loadfile(file))()
if type(tests) ~= "table" then
  error(file .. " does not return a table of tests")
end

local runner = luaunit.LuaUnit.new()
runner:setOutputType("text")
local failed = runner:runSuiteByInstances({ { file:match("([^/]+)%.lua$"), tests } })
io.stdout:flush()
os.exit(failed == 0, true)
