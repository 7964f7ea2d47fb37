-- SPDX-License-Identifier: GPL-2.0-or-later
-- Requests from other hosts: who may ask what, how often, and what of it stays when he is gone.
-- MUNGE is left out (the lab has it): a credential here is "UID text".
local addresses = require "taut.slurm.addresses"
local envelope = require "taut.base.envelope"
local json = require "taut.json"
local loop = require "taut.loop"
local lu = require "luaunit"
local munge = require "taut.munge"
local remote = require "taut.core.remote"
local rights = require "taut.base.rights"
local wire = require "taut.wire"

local tests = {}
local decode, time = munge.decode, loop.time

function tests.setUp()
   munge.decode = function(bytes, fn)
      local uid, text = bytes:match "^MUNGE:(%d+) (.*)$"
      fn(text, uid and math.tointeger(tonumber(uid)) or "Invalid credential")
   end
   loop.time = function() return 1000 end
end

function tests.tearDown()
   munge.decode, loop.time = decode, time
end

-- @param o { answer = function(client, request, caller), remote = settings, admins = set of uids }
local function daemon(o)
   o = o or {}
   local d = { refused = {}, asked = {} }
   local conf = { ask = true, per_minute = 60, admins = false }
   for k, v in pairs(o.remote or {}) do
      conf[k] = v
   end
   d.remote = remote.new { site = { conf = { remote = conf } },
      cluster = { is_admin = function(_, uid) return uid == 0 or uid == 500 end },
      addresses = addresses.new { setting = "slurm" },
      refusals = { note = function(_, _, why) table.insert(d.refused, why) end },
      query = { request = function(_, client, request, caller)
         table.insert(d.asked, { client = client, request = request, as = caller.as,
            name = caller.name, why_not = caller.why_not })
         if o.answer then
            o.answer(client, request, caller)
         end
      end } }
   function d.conn(peer)
      local conn = { sent = {} }
      function conn.peer() return peer or "10.0.0.1:1" end
      function conn.timeout(_, ms) conn.ms = ms end
      function conn.send(_, kind, bytes)
         lu.assertEquals(kind, wire.ANSWER)
         table.insert(conn.sent, bytes)
      end
      function conn.close() conn.closed = true end
      return conn
   end
   function d.ask(uid, peer, text)
      local conn, key = d.conn(peer)
      if not text then
         text, key = envelope.ask { cmd = "status", args = {} }
      end
      d.remote:frame(conn, "MUNGE:" .. uid .. " " .. text)
      return conn, key
   end
   return d
end

local function says(conn, key)
   return json.decode(envelope.open(key, conn.sent))
end

local function yes(client)
   client:reply '{"ok":true,"data":{}}'
end

function tests.test_a_user_is_answered_under_the_key_of_the_request()
   local d = daemon { answer = yes }
   local conn, key = d.ask(1000)
   lu.assertEquals(says(conn, key), { ok = true, data = {} })
   lu.assertTrue(conn.closed)
   lu.assertEquals(d.asked[1].as, 1000)
   lu.assertEquals(d.asked[1].request, { cmd = "status", args = {} })
   lu.assertNil(envelope.open(("x"):rep(32), conn.sent))
end

function tests.test_a_long_answer_goes_piece_by_piece_as_it_is_taken()
   local text = ("x"):rep(700000)
   local d = daemon { answer = function(client) client:reply(text) end }
   local conn, key = d.ask(1000)
   lu.assertEquals(#conn.sent, 1)
   lu.assertNil(conn.closed)
   while not conn.closed do
      d.remote:sent(conn)
   end
   lu.assertEquals(#conn.sent, 3)
   lu.assertEquals(envelope.open(key, conn.sent), text)
   conn.sent[3] = nil
   lu.assertEquals({ envelope.open(key, conn.sent) }, { nil, "the answer is cut off" })
end

function tests.test_an_administrator_is_one_from_the_hosts_of_the_site_only()
   local d = daemon { remote = { admins = "10.0.0.[1-2]" } }
   d.ask(0, "10.0.0.2:999")
   lu.assertEquals({ d.asked[1].as, d.asked[1].name, d.asked[1].why_not }, { 0, "root@10.0.0.2" })
   d.ask(0, "10.0.0.3:999")
   lu.assertEquals({ d.asked[2].as, d.asked[2].name }, { -1, "root@10.0.0.3" })
   lu.assertStrContains(d.asked[2].why_not, "from hosts in remote.admins of taut.lua(5); you are")
   d.ask(1000, "10.0.0.2:999")
   lu.assertEquals(d.asked[3].as, 1000)
   -- a user there may have got root's credential from root elsewhere
   d.ask(0, "10.0.0.2:1024")
   lu.assertEquals({ d.asked[4].as, d.asked[4].name }, { -1, "root@10.0.0.2" })
   lu.assertStrContains(d.asked[4].why_not, "root@10.0.0.2, from port 1024, which any user")
   -- a member of admin_group has the rights of a user there, who he is
   d.ask(500, "10.0.0.2:1024")
   lu.assertEquals(rights.user(d.asked[5].as), 500)
   lu.assertTrue(rights.are_of_user(d.asked[5].as))
   lu.assertStrContains(d.asked[5].why_not, "only root may do this")
   local none = daemon()
   none.ask(0, "10.0.0.2:999")
   lu.assertEquals(none.asked[1].as, -1)
end

function tests.test_a_user_has_four_requests_under_way()
   local d = daemon()
   local conns = {}
   for i = 1, 4 do
      conns[i] = d.ask(1000)
   end
   local conn, key = d.ask(1000)
   lu.assertStrContains(says(conn, key).error, "too many requests at once")
   lu.assertTrue(conn.closed)
   d.ask(1001)
   lu.assertEquals(#d.asked, 5)
   yes(d.asked[1].client)
   d.remote:gone(conns[1])
   d.ask(1000)
   lu.assertEquals(#d.asked, 6)
end

-- Who asks and hangs up, again and again, has as much worked out for him as who waits.
function tests.test_a_place_is_free_when_the_work_is_done_and_the_answer_taken()
   local d = daemon()
   for _ = 1, 8 do
      d.remote:gone(d.ask(1000))
   end
   lu.assertEquals(#d.asked, 4)
   yes(d.asked[1].client)
   local conn = d.ask(1000)
   lu.assertEquals(#d.asked, 5)
   yes(d.asked[5].client) -- nobody has taken it yet
   d.ask(1000)
   lu.assertEquals(#d.asked, 5)
   d.remote:gone(conn)
   d.ask(1000)
   lu.assertEquals(#d.asked, 6)
end

-- Root of one node is any user.
function tests.test_an_address_has_its_share()
   local d = daemon { remote = { admins = "10.0.0.9" } }
   for uid = 1, 60 do
      d.ask(uid, "10.0.0.1:" .. uid + 2000)
   end
   lu.assertEquals(#d.asked, 16)
   d.ask(1, "10.0.0.2:2000")
   lu.assertEquals(#d.asked, 17)
   d = daemon { answer = yes }
   for uid = 1, 60 do
      d.remote:gone(d.ask(uid, "10.0.0.1:" .. uid + 2000))
   end
   lu.assertEquals(#d.asked, 40)
   lu.assertEquals(d.refused[1], "ASK: too often from this address")
   d.remote:gone(d.ask(1, "[fd00::1]:2000"))
   lu.assertEquals(#d.asked, 41)
end

function tests.test_places_are_kept_for_administrators()
   local d = daemon { remote = { admins = "10.0.0.9" } }
   for uid = 1, 60 do
      d.ask(uid, ("10.0.1.%d:2000"):format(uid))
   end
   lu.assertEquals(#d.asked, 48)
   for _ = 1, 20 do
      d.ask(0, "10.0.0.9:999")
   end
   lu.assertEquals(#d.asked, 64)
end

function tests.test_a_user_asks_so_often_a_minute()
   local d, now = daemon { answer = yes, remote = { per_minute = 6 } }, 1000
   loop.time = function() return now end
   local function many(uid, n)
      for _ = 1, n do
         d.remote:gone(d.ask(uid))
      end
   end
   many(1000, 10)
   lu.assertEquals(#d.asked, 6)
   many(1001, 1)
   lu.assertEquals(#d.asked, 7)
   now = 1010
   many(1000, 3)
   lu.assertEquals(#d.asked, 8)
   local conn, key = d.ask(1000)
   lu.assertEquals(says(conn, key).error,
      "more than 6 requests a minute (remote.per_minute), or 10 at once")
   now = 2000
   many(1000, 10)
   lu.assertEquals(#d.asked, 14)
   many(0, 20) -- from a host that is not listed: as anybody
   lu.assertEquals(#d.asked, 20)
end

-- A minute's requests do not come at once.
function tests.test_few_of_a_minute_come_at_once()
   local d, now = daemon { answer = yes }, 1000
   loop.time = function() return now end
   for _ = 1, 60 do
      d.remote:gone(d.ask(1000))
   end
   lu.assertEquals(#d.asked, 10)
   for _ = 1, 60 do
      now = now + 1
      d.remote:gone(d.ask(1000))
      d.remote:gone(d.ask(1000))
   end
   lu.assertEquals(#d.asked, 70)
end

function tests.test_all_users_together_ask_so_often()
   local d, now = daemon { answer = yes }, 1000
   loop.time = function() return now end
   local function many()
      for uid = 1, 200 do
         d.remote:gone(d.ask(uid, ("10.0.1.%d:2000"):format(uid)))
      end
   end
   many()
   lu.assertEquals(#d.asked, 60)
   now = 1001
   many()
   lu.assertEquals(#d.asked, 80)
end

function tests.test_few_credentials_are_with_munge()
   local d, waiting = daemon { remote = { admins = "10.0.0.9" } }, {}
   munge.decode = function(_, fn) waiting[#waiting + 1] = fn end
   for i = 1, 40 do
      d.ask(1000, "10.0.0.1:" .. i + 2000)
   end
   lu.assertEquals(#waiting, 4)
   lu.assertEquals(#d.refused, 36)
   lu.assertEquals(d.refused[1], "ASK: too many at once")
   for i = 1, 40 do
      d.ask(1000, ("10.0.1.%d:2000"):format(i))
   end
   lu.assertEquals(#waiting, 12)
   -- of a host where users are, too: what comes from root's port is root's
   d.ask(1000, "10.0.0.9:2000")
   lu.assertEquals(#waiting, 12)
   for _ = 1, 9 do
      d.ask(0, "10.0.0.9:999")
   end
   lu.assertEquals(#waiting, 16)
   waiting[1](nil, "Replayed credential")
   lu.assertEquals(d.refused[#d.refused], "ASK: Replayed credential")
   d.ask(0, "10.0.0.9:999")
   lu.assertEquals(#waiting, 17)
end

function tests.test_who_has_hung_up_is_not_answered()
   local d = daemon()
   local conn = d.ask(1000)
   d.remote:gone(conn)
   d.asked[1].client:reply "late"
   lu.assertEquals(conn.sent, {})
   d.remote:sent(conn)
   local fn
   munge.decode = function(_, then_) fn = then_ end
   conn = d.ask(1000)
   d.remote:gone(conn)
   fn(envelope.ask { cmd = "status" }, 1000)
   lu.assertEquals(#d.asked, 1)
end

function tests.test_what_is_no_request_is_refused()
   local key = ("ab"):rep(32)
   for text, why in pairs {
      ["x"] = "ASK: the credential does not contain a request",
      ["{}"] = "ASK: the credential does not contain a request",
      ["5"] = "ASK: the credential does not contain a request",
      ['{"kind":"taut ask 1","key":"ab","request":{}}'] = "ASK: key: expected 64 hex digits",
      ['{"kind":"taut ask 1","key":5,"request":{}}'] = "ASK: key: expected 64 hex digits",
      ['{"kind":"taut ask 1","key":"' .. key .. '"}'] = "ASK: request: expected an object",
      ['{"kind":"taut ask 1","key":"' .. key .. '","request":5}'] =
         "ASK: request: expected an object",
   } do
      local d = daemon()
      lu.assertTrue(d.ask(1000, nil, text).closed)
      lu.assertEquals(d.refused, { why })
      lu.assertEquals(d.asked, {})
   end
end

-- Anybody can send anything; MUNGE is not asked about it.
function tests.test_what_is_no_credential_is_refused_at_once()
   local d = daemon()
   munge.decode = function() error "asked" end
   for _, bytes in ipairs { "", "junk", "MUNGE:" .. ("x"):rep(2 * wire.ASK_MAX) } do
      local conn = d.conn()
      d.remote:frame(conn, bytes)
      lu.assertTrue(conn.closed)
   end
   lu.assertEquals(d.refused[3], "ASK: no credential")
end

function tests.test_a_second_request_of_a_connection_and_a_site_that_wants_none()
   local d = daemon()
   local conn = d.ask(1000)
   d.remote:frame(conn, "MUNGE:1000 " .. envelope.ask { cmd = "status" })
   lu.assertEquals(d.refused, { "a second ASK" })
   d = daemon { remote = { ask = false } }
   lu.assertTrue(d.ask(1000).closed)
   lu.assertEquals(d.refused, { "ASK: remote.ask is false" })
end

return tests
