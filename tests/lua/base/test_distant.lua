-- SPDX-License-Identifier: GPL-2.0-or-later
-- Asking a tautd on another host: whom, and what an answer may be.
local dial = require "taut.dial"
local distant = require "taut.base.distant"
local envelope = require "taut.base.envelope"
local json = require "taut.json"
local loop = require "taut.loop"
local lu = require "luaunit"
local tree = require "taut.base.tree"

local tests = {}

function tests.test_servers()
   lu.assertEquals(distant.servers "ctl", { { host = "ctl", port = 6824 } })
   lu.assertEquals(distant.servers "a.b:1,10.0.0.1", { { host = "a.b", port = 1 },
      { host = "10.0.0.1", port = 6824 } })
   lu.assertEquals(distant.servers "[fe80::1]:77,[::1]", { { host = "fe80::1", port = 77 },
      { host = "::1", port = 6824 } })
   for _, text in ipairs { "", ",", "a:0", "a:65536", "a b", "a;b", "a:x", "::1" } do
      local list, err = distant.servers(text)
      lu.assertNil(list, text)
      lu.assertStrContains(err, "expected HOST[:PORT]")
   end
end

function tests.test_node_conf()
   local path = os.tmpname()
   local f = assert(io.open(path, "w"))
   f:write "# tautd\n servers = ctl:1 \nuser=slurm\nmunge-socket=/run/m\n#servers=other\nodd\n"
   f:close()
   lu.assertEquals(distant.conf(path), { servers = "ctl:1", user = "slurm",
      munge_socket = "/run/m" })
   os.remove(path)
   lu.assertEquals(distant.conf(path), {})
end

function tests.test_an_answer_of_somebody_else_is_none()
   local _, key = envelope.ask { cmd = "status" }
   local text = "an answer"
   local sealed = envelope.piece(key, text, 1)
   lu.assertEquals(envelope.open(key, { sealed }), text)
   lu.assertStrContains(select(2, envelope.open(key, { sealed:sub(1, -2) .. "x" })),
      "not of the tautd that was asked")
   lu.assertStrContains(select(2, envelope.open(key, { sealed, sealed })), "cut off")
   lu.assertStrContains(select(2, envelope.open(key, {})), "closed without an answer")
end

function tests.test_empty_and_long_answers()
   local _, key = envelope.ask { cmd = "status" }
   for _, n in ipairs { 0, 1, (1 << 18) - 1, 1 << 18, (1 << 18) + 1, 3 << 18 } do
      local text, list = ("x"):rep(n), {}
      for i = 1, envelope.pieces(text) do
         list[i] = envelope.piece(key, text, i)
      end
      lu.assertEquals(envelope.open(key, list), text)
   end
end

function tests.test_who_does_not_answer_in_time_is_given_up()
   local silent = loop.listen { host = "127.0.0.1", port = 0, on_frame = function() end }
   local list, err = dial.ask("127.0.0.1", silent:port(), "x", 50)
   lu.assertNil(list)
   lu.assertStrContains(err, "timed out")
   local port = silent:port()
   silent:close()
   list, err = dial.ask("127.0.0.1", port, "x", 1000)
   lu.assertNil(list)
   lu.assertStrContains(err, "refused")
end

function tests.test_no_munge_is_said()
   local cred, err = dial.sign("x", 0, "/nonexistent/munge.socket")
   lu.assertNil(cred)
   lu.assertStrContains(err, "munge: ")
   cred, err = dial.sign(("x"):rep((1 << 19) + 1), 0)
   lu.assertNil(cred)
   lu.assertStrContains(err, "expected at most 524288")
end

---------------------------------------------------------------- trees

function tests.test_any_table_comes_back()
   for _, v in ipairs { {}, { 1, 2.5, "x", true, false }, { a = { b = { 1, { c = "d" } } } },
      { "x", y = "z", ["Y+"] = 3e9 }, { [0] = "r", [7] = { 1 } },
      { { 1, 2 }, { 3 }, n = { 0.1 } } } do
      lu.assertEquals(tree.take(json.decode(tree.encode(v))), v)
   end
   lu.assertEquals(tree.take(json.decode(tree.encode(5))), 5)
end

return tests
