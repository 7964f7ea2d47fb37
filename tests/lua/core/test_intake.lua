-- SPDX-License-Identifier: GPL-2.0-or-later
-- HELLOs of attackers: what is refused costs nothing.  MUNGE is left out (the lab has it): a
-- credential here is "UID text".
local acting = require "taut.core.acting"
local addresses = require "taut.slurm.addresses"
local claims = require "taut.slurm.claims"
local intake = require "taut.core.intake"
local json = require "taut.json"
local lu = require "luaunit"
local munge = require "taut.munge"
local node_lists = require "taut.wire.node_lists"
local seal = require "taut.seal"
local sys = require "taut.sys"
local ticket = require "taut.wire.ticket"
local wire = require "taut.wire"

local tests = {}
local decode = munge.decode

function tests.setUp()
   munge.decode = function(bytes, fn)
      local uid, text = bytes:match "^(%d+) (.*)$"
      fn(text, math.tointeger(tonumber(uid)))
   end
end

function tests.tearDown()
   munge.decode = decode
end

-- @param o { check = may a message of this node come from there (default: yes), alps }
local function daemon(count, o)
   o = o or {}
   local at = o.check or function() return true end
   local from = addresses.new { setting = "slurm", ports = o.ports }
   function from.check(_, ...) return at(...) end
   function from.is_of_one() return not o.shared_address end
   local d = { heard = {}, samples = {}, refused = {}, probes = {}, user_ports = {},
      lists = node_lists.new(function() return count end) }
   d.intake = intake.new { lists = d.lists, munged = { note = function() end },
      acting = acting.new { is_ready = true },
      addresses = from,
      site = { topo = { node_id = setmetatable({}, { __index = function(_, name)
         return tonumber(name:match "^n(%d+)$")
      end }), rails = 1 } }, journal = { add = function(_, _, row)
         table.insert(d.samples, row)
      end },
      cluster = { heard = function() end, nodes = { n1 = {} }, prolog = function() end,
         nodes_of = function() return o.known end, claims = claims.new(), on_node = {},
         alps = function() return o.alps end,
         speaks = function(_, ...) table.insert(d.probes, { ... }) end,
         users_call_from = function(_, node, first) d.user_ports[node] = first end },
      events = { heard = function() end },
      refusals = { note = function(_, _, why) table.insert(d.refused, why) end },
      surveys = { has = function() return false end },
      rendezvous = { hello = function(_, _, h, names, is_vouched)
         table.insert(d.heard, { h.node, names, is_vouched() })
      end } }
   function d.hello(uid, node, nodes, more, peer)
      local conn = { peer = function() return peer or "10.0.0.1:700" end, known = function() end }
      function conn.close() conn.closed = true end
      function conn.send(_, kind, bytes) conn.sent = { kind, bytes } end
      local h = { v = wire.VERSION, purpose = "prolog", job = 5, node = node, nodes = nodes,
         endpoint = "10.0.0.1:4000", budget_ms = 900, key = ("a"):rep(64) }
      for k, v in pairs(more or {}) do
         h[k] = v
      end
      d.intake:frame(conn, wire.HELLO, uid .. " " .. json.encode(h))
      return conn
   end
   return d
end

function tests.test_a_user_is_refused_before_a_name_is_made()
   local d = daemon(2000000)
   for _ = 1, 6 do
      lu.assertTrue(d.hello(1000, "n1", "n[0-999999]").closed)
   end
   lu.assertEquals(d.lists.made, 0)
   lu.assertStrContains(d.refused[1], "prolog by uid 1000, only root may")
end

function tests.test_a_node_says_which_ports_its_users_have()
   local d = daemon(16)
   d.hello(0, "n1", "n1", { user_port = 0 })
   lu.assertEquals(d.user_ports, { n1 = 0 })
end

function tests.test_root_names_no_more_nodes_than_there_are()
   local d = daemon(16)
   lu.assertTrue(d.hello(0, "n1", "n[0-999999]").closed)
   lu.assertStrContains(d.refused[1], "more than 16 names")
   lu.assertEquals(d.heard, {})
end

function tests.test_the_nodes_of_a_large_job_share_what_was_made_of_their_list()
   local d = daemon(2000)
   for n = 0, 1999 do
      d.hello(0, "n" .. n, "n[0-1999]")
   end
   lu.assertEquals(#d.heard, 2000)
   lu.assertEquals(d.lists.made, 1)
   lu.assertTrue(rawequal(d.heard[1][2], d.heard[2000][2]))
end

function tests.test_a_node_that_nobody_knows_is_refused()
   local d = daemon(16)
   lu.assertTrue(d.hello(0, "zz", "zz").closed)
   lu.assertStrContains(d.refused[1], "no node zz")
end

-- Names that look like a node's: other letters, or some that turn the line around or are not seen.
function tests.test_a_name_that_looks_like_a_nodes_is_another_one()
   local d = daemon(16)
   for _, name in ipairs { "\u{578}1", "n\u{661}", "n1\u{200b}", "\u{202e}1n", "n1\u{2069}", "N1",
      "n1 ", "n1\0", "\u{ff4e}1" } do
      lu.assertTrue(d.hello(0, name, "n1").closed, name)
   end
   lu.assertTrue(d.hello(0, "n1", "n1,\u{578}1").closed)
   lu.assertEquals(#d.heard, 0)
   for _, why in ipairs(d.refused) do
      lu.assertEquals(why, sys.plain(why)) -- nor does it turn the line of the log around
   end
end

---------------------------------------------------------------- how often, how much

-- 118 a second for 45 s, each with as many readings as a message may carry: the database never came
-- back.
function tests.test_a_node_that_floods_is_refused_and_the_others_are_not()
   local d = daemon(16)
   for job = 1, 2000 do
      d.hello(0, "n1", "n1", { job = job })
   end
   lu.assertTrue(#d.heard < 400)
   local why = table.concat(d.refused, "\n")
   lu.assertStrContains(d.refused[1], "n1 says more than 600 a minute")
   lu.assertStrContains(why, "too many before it") -- MUNGE was not asked
   local before = #d.heard
   d.hello(0, "n2", "n2", nil, "10.0.0.2:700")
   lu.assertEquals(#d.heard, before + 1)
end

function tests.test_nodes_that_share_an_address_are_not_held_up_for_one()
   local d = daemon(16, { shared_address = true })
   for job = 1, 1000 do
      d.hello(0, "n1", "n1", { job = job })
   end
   local before = #d.heard
   d.hello(0, "n2", "n2")
   lu.assertEquals(#d.heard, before + 1)
end

function tests.test_of_jobs_that_nobody_else_knows_little_is_kept()
   for _, known in ipairs { false, { "n1" } } do
      local d = daemon(16, { known = known or nil })
      for job = 1, 200 do
         d.hello(0, "n1", "n1", { job = job, readings = "netdev hsn0 rx_bytes=1" })
      end
      lu.assertEquals(#d.samples, known and 200 or 64)
   end
end

function tests.test_readings_are_those_of_the_rails_that_there_are()
   local d = daemon(16)
   d.hello(0, "n1", "n1", { readings = "netdev hsn0 rx_bytes=1\nib hsn0 symbol_error=0\n" ..
      "netdev hsn0 rx_bytes=2\nnetdev hsn1 rx_bytes=1" })
   lu.assertEquals(d.samples[1].counters, "netdev hsn0 rx_bytes=1\nib hsn0 symbol_error=0")
end

---------------------------------------------------------------- versions

-- A probe of the future: told why, remembered for `taut nodes`; nothing else of it is looked at.
function tests.test_an_unknown_version_is_refused_and_both_sides_know_why()
   local d = daemon(16)
   local conn = d.hello(0, "n1", {}, { v = 99, oldest = 98, release = "9.1" })
   lu.assertTrue(conn.closed)
   lu.assertStrContains(d.refused[1], "expected protocol 1, got 98 to 99")
   lu.assertEquals(d.probes, { { "n1", "9.1", 99, true } })
   lu.assertEquals(conn.sent[1], wire.REFUSED)
   local text = assert(seal.open(seal.unhex(("a"):rep(64)), wire.REFUSED, conn.sent[2], 0,
      wire.ANY_VERSION))
   lu.assertEquals(json.decode(text).why, d.refused[1])
end

function tests.test_only_roots_word_for_a_known_node_is_remembered()
   local d = daemon(16, { check = function(node) return node ~= "n1" end })
   for _, who in ipairs { { 1000, "n1" }, { 0, "nowhere" }, { 0, "n1" }, { 0, {} } } do
      lu.assertTrue(d.hello(who[1], who[2], "n1", { v = 99 }).closed)
   end
   lu.assertEquals(d.probes, {})
end

function tests.test_a_probe_that_does_not_know_REFUSED_gets_none()
   local d = daemon(16)
   lu.assertNil(d.hello(0, "n1", "n[0-999999]").sent)
   lu.assertNotNil(d.hello(0, "n1", "n[0-999999]", { oldest = 1 }).sent)
end

---------------------------------------------------------------- in another's name

local function elsewhere(node, from)
   return false, ("%s speaks from %s"):format(node, from)
end

function tests.test_who_speaks_from_elsewhere_is_refused_and_leaves_nothing()
   local d = daemon(16, { check = elsewhere })
   lu.assertTrue(d.hello(0, "n1", "n[0-3]").closed)
   lu.assertEquals(d.refused, { "n1 speaks from 10.0.0.1:700" })
   lu.assertEquals(d.heard, {})
end

function tests.test_where_nobody_knows_yet_it_is_taken_and_not_vouched_for()
   local d = daemon(16, { check = function() return nil end })
   lu.assertNil(d.hello(0, "n1", "n[0-3]").closed)
   lu.assertEquals(#d.heard, 1)
   lu.assertNil(d.heard[1][3])
end

-- A credential of root's in the hands of a user of that node: the port is not root's.
function tests.test_root_speaks_from_a_port_that_only_root_has()
   local d = daemon(16)
   for _, peer in ipairs { "10.0.0.1:1024", "10.0.0.1:40912", "[fd00::1]:1024", "x" } do
      lu.assertTrue(d.hello(0, "n1", "n[0-3]", nil, peer).closed)
   end
   lu.assertEquals(d.refused[2], "HELLO: n1 speaks as root from port 40912, which any user has; " ..
      "root calls from one below 1024 (node_ports in taut.lua(5))")
   lu.assertEquals(#d.refused, 4)
   lu.assertEquals(d.heard, {})
   d.hello(0, "n1", "n[0-3]", { v = 99 }, "10.0.0.1:40912") -- nor is he told of
   lu.assertEquals(d.probes, {})
   lu.assertNil(d.hello(0, "n1", "n[0-3]", nil, "[fd00::1]:1023").closed)
   lu.assertEquals(#d.heard, 1)
   d = daemon(16, { ports = "any" })
   lu.assertNil(d.hello(0, "n1", "n[0-3]", nil, "10.0.0.1:40912").closed)
end

---------------------------------------------------------------- tickets

-- A node's HELLO under a ticket: what the ticket says, who made it, what the node says.
local function with_ticket(uid, given, says, change, how)
   local d = daemon(16, how)
   local o = { job = 5, node = "n1", nodes = "n[0-3]", purpose = "prolog", uid = 7, restart = 0 }
   for k, v in pairs(given or {}) do
      o[k] = v
   end
   local text, key = ticket.make(o)
   local h = { v = wire.VERSION, purpose = "prolog", job = 5, node = "n1", nodes = "n[0-3]",
      uid = 7, restart = 0, endpoint = "10.0.0.1:4000", budget_ms = 900, key = ("a"):rep(64) }
   for k, v in pairs(says or {}) do
      h[k] = v
   end
   local sealed = seal.hex(seal.seal(seal.unhex(key), wire.HELLO, json.encode(h)))
   if change then
      text, sealed = change(text, sealed)
   end
   local conn = { known = function() end }
   function conn.peer() return how and how.peer or "10.0.0.1:700" end
   function conn.close() conn.closed = true end
   d.intake:frame(conn, wire.HELLO, ("%d %s\n%s"):format(uid, text, sealed))
   return conn.closed, d.refused[1], d
end

local function refused(expected, ...)
   local closed, why, d = with_ticket(...)
   lu.assertTrue(closed)
   lu.assertStrContains(why, expected)
   lu.assertEquals(d.heard, {})
end

function tests.test_a_ticket_of_root_is_as_good_as_its_credential()
   local closed, _, d = with_ticket(0)
   lu.assertNil(closed)
   lu.assertEquals(d.heard[1][1], "n1")
end

-- Over ALPS only the front end can make one; elsewhere whoever holds the MUNGE key can.
function tests.test_a_ticket_stands_for_an_address_over_alps_only()
   local closed, _, d = with_ticket(0, nil, nil, nil, { check = elsewhere, alps = "slurm" })
   lu.assertNil(closed)
   lu.assertTrue(d.heard[1][3])
   local why
   closed, why = with_ticket(0, nil, nil, nil, { check = elsewhere })
   lu.assertTrue(closed)
   lu.assertStrContains(why, "n1 speaks from 10.0.0.1:700")
end

-- aprun brings it as the user of the job; elsewhere root of any node could have made it.
function tests.test_a_ticket_comes_from_any_port_over_alps_only()
   local closed = with_ticket(0, nil, nil, nil, { peer = "10.0.0.1:40912", alps = "slurm" })
   lu.assertNil(closed)
   local why
   closed, why = with_ticket(0, nil, nil, nil, { peer = "10.0.0.1:40912" })
   lu.assertTrue(closed)
   lu.assertStrContains(why, "n1 speaks as root from port 40912")
end

function tests.test_a_ticket_is_for_one_node_one_job_one_purpose()
   refused("node: the ticket is for n2, got n1", 0, { node = "n2" })
   refused("job: the ticket is for 6, got 5", 0, { job = 6 })
   refused("purpose: the ticket is for epilog, got prolog", 0, { purpose = "epilog" })
   refused("nodes: the ticket is for n[0-3], got n[0-9]", 0, nil, { nodes = "n[0-9]" })
   refused("uid: the ticket is for 7, got 0", 0, nil, { uid = 0 })
   refused("purpose: expected prolog", 0, { purpose = "x" }, { purpose = "x" })
end

function tests.test_a_user_makes_no_tickets()
   refused("prolog by uid 1000, only root may", 1000)
   refused("audit by uid 1000, only root may", 1000, { purpose = "audit" },
      { purpose = "audit", step = 0, procid = 0 })
end

function tests.test_a_hello_must_be_sealed_with_its_tickets_key()
   refused("not sealed with its ticket's key", 0, nil, nil, function(text)
      return text, seal.hex(seal.seal(("k"):rep(32), wire.HELLO, "{}"))
   end)
   refused("not sealed with its ticket's key", 0, nil, nil, function(text, sealed)
      return text, sealed:sub(1, -3) .. (sealed:sub(-2) == "00" and "11" or "00")
   end)
   refused("the credential does not contain a ticket", 0, nil, nil, function(_, sealed)
      return '{"job":5}', sealed
   end)
   refused("end of file expected", 0, nil, nil, function(text) -- not even hex
      return text, "xyz"
   end)
end

-- What replays a ticket, or comes too late with it, MUNGE refuses (tests/lab/alps has it).
function tests.test_what_munge_refuses_is_refused()
   munge.decode = function(_, fn) fn(nil, "Replayed credential") end
   refused("HELLO: Replayed credential", 0)
end

return tests
