-- SPDX-License-Identifier: GPL-2.0-or-later
local hello = require "taut.wire.hello"
local lu = require "luaunit"

local tests = {}

local function good(more)
   local h = { v = 2, purpose = "prolog", job = 5, restart = 0, uid = 1000, node = "n1",
      nodes = "n[0-3]", endpoint = "10.0.0.1:4000", budget_ms = 900, boot = "x",
      key = ("a"):rep(64), counters = {} }
   for k, v in pairs(more or {}) do
      h[k] = v
   end
   return h
end

function tests.test_a_good_one_passes()
   lu.assertTrue(hello.check(good()))
end

function tests.test_each_field_is_checked()
   local cases = { v = 1, purpose = "chat", job = -1, node = "", nodes = 7,
      endpoint = ("x"):rep(65), budget_ms = 1e9, key = "short", boot = {}, restart = -1,
      uid = "root", counters = "many", endpoints = { { tcp = 1 } } }
   for field, value in pairs(cases) do
      local ok, err = hello.check(good { [field] = value })
      lu.assertNil(ok, field)
      lu.assertStrContains(err, "HELLO: " .. field .. ": expected")
   end
   lu.assertNil((hello.check("text")))
   lu.assertNil((hello.check(nil)))
   lu.assertNil((hello.check(good { job = 1.5 })))
end

function tests.test_a_survey_says_more()
   lu.assertTrue(hello.check(good { purpose = "audit", step = 0, procid = 3 }))
   lu.assertTrue(hello.check(good { purpose = "matrix", step = 0, procid = 0, options = {} }))
   for field, value in pairs { step = -1, procid = 1.5, options = { 1 } } do
      local h = { purpose = "audit", step = 0, procid = 0, options = {} }
      h[field] = value
      local ok, err = hello.check(good(h))
      lu.assertNil(ok, field)
      lu.assertStrContains(err, "HELLO: " .. field .. ": expected")
   end
   lu.assertNil((hello.check(good { purpose = "audit" })))
   lu.assertTrue(hello.is_survey "audit")
   lu.assertFalse(hello.is_survey "prolog")
end

function tests.test_an_older_node_is_told_apart()
   local _, err = hello.check(good { v = 1 })
   lu.assertStrContains(err, "expected 2 (install the same release on the node), got 1")
end

function tests.test_control_characters_do_not_reach_the_log()
   local _, err = hello.check(good { purpose = "a\nb\27[31m" })
   lu.assertNil(err:find("%c"))
end

return tests
