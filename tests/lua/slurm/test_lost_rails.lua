-- SPDX-License-Identifier: GPL-2.0-or-later
-- Interfaces that nodes cannot use: of one they never had nothing is logged, of one that is lost a
-- line.
local loop = require "taut.loop"
local lost_rails = require "taut.slurm.lost_rails"
local lu = require "luaunit"

local tests = {}

-- Nodes n0 with two rails, n1 with one.
local function machine()
   local topo = { nodes = { "n0", "n1" }, node_id = { n0 = 1, n1 = 2 }, rails = 2, away = {} }
   function topo.router(_, n, rail) return (n == 1 or rail == 1) and n or nil end
   local m = { said = {} }
   m.lost = lost_rails.new(function(level, text) m.said[#m.said + 1] = level .. ": " .. text end)
   function m.hear(name, ...) m.lost:hear(topo, name, { ... }) end
   function m.list()
      local out = {}
      for i, l in ipairs(m.lost:list(topo)) do
         out[i] = l.node .. " " .. l.rails[1].rail .. " " .. (l.rails[1].interface or "?")
      end
      return out
   end
   m.topo = topo
   return m
end

local HSN0, HSN1 = { ["if"] = "hsn0", tcp = "10.0.0.1:4000" }, { ["if"] = "hsn1", ofi = "1:2" }
local NO_HSN1 = { ["if"] = "hsn1" }

-- Past fault: each job of a node of one fabric only logged an error for its other interface.
function tests.test_a_node_of_one_fabric_only_is_quiet()
   local m = machine()
   for _ = 1, 5 do
      m.hear("n1", HSN0, NO_HSN1)
   end
   lu.assertEquals(m.said, {})
   lu.assertEquals(m.list(), {})
end

function tests.test_a_rail_that_was_there_and_is_gone_is_news_once()
   local m = machine()
   m.hear("n0", HSN0, HSN1)
   for _ = 1, 3 do
      m.hear("n0", HSN0, NO_HSN1)
   end
   lu.assertEquals(m.said, { "warning: n0 cannot use its rail 2 (hsn1) any more: nothing is " ..
      "tested there" })
   lu.assertEquals(m.list(), { "n0 2 hsn1" })
   m.hear("n0", HSN0, HSN1)
   m.hear("n0", HSN0, HSN1)
   lu.assertEquals(m.said[2], "info: n0 can use its rail 2 (hsn1) again")
   m.hear("n0", HSN0)
   lu.assertEquals(#m.said, 3)
   lu.assertStrContains(m.said[3], "its rail 2 (no interface) any more")
   lu.assertEquals(m.list(), { "n0 2 ?" })
end

-- Root of a node that names its interface in each second HELLO had a line in tautd's log for each.
function tests.test_one_that_comes_and_goes_fills_no_log()
   local m = machine()
   local time, now = loop.time, loop.time()
   loop.time = function() return now end
   local ok, err = pcall(function()
      for _ = 1, 50 do
         m.hear("n0", HSN0, HSN1)
         m.hear("n0", HSN0, NO_HSN1)
      end
      lu.assertEquals(#m.said, 8)
      now = now + 61
      m.hear("n0", HSN0, HSN1)
      m.hear("n0", HSN0, NO_HSN1)
   end)
   loop.time = time
   lu.assertTrue(ok, err)
   lu.assertStrContains(m.said[#m.said], "any more")
   lu.assertTrue(#m.said <= 10)
end

function tests.test_one_that_was_never_there_is_shown_not_said()
   local m = machine()
   m.hear("n0", HSN0, NO_HSN1)
   lu.assertEquals(m.said, {})
   lu.assertEquals(m.list(), { "n0 2 hsn1" })
end

function tests.test_nodes_that_left_the_topology_are_forgotten()
   local m = machine()
   m.hear("n0", HSN0, NO_HSN1)
   m.hear("n9", HSN0, NO_HSN1)
   m.topo.node_id.n0 = nil
   lu.assertEquals(m.list(), {})
   m.topo.node_id.n0 = 1
   lu.assertEquals(m.list(), {})
end

return tests
