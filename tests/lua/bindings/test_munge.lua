-- SPDX-License-Identifier: GPL-2.0-or-later
-- taut.munge against a real munged with a key and a socket of its own.
local looptest = require "lib.looptest"
local loop = require "taut.loop"
local lu = require "luaunit"
local munge = require "taut.munge"
local sys = require "taut.sys"
local watching = require "taut.base.munged"

local tests = {}

-- A munged that runs until the table is closed.
local function munged()
  local folder = looptest.folder()
  local path = folder.path
  if not os.execute("command -v munged >/dev/null") then
    lu.skip("munged is not installed")
  end
  local prepare = "cd %s; chmod 755 .; head -c 64 /dev/urandom > key; chmod 400 key"
  os.execute(prepare:format(path))
  local d = { socket = path .. "/socket" }
  local argv = { "munged", "--foreground", "--force", "--num-threads=2", "--socket=" .. d.socket }
  for _, name in ipairs { "key", "seed", "log", "pid" } do
    table.insert(argv, ("--%s-file=%s/%s"):format(name, path, name))
  end
  d.proc = assert(loop.spawn {
    argv = { "sh", "-c", "exec \"$@\" 2>/dev/null", "sh", table.unpack(argv) },
    on_exit = function()
      d.ended = true
    end,
  })
  looptest.until_true(function()
    return d.ended or os.execute("test -S " .. d.socket)
  end)
  lu.assertNil(d.ended, "munged does not start")
  munge.socket(d.socket)
  return setmetatable(d, {
    __close = function()
      d.proc:kill()
      looptest.until_true(function()
        return d.ended
      end)
      munge.socket()
      getmetatable(folder).__close()
    end,
  })
end

local function credential(d, text, options)
  local pipe = assert(io.popen(("munge -S %s %s -s '%s'"):format(d.socket, options or "", text)))
  local cred = pipe:read("l")
  pipe:close()
  return cred
end

-- Decode and wait; the table holds what the function was called with.
local function decode(cred)
  local got
  munge.decode(cred, function(...)
    got = table.pack(...)
  end)
  lu.assertNil(got, "called inside decode")
  looptest.until_true(function()
    return got
  end)
  return got
end

function tests.test_bad_arguments_raise()
  lu.assertErrorMsgContains("string expected", munge.decode, {}, print)
  lu.assertErrorMsgContains("function expected", munge.decode, "x")
end

function tests.test_without_munged()
  munge.socket("/nowhere/socket")
  local got = decode("MUNGE:x:")
  lu.assertNil(got[1])
  lu.assertStrContains(got[2], "/nowhere/socket")
  munge.socket()
end

function tests.test_good_forged_and_replayed()
  local d <close> = munged()
  local cred = credential(d, "hello")
  local forged = cred:sub(1, 40) .. (cred:sub(41, 41) == "A" and "B" or "A") .. cred:sub(42)
  lu.assertNil(decode(forged)[1])
  local got = decode(cred)
  lu.assertEquals(got[1], "hello")
  lu.assertEquals(got[2], sys.uid())
  lu.assertIsNumber(got[3])
  got = decode(cred)
  lu.assertNil(got[1])
  lu.assertStrContains(got[2]:lower(), "replayed")
  for _, text in ipairs { "", "no credential", "MUNGE:AwQ:", cred .. "\0" } do
    got = decode(text)
    lu.assertNil(got[1])
    lu.assertIsString(got[2])
  end
  lu.assertEquals(munge.pending(), 0)
end

function tests.test_credential_for_another_user_is_refused()
  local d <close> = munged()
  local got = decode(credential(d, "x", "--restrict-uid=12345"))
  lu.assertNil(got[1])
  lu.assertStrContains(got[2]:lower(), "unauthorized")
end

function tests.test_credential_of_another_key_is_refused()
  local cred
  do
    local d <close> = munged()
    cred = credential(d, "x")
  end
  local d <close> = munged()
  lu.assertNil(decode(cred)[1])
  lu.assertNotNil(d)
end

function tests.test_many()
  local d <close> = munged()
  local n = 50
  local creds, good = {}, 0
  for i = 1, n do
    creds[i] = credential(d, "number " .. i)
  end
  for i = 1, n do
    munge.decode(creds[i], function(payload)
      lu.assertEquals(payload, "number " .. i)
      good = good + 1
    end)
  end
  lu.assertTrue(munge.pending() > 0)
  looptest.until_true(function()
    return good == n
  end)
end

-- How many have called munged and were not answered: the kernel's list has the listener, too.
local function callers(d)
  local n = -1
  for line in io.lines "/proc/net/unix" do
    n = n + (line:sub(-#d.socket - 1) == " " .. d.socket and 1 or 0)
  end
  return n
end

-- Last by name: its threads may hang on for a while.
function tests.test_z_hanging_munged_does_not_stop_the_loop()
  local d <close> = munged()
  local creds = {}
  for i = 1, 4 do
    creds[i] = credential(d, "x" .. i)
  end
  os.execute("kill -STOP " .. d.proc:pid())
  local good, full = 0, 0
  for i = 1, 4 do
    munge.decode(creds[i], function(payload)
      good = good + (payload and 1 or 0)
    end)
  end
  -- the four threads ask, and so these are in the queue no more
  looptest.until_true(function()
    return callers(d) == 4
  end)
  local large = ("x"):rep(1 << 20) -- 64 MiB may wait
  for _ = 1, 70 do
    munge.decode(large, function(_, why)
      full = full + (why:find("full") and 1 or 0)
    end)
  end
  local ticks = 0
  local ticker = loop.every(10, function()
    ticks = ticks + 1
  end)
  looptest.until_true(function()
    return ticks >= 30 and full >= 6
  end)
  looptest.pass(50)
  lu.assertEquals(full, 6)
  lu.assertEquals(good, 0)
  lu.assertEquals(munge.pending(), 68)
  os.execute("kill -CONT " .. d.proc:pid())
  looptest.until_true(function()
    return munge.pending() == 0
  end, 20000)
  lu.assertEquals(good, 4)
  ticker:cancel()
end

-- On a cluster with auth/slurm nobody runs munged: tautd started without a word, and heard nobody.
function tests.test_that_munged_is_away_is_said_at_once_and_that_it_is_back()
   local watch = watching.new()
   munge.socket "/nowhere/munge.socket"
   local lines, log = {}, sys.log
   sys.log = function(_, text) lines[#lines + 1] = text end
   watch:look()
   looptest.until_true(function() return watch:error() end)
   watch:note(watch:error()) -- a node's credential shows the same: once is enough
   sys.log = log
   lu.assertEquals(#lines, 1)
   lu.assertStrContains(lines[1], "MUNGE does not answer here, so no node can be authenticated: ")
   lu.assertStrContains(watch:error(), "/nowhere/munge.socket")
   local d <close> = munged()
   watch.asked_at = nil
   watch:look()
   looptest.until_true(function() return not watch:error() end)
   lu.assertEquals(decode(credential(d, "fine"))[1], "fine")
end

return tests
