-- SPDX-License-Identifier: GPL-2.0-or-later
-- taut.loop.http: answers, and clients that are slow, rude or many.
local looptest = require "lib.looptest"
local loop = require "taut.loop"
local lu = require "luaunit"

local tests = {}

local function serve(o)
  o = o or {}
  local asked = {}
  local server = assert(loop.http {
    host = "127.0.0.1", port = 0, max_conns = o.max_conns, timeout_ms = o.timeout_ms or 2000,
    on_get = o.on_get or function(path)
      asked[#asked + 1] = path
      if path == "/metrics" then
        return 200, "text/plain; version=0.0.4", o.body or "all well\n"
      end
      return 404, "text/plain", "nothing here\n"
    end })
  return server, asked
end

-- What a client that sends these bytes (as printf wants them) gets, all of it.
local function get(port, bytes)
  local lines, ended = {}, false
  assert(loop.spawn {
    argv = { "bash", "-c", ("exec 3<>/dev/tcp/127.0.0.1/%d; printf '%s' >&3; cat <&3"):format(port,
      bytes) },
    on_line = function(line) lines[#lines + 1] = line:gsub("\r", "") end,
    on_exit = function() ended = true end })
  looptest.until_true(function() return ended end)
  return table.concat(lines, "\n") .. "\n"
end

local GET = "GET /metrics HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n"

function tests.test_bad_arguments_raise()
  lu.assertErrorMsgContains("table expected", loop.http)
  lu.assertErrorMsgContains("'on_get'", loop.http, {})
  lu.assertErrorMsgContains("'port'", loop.http, { on_get = print, port = 70000 })
  lu.assertErrorMsgContains("'max_conns'", loop.http, { on_get = print, max_conns = 0 })
end

function tests.test_a_port_in_use_is_an_error()
  local server = serve()
  local second, why = loop.http { host = "127.0.0.1", port = server:port(), on_get = print }
  lu.assertNil(second)
  lu.assertStrContains(why, "Address already in use")
  server:close()
  local none, closed = server:port()
  lu.assertNil(none)
  lu.assertEquals(closed, "closed")
  server:close()
end

function tests.test_get_head_and_what_is_not_there()
  local server, asked = serve()
  local text = get(server:port(), GET)
  lu.assertStrContains(text, "HTTP/1.1 200 OK")
  lu.assertStrContains(text, "Content-Type: text/plain; version=0.0.4")
  lu.assertStrContains(text, "Content-Length: 9")
  lu.assertStrContains(text, "\n\nall well\n")
  text = get(server:port(), "GET /other?x=1 HTTP/1.0\\r\\n\\r\\n")
  lu.assertStrContains(text, " 404 ")
  lu.assertStrContains(text, "nothing here")
  text = get(server:port(),
    "HEAD /metrics HTTP/1.1\\r\\nHost: x\\r\\nConnection: close\\r\\n\\r\\n")
  lu.assertStrContains(text, " 200 ")
  lu.assertNotStrContains(text, "all well")
  lu.assertEquals(asked, { "/metrics", "/other", "/metrics" })
  server:close()
end

function tests.test_a_callback_that_fails_is_an_error_500()
  for _, fn in ipairs { function() error "oops" end, function() return "x" end,
    function() return 200, "text/plain", {} end } do
    local server = serve { on_get = fn }
    looptest.quietly(function()
      lu.assertStrContains(get(server:port(), GET), " 500 ")
    end)
    server:close()
  end
end

-- Rude requests get an error or an end; the next polite one gets its answer.
function tests.test_rude_requests()
  local server = serve()
  for _, bytes in ipairs {
    "", "\\r\\n\\r\\n", "GET\\r\\n\\r\\n", "\\0\\1\\2\\3\\377\\376", "GET /metrics\\r\\n\\r\\n",
    "POST /metrics HTTP/1.1\\r\\nContent-Length: 3\\r\\n\\r\\nabc",
    "PUT / HTTP/1.1\\r\\nContent-Length: 99999999999999999999\\r\\n\\r\\n",
    "GET /metrics HTTP/1.1\\r\\nContent-Length: -1\\r\\n\\r\\n",
    "GET /metrics HTTP/1.1\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\nffffffffffffffff\\r\\n",
    "GET http://[:::/ HTTP/1.1\\r\\n\\r\\n", "GET %%ff%%00 HTTP/9.9\\r\\n\\r\\n",
    "CONNECT a:1 HTTP/1.1\\r\\n\\r\\n", "GET / HTTP/1.1\\r\\n: \\r\\n \\r\\n\\r\\n",
    "DELETE /metrics HTTP/1.1\\r\\n\\r\\n", "TRACE / HTTP/1.1\\r\\n\\r\\n",
  } do
    local text = get(server:port(), bytes)
    lu.assertNotStrContains(text, "all well", bytes)
    lu.assertStrContains(get(server:port(), GET), "all well")
  end
  looptest.until_true(function() return server:conns() == 0 end)
  server:close()
end

function tests.test_headers_and_lines_are_bounded()
  local server, asked = serve()
  for _, script in ipairs {
    -- a line without an end; a header without an end; headers without an end
    "printf 'GET /'; head -c 10000000 /dev/zero | tr '\\0' x",
    "printf 'GET /metrics HTTP/1.1\\r\\nA: '; head -c 10000000 /dev/zero | tr '\\0' x",
    "printf 'GET /metrics HTTP/1.1\\r\\n'; yes 'A: b' | head -c 10000000",
  } do
    local ended
    assert(loop.spawn { argv = { "bash", "-c", ("exec 3<>/dev/tcp/127.0.0.1/%d; (%s) >&3 2>&1")
      :format(server:port(), script) }, on_exit = function() ended = true end })
    looptest.until_true(function() return ended end)
  end
  lu.assertEquals(asked, {})
  looptest.until_true(function() return server:conns() == 0 end)
  server:close()
end

-- Clients that send a byte now and then held each connection for ever: evhttp's own timeout
-- begins anew with each byte.
function tests.test_slow_clients_are_cut_off()
  local server = serve { max_conns = 4, timeout_ms = 300 }
  local ended = 0
  for _ = 1, 4 do
    looptest.client(server:port(), "for i in $(seq 200); do printf G >&3 || exit; sleep 0.05; done")
  end
  looptest.until_true(function() return server:conns() == 4 end)
  -- who comes now waits, and is served as soon as there is room
  local text
  local script = ("exec 3<>/dev/tcp/127.0.0.1/%d; printf '%s' >&3; cat <&3"):format(server:port(),
    GET)
  assert(loop.spawn { argv = { "bash", "-c", script },
    on_line = function(line) text = (text or "") .. line end,
    on_exit = function() ended = ended + 1 end })
  looptest.until_true(function() return ended == 1 end)
  lu.assertStrContains(text, "all well")
  looptest.until_true(function() return server:conns() == 0 end)
  server:close()
end

-- A client that does not read its answer holds it no longer than the deadline.
function tests.test_clients_that_do_not_read_are_cut_off()
  local server, asked = serve { timeout_ms = 300, body = ("x"):rep(50 << 20) }
  looptest.client(server:port(), ("printf '%s' >&3; sleep 3"):format(GET))
  looptest.until_true(function() return #asked == 1 end)
  lu.assertEquals(server:conns(), 1)
  looptest.until_true(function() return server:conns() == 0 end)
  server:close()
end

function tests.test_no_more_connections_than_allowed()
  local server = serve { max_conns = 3, timeout_ms = 400 }
  local most = 0
  for _ = 1, 12 do
    looptest.client(server:port(), "cat <&3 >/dev/null")
  end
  local poll = loop.every(5, function() most = math.max(most, server:conns()) end)
  looptest.until_true(function() return most >= 3 end)
  looptest.pass(300)
  poll:cancel()
  lu.assertEquals(most, 3)
  lu.assertStrContains(get(server:port(), GET), "all well") -- behind the other nine
  looptest.until_true(function() return server:conns() == 0 end)
  server:close()
end

function tests.test_closing_while_clients_are_there()
  local server = serve()
  for _ = 1, 3 do
    looptest.client(server:port(), "printf GET >&3; cat <&3 >/dev/null")
  end
  looptest.until_true(function() return server:conns() == 3 end)
  server:close()
  server = nil
  collectgarbage()
  looptest.pass(50)
  lu.assertNil(server)
end

-- 90 idle connections of one user, and nobody else got a page.
function tests.test_idle_connections_give_way_to_who_asks()
  local server = serve { max_conns = 4, timeout_ms = 20000 }
  for _ = 1, 12 do
    looptest.client(server:port(), "cat <&3 >/dev/null")
  end
  looptest.until_true(function() return server:conns() == 4 end)
  for _ = 1, 5 do
    lu.assertStrContains(get(server:port(), GET), "all well")
    lu.assertTrue(server:conns() <= 4)
  end
  server:close()
end

return tests
