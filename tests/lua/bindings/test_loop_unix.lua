-- SPDX-License-Identifier: GPL-2.0-or-later
-- taut.loop.serve and its client taut.sys.request.
local looptest = require "lib.looptest"
local loop = require "taut.loop"
local lu = require "luaunit"
local sys = require "taut.sys"

local tests = {}

-- Another process that asks once; its reply goes to fn.
local function ask(path, line, fn, on_exit)
  local script = ([[
    local sys = require "taut.sys"
    print(sys.request(%q, %q, 30000))]]):format(path, line)
  local file = os.tmpname()
  local f = assert(io.open(file, "w"))
  f:write(script)
  f:close()
  return assert(loop.spawn {
    argv = { sys.paths.program, "--lua", file },
    on_line = fn,
    on_exit = function()
      os.remove(file)
      if on_exit then
        on_exit()
      end
    end,
  })
end

local function server(path, on_line, more)
  local options = { path = path, on_line = on_line }
  for k, v in pairs(more or {}) do
    options[k] = v
  end
  return assert(loop.serve(options))
end

function tests.test_bad_arguments_raise()
  lu.assertErrorMsgContains("table expected", loop.serve)
  lu.assertErrorMsgContains("'on_line'", loop.serve, {})
  lu.assertErrorMsgContains("'path'", loop.serve, { on_line = print })
  lu.assertErrorMsgContains("'mode'", loop.serve, { on_line = print, path = "/x", mode = 9999 })
end

function tests.test_two_clients_and_their_uid()
  local folder <close> = looptest.folder()
  local path = folder.path .. "/s"
  local waiting, replies = {}, {}
  local s = server(path, function(client, line, uid, gid)
    lu.assertEquals(uid, sys.uid())
    lu.assertIsNumber(gid)
    waiting[#waiting + 1] = { client, line }
  end)
  for _, line in ipairs { "one", "two" } do
    ask(path, line, function(reply)
      replies[line] = reply
    end)
  end
  looptest.until_true(function()
    return #waiting == 2
  end)
  for _, w in ipairs(waiting) do
    lu.assertTrue(w[1]:reply("to " .. w[2]))
    local again, why = w[1]:reply("again")
    lu.assertNil(again)
    lu.assertEquals(why, "closed")
  end
  looptest.until_true(function()
    return replies.one and replies.two
  end)
  lu.assertEquals(replies, { one = "to one", two = "to two" })
  s:close()
end

function tests.test_large_reply()
  local folder <close> = looptest.folder()
  local path = folder.path .. "/s"
  local s = server(path, function(client)
    client:reply(("x"):rep(3000000))
  end)
  local got
  ask(path, "", function(reply)
    got = #reply
  end)
  looptest.until_true(function()
    return got
  end)
  lu.assertEquals(got, 3000000)
  s:close()
end

function tests.test_forgotten_client_is_closed()
  local folder <close> = looptest.folder()
  local path = folder.path .. "/s"
  local s = server(path, function()
    loop.timer(10, collectgarbage)
  end)
  local got
  ask(path, "hello", function(reply)
    got = reply
  end)
  looptest.until_true(function()
    return got
  end)
  lu.assertStrContains(got, "closed without a reply")
  s:close()
end

function tests.test_line_too_long_is_closed()
  local folder <close> = looptest.folder()
  local path = folder.path .. "/s"
  local s = server(path, function()
    error("not reached")
  end, { max_line = 10 })
  for _, line in ipairs { ("x"):rep(11), ("x"):rep(100000) } do
    local got
    ask(path, line, function(reply)
      got = reply
    end)
    looptest.until_true(function()
      return got
    end)
    lu.assertStrContains(got, "nil")
  end
  s:close()
end

function tests.test_stale_socket_is_replaced_and_a_live_one_is_not()
  local folder <close> = looptest.folder()
  local path = folder.path .. "/s"
  local text = ("require'taut.loop'.serve{path=%q,on_line=print} os.exit(0)"):format(path)
  local f = assert(io.open(folder.path .. "/x.lua", "w"))
  f:write(text)
  f:close()
  assert(os.execute(sys.paths.program .. " --lua " .. folder.path .. "/x.lua"))
  lu.assertTrue(os.execute("test -S " .. path))
  local s = server(path, print)
  local again, why = loop.serve { path = path, on_line = print }
  lu.assertNil(again)
  lu.assertStrContains(why, "in use")
  s:close()
  s:close()
  lu.assertNil(os.execute("test -e " .. path))
end

function tests.test_another_file_is_never_removed()
  local folder <close> = looptest.folder()
  local path = folder.path .. "/s"
  os.execute("echo precious > " .. path)
  local s, why = loop.serve { path = path, on_line = print }
  lu.assertNil(s)
  lu.assertStrContains(why, "in use")
  lu.assertTrue(os.execute("grep -q precious " .. path))
end

function tests.test_mode()
  local folder <close> = looptest.folder()
  local path = folder.path .. "/s"
  local s = server(path, print, { mode = tonumber("660", 8) })
  lu.assertTrue(os.execute("test $(stat -c %a " .. path .. ") = 660"))
  s:close()
end

-- `n` clients that connect and say nothing until the handle is closed.
local function idlers(path, n)
  local there = false
  local p = assert(loop.spawn {
    argv = { os.getenv "TAUT_BUILDDIR" .. "/tests/fake/fake-flood", tostring(n), path },
    on_line = function()
      there = true
    end,
  })
  looptest.until_true(function()
    return there
  end)
  return p
end

function tests.test_idle_clients_of_a_user_keep_no_administrator_out()
  local folder <close> = looptest.folder()
  local path = folder.path .. "/s"
  local admin = false
  local s = server(path, function(client)
    client:reply("served")
  end, {
    request_ms = 60000,
    is_admin = function()
      return admin
    end,
  })
  local p = idlers(path, 100)
  local function request()
    local got
    ask(path, "hello", function(reply)
      got = reply
    end)
    looptest.until_true(function()
      return got
    end)
    return got
  end
  lu.assertStrContains(request(), "nil") -- the user's places are taken
  admin = true
  lu.assertEquals(request(), "served")
  p:close()
  s:close()
end

-- Under a flood something of the nodes was always due, and an administrator waited for a second.
function tests.test_an_administrator_is_answered_while_nodes_never_rest()
  local folder <close> = looptest.folder()
  local path = folder.path .. "/s"
  local reply, is_over, was_over
  local s = server(path, function(client, line)
    client:reply(line)
    was_over, is_over = is_over, true
  end, { is_admin = function() return true end })
  local function node()
    if not is_over then
      loop.timer(0, node) -- due again as soon as it was done
    end
  end
  node()
  local late = loop.timer(20000, function() is_over = true end)
  ask(path, "status", function(text) reply = text end)
  looptest.until_true(function() return reply end)
  lu.assertEquals(reply, "status")
  lu.assertNil(was_over)
  late:cancel()
  s:close()
end

function tests.test_a_request_has_to_come_in_time()
  local folder <close> = looptest.folder()
  local path = folder.path .. "/s"
  local s = server(path, function(client)
    client:reply("served")
  end, {
    request_ms = 50,
    is_admin = function()
      return false
    end,
  })
  local p = idlers(path, 32)
  looptest.pass(200)
  local got
  ask(path, "hello", function(reply)
    got = reply
  end)
  looptest.until_true(function()
    return got
  end)
  lu.assertEquals(got, "served")
  p:close()
  s:close()
end

function tests.test_client_that_goes_away()
  local folder <close> = looptest.folder()
  local path = folder.path .. "/s"
  local kept
  local s = server(path, function(client)
    kept = client
  end)
  local gone
  local p = ask(path, "hello", nil, function()
    gone = true
  end)
  looptest.until_true(function()
    return kept
  end)
  p:kill()
  looptest.until_true(function()
    return gone
  end)
  kept:reply(("x"):rep(1000000))
  looptest.pass(30)
  local ok, why = kept:reply("more")
  lu.assertNil(ok)
  lu.assertEquals(why, "closed")
  s:close()
end

return tests
