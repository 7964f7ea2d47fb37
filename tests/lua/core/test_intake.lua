-- SPDX-License-Identifier: GPL-2.0-or-later
-- HELLOs of attackers: what is refused costs nothing.  MUNGE is left out (the lab has it): a
-- credential here is "UID text".
local intake = require "taut.core.intake"
local json = require "taut.json"
local lu = require "luaunit"
local munge = require "taut.munge"
local node_lists = require "taut.wire.node_lists"
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

local function daemon(count)
   local d = { heard = {}, refused = {}, lists = node_lists.new(function() return count end) }
   d.intake = intake.new { lists = d.lists,
      cluster = { heard = function() end, prolog = function() end },
      events = { heard = function() end },
      refusals = { note = function(_, _, why) table.insert(d.refused, why) end },
      surveys = { has = function() return false end },
      rendezvous = { hello = function(_, _, h, names)
         table.insert(d.heard, { h.node, names })
      end } }
   function d.hello(uid, node, nodes)
      local conn = { peer = function() return "10.0.0.1:1" end, known = function() end }
      function conn.close() conn.closed = true end
      d.intake:frame(conn, wire.HELLO, uid .. " " .. json.encode { v = wire.VERSION,
         purpose = "prolog", job = 5, node = node, nodes = nodes, endpoint = "10.0.0.1:4000",
         budget_ms = 900, key = ("a"):rep(64) })
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

return tests
