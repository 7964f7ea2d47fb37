-- SPDX-License-Identifier: GPL-2.0-or-later
-- taut.loop.listen against good, slow, lying and many clients.
local looptest = require "lib.looptest"
local loop = require "taut.loop"
local lu = require "luaunit"

local tests = {}
local frame = looptest.frame

-- A listener that notes what happens; 'extra' changes its options.
local function listener(extra)
  local seen = { frames = {}, closed = {}, refused = {} }
  local options = {
    host = "127.0.0.1",
    port = 0,
    on_frame = function(conn, type, payload)
      table.insert(seen.frames, { conn = conn, type = type, payload = payload })
    end,
    on_close = function(conn, why)
      table.insert(seen.closed, { conn = conn, why = why })
    end,
    on_refused = function(why)
      table.insert(seen.refused, why)
    end,
  }
  for k, v in pairs(extra or {}) do
    options[k] = v
  end
  seen.listener = assert(loop.listen(options))
  seen.port = seen.listener:port()
  return seen
end

function tests.test_bad_arguments_raise()
  lu.assertErrorMsgContains("table expected", loop.listen)
  lu.assertErrorMsgContains("'on_frame': function expected", loop.listen, {})
  local options = { on_frame = print, max_frame = 1 << 30 }
  lu.assertErrorMsgContains("'max_frame'", loop.listen, options)
end

function tests.test_used_port_and_bad_host_are_errors()
  local l = listener()
  local again, why = loop.listen { host = "127.0.0.1", port = l.port, on_frame = print }
  lu.assertNil(again)
  lu.assertStrContains(why, "in use")
  again, why = loop.listen { host = "no.such.host.invalid", port = 0, on_frame = print }
  lu.assertNil(again)
  lu.assertStrContains(why, "no.such.host.invalid")
  l.listener:close()
  l.listener:close()
  again, why = l.listener:port()
  lu.assertNil(again)
  lu.assertEquals(why, "closed")
end

function tests.test_frames_go_both_ways()
  local l
  l = listener {
    on_frame = function(conn, type, payload)
      lu.assertStrMatches(conn:peer(), "127%.0%.0%.1:%d+")
      assert(conn:send(2, payload:upper() .. type))
    end,
  }
  local got
  local script = ("printf '%s%s' >&3; head -c 19 <&3 | od -An -c | tr -d ' \\n'; echo"):format(
    frame(1, "abc"), frame(3, "defg"))
  looptest.client(l.port, script, function(line)
    got = line
  end)
  looptest.until_true(function()
    return got and #l.closed == 1
  end)
  lu.assertEquals(got, [[\0\0\0005002ABC1\0\0\0006002DEFG3]])
  lu.assertEquals(l.closed[1].why, "closed by peer")
  l.listener:close()
end

function tests.test_same_object_in_all_callbacks()
  local l = listener()
  looptest.client(l.port, ("printf '%s' >&3"):format(frame(1, "a"):rep(2)))
  looptest.until_true(function()
    return #l.closed == 1
  end)
  lu.assertEquals(#l.frames, 2)
  lu.assertTrue(rawequal(l.frames[1].conn, l.closed[1].conn))
  lu.assertTrue(rawequal(l.frames[1].conn, l.frames[2].conn))
  l.listener:close()
end

function tests.test_slow_sender_is_cut_off()
  local l = listener { timeout_ms = 100 }
  local script = "for i in 1 2 3 4 5 6 7 8 9; do printf '\\000' >&3 || exit; sleep 0.04; done"
  looptest.client(l.port, script)
  looptest.until_true(function()
    return #l.closed == 1
  end)
  lu.assertEquals(l.closed[1].why, "no whole frame in time")
  lu.assertEquals(l.frames, {})
  l.listener:close()
end

function tests.test_a_known_peer_may_be_given_more_time()
  local l = listener { timeout_ms = 60, on_frame = function(conn) conn:timeout(5000) end }
  local script = ("printf '%s' >&3; sleep 0.4"):format(frame(1, "a"))
  looptest.client(l.port, script)
  looptest.client(l.port, "sleep 0.4")
  looptest.until_true(function()
    return #l.closed == 2
  end)
  lu.assertEquals(l.closed[1].why, "no whole frame in time")
  lu.assertEquals(l.closed[2].why, "closed by peer")
  lu.assertNil(l.closed[2].conn:timeout(5)) -- harmless when it is over
  lu.assertErrorMsgContains("not within", l.closed[2].conn.timeout, l.closed[2].conn, 0)
  l.listener:close()
end

function tests.test_frames_in_pieces_are_put_together()
  local l = listener()
  local script = "printf '\\000\\000\\000' >&3; sleep 0.02; printf '\\003\\001a' >&3; "
    .. "sleep 0.02; printf 'b' >&3; cat <&3"
  looptest.client(l.port, script)
  looptest.until_true(function()
    return #l.frames == 1
  end)
  lu.assertEquals(l.frames[1].payload, "ab")
  l.frames[1].conn:close()
  looptest.until_true(function()
    return #l.closed == 1
  end)
  l.listener:close()
end

function tests.test_wrong_heads_are_refused()
  local l = listener { max_frame = 100 }
  local cases = {
    { frame(1, "x", 101), "100" },
    { frame(1, "x", 0xffffffff), "100" },
    { frame(1, "x", 0), "0" },
    { frame(99, "x"), "99" },
    { frame(0, "x"), "0" },
  }
  for i, case in ipairs(cases) do
    looptest.client(l.port, ("printf '%s' >&3; cat <&3"):format(case[1]))
    looptest.until_true(function()
      return #l.refused == i and #l.closed == i
    end)
    lu.assertStrContains(l.refused[i], case[2])
    lu.assertEquals(l.closed[i].why, l.refused[i])
  end
  lu.assertEquals(l.frames, {})
  l.listener:close()
end

function tests.test_largest_frame_is_taken()
  local l = listener { max_frame = 1 << 20 }
  local n = (1 << 20) - 1
  local script = ("(printf '%s'; head -c %d /dev/zero) >&3; cat <&3"):format(
    frame(1, "", n + 1), n)
  looptest.client(l.port, script)
  looptest.until_true(function()
    return #l.frames == 1
  end)
  lu.assertEquals(#l.frames[1].payload, n)
  l.frames[1].conn:close()
  l.listener:close()
  looptest.until_true(function()
    return #l.closed == 1
  end)
end

function tests.test_too_many_connections()
  local greeted = 0
  local function greet(conn)
    conn:known()
    greeted = greeted + 1
  end
  local l = listener { max_conns = 2, timeout_ms = 300, on_frame = greet }
  for _ = 1, 2 do
    looptest.client(l.port, ("printf '%s' >&3; cat <&3"):format(frame(1, "a")))
  end
  looptest.until_true(function()
    return greeted == 2
  end)
  looptest.client(l.port, "cat <&3")
  looptest.until_true(function()
    return #l.refused == 1
  end)
  lu.assertEquals(l.refused[1], "more than 2 connections")
  looptest.until_true(function()
    return #l.closed == 2
  end)
  looptest.client(l.port, ("printf '%s' >&3"):format(frame(1, "room again")))
  looptest.until_true(function()
    return greeted == 3
  end)
  l.listener:close()
end

function tests.test_unfinished_frames_are_bounded_together()
  local l = listener { max_frame = 1 << 20, max_held = 250000 }
  local script = ("(printf '%s'; head -c 100000 /dev/zero) >&3; cat <&3"):format(
    frame(1, "", 200000))
  for _ = 1, 2 do
    looptest.client(l.port, script)
    looptest.pass(50)
  end
  lu.assertEquals(l.refused, {})
  looptest.client(l.port, script)
  looptest.until_true(function()
    return #l.closed == 1
  end)
  lu.assertStrContains(l.refused[1], "bytes in unfinished frames, limit 250000")
  -- what the refused one held counts no more
  looptest.client(l.port, ("printf '%s' >&3"):format(frame(1, "room again")))
  looptest.until_true(function()
    return #l.frames == 1
  end)
  l.listener:close()
  collectgarbage()
end

function tests.test_close_in_callbacks()
  local l
  local results = {}
  l = listener {
    on_frame = function(conn)
      assert(conn:send(2, "bye"))
      conn:close()
      conn:close()
      results[#results + 1] = select(2, conn:send(2, "more"))
    end,
    on_close = function(conn, why)
      conn:close()
      results[#results + 1] = why
      results[#results + 1] = select(2, conn:send(2, "more"))
    end,
  }
  local got
  local script = ("printf '%s' >&3; cat <&3 | tail -c 3; echo"):format(frame(1, "a"):rep(3))
  looptest.client(l.port, script, function(line)
    got = line
  end)
  looptest.until_true(function()
    return got and #results >= 3
  end)
  lu.assertEquals(got, "bye")
  lu.assertEquals(results, { "closed", "closed", "closed" })
  l.listener:close()
end

function tests.test_large_reply_is_sent_before_closing()
  local l
  l = listener {
    on_frame = function(conn)
      assert(conn:send(2, ("x"):rep(3000000)))
      conn:close()
    end,
  }
  local got
  looptest.client(l.port, ("printf '%s' >&3; wc -c <&3"):format(frame(1, "a")), function(line)
    got = tonumber(line)
  end)
  looptest.until_true(function()
    return got
  end)
  lu.assertEquals(got, 3000005)
  l.listener:close()
end

function tests.test_reader_that_does_not_read_is_cut_off()
  local l
  l = listener {
    timeout_ms = 100,
    on_frame = function(conn)
      assert(conn:send(2, ("x"):rep(4000000)))
      conn:close()
    end,
  }
  looptest.client(l.port, ("printf '%s' >&3; sleep 1"):format(frame(1, "a")))
  looptest.until_true(function()
    return #l.closed == 1
  end, 900)
  l.listener:close()
end

function tests.test_error_in_on_frame_keeps_the_listener()
  local n = 0
  local l = listener {
    on_frame = function()
      n = n + 1
      error("expected")
    end,
  }
  looptest.quietly(function()
    for i = 1, 2 do
      looptest.client(l.port, ("printf '%s' >&3"):format(frame(1, "a")))
      looptest.until_true(function()
        return n == i and #l.closed == i
      end)
    end
  end)
  l.listener:close()
end

function tests.test_connections_outlive_their_listener()
  local l = listener()
  local got
  looptest.client(l.port, ("printf '%s' >&3; cat <&3 | tail -c 2; echo"):format(frame(1, "a")),
    function(line)
      got = line
    end)
  looptest.until_true(function()
    return #l.frames == 1
  end)
  l.listener:close()
  l.listener = nil
  collectgarbage()
  l.frames[1].conn:send(2, "ok")
  l.frames[1].conn:close()
  looptest.until_true(function()
    return got == "ok" and #l.closed == 1
  end)
end

function tests.test_both_address_families()
  local n = 0
  local l = assert(loop.listen {
    port = 0,
    on_frame = function(conn)
      lu.assertStrMatches(conn:peer(), "127%.0%.0%.1:%d+")
      n = n + 1
    end,
  })
  looptest.client(l:port(), ("printf '%s' >&3"):format(frame(1, "a")))
  looptest.until_true(function()
    return n == 1
  end)
  l:close()
end

local function count(list, why)
  local n = 0
  for _, c in ipairs(list) do
    n = n + (c.why == why and 1 or 0)
  end
  return n
end

local GAVE_WAY = "gave way to a newer connection"
local IDLE = "exec 3<&-; for i in {1..%d}; do exec {c}<>/dev/tcp/127.0.0.1/%d; done; echo; sleep 60"

function tests.test_a_flood_of_idle_connections_keeps_no_hello_out()
  local first
  local l = listener { max_conns = 20, timeout_ms = 60000, on_frame = function(conn)
    first = first or conn
    conn:known()
    conn:send(2, "plan")
  end }
  local known, flooded, late
  local p = looptest.client(l.port, ("printf '%s' >&3; head -c 9 <&3 >/dev/null; echo; sleep 60")
    :format(frame(1, "first")), function() known = true end)
  looptest.until_true(function() return known end)
  local q = looptest.client(l.port, IDLE:format(100, l.port), function() flooded = true end)
  looptest.until_true(function() return flooded and count(l.closed, GAVE_WAY) >= 81 end)
  looptest.client(l.port, ("printf '%s' >&3; head -c 9 <&3 >/dev/null; echo"):format(
    frame(1, "late")), function() late = true end)
  looptest.until_true(function() return late end)
  for _, c in ipairs(l.closed) do
    lu.assertFalse(rawequal(c.conn, first))
  end
  p:kill()
  q:kill()
  l.listener:close()
end

function tests.test_an_address_has_so_many_unknown_connections()
  local l = listener { max_conns = 1000, max_unknown = 8, timeout_ms = 60000 }
  local flooded
  local q = looptest.client(l.port, IDLE:format(50, l.port), function() flooded = true end)
  looptest.until_true(function() return flooded and #l.closed == 43 end) -- 1 + 50 - 8
  lu.assertTrue(count(l.closed, GAVE_WAY) >= 42)
  q:kill()
  l.listener:close()
end

function tests.test_a_hello_has_to_come_in_time_and_then_has_longer()
  local l = listener { hello_ms = 60, timeout_ms = 60000 }
  local p = looptest.client(l.port, ("printf '%s' >&3; sleep 60"):format(frame(1, "a")))
  looptest.until_true(function() return #l.frames == 1 end)
  local q = looptest.client(l.port, "sleep 60")
  looptest.until_true(function() return #l.closed == 1 end)
  lu.assertEquals(l.closed[1].why, "no whole frame in time")
  lu.assertFalse(rawequal(l.closed[1].conn, l.frames[1].conn))
  p:kill()
  q:kill()
  l.listener:close()
end

return tests
