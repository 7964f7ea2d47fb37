-- SPDX-License-Identifier: GPL-2.0-or-later
local hello = require "taut.wire.hello"
local lu = require "luaunit"
local wire = require "taut.wire"

local tests = {}

local function good(more)
   local h = { v = 1, purpose = "prolog", job = 5, restart = 0, uid = 1000, node = "n1",
      nodes = "n[0-3]", endpoint = "10.0.0.1:4000", budget_ms = 900, boot = "x",
      key = ("a"):rep(64), readings = "netdev hsn0 rx_bytes=1" }
   for k, v in pairs(more or {}) do
      h[k] = v
   end
   return h
end

function tests.test_a_good_one_passes()
   lu.assertTrue(hello.check(good()))
end

function tests.test_each_field_is_checked()
   local cases = { purpose = "chat", job = -1, node = "", nodes = 7,
      endpoint = ("x"):rep(65), budget_ms = 1e9, key = "short", boot = {}, restart = -1,
      uid = "root", user_port = 1024, readings = 7,
      endpoints = { { tcp = 1 } } }
   for field, value in pairs(cases) do
      local ok, err = hello.check(good { [field] = value })
      lu.assertNil(ok, field)
      lu.assertStrContains(err, "HELLO: " .. field .. ": expected")
   end
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

-- As a tautd that speaks these versions; none has had more than one yet.
local function speaking(oldest, newest, run)
   local own = { wire.OLDEST, wire.VERSION }
   wire.OLDEST, wire.VERSION = oldest, newest
   local ok, err = pcall(run)
   wire.OLDEST, wire.VERSION = table.unpack(own)
   if not ok then
      error(err, 0)
   end
end

-- The newest that both speak; where there is none, who has to be upgraded.
local function check_agreement()
   local newest = wire.VERSION
   for _, case in ipairs { { newest }, { newest, newest }, { newest, 1 }, { newest + 1, newest },
      { 999, 1 } } do
      lu.assertEquals(hello.version(good { v = case[1], oldest = case[2] }), newest)
   end
   lu.assertEquals(hello.version(good { v = wire.OLDEST }), wire.OLDEST)
   local _, err = hello.version(good { v = newest + 2, oldest = newest + 1 })
   local own = wire.OLDEST == newest and newest or ("%d to %d"):format(wire.OLDEST, newest)
   lu.assertEquals(err, ("HELLO: v: expected protocol %s, got %d to %d: upgrade tautd " ..
      "before the nodes"):format(own, newest + 1, newest + 2))
   for _, h in ipairs { "text", good { v = 0 }, good { v = 1.5 }, good { v = "2" },
      good { oldest = "1" }, good { v = 1, oldest = 2 } } do
      lu.assertNil((hello.version(h)))
   end
   lu.assertNil((hello.version(nil)))
end

function tests.test_a_version_is_agreed_on()
   check_agreement()
   for newest = 2, 9 do
      speaking(newest - 1, newest, check_agreement)
   end
end

function tests.test_a_probe_two_versions_behind_has_to_be_upgraded()
   speaking(2, 3, function()
      local _, err = hello.version(good { v = 1 })
      lu.assertEquals(err, "HELLO: v: expected protocol 2 to 3, got 1: upgrade taut-probe there")
   end)
end

function tests.test_control_characters_do_not_reach_the_log()
   local _, err = hello.check(good { purpose = "a\nb\27[31m" })
   lu.assertNil(err:find("%c"))
end

return tests
