-- SPDX-License-Identifier: GPL-2.0-or-later
local looptest = require "lib.looptest"
local lu = require "luaunit"
local sandbox = require "taut.sandbox"

local tests = {}

-- Write text to FOLDER/conf.lua and load it.
local function load(text, env, prepare)
  local folder <close> = looptest.folder()
  local path = folder.path .. "/conf.lua"
  local file = assert(io.open(path, "wb"))
  file:write(text)
  file:close()
  if prepare then
    os.execute((prepare:gsub("FILE", path):gsub("FOLDER", folder.path)))
  end
  local ok, why = sandbox.load(path, env or {})
  return ok, why and why:gsub(folder.path, "FOLDER")
end

function tests.test_bad_arguments_raise()
  lu.assertErrorMsgContains("string expected", sandbox.load)
  lu.assertErrorMsgContains("table expected", sandbox.load, "/x")
end

function tests.test_runs_in_its_environment_only()
  local env = { double = function(x)
    return 2 * x
  end }
  lu.assertTrue(load("answer = double(21)", env))
  lu.assertEquals(env.answer, 42)
  lu.assertNil(rawget(_G, "answer"))
  local ok, why = load("os.exit(1)")
  lu.assertNil(ok)
  lu.assertStrContains(why, "FOLDER/conf.lua:1: ")
  lu.assertStrContains(why, "'os'")
end

function tests.test_errors_name_path_and_line()
  local _, why = load("a = 1\nb = = 2\n")
  lu.assertStrContains(why, "FOLDER/conf.lua:2: ")
  _, why = load("\n\nerror('no such link')", { error = error })
  lu.assertEquals(why, "FOLDER/conf.lua:3: no such link")
  _, why = load("error({})", { error = error })
  lu.assertStrContains(why, "FOLDER/conf.lua: table")
end

function tests.test_long_paths_are_not_cut()
  local folder <close> = looptest.folder()
  local deep = folder.path .. "/" .. ("d"):rep(100)
  os.execute("mkdir " .. deep)
  local file = assert(io.open(deep .. "/c.lua", "w"))
  file:write("x.y = 1")
  file:close()
  local _, why = sandbox.load(deep .. "/c.lua", {})
  lu.assertStrContains(why, deep .. "/c.lua:1: ")
end

function tests.test_no_bytecode()
  local ok, why = load(string.dump(function() end))
  lu.assertNil(ok)
  lu.assertStrContains(why, "FOLDER/conf.lua: attempt to load a binary chunk")
end

function tests.test_endless_loop_ends()
  local ok, why = load("while true do end")
  lu.assertNil(ok)
  lu.assertStrContains(why, "FOLDER/conf.lua:1: more than 10000000 instructions")
end

-- Few instructions can fill the machine.
function tests.test_memory_has_an_end()
  local ok, why = load "local s = 'xxxxxxxxxxxxxxxx' for i = 1, 40 do s = s .. s end"
  lu.assertNil(ok)
  lu.assertStrContains(why, "FOLDER/conf.lua: more than 512 MiB of memory")
  lu.assertTrue(load "a = 1") -- and the next file has all of it again
end

function tests.test_endless_loop_ends_under_pcall()
  local text = "while true do pcall(function() while true do end end) end"
  lu.assertNil((load(text, { pcall = pcall })))
end

function tests.test_others_must_not_be_able_to_write_it()
  local _, why = load("", {}, "chmod 666 FILE")
  lu.assertStrContains(why, "FOLDER/conf.lua: is writable by others")
  _, why = load("", {}, "chmod 620 FILE")
  lu.assertStrContains(why, "writable by others")
  _, why = load("", {}, "chmod 777 FOLDER")
  lu.assertStrContains(why, "its folder is writable by others")
end

function tests.test_belongs_to_root_or_caller()
  if require "taut.sys".uid() ~= 0 then
    lu.skip("only root can give files away")
  end
  local _, why = load("", {}, "chown 12345 FILE")
  lu.assertStrContains(why, "belongs to somebody else")
  _, why = load("", {}, "chown 12345 FOLDER")
  lu.assertStrContains(why, "its folder belongs to somebody else")
end

function tests.test_absent_and_odd_files()
  local _, why = sandbox.load("/nowhere/x.lua", {})
  lu.assertStrContains(why, "/nowhere/x.lua")
  lu.assertStrContains(why, "No such file")
  _, why = load("", {}, "rm FILE; mkfifo FILE")
  lu.assertStrContains(why, "not a regular file")
end

return tests
