-- SPDX-License-Identifier: GPL-2.0-or-later
local looptest = require "lib.looptest"
local loop = require "taut.loop"
local lu = require "luaunit"
local sys = require "taut.sys"

local tests = {}

-- Start a shell script; the table notes its lines and its end.
local function start(script, extra)
  local seen = { lines = {} }
  local options = {
    argv = { "sh", "-c", script },
    on_line = function(line)
      table.insert(seen.lines, line)
    end,
    on_exit = function(what)
      seen.exit = what
    end,
  }
  for k, v in pairs(extra or {}) do
    options[k] = v
  end
  seen.proc = assert(loop.spawn(options))
  return seen
end

local function wait(seen)
  looptest.until_true(function()
    return seen.exit
  end)
end

function tests.test_bad_arguments_raise()
  lu.assertErrorMsgContains("table expected", loop.spawn)
  lu.assertErrorMsgContains("'argv'", loop.spawn, {})
  lu.assertErrorMsgContains("'argv'", loop.spawn, { argv = {} })
  lu.assertErrorMsgContains("'argv'", loop.spawn, { argv = { "a", {} } })
end

function tests.test_absent_program_is_an_error()
  local p, why = loop.spawn { argv = { "/nowhere/program" } }
  lu.assertNil(p)
  lu.assertEquals(why, "/nowhere/program: No such file or directory")
end

function tests.test_exit_status_and_signal()
  for script, what in pairs {
    ["exit 0"] = "exit 0",
    ["exit 7"] = "exit 7",
    ["kill -SEGV $$"] = "signal 11",
  } do
    local s = start(script)
    wait(s)
    lu.assertEquals(s.exit, what)
  end
end

function tests.test_lines_both_ways()
  local s = start("while read -r l; do echo \"<$l>\"; done; echo end; printf rest")
  lu.assertTrue(s.proc:pid() > 1)
  for i = 1, 1000 do
    assert(s.proc:send("line " .. i))
  end
  lu.assertTrue(s.proc:queued() > 0)
  s.proc:close()
  s.proc:close()
  local ok, why = s.proc:send("after")
  lu.assertNil(ok)
  lu.assertEquals(why, "closed")
  wait(s)
  lu.assertEquals(#s.lines, 1001)
  lu.assertEquals(s.lines[1000], "<line 1000>")
  lu.assertEquals(s.lines[1001], "end")
  lu.assertEquals(s.proc:queued(), 0)
  lu.assertNil((s.proc:pid()))
  s.proc:kill()
end

function tests.test_exit_comes_after_the_last_line()
  local order = {}
  local done
  loop.spawn {
    argv = { "sh", "-c", "seq 50000" },
    on_line = function(line)
      order[#order + 1] = line
    end,
    on_exit = function()
      done = #order
    end,
  }
  looptest.until_true(function()
    return done
  end)
  lu.assertEquals(done, 50000)
end

function tests.test_grandchild_that_keeps_stdout_does_not_delay_the_exit()
  local s = start("sleep 1000 & echo $!")
  wait(s)
  lu.assertTrue(os.execute("kill " .. s.lines[1]), "it is still there")
end

function tests.test_huge_line()
  local s = start("head -c 3000000 /dev/zero | tr '\\0' x; echo")
  wait(s)
  lu.assertEquals(#s.lines[1], 3000000)
end

function tests.test_line_too_long_ends_the_process()
  local s = start("head -c 100000 /dev/zero | tr '\\0' x; sleep 5", { max_line = 5000 })
  wait(s)
  lu.assertEquals(s.exit, "a line of more than 5000 bytes")
  lu.assertEquals(s.lines, {})
end

function tests.test_closed_stdin_is_no_trouble()
  local s = start("exec 0<&-; sleep 0.1; echo done")
  for _ = 1, 5 do
    s.proc:send(("x"):rep(100000))
  end
  wait(s)
  lu.assertEquals(s.exit, "exit 0")
  lu.assertEquals(s.lines, { "done" })
end

function tests.test_reader_that_does_not_read()
  local s = start("exec sleep 10")
  s.proc:send(("x"):rep(1000000))
  looptest.pass(20)
  lu.assertTrue(s.proc:queued() > 800000)
  s.proc:kill()
  wait(s)
  lu.assertEquals(s.exit, "signal 9")
end

function tests.test_kill_in_a_callback()
  local s
  s = start("echo a; echo b; exec sleep 10", {
    on_line = function()
      s.proc:kill()
      s.proc:close()
    end,
  })
  wait(s)
  lu.assertEquals(s.exit, "signal 9")
end

function tests.test_spawn_in_on_exit()
  local n = 0
  local function again()
    n = n + 1
    if n == 3 then
      return loop.stop()
    end
    loop.spawn { argv = { "true" }, on_exit = again }
  end
  loop.spawn { argv = { "true" }, on_exit = again }
  collectgarbage()
  looptest.run()
  lu.assertEquals(n, 3)
end

function tests.test_many_at_once()
  local n = 0
  for i = 1, 20 do
    loop.spawn {
      argv = { "sh", "-c", "exit " .. i % 2 },
      on_exit = function(what, status)
        lu.assertEquals(what, "exit " .. i % 2)
        lu.assertEquals(status, i % 2)
        n = n + 1
      end,
    }
  end
  looptest.until_true(function()
    return n == 20
  end)
end

function tests.test_child_holds_none_of_our_descriptors()
  -- 0, 1, 2, the one that ls itself has open on the folder, and what we were started with
  local inherited = io.popen("ls /proc/self/fd | wc -l")
  local most = inherited:read "n"
  inherited:close()
  local l = assert(loop.listen { host = "127.0.0.1", port = 0, on_frame = print })
  local other = start("cat")
  local s = start("ls /proc/self/fd | wc -l")
  wait(s)
  lu.assertTrue(tonumber(s.lines[1]) <= most, s.lines[1])
  other.proc:close()
  wait(other)
  l:close()
end

function tests.test_child_sees_the_end_of_its_stdin_when_we_die()
  local folder <close> = looptest.folder()
  local text = ([[
    local loop = require "taut.loop"
    loop.spawn { argv = { "sh", "-c", "cat; echo ended > %s/mark" } }
    loop.timer(50, function() os.exit(0, false) end)
    loop.run()]]):format(folder.path)
  local f = assert(io.open(folder.path .. "/x.lua", "w"))
  f:write(text)
  f:close()
  assert(os.execute(require "taut.sys".paths.program .. " --lua " .. folder.path .. "/x.lua"))
  looptest.until_true(function()
    local mark = io.open(folder.path .. "/mark")
    return mark and mark:close()
  end)
end

-- Programs of the site: another user, nothing of ours, and with them goes whatever they started.
function tests.test_a_foreign_program_has_nothing_of_ours()
  local folder <close> = looptest.folder()
  os.execute("chmod 777 " .. folder.path)
  local out = folder.path .. "/out"
  local uid, gid = sys.user_id("nobody")
  local root = sys.uid() == 0
  local s = start("", { foreign = true, uid = root and uid or nil, gid = root and gid or nil,
    argv = { "/bin/sh", "-c", ("{ id -u; id -G; pwd; env; cat; ls /proc/self/fd; } >%s; " ..
      "echo seen; echo bad >&2"):format(out) } })
  s.proc:send("hello")
  s.proc:close()
  wait(s)
  lu.assertEquals(s.exit, "exit 0")
  lu.assertEquals(s.lines, {}) -- its output goes nowhere
  local f = assert(io.open(out))
  local text = f:read("a")
  f:close()
  lu.assertStrContains(text, "hello\n")
  lu.assertNotStrContains(text, "HOME=")
  if root then
    lu.assertEquals(text:match("^(%d+)\n(%d+)\n"), tostring(uid))
    lu.assertEquals(text:match("^%d+\n([%d ]+)\n"), tostring(gid))
  end
end

function tests.test_a_foreign_program_is_killed_with_its_children()
  local folder <close> = looptest.folder()
  local s = start("", { foreign = true, argv = { "/bin/sh", "-c",
    ("sleep 600 & echo $! >%s/pid; wait"):format(folder.path) } })
  local pid
  looptest.until_true(function()
    local f = io.open(folder.path .. "/pid")
    pid = f and f:read("l")
    if f then
      f:close()
    end
    return pid
  end)
  s.proc:kill()
  wait(s)
  lu.assertEquals(s.exit, "signal 9")
  looptest.until_true(function()
    local f = io.open("/proc/" .. pid .. "/stat")
    local state = f and f:read("a"):match("%) (%a)")
    if f then
      f:close()
    end
    return not state or state == "Z"
  end)
end

function tests.test_only_root_may_become_somebody_else()
  lu.assertErrorMsgContains("'uid'", loop.spawn, { argv = { "true" }, foreign = true, uid = -7 })
  local p, why = loop.spawn { argv = { "no/path" }, foreign = true }
  lu.assertNil(p)
  lu.assertStrContains(why, "No such file")
end

return tests
