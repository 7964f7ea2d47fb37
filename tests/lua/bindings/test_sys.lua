-- SPDX-License-Identifier: GPL-2.0-or-later
local json = require "taut.json"
local looptest = require "lib.looptest"
local loop = require "taut.loop"
local lu = require "luaunit"
local sys = require "taut.sys"

local tests = {}

-- The command that runs this program with a script.
local function own(script)
  return sys.paths.program .. " --lua " .. script
end

-- What a script prints, with a shell's text around the command.
local function output(text, shell)
  local folder <close> = looptest.folder()
  local path = folder.path .. "/s.lua"
  local file = assert(io.open(path, "w"))
  file:write(text)
  file:close()
  local command = (shell or "CMD"):gsub("CMD", (own(path):gsub("%%", "%%%%")))
  local pipe = assert(io.popen(command))
  local all = pipe:read("a")
  pipe:close()
  return all
end

function tests.test_users()
  lu.assertEquals(sys.user_id "root", 0)
  lu.assertEquals(sys.user_name(0), "root")
  lu.assertEquals(sys.user_name(4000000000), "4000000000")
  lu.assertEquals(sys.user_id "4000000000", 4000000000)
  local uid, why = sys.user_id "no such user"
  lu.assertNil(uid)
  lu.assertEquals(why, "no user 'no such user'")
  lu.assertNil((sys.user_id "99999999999"))
end

function tests.test_who_is_in_a_group()
  lu.assertTrue(sys.in_group(0, "root"))
  lu.assertFalse(sys.in_group(0, "no such group"))
  lu.assertFalse(sys.in_group(4000000000, "root"))
  lu.assertFalse(sys.in_group(sys.user_id "nobody", "root"))
end

-- What is below the level is left out; helpers log as whoever started them.
function tests.test_the_log_as_it_was_told()
  local said = output([[
    local sys = require "taut.sys"
    sys.log("info", "before")
    assert(sys.log_as("notice", "json"))
    sys.log("info", "job 7 on 2 nodes")
    sys.log("notice", 'a "b"\n\27[2J', { TAUT_NODE = "n\27 5", MESSAGE_ID = ("0"):rep(32) })
    assert(sys.log_as("err", "text"))
    sys.log("warning", "less")
    sys.log("err", "last", { TAUT_NODE = "n5" })
    assert(not pcall(sys.log_as, "loud", "text"))
    os.execute(sys.paths.program .. [=[ --lua /dev/stdin <<'END'
require("taut.sys").log("warning", "less")
require("taut.sys").log("err", "a helper's")
END]=])
  ]], "CMD 2>&1")
  local lines = {}
  for line in said:gmatch "[^\n]+" do
    lines[#lines + 1] = line
  end
  lu.assertEquals(#lines, 4, said)
  lu.assertStrContains(lines[1], "info: before")
  local row = json.decode(lines[2])
  lu.assertEquals({ row.level, row.message, row.node, #row.message_id, math.type(row.time) },
    { "notice", 'a "b" ?[2J', "n? 5", 32, "integer" })
  lu.assertStrContains(lines[3], "error: last")
  lu.assertStrContains(lines[4], "error: a helper's")
end

function tests.test_a_program_becomes_another()
  lu.assertEquals(output [[ require("taut.sys").exec { "echo", "a  b", "c" } ]], "a  b c\n")
  local ok, why = sys.exec { "/no/such/program" }
  lu.assertNil(ok)
  lu.assertStrContains(why, "/no/such/program: No such file")
  lu.assertErrorMsgContains("1 to 64", sys.exec, {})
end

function tests.test_facts()
  lu.assertIsNumber(sys.uid())
  lu.assertStrContains(sys.hostname(), "%w", true)
  lu.assertIsString(sys.version)
  for _, name in ipairs { "confdir", "luadir", "libexecdir", "rundir", "statedir", "program" } do
    lu.assertStrMatches(sys.paths[name], "/.*", nil, nil, name)
  end
  lu.assertAlmostEquals(sys.now(), os.time(), 2)
  lu.assertFalse(sys.isatty(0))
  lu.assertTrue(sys.columns() > 0)
end

function tests.test_what_a_file_is()
  local stat = assert(sys.stat("/proc/self/exe"))
  lu.assertTrue(stat.regular and stat.size > 1000 and math.type(stat.inode) == "integer")
  lu.assertFalse(sys.stat("/").regular)
  local none, why = sys.stat("/no/such/file")
  lu.assertNil(none)
  lu.assertStrContains(why, "/no/such/file: No such file")
  lu.assertAlmostEquals(sys.stat("/proc/self/status").mtime, sys.now(), 60)
end

function tests.test_what_is_in_a_folder()
  local folder <close> = looptest.folder()
  lu.assertEquals(sys.names(folder.path), {})
  for _, name in ipairs { ".hidden", "it's \n \255", "b" } do
    assert(io.open(folder.path .. "/" .. name, "w")):close()
  end
  local names = sys.names(folder.path)
  table.sort(names)
  lu.assertEquals(names, { ".hidden", "b", "it's \n \255" })
  for _, path in ipairs { "/no/such/folder", "/proc/self/exe" } do
    local none, why = sys.names(path)
    lu.assertNil(none)
    lu.assertStrContains(why, path .. ": ")
  end
end

function tests.test_columns_of_the_environment()
  lu.assertEquals(output("print(require'taut.sys'.columns())", "COLUMNS=123 CMD"), "123\n")
end

function tests.test_a_new_file_beside_another()
  local folder <close> = looptest.folder()
  local path = folder.path .. "/f"
  local a, name_a = sys.create_beside(path)
  local b, name_b = sys.create_beside(path)
  lu.assertEquals(io.type(a), "file")
  lu.assertNotEquals(name_a, name_b)
  lu.assertStrMatches(name_a:sub(#path + 1), "%.%x+")
  lu.assertNotNil(a:write "x")
  lu.assertTrue(a:close())
  lu.assertTrue(b:close())
  for line in io.lines(name_a) do
    lu.assertEquals(line, "x")
  end
  for _, bad in ipairs { "/no/such/folder/f", "/dev/null", folder.path } do
    local f, why = sys.create_beside(bad)
    lu.assertNil(f, bad)
    lu.assertStrContains(why, bad .. ": ")
  end
  lu.assertErrorMsgContains("is empty", sys.create_beside, "")
  lu.assertErrorMsgContains("too long", sys.create_beside, ("x"):rep(4096))
end

function tests.test_mkdir()
  local folder <close> = looptest.folder()
  local path = folder.path .. "/d"
  lu.assertTrue(sys.mkdir(path, 0x1ed))
  lu.assertTrue(sys.mkdir(path, 0x1ed))
  local ok, why = sys.mkdir(folder.path .. "/a/b", 0x1ed)
  lu.assertNil(ok)
  lu.assertStrContains(why, "No such file")
end

function tests.test_lines_and_put()
  local text = [[
    local sys = require "taut.sys"
    for line in sys.lines() do sys.put("<" .. line .. ">") end]]
  lu.assertEquals(output(text, "printf 'a\\n\\nlast' | CMD"), "<a><><last>")
end

function tests.test_log_to_stderr()
  local text = [[
    local sys = require "taut.sys"
    sys.log_to_stderr(true)
    sys.log("warning", "100% slow")]]
  lu.assertEquals(output(text, "CMD 2>&1"), "tautd: warning: 100% slow\n")
  lu.assertErrorMsgContains("invalid option", sys.log, "loud", "x")
end

function tests.test_request_without_server()
  local reply, why = sys.request("/nowhere/socket", "x", 100)
  lu.assertNil(reply)
  lu.assertStrContains(why, "/nowhere/socket: No such file")
  reply, why = sys.request("/" .. ("x"):rep(200), "x", 100)
  lu.assertNil(reply)
  lu.assertStrContains(why, "at most 107 bytes")
  lu.assertErrorMsgContains("more than a line", sys.request, "/x", "a\nb")
end

function tests.test_request_times_out()
  local folder <close> = looptest.folder()
  local path = folder.path .. "/s"
  local server = assert(loop.serve { path = path, on_line = function() end })
  local reply, why = sys.request(path, "x", 100)
  lu.assertNil(reply)
  lu.assertStrContains(why, "timed out")
  server:close()
end

function tests.test_notify()
  lu.assertTrue(sys.notify "READY=1")
  local text = [[print(require"taut.sys".notify "READY=1")]]
  lu.assertStrContains(output(text, "NOTIFY_SOCKET=/nowhere/s CMD"), "No such file")
end

function tests.test_a_text_is_written_durably_or_not_at_all()
  local folder <close> = looptest.folder()
  local path = folder.path .. "/brakes"
  for _, text in ipairs { "first\n", "a longer second\n", "" } do
    lu.assertTrue(sys.write_durably(path, text))
    local file <close> = assert(io.open(path))
    lu.assertEquals(file:read "a", text)
  end
  -- what a write left that ended early is in nobody's way
  assert(io.open(path .. ".new", "w")):close()
  lu.assertTrue(sys.write_durably(path, "third"))
  lu.assertEquals(sys.names(folder.path), { "brakes" })
  local ok, why = sys.write_durably(folder.path .. "/none/brakes", "x")
  lu.assertNil(ok)
  lu.assertStrContains(why, "/none/brakes.new: No such file")
  assert(sys.mkdir(folder.path .. "/d"))
  ok, why = sys.write_durably(folder.path .. "/d", "x")
  lu.assertNil(ok)
  lu.assertStrContains(why, "directory")
  lu.assertNil(sys.stat(folder.path .. "/d.new"))
  os.remove(folder.path .. "/d")
end

-- Past bug: tautd's and root's files went wherever a link led that somebody had put in their place.
function tests.test_a_link_in_the_place_of_a_file_is_not_followed()
  local folder <close> = looptest.folder()
  local path, victim = folder.path .. "/file", folder.path .. "/victim"
  local function plant(name)
    os.remove(path)
    os.remove(path .. ".new")
    os.execute(("printf victim >%s && ln -s %s %s"):format(victim, victim, name))
  end
  for _, name in ipairs { path, path .. ".new" } do
    for _, write in ipairs { sys.write_whole, sys.write_durably } do
      plant(name)
      lu.assertTrue(write(path, "text"))
      local file <close> = assert(io.open(path))
      lu.assertEquals(file:read "a", "text")
    end
  end
  plant(path)
  lu.assertNil((sys.append(path, "text")))
  lu.assertNil((sys.lock(path)))
  lu.assertNil((sys.create_beside(path)))
  local file <close> = assert(io.open(victim))
  lu.assertEquals(file:read "a", "victim")
  os.remove(path)
  os.remove(victim)
end

function tests.test_a_lock_is_had_by_one_process()
  local folder <close> = looptest.folder()
  local path = folder.path .. "/lock"
  lu.assertTrue(sys.lock(path))
  local said = output(([[
    local ok, why, pid = require("taut.sys").lock(%q)
    print(ok, why, pid)
    os.execute("cat " .. %q) ]]):format(path, path))
  local pid = said:match "locked\t(%d+)"
  lu.assertStrContains(said, "nil\t" .. path .. ": is locked\t" .. pid .. "\n" .. pid)
  lu.assertTrue(tonumber(pid) > 1)
  local other = folder.path .. "/other"
  local script = ([[ print(require("taut.sys").lock(%q)) ]]):format(other)
  lu.assertEquals(output(script), "true\n")
  lu.assertEquals(output(script), "true\n") -- it ended with its process
  lu.assertNil((sys.lock(folder.path .. "/none/lock")))
end

-- What others wrote goes to terminals and logs.
-- A name that runs backwards, or has what nobody sees in it, passes for another.
function tests.test_plain_text_shows_all_that_is_in_it()
   for _, code in ipairs { 0x80, 0x9f, 0xad, 0x61c, 0x200b, 0x200f, 0x2028, 0x202e, 0x2066, 0xfeff,
      0xe0041 } do
      local c = utf8.char(code)
      lu.assertEquals(sys.plain("a" .. c .. "b"), "a" .. ("?"):rep(#c) .. "b")
   end
   for _, c in ipairs { "ü", "а", "日", "\u{2010}", "\u{1F600}" } do
      lu.assertEquals(sys.plain("a" .. c), "a" .. c)
   end
end

function tests.test_plain_text_does_nothing_to_a_terminal()
   local cases = {
      { "job 3×2 µ – ok", "job 3×2 µ – ok" },
      { "a\27[31mred\7", "a?[31mred?" },
      { "two\nlines\tand\r", "two lines and?" },
      { "c1 \u{9b}31m \u{80}\u{9f}", "c1 ??31m ????" },
      { "\u{a0}\u{10ffff}", "\u{a0}\u{10ffff}" },
      { "\x9b1m \xff \xc2 \xe2\x82", "?1m ? ? ??" },
      { "\127 \0 x", "? ? x" },
      { "", "" },
   }
   for _, c in ipairs(cases) do
      lu.assertEquals(sys.plain(c[1]), c[2])
   end
end

function tests.test_addresses_are_numbers()
   lu.assertEquals(sys.addresses("127.0.0.1", true), { "127.0.0.1" })
   lu.assertEquals(sys.addresses("::ffff:10.0.0.1", true), { "10.0.0.1" })
   lu.assertEquals(sys.addresses("fd00:0::0002", true), { "fd00::2" })
   local list, err = sys.addresses("n1", true)
   lu.assertNil(list)
   lu.assertStrContains(err, "n1: ")
end

function tests.test_append_takes_all_or_nothing()
  local folder <close> = looptest.folder()
  local path = folder.path .. "/rows"
  lu.assertTrue(sys.append(path, "one\n", true))
  lu.assertTrue(sys.append(path, "two\n"))
  local file <close> = assert(io.open(path))
  lu.assertEquals(file:read "a", "one\ntwo\n")
  local ok, why = sys.append(folder.path, "x", true)
  lu.assertNil(ok)
  lu.assertStrContains(why, folder.path)
  ok, why = sys.append("/dev/full", "x")
  lu.assertNil(ok)
  lu.assertStrContains(why, "No space")
end

return tests
